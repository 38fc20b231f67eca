"""What a fabric can carry by its build, and what of it hangs on a single switch or cable.

A fabric in a few lines: how many of what there are, and what it can carry.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from acceptance.core.groups import grouped
from acceptance.core.text import plural, shortened
from acceptance.fabric.topology import (
    Link,
    Topology,
    kind_of,
    level_name,
)

#: MB/s (10^6 bytes) of a Gb/s.
_MBPS = 125


@dataclass(frozen=True)
class Leaf:
    """A leaf: its hosts' links and its uplinks, counted, and their Gb/s of data in one direction.

    Or a group of a dragonfly, whose uplinks lead to other groups; `up` of its leaves is what all
    their links to switches carry. `siblings` is the number of uplinks that most leaves of its kind
    have.
    """

    guid: str
    hosts: int
    uplinks: int
    down: float
    up: float
    siblings: int

    @property
    def oversubscription(self) -> float | None:
        """Return what its hosts can send over what its uplinks carry; None without an uplink."""
        return self.down / self.up if self.up else None


@dataclass(frozen=True)
class Structure:
    """The build of a fabric; bandwidths are of data, in Gb/s and one direction.

    `level_gbps` has, of each level but the highest, what its links to the next one carry together;
    of level 0 these are the hosts' links, which `hosts` counts. `sideways` are links between
    switches that are not on neighbouring levels: with them, or with switches of no level (`lost`),
    it is no tree. Of a dragonfly (`Topology.groups`) links to switches of the same group are the
    uplinks of a leaf, and `groups` has its groups, by their first switch, with their links to
    others; `thin` are pairs of groups with fewer links than most have, and how many. `critical` are
    switches without which other switches lose each other, `bridges` such links.
    """

    leaves: tuple[Leaf, ...]
    level_gbps: tuple[float, ...]
    hosts: int
    sideways: tuple[Link, ...] = ()
    lost: tuple[str, ...] = ()
    critical: tuple[str, ...] = ()
    bridges: tuple[Link, ...] = ()
    groups: tuple[Leaf, ...] = ()
    thin: tuple[tuple[str, str, int], ...] = ()

    @property
    def known(self) -> bool:
        """Tell whether it is a tree or a dragonfly, of which limits can be given."""
        return not self.sideways and not self.lost

    @property
    def tree(self) -> bool:
        """Tell whether all links are between neighbouring levels."""
        return self.known and not self.groups

    @property
    def fewer(self) -> tuple[Leaf, ...]:
        """Return the leaves with fewer uplinks than their siblings."""
        return tuple(leaf for leaf in self.leaves if leaf.uplinks < leaf.siblings)

    @property
    def bisection(self) -> float | None:
        """Return the Gb/s from one half of the hosts to the other, at most; None: nobody can tell.

        Half of what passes between two levels, where that is least: of an even tree exactly its
        bisection bandwidth, of another one an upper bound of it. Source: Dally and Towles,
        Principles and Practices of Interconnection Networks, 2004, Section 3.3.1 (the least
        bandwidth of all cuts into halves). Of a dragonfly of g groups alike, g even, cuts into
        halves of the groups cross g / (2 (g - 1)) of the links between groups on average, and none
        is less than the least.
        """
        if not self.known or not self.level_gbps or len(self.leaves) < 2:
            return None
        bounds = [each / 2 for each in self.level_gbps]
        if self.groups:
            count = len(self.groups)
            if count % 2 or len({group.hosts for group in self.groups}) > 1:
                return None
            between = sum(group.up for group in self.groups) / 2
            bounds.append(between * count / (2 * (count - 1)))
        return min(bounds)

    @property
    def all_pairs_limit(self) -> float | None:
        """Return the MB/s that each host can send in a step in which all leave their leaf or group.

        A leaf with h hosts and uplinks of U lets each have U / h, unless the host's own link is
        slower; the slowest one counts, as a step ends with its last pair. None: nobody can tell.
        """
        return self._least(lambda leaf: leaf.up / leaf.hosts)

    @property
    def alltoall_limit(self) -> float | None:
        """Return the MB/s that each host can send, all told, in an alltoall of all hosts.

        Of N hosts, the h of a leaf send (N - h) / (N - 1) of their data through its uplinks U, so
        that each sends at most U (N - 1) / (h (N - h)), unless its own link is slower; the slowest
        leaf counts, or group, for which the same holds. Half of all data of each half of the hosts
        crosses the bisection B, so that it is at most 4 B (N - 1) / N^2, too, where B is known.
        None: nobody can tell.
        """
        hosts, bisection = self.hosts, self.bisection
        leaf_limit = self._least(
            lambda leaf: leaf.up * (hosts - 1) / (leaf.hosts * (hosts - leaf.hosts))
        )
        if leaf_limit is None or bisection is None:
            return leaf_limit if self.groups else None
        return min(leaf_limit, _MBPS * 4 * bisection * (hosts - 1) / hosts**2)

    def _least(self, share: Callable[[Leaf], float]) -> float | None:
        every = (*self.leaves, *self.groups)
        leaves = [leaf for leaf in every if leaf.hosts and leaf.hosts < self.hosts]
        if not self.known or not leaves:
            return None
        return _MBPS * min(min(share(leaf), leaf.down / leaf.hosts) for leaf in leaves)

    def notes(self, topology: Topology) -> Iterator[str]:
        """Yield what a person should know, a line each; none of it is a fault by itself."""
        if self.lost:
            yield f"from {_names(topology, self.lost)} no way leads to a host"
        if self.sideways:
            links = [topology.link_text(link) for link in self.sideways]
            yield (
                f"it is no tree: {plural(len(links), 'link')} between switches that are not on "
                f"neighbouring levels ({shortened(links, 3)}); no bisection and limits are given"
            )
        thin = [
            f"{' and '.join(map(topology.device_name, pair))} {plural(count, 'link')}"
            for *pair, count in self.thin
        ]
        if thin:
            yield f"between the groups of {shortened(thin, 3)}, fewer than most have"
        single = [leaf.guid for leaf in self.leaves if leaf.uplinks == 1]
        if single:
            yield f"one uplink only: {_names(topology, single)}"
        if self.critical:
            yield f"without {_names(topology, self.critical)}, hosts lose each other"
        rest = [link for link in self.bridges if not {end.guid for end in link.ends} & {*single}]
        if rest:
            links = [topology.link_text(link) for link in rest]
            yield f"the only way between parts of the fabric: {shortened(links, 3)}"


def _names(topology: Topology, guids: tuple[str, ...] | list[str]) -> str:
    return shortened(sorted(map(topology.device_name, guids)), 3)


def structure(topology: Topology) -> Structure:
    """Return the build of a fabric as it is now, with the links that are there."""
    levels = topology.levels
    gbps: dict[int, float] = defaultdict(float)
    # Of each switch the Gb/s of its hosts' links, and of each leaf those of its uplinks.
    down: dict[str, list[float]] = defaultdict(list)
    up: dict[str, list[float]] = defaultdict(list)
    sideways = []
    uplinks: Counter[str] = Counter()
    group_of = {guid: group[0] for group in topology.groups for guid in group}
    # Of each group the Gb/s of its links to others, and of each pair of groups their number.
    out: dict[str, list[float]] = defaultdict(list)
    between = Counter(dict.fromkeys(combinations(sorted({*group_of.values()}), 2), 0))
    for link in topology.links:
        low, high = sorted(link.ends, key=lambda end: levels.get(end.guid, -1))
        level, above = levels.get(low.guid, -1), levels.get(high.guid, -1)
        if level == 0 or above == level + 1 > 1:
            gbps[level] += link.data_gbps
            down[high.guid] += [link.data_gbps] * (level == 0)
            up[low.guid].append(link.data_gbps)
            uplinks[low.guid] += 1
        elif group_of and level == above and (level == 1 or not _is_inside(link, group_of)):
            for end in link.ends:
                up[end.guid].append(link.data_gbps)
                uplinks[end.guid] += _is_inside(link, group_of)
            if not _is_inside(link, group_of):
                pair = sorted(group_of[end.guid] for end in link.ends)
                between[pair[0], pair[1]] += 1
                for group in pair:
                    out[group].append(link.data_gbps)
        elif level > 0:
            sideways.append(link)
    leaves = [guid for guid in topology.switches if levels.get(guid) == 1]
    # Leaves that are built alike have ports, vendor and device number in common.
    build = {guid: (topology.devices[guid].ports, topology.devices[guid].model) for guid in leaves}
    count: dict[tuple[int, str], Counter[int]] = defaultdict(Counter)
    for guid in leaves:
        count[build[guid]][uplinks[guid]] += 1
    critical, bridges = _single_points(topology)
    most = _usual(Counter(between.values())) if between else 0
    return Structure(
        tuple(
            Leaf(guid, len(down[guid]), uplinks[guid], sum(down[guid]), sum(up[guid]),
                 _usual(count[build[guid]]))
            for guid in leaves
        ),
        tuple(gbps[level] for level in range(max(gbps, default=-1) + 1)),
        sum(map(len, down.values())),
        tuple(sideways),
        tuple(guid for guid in topology.switches if guid not in levels),
        critical,
        bridges,
        tuple(
            Leaf(group[0], sum(len(down[guid]) for guid in group), len(out[group[0]]),
                 sum(sum(down[guid]) for guid in group), sum(out[group[0]]), len(out[group[0]]))
            for group in topology.groups
        ),
        tuple((*pair, number) for pair, number in between.items() if number < most),
    )  # fmt: skip


def _is_inside(link: Link, group_of: Mapping[str, str]) -> bool:
    one, other = (group_of.get(end.guid) for end in link.ends)
    return one == other


def _usual(count: Counter[int]) -> int:
    """Return the number that is counted most often, of two the higher one."""
    return max(count, key=lambda number: (count[number], number))


def _single_points(topology: Topology) -> tuple[tuple[str, ...], tuple[Link, ...]]:
    """Return the switches and the links between switches that parts of the fabric hang on.

    A switch counts where without it other switches lose each other: that a leaf takes its own
    hosts with it goes without saying.
    """
    import networkx

    plain = networkx.Graph(topology.switch_graph)
    critical = tuple(sorted(networkx.articulation_points(plain)))
    bridges = []
    for one, other in networkx.bridges(plain):
        cables = list(topology.switch_graph[one][other].values())
        bridges += [cables[0]["link"]] if len(cables) == 1 else []
    return critical, tuple(sorted(bridges, key=lambda link: link.ends))


def switch_count(topology: Topology) -> dict[str, int]:
    """Return word of a level -> how many switches stand there, the lowest level first."""
    count = Counter(topology.level(guid) for guid in topology.switches)
    known = sorted(level for level in count if level is not None)
    return {level_name(level): count[level] for level in [*known, *({None} & count.keys())]}


def _link_count(topology: Topology) -> dict[str, Counter[str]]:
    """Return kind of a link (`leaf-spine`) -> what they trained at -> how many did."""
    count: dict[str, Counter[str]] = defaultdict(Counter)
    for link in topology.links:
        count[kind_of(topology, link)][link.trained] += 1
    return dict(sorted(count.items()))


def lines(topology: Topology) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line for people."""
    hosts = [device for device in topology.devices.values() if device.kind == "host"]
    strangers = sum(device.guid not in topology.node_of for device in hosts)
    nodes = plural(len(topology.hosts), "node")
    if topology.hosts:
        more = f", and {plural(strangers, 'adapter')} of others" if strangers else ""
        yield "nodes", f"{nodes} with {plural(len(hosts) - strangers, 'adapter')}{more}"
    else:
        yield "hosts", plural(len(hosts), "adapter")
    levels = ", ".join(f"{number} {word}" for word, number in switch_count(topology).items())
    yield "switches", f"{len(topology.switches)}: {levels}"
    if groups := topology.groups:
        sizes = " or ".join(map(str, sorted({len(group) for group in groups})))
        yield "groups", f"a dragonfly of {len(groups)} groups of {sizes} switches"
    if rails := grouped(topology.rails_of_leaves, topology.rails_of_leaves.__getitem__):
        leaves = (f"{rail}: {_names(topology, rails[rail])}" for rail in sorted(rails))
        yield "rails", f"{len(rails)}, each on leaves of its own ({'; '.join(leaves)})"
    counted = [
        f"{kind} {count.total()} ({_each(count)})" for kind, count in _link_count(topology).items()
    ]
    down = Counter(topology.down.values())
    free = f"; switch ports without: {_each(down)}" if down else ""
    yield "links", f"{len(topology.links)}: {', '.join(counted)}{free}"
    if words := carries(topology):
        yield "carries", ", ".join(words)


def _each(count: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in count.most_common())


def carries(topology: Topology) -> list[str]:
    """Return what a fabric can carry, as far as it is defined; the formulas: `Structure`."""
    built = structure(topology)
    parts = built.groups or built.leaves
    ratios = [ratio for part in parts if (ratio := part.oversubscription) is not None]
    words = []
    if ratios:
        ends = dict.fromkeys(f"{round(each, 2):g}:1" for each in (min(ratios), max(ratios)))
        of = " of groups" * bool(built.groups)
        words.append(f"oversubscription{of} {' to '.join(ends)}")
    for name, value, unit in (
        ("bisection", built.bisection, "Gb/s"),
        ("all pairs at most", built.all_pairs_limit, "MB/s a host"),
        ("alltoall at most", built.alltoall_limit, "MB/s a host"),
    ):
        words += [f"{name} {value:,.0f} {unit}"] if value is not None else []
    return words


def as_data(topology: Topology) -> dict[str, Any]:
    """Return all devices and links, and the structure, as data; bandwidths in Gb/s and MB/s."""
    built = structure(topology)
    return {
        "devices": [
            {"guid": guid, "kind": each.kind, "name": each.name, "node": topology.node(guid),
             "lid": each.lid, "level": topology.level(guid), "ports": each.ports}
            for guid, each in topology.devices.items()
        ],
        "links": [
            {"ends": [{"guid": end.guid, "port": end.port, "name": topology.name(end)}
                      for end in link.ends],
             "kind": kind_of(topology, link),
             "width": link.width, "speed": link.speed, "state": link.state}
            for link in topology.links
        ],
        "structure": {
            "switches": switch_count(topology),
            "links": {kind: dict(count) for kind, count in _link_count(topology).items()},
            "tree": built.tree,
            "groups": [
                {"switches": [*switches], "hosts": group.hosts, "links": group.uplinks,
                 "oversubscription": group.oversubscription}
                for switches, group in zip(topology.groups, built.groups, strict=True)
            ],
            "rails": dict(topology.rails_of_leaves),
            "bisection_gbps": built.bisection,
            "all_pairs_limit_mbs": built.all_pairs_limit,
            "alltoall_limit_mbs": built.alltoall_limit,
            "leaves": [
                {"name": topology.device_name(leaf.guid), "guid": leaf.guid, "hosts": leaf.hosts,
                 "uplinks": leaf.uplinks, "uplinks_of_siblings": leaf.siblings,
                 "oversubscription": leaf.oversubscription}
                for leaf in built.leaves
            ],
            "notes": list(built.notes(topology)),
        },
    }  # fmt: skip


def dot(topology: Topology, marked: frozenset[str] = frozenset()) -> str:
    """Return the fabric as a graph for Graphviz; links of `marked` (`link_text`) are red.

    Each leaf shows how many hosts it has; a host stands on its own where its link is marked.
    """
    shown = set(topology.switches)
    edges = []
    for link in topology.links:
        text = topology.link_text(link)
        hosts = [end.guid for end in link.ends if end.guid not in topology.switches]
        if hosts and text not in marked:
            continue
        shown |= {*hosts}
        one, other = link.ends
        colour = ', color="red"' if text in marked else ""
        ports = f'taillabel="{one.port}", headlabel="{other.port}"'
        edges.append(f'  "{one.guid}" -- "{other.guid}" [label="{link.trained}", {ports}{colour}];')
    nodes = [
        f'  "{guid}" [label={json.dumps(_label(topology, guid), ensure_ascii=False)}];'
        for guid in sorted(shown)
    ]
    levels = grouped(topology.switches, topology.level).values()
    quoted = (" ".join(f'"{guid}";' for guid in level) for level in levels)
    same = [f"  {{ rank=same; {guids} }}" for guids in quoted]
    return "\n".join(["graph fabric {", "  node [shape=box];", *nodes, *same, *edges, "}"])


def _label(topology: Topology, guid: str) -> str:
    hosts = len(topology.hosts_at(guid)) if guid in topology.switches else 0
    return topology.device_name(guid) + (f"\n{plural(hosts, 'host')}" if hosts else "")


def named(topology: Topology) -> str:
    """Return which fabric it is, for people, where there are several: its first switches."""
    return shortened([topology.device_name(guid) for guid in topology.switches], 2)
