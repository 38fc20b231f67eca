"""Sessions that were moved out of a results database, and are read as if they were in it."""
