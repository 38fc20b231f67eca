"""Hosts of a fabric joined with the scheduler's nodes, by the GUIDs that sysfs of the nodes has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from acceptance.core.text import one_line, plural, shortened
from acceptance.fabric.node import NodeLinks
from acceptance.fabric.topology.model import Topology


@dataclass(frozen=True)
class Joined:
    """A topology whose `hosts` are filled, and what did not fit.

    `by_name` are nodes that only the NodeDescription of an adapter names, as nothing knows their
    GUIDs. `absent` are nodes with InfiniBand of which no adapter is in this fabric -> those
    adapters; `strangers` are the GUIDs of hosts that are none of the nodes, `misnamed` those of a
    node whose NodeDescription is the name of another one.
    """

    topology: Topology
    by_name: tuple[str, ...] = ()
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()
    misnamed: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Return what did not fit, a line each."""
        name = self.topology.device_name
        lines = [
            f"{node}: no adapter of it is in the fabric ({', '.join(adapters)})"
            for node, adapters in sorted(self.absent.items())
        ]
        for guid in self.misnamed:
            node, described = self.topology.node_of[guid], self.topology.devices[guid].name
            lines.append(f"{node}: its adapter {guid} calls itself {one_line(described)}")
        if self.by_name:
            lines.append(f"{_many(self.by_name, 'node')} known by the adapters' descriptions only, "
                         "as sysfs was not read: a description may be wrong")  # fmt: skip
        if self.strangers:
            names = [name(guid) for guid in self.strangers]
            lines.append(f"{_many(names, 'host')} of the fabric, but none of these nodes")
        return lines


def _many(names: Iterable[str], noun: str) -> str:
    listed = sorted(names)
    return f"{plural(len(listed), noun)} ({shortened(listed, 3)})"


def join(topology: Topology, nodes: Iterable[NodeLinks], names: Iterable[str] = ()) -> Joined:
    """Join hosts with nodes: by GUID; of nodes that report none, and of `names`, by description.

    A description names a node where its first word, without a domain, is the node's name.
    """
    hosts: dict[str, tuple[str, ...]] = {}
    absent: dict[str, tuple[str, ...]] = {}
    unknown = set(names)
    for node in nodes:
        infiniband = {port.device for port in node.ports.values() if port.infiniband}
        guids = {name: node.adapters[name].guid for name in sorted(infiniband)}
        there = tuple(guid for guid in guids.values() if _is_host(topology, guid))
        unknown.discard(node.name)
        if there:
            hosts[node.name] = there
        elif guids and not any(guids.values()):
            unknown.add(node.name)
        elif guids:
            absent[node.name] = tuple(f"{name} {guid}" for name, guid in guids.items())
    taken = {guid for guids in hosts.values() for guid in guids}
    described: dict[str, list[str]] = {}
    for guid, device in topology.devices.items():
        if device.kind == "host" and guid not in taken:
            described.setdefault(called(device.name), []).append(guid)
    by_name = {node: tuple(described[node]) for node in sorted(unknown) if node in described}
    absent |= {node: ("by its name",) for node in sorted(unknown) if node not in described}
    hosts |= by_name
    joined = replace(topology, hosts=dict(sorted(hosts.items())))
    known = {*hosts, *absent}
    return Joined(
        joined,
        tuple(by_name),
        absent,
        tuple(sorted(guid for guid, device in topology.devices.items()
                     if device.kind == "host" and guid not in joined.node_of)),
        tuple(sorted(guid for node, guids in hosts.items() for guid in guids
                     if (name := called(topology.devices[guid].name)) != node and name in known)),
    )  # fmt: skip


def _is_host(topology: Topology, guid: str) -> bool:
    device = topology.devices.get(guid)
    return device is not None and device.kind == "host"


def called(description: str) -> str:
    """Return the name of a node that a description begins with: `node0012.site mlx5_0`."""
    words = description.split()
    return words[0].partition(".")[0] if words else ""
