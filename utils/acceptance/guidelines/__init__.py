"""What every correct MPI satisfies, and where a session shows that one does not."""
