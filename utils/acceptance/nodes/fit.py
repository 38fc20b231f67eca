"""What a matrix would be of good nodes: levels of rounds and distances, and each node's own share.

The logarithmic loss of a pair is fitted as level(round, distance) + sender + receiver by medians in
turns (Tukey's median polish): half of the pairs of a round, or of a node, may be anything.

The numbers by which culprits are found stand here, each with its provenance. `[derived]`: it
follows from the formula that is named. `[chosen]`: what operators care for; no measurement can
tell. `[tuned]`: no formula gives it. Named is the family of `tests/bench/culprits` in which it
shows; who alters it runs that bench before and after.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acceptance.core.robust import MAD_TO_STD
from acceptance.core.words import direction

#: False findings in a run of a healthy fabric, of each of the four searches (nodes, paths, uplinks,
#: two parts). [derived] together 1 in 1,000 runs, which is the goal.
FALSE_RATE = 1e-3 / 4
#: Quantity -> the smallest loss that is reported, as logarithm. [chosen] in a comparison of nodes a
#: rate may be 15 % worse, but a median of many pairs knows it better. A latency may be 50 % worse,
#: as there: a way through one more switch costs nearly as much, and a few shifts take it more often
#: for some nodes than for others.
SMALLEST = {
    "latency": math.log(1.5),
    "bandwidth": -math.log(0.9),
    "both": -math.log(0.9),
}
#: Nodes from which shares of nodes are fitted. [derived] three leave two pairs of a node in a
#: direction, of which a median is nothing: they have their own search.
FEWEST_NODES = 4
#: The same of a node, of whose pairs a median is known better than a single one. [chosen] a rate as
#: above; a latency that is a tenth longer with every partner than distance makes it (see `reach`).
SMALLEST_OF_NODE = {**SMALLEST, "latency": math.log(1.1)}
#: The quantile of good pairs that is as far as they are from each other. [tuned] latencies of trees
#: with leaves of 2 to 16: of fewer pairs in a hundred it says nothing of distance.
FAR_QUANTILE = 0.95
#: Turns in which nodes go to the group that they are nearest to. [tuned] trees with two distances:
#: the second one moves nobody.
GROUP_TURNS = 3
#: Pairs with both directions from which it is known. [derived] below, no pair is beyond it.
FAR_FEWEST = 20
#: Nodes from which those that are slower alike are a kind, and their share of all from which they
#: are; half of all are in any case, and of as many slower ones that share, which leaves room for
#: a fault among them. [chosen] the same fault of three links is rarer than a rack of older nodes,
#: and is told with their names as well.
KIND_FEWEST, KIND_SHARE, KIND_OF_WORSE = 3, 1 / 8, 2 / 3
#: The same of what nodes measure inside. [chosen] one memory channel of six that is missing costs
#: a sixth; cores of nodes of one kind exchange small messages within a third, by what they share.
SMALLEST_INSIDE = {"us": math.log(1.5), "MB/s": -math.log(0.85)}
#: Values that a node needs in a direction. [derived] with one, node and path are the same.
FEWEST_VALUES = 2
#: Nodes below which rounds are not compared with themselves: a slow node is in two pairs of each
#: round. [derived] these must be at most a quarter of it, or its median moves.
ROUNDS_FROM = 8
#: Pairs of a round, or of a distance in a round, below which it has no median of its own.
#: [derived] as above: two slow ones must not be half of them.
FEWEST_OF_CLASS = 5
#: Turns in which medians of rounds, senders and receivers are fitted. [tuned] all families: later
#: turns move no value by a tenth of the noise.
TURNS = 3
#: What noise is supposed before any is seen (logarithm), and how many values that is worth.
#: [tuned] families of 4 to 8 nodes: of so few pairs the spread may be small by chance.
PRIOR_NOISE, PRIOR_WORTH = 0.03, 8
#: The spread of good pairs above which no quantity is called judged. [chosen] a slow pair, of which
#: a third is lost, is no farther from the others than these are from each other.
NOISIEST = 0.2
#: The same of the pairs of three nodes that are not the slow ones. [chosen] of two to five values a
#: spread is known to half of itself.
NOISIEST_OF_THREE = NOISIEST / 2
#: The standard error of a median of normal values over that of their mean.
#: [derived] sqrt(pi / 2).
MEDIAN_ERROR = 1.2533
#: A direction is slow, too, from this share of the loss of the other one. [chosen] half.
BOTH_FROM = 0.5
#: A pair is slow from this share of its culprit's loss. [chosen] half way.
SLOW_FROM = 0.5
#: Nodes from which the spread of their shares is known, which is larger than noise makes it where
#: nodes stand at different places of a fabric. [derived] of 16 shares a slow one or two move the
#: median deviation by little.
EMPIRICAL_FROM = 16
#: The standard error of a quartile of normal values over that of their mean.
#: [derived] sqrt(3 / 16) / phi(Phi^-1(1/4)).
QUARTILE_ERROR = 1.3626
#: Share of all pairs (at least so many), and score in spreads of noise: more pairs that are so slow
#: are a pattern of the fabric, and none of them is judged by how far noise goes.
#: [tuned] oversubscribed trees, Student t, 3.
PATTERN_FROM, PATTERN_FEWEST, PATTERN_SCORE = 0.001, 8, 4.0
#: The slowest pairs that tell how the tail goes on: this share of all, and at least so many.
#: [tuned] Gaussian and Student t, 3: more are no tail yet, fewer are too few to tell.
TAIL_SHARE, TAIL_FEWEST = 0.025, 24
#: The scale of Student's t with 3 degrees of freedom over the spread that `robust` learns of it.
#: [derived] 1.4826 x its quartile, 0.7649.
T3_SCALE = 1.134
#: A loss is confirmed when this share of it is there with nothing else busy. [chosen] half.
CONFIRMED_FROM = 0.5
#: A node is well again from this part of the smallest loss that is named. [chosen] a third: good
#: nodes differ by less, and a loss of the smallest one is seen beyond it in each comparison.
BACK = 1 / 3
#: Of so small a share of its pairs, measured again, a culprit is denied only beyond their noise.
#: [chosen] a fourth: the others say more than these.
FEW_AGAIN = 1 / 4
#: Failed pairs that are named one by one. [chosen] what a person reads.
NAMED_FAILED = 20
#: Values below which a spread is learnt from the upper quarter, and the standard deviation of
#: normal noise over that. [tuned] families of 4 to 16 nodes; [derived] 1 / Phi^-1(7/8).
QUARTERS_BELOW, UPPER_TO_STD = 300, 0.8693
#: Share of the pairs between two sets that are slow, and of those inside that are good: then it is
#: what they share. [derived] in a healthy tree of two leaves with half of the links up, one in four
#: pairs between them has a round in which its links are free.
BETWEEN_SLOW, INSIDE_GOOD = 0.9, 0.9
#: Nodes from which sets of them are looked for. [derived] below, two sets are a pair or a node.
SETS_FROM = 8
#: A pair counts as slow in the search of blocks from so many spreads of noise. [tuned] 5 and 10 %
#: of noise: a loss of 30 % is seen in most pairs.
BLOCK_SCORE = 2.5
#: A round of which more pairs are slow is one in which links are contended: it shows no block.
#: [derived] a link that is slow is in few pairs of a shift; a leaf of 1/16 of the nodes in 1/8.
CONTENDED = 1 / 8
#: Share of a block that a sender or receiver must be slow in to belong to it, share of a block that
#: must be slow, and the least of senders and receivers. [tuned] uplinks with static routes.
BELONGS, DENSE, LEAST_SIDE = 0.6, 0.7, 3
#: Blocks that are looked for at most. [chosen] more faults at once are told by their nodes.
BLOCKS = 6
#: Spreads of noise that a pair has to lose in order to count where nothing explains it. [chosen] as
#: for a pattern of many.
LEFT_SCORE = 4.0


class Aim(Struct, frozen=True, forbid_unknown_fields=True):
    """What an acceptance is to show of nodes, their cables and ports.

    A node that loses the fraction `detect` of its rates (0: nothing is asked, `SMALLEST_OF_NODE`
    counts) is found with the probability `power`; a healthy run is rejected with `false` at most.
    """

    detect: float = 0.0
    power: float = 0.95
    false: float = 4 * FALSE_RATE

    def smallest(self, quantity: str) -> float:
        """Return the smallest loss of a node that is reported: of what is asked at most the half.

        So much nodes may differ that are good; the other half is for noise.
        """
        least = SMALLEST_OF_NODE[quantity]
        if quantity == "latency" or not self.detect:
            return least
        return min(least, -math.log1p(-self.detect) / 2)

    @property
    def text(self) -> str:
        """Say what was asked; empty if nothing was."""
        asked = f"that a node loses {self.detect:.1%} was to be seen with {self.power:.0%}"
        return asked * bool(self.detect)

    @property
    def false_nodes(self) -> float:
        """Return what the search of nodes may take of `false`; the others are as always."""
        return max(self.false - 3 * FALSE_RATE, FALSE_RATE)


#: Nothing more than always.
USUAL = Aim()
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


def log_loss(values: Floats, unit: str) -> Floats:
    """Return logarithms that are larger where a value is worse."""
    logs: Floats = np.log(values)
    return logs if direction(unit) == "lower" else -logs


def _row_medians(values: Floats) -> Floats:
    """Return the median of each row over what is no NaN; NaN of a row that has nothing."""
    ordered = np.sort(values, axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    rows = np.arange(len(ordered))
    middle = ordered[rows, np.maximum(count - 1, 0) // 2] + ordered[rows, count // 2]
    return np.where(count > 0, middle / 2, np.nan)


def spread(values: Floats) -> float:
    """Return the standard deviation of normal noise around 0, which a few outliers do not move.

    Of a few values it is known from their upper quarter: a fit by medians makes many of them 0.
    """
    if values.size < QUARTERS_BELOW:
        return UPPER_TO_STD * float(np.quantile(np.abs(values), 0.75)) if values.size else 0.0
    return MAD_TO_STD * float(np.median(np.abs(values)))


def better_quarter(ordered: Floats) -> float:
    """Return the quartile of losses up to which they are good, of 4 and more not the least one."""
    return float(ordered[max((ordered.size + 3) // 4 - 1, int(ordered.size > 3))])


class Classes:
    """Pairs that are compared with each other: those of one round and one distance."""

    def __init__(self, measured: Bools, rounds: Ints, hops: Ints | None) -> None:
        far = np.zeros_like(rounds) if hops is None else hops
        by_round = rounds if len(rounds) >= ROUNDS_FROM else np.zeros_like(rounds)
        pairs = np.flatnonzero(measured)
        keys, far = (by_round * (int(far.max()) + 1) + far).ravel()[pairs], far.ravel()[pairs]
        _, number, count = np.unique(keys, return_inverse=True, return_counts=True)
        number = np.where((count < FEWEST_OF_CLASS)[number], len(count) + far, number)
        _, number, count = np.unique(number, return_inverse=True, return_counts=True)
        #: The class of each pair; of those that were not measured it is one past all.
        self.of = np.full(measured.shape, len(count), dtype=np.intp)
        self.of.ravel()[pairs] = number
        order = np.argsort(number, kind="stable")
        place = np.arange(len(pairs)) - (np.cumsum(count) - count)[number[order]]
        #: Of each class the places of its pairs; those of a class that is smaller are one past all.
        self.places = np.full((len(count), int(count.max(initial=1))), measured.size)
        self.places[number[order], place] = pairs[order]

    def _padded(self, values: Floats) -> Floats:
        padded: Floats = np.append(values.ravel(), np.nan)[self.places]
        return padded

    def medians(self, values: Floats) -> Floats:
        """Return the median of its class for each pair; where a class has nothing, that of all."""
        middle = _row_medians(self._padded(values))
        middle = np.where(np.isnan(middle), np.nanmedian(middle), middle)
        return np.append(middle, np.nan)[self.of]

    def spreads(self, values: Floats) -> Floats:
        """Return the spread of its class around 0 for each pair."""
        wide = MAD_TO_STD * _row_medians(self._padded(np.abs(values)))
        return np.append(np.nan_to_num(wide), 0.0)[self.of]


@dataclass(frozen=True)
class Fit:
    """A matrix as levels, senders and receivers; all as logarithms, larger where it is worse.

    `loss` of each pair against its level, `level` of each pair, `sends` and `receives` of each node
    against the median node, `rest` what is left of good pairs, `noise` its spread, known as well as
    that of `freedom` values, `scale` the spread for each pair, larger in rounds that are noisier.
    `bad_senders` and `bad_receivers` are the nodes that are slow: nothing is learnt from them.
    """

    bad_senders: Bools
    bad_receivers: Bools
    loss: Floats
    level: Floats
    sends: Floats
    receives: Floats
    rest: Floats
    noise: float
    freedom: float
    scale: Floats


def distances(logs: Floats) -> Ints | None:
    """Return how far pairs are, 0 or 1, by their latencies alone; None: two distances do not show.

    The values of pairs are cut in two where that leaves least in both parts (Otsu), nodes are
    grouped by who is near to whom, and each goes to the group that it is nearest to: as late as it
    may be itself, that is as much with any. Each node must then be nearer to its own group than to
    all others by half of what lies between the two parts.
    """
    mean = mean_both_ways(logs)
    has = np.isfinite(mean)
    values = np.sort(mean[np.triu(has)])
    if values.size < max(len(mean) * (len(mean) - 1) / 4, 2):
        return None
    number = np.arange(1, values.size)
    below = np.cumsum(values)[:-1]
    gap = (values.sum() - below) / (values.size - number) - below / number
    cut = int((number * (values.size - number) * gap**2).argmax())
    if gap[cut] < SMALLEST_OF_NODE["latency"]:
        return None
    near = has & (mean <= values[cut])
    group = np.full(len(mean), -1)
    for name, node in enumerate(np.argsort(-near.sum(axis=1), kind="stable")):
        if group[node] < 0:
            group[near[node] & (group < 0)] = group[node] = name
    places = np.arange(len(mean))
    for _ in range(GROUP_TURNS):
        members = (group[:, None] == np.unique(group)).astype(np.float64)
        count = has @ members
        to = np.where(count > 0, np.nan_to_num(mean) @ members / np.maximum(count, 1), np.inf)
        group = to.argmin(axis=1)
    own = to[places, group].copy()
    to[places, group] = np.inf
    sizes = np.bincount(group)
    # A node without any pair is near to nobody, and tells nothing of distances.
    told = np.isfinite(own) & (sizes[group] > 1)
    nearer = to.min(axis=1)[told] - own[told]
    if (sizes > 1).sum() < 2 or nearer.min(initial=math.inf) < gap[cut] / 2:
        return None
    apart: Ints = (group[:, None] != group).astype(np.intp)
    return apart


def fit(logs: Floats, classes: Classes, bad_senders: Bools, bad_receivers: Bools) -> Fit:
    """Fit the matrix; levels are learnt from pairs of which neither node is bad."""
    senders = np.where(bad_receivers[None, :], np.nan, logs)
    receivers = np.where(bad_senders[:, None], np.nan, logs)
    good = np.where(bad_senders[:, None], np.nan, senders)
    sends, receives = np.zeros(len(logs)), np.zeros(len(logs))
    level = np.zeros_like(logs)
    for _ in range(TURNS):
        level = classes.medians(good - sends[:, None] - receives)
        sends = _centred(_row_medians(senders - level - receives), bad_senders)
        receives = _centred(_row_medians((receivers - level - sends[:, None]).T), bad_receivers)
    level = classes.medians(good - sends[:, None] - receives)
    loss = logs - level
    rest = np.where(np.isnan(good), np.nan, loss - sends[:, None] - receives)
    left = rest[np.isfinite(rest)]
    nodes = int((~bad_senders).sum() + (~bad_receivers).sum())
    free = max(left.size - len(classes.places) - nodes, 1)
    seen = spread(left) ** 2 * left.size
    noise = np.sqrt((seen + PRIOR_WORTH * PRIOR_NOISE**2) / (free + PRIOR_WORTH))
    scale, bad = np.maximum(noise, classes.spreads(rest)), (bad_senders, bad_receivers)
    return Fit(*bad, loss, level, sends, receives, rest, float(noise), free + PRIOR_WORTH, scale)


def reach(fitted: Fit) -> float:
    """Return by how much the latency of good pairs is longer than their level by distance alone.

    Both directions of a pair are at one distance, and their noise is its own: it is known from
    their difference, and what is left of their mean is distance. Where few pairs were measured in
    both directions, that is the smallest loss of a path.
    """
    ahead, back = fitted.rest, fitted.rest.T
    both = np.triu(np.isfinite(ahead) & np.isfinite(back))
    if both.sum() < FAR_FEWEST:
        return SMALLEST["latency"]
    noise = spread((ahead - back)[both]) / 2  # of their mean
    far = float(np.quantile((ahead + back)[both] / 2, FAR_QUANTILE))
    return max(0.0, far - NormalDist().inv_cdf(FAR_QUANTILE) * noise)


def _centred(shares: Floats, bad: Bools) -> Floats:
    """Return shares against that of the median node; 0 where nothing is known."""
    known = np.isfinite(shares) & ~bad
    middle = np.median(shares[known]) if known.any() else 0.0
    return np.nan_to_num(shares - middle)


def beyond_chance(nodes: int, freedom: float, false: float = FALSE_RATE) -> float:
    """Return how many standard errors no share of so many nodes is off by chance.

    Of two shares in three quantities; a quantile of Student's t: the first term of its expansion
    around the normal one (Cornish and Fisher).
    """
    normal = -NormalDist().inv_cdf(false / (6 * nodes))
    return normal + (normal**3 + normal) / (4 * freedom)


def mean_both_ways(loss: Floats) -> Floats:
    """Return the mean of both directions of each pair, of those that have a value; NaN: none."""
    both = np.stack([loss, loss.T])
    has = np.isfinite(both).sum(axis=0)
    return np.where(has > 0, np.nansum(both, axis=0) / np.maximum(has, 1), np.nan)


def count_both_ways(loss: Floats, bound: float) -> tuple[int, int]:
    """Count the pairs that are slow on the mean of both directions, and all that have a value."""
    mean = mean_both_ways(loss)
    return int(np.triu(mean >= bound).sum()), int(np.triu(np.isfinite(mean)).sum())
