"""Which cases each row and claim of `reference/` judges, and why some judge none."""
