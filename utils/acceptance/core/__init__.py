"""Words, paths and small tools that everything shares; knows no fabric, ReFrame or Slurm."""
