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
from dataclasses import dataclass
from pathlib import Path

from acceptance.fabric import Facts, link_report, rates, topology
from acceptance.simulation.defects import Injected
from acceptance.simulation.platform import Platform
from acceptance.simulation.technology import SimulationFault

ERRORS = (
    "symbol_error link_error_recovery link_downed port_rcv_errors local_link_integrity_errors "
    "excessive_buffer_overrun_errors port_xmit_discards"
).split()
#: Technology -> the driver of its adapters.
_DRIVERS = {"omni-path": "hfi1"}
_DRIVER = "mlx5_core"


class Sysfs:
    """A tree of sysfs, with links between class, device and bus."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.add("class/net/lo", operstate="unknown", mtu=65536)
        (self.root / "class/net/bonding_masters").write_text("\n")

    def add(self, folder: str, **files: object) -> Path:
        """Write files with a value each into a folder of the tree."""
        place = self.root / folder
        place.mkdir(parents=True, exist_ok=True)
        for file, value in files.items():
            (place / file).write_text(f"{value}\n")
        return place

    def link(self, name: str, target: str) -> None:
        """Make a relative link from a name in the tree to a target in the tree."""
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (self.root / target).mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def slot(
        self,
        address: str,
        driver: str,
        speed: str | None = "5.0 GT/s PCIe",
        width: int | None = 8,
        most: str | None = "5.0 GT/s PCIe",
        wide: int | None = 8,
    ) -> str:
        """Add a PCI device; a speed of None stands for a kernel before 4.13."""
        place = f"devices/pci0000:00/{address}"
        self.link(f"{place}/subsystem", "bus/pci")
        self.link(f"{place}/driver", f"bus/pci/drivers/{driver}")
        if speed is not None:
            self.add(place, current_link_speed=speed, current_link_width=width)
            self.add(place, max_link_speed=most, max_link_width=wide)
        return place

    def adapter(
        self,
        name: str = "mlx5_0",
        address: str = "0000:03:00.0",
        guid: str | None = None,
        driver: str = _DRIVER,
        **slot: str | int | None,
    ) -> None:
        """Add an adapter without ports; Linux writes a GUID as `9803:9b03:0050:0000`."""
        place = self.slot(address, driver, **slot)  # type: ignore[arg-type]
        (self.root / place / "infiniband" / name / "ports").mkdir(parents=True)
        self.link(f"class/infiniband/{name}", f"{place}/infiniband/{name}")
        self.link(f"{place}/infiniband/{name}/device", place)
        if guid:
            self.add(f"{place}/infiniband/{name}", node_guid=guid)

    def port(
        self,
        number: int = 1,
        name: str = "mlx5_0",
        rate: str = "40 Gb/sec (4X QDR)",
        state: str = "4: ACTIVE",
        phys_state: str = "5: LinkUp",
        link_layer: str = "InfiniBand",
        **counters: int,
    ) -> None:
        """Add a port to an adapter; counters are zero unless given."""
        place = f"class/infiniband/{name}/ports/{number}"
        self.add(place, state=state, phys_state=phys_state, rate=rate, link_layer=link_layer)
        words = {"port_xmit_data": 0, "port_rcv_data": 0}
        self.add(f"{place}/counters", **{**dict.fromkeys(ERRORS, 0), **words, **counters})

    def interface(
        self,
        name: str = "eth2",
        address: str = "0000:05:00.0",
        speed: int = 10000,
        duplex: str = "full",
        mtu: int = 9000,
        operstate: str = "up",
        type: int = 1,
        slot: Mapping[str, str | int | None] | None = None,
        **counters: int,
    ) -> None:
        """Add an interface; one without an address has no device, as bridges have none."""
        place = f"devices/virtual/net/{name}"
        if address:
            device = self.slot(address, "cxgb3", **(slot or {}))  # type: ignore[arg-type]
            place = f"{device}/net/{name}"
            self.link(f"{place}/device", device)
        self.add(place, operstate=operstate, duplex=duplex, mtu=mtu, type=type)
        self.add(place, speed=speed, carrier_changes=counters.pop("carrier_changes", 1))
        names = [f"{way}_{what}" for what in ("bytes", "errors", "dropped") for way in ("rx", "tx")]
        self.add(f"{place}/statistics", **{**dict.fromkeys(names, 0), **counters})
        self.link(f"class/net/{name}", place)


def write_node(folder: Path, name: str, stated: Facts, fault: Injected | None = None) -> str:
    """Write what a node shows whose links run as is stated; return the command that reads it.

    With a fault that is its own, they run as that lets them. Technologies that Linux shows no links
    of leave an empty tree.
    """
    facts = fault.node(name, stated) if fault else stated
    counters = fault.fault.counters if fault and fault.place == name else {}
    tree, addresses = Sysfs(folder / "sys"), (f"0000:{n:02x}:00.0" for n in range(3, 256))
    now, most = _slot(facts), _slot(stated)
    slot = {"speed": now[0], "width": now[1], "most": most[0], "wide": most[1]}
    if facts.shown and facts.technology == "ethernet":
        errors = {"rx_errors": sum(counters.values())} if counters else {}
        for device in facts.devices or [f"eth{n}" for n in range(facts.ports)]:
            speed, mtu = facts.mbps or -1, facts.mtu or 1500
            tree.interface(device, next(addresses), speed, mtu=mtu, slot=slot, **errors)  # type: ignore[arg-type]
    elif facts.shown:
        driver = _DRIVERS.get(facts.technology, _DRIVER)
        layer = "Ethernet" if facts.technology == "roce" else "InfiniBand"
        rate = str(facts.port_rate or f"{(facts.mbps or 0) / 1000:g} Gb/sec (1X)")
        seen = set[str]()
        for device in facts.devices or [f"mlx5_{n}" for n in range(facts.ports)]:
            adapter, _, port = device.partition("/")
            if adapter not in seen:
                seen.add(adapter)
                tree.adapter(adapter, next(addresses), driver=driver, **slot)  # type: ignore[arg-type]
            tree.port(int(port or 1), adapter, rate, link_layer=layer, **counters)  # type: ignore[arg-type]
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
_COUNTERS = {"symbol_error": "SymbolErrorCounter"}
_VERSION = "simulated: by no infiniband-diags"

#: A port: the name of a device, and a number from 1.
Port = tuple[str, int]


@dataclass(frozen=True)
class _Cable:
    """A cable between two ports, and what it trained at: `4xHDR` is 4 lanes and HDR."""

    ends: tuple[Port, Port]
    lanes: int
    speed: str

    def far(self, end: Port) -> Port:
        """Return the port at the other end."""
        return self.ends[0] if self.ends[1] == end else self.ends[1]


@dataclass(frozen=True)
class Cabling:
    """The devices of a platform and its cables; `hosts` are in the order of their places.

    `leaf` is how many hosts a switch has; without spines it is the only one. `counters` are those
    of a port that are above zero.
    """

    hosts: tuple[str, ...]
    leaf: int
    spines: int
    cables: tuple[_Cable, ...]
    counters: Mapping[Port, Mapping[str, int]]

    @classmethod
    def of(cls, facts: Facts, platform: Platform, fault: Injected | None = None) -> "Cabling":
        """Lay the cables of a platform; raises SimulationFault for facts without a rate."""
        tree, hosts = platform.tree, platform.hosts
        leaf, spines = (tree.leaf, tree.spines) if tree else (len(hosts), 0)
        cables, counters = [], {}
        for place, host in enumerate(hosts):
            own = fault.node(host, facts) if fault else facts
            switch = _switch(place // leaf, spines)
            cables.append(_Cable(((switch, place % leaf + 1), (host, 1)), *_trained(own)))
            if fault and fault.place == host:
                counters[(host, 1)] = fault.fault.counters
        cables += (
            _Cable(((_switch(n, spines), leaf + 1 + up), (f"spine{up}", n + 1)), *_trained(facts))
            for n in range(len(hosts) // leaf if spines else 0)
            for up in range(spines)
        )
        return cls(hosts, leaf, spines, tuple(cables), counters)

    @property
    def switches(self) -> dict[str, int]:
        """Return switch -> the number of its ports."""
        leaves = len(self.hosts) // self.leaf
        ports = {_switch(n, self.spines): self.leaf + self.spines for n in range(leaves)}
        return ports | {f"spine{n}": leaves for n in range(self.spines)}

    def ibnetdiscover(self) -> Iterator[str]:
        """Yield the lines of each device, with those of its ports."""
        at = self._at()
        for device, ports in {**self.switches, **dict.fromkeys(self.hosts, 1)}.items():
            guid, lid = _guid(device), self._lid(device)
            if device in self.switches:
                yield f"switchguid=0x{guid:x}({guid:x})"
                end = f"enhanced port 0 lid {lid} lmc 0"
                yield f'Switch\t{ports} "{_id(device)}"\t\t# "{_name(device)}" {end}'
            else:
                yield f"caguid=0x{guid:x}"
                yield f'Ca\t{ports} "{_id(device)}"\t\t# "{_name(device)}"'
            for port in range(1, ports + 1):
                yield self._line(at[device, port], (device, port))
            yield ""

    def _line(self, cable: _Cable, end: Port) -> str:
        (device, port), (far, far_port) = end, cable.far(end)
        own = f"({_guid(device) + port:x}) " if device not in self.switches else ""
        before = f"lid {self._lid(device)} lmc 0 " if own else ""
        other = f"({_guid(far) + far_port:x}) " if far not in self.switches else ""
        return (
            f'[{port}]{own}\t"{_id(far)}"[{far_port}]{other}\t\t# {before}"{_name(far)}" '
            f"lid {self._lid(far)} {cable.lanes}x{cable.speed}"
        )

    def iblinkinfo(self) -> Iterator[str]:
        """Yield a line for each port: all are in service."""
        for cable in self.cables:
            gbps = f"{float(rates.INFINIBAND[cable.speed].speed):g} Gbps"
            for end in cable.ends:
                (device, port), (far, far_port) = end, cable.far(end)
                yield (
                    f'{self._port_guid(end)} "{_name(device)}" {self._lid(device)} {port}[  ] '
                    f"==( {cable.lanes}X {gbps} Active/  LinkUp)==>  "
                    f'{self._port_guid((far, far_port))} {self._lid(far)} {far_port}[  ] '
                    f'"{_name(far)}" ( )'
                )  # fmt: skip

    def ibqueryerrors(self) -> Iterator[str]:
        """Yield the counters above zero, and the summary."""
        for (device, port), values in self.counters.items():
            guid = f"0x{_guid(device):016x}"
            texts = [f" [{_COUNTERS[name]} == {value}]" for name, value in values.items()]
            if texts:
                yield f'Errors for {guid} "{_name(device)}"'
                yield f"   GUID {guid} port {port}:{''.join(texts)} "
        devices, ports = len(self.switches) + len(self.hosts), 2 * len(self.cables)
        bad = sum(map(bool, self.counters.values()))
        yield f"## Summary: {devices} nodes checked, {bad} bad nodes found"
        yield f"##          {ports} ports checked, {bad} ports have errors beyond threshold"

    def dump_lfts(self) -> Iterator[str]:
        """Yield the table of each switch: to host j by the spine j modulo their number."""
        last = len(self.hosts)
        for switch in self.switches:
            guid = f"guid 0x{_guid(switch):016x} ({_name(switch)})"
            yield f"Unicast lids [0x0-0x{last:x}] of switch DR path slid 0; dlid 0; 0 {guid}:"
            for place, host in enumerate(self.hosts):
                if switch.startswith("spine"):
                    port = place // self.leaf + 1
                elif switch == _switch(place // self.leaf, self.spines):
                    port = place % self.leaf + 1
                else:
                    port = self.leaf + 1 + place % self.spines
                yield f"0x{self._lid(host):04x} {port:03d} : (Channel Adapter '{_name(host)}')"

    def _at(self) -> dict[Port, _Cable]:
        return {end: cable for cable in self.cables for end in cable.ends}

    def _lid(self, device: str) -> int:
        if device in self.switches:
            return len(self.hosts) + 1 + [*self.switches].index(device)
        return int(device[1:]) + 1

    def _port_guid(self, end: Port) -> str:
        device, port = end
        return f"0x{_guid(device) + (0 if device in self.switches else port):016x}"


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


def _trained(facts: Facts) -> tuple[int, str]:
    rate = facts.port_rate
    if rate is None or not rate.word:
        raise SimulationFault(f"{facts.text}: its rate must be stated to be simulated")
    return rate.lanes, rate.word


def _switch(number: int, spines: int) -> str:
    return f"leaf{number}" if spines else _ONE_SWITCH


def _guid(device: str) -> int:
    kind, number = device.rstrip("0123456789"), int(device.lstrip("abcdefghijklmnopqrstuvwxyz"))
    first, step = {"n": (_HOST, 16), "spine": (_SPINE, 1)}.get(kind, (_LEAF, 1))
    return first + step * number


def _id(device: str) -> str:
    return f"{'H' if device.rstrip('0123456789') == 'n' else 'S'}-{_guid(device):016x}"


def _name(device: str) -> str:
    """Return the description of a device; a host's begins with the name of its node."""
    return f"{device} simulated" if device.rstrip("0123456789") == "n" else device
