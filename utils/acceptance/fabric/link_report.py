"""What `fabric/link.sh` prints: what the ports, slots and interfaces of nodes trained at.

Every line begins with its node, so that the lines of several nodes may come mixed; those of one
node are in order. `link` gives the version of the form, `end` the number of lines before it::

    node17 link 1
    node17 class infiniband listed
    node17 adapter mlx5_0 device pci
    node17 adapter mlx5_0 driver mlx5_core
    node17 adapter mlx5_0 pci 0000:03:00.0
    node17 adapter mlx5_0 node_guid 9803:9b03:0050:0000
    node17 adapter mlx5_0 fw_ver 20.31.1014
    node17 slot 0000:03:00.0 current_link_speed 5.0 GT/s PCIe
    node17 slot 0000:03:00.0 current_link_width 8
    node17 port mlx5_0 1 state 4: ACTIVE
    node17 port mlx5_0 1 rate 40 Gb/sec (4X QDR)
    node17 port mlx5_0 1 symbol_error 0
    node17 class net listed
    node17 net eth2 device pci
    node17 net eth2 speed 10000
    node17 gpu 0000:17:00.0 cuda
    node17 unreadable class/net/eth3/speed
    node17 lldp {"lldp": {"interface": {"eth2": {"chassis": ..., "port": ...}}}}
    node17 end 18

`lldp` has what `lldpctl -f json` prints, in one line; `none`: it is not installed,
`unreadable`: lldpd does not run, or does not answer this user. A class is `listed`,
`none` (the kernel has no such class: no adapter) or `unreadable` (nobody could
look). A `gpu` is a PCI device of NVIDIA (`cuda`) or AMD (`rocm`).
`counters none` of a port: its driver tells no errors here; bytes follow where it counts them.
The values are those of Linux: `rate` in Gb/s (10^9 bits), `speed` in Mb/s, GT/s a lane for a
slot, `mtu` and `rx_bytes`, `tx_bytes` in bytes, `port_xmit_data`, `port_rcv_data` in words of 4
bytes, `type` a number of `linux/if_arp.h`. Sources: Linux, Documentation/ABI (sysfs-class-net,
sysfs-class-net-statistics, sysfs-class-infiniband, sysfs-bus-pci) and drivers/infiniband/core.

Example of `lldpctl -f json` (lldpd 1.0.16), cut to what is read; an interface with several
neighbours stands several times, a chassis without a name has its keys at once, and lists of one are
no lists::

    {"lldp": {"interface": [{"eth1": {
      "chassis": {"leaf01": {"id": {"type": "mac", "value": "ae:48:ca:ef:ec:74"}}},
      "port": {"id": {"type": "ifname", "value": "swp7"}, "descr": "to node0001"}}}]}}
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acceptance.core.errors import ParseError
from acceptance.core.text import one_line
from acceptance.fabric.counters import ERRORS
from acceptance.fabric.node import (
    NO_GUID,
    Adapter,
    Interface,
    Neighbours,
    NodeLinks,
    Port,
    Slot,
    guid_text,
)
from acceptance.fabric.rates import Rate

#: Prints what a node's links say.
SCRIPT = Path(__file__).with_name("link.sh")

#: Kernels write "no speed known" as -1, and older ones as that in 32 and in 16 bits.
_NO_SPEED = {-1, 0, 0xFFFF, 0xFFFFFFFF}
_NO_WIDTH = {0, 0xFF}

_NO_LLDP = {
    "none": "lldpd is not installed",
    "unreadable": "lldpd does not run, or does not answer this user",
}
_NODE = re.compile(r"(?P<node>\S+) (?P<kind>[a-z]+) (?P<rest>\S.*)\Z")
_RATE = re.compile(r"(?P<gb>\d+(\.\d+)?) Gb/sec \((?P<lanes>\d+)X ?(?P<word>\w*)\)\Z", re.ASCII)
_GT = re.compile(r"(?P<gt>\d+(\.\d+)?) GT/s( PCIe)?\Z", re.ASCII)
_STATE = re.compile(r"\d+: \S.*\Z", re.ASCII)
_INTEGER = re.compile(r"-?\d+\Z", re.ASCII)


def parse(text: str, source: str = "stdout") -> NodeLinks:
    """Read the output of one node.

    Raises ParseError, as `parse_all` does, and when there are several nodes.
    """
    nodes = parse_all(text, source)
    if len(nodes) > 1:
        raise ParseError(source, f"{len(nodes)} nodes where one was asked for")
    return nodes[0]


def parse_all(text: str, source: str = "stdout") -> list[NodeLinks]:
    """Read the outputs of one or more nodes, in the order of their first lines.

    Raises ParseError, with the line, for anything but complete and consistent outputs.
    """
    readers: dict[str, _Reader] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        try:
            if not line.strip():
                continue
            if not (match := _NODE.match(line)):
                raise ValueError("this is no line of link.sh")
            node, kind, rest = match.groups()
            if (kind == "link") == (node in readers):
                missing = "has not begun: its line `link` is missing"
                raise ValueError(f"{node} {'begins twice' if kind == 'link' else missing}")
            readers.setdefault(node, _Reader(node)).read(kind, rest)
        except ValueError as error:
            raise ParseError(source, str(error), number=number, line=line) from None
    if not readers:
        raise ParseError(source, "the output is empty")
    for name, reader in readers.items():
        if not reader.ended:
            raise ParseError(source, f"the output of {name} is cut off: its line `end` is missing")
    if not text.endswith("\n"):
        raise ParseError(source, "the output ends in the middle of a line", number=len(lines))
    return [reader.node for reader in readers.values()]


def _matched(pattern: re.Pattern[str], text: str, what: str) -> re.Match[str]:
    if not (match := pattern.match(text)):
        raise ValueError(f"{text!r} is no {what}")
    return match


def _integer(text: str) -> int:
    return int(_matched(_INTEGER, text, "integer")[0])


def _count(text: str) -> int:
    if (value := _integer(text)) < 0:
        raise ValueError(f"{text} is negative")
    return value


def _width(text: str) -> int | None:
    value = _count(text)
    return None if value in _NO_WIDTH else value


def _mbps(text: str) -> int | None:
    value = _integer(text)
    if value < -1:
        raise ValueError(f"{text} is no speed")
    return None if value in _NO_SPEED else value


def _gts(text: str) -> float | None:
    if text in ("Unknown", "Unknown speed"):
        return None
    return float(_matched(_GT, text, "speed of a PCI Express link")["gt"])


def _rate(text: str) -> Rate:
    match = _matched(_RATE, text, "rate of a port")
    gbps, lanes, word = float(match["gb"]), int(match["lanes"]), match["word"]
    # Older kernels have no word for SDR.
    return Rate(gbps, lanes, word or ("SDR" if gbps == 2.5 * lanes else ""))


def _guid(text: str) -> str:
    if not (guid := guid_text(text)):
        raise ValueError(f"{text!r} is no GUID")
    return "" if guid == NO_GUID else guid


def _none(text: str) -> bool:
    if text != "none":
        raise ValueError(f"counters of a port are {text!r}, which is not known")
    return True


def _state(text: str) -> str:
    return _matched(_STATE, text, "state of a port")[0]


#: Kind of line -> key -> field, and the reader of its value.
_FIELDS: dict[str, dict[str, tuple[str, Callable[[str], object]]]] = {
    "adapter": {
        **{key: (key, str) for key in ("device", "driver", "pci")},
        "node_guid": ("guid", _guid),
        "fw_ver": ("firmware", str),
    },
    "port": {
        "state": ("state", _state),
        "phys_state": ("phys_state", _state),
        "rate": ("rate", _rate),
        "link_layer": ("link_layer", str),
        "counters": ("uncounted", _none),
    },
    "slot": {
        "current_link_speed": ("speed", _gts),
        "current_link_width": ("width", _width),
        "max_link_speed": ("max_speed", _gts),
        "max_link_width": ("max_width", _width),
    },
    "net": {
        **{key: (key, str) for key in ("device", "driver", "pci", "operstate", "duplex")},
        "type": ("type", _count),
        "speed": ("speed", _mbps),
        "mtu": ("mtu", _count),
    },
}

#: Kind of line -> the counters.
_COUNTERS = {
    "port": (*(key for key, (_, of_port) in ERRORS.items() if of_port),
             "port_xmit_data", "port_rcv_data", "rx_bytes", "tx_bytes"),
    "net": ("carrier_changes rx_bytes tx_bytes rx_errors tx_errors rx_dropped tx_dropped "
            "hni_sts_rx_ok_octets hni_sts_tx_ok_octets").split(),
}  # fmt: skip


class _Reader:
    """The state of the reading of one node; raises ValueError for a line that cannot be."""

    def __init__(self, name: str) -> None:
        self.node = NodeLinks(name)
        self.lines = 0
        self.ended = False
        self.seen: set[tuple[str, ...]] = set()

    def read(self, kind: str, rest: str) -> None:
        if self.ended:
            raise ValueError("a line after the line `end`")
        if kind == "link":
            if rest != "1":
                raise ValueError(f"version {rest!r} of the form is not known")
        elif kind == "end":
            self.read_end(_count(rest))
        elif kind == "unreadable":
            self.once(kind, rest)
            self.node.unreadable.append(rest)
        elif kind == "class":
            self.read_class(rest)
        elif kind == "gpu":
            self.read_gpu(*rest.split())
        elif kind == "lldp":
            self.once(kind)
            self.read_neighbours(rest)
        elif kind in _FIELDS:
            self.read_fact(kind, rest)
        else:
            raise ValueError(f"a line of unknown kind {kind!r}")
        self.lines += 1

    def once(self, *key: str) -> None:
        if key in self.seen:
            raise ValueError(f"{' '.join(key)} stands twice")
        self.seen.add(key)

    def read_end(self, lines: int) -> None:
        if lines != self.lines:
            raise ValueError(f"{self.lines} lines before this one, which counts {lines}")
        if self.node.classes.keys() != {"infiniband", "net"}:
            raise ValueError("not all classes have been looked at")
        self.ended = True

    def read_class(self, rest: str) -> None:
        name, _, how = rest.partition(" ")
        if name not in ("infiniband", "net") or how not in ("listed", "none", "unreadable"):
            raise ValueError("a class, or what became of it, that is not known")
        self.once("class", name)
        self.node.classes[name] = how

    def read_gpu(self, address: str, kind: str = "", *others: str) -> None:
        if kind not in ("cuda", "rocm") or others:
            raise ValueError("a GPU of a kind that is not known")
        self.once("gpu", address)
        self.node.gpus[address] = kind

    def read_neighbours(self, rest: str) -> None:
        """Take what lldpd knows; what it prints otherwise is no reason to know nothing else."""
        if rest in _NO_LLDP:
            self.node.no_neighbours = _NO_LLDP[rest]
            return
        try:
            self.node.neighbours = parse_lldp(rest, self.node.name)
        except ParseError as error:
            self.node.no_neighbours = error.message

    def read_fact(self, kind: str, rest: str) -> None:
        words = rest.split(" ", 3 if kind == "port" else 2)
        if len(words) != (4 if kind == "port" else 3):
            raise ValueError(f"a line {kind!r} of too few words")
        *subject, key, value = words
        self.once(kind, *subject, key)
        thing = self.thing(kind, subject)
        if key in _FIELDS[kind]:
            name, reader = _FIELDS[kind][key]
            setattr(thing, name, reader(value))
        elif key in _COUNTERS.get(kind, ()) and isinstance(thing, Port | Interface):
            # Telemetry of Slingshot: number, @, and the time.
            thing.counters[key] = _count(value.partition("@")[0])
        else:
            raise ValueError(f"a {kind} has no {key!r}")

    def thing(self, kind: str, subject: list[str]) -> Adapter | Port | Slot | Interface:
        """Return what the line speaks of, made when it is new."""
        if kind == "port":
            if subject[0] not in self.node.adapters:
                raise ValueError(f"a port of {subject[0]}, which has no line `adapter`")
            port = Port(subject[0], _count(subject[1]))
            return self.node.ports.setdefault(port.name, port)
        name, node = subject[0], self.node
        if kind == "adapter":
            return node.adapters.setdefault(name, Adapter(name))
        if kind == "slot":
            return node.slots.setdefault(name, Slot(name))
        return node.interfaces.setdefault(name, Interface(name))


def parse_lldp(text: str, source: str = "lldpctl") -> Neighbours:
    """Return the neighbours, in the order of the output; raises ParseError for anything else."""
    found: Neighbours = {}
    try:
        told = json.loads(text)["lldp"].get("interface", [])
        for entry in told if isinstance(told, list) else [told]:
            for interface, facts in entry.items():
                found.setdefault(interface, []).append(_far_end(facts["chassis"], facts["port"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"this is no output of `lldpctl -f json`: {one_line(str(error))}"
        raise ParseError(source, message) from None
    return found


def _far_end(chassis: Any, port: Any) -> tuple[str, str]:
    name = ""
    if "id" not in chassis:
        ((name, chassis),) = chassis.items()
    switch, shown = chassis["id"]["value"], port["id"]["value"]
    if port["id"]["type"] == "mac":
        shown = port.get("descr") or shown
    return one_line(str(name or switch)), one_line(str(shown))
