"""Which of a node's adapters is its fabric, as facts of a partition; nothing is made up.

One script for all nodes, that a job gets on its standard input, so that nothing has to be there,
tells a node's links, which interface leads to Slurm's address, and which paths it sees.
"""

import ipaddress
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core import machine
from acceptance.core.errors import ParseError
from acceptance.core.text import natural
from acceptance.fabric import (
    Interface,
    NodeLinks,
    Port,
    Slot,
    link_report,
    of_driver,
    rates,
    slot_text,
)

_MARK = "== "
_SCRIPT = Path(__file__).with_name("node.sh")
#: Linux, linux/if_arp.h: bridges and tunnels have the number of Ethernet, or others.
_SOFTWARE = re.compile(r"(br|virbr|docker|veth|vnet|tap|tun|lo|cni|flannel|cali|dummy)[-\d]*\Z")
#: A route: its network and, after gateway, flags, two counts and metric, the mask.
_ROUTE = re.compile(
    r"(?P<interface>\S+)\s+(?P<network>[0-9A-F]{8})(\s+\S+){5}\s+(?P<mask>[0-9A-F]{8})\s"
)
_NEED = "technology, rate, lanes, pcie, pcie_lanes, device (config/site.md)"


@dataclass
class Fabric:
    """The facts of a fabric for `extras["fabric"]`, and what makes MPIs take it.

    `notes` say where the facts come from, `todo` what a human must fill in, `link` what the link
    says of itself. `node` was looked at, and has `seen` these paths; `links` are all that it said.
    `rails` are the names of all links like that one, where there are several.
    `fault` says why no job has looked at the node that was `asked`; `refused`: Slurm takes none.
    """

    facts: dict[str, str | int] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)
    link: str = ""
    node: str = ""
    seen: frozenset[str] = frozenset()
    links: NodeLinks | None = None
    rails: tuple[str, ...] = ()
    asked: str = ""
    fault: str = ""
    refused: bool = False


def script() -> str:
    """Return the script; it takes paths as arguments."""
    node, links = (path.read_text(encoding="utf-8") for path in (_SCRIPT, link_report.SCRIPT))
    return f"{node}\necho '== links'\n(\nset --\n{links}\n)\necho '== end'\n"


def here(paths: list[str]) -> Fabric:
    """Look at this machine itself; raises ParseError when it cannot be understood."""
    done = machine.run(["sh", "-s", "--", *paths], timeout=60, text=script())
    if done.fault:
        raise ParseError("link.sh", done.fault)
    return read(done.out, "", "this machine", own=True)


def read(text: str, address: str, source: str, *, own: bool = False) -> Fabric:
    """Read what the script printed; `address` is the IPv4 address that Slurm has of the node.

    Lines before the first mark are those of prologs and profiles. Raises ParseError when a part is
    missing or cannot be read. `own` is as in `_fabric`.
    """
    parts: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith(_MARK):
            part = parts.setdefault(line.removeprefix(_MARK), [])
        elif parts:
            part.append(line)
    if missing := [name for name in ("links", "route", "paths", "end") if name not in parts]:
        raise ParseError(source, f"the output is cut off: no part {missing[0]!r}")
    node = link_report.parse("\n".join(parts["links"]) + "\n", source)
    made = _fabric(node, _interface(parts["route"], address), own)
    made.node, made.links = node.name or source, node
    made.notes += _gpus(node)
    made.seen = frozenset(line[4:] for line in parts["paths"] if line.startswith("yes "))
    return made


def _interface(lines: list[str], address: str) -> str:
    """Return the interface of the narrowest network that an address belongs to.

    Source of the form: Linux, /proc/net/route; addresses are hexadecimal, in the order of bytes of
    the machine.
    """
    try:
        number = int.from_bytes(ipaddress.IPv4Address(address).packed, sys.byteorder)
    except ValueError:
        return ""
    fitting: dict[int, str] = {}
    for row in filter(None, map(_ROUTE.match, lines)):
        mask = int(row["mask"], 16)
        if mask and number & mask == int(row["network"], 16):
            fitting.setdefault(mask.bit_count(), row["interface"])
    return fitting[max(fitting)] if fitting else ""


@dataclass(frozen=True)
class _Link:
    """A link that is up: `mbps` in Mbit/s; of several equals the one with the lower rank comes."""

    of: Port | Interface
    technology: str
    mbps: float
    rank: int
    pci: str
    said: str

    @property
    def alike(self) -> tuple[str, float, int]:
        return self.technology, self.mbps, self.rank

    @property
    def order(self) -> tuple[float, int, list[int | str]]:
        return -self.mbps, self.rank, natural(self.of.name)

    def __str__(self) -> str:
        return f"{self.of.name} ({self.said})"


def _fabric(node: NodeLinks, control: str, own: bool) -> Fabric:
    """Return the facts of the fastest link of a node that is up.

    Without any hardware (containers, namespaces) the speed of an interface is whatever its driver
    says, and no fact: then one comes first that does not lead to Slurm's own address (`control`,
    empty: not known). Of the `own` machine, which no job looked at, such an interface may be
    anybody's, and none is taken.
    """
    blind = [
        f"the node's /sys/class/{name} cannot be read: what is in there is missing here"
        for name, how in node.classes.items()
        if how == "unreadable"
    ]
    links = sorted(_links(node, physical=True), key=lambda link: link.order)
    if own and not (links or node.ports or any(each.physical for each in node.interfaces.values())):
        return Fabric(todo=blind)
    virtual = not (links or own)
    if virtual:
        none = _links(node, physical=False)
        links = sorted(none, key=lambda link: (link.of.name == control, link.order))
    if not links:
        return Fabric(todo=[f"no link is up that tells its speed: {_NEED}", *blind])
    first, *others = links
    made = Fabric(notes=[f"the fastest link that is up: {first}"], link=str(first))
    if virtual:
        made.notes = [f"no link is hardware; taken: {first}"]
        if control in [link.of.name for link in others]:
            made.notes[0] += f", as Slurm itself takes {control}"
    if others:
        made.notes.append("also up: " + "; ".join(map(str, others)))
    _state_rate(made, first)
    if first.pci or isinstance(first.of, Port):
        _state_slot(made, node, first.pci)
    _state_device(made, first)
    alike = [link for link in links if link.alike == first.alike]
    if len(alike) > 1 and not virtual:
        made.rails = tuple(link.of.name for link in alike)
        made.todo.append(
            f"device: {', '.join(made.rails)} run at the same rate; name all that one message may "
            "use (rails), and name them to the MPIs, too"
        )
    if virtual and (rate := made.facts.pop("rate", "")):
        no_fact = f"no hardware stands behind what {first.of.name} says"
        made.todo.insert(0, f'rate: "{rate}" if it is true; {no_fact}')
    made.todo += blind
    return made


def _links(node: NodeLinks, *, physical: bool) -> Iterator[_Link]:
    """Yield the links of hardware that are up, or those of none."""
    for port in node.ports.values() if physical else ():
        if port.up and port.rate:
            adapter, rank = node.adapters[port.device], int(not port.infiniband)
            technology = of_driver(adapter.driver, ("infiniband", "ethernet")[rank])
            name = {"infiniband": "InfiniBand", "ethernet": "RoCE"}.get(technology, technology)
            said = f"{name}, {port.rate}"
            yield _Link(port, technology, 1000 * port.rate.gbps, rank, adapter.pci, said)
    for card in node.interfaces.values():
        is_meant = card.physical == physical and (physical or not _SOFTWARE.match(card.name))
        if is_meant and card.up and card.speed and card.ethernet:
            said = f"{card.speed} Mb/s"
            yield _Link(card, card.technology, card.speed, 2, card.pci, said)


def _state_rate(made: Fabric, link: _Link) -> None:
    """State technology and rate; a rate without a formula (a bond of two) is for a human."""
    made.facts["technology"] = link.technology
    if link.technology == "infiniband" and isinstance(link.of, Port) and (rate := link.of.rate):
        if rate.word == "HDR" and rate.lanes == rates.HDR100_LANES:
            made.facts |= {"rate": "HDR100", "lanes": rate.lanes}
        elif rate.word in rates.INFINIBAND and rate.lanes in rates.INFINIBAND_LANES:
            made.facts |= {"rate": rate.word, "lanes": rate.lanes}
        else:
            made.todo.append(f"rate, lanes: {rate} is not known here")
        return
    gbps = f"{link.mbps / 1000:g}"
    if gbps in rates.PORTS[link.technology]:
        made.facts["rate"] = gbps
    else:
        made.todo.append(f"rate: {gbps} Gb/s is none of {link.technology}")


def _state_slot(made: Fabric, node: NodeLinks, address: str) -> None:
    """State what the adapter of a slot can do at most, and whether it does."""
    slot = node.slots.get(address)
    if slot is None or not (slot.max_speed and slot.max_width):
        made.todo.append("pcie, pcie_lanes: the node does not tell what the adapter's slot can do")
        return
    most = slot_text(slot.max_speed, slot.max_width)
    made.notes.append(f"slot {slot.address}: {most} at most")
    if slot.max_speed in rates.GENERATIONS:
        made.facts["pcie"] = rates.GENERATIONS[slot.max_speed]
    else:
        made.todo.append(f"pcie: {slot.max_speed:g} GT/s is not known here")
    if slot.max_width in rates.PCIE_LANES:
        made.facts["pcie_lanes"] = slot.max_width
    if (slot.speed, slot.width) != (slot.max_speed, slot.max_width):
        made.todo.append(
            f"pcie, pcie_lanes: the adapter can do {most}, but runs at {slot}; write what it should"
        )


def _gpus(node: NodeLinks) -> Iterator[str]:
    """Say which GPUs there are: that all programs can use them is for a human to state."""
    for kind in dict.fromkeys(node.gpus.values()):
        slots = [node.slots.get(each, Slot(each)) for each, of in node.gpus.items() if of == kind]
        facts: dict[str, str | int] = {"gpus": len(slots), "gpu_kind": kind}
        if (speed := slots[0].max_speed) in rates.GENERATIONS:
            facts["gpu_pcie"] = rates.GENERATIONS[speed or 0]
        if slots[0].width in rates.PCIE_LANES:
            facts["gpu_pcie_lanes"] = slots[0].width or 0
        told = ", ".join(f'"{key}": {value!r}'.replace("'", '"') for key, value in facts.items())
        yield f"to measure from GPUs, too: {told}"


def _state_device(made: Fabric, link: _Link) -> None:
    """State the device, and the variables with which MPIs take it."""
    if link.technology == "omni-path":
        return
    made.facts["device"] = link.of.name
    if link.technology == "infiniband" and isinstance(port := link.of, Port):
        # UCX (MPICH, Open MPI), and MVAPICH2, which takes the adapter only.
        device = f"{port.device}:{port.number}"
        made.variables = {"UCX_NET_DEVICES": device, "MV2_IBA_HCA": port.device}
    elif link.technology == "ethernet" and isinstance(card := link.of, Interface):
        if card.mtu:
            made.facts["mtu"] = card.mtu
        # libfabric (Intel MPI, MPICH), UCX (MPICH), Open MPI.
        names = ("FI_TCP_IFACE", "UCX_NET_DEVICES", "OMPI_MCA_btl_tcp_if_include")
        made.variables = {"FI_PROVIDER": "tcp", **dict.fromkeys(names, card.name)}
