"""The communication patterns of our own: `checks/src/patterns`."""
