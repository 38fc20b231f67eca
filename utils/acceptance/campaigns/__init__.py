"""Nights and acceptances: several runs of ReFrame that survive a kill, and their protocol."""
