"""Whether a relation that a paper or a site states holds in the results."""
