"""`simulated-koop2008`: the partitions of `koop2008` on SimGrid. None of it is evidence."""

from acceptance.simulation import simulated

SYSTEM, ENVIRONMENTS = simulated("koop2008")
