"""A first configuration of a new site, from what its Slurm and its nodes say."""
