"""Where ranks shall stand, where they stood, and how the scheduler ended their job."""
