"""Runs of many steps that can be resumed: the night, and the acceptance of a cluster."""
