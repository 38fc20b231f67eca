"""Getting a machine ready: the doctor, and a first configuration of a new site."""
