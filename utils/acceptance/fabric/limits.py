"""The limits that the facts of a fabric set: bandwidths of link and slot, a floor of the latency.

What the facts do not say is not guessed: the limit that needs it is then unknown.
"""

from dataclasses import dataclass
from typing import Literal

from acceptance.fabric import rates
from acceptance.fabric.facts import Facts

#: us of a metre: light in vacuum. In glass it is 0.005, in copper less, but this is a floor.
METRE = 1 / 299.792458
#: us that two adapters and their slots take of any message, at least: half of the 0.6 that a maker
#: prints for the fastest ones, of InfiniBand, RoCE and Ethernet (NVIDIA's brief of ConnectX-6,
#: "sub-600 nanosecond"). Papers measured 1 to 2 with those of 2008 (koop2008, kandadai2009), and no
#: maker prints less for Omni-Path and Slingshot. Of others, whose adapters may be part of the
#: processor, nothing is known.
ADAPTERS = dict.fromkeys(("infiniband", "roce", "ethernet", "omni-path", "slingshot"), 0.3)
#: By how much a true measurement may exceed a limit: clocks are off by up to 0.03 % (PCI Express),
#: programs count what is still in a buffer, papers round; the rest is not to cry wolf.
SLACK = 0.02


@dataclass(frozen=True)
class Limit:
    """Upper bounds of what a node sends, or receives, in MB/s; None: unknown.

    `note` says what is missing.
    """

    link: float | None
    pcie: float | None
    link_formula: str
    pcie_formula: str
    note: str

    @property
    def binds(self) -> Literal["link", "pcie"] | None:
        """Tell which bound is the smaller one, or the only one that is known."""
        if self.link is None:
            return None if self.pcie is None else "pcie"
        return "pcie" if self.pcie is not None and self.pcie < self.link else "link"

    @property
    def bandwidth(self) -> float | None:
        """Return the smaller bound, MB/s in one direction."""
        return self.pcie if self.binds == "pcie" else self.link

    @property
    def bidirectional(self) -> float | None:
        """Return twice the bandwidth (MB/s): links and slots have full duplex."""
        return None if self.bandwidth is None else 2 * self.bandwidth

    @property
    def formula(self) -> str:
        """Return the formula of the bandwidth: `4 lanes x 10 Gb/s x 8/10 x 4096/4122`."""
        return self.pcie_formula if self.binds == "pcie" else self.link_formula


def limit(facts: Facts) -> Limit:
    """Return the bounds that facts set; formulas and their sources are in `fabric/rates.py`."""
    link = rates.link(facts.technology, facts.rate, facts.lanes, facts.mtu, facts.ports)
    slot = rates.slot(facts.pcie, facts.pcie_lanes, facts.pcie_payload, facts.slots)
    return Limit(
        link=link.value if link else None,
        pcie=slot.value if slot else None,
        link_formula=link.formula if link else "",
        pcie_formula=slot.formula if slot else "",
        note="; ".join(_missing(facts, link is None, slot is None)),
    )


def latency_floor(facts: Facts, size: int = 8) -> float:
    """Return the time (us) that no message of `size` bytes between two nodes can beat.

    The bits of the message on the slowest stage, link or slot (stages may overlap), light along the
    stated cables, and the least time of adapters. Switches, processors and software take no time
    here, as nothing bounds theirs from below. The floor is far below what is measured.
    """
    bits = max(
        rates.link_time(facts.technology, facts.rate, facts.lanes, facts.ports, size),
        rates.slot_time(facts.pcie, facts.pcie_lanes, facts.slots, size),
    )
    return bits + METRE * (facts.cable or 0) + ADAPTERS.get(facts.technology, 0.0)


def exceeds(value: float, bound: float) -> bool:
    """Tell whether a measured bandwidth cannot be true, given its bound in the same unit."""
    return value > bound * (1 + SLACK)


def _missing(facts: Facts, link: bool, slot: bool) -> list[str]:
    notes = []
    if link and rates.known_rates(facts.technology) is None:
        notes.append(f"no formula for {facts.technology}")
    elif link:
        keys = ("rate", "lanes") if facts.technology == "infiniband" else ("rate",)
        absent = [key for key in keys if getattr(facts, key) is None]
        notes.append(f"{' and '.join(absent)} not stated")
    if slot:
        absent = [key for key in ("pcie", "pcie_lanes") if getattr(facts, key) is None]
        notes.append(f"{' and '.join(absent)} not stated")
    return notes
