"""Which cable is behind the slow pairs of a matrix, by the routes of the minute it was measured."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from acceptance.core.pair_matrix import UNITS, PairMatrix
from acceptance.core.text import plural, shortened
from acceptance.fabric.topology import Topology
from acceptance.fabric.topology.routes import NONE, Routes
from acceptance.nodes.culprits.fit import Classes, log_loss
from acceptance.nodes.culprits.model import CABLE, ONE_WAY, RECEIVES, SENDS, UPLINK, Culprit
from acceptance.nodes.findings import NODE, WAY
from acceptance.nodes.tomography import Evidence, Slow, slow_links

#: The quantity that a cable shows in: one direction, which takes one route. The answer to a small
#: message comes back by another one.
QUANTITY = "bandwidth"
#: A culprit is explained by a cable that this share of its pairs' routes takes. [chosen] half.
EXPLAINED = 0.5
#: Names that a sentence shows.
_SHOWN = 4


class Ways:
    """The routes between the nodes of a matrix, by their names.

    A node with several adapters in this fabric is taken by the first of them. `steps`, (N, N, H),
    are the directions of `Routes` from node to node, NONE after the last one and where no route is
    known; `hops`, (N, N), counts them.
    """

    def __init__(self, nodes: Sequence[str], topology: Topology, routes: Routes) -> None:
        self.topology, self.routes = topology, routes
        place = [
            next((routes.place[g] for g in topology.hosts.get(name, ()) if g in routes.place), NONE)
            for name in nodes
        ]
        #: The numbers of the nodes among the hosts of the routes, NONE for those that are none.
        self.hosts = place
        host = np.array(place)
        known = host != NONE
        self.steps = routes.steps[host[:, None], host]
        self.steps[~(known[:, None] & known)] = NONE
        self.hops: NDArray[np.intp] = (self.steps != NONE).sum(axis=2)
        strangers = [name for name, each in zip(nodes, place, strict=True) if each == NONE]
        lost = int(((self.hops == 0) & known[:, None] & known).sum()) - int(known.sum())
        texts = [f"{shortened(strangers, _SHOWN)} not in the fabric that was read"] * any(strangers)
        texts += [f"no route leads between {plural(lost, 'pair')}"] * (lost > 0)
        #: What no route is known of; empty where all are.
        self.unlooked = "; ".join(texts)

    def same_as(self, other: "Ways") -> bool:
        """Tell whether the routes between the nodes take the same links."""
        ends = [[link.ends for link in each.routes.links] for each in (self, other)]
        return ends[0] == ends[1] and np.array_equal(self.steps, other.steps)

    @property
    def number(self) -> int:
        """Count the links that a route takes."""
        return len(self._links(self.hops > 0))

    def uncrossed(self, measured: NDArray[np.bool_]) -> tuple[str, ...]:
        """Return the links on routes of which no pair was measured."""
        left = self._links(self.hops > 0) - self._links(measured)
        return tuple(map(self.text, sorted(left)))

    def _links(self, pairs: NDArray[np.bool_]) -> set[int]:
        steps = self.steps[pairs]
        return set(np.unique(steps[steps != NONE] // 2).tolist())

    def text(self, link: int) -> str:
        """Name a link by both ends: `leaf02[40] - spine08[2]`."""
        return self.topology.link_text(self.routes.links[link])


def with_cables(matrix: PairMatrix, ways: Ways, culprits: Iterable[Culprit]) -> list[Culprit]:
    """Return culprits and the cables behind them.

    The cable of a node that is slow with everybody is no culprit beside the node: what it trained
    at is said of the node. What another cable explains is left out for that: a path, an uplink, and
    a node to which one cable between switches has all routes.
    """
    slow = _slow_links(matrix, ways)
    kept, taken = [], set[int]()
    for culprit in culprits:
        own = [each for each in slow if _is_of_node(each, culprit, ways)]
        if own:
            taken |= {each.link for each in own}
            kept.append(replace(culprit, why="; ".join(_trained(each.link, ways) for each in own)))
        elif not any(_explains(each, culprit, matrix, ways) for each in slow):
            kept.append(culprit)
    cables = [_culprit(each, matrix, ways) for each in slow if each.link not in taken]
    return [*cables, *kept]


def _slow_links(matrix: PairMatrix, ways: Ways) -> list[Slow]:
    values = matrix.values.get(QUANTITY)
    if values is None:
        return []
    measured = np.isfinite(values) & (ways.hops > 0)
    logs = log_loss(np.where(measured, values, np.nan), UNITS[QUANTITY])
    classes = Classes(measured, matrix.rounds.astype(np.intp), ways.hops)
    loss = (logs - classes.medians(logs))[measured]
    evidence = Evidence(-loss, _again(matrix)[measured], ways.steps[measured])
    return slow_links(evidence, 2 * len(ways.routes.links))


def _again(matrix: PairMatrix) -> NDArray[np.float64]:
    """Return the logarithm of what pairs measured alone over what good ones do; else NaN."""
    found = np.full(matrix.rounds.shape, np.nan)
    again = matrix.again.get(QUANTITY, {})
    good = [value for pair, value in again.items() if pair in matrix.controls]
    if good:
        for pair, value in again.items():
            found[pair] = np.log(value / np.median(good))
    return found


def _is_of_node(slow: Slow, culprit: Culprit, ways: Ways) -> bool:
    """Tell whether a link is the own one of the node that is to blame."""
    if culprit.kind not in (NODE, SENDS, RECEIVES):
        return False
    guids = {guid for name in culprit.nodes for guid in ways.topology.hosts.get(name, ())}
    return any(end.guid in guids for end in ways.routes.links[slow.link].ends)


def _explains(slow: Slow, culprit: Culprit, matrix: PairMatrix, ways: Ways) -> bool:
    """Tell whether the pairs of a culprit that is no group go over a link."""
    on = [
        bool(np.isin(ways.steps[pair], slow.directions).any()) for pair in _pairs(culprit, matrix)
    ]
    # Of a path that is slow both ways one direction may be another cable's.
    return bool(on and sum(on) >= EXPLAINED * len(on))


def _pairs(culprit: Culprit, matrix: PairMatrix) -> Iterator[tuple[int, int]]:
    """Yield the pairs that a culprit explains: where a link lies that explains them all as well."""
    place = {name: number for number, name in enumerate(matrix.nodes)}
    if culprit.kind not in (NODE, SENDS, RECEIVES, WAY, ONE_WAY, UPLINK):
        return
    for left in culprit.nodes:
        for right in culprit.others or [name for name in matrix.nodes if name != left]:
            if culprit.kind != RECEIVES:
                yield place[left], place[right]
            if culprit.kind not in (ONE_WAY, SENDS):
                yield place[right], place[left]


def _culprit(slow: Slow, matrix: PairMatrix, ways: Ways) -> Culprit:
    ends = ways.topology.from_below(ways.routes.links[slow.link])
    left, right = map(ways.topology.name, ends)
    median = float(np.nanmedian(matrix.values[QUANTITY]))
    elsewhere = str(slow.elsewhere) if slow.elsewhere else "none"
    words = [
        f"the bandwidth is {slow.ratio:.2f} of good ones on {slow.slow} of its "
        f"{plural(slow.of, 'route')}, on {elsewhere} of {slow.others} others"
    ]
    if len(slow.directions) == 1:
        begin, end = map(ways.topology.name, ways.routes.ends(slow.directions[0]))
        words.append(f"only from {begin} to {end}")
    words.append(_trained(slow.link, ways))
    if slow.instead:
        words.append(f"as likely: {shortened([*map(ways.text, slow.instead)], _SHOWN)}")
    return Culprit(
        CABLE, (left,), (right,), QUANTITY, UNITS[QUANTITY], slow.ratio * median, median,
        slow.ratio, slow.slow, slow.of, why="; ".join(words),
    )  # fmt: skip


def _trained(link: int, ways: Ways) -> str:
    it = ways.routes.links[link]
    return f"{ways.text(link)} trained at {it.width} {it.speed}"
