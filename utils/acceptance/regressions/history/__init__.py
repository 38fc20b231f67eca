"""Series of samples, read from ReFrame's database and perflogs."""
