"""How a machine gets a suite: Spack, and the MPIs, compilers and modules that are there."""
