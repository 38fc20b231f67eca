"""Faults injected into a simulated system, one at a time: what the checks say of each.

`runs` runs ReFrame beside the healthy system, `outcome` says what saw a fault, what was named, and
what plain references would have said of the same numbers.
"""
