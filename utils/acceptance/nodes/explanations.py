"""What may explain slow pairs, and the searches for it in the losses of a matrix.

What sets of nodes share is an uplink, or a switch, in two forms: a matrix in two parts that are
good inside; and a block of senders and receivers, which is what static routes make of one slow
cable.

Nodes may be slow with whatever partner: in what they send, in what they receive, in both. Many that
are slow alike, with each other, too, are another kind of nodes rather than as many faults. Of
single pairs that are slow while both of their nodes are good the path between them is the culprit.

One value proves nothing where noise has heavy tails. So the evidence of a pair is that of all its
measurements: of each the share of all pairs that are as slow or slower, multiplied (Fisher's
method: -2 ln of the product is chi-squared). They are independent: taken at different times, in
different rounds. The strongest one is left out (a partial conjunction): what was slow once only was
no path, but a moment. So a path in one direction is found only where it was measured again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, log

import numpy as np

from acceptance.core.pairs import Pair
from acceptance.nodes.culprit import ONE_WAY, RECEIVES, SENDS, UPLINK, WAY
from acceptance.nodes.fit import (
    BELONGS,
    BETWEEN_SLOW,
    BLOCK_SCORE,
    BLOCKS,
    BOTH_FROM,
    CONTENDED,
    DENSE,
    EMPIRICAL_FROM,
    FALSE_RATE,
    FEWEST_NODES,
    FEWEST_VALUES,
    INSIDE_GOOD,
    KIND_FEWEST,
    KIND_OF_WORSE,
    KIND_SHARE,
    LEAST_SIDE,
    MEDIAN_ERROR,
    PATTERN_FEWEST,
    PATTERN_FROM,
    PATTERN_SCORE,
    QUARTILE_ERROR,
    SETS_FROM,
    SLOW_FROM,
    SMALLEST,
    SMALLEST_OF_NODE,
    T3_SCALE,
    TAIL_FEWEST,
    TAIL_SHARE,
    USUAL,
    Aim,
    Bools,
    Classes,
    Fit,
    Floats,
    Ints,
    better_quarter,
    beyond_chance,
    fit,
    mean_both_ways,
    reach,
    spread,
)

#: The one direction in which an uplink is slow, in words that follow what it is between.
FORTH, BACK = "in this direction only", "in the direction to the first only"


@dataclass(frozen=True)
class Explanation:
    """What may be behind slow pairs: a kind of culprit, `nodes`, or what they and `others` share.

    Without `others` it is between the nodes and all others; but for an uplink, it is among them,
    too. `only`: an uplink is slow in that direction alone, FORTH from the nodes to the others.
    """

    kind: str
    nodes: tuple[int, ...]
    others: tuple[int, ...] = ()
    quantity: str = ""
    only: str = ""

    def pairs(self, count: int) -> Bools:
        """Return which pairs of so many nodes it makes slow."""
        mine, others = np.zeros((2, count), dtype=bool)
        mine[[*self.nodes]] = True
        if self.others:
            others[[*self.others]] = True
        else:
            others = ~mine if self.kind == UPLINK else ~others
        pairs = np.zeros((count, count), dtype=bool)
        if self.kind != RECEIVES and self.only != BACK:
            pairs |= mine[:, None] & others
        if self.kind not in (SENDS, ONE_WAY) and self.only != FORTH:
            pairs |= others[:, None] & mine
        np.fill_diagonal(pairs, val=False)
        return pairs

    def is_mostly(self, other: "Explanation") -> bool:
        """Tell whether two explanations of a kind have most of their nodes in common."""
        sets = ({*self.nodes}, {*other.nodes}), ({*self.others}, {*other.others})
        common = all(2 * len(left & right) >= len(left | right) for left, right in sets)
        return self.kind == other.kind and common


def two_parts(logs: Floats, quantity: str) -> list[Explanation]:
    """Find two sets of nodes that are good inside, with slow pairs between them in any round."""
    count = len(logs)
    centred = np.nan_to_num(logs - np.nanmedian(logs))
    side = _half(centred + centred.T)
    if count < SETS_FROM or not 2 <= side.sum() <= count - 2:
        return []
    if 2 * side.sum() > count or (2 * side.sum() == count and not side[0]):
        side = ~side
    inside = [logs[np.ix_(each, each)] for each in (side, ~side)]
    between = [logs[np.ix_(side, ~side)], logs[np.ix_(~side, side)]]
    middle = np.nanmedian(np.concatenate([each.ravel() for each in inside]))
    effect = max(map(np.nanmedian, between)) - middle
    bound = middle + SLOW_FROM * effect
    good = [_share(each <= bound, each) for each in inside]
    slow = [_share(each > bound, each) for each in between]
    if effect < SMALLEST[quantity] or min(good) < INSIDE_GOOD:
        return []
    if not all(share >= BETWEEN_SLOW or share <= 1 - INSIDE_GOOD for share in slow):
        return []
    only = "" if min(slow) >= BETWEEN_SLOW else FORTH if slow[0] > slow[1] else BACK
    return [Explanation(UPLINK, places(side), (), quantity, only)]


def places(flags: Bools) -> tuple[int, ...]:
    """Return the nodes of which something is so."""
    return tuple(np.flatnonzero(flags).tolist())


def _share(true: Bools, of: Floats) -> float:
    return float(true.sum() / max(np.isfinite(of).sum(), 1))


def _half(symmetric: Floats) -> Bools:
    """Return one of two sets between which values are larger than inside of them.

    The sign of the eigenvector of the lowest eigenvalue, improved node by node.
    """
    side: Bools = np.linalg.eigh(symmetric)[1][:, 0] > 0
    for _ in range(10):
        sets = side.astype(np.float64), (~side).astype(np.float64)
        means = [symmetric @ each / np.maximum(each.sum() - each, 1) for each in sets]
        side = means[0] < means[1]
    return side


def slow_blocks(fitted: Fit, loss: Floats, rounds: Ints, quantity: str) -> list[Explanation]:
    """Find senders and receivers between which most pairs are slow, in pairs no node explains."""
    has = np.isfinite(loss)
    hit = has & (loss >= np.maximum(SMALLEST[quantity], BLOCK_SCORE * fitted.scale))
    if len(loss) < SETS_FROM or not hit.any():
        return []
    number = np.bincount(rounds[has])
    contended = np.bincount(rounds[hit], minlength=len(number)) > CONTENDED * number
    if len(loss) >= 4 * SETS_FROM:
        hit &= ~contended[rounds]
    usual = max(hit.sum() / has.sum(), 1 / has.sum())
    found = list[Explanation]()
    while len(found) < BLOCKS and (block := _densest(hit, has, float(usual))):
        hit[np.ix_(*block)] = False
        rows, columns = (tuple(each.tolist()) for each in block)
        found.append(Explanation(UPLINK, rows, columns, quantity, FORTH))
    return found


def _densest(hit: Bools, has: Bools, usual: float) -> tuple[Ints, Ints] | None:
    """Return rows and columns of the block around the two rows that share most; None: no block."""
    numbers = hit.astype(np.float32)
    together = numbers @ numbers.T
    counts = np.diagonal(together).copy()
    expected = counts[:, None] * counts / len(hit)
    score = together - expected - 4 * np.sqrt(expected + 1)
    np.fill_diagonal(score, -np.inf)
    one, other = np.unravel_index(int(score.argmax()), score.shape)
    if score[one, other] <= 0:
        return None
    columns = np.flatnonzero(hit[one] & hit[other])
    for _ in range(10):
        rows = _belonging(hit, has, columns)
        columns = _belonging(hit.T, has.T, rows)
        if min(len(rows), len(columns)) < LEAST_SIDE:
            return None
    cells = has[np.ix_(rows, columns)].sum()
    slow = hit[np.ix_(rows, columns)].sum()
    if slow < DENSE * cells or not _is_certain(len(hit), rows, columns, slow / cells, cells, usual):
        return None
    return rows, columns


def _belonging(hit: Bools, has: Bools, columns: Ints) -> Ints:
    """Return the rows that are slow in most of these columns."""
    number = has[:, columns].sum(axis=1)
    return np.flatnonzero((number > 0) & (hit[:, columns].sum(axis=1) >= BELONGS * number))


def _is_certain(
    count: int, rows: Ints, columns: Ints, share: float, cells: int, usual: float
) -> bool:
    """Tell whether no choice of so many rows and columns has so many slow pairs by chance.

    Chernoff's bound of the binomial tail, times the number of choices.
    """
    choices = log(comb(count, len(rows))) + log(comb(count, len(columns)))
    share = min(share, 1 - 1e-12)
    distance = share * log(share / usual) + (1 - share) * log((1 - share) / (1 - usual))
    return bool(choices - cells * distance < log(FALSE_RATE))


def slower_kind(each: Sequence[Floats], rounds: Ints, hops: Ints | None, quantity: str) -> Bools:
    """Tell which nodes are alike, and slower than the others with whomever: of another kind.

    These are many, or half of all and more, and are slow with each other, too (else it is what they
    share). `each` are the logarithmic losses of quantities that suffer from the same faults.
    """
    count = len(rounds)
    nobody = np.zeros(count, dtype=bool)
    logs: Floats = np.mean(each, axis=0) if each else np.full(rounds.shape, np.nan)
    has = np.isfinite(logs)
    enough = np.minimum(has.sum(axis=0), has.sum(axis=1)) >= FEWEST_VALUES
    if enough.sum() < FEWEST_NODES:
        return nobody
    classes = Classes(has, rounds, hops)
    first = fit(logs, classes, nobody, nobody)
    best, error, worse = _at_best(logs, first, quantity, USUAL)
    kind = worse
    if 2 * worse.sum() < count and worse.any():
        ordered = np.sort(best[worse])
        wide = 2 * beyond_chance(count, first.freedom) * float(np.median(error))
        number = np.searchsorted(ordered, ordered + wide, "right") - np.arange(ordered.size)
        least = ordered[number.argmax()]
        kind = worse & (best >= least) & (best <= least + wide)
        fewest = max(KIND_FEWEST, KIND_SHARE * count)
        is_most = worse.sum() >= fewest and kind.sum() >= KIND_OF_WORSE * worse.sum()
        if kind.sum() < fewest and not is_most:
            return nobody
    if not kind.any() or kind.sum() > count - 2:
        return nobody
    fitted = fit(logs, classes, kind, kind)
    effect = float(np.median(fitted.sends[kind] + fitted.receives[kind])) / 2
    among = fitted.loss[np.ix_(kind, kind)]
    together = np.nanmedian(among) if np.isfinite(among).any() else effect
    # Else their best partners differ, they do not: links are contended, or shared.
    is_kind = effect >= SMALLEST_OF_NODE[quantity] and together >= SLOW_FROM * effect
    return kind if is_kind else nobody


def slow_nodes(logs: Floats, classes: Classes, quantity: str, aim: Aim) -> Fit:
    """Fit a matrix of logarithmic losses, of which half are good, without its slow nodes."""
    count = len(logs)
    nobody = np.zeros(count, dtype=bool)
    fitted = fit(logs, classes, nobody, nobody)
    if count < EMPIRICAL_FROM:
        *_, start = _at_best(logs, fitted, quantity, aim)
        if 2 * start.sum() < count:
            fitted = fit(logs, classes, start, start)
    for _ in range(2):
        fitted = fit(logs, classes, *_over_bounds(fitted, quantity, aim))
    sends, receives = _over_bounds(fitted, quantity, aim)
    return replace(fitted, bad_senders=sends, bad_receivers=receives)


def _bounds(fitted: Fit, errors: Floats, quantity: str, aim: Aim) -> Floats:
    """Return the loss up to which a node is as good as others: by noise, and by its distance."""
    by_distance = reach(fitted) if quantity == "latency" else 0.0
    wide = beyond_chance(len(errors), fitted.freedom, aim.false_nodes) * errors + by_distance
    return np.maximum(aim.smallest(quantity), wide)


def _at_best(logs: Floats, fitted: Fit, quantity: str, aim: Aim) -> tuple[Floats, Floats, Bools]:
    """Return the best quarter of partners of each node, its error, and whose is worse than good.

    That is, than the better quarter of the nodes: with half of them slow most pairs are, and
    medians of all name nobody.
    """
    both = np.sort(np.concatenate([logs, logs.T], axis=1), axis=1)
    number = np.isfinite(both).sum(axis=1)
    rows = np.arange(len(both))
    best = np.where(number > 0, both[rows, np.maximum(number - 1, 0) // 4], np.nan)
    error = QUARTILE_ERROR * fitted.noise / np.sqrt(np.maximum(number, 1))
    anchor = better_quarter(np.sort(best[np.isfinite(best)]))
    worse: Bools = np.nan_to_num(best - anchor) > _bounds(fitted, error, quantity, aim)
    return best, error, worse


def _over_bounds(fitted: Fit, quantity: str, aim: Aim) -> tuple[Bools, Bools]:
    """Tell which senders and which receivers are worse than noise and structure explain."""
    measured = np.isfinite(fitted.loss)
    shares = (fitted.sends, measured.sum(axis=1)), (fitted.receives, measured.sum(axis=0))
    best = np.nan_to_num(mean_both_ways(fitted.loss), nan=np.inf).min(axis=1)
    slow = []
    for share, number in shares:
        error = MEDIAN_ERROR * fitted.noise / np.sqrt(np.maximum(number, 1))
        if len(share) >= EMPIRICAL_FROM:
            error = np.maximum(error, spread(share))
        is_slow: Bools = share > _bounds(fitted, error, quantity, aim)
        if quantity == "latency":  # else it is far from most, and its best partner is near
            is_slow &= best - np.median(best) >= SLOW_FROM * share
        slow.append(is_slow)
    return slow[0], slow[1]


class Measurement:
    """A quantity as the search of paths sees it: loss of each pair that no slow node explains.

    `again` has the loss of pairs that were measured again, against that of good ones; `scores` are
    losses by their spread. How many pairs are slow by so much: those that were seen, and what to
    expect beyond.

    Beyond the slowest pairs the tail is a power law with the exponent of these (Hill's estimate),
    which is cautious of normal noise. Of a few pairs no exponent is known; of those it is Student's
    t with 3 degrees of freedom. Where so many are slow that it is a pattern, nothing is beyond.
    """

    def __init__(
        self, quantity: str, fitted: Fit, loss: Floats, again: Mapping[Pair, float]
    ) -> None:
        self.quantity, self.fit, self.loss, self.again = quantity, fitted, loss, again
        self.scores = loss / fitted.scale
        self.ordered = np.sort(self.scores[np.isfinite(self.scores)])
        size = len(self.ordered)
        self.top = max(TAIL_FEWEST, int(TAIL_SHARE * size))
        self.known = size >= 10 * TAIL_FEWEST
        self.slow = (loss >= SMALLEST[quantity]) & (self.scores >= PATTERN_SCORE)
        self.is_pattern = self.slow.sum() > max(PATTERN_FROM * size, PATTERN_FEWEST)

    def evidence(self, scores: Floats) -> Floats:
        """Return -ln of the share of pairs that are as slow as each of these, or slower."""
        size = len(self.ordered)
        count = size - np.searchsorted(self.ordered, scores)
        share: Floats = np.maximum(count, 1) / max(size, 1)
        if self.is_pattern:
            beyond = share
        elif self.known:
            start = self.ordered[-self.top]
            start = max(float(start), 1e-9)
            slope = 1 / max(float(np.mean(np.log(self.ordered[-self.top :] / start))), 1e-9)
            beyond = self.top / size * (np.maximum(scores, start) / start) ** -slope
        else:
            beyond = _t3_tail(scores * T3_SCALE)
        evidence: Floats = -np.log(np.clip(np.minimum(share, beyond), 1e-300, 1))
        return np.where(np.isfinite(scores), evidence, np.nan)


def slow_paths(measurements: list[Measurement], rounds: Ints) -> list[Explanation]:
    """Find the slow paths in quantities that suffer from the same faults."""
    losses = np.stack([each.loss for each in measurements])
    smallest = SMALLEST[measurements[0].quantity]
    worst = np.max(np.nan_to_num(losses), axis=0)
    left, right = np.nonzero(np.triu(np.maximum(worst, worst.T) >= smallest))
    if not left.size:
        return []
    forth = _evidence(measurements, rounds, left, right)
    back = _evidence(measurements, rounds, right, left)
    # In one round both directions suffer from the same moment: they count as one.
    together = rounds[left, right] == rounds[right, left]
    all_of_it = np.where(together, np.fmin(forth, back), forth), np.where(together, np.nan, back)
    tests = 6 * len(worst) * (len(worst) - 1) / 2
    to, fro = _middle(losses[:, left, right]), _middle(losses[:, right, left])
    is_both = np.minimum(to, fro) >= np.maximum(smallest, BOTH_FROM * np.maximum(to, fro))
    is_both &= _chance(np.concatenate(all_of_it)) * tests < FALSE_RATE
    is_to = (to >= smallest) & (_chance(forth) * tests < FALSE_RATE)
    is_fro = (fro >= smallest) & (_chance(back) * tests < FALSE_RATE)
    found = []
    for kind, rows, columns, slow in (
        (WAY, left, right, is_both),
        (ONE_WAY, left, right, is_to & ~is_both),
        (ONE_WAY, right, left, is_fro & ~is_both),
    ):
        for one, other in zip(rows[slow].tolist(), columns[slow].tolist(), strict=True):
            names = [each.quantity for each in measurements if each.loss[one, other] >= smallest]
            name = names[0] if names else measurements[0].quantity
            found.append(Explanation(kind, (one,), (other,), name))
    return found


def _middle(losses: Floats) -> Floats:
    """Return the mean of what there is in several quantities; 0 where there is nothing."""
    mean: Floats = np.nansum(losses, axis=0) / np.maximum(np.isfinite(losses).sum(axis=0), 1)
    return mean


def _evidence(measurements: list[Measurement], rounds: Ints, rows: Ints, columns: Ints) -> Floats:
    """Return -ln of the share of pairs that are as slow, (measurements, pairs); NaN: not measured.

    The first half of the rows were measured while all were busy, the second half again.
    """
    first, again = [], []
    for each in measurements:
        crowd = _crowd(each, rounds)[rows, columns]
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        repeated = np.array([each.again.get(pair, np.nan) for pair in pairs])
        first.append(np.minimum(each.evidence(each.scores[rows, columns]), -np.log(crowd)))
        again.append(each.evidence(repeated / each.fit.noise))
    return np.array(first + again)


def _crowd(measured: Measurement, rounds: Ints) -> Floats:
    """Return for each pair the share of its round that is slow, where its links are contended.

    Contention repeats itself: what is slow in a round of many slow ones proves no more than that.
    """
    number, has = int(rounds.max()) + 1, np.isfinite(measured.scores)
    all_of, slow_of = (np.bincount(rounds[each], minlength=number) for each in (has, measured.slow))
    share = slow_of / np.maximum(all_of, 1)
    crowd: Floats = np.where((share > CONTENDED / 2) & (slow_of > 2), share, 1e-300)[rounds]
    return crowd


def _chance(evidence: Floats) -> Floats:
    """Return the probability of so much evidence, less the strongest, where nothing is slow.

    The upper tail of chi-squared with two degrees of freedom for each value, in closed form.
    """
    number = np.isfinite(evidence).sum(axis=0) - 1
    known = np.nan_to_num(evidence)
    total = known.sum(axis=0) - known.max(axis=0)
    term, series = np.ones_like(total), np.zeros_like(total)
    for index in range(len(evidence)):
        series += np.where(index < number, term, 0)
        term = term * total / (index + 1)
    return np.where(number > 0, np.exp(-total) * series, 1.0)


def _t3_tail(values: Floats) -> Floats:
    """Return the upper tail of Student's t with 3 degrees of freedom, in closed form."""
    scaled = values / np.sqrt(3)
    tail: Floats = 0.5 - (scaled / (1 + scaled**2) + np.arctan(scaled)) / np.pi
    return tail
