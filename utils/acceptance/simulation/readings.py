"""What a simulated node tells of its links, in the form that `fabric/link.sh` prints.

The link check reads it as it reads what the script tells of any node (`fabric/link_report.py`).

Each program of infiniband-diags is a script that prints a text in the form of the real one;
`fabric.sh` runs them, and `fabric/topology/` reads what they leave, as of any fabric. A host's GUID
goes with its name, a port with its place. The version that is kept with the reading says that it is
simulated.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from acceptance.fabric import Facts, rates, topology
from acceptance.simulation.defects import Injected
from acceptance.simulation.platform import Platform, Tree
from acceptance.simulation.technology import SimulationFault


def write_node(folder: Path, name: str, stated: Facts, fault: Injected | None = None) -> str:
    """Write what a node tells whose links run as is stated; return the command that prints it.

    With a fault that is its own, they run as that lets them. Technologies that Linux shows no links
    of tell nothing.
    """
    facts = fault.node(name, stated) if fault else stated
    counters = fault.fault.counters if fault and fault.place == name else {}
    lines = ["link 1", "class infiniband listed", "class net listed"]
    lines += [*_links(facts, stated, counters), "lldp unreadable"] if facts.shown else []
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "links.txt"
    told = (*lines, f"end {len(lines)}")
    report.write_text("".join(f"{name} {line}\n" for line in told))
    return f"cat {shlex.quote(str(report))}"


def _links(facts: Facts, stated: Facts, counters: Mapping[str, int]) -> Iterator[str]:
    """Yield what is told of ports or interfaces, and of their slots."""
    ethernet = facts.technology == "ethernet"
    driver = {"ethernet": "cxgb3", "omni-path": "hfi1"}.get(facts.technology, "mlx5_core")
    link: dict[str, object] = {"type": 1, "operstate": "up", "speed": facts.mbps or -1}
    link |= {"duplex": "full", "mtu": facts.mtu or 1500, "rx_errors": sum(counters.values())}
    port: dict[str, object] = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", **counters}
    port["rate"] = facts.port_rate or f"{(facts.mbps or 0) / 1000:g} Gb/sec (1X)"
    port["link_layer"] = "Ethernet" if facts.technology == "roce" else "InfiniBand"
    names = facts.devices or [f"{'eth' if ethernet else 'mlx5_'}{n}" for n in range(facts.ports)]
    adapters = dict.fromkeys(device.partition("/")[0] for device in names)
    for number, adapter in enumerate(adapters, 3):
        address = f"0000:{number:02x}:00.0"
        told: dict[str, object] = {"device": "pci", "driver": driver, "pci": address}
        yield from _values(f"{'net' if ethernet else 'adapter'} {adapter}", told)
        for when, of in (("current", facts), ("max", stated)):
            yield from _values(f"slot {address}", _slot(of, when))
    for device in names:
        adapter, _, place = device.partition("/")
        subject, values = f"port {adapter} {place or 1}", port
        if ethernet:
            subject, values = f"net {device}", link
        yield from _values(subject, values)


def _values(subject: str, values: Mapping[str, object]) -> Iterator[str]:
    return (f"{subject} {key} {value}" for key, value in values.items())


def _slot(facts: Facts, when: str) -> dict[str, object]:
    """Return speed and width of a slot as Linux writes them; empty where nothing is stated."""
    if facts.slot_speed is None and not facts.pcie_lanes:
        return {}
    speed = f"{facts.slot_speed:.1f} GT/s PCIe" if facts.slot_speed else "Unknown"
    return {f"{when}_link_speed": speed, f"{when}_link_width": facts.pcie_lanes or 0}


#: GUIDs that no maker has: those of hosts, 16 apart, of leaves and of spines.
_HOST, _LEAF, _SPINE = 0x0200_0000_0001_0000, 0x0200_0000_0010_0000, 0x0200_0000_0020_0000
#: The switch of a platform without a tree.
_ONE_SWITCH = "switch0"
#: Counters of Linux -> their names in ibqueryerrors.
_COUNTERS_TOLD = {"symbol_error": "SymbolErrorCounter"}
_VERSION = "simulated: by no infiniband-diags"


@dataclass(frozen=True)
class _Device:
    """A host (`H`) or a switch (`S`), with its GUID, its LID and the number of its ports."""

    kind: str
    name: str
    guid: int
    lid: int
    ports: int

    @property
    def id(self) -> str:
        """Return its name in the outputs."""
        return f"{self.kind}-{self.guid:016x}"

    @property
    def text(self) -> str:
        """Return its description; a host's begins with the name of its node."""
        return f"{self.name} simulated" if self.kind == "H" else self.name

    def port_guid(self, port: int) -> int:
        """Return the GUID of a port: a host's ports have their own."""
        return self.guid + (port if self.kind == "H" else 0)


#: A port: its device, and a number from 1.
Port = tuple[_Device, int]


@dataclass(frozen=True)
class Cabling:
    """The devices of a platform and its cables; hosts are in the order of their places.

    `far` has of each port that at the other end, and what the cable trained at: its lanes and its
    rate. `counters` are those of a port that are above zero. Without a tree there is one leaf.
    """

    hosts: tuple[_Device, ...]
    leaves: tuple[_Device, ...]
    spines: tuple[_Device, ...]
    far: dict[Port, tuple[Port, int, str]] = field(default_factory=dict)
    counters: dict[Port, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Facts, platform: Platform, fault: Injected | None = None) -> "Cabling":
        """Lay the cables of a platform; raises SimulationFault for facts without a rate."""
        count, tree = len(platform.hosts), platform.tree or Tree(len(platform.hosts), 0)
        number_of = {host: int(host.removeprefix("n")) for host in platform.hosts}
        hosts = tuple(_Device("H", e, _HOST + 16 * n, n + 1, 1) for e, n in number_of.items())
        names = [f"leaf{n}" for n in range(count // tree.leaf)] if tree.spines else [_ONE_SWITCH]
        leaves = tuple(
            _Device("S", name, _LEAF + n, count + 1 + n, tree.leaf + tree.spines)
            for n, name in enumerate(names)
        )
        spines = tuple(
            _Device("S", f"spine{n}", _SPINE + n, count + 1 + len(leaves) + n, len(leaves))
            for n in range(tree.spines)
        )
        cabling = cls(hosts, leaves, spines)
        for place, host in enumerate(hosts):
            leaf, port = leaves[place // tree.leaf], place % tree.leaf + 1
            cabling._join((leaf, port), (host, 1), fault.node(host.name, facts) if fault else facts)
            if fault and fault.place == host.name:
                cabling.counters[host, 1] = fault.fault.counters
        for (n, leaf), (up, spine) in product(enumerate(leaves), enumerate(spines)):
            cabling._join((leaf, tree.leaf + 1 + up), (spine, n + 1), facts)
        return cabling

    def _join(self, one: Port, other: Port, facts: Facts) -> None:
        rate = facts.port_rate
        if rate is None or not rate.word:
            raise SimulationFault(f"{facts.text}: its rate must be stated to be simulated")
        self.far[one], self.far[other] = (
            (other, rate.lanes, rate.word),
            (one, rate.lanes, rate.word),
        )

    def ibnetdiscover(self) -> Iterator[str]:
        """Yield the lines of each device, with those of its ports."""
        for device in (*self.leaves, *self.spines, *self.hosts):
            guid = device.guid
            if device.kind == "S":
                yield f"switchguid=0x{guid:x}({guid:x})"
                end = f"enhanced port 0 lid {device.lid} lmc 0"
                yield f'Switch\t{device.ports} "{device.id}"\t\t# "{device.text}" {end}'
            else:
                yield f"caguid=0x{guid:x}"
                yield f'Ca\t{device.ports} "{device.id}"\t\t# "{device.text}"'
            for port in range(1, device.ports + 1):
                (far, far_port), lanes, speed = self.far[device, port]
                own, other = (
                    f"({one.port_guid(at):x}) " if one.kind == "H" else ""
                    for one, at in ((device, port), (far, far_port))
                )
                before = f"lid {device.lid} lmc 0 " if own else ""
                yield (
                    f'[{port}]{own}\t"{far.id}"[{far_port}]{other}\t\t# {before}"{far.text}" '
                    f"lid {far.lid} {lanes}x{speed}"
                )
            yield ""

    def iblinkinfo(self) -> Iterator[str]:
        """Yield a line for each port: all are in service."""
        for (device, port), ((far, far_port), lanes, speed) in self.far.items():
            gbps = f"{float(rates.INFINIBAND[speed].speed):g} Gbps"
            yield (
                f'0x{device.port_guid(port):016x} "{device.text}" {device.lid} {port}[  ] '
                f"==( {lanes}X {gbps} Active/  LinkUp)==>  "
                f'0x{far.port_guid(far_port):016x} {far.lid} {far_port}[  ] "{far.text}" ( )'
            )

    def ibqueryerrors(self) -> Iterator[str]:
        """Yield the counters above zero, and the summary."""
        for (device, port), values in self.counters.items():
            texts = [f" [{_COUNTERS_TOLD[name]} == {value}]" for name, value in values.items()]
            if texts:
                yield f'Errors for 0x{device.guid:016x} "{device.text}"'
                yield f"   GUID 0x{device.guid:016x} port {port}:{''.join(texts)} "
        devices = len(self.leaves) + len(self.spines) + len(self.hosts)
        bad = sum(map(bool, self.counters.values()))
        yield f"## Summary: {devices} nodes checked, {bad} bad nodes found"
        yield f"##          {len(self.far)} ports checked, {bad} ports have errors beyond threshold"

    def dump_lfts(self) -> Iterator[str]:
        """Yield the table of each switch: to host j by the spine j modulo their number."""
        last, of_leaf = len(self.hosts), len(self.hosts) // len(self.leaves)
        for switch in (*self.leaves, *self.spines):
            guid = f"guid 0x{switch.guid:016x} ({switch.name})"
            yield f"Unicast lids [0x0-0x{last:x}] of switch DR path slid 0; dlid 0; 0 {guid}:"
            for place, host in enumerate(self.hosts):
                leaf, port = divmod(place, of_leaf)
                if switch in self.spines:
                    out = leaf + 1
                elif switch == self.leaves[leaf]:
                    out = port + 1
                else:
                    out = of_leaf + 1 + place % len(self.spines)
                yield f"0x{host.lid:04x} {out:03d} : (Channel Adapter '{host.text}')"


def write_fabric(
    folder: Path, facts: Facts, platform: Platform, fault: Injected | None = None
) -> str:
    """Write what a fabric shows; return the command that reads it into the folders it is given.

    Raises SimulationFault for a fabric that is none of InfiniBand.
    """
    if facts.technology != "infiniband":
        raise SimulationFault(f"nobody sees all of a fabric of {facts.technology}")
    cabling = Cabling.of(facts, platform, fault)
    texts = {
        "ibnetdiscover": cabling.ibnetdiscover(),
        "iblinkinfo": cabling.iblinkinfo(),
        "ibqueryerrors": cabling.ibqueryerrors(),
        "dump_fts": cabling.dump_lfts(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in texts.items():
        output = folder / f"{name}.txt"
        output.write_text("".join(f"{line}\n" for line in lines))
        program = folder / name
        program.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && exec echo {shlex.quote(_VERSION)}\n'
            f"exec cat {shlex.quote(str(output))}\n"
        )
        program.chmod(0o755)
    return f'PATH={shlex.quote(str(folder))}:"$PATH" sh {shlex.quote(str(topology.SCRIPT))}'
