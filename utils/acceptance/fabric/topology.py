"""Switches, hosts and the links between them, as one reading of a fabric showed them.

A topology knows on which level of a tree each switch stands, and what a link is by the kind of its
two ends. Readings of several adapters are put together to one, or to several fabrics.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple

from acceptance.core.text import natural, one_line
from acceptance.fabric import rates

if TYPE_CHECKING:
    import networkx


#: Words of the levels; above these, and where a fabric has more, they have numbers.
_WORDS = ("host", "leaf", "spine", "core")
#: A switch with hosts is no leaf where those next to it have more than this many times its hosts:
#: file servers and gateways are plugged into spines, too.
_FEW_HOSTS = 4
#: Of a dragonfly at least this share of all pairs of groups is linked: cables may be out.
_LINKED = 0.75
#: Of a tree that is built by rails more than this share of the adapters stands on its rail's leaf.
_OWN = 0.75


def _levels(topology: "Topology") -> dict[str, int]:
    """Return GUID -> level: 0 a host, 1 a leaf, 2 a spine above leaves, 3 a core, ...

    A leaf is a switch with hosts; one that has only a few of them beside switches with many is a
    spine. Others stand one level above the nearest leaf, whether the fabric is a tree or not
    (`summary.py` says that). A switch from which no way leads to a leaf has no level.
    """
    import networkx

    hosts = {guid: len(topology.hosts_at(guid)) for guid in topology.switches}
    level = {guid: 0 for guid in topology.devices if guid not in hosts}
    around = topology.switch_graph
    leaves = [
        guid for guid, count in hosts.items() if count and not _is_between(guid, hosts, around)
    ]
    for number, layer in enumerate(networkx.bfs_layers(around, leaves), 1):
        level |= dict.fromkeys(layer, number)
    return level


def _is_between(guid: str, hosts: dict[str, int], around: "networkx.MultiGraph[str]") -> bool:
    near = [hosts[other] for other in around[guid]]
    return bool(near) and median(near) > _FEW_HOSTS * hosts[guid]


def _groups(topology: "Topology") -> tuple[tuple[str, ...], ...]:
    """Return the switches of each group of a dragonfly; none: it is not one, or nobody can tell.

    The groups of a dragonfly+ are trees, linked between their highest switches. In one proper all
    switches have hosts, and those of a group are linked each to each, so that two of them have half
    of their neighbours in common. Most groups are linked with each other. Sources: Kim et al.,
    Technology-driven, highly-scalable dragonfly topology, ISCA 2008; Shpiner et al., Dragonfly+,
    HiPINEB 2017.
    """
    import networkx

    graph, level = networkx.Graph(topology.switch_graph), topology.levels
    flat = [pair for pair in graph.edges if len({level.get(guid, 0) for guid in pair}) == 1]
    of_leaves = any(level.get(guid) == 1 for pair in flat for guid in pair)
    apart = graph.copy()
    for one, other in flat:
        shared = {*graph[one]} & {*graph[other]}
        if not of_leaves or 2 * len(shared) < min(graph.degree(one), graph.degree(other)) - 1:
            apart.remove_edge(one, other)
    groups = sorted(tuple(sorted(each)) for each in networkx.connected_components(apart))
    group_of = {guid: group for group in groups for guid in group}
    linked = {frozenset((group_of[one], group_of[other])) for one, other in flat}
    pairs = sum(len(pair) == 2 for pair in linked)
    are_groups = len(groups) > 1 and all(len(group) > 1 for group in groups)
    if not are_groups or pairs < _LINKED * math.comb(len(groups), 2):
        return ()
    return tuple(groups)


def level_name(level: int | None) -> str:
    """Return the word of a level: `leaf`, `spine`, `core`, `level 4`."""
    if level is None:
        return "no level"
    return _WORDS[level] if level < len(_WORDS) else f"level {level}"


def kind_of(topology: "Topology", link: "Link") -> str:
    """Return the kind of a link, the lower level first: `leaf-spine`. Those of one train alike."""
    levels = sorted(topology.levels.get(end.guid, -1) for end in link.ends)
    return "-".join(level_name(None if level < 0 else level) for level in levels)


Kind = Literal["switch", "host"]


class End(NamedTuple):
    """A port of a device; switches and hosts count theirs from 1."""

    guid: str
    port: int

    def __str__(self) -> str:
        """Write it for files: `0x98039b0300500000[1]`."""
        return f"{self.guid}[{self.port}]"


@dataclass(frozen=True)
class Device:
    """A switch, or an adapter of a host (a router counts as one).

    `guid` is the node GUID, as in sysfs's `node_guid`: `0x` and 16 lower-case hexadecimal digits.
    `name` is the NodeDescription, which an administrator may not have set. `lid` is that of the
    first port that is linked, of a switch that of its port 0; 0: none. `ports` counts the ports,
    `port_guids` has port -> GUID and `lids` port -> LID of the linked ports of a host. `system` is
    the GUID that all devices of one chassis share, `model` has the numbers of vendor and device.
    """

    guid: str
    kind: Kind
    name: str
    lid: int
    ports: int
    port_guids: Mapping[int, str] = field(default_factory=dict)
    lids: Mapping[int, int] = field(default_factory=dict)
    system: str = ""
    model: str = ""


@dataclass(frozen=True)
class Link:
    """A cable: its sorted ends, and what it trained at: `4x`, `HDR`, and the state `Active`.

    A state that is empty was not read.
    """

    ends: tuple[End, End]
    width: str
    speed: str
    state: str = ""

    @property
    def gbps(self) -> float:
        """Return the Gb/s on the wire in one direction; 0 for a width or speed that is unknown."""
        lane = rates.INFINIBAND.get(self.speed)
        lanes = self.width.removesuffix("x")
        return int(lanes) * float(lane.speed) if lane and lanes.isdecimal() else 0.0

    @property
    def data_gbps(self) -> float:
        """Return the Gb/s of data in one direction: what is on the wire without its encoding."""
        lane = rates.INFINIBAND.get(self.speed)
        shares = lane.encoding if lane else ()
        return self.gbps * float(math.prod(map(Fraction, shares)))

    @property
    def trained(self) -> str:
        """Return width and speed in one word: `4xHDR`."""
        return f"{self.width}{self.speed}"

    def other(self, guid: str) -> End:
        """Return the end that is not at this device."""
        return self.ends[1] if self.ends[0].guid == guid else self.ends[0]


@dataclass(frozen=True)
class Topology:
    """A fabric: devices by GUID, and links; `hosts` has the adapters of each node of the scheduler.

    `hosts` is empty until `join` has filled it. `down` has the ports of switches without a link,
    with their physical state: `Polling` (nothing answers), `Disabled`.
    """

    devices: Mapping[str, Device]
    links: tuple[Link, ...]
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    down: Mapping[End, str] = field(default_factory=dict)

    @cached_property
    def graph(self) -> "networkx.MultiGraph[str]":
        """Return the devices by GUID; each edge is a cable and has its `link`."""
        import networkx

        graph: networkx.MultiGraph[str] = networkx.MultiGraph()
        graph.add_nodes_from(self.devices)
        for link in self.links:
            (one, _), (other, _) = link.ends
            graph.add_edge(one, other, link=link)
        return graph

    @cached_property
    def switches(self) -> tuple[str, ...]:
        """Return the GUIDs of the switches, sorted."""
        return tuple(sorted(filter(self.is_switch, self.devices)))

    def is_switch(self, guid: str) -> bool:
        """Tell a switch from a host."""
        return self.devices[guid].kind == "switch"

    @cached_property
    def by_end(self) -> Mapping[End, Link]:
        """Return port -> the link that is plugged in there."""
        return {end: link for link in self.links for end in link.ends}

    @cached_property
    def by_port_guid(self) -> Mapping[str, End]:
        """Return GUID of a host's port -> that port; programs name hosts by it (`dump_lfts`)."""
        return {
            guid: End(device.guid, port)
            for device in self.devices.values()
            for port, guid in device.port_guids.items()
        }

    @cached_property
    def node_of(self) -> Mapping[str, str]:
        """Return GUID of an adapter -> name of its node, as far as `join` knows."""
        return {guid: node for node, guids in self.hosts.items() for guid in guids}

    @cached_property
    def levels(self) -> Mapping[str, int]:
        """Return GUID -> level: 0 a host, 1 a leaf, 2 a spine ...: see `_levels`."""
        return _levels(self)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Return the switches of each group of a dragonfly: see `_groups`."""
        return _groups(self)

    @cached_property
    def rails(self) -> Mapping[str, int]:
        """Return adapter -> its rail, 1 and up, of nodes with as many adapters as most have.

        These are in the order of their descriptions (`node0012 mlx5_3`), which nodes share. Empty
        where most nodes have one.
        """
        number = Counter(map(len, self.hosts.values()))
        usual = max(number, key=lambda count: (number[count], count), default=0)
        return {
            guid: rail
            for guids in self.hosts.values()
            if len(guids) == usual > 1
            for rail, guid in enumerate(
                sorted(guids, key=lambda guid: natural(self.devices[guid].name)), 1
            )
        }

    @cached_property
    def rails_of_leaves(self) -> Mapping[str, int]:
        """Return leaf -> the rail of most adapters there; empty unless each rail has its leaves.

        Source: NVIDIA's reference architectures of DGX SuperPOD ("rail-optimized").
        """
        found: dict[str, Counter[int]] = {}
        for guid, rail in self.rails.items():
            found.setdefault(self.leaf_of(guid) or "", Counter())[rail] += 1
        own = {leaf: count.most_common(1)[0][0] for leaf, count in found.items() if leaf}
        most = sum(found[leaf][rail] for leaf, rail in own.items())
        is_so = most > _OWN * len(self.rails) and {*own.values()} == {*self.rails.values()}
        return own if is_so else {}

    @cached_property
    def parallel(self) -> tuple[tuple[Link, ...], ...]:
        """Return the cables between each two switches that have several between them."""
        between: dict[tuple[str, ...], list[Link]] = {}
        for link in self.links:
            guids = tuple(end.guid for end in link.ends)
            if all(map(self.is_switch, guids)):
                between.setdefault(guids, []).append(link)
        return tuple(tuple(links) for links in between.values() if len(links) > 1)

    def node(self, guid: str) -> str:
        """Return the node that has an adapter; empty where nobody knows."""
        return self.node_of.get(guid, "")

    def nodes(self, guids: Iterable[str]) -> tuple[str, ...]:
        """Return the nodes of these devices, as far as they are known, each once."""
        return tuple(dict.fromkeys(filter(None, map(self.node, guids))))

    def level(self, guid: str) -> int | None:
        """Return the level of a device, see `_levels`; None: no way leads to a host."""
        return self.levels.get(guid)

    def hosts_at(self, guid: str) -> list[str]:
        """Return the GUIDs of the hosts at a switch, one for each of their links."""
        return [end.guid for end in self.ends_at(guid) if not self.is_switch(end.guid)]

    def leaf_of(self, guid: str) -> str | None:
        """Return the switch at a host's first linked port; None where it has none."""
        ends = [end for end in self.ends_at(guid) if self.is_switch(end.guid)]
        return ends[0].guid if ends else None

    def ends_at(self, guid: str) -> list[End]:
        """Return the far ends of a device's links, in the order of its own ports."""
        edges = self.graph.edges(guid, data="link")
        # Of a fabric drawn with what is gone a port may have two links.
        near = sorted((link.other(link.other(guid).guid), link.other(guid)) for _, _, link in edges)
        return [far for _, far in near]

    def hops(self, one: str, other: str) -> int | None:
        """Return the links on a shortest way between two devices; None: there is no way.

        No way leads through a host.
        """
        import networkx

        between = self.graph.subgraph([*self.switches, one, other])
        try:
            return int(networkx.shortest_path_length(between, one, other))
        except networkx.NetworkXNoPath:
            return None

    @cached_property
    def switch_graph(self) -> "networkx.MultiGraph[str]":
        """Return the part of the graph without hosts."""
        return self.graph.subgraph(self.switches).copy()

    def name(self, end: End) -> str:
        """Write a port for people: `leaf02[40]`, `node0012[1]`.

        A host is called as the scheduler calls its node, where that is known; a name that two
        devices have is followed by the GUID.
        """
        return f"{self.device_name(end.guid)}[{end.port}]"

    def device_name(self, guid: str) -> str:
        """Write a device for people: see `name`."""
        name = self.node_of.get(guid)
        if name and len(self.hosts[name]) == 1:
            return name
        device = self.devices.get(guid)
        name = one_line(device.name) if device else ""
        if not name or name in self.repeated:
            return f"{name}({guid})"
        return name

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Return the names that several devices have."""
        count = Counter(one_line(device.name) for device in self.devices.values())
        return frozenset(name for name, number in count.items() if number > 1)

    def link_text(self, link: Link) -> str:
        """Write a link for people: both ends by name and port, that nearer to the nodes first."""
        return " - ".join(map(self.name, self.from_below(link)))

    def from_below(self, link: Link) -> list[End]:
        """Return the ends of a link, that nearer to the nodes first."""
        high = len(self.levels)
        return sorted(link.ends, key=lambda end: (self.levels.get(end.guid, high), end))


def union(seen: Iterable[Topology]) -> Topology:
    """Put fabrics together, whether adapters saw the same one or several."""
    fabrics = list(seen)
    links = {link.ends: link for each in fabrics for link in each.links}
    return Topology(
        {guid: device for each in fabrics for guid, device in sorted(each.devices.items())},
        tuple(links[ends] for ends in sorted(links)),
        {name: guids for each in fabrics for name, guids in each.hosts.items()},
        {end: text for each in fabrics for end, text in each.down.items()},
    )


def parts(topology: Topology) -> list[Topology]:
    """Return each fabric on its own, the largest first: what no link connects is another one."""
    import networkx

    groups = sorted(
        networkx.connected_components(topology.graph), key=lambda it: (-len(it), min(it))
    )
    if len(groups) == 1:
        return [topology]
    return [
        replace(
            topology,
            devices={guid: each for guid, each in topology.devices.items() if guid in group},
            links=tuple(link for link in topology.links if link.ends[0].guid in group),
            down={end: text for end, text in topology.down.items() if end.guid in group},
            hosts={
                name: mine
                for name, guids in topology.hosts.items()
                if (mine := tuple(guid for guid in guids if guid in group))
            },
        )
        for group in groups
    ]
