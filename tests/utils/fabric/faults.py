"""Faults of a fabric: each spoils a tree, or a running fabric, and says how it has to be named.

The tree has nodes, leaves with one or two cables to each spine, and free ports; see `tests.ibsim`.
"""

import itertools
import re
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from acceptance.fabric import Facts, outputs, stored, topology, view
from tests import ibsim

SPINES = ("spine01", "spine02", "spine03")
HDR = Facts.read({"technology": "infiniband", "rate": "HDR", "lanes": 4})


def small():
    return ibsim.fat_tree(16, 4, 4)


def large():
    return ibsim.fat_tree(1024, 32, 16, 2)


@dataclass(frozen=True)
class Fault:
    """What is done, to the tree before it runs or by ibsim's console, and what must be said."""

    kind: str
    place: str
    spoil: object = None
    console: tuple = ()


def _uplink(tree, leaf, spine):
    """Return the port of a leaf's first cable to a spine, and the spine's port."""
    ends = sorted(end for end, (far, _) in tree.cables.items() if (end[0], far[0]) == (leaf, spine))
    return ends[0], tree.cables[ends[0]][0]


def _text(*ends):
    return " - ".join(f"{device}[{port}]" for device, port in ends)


def _free(tree, device):
    """Return the first free port of a switch."""
    used = {port for where, port in tree.cables if where == device}
    return device, next(port for port in range(1, tree.ports[device] + 1) if port not in used)


def faults(tree):
    """Return the faults by their names, no two of them at one link; `tree` is the healthy one."""
    narrow, slow, lost, down, weak, wobbly, one, other = (
        _uplink(tree, leaf, spine)
        for leaf, spine in itertools.product(("leaf01", "leaf02", "leaf03"), SPINES)
        if (leaf, spine) != ("leaf03", "spine03")
    )
    edr, first, second, new, moved, erring = (
        ((tree.cables[leaf, port][0][0], 1), (leaf, port))
        for leaf, port in itertools.product(("leaf01", "leaf02", "leaf03"), (1, 2))
    )
    free, extra = _free(tree, "leaf01"), (_free(tree, "leaf02"), _free(tree, "spine01"))

    def switch(end):
        return f'"S-{tree.guids[end[0]]:016x}"[{end[1]}]'

    def counter(end, name, value):
        return (f"PerformanceSet {switch(end)} PortCounters.{name}={value}",)

    def replace_host(changed):
        changed.guids[new[0][0]] = 0x98039B0300FFFF00

    return {
        "width": Fault("width", _text(*narrow), lambda t: t.train(narrow[0], "1xHDR")),
        "speed": Fault("speed", _text(*slow), lambda t: t.train(slow[0], "4xEDR")),
        "speed of a host": Fault("speed", _text(*edr), lambda t: t.train(edr[0], "4xEDR")),
        "lost": Fault("lost", _text(*lost), lambda t: t.unplug(lost[0])),
        "down": Fault("lost", _text(*down), console=(f"Unlink {switch(down[0])}",)),
        "new": Fault("new", _text(*extra), lambda t: t.plug(*extra, "4xHDR")),
        "swapped": Fault("swapped", f"{_text(*first)} and {_text(*second)}",
                         lambda t: t.swap(first[0], second[0])),
        "swapped uplinks": Fault("swapped", f"{_text(*one)} and {_text(*other)}",
                                 lambda t: t.swap(one[0], other[0])),
        "moved": Fault("moved", _text(*moved), lambda t: t.move(moved[1], free)),
        "replaced": Fault("replaced", _text(*new), replace_host),
        "replaced switch": Fault("replaced", "spine01",
                                 lambda t: t.guids.update(spine01=0x248A070300FFFF00)),
        "switch lost": Fault("switch", "spine04", lambda t: t.remove("spine04")),
        "leaf lost": Fault("switch", "leaf04", lambda t: t.remove("leaf04")),
        "rising": Fault("errors", _text(*weak),
                        console=counter(weak[0], "SymbolErrorCounter", 5000)),
        "rising at a host": Fault("errors", _text(*erring),
                                  console=counter(erring[1], "LocalLinkIntegrityErrors", 3)),
        "link downed": Fault("errors", _text(*wobbly),
                             console=counter(wobbly[1], "LinkDownedCounter", 1)),
    }  # fmt: skip


def look(fabric, folder):
    """Run the real programs and read what they left, with the nodes that the names tell."""
    done = fabric.run("sh", outputs.SCRIPT, folder)
    assert done.returncode == 0, done.stderr
    reading = outputs.read(Path(folder))
    assert not reading.faults, list(map(str, reading.faults))
    return joined(reading.topology), reading.errors


def made(tree, console=()):
    """Return what a reading of this tree would have, without any program; and its counters."""
    devices = {
        tree.guid(name): topology.Device(
            tree.guid(name), "host" if ibsim.is_host(name) else "switch", tree.names[name], 1,
            tree.ports[name],
        )
        for name in tree.guids
    }  # fmt: skip
    down = {end for line in console for end in [_end(line)] if line.startswith("Unlink")}
    links = {}
    for (name, port), ((far, at), trained) in tree.cables.items():
        near, other = sorted(
            (topology.End(tree.guid(name), port), topology.End(tree.guid(far), at))
        )
        if not {near, other} & down:
            links[near, other] = topology.Link((near, other), trained[:2], trained[2:], "Active")
    errors = {}
    for line in console:
        if line.startswith("PerformanceSet"):
            name, value = line.split("PortCounters.")[1].split("=")
            errors.setdefault(_end(line), {})[name] = int(value)
    return joined(topology.Topology(devices, tuple(links[ends] for ends in sorted(links)))), errors


def _end(line):
    guid, port = re.search(r'"S-(\w+)"\[(\d+)\]', line).groups()
    return topology.End(f"0x{guid}", int(port))


def spoilt(make, faults):
    """Return a new tree with faults, and the console's lines for those that come later."""
    tree = make()
    for fault in faults:
        if fault.spoil:
            fault.spoil(tree)
    return tree, [line for fault in faults for line in fault.console]


def expected(faults):
    return sorted((fault.kind, fault.place) for fault in faults)


def joined(found):
    nodes = {
        device.name.split()[0]: (guid,)
        for guid, device in found.devices.items()
        if device.kind == "host"
    }
    return replace(found, hosts=nodes)


def accepted(found):
    """Return a fabric as it was accepted once."""
    when = datetime(2026, 11, 22, 18, tzinfo=timezone.utc)
    return stored.AcceptedFabric({when: "a test"}, stored.Kept.of(found))


def judged(found, errors, accepted, before, now=1e9):
    """Return what is seen, as (kind, place), and the new state; notes are left out."""
    seen, state = view.judge(
        found, errors, hosts=view.Hosts({}, HDR), accepted=accepted, before=before, now=now
    )
    return seen, state


def named(seen):
    return sorted((each.kind.removeprefix("fabric-"), each.device) for each in seen if each.fails)
