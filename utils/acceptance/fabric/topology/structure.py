"""What a fabric can carry by its build, and what of it hangs on a single switch or cable."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from acceptance.core.text import plural, shortened
from acceptance.fabric.topology.levels import DeviceKind, device_kind, level_name
from acceptance.fabric.topology.model import Link, Topology

#: MB/s (10^6 bytes) of a Gb/s.
_MBPS = 125


@dataclass(frozen=True)
class Leaf:
    """A leaf: its hosts' links and its uplinks, counted, and their Gb/s of data in one direction.

    `siblings` is the number of uplinks that most leaves of its kind have.
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
    it is no tree. `critical` are switches without which other switches lose each other, `bridges`
    such links.
    """

    leaves: tuple[Leaf, ...]
    level_gbps: tuple[float, ...]
    hosts: int
    sideways: tuple[Link, ...] = ()
    lost: tuple[str, ...] = ()
    critical: tuple[str, ...] = ()
    bridges: tuple[Link, ...] = ()

    @property
    def tree(self) -> bool:
        """Tell whether all links are between neighbouring levels."""
        return not self.sideways and not self.lost

    @property
    def fewer(self) -> tuple[Leaf, ...]:
        """Return the leaves with fewer uplinks than their siblings."""
        return tuple(leaf for leaf in self.leaves if leaf.uplinks < leaf.siblings)

    @property
    def bisection(self) -> float | None:
        """Return the Gb/s from one half of the hosts to the other, at most; None: it is no tree.

        Half of what passes between two levels, where that is least: of an even tree exactly its
        bisection bandwidth, of another one an upper bound of it. Source: Dally and Towles,
        Principles and Practices of Interconnection Networks, 2004, Section 3.3.1 (the least
        bandwidth of all cuts into halves).
        """
        if not self.tree or not self.level_gbps or len(self.leaves) < 2:
            return None
        return min(self.level_gbps) / 2

    @property
    def all_pairs_limit(self) -> float | None:
        """Return the MB/s that each host can send in a step in which all leave their leaf.

        A leaf with h hosts and uplinks of U lets each have U / h, unless the host's own link is
        slower; the slowest leaf counts, as a step ends with its last pair. None: it is no tree.
        """
        return self._least(lambda leaf: leaf.up / leaf.hosts)

    @property
    def alltoall_limit(self) -> float | None:
        """Return the MB/s that each host can send, all told, in an alltoall of all hosts.

        Of N hosts, the h of a leaf send (N - h) / (N - 1) of their data through its uplinks U, so
        that each sends at most U (N - 1) / (h (N - h)), unless its own link is slower; the slowest
        leaf counts. Half of all data of each half of the hosts crosses the bisection B, so that it
        is at most 4 B (N - 1) / N^2, too. None: it is no tree.
        """
        hosts, bisection = self.hosts, self.bisection
        leaf_limit = self._least(
            lambda leaf: leaf.up * (hosts - 1) / (leaf.hosts * (hosts - leaf.hosts))
        )
        if leaf_limit is None or bisection is None:
            return None
        return min(leaf_limit, _MBPS * 4 * bisection * (hosts - 1) / hosts**2)

    def _least(self, share: Callable[[Leaf], float]) -> float | None:
        leaves = [leaf for leaf in self.leaves if leaf.hosts and leaf.hosts < self.hosts]
        if not self.tree or not leaves:
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
    down: dict[str, float] = defaultdict(float)
    up: dict[str, float] = defaultdict(float)
    hosts: Counter[str] = Counter()
    uplinks: Counter[str] = Counter()
    sideways = []
    for link in topology.links:
        low, high = sorted(link.ends, key=lambda end: levels.get(end.guid, -1))
        level, above = levels.get(low.guid, -1), levels.get(high.guid, -1)
        if level == 0:
            gbps[0] += link.data_gbps
            hosts[high.guid] += 1
            down[high.guid] += link.data_gbps
        elif above == level + 1 and level > 0:
            gbps[level] += link.data_gbps
            uplinks[low.guid] += 1
            up[low.guid] += link.data_gbps
        elif level > 0:
            sideways.append(link)
    leaves = [guid for guid in topology.switches if levels.get(guid) == 1]
    usual = _usual({guid: device_kind(topology, guid) for guid in leaves}, uplinks)
    critical, bridges = _single_points(topology)
    return Structure(
        tuple(
            Leaf(guid, hosts[guid], uplinks[guid], down[guid], up[guid],
                 usual[device_kind(topology, guid)])
            for guid in leaves
        ),
        tuple(gbps[level] for level in range(max(gbps, default=-1) + 1)),
        hosts.total(),
        tuple(sideways),
        tuple(guid for guid in topology.switches if guid not in levels),
        critical,
        bridges,
    )  # fmt: skip


def _usual(kinds: dict[str, DeviceKind], uplinks: Counter[str]) -> dict[DeviceKind, int]:
    """Return kind of a leaf -> the number of uplinks that most of them have, of two the higher."""
    counts: dict[DeviceKind, Counter[int]] = defaultdict(Counter)
    for guid, kind in kinds.items():
        counts[kind][uplinks[guid]] += 1
    return {kind: max(count, key=lambda number: (count[number], number))
            for kind, count in counts.items()}  # fmt: skip


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
