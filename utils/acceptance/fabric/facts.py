"""The facts of a fabric, as a partition states them: read strictly, in this one place.

The facts are `extras["fabric"]` of a partition in `config/systems/`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from acceptance.core.errors import Fault
from acceptance.core.technologies import TECHNOLOGIES
from acceptance.fabric import rates

#: Who may look at the whole fabric: the machine that runs ReFrame, or the nodes of the partition.
VIEWS = ("here", "node")
Number = TypeVar("Number", int, float)


class FabricFault(Fault, ValueError):
    """Facts that cannot be true, or that nothing here knows; `where` is the partition."""


@dataclass(frozen=True)
class Facts:
    """What is stated of a partition's fabric; None: nothing.

    `rate` is a word of InfiniBand, Gb/s of others, `lanes` are those of each port, `mtu` is in
    bytes (of RoCE that of its port), `pcie_payload` the maximum payload size in bytes, `ports`
    those of a node that a message may use at once. `device` has the names of the fabric's links on
    a node, with commas: `mlx5_0/1`, `mlx5_0` for all its ports, `eth2`. `cable` is the metres of
    all cables on the shortest way between two nodes, `hops` the switches on it (no limit follows
    from them). `view`: who looks at the whole fabric, of `VIEWS`.
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
    view: str | None = None

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
        devices = _names(given.get("device"))
        facts = cls(
            technology=str(technology),
            rate=_word(given, "rate", rates.known_rates(str(technology)), f"of {technology}"),
            lanes=_number(given, "lanes", _link_lanes(str(technology), given.get("rate"))),
            pcie=_word(given, "pcie", tuple(rates.PCIE)),
            pcie_lanes=_number(given, "pcie_lanes", rates.PCIE_LANES),
            mtu=_number(given, "mtu", _mtus(str(technology))),
            pcie_payload=_number(given, "pcie_payload", rates.PCIE_PAYLOADS),
            ports=_number(given, "ports", range(1, 65)) or max(1, len(devices)),
            device=",".join(devices) or None,
            cable=_metres(given),
            hops=_number(given, "hops", range(100)),
            view=_word(given, "view", VIEWS),
        )
        if facts.view and facts.technology != "infiniband":
            raise FabricFault(f"view is of infiniband: nobody sees all of {facts.technology}")
        if devices and facts.ports > len(devices):
            raise FabricFault(f"ports is {facts.ports}, but device names {len(devices)}")
        return facts

    @property
    def devices(self) -> list[str]:
        """Return the names of the declared links."""
        return _names(self.device)

    @property
    def shown(self) -> bool:
        """Tell whether Linux shows the links of this technology under /sys."""
        return self.technology in rates.SHOWN

    @property
    def port_rate(self) -> rates.Rate | None:
        """Return the rate of a port in Linux's words; None where Linux writes no such rate."""
        return rates.port_rate(self.technology, self.rate, self.lanes)

    @property
    def mbps(self) -> int | None:
        """Return the speed of an interface or a RoCE port in Mb/s; None if it is not stated."""
        if self.rate is None or self.technology not in ("ethernet", "roce"):
            return None
        return round(1000 * float(self.rate))

    @property
    def slot_speed(self) -> float | None:
        """Return the GT/s of a lane of the slot."""
        return rates.PCIE[self.pcie].nominal if self.pcie else None

    @property
    def slots(self) -> int:
        """Count the slots that the ports stand in.

        Devices tell which ports share an adapter (`mlx5_0/1,mlx5_0/2`); without them each port may
        have a slot of its own.
        """
        adapters = {name.split("/")[0] for name in self.devices}
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


def facts_of(extras: Mapping[str, object], where: str) -> Facts | None:
    """Read the fabric facts in a partition's extras; None where it states none.

    Raises FabricFault, with `where`: the partition, and its file where that is known.
    """
    fabric = extras.get("fabric")
    if fabric is None or fabric == {}:
        return None
    if not isinstance(fabric, Mapping):
        raise FabricFault(f"fabric is {fabric!r}; it has to be a dictionary", where=where)
    try:
        return Facts.read(fabric)
    except FabricFault as fault:
        raise FabricFault(fault.message, where=where) from None


def not_judged(extras: Mapping[str, object]) -> str:
    """Say why nothing judges the rate of a partition's links; empty where their facts do.

    Facts that cannot be are no answer here: every check refuses them.
    """
    try:
        facts = facts_of(extras, "")
    except FabricFault:
        return ""
    if facts is None:
        return "it states no fabric"
    if not facts.shown:
        return f"Linux shows no links of {facts.technology}"
    return f"{facts.text}, no rate is stated" if facts.rate is None else ""


def is_viewed(extras: Mapping[str, object]) -> bool:
    """Tell whether the facts of a partition name who looks at its whole fabric."""
    try:
        facts = facts_of(extras, "")
    except FabricFault:
        return False
    return facts is not None and facts.view is not None


def not_viewed(extras: Mapping[str, object]) -> str:
    """Say why nobody looks at a partition's whole fabric; empty where it is stated, or is none."""
    try:
        facts = facts_of(extras, "")
    except FabricFault:
        return ""
    if facts is None or facts.technology != "infiniband" or facts.view:
        return ""
    return 'its facts name nobody who may (fabric: "view": "here" or "node")'


def _names(text: object) -> list[str]:
    return [name.strip() for name in str(text or "").split(",") if name.strip()]


def _link_lanes(technology: str, rate: object) -> tuple[int, ...] | range:
    if technology in rates.PORTS:
        return ()
    if technology != "infiniband":
        return range(1, 65)
    return (rates.HDR100_LANES,) if rate == "HDR100" else rates.INFINIBAND_LANES


def _mtus(technology: str) -> tuple[int, ...] | range:
    return rates.INFINIBAND_MTUS if technology in ("infiniband", "roce") else range(68, 65536)


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
        raise FabricFault(f"cable is {given['cable']!r}; it has to be in metres")
    return metres


def _parsed(value: object, kind: Callable[[str], Number]) -> Number | None:
    try:
        return None if isinstance(value, bool) else kind(str(value))
    except ValueError:
        return None
