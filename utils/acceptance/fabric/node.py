"""A node's links: what its ports, slots and interfaces run at, as the node itself reports it.

`link_report.py` reads it from the output of `link.sh`, `link_check.py` compares it with facts.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from acceptance.core.findings import Finding
from acceptance.fabric.facts import Facts
from acceptance.fabric.rates import GENERATIONS, SHOWN, Rate

#: Interface -> what answers at the other end of its cable, mostly one: name of a switch and port.
#: A switch without a name has the identifier of its chassis; a port is its identifier, or its
#: description where that is a mere address.
Neighbours = dict[str, list[tuple[str, str]]]
#: How the names of drivers begin whose fabric looks like another one -> it: hfi1 and hfi2;
#: cxi_core, since renamed to cxi_ss1.
_DRIVERS = {"hfi": "omni-path", "cxi": "slingshot"}
#: Octets of a word of `port_xmit_data`.
_WORD = 4
_GUID = re.compile(r"(?:0x)?([0-9a-f]{1,16})\Z", re.IGNORECASE)
#: A device without a GUID has zeros there.
NO_GUID = "0x" + 16 * "0"


def of_driver(driver: str, looks: str) -> str:
    """Return the fabric of what a driver drives: the driver's own, or what it `looks` like."""
    return next((_DRIVERS[start] for start in _DRIVERS if driver.startswith(start)), looks)


def guid_text(text: str) -> str:
    """Write a GUID as `0x` and 16 lower-case hexadecimal digits; empty for a text that is none.

    sysfs writes `9803:9b03:0050:0000`, the programs `0x98039b0300500000` or without its zeros.
    """
    match = _GUID.match(text.replace(":", ""))
    return f"0x{match[1].lower():0>16}" if match else ""


@dataclass
class Port:
    """A port of an adapter; an empty text or None is what the node did not report.

    `uncounted`: its driver has no counters of errors below /sys.
    """

    device: str
    number: int
    state: str = ""
    phys_state: str = ""
    rate: Rate | None = None
    link_layer: str = ""
    counters: dict[str, int] = field(default_factory=dict)
    uncounted: bool = False

    @property
    def name(self) -> str:
        """Return adapter and port: `mlx5_0/1`."""
        return f"{self.device}/{self.number}"

    @property
    def infiniband(self) -> bool:
        """Tell whether the link is InfiniBand; kernels before 2.6.37 knew, and told, no other."""
        return self.link_layer in ("", "InfiniBand")

    @property
    def up(self) -> bool:
        """Tell whether the subnet manager has taken the port into service."""
        return self.state.startswith("4:")

    @property
    def rate_text(self) -> str:
        """Write what it runs at, as Linux does."""
        return str(self.rate) if self.rate else "at no known rate"

    @property
    def down(self) -> bool:
        """Tell whether there is no link: nothing is plugged in, or nothing answers."""
        return self.state.startswith("1:")

    @property
    def data_counters(self) -> tuple[int, str, str]:
        """Return the octets that its counters of data count in, and their names: in, out."""
        if self.uncounted:
            return 1, "rx_bytes", "tx_bytes"
        return _WORD, "port_rcv_data", "port_xmit_data"


@dataclass
class Slot:
    """A PCI Express slot: speeds in GT/s a lane, widths in lanes; None is not known."""

    address: str
    speed: float | None = None
    width: int | None = None
    max_speed: float | None = None
    max_width: int | None = None

    def __str__(self) -> str:
        """Write what the slot runs at: `5 GT/s x8 (2.0)`."""
        return slot_text(self.speed, self.width)


@dataclass
class Interface:
    """A network interface: speed in Mb/s, mtu in bytes; `device` is a bus, or "none"."""

    name: str
    device: str = "none"
    driver: str = ""
    pci: str = ""
    type: int | None = None
    operstate: str = ""
    speed: int | None = None
    duplex: str = ""
    mtu: int | None = None
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def physical(self) -> bool:
        """Tell whether there is a device behind it."""
        return self.device != "none"

    @property
    def ethernet(self) -> bool:
        """Tell Ethernet from others, such as IP over InfiniBand."""
        return self.type in (None, 1)

    @property
    def rate_text(self) -> str:
        """Write what it runs at."""
        return f"{self.speed} Mb/s {self.duplex}".strip() if self.speed else "at no known speed"

    @property
    def up(self) -> bool:
        """Tell whether data can pass; drivers that do not keep the state leave it unknown."""
        return self.operstate in ("up", "unknown")

    @property
    def technology(self) -> str:
        """Return its fabric: an adapter of Slingshot 11 also speaks Ethernet."""
        return of_driver(self.driver, "ethernet")

    @property
    def data_counters(self) -> tuple[int, str, str]:
        """Return the octets that its counters of data count in, and their names: in, out.

        What RDMA moves over Slingshot is in the telemetry of its adapter only.
        """
        if self.technology == "slingshot":
            return 1, "hni_sts_rx_ok_octets", "hni_sts_tx_ok_octets"
        return 1, "rx_bytes", "tx_bytes"


@dataclass
class Adapter:
    """A device of the class infiniband: where it sits, node GUID (`guid_text`) and firmware."""

    name: str
    device: str = "none"
    driver: str = ""
    pci: str = ""
    guid: str = ""
    firmware: str = ""


@dataclass
class NodeLinks:
    """All that one node said; `unreadable` are paths below /sys, ports have names like mlx5_0/1.

    `gpus` are PCI address -> cuda or rocm.
    `neighbours` are what its Ethernet interfaces are plugged into; None where lldpd did not tell,
    and `no_neighbours` says why.
    """

    name: str
    classes: dict[str, str] = field(default_factory=dict)
    adapters: dict[str, Adapter] = field(default_factory=dict)
    ports: dict[str, Port] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    interfaces: dict[str, Interface] = field(default_factory=dict)
    gpus: dict[str, str] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    neighbours: Neighbours | None = None
    no_neighbours: str = ""

    @property
    def links(self) -> dict[str, "Link"]:
        """Return all ports and interfaces by name."""
        return {**self.ports, **self.interfaces}

    @property
    def guids(self) -> dict[str, str]:
        """Return InfiniBand adapter -> its node GUID."""
        infiniband = {port.device for port in self.ports.values() if port.infiniband}
        return {name: self.adapters[name].guid for name in sorted(infiniband)}

    def links_of(self, facts: Facts) -> dict[str, "Link"]:
        """Return the links of a fabric by name: those declared, else all of its technology.

        Declared ones may be no hardware (a bond, a VLAN); an adapter stands for all its ports.
        Facts of no technology are those of any.
        """
        declared = {*facts.devices}
        return {
            name: link
            for name, link in self.links.items()
            if (_named(name) & declared if declared else self._is_of(facts.technology, link))
        }

    def _is_of(self, technology: str, link: "Link") -> bool:
        """Tell whether a link is of a technology, and not of the one that looks like it."""
        if isinstance(link, Interface):
            is_meant = technology == link.technology or technology not in SHOWN
            return is_meant and link.physical and link.ethernet
        if technology == "roce":
            return not link.infiniband
        shown = of_driver(self.adapters[link.device].driver, "infiniband")
        return link.infiniband and technology in ("", shown)


Link = Port | Interface


def _named(name: str) -> set[str]:
    """Return how a link may be declared: `mlx5_0/1` by its adapter, too."""
    return {name, name.split("/")[0]}


def undeclared(links: Iterable[str], facts: Facts) -> list[str]:
    """Return the declared names that are of none of these links."""
    known = {name for link in links for name in _named(link)}
    return [name for name in facts.devices if name not in known]


def deviation(node: str, device: str, what: str, found: str, expected: str, kind: str) -> Finding:
    """Return something that is not as it should be: `node17 mlx5_0/1: found, expected what`.

    `kind` is one of `core.kinds.OF_LINKS`. A counter that stands above zero (`link-counters`, its
    value is `found`) is no deviation by itself.
    """
    text = f"{' '.join(filter(None, (node, device, what)))}: {found}, expected {expected}"
    return Finding(
        kind, text, nodes=(node,), device=device, what=what, found=found, expected=expected
    )


def slot_text(speed: float | None, width: int | None) -> str:
    """Write GT/s and lanes of a slot: `5 GT/s x8 (2.0)`; what is None is left out."""
    words = [f"{speed:g} GT/s"] if speed else []
    words += [f"x{width}"] if width else []
    words += [f"({GENERATIONS[speed]})"] if speed in GENERATIONS else []
    return " ".join(words) or "not known"
