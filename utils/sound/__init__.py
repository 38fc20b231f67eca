"""What the guidelines compare, and what they find."""
