"""`simulated-kandadai2009`: `kandadai2009` on SimGrid. None of it is evidence."""

from acceptance.simulation import simulated

SYSTEM, ENVIRONMENTS = simulated("kandadai2009")
