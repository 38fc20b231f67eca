"""What a fabric can do at most: the facts that a partition states, and the limits they set.

The facts are `extras["fabric"]` of a partition in `config/systems/`. What they do not say is not
guessed: the limit that needs it is then unknown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeVar

from acceptance.core.errors import Fault
from acceptance.fabric import rates

#: Technologies; those that are not in `wire` have no formula here, and no limit.
TECHNOLOGIES = (
    "infiniband",
    "ethernet",
    "omni-path",
    "slingshot",
    "myrinet",
    "numalink",
    "cray",
    "ixs",
)

#: us of a metre: light in vacuum. In glass it is 0.005, in copper less, but this is a floor.
METRE = 1 / 299.792458
#: By how much a true measurement may exceed a limit: clocks are off by up to 0.03 % (PCI Express),
#: programs count what is still in a buffer, papers round; the rest is not to cry wolf.
SLACK = 0.02


Number = TypeVar("Number", int, float)


class FabricFault(Fault, ValueError):
    """Facts that cannot be true, or that nothing here knows."""


@dataclass(frozen=True)
class Facts:
    """What is stated of a partition's fabric; None: nothing.

    `lanes` of each port, `mtu` in bytes, `pcie_payload` the maximum payload size in bytes, `ports`
    of a node that a message may use at once, `device` the adapter's port or the interface
    (`mlx5_0/1`, `eth2`; several with commas), `cable` the metres of all cables on the shortest way
    between two nodes, `hops` the switches on it (no limit follows from them).
    """

    technology: str
    rate: str | None = None
    lanes: int | None = None
    pcie: str | None = None
    pcie_lanes: int | None = None
    mtu: int | None = None
    pcie_payload: int | None = None
    ports: int = 1
    device: str | None = None
    cable: float | None = None
    hops: int | None = None

    @classmethod
    def read(cls, mapping: Mapping[str, object]) -> "Facts":
        """Check facts and take them; numbers may be text.

        Where several devices are named and no ports, each device is a port. Raises FabricFault for
        an unknown key, technology, rate or generation, and for a number that cannot be.
        """
        known = [field.name for field in fields(cls)]
        for key in mapping:
            if key not in known:
                raise FabricFault(f"unknown key {key!r} of a fabric; known: {', '.join(known)}")
        given = {key: value for key, value in mapping.items() if value is not None}
        if "technology" not in given:
            raise FabricFault(f"no technology is stated; known: {', '.join(TECHNOLOGIES)}")
        technology = _word(given, "technology", TECHNOLOGIES)
        devices = _devices(given.get("device"))
        facts = cls(
            technology=str(technology),
            rate=_word(given, "rate", _rates(str(technology)), f"of {technology}"),
            lanes=_number(given, "lanes", _link_lanes(str(technology), given.get("rate"))),
            pcie=_word(given, "pcie", tuple(rates.PCIE)),
            pcie_lanes=_number(given, "pcie_lanes", rates.PCIE_LANES),
            mtu=_number(given, "mtu", _mtus(str(technology))),
            pcie_payload=_number(given, "pcie_payload", rates.PCIE_PAYLOADS),
            ports=_number(given, "ports", range(1, 65)) or max(1, len(devices)),
            device=",".join(devices) or None,
            cable=_metres(given),
            hops=_number(given, "hops", range(100)),
        )
        if devices and facts.ports > len(devices):
            raise FabricFault(f"ports is {facts.ports}, but device names {len(devices)}")
        return facts

    @property
    def slots(self) -> int:
        """Count the slots that the ports stand in.

        Devices tell which ports share an adapter (`mlx5_0/1,mlx5_0/2`); without them each port may
        have a slot of its own.
        """
        adapters = {name.split("/")[0] for name in _devices(self.device)}
        return min(self.ports, len(adapters) or self.ports)

    @property
    def text(self) -> str:
        """Write the link as people do: `infiniband QDR 4x`, `ethernet 10 Gb/s`."""
        words = [f"{self.ports} x"] if self.ports > 1 else []
        words.append(self.technology)
        if self.rate is not None:
            words.append(f"{self.rate} Gb/s" if self.technology in rates.PORTS else self.rate)
        if self.lanes is not None:
            words.append(f"{self.lanes}x")
        return " ".join(words)

    @property
    def slot_text(self) -> str:
        """Write the slot as people do: `2.0 x8`, `x8`; empty when nothing is stated."""
        width = f"x{self.pcie_lanes}" if self.pcie_lanes else None
        return " ".join(filter(None, (self.pcie, width)))


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

    The bits of the message on the slowest stage, link or slot (stages may overlap), and light along
    the stated cables. Adapters, switches, processors and software take no time here, as nothing
    bounds theirs from below: makers give typical values. The floor is far below what is measured.
    """
    bits = max(
        rates.link_time(facts.technology, facts.rate, facts.lanes, facts.ports, size),
        rates.slot_time(facts.pcie, facts.pcie_lanes, facts.slots, size),
    )
    return bits + METRE * (facts.cable or 0)


def exceeds(value: float, bound: float) -> bool:
    """Tell whether a measured bandwidth cannot be true, given its bound in the same unit."""
    return value > bound * (1 + SLACK)


def _missing(facts: Facts, link: bool, slot: bool) -> list[str]:
    notes = []
    if link and facts.technology != "infiniband" and facts.technology not in rates.PORTS:
        notes.append(f"no formula for {facts.technology}")
    elif link:
        keys = ("rate", "lanes") if facts.technology == "infiniband" else ("rate",)
        absent = [key for key in keys if getattr(facts, key) is None]
        notes.append(f"{' and '.join(absent)} not stated")
    if slot:
        absent = [key for key in ("pcie", "pcie_lanes") if getattr(facts, key) is None]
        notes.append(f"{' and '.join(absent)} not stated")
    return notes


def _devices(value: object) -> list[str]:
    return [name.strip() for name in str(value or "").split(",") if name.strip()]


def _rates(technology: str) -> tuple[str, ...] | None:
    return tuple(rates.INFINIBAND) if technology == "infiniband" else rates.PORTS.get(technology)


def _link_lanes(technology: str, rate: object) -> tuple[int, ...] | range:
    if technology in rates.PORTS:
        return ()
    if technology != "infiniband":
        return range(1, 65)
    return (rates.HDR100_LANES,) if rate == "HDR100" else rates.INFINIBAND_LANES


def _mtus(technology: str) -> tuple[int, ...] | range:
    return rates.INFINIBAND_MTUS if technology == "infiniband" else range(68, 65536)


def _word(
    given: Mapping[str, object], key: str, known: tuple[str, ...] | None, of: str = ""
) -> str | None:
    """Take a word; `known` is None where any will do."""
    if key not in given:
        return None
    word = str(given[key])
    if known is not None and word not in known:
        name = " ".join(filter(None, (key, of)))
        raise FabricFault(f"unknown {name}: {word!r}; known: {', '.join(known)}")
    return word


def _number(given: Mapping[str, object], key: str, known: tuple[int, ...] | range) -> int | None:
    if key not in given:
        return None
    if not known:
        raise FabricFault(f"{given['technology']} has no {key}: its rate is that of a whole port")
    number = _parsed(given[key], int)
    if number is None or number not in known:
        ends = f"{known[0]} to {known[-1]}"
        text = ends if isinstance(known, range) else ", ".join(map(str, known))
        raise FabricFault(f"{key} is {given[key]!r}; it can be {text}")
    return number


def _metres(given: Mapping[str, object]) -> float | None:
    if "cable" not in given:
        return None
    metres = _parsed(given["cable"], float)
    if metres is None or not 0 <= metres < 1e6:
        raise FabricFault(f"cable is {given['cable']!r}; it wants metres")
    return metres


def _parsed(value: object, kind: Callable[[str], Number]) -> Number | None:
    try:
        return None if isinstance(value, bool) else kind(str(value))
    except ValueError:
        return None
