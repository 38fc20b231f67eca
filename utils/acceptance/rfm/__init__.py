"""The only code that reads what ReFrame writes, or starts it."""
