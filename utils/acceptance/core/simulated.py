"""Systems that are simulated: a model of a real system, whose results are no evidence about it.

The partitions of such a system state `simulated` in their extras, which names the real one, and
each result has it in its provenance, with the simulator. The name of the system begins with
`PREFIX`: neither is there without the other (`mismatch`), so that whoever has no more of a result
than the name of its system knows it, too.
"""

#: The key in the extras of a partition, in the provenance of a result, and the label of a series.
SIMULATED = "simulated"
#: How the name of a simulated system begins, and of no other.
PREFIX = "simulated-"
#: What people are told wherever results of a simulated system are shown.
NO_EVIDENCE = "a model of {}: no machine was measured, and nothing here is said of one"


def is_simulated(system: str) -> bool:
    """Tell whether a system is simulated, by its name."""
    return system.startswith(PREFIX)


def model_of(system: str) -> str:
    """Return the name of the system that a simulated one is a model of."""
    return system.removeprefix(PREFIX)


def mismatch(system: str, stated: object) -> str:
    """Say why a system cannot have this name, and `stated` for `simulated`; empty if it can."""
    if stated and not is_simulated(system):
        return f"states `{SIMULATED}`, so that its system has to be called {PREFIX}..."
    if is_simulated(system) and not stated:
        return f"systems called {PREFIX}... have to state `{SIMULATED}` in their extras"
    return ""
