"""`simulated-subramoni2009`: `subramoni2009` on SimGrid. None of it is evidence."""

from acceptance.simulation import simulated

SYSTEM, ENVIRONMENTS = simulated("subramoni2009")
