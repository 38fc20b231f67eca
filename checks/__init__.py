"""What is measured: ReFrame classes only, one file a suite."""
