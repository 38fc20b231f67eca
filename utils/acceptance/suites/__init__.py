"""What each suite measures, how it is asked, and what it prints: one folder a suite."""
