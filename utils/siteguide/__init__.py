"""What a first configuration of a new site is made of: Slurm, modules, MPIs, adapters."""
