"""Which cable is behind the slow pairs of a matrix, by the routes of the minute it was measured.

That cable is the link which their routes share, and the routes of good pairs avoid.

Each pair is worth what its slowest link lets through, times noise. A link that is slow makes all
pairs slow whose routes take it; one that good pairs take is good. So for each direction of a link
the values of its pairs are compared under two assumptions, that it is slow and that it is not; the
link that explains most is named, what it explains is taken away, and the rest is compared again.

The noise of a pair, as logarithm of its value over the median of its like, has Student's
distribution, with spread and tails as the values above the median show them: on that side no fault
is. One pair in `STRAY` may be anything.
"""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from acceptance.core.pairs import UNITS, PairMatrix
from acceptance.core.text import plural, shortened
from acceptance.fabric.routes import NONE, Routes
from acceptance.fabric.topology import Link, Topology
from acceptance.nodes.culprit import (
    CABLE,
    NODE,
    ONE_WAY,
    RECEIVES,
    SENDS,
    UPLINK,
    WAY,
    Culprit,
)
from acceptance.nodes.explanations import Explanation
from acceptance.nodes.fit import SLOW_FROM, USUAL, Aim, Classes, Floats, log_loss

#: One pair in so many is slow, or fast, for no reason that a link has: a burst of other traffic.
STRAY = 100
#: A stray value lies within this factor, up or down (its logarithm is uniform).
STRAY_FACTOR = 20.0
#: Tails that noise may have: degrees of freedom of Student's distribution; the last is near normal.
TAILS = (2.0, 3.0, 4.0, 6.0, 10.0, 30.0, 300.0)
#: The upper quartile of each (any table of it).
_QUARTILES = (0.8165, 0.7649, 0.7407, 0.7176, 0.6998, 0.6828, 0.6753)
#: The least loss that is looked for: links of one kind differ by less in a healthy fabric.
LEAST = 0.05
#: By so many standard errors a loss that is named may seem to be less: one of exactly the least
#: seems so every second night. [chosen] two.
MARGIN = 2.0
#: False names per fabric: with so many directions as there are, one in this many fabrics has one.
FABRICS = 1000
#: How much more likely (natural logarithm) the best link has to be than another one to be it alone.
ALONE = 3.0
#: Links that are named at most; where more are slow, no cable is the reason.
MOST = 16


@dataclass(frozen=True)
class Slow:
    """A link that is slow: directions of `Routes`, `ratio` of what it lets through to its like.

    `slow` of the `of` pairs on it are slow; `elsewhere` slow pairs that it does not explain, of
    `others` pairs not on it. `instead`: links (numbers) that explain it as well.
    """

    link: int
    directions: tuple[int, ...]
    ratio: float
    slow: int
    of: int
    elsewhere: int
    others: int
    instead: tuple[int, ...] = ()


def _noise_of(value: Floats) -> tuple[float, float]:
    """Return the spread and the tails of noise, the likeliest for the values above the median."""
    above = np.sort(value[value > np.median(value)] - np.median(value)) if value.size else value
    if above.size < 2:
        return 1.0, TAILS[-1]
    middle = max(float(np.median(above)), 1e-4)
    # Of the upper half the median is the upper quartile of the whole.
    fits = [(middle / quartile, tails) for tails, quartile in zip(TAILS, _QUARTILES, strict=True)]
    return max(fits, key=lambda fit: float(_density(above, *fit).sum()))


def _density(off: Floats, spread: float, tails: float) -> Floats:
    """Return the logarithm of the density of values that are off so much."""
    n = tails
    scale = math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2)) / math.sqrt(n * math.pi)
    core = scale / spread * (1 + (off / spread) ** 2 / n) ** (-(n + 1) / 2)
    stray = 1 / STRAY / (2 * math.log(STRAY_FACTOR))
    return np.asarray(np.log((1 - 1 / STRAY) * core + stray))


class _Search:
    """Looks for slow links in the values of pairs, by the directions that their routes take.

    `value` (P,) is the logarithm of each pair's value over that of its like, `again` (P,) the same
    of its value when it was measured alone, NaN where it was not; `steps` (P, H) are the directions
    of `Routes`, NONE after the last one.
    """

    def __init__(
        self, value: Floats, again: Floats, steps: NDArray[np.int32], count: int, smallest: float
    ) -> None:
        self.value, self.again, self.count = value, again, count
        pair, step = np.nonzero(steps != NONE)
        order = np.argsort(steps[pair, step], kind="stable")
        self.pair, self.direction = pair[order], steps[pair, step][order]
        number = np.bincount(self.direction, minlength=count)
        self.noise = _noise_of(self.value)
        self.least = np.log(number.astype(bool).sum() * FABRICS + 1.0)
        of_each = np.split(self.value[self.pair], np.cumsum(number)[:-1])
        #: The median value of each direction; 0 where no pair takes it.
        self.level = np.array([np.median(each) if each.size else 0.0 for each in of_each])
        # A median of normal noise has 1.25 times the error of a mean.
        error = MARGIN * 1.25 * self.noise[0] / np.sqrt(np.maximum(number, 1))
        sure = error <= smallest / 2
        #: From which level a direction explains its pairs, and from which it is named. What loses
        #: half of the least loss is not named, but explains the pairs of those beside it, if its
        #: level is known so well.
        self.explains = np.log(1 - np.where(sure, smallest / 2, smallest))
        self.named = np.log(1 - smallest) + np.where(sure, error, 0.0)

    def gains(self, base: Floats) -> Floats:
        """Return how much more likely all values are if a direction has its level; (links, 2)."""
        rows = np.flatnonzero((self.level < self.explains)[self.direction])
        pair, direction = self.pair[rows], self.direction[rows]
        before, at = base[pair], np.minimum(base[pair], self.level[direction])
        gain = np.zeros(len(rows))
        for values in (self.value[pair], self.again[pair]):
            more = _density(values - at, *self.noise) - _density(values - before, *self.noise)
            gain += np.nan_to_num(more)
        found = np.bincount(direction, weights=gain, minlength=self.count)
        return np.maximum(found, 0).astype(np.float64).reshape(-1, 2)

    def found(self) -> Iterator[Slow]:
        """Yield the slow links, those that explain most first; none where nothing can be told."""
        base = np.zeros_like(self.value)
        named = 0
        # Each turn takes another link; those that are not named count for nothing.
        for _ in range(self.count if self.value.size else 0):
            gain = self.gains(base)
            score = gain.sum(axis=1)
            best = int(score.argmax())
            if score[best] < self.least:
                return
            ways = tuple(2 * best + way for way in (0, 1) if gain[best, way] > ALONE)
            rows = np.flatnonzero(np.isin(self.direction, ways))
            on = np.isin(np.arange(self.value.size), self.pair[rows])
            rest = ~on & (base == 0)
            level = self.level[self.direction[rows]]
            base[self.pair[rows]] = np.minimum(base[self.pair[rows]], level)
            # Another link that explains as much, of which nothing is left to explain then.
            left = self.gains(base).sum(axis=1)
            rivals = np.flatnonzero((score > score[best] - ALONE) & (left < ALONE)).tolist()
            middle = float(np.median(self.value[on]))
            slow = self.value < middle / 2
            of, elsewhere = int((slow & on).sum()), int((slow & rest).sum())
            instead = tuple(link for link in rivals if link != best)
            counts = of, int(on.sum()), elsewhere, int(rest.sum())
            if (self.level < self.named)[[*ways]].any():
                yield Slow(best, ways, math.exp(middle), *counts, instead)
                named += 1
            if named == MOST:
                return


#: The quantity that a cable shows in: one direction, which takes one route. The answer to a small
#: message comes back by another one.
QUANTITY = "bandwidth"
#: A culprit is explained by a cable that this share of its slow pairs takes. [chosen] half.
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

    def crossing(self, measured: NDArray[np.bool_]) -> int:
        """Return how many measured pairs cross the direction that fewest cross."""
        steps = self.steps[measured]
        counts = np.unique(steps[steps != NONE], return_counts=True)[1]
        return int(counts.min()) if counts.size else 0

    def _links(self, pairs: NDArray[np.bool_]) -> set[int]:
        steps = self.steps[pairs]
        return set(np.unique(steps[steps != NONE] // 2).tolist())

    def text(self, link: int) -> str:
        """Name a link by both ends: `leaf02[40] - spine08[2]`."""
        return self.topology.link_text(self.routes.links[link])


def least_of(aim: Aim) -> float:
    """Return the loss of a cable from which it is named; of what is asked at most the half."""
    return min(LEAST, aim.detect / 2 or LEAST)


def with_cables(
    matrix: PairMatrix, ways: Ways, culprits: Iterable[Culprit], aim: Aim = USUAL
) -> list[Culprit]:
    """Return culprits and the cables behind them.

    The cable of a node that is slow with everybody is no culprit beside the node: what it trained
    at is said of the node. What another cable explains is left out for that: a path, an uplink, and
    a node to which one cable between switches has all routes.
    """
    slow = _slow_links(matrix, ways, least_of(aim))
    losses = functools.cache(functools.partial(_losses, matrix, ways))
    kept, taken = [], set[int]()
    for culprit in culprits:
        own = [each for each in slow if _is_of_node(each, culprit, ways)]
        if own:
            taken |= {each.link for each in own}
            kept.append(replace(culprit, why="; ".join(_trained(each.link, ways) for each in own)))
        elif not any(_explains(each, culprit, matrix, ways, losses) for each in slow):
            kept.append(culprit)
    cables = [_culprit(each, matrix, ways) for each in slow if each.link not in taken]
    return [*cables, *kept]


def _slow_links(matrix: PairMatrix, ways: Ways, least: float) -> list[Slow]:
    if QUANTITY not in matrix.values:
        return []
    loss = _losses(matrix, ways, QUANTITY)
    measured = np.isfinite(loss)
    count = 2 * len(ways.routes.links)
    again, steps = _again(matrix)[measured], ways.steps[measured]
    return [*_Search(-loss[measured], again, steps, count, least).found()]


def _losses(matrix: PairMatrix, ways: Ways, quantity: str) -> Floats:
    """Return what each pair loses against its like, as logarithm; NaN without value or route."""
    values = matrix.values[quantity]
    measured = np.isfinite(values) & (ways.hops > 0)
    logs = log_loss(np.where(measured, values, np.nan), UNITS[quantity])
    classes = Classes(measured, matrix.rounds.astype(np.intp), ways.hops)
    return logs - classes.medians(logs)


def _again(matrix: PairMatrix) -> Floats:
    """Return the logarithm of what pairs measured alone over what good ones do; else NaN."""
    found = np.full(matrix.rounds.shape, np.nan)
    again = matrix.again.get(QUANTITY, {})
    good = [value for pair, value in again.items() if pair in matrix.controls]
    for pair, value in again.items() if good else ():
        found[pair] = np.log(value / np.median(good))
    return found


def _is_of_node(slow: Slow, culprit: Culprit, ways: Ways) -> bool:
    """Tell whether a link is the own one of the node that is to blame."""
    if culprit.kind not in (NODE, SENDS, RECEIVES):
        return False
    guids = {guid for name in culprit.nodes for guid in ways.topology.hosts.get(name, ())}
    return any(end.guid in guids for end in ways.routes.links[slow.link].ends)


def _explains(
    slow: Slow,
    culprit: Culprit,
    matrix: PairMatrix,
    ways: Ways,
    losses: Callable[[str], Floats],
) -> bool:
    """Tell whether the slow pairs of a culprit that is no group go over a link.

    Other pairs of the same nodes may be good: of an uplink most are, and they count for nothing.
    """
    if culprit.kind not in (NODE, SENDS, RECEIVES, WAY, ONE_WAY, UPLINK):
        return False
    nodes, others = (tuple(map(matrix.nodes.index, e)) for e in (culprit.nodes, culprit.others))
    effect = log_loss(np.array(culprit.ratio), culprit.unit)
    pairs = Explanation(culprit.kind, nodes, others).pairs(len(matrix.nodes))
    pairs &= losses(culprit.quantity) >= SLOW_FROM * effect
    if not pairs.any():
        return False
    steps = ways.steps[pairs]
    # Of a path that is slow both ways one direction may be another cable's.
    return bool(np.isin(steps, slow.directions).any(axis=1).mean() >= EXPLAINED)


def pairs_over(culprit: Culprit, ways: Ways) -> NDArray[np.bool_]:
    """Return which pairs have a route over the cable that is a culprit."""
    ends = (*culprit.nodes, *culprit.others)
    links = [n for n, link in enumerate(ways.routes.links) if _ends(link, ways) == ends]
    over = np.isin(ways.steps, [2 * n + way for n in links for way in (0, 1)])
    pairs: NDArray[np.bool_] = np.any(over, axis=2)
    return pairs


def _ends(link: Link, ways: Ways) -> tuple[str, ...]:
    return tuple(map(ways.topology.name, ways.topology.from_below(link)))


def _culprit(slow: Slow, matrix: PairMatrix, ways: Ways) -> Culprit:
    left, right = _ends(ways.routes.links[slow.link], ways)
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
