"""What a simulated node shows of its links: a tree of sysfs, as Linux lays it out.

The link check reads it through its own script, as it reads the tree of any node. The form is that
of Linux, Documentation/ABI: sysfs-class-infiniband, sysfs-class-net, sysfs-bus-pci.

Each program of infiniband-diags is a script that prints a text in the form of the real one;
`fabric.sh` runs them, and `fabric/topology/` reads what they leave, as of any fabric. A host's GUID
goes with its name, a port with its place. The version that is kept with the reading says that it is
simulated.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from acceptance.fabric import Facts, link_report, rates, topology
from acceptance.simulation.defects import Injected
from acceptance.simulation.platform import Platform, Tree
from acceptance.simulation.technology import SimulationFault

#: What a PCI device runs at and could, the files of a port and its counters, of an interface and
#: its counters.
_SLOT = {"speed": "5.0 GT/s PCIe", "width": 8, "most": "5.0 GT/s PCIe", "wide": 8}
_PORT = {
    **{"state": "4: ACTIVE", "phys_state": "5: LinkUp"},
    **{"rate": "40 Gb/sec (4X QDR)", "link_layer": "InfiniBand"},
}
_COUNTERS = dict.fromkeys(
    "symbol_error link_error_recovery link_downed port_rcv_errors local_link_integrity_errors "
    "excessive_buffer_overrun_errors port_xmit_discards port_xmit_data port_rcv_data".split(),
    0,
)
_INTERFACE = {
    **{"operstate": "up", "duplex": "full", "mtu": 9000, "type": 1},
    **{"speed": 10000, "carrier_changes": 1},
}
_STATISTICS = dict.fromkeys(
    (f"{way}_{what}" for what in ("bytes", "errors", "dropped") for way in ("rx", "tx")), 0
)


class Sysfs:
    """A tree of sysfs, with links between class, device and bus.

    Whatever is added has the values above in its files, but for those that are given.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.add("class/net/lo", operstate="unknown", mtu=65536)
        (self.root / "class/net/bonding_masters").write_text("\n")

    def add(self, folder: str, **files: object) -> None:
        """Write files with a value each into a folder of the tree."""
        place = self.root / folder
        place.mkdir(parents=True, exist_ok=True)
        for file, value in files.items():
            (place / file).write_text(f"{value}\n")

    def fill(
        self, folders: Mapping[str, Mapping[str, object]], given: Mapping[str, object]
    ) -> None:
        """Write the files of folders, with the values that are given in place of theirs."""
        if unknown := given.keys() - {file for files in folders.values() for file in files}:
            raise TypeError(f"no file of {', '.join(folders)}: {', '.join(unknown)}")
        for folder, files in folders.items():
            self.add(folder, **{file: given.get(file, value) for file, value in files.items()})

    def link(self, name: str, target: str) -> None:
        """Make a relative link from a name in the tree to a target in the tree."""
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (self.root / target).mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def slot(self, address: str, driver: str, given: Mapping[str, object]) -> str:
        """Add a PCI device; a speed of None stands for a kernel before 4.13."""
        place = f"devices/pci0000:00/{address}"
        self.link(f"{place}/subsystem", "bus/pci")
        self.link(f"{place}/driver", f"bus/pci/drivers/{driver}")
        speed, width, most, wide = (given.get(name, value) for name, value in _SLOT.items())
        if speed is not None:
            self.add(place, current_link_speed=speed, current_link_width=width)
            self.add(place, max_link_speed=most, max_link_width=wide)
        return place

    def adapter(
        self,
        name: str = "mlx5_0",
        address: str = "0000:03:00.0",
        guid: str = "",
        driver: str = "mlx5_core",
        **slot: object,
    ) -> None:
        """Add an adapter without ports; Linux writes a GUID as `9803:9b03:0050:0000`."""
        place = self.slot(address, driver, slot)
        (self.root / place / "infiniband" / name / "ports").mkdir(parents=True)
        self.link(f"class/infiniband/{name}", f"{place}/infiniband/{name}")
        self.link(f"{place}/infiniband/{name}/device", place)
        if guid:
            self.add(f"{place}/infiniband/{name}", node_guid=guid)

    def port(self, number: int = 1, name: str = "mlx5_0", **values: object) -> None:
        """Add a port to an adapter, with its counters."""
        place = f"class/infiniband/{name}/ports/{number}"
        self.fill({place: _PORT, f"{place}/counters": _COUNTERS}, values)

    def interface(
        self,
        name: str = "eth2",
        address: str | None = "0000:05:00.0",
        slot: Mapping[str, object] | None = None,
        **values: object,
    ) -> None:
        """Add an interface; one without an address has no device, as bridges have none."""
        place = f"devices/virtual/net/{name}"
        if address:
            device = self.slot(address, "cxgb3", slot or {})
            place = f"{device}/net/{name}"
            self.link(f"{place}/device", device)
        self.fill({place: _INTERFACE, f"{place}/statistics": _STATISTICS}, values)
        self.link(f"class/net/{name}", place)


def write_node(folder: Path, name: str, stated: Facts, fault: Injected | None = None) -> str:
    """Write what a node shows whose links run as is stated; return the command that reads it.

    With a fault that is its own, they run as that lets them. Technologies that Linux shows no links
    of leave an empty tree.
    """
    facts = fault.node(name, stated) if fault else stated
    counters = fault.fault.counters if fault and fault.place == name else {}
    tree, addresses = Sysfs(folder / "sys"), (f"0000:{n:02x}:00.0" for n in range(3, 256))
    slot = dict(zip(_SLOT, (*_slot(facts), *_slot(stated)), strict=True))
    if facts.shown and facts.technology == "ethernet":
        errors = {"rx_errors": sum(counters.values())} if counters else {}
        link = {"speed": facts.mbps or -1, "mtu": facts.mtu or 1500, **errors}
        for device in facts.devices or [f"eth{n}" for n in range(facts.ports)]:
            tree.interface(device, next(addresses), slot, **link)
    elif facts.shown:
        driver = "hfi1" if facts.technology == "omni-path" else "mlx5_core"
        layer = "Ethernet" if facts.technology == "roce" else "InfiniBand"
        rate = str(facts.port_rate or f"{(facts.mbps or 0) / 1000:g} Gb/sec (1X)")
        seen = set[str]()
        for device in facts.devices or [f"mlx5_{n}" for n in range(facts.ports)]:
            adapter, _, port = device.partition("/")
            if adapter not in seen:
                seen.add(adapter)
                tree.adapter(adapter, next(addresses), "", driver, **slot)
            tree.port(int(port or 1), adapter, rate=rate, link_layer=layer, **counters)
    return _command(folder, name)


def _slot(facts: Facts) -> tuple[str | None, int]:
    """Return speed and width of a slot as Linux writes them; no speed where nothing is stated."""
    if facts.slot_speed is None:
        return ("Unknown" if facts.pcie_lanes else None), facts.pcie_lanes or 0
    return f"{facts.slot_speed:.1f} GT/s PCIe", facts.pcie_lanes or 0


def _command(folder: Path, name: str) -> str:
    """Return the command that reads a tree as that of a node of this name.

    No program of this machine tells it the machine's own name, or neighbours.
    """
    programs = folder / "bin"
    programs.mkdir()
    for program, text in (("hostname", f"echo {shlex.quote(name)}"), ("lldpctl", "exit 1")):
        (programs / program).write_text(f"#!/bin/sh\n{text}\n")
        (programs / program).chmod(0o755)
    script, path = shlex.quote(str(link_report.SCRIPT)), shlex.quote(str(programs))
    return f'PATH={path}:"$PATH" sh {script} {shlex.quote(str(folder / "sys"))}'


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
