"""What a simulated node tells of its links, in the form that `fabric/link.sh` prints.

The link check reads it as it reads what the script tells of any node (`fabric/link_report.py`).

Each program of infiniband-diags is a script that prints a text in the form of the real one;
`fabric.sh` runs them, and `fabric/outputs.py` reads what they leave, as of any fabric. A host's
GUID goes with its name, a port with its place. The version that is kept with the reading says that
it is simulated.
"""

import shlex
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from acceptance.core.errors import Fault
from acceptance.fabric import ERRORS, Facts, outputs, rates
from acceptance.fabric.topology import Device, End, Link, Topology
from acceptance.simulation.defects import Injected
from acceptance.simulation.platform import Platform, Tree


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
    ethernet = facts.technology in rates.INTERFACES
    driver = {"ethernet": "cxgb3", "omni-path": "hfi1", "slingshot": "cxi_ss1"}.get(
        facts.technology, "mlx5_core"
    )
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
_VERSION = "simulated: by no infiniband-diags"


def _guid(number: int) -> str:
    return f"0x{number:016x}"


def cabling(facts: Facts, platform: Platform, fault: Injected | None = None) -> Topology:
    """Lay the cables of a platform; raises Fault for facts without a rate.

    Hosts are in the order of their places, leaves before spines. Without a tree there is one leaf.
    """
    tree = _tree_of(platform)
    count = len(platform.hosts) // tree.leaf
    names = [f"leaf{n}" for n in range(count)] if tree.spines else [_ONE_SWITCH]
    hosts: list[Device] = []
    switches: list[Device] = []
    for name in platform.hosts:
        number = int(name.removeprefix("n"))
        guid, guids = _guid(_HOST + 16 * number), {1: _guid(_HOST + 16 * number + 1)}
        hosts.append(Device(guid, "host", f"{name} simulated", number + 1, 1, guids))
    for first, ports, of_level in (
        (_LEAF, tree.leaf + tree.spines, names),
        (_SPINE, count, [f"spine{n}" for n in range(tree.spines)]),
    ):
        for n, name in enumerate(of_level):
            lid = len(hosts) + len(switches) + 1
            switches.append(Device(_guid(first + n), "switch", name, lid, ports))
    links = []
    for place, (name, host) in enumerate(zip(platform.hosts, hosts, strict=True)):
        leaf, port = switches[place // tree.leaf], End(host.guid, 1)
        own = fault.node(name, facts) if fault else facts
        links.append(_link(port, End(leaf.guid, place % tree.leaf + 1), own))
    for (n, leaf), (up, spine) in product(enumerate(switches[:count]), enumerate(switches[count:])):
        links.append(_link(End(leaf.guid, tree.leaf + 1 + up), End(spine.guid, n + 1), facts))
    return Topology({each.guid: each for each in (*switches, *hosts)}, tuple(links))


def _tree_of(platform: Platform) -> Tree:
    return platform.tree or Tree(len(platform.hosts), 0)


def _link(one: End, other: End, facts: Facts) -> Link:
    rate = facts.port_rate
    if rate is None or not rate.word:
        raise Fault(f"{facts.text}: its rate must be stated to be simulated")
    return Link((one, other), f"{rate.lanes}x", rate.word, "Active")


def ibnetdiscover(fabric: Topology) -> Iterator[str]:
    """Yield the lines of each device, with those of its ports."""
    for guid, device in fabric.devices.items():
        if fabric.is_switch(guid):
            yield f"switchguid={guid}({guid[2:]})"
            rest = f"enhanced port 0 lid {device.lid} lmc 0"
            yield f'Switch\t{device.ports} "S-{guid[2:]}"\t\t# "{device.name}" {rest}'
        else:
            yield f"caguid={guid}"
            yield f'Ca\t{device.ports} "H-{guid[2:]}"\t\t# "{device.name}"'
        for port in range(1, device.ports + 1):
            end = End(guid, port)
            link = fabric.by_end[end]
            far = link.other(guid)
            (_, own), (other, far_guid) = _at(fabric, end), _at(fabric, far)
            kind = "S" if other.kind == "switch" else "H"
            # Of a host, whose ports have GUIDs of their own.
            mine = f"({own[2:]}) " if device.port_guids else ""
            theirs = f"({far_guid[2:]}) " if other.port_guids else ""
            before = f"lid {device.lid} lmc 0 " if mine else ""
            yield (
                f'[{port}]{mine}\t"{kind}-{far.guid[2:]}"[{far.port}]{theirs}\t\t# {before}'
                f'"{other.name}" lid {other.lid} {link.trained}'
            )
        yield ""


def _iblinkinfo(fabric: Topology) -> Iterator[str]:
    """Yield a line for each port: all are in service."""
    for end, link in fabric.by_end.items():
        far = link.other(end.guid)
        (device, guid), (other, far_guid) = _at(fabric, end), _at(fabric, far)
        gbps = f"{float(rates.INFINIBAND[link.speed].speed):g} Gbps"
        yield (
            f'{guid} "{device.name}" {device.lid} {end.port}[  ] '
            f"==( {link.width.upper()} {gbps} {link.state}/  LinkUp)==>  "
            f'{far_guid} {other.lid} {far.port}[  ] "{other.name}" ( )'
        )


def _at(fabric: Topology, end: End) -> tuple[Device, str]:
    """Return the device of a port, and the GUID of the port: that of a switch is its own."""
    device = fabric.devices[end.guid]
    return device, device.port_guids.get(end.port, end.guid)


def _ibqueryerrors(fabric: Topology, fault: Injected | None) -> Iterator[str]:
    """Yield the counters above zero, and the summary."""
    bad = 0
    for guid, device in fabric.devices.items():
        if fault and fault.fault.counters and device.name.split()[0] == fault.place:
            bad += 1
            values = fault.fault.counters.items()
            told = "".join(f" [{ERRORS[name][1]} == {value}]" for name, value in values)
            yield f'Errors for {guid} "{device.name}"'
            yield f"   GUID {guid} port 1:{told} "
    yield f"## Summary: {len(fabric.devices)} nodes checked, {bad} bad nodes found"
    ports = len(fabric.by_end)
    yield f"##          {ports} ports checked, {bad} ports have errors beyond threshold"


def _dump_lfts(fabric: Topology, tree: Tree) -> Iterator[str]:
    """Yield the table of each switch: to host j by the spine j modulo their number."""
    hosts = [device for device in fabric.devices.values() if device.kind == "host"]
    leaves = len(hosts) // tree.leaf
    for number, guid in enumerate(fabric.switches):
        switch = f"guid {guid} ({fabric.devices[guid].name})"
        yield f"Unicast lids [0x0-0x{len(hosts):x}] of switch DR path slid 0; dlid 0; 0 {switch}:"
        for place, host in enumerate(hosts):
            leaf, port = divmod(place, tree.leaf)
            if number >= leaves:
                out = leaf + 1
            elif number == leaf:
                out = port + 1
            else:
                out = tree.leaf + 1 + place % tree.spines
            yield f"0x{host.lid:04x} {out:03d} : (Channel Adapter '{host.name}')"


def write_fabric(
    folder: Path, facts: Facts, platform: Platform, fault: Injected | None = None
) -> str:
    """Write what a fabric shows; return the command that reads it into the folders it is given.

    Raises Fault for a fabric that is none of InfiniBand.
    """
    if facts.technology != "infiniband":
        raise Fault(f"nobody sees all of a fabric of {facts.technology}")
    fabric = cabling(facts, platform, fault)
    texts = {
        "ibnetdiscover": ibnetdiscover(fabric),
        "iblinkinfo": _iblinkinfo(fabric),
        "ibqueryerrors": _ibqueryerrors(fabric, fault),
        "dump_fts": _dump_lfts(fabric, _tree_of(platform)),
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
    return f'PATH={shlex.quote(str(folder))}:"$PATH" sh {shlex.quote(str(outputs.SCRIPT))}'
