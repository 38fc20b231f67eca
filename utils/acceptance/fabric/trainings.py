"""How a link may train lower than its facts say, and so how much longer a byte takes."""

from collections.abc import Iterator

from msgspec.structs import replace

from acceptance.core.words import RATES
from acceptance.fabric import rates
from acceptance.fabric.facts import FabricFault, Facts
from acceptance.fabric.limits import limit

#: A factor below this is of no link: a slot of 12 lanes nobody has. [chosen]
_LEAST = 1.25


def steps(facts: Facts) -> Iterator[tuple[float, str, float]]:
    """Yield what a link or slot may have trained at: one fact lower, the others as stated.

    That is by which factor a byte takes longer, words, and the rate that is left (MB/s). Facts that
    state no rate have none.
    """
    whole = limit(facts).bandwidth
    for key, value, words in _lower(facts) if whole else ():
        then = replace(facts, **{key: value})
        try:
            Facts.read(
                {
                    name: each
                    for name in then.__struct_fields__
                    if (each := getattr(then, name)) is not None
                }
            )
        except FabricFault:
            continue
        left = limit(then).bandwidth
        if whole and left and whole / left > _LEAST:
            yield whole / left, words, left


def _lower(facts: Facts) -> Iterator[tuple[str, str | int, str]]:
    """Yield a fact, a lower value of it, and how people say that."""
    words = RATES.get(facts.technology, ())
    for rate in words[: words.index(facts.rate)] if facts.rate in words else ():
        yield "rate", rate, f"rate {rate} instead of {facts.rate}"
    for lanes in rates.INFINIBAND_LANES if facts.lanes else ():
        if lanes < (facts.lanes or 0):
            yield "lanes", lanes, f"{lanes} of {facts.lanes} lanes"
    for speed, pcie in rates.GENERATIONS.items() if facts.slot_speed else ():
        if speed < (facts.slot_speed or 0):
            yield "pcie", pcie, f"a slot at PCIe {pcie} instead of {facts.pcie}"
    for lanes in rates.PCIE_LANES if facts.pcie_lanes else ():
        if lanes < (facts.pcie_lanes or 0):
            yield "pcie_lanes", lanes, f"{lanes} of {facts.pcie_lanes} lanes of the slot"
