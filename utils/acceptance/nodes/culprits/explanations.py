"""Sets of nodes between which pairs are slow: what they share is an uplink, or a switch.

Three forms: a matrix in two parts that are good inside; slow nodes that are good with each other;
and a block of senders and receivers, which is what static routes make of one slow cable.

Nodes may be slow with whatever partner: in what they send, in what they receive, in both. Many that
are slow alike, with each other, too, are another kind of nodes rather than as many faults. Of
single pairs that are slow while both of their nodes are good the path between them is the culprit.

One value proves nothing where noise has heavy tails. So the evidence of a pair is that of all its
measurements: of each the share of all pairs that are as slow or slower, multiplied (Fisher's
method: -2 ln of the product is chi-squared). They are independent: taken at different times, in
different rounds. The strongest one is left out (a partial conjunction): what was slow once only was
no path, but a moment. So a path in one direction is found only where it was measured again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb, log

import numpy as np

from acceptance.core.pairs import Pair
from acceptance.nodes.culprits.fit import (
    BELONGS,
    BETWEEN_SLOW,
    BLOCK_SCORE,
    BLOCKS,
    BOTH_FROM,
    CONTENDED,
    DENSE,
    EMPIRICAL_FROM,
    FALSE_RATE,
    INSIDE_GOOD,
    KIND_FEWEST,
    KIND_OF_WORSE,
    KIND_SHARE,
    LEAST_SIDE,
    MEDIAN_ERROR,
    PATTERN_FEWEST,
    PATTERN_FROM,
    PATTERN_SCORE,
    POWER_TURNS,
    QUARTILE_ERROR,
    SETS_FROM,
    SLOW_FROM,
    SMALLEST,
    SMALLEST_OF_NODE,
    T3_SCALE,
    TAIL_FEWEST,
    TAIL_SHARE,
    Bools,
    Classes,
    Fit,
    Floats,
    Ints,
    beyond_chance,
    fit,
    mean_both_ways,
    reach,
    spread,
)


@dataclass(frozen=True)
class Block:
    """Pairs from `senders` to `receivers` that are slow; `back`: those in reverse are slow, too.

    `rest`: the receivers are all nodes that are no senders.
    """

    senders: tuple[int, ...]
    receivers: tuple[int, ...]
    forth: bool
    back: bool
    rest: bool = False

    def pairs(self, count: int) -> Bools:
        """Return which pairs of so many nodes it is about."""
        pairs = np.zeros((count, count), dtype=bool)
        for wanted, rows, columns in (
            (self.forth, self.senders, self.receivers),
            (self.back, self.receivers, self.senders),
        ):
            if wanted:
                pairs[np.ix_(rows, columns)] = True
        return pairs


def two_parts(logs: Floats, quantity: str, groups: Ints | None) -> Block | None:
    """Find two sets of nodes that are good inside, with slow pairs between them in any round."""
    count = len(logs)
    if count < SETS_FROM:
        return None
    centred = np.nan_to_num(logs - np.nanmedian(logs))
    sides = [_halves(centred + centred.T)]
    if groups is not None:
        sides += [groups == group for group in np.unique(groups)]
    for side in sides:
        if not LEAST_SIDE <= side.sum() <= count - LEAST_SIDE:
            continue
        inside = np.where(side[:, None] == side, logs, np.nan)
        middle = np.nanmedian(inside)
        forth, back = logs[np.ix_(side, ~side)], logs[np.ix_(~side, side)]
        effect = max(np.nanmedian(forth), np.nanmedian(back)) - middle
        if effect < SMALLEST[quantity]:
            continue
        bound = middle + SLOW_FROM * effect
        slow = [_share(between > bound, between) >= BETWEEN_SLOW for between in (forth, back)]
        good = [_share(between <= bound, between) >= INSIDE_GOOD for between in (forth, back)]
        if _share(inside <= bound, inside) < INSIDE_GOOD or not all(np.logical_or(slow, good)):
            continue
        if 2 * side.sum() > count or (2 * side.sum() == count and not side[0]):
            side, slow = ~side, slow[::-1]
        return Block(_places(side), _places(~side), slow[0], slow[1], rest=True)
    return None


def _share(true: Bools, of: Floats) -> float:
    return float(true.sum() / max(np.isfinite(of).sum(), 1))


def _halves(symmetric: Floats) -> Bools:
    """Return one of two sets between which values are larger than inside of them.

    The sign of the eigenvector of the lowest eigenvalue, improved node by node. Power iteration
    finds it among 1,024 in a hundredth of the time of all of them.
    """
    highest, vector = _largest(symmetric, 0.0)
    if highest > 0:
        _, vector = _largest(symmetric, highest)
    side = vector > 0
    for _ in range(10):
        if side.all() or not side.any():
            break
        to_side = symmetric[:, side].sum(axis=1) / np.maximum(side.sum() - side, 1)
        to_rest = symmetric[:, ~side].sum(axis=1) / np.maximum((~side).sum() - ~side, 1)
        better = to_side < to_rest
        if (better == side).all():
            break
        side = better
    return side


def _largest(symmetric: Floats, shift: float) -> tuple[float, Floats]:
    """Return the eigenvalue that is farthest from a shift, and its eigenvector."""
    vector = np.random.default_rng(0).standard_normal(len(symmetric))
    for _ in range(POWER_TURNS):
        vector /= np.linalg.norm(vector) or 1.0
        vector = symmetric @ vector - shift * vector
    vector /= np.linalg.norm(vector) or 1.0
    return float(vector @ symmetric @ vector), vector


def common_uplinks(fitted: Fit, sends: Bools, receives: Bools) -> list[Block]:
    """Return sets of slow nodes that are good with each other: it is not the links of their own."""
    slow = np.flatnonzero(sends | receives)
    if len(slow) < 2:
        return []
    effect = np.maximum(fitted.sends, fitted.receives)[slow]
    mean = mean_both_ways(fitted.loss[np.ix_(slow, slow)])
    good = mean < SLOW_FROM * np.minimum(effect[:, None], effect)
    left, blocks = set(range(len(slow))), []
    while left:
        together, new = set[int](), {min(left)}
        while new - together:
            together |= new
            new = set(np.flatnonzero(good[list(together)].any(axis=0)).tolist()) & left
        left -= together
        part = sorted(together)
        among = np.ix_(part, part)
        number = np.isfinite(mean[among]).sum()
        if len(part) > 1 and number and good[among].sum() >= INSIDE_GOOD * number:
            names = slow[part]
            rest = np.setdiff1d(np.arange(len(sends)), names)
            ways = [2 * flags[names].sum() >= len(names) for flags in (sends, receives)]
            blocks.append(
                Block(tuple(names.tolist()), tuple(rest.tolist()), ways[0], ways[1], rest=True)
            )
    return blocks


def slow_blocks(fitted: Fit, loss: Floats, rounds: Ints, quantity: str) -> list[Block]:
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
    found = []
    for _ in range(BLOCKS):
        block = _densest(hit, has, float(usual))
        if block is None:
            break
        rows, columns = block
        hit[np.ix_(rows, columns)] = False
        found.append(Block(tuple(rows.tolist()), tuple(columns.tolist()), True, False))
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
    rows = np.array([one, other])
    for _ in range(10):
        new = _belonging(hit, has, columns)
        if len(new) < LEAST_SIDE:
            return None
        before, rows = rows, new
        columns = _belonging(hit.T, has.T, rows)
        if len(columns) < LEAST_SIDE:
            return None
        if np.array_equal(before, rows):
            break
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


def _places(side: Bools) -> tuple[int, ...]:
    return tuple(np.flatnonzero(side).tolist())


def slower_kind(logs: Floats, classes: Classes, quantity: str) -> Bools:
    """Tell which nodes are alike, and slower than the others with whomever: of another kind.

    These are many, or half of all and more, and are slow with each other, too (else it is what they
    share). Of the logarithmic losses of several quantities `logs` is the mean.
    """
    count = len(logs)
    nobody = np.zeros(count, dtype=bool)
    first = fit(logs, classes, nobody, nobody)
    best, error, worse = _at_best(logs, first, quantity)
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


@dataclass(frozen=True)
class SlowNodes:
    """Who sends and who receives slowly, in a fit that has learnt nothing from them."""

    sends: Bools
    receives: Bools
    fit: Fit


def slow_nodes(logs: Floats, classes: Classes, quantity: str) -> SlowNodes:
    """Find the slow nodes of a matrix of logarithmic losses, of which half are good."""
    count = len(logs)
    nobody = np.zeros(count, dtype=bool)
    fitted = fit(logs, classes, nobody, nobody)
    if count < EMPIRICAL_FROM:
        *_, start = _at_best(logs, fitted, quantity)
        if 2 * start.sum() < count:
            fitted = fit(logs, classes, start, start)
    for _ in range(2):
        sends, receives = _over_bounds(fitted, quantity)
        fitted = fit(logs, classes, sends, receives)
    sends, receives = _over_bounds(fitted, quantity)
    return SlowNodes(sends, receives, fitted)


def _bounds(fitted: Fit, errors: Floats, quantity: str) -> Floats:
    """Return the loss up to which a node is as good as others: by noise, and by its distance."""
    by_distance = reach(fitted) if quantity == "latency" else 0.0
    wide = beyond_chance(len(errors), fitted.freedom) * errors + by_distance
    return np.maximum(SMALLEST_OF_NODE[quantity], wide)


def _at_best(logs: Floats, fitted: Fit, quantity: str) -> tuple[Floats, Floats, Bools]:
    """Return the best quarter of partners of each node, its error, and whose is worse than good.

    That is, than the better quarter of the nodes: with half of them slow most pairs are, and
    medians of all name nobody.
    """
    both = np.sort(np.concatenate([logs, logs.T], axis=1), axis=1)
    number = np.isfinite(both).sum(axis=1)
    rows = np.arange(len(both))
    best = np.where(number > 0, both[rows, np.maximum(number - 1, 0) // 4], np.nan)
    error = QUARTILE_ERROR * fitted.noise / np.sqrt(np.maximum(number, 1))
    known = np.sort(best[np.isfinite(best)])
    if not known.size:
        return best, error, np.zeros(len(both), dtype=bool)
    anchor = known[max((known.size + 3) // 4 - 1, int(known.size > 3))]
    worse: Bools = np.nan_to_num(best - anchor) > _bounds(fitted, error, quantity)
    return best, error, worse


def _over_bounds(fitted: Fit, quantity: str) -> tuple[Bools, Bools]:
    """Tell which senders and which receivers are worse than noise and structure explain."""
    measured = np.isfinite(fitted.loss)
    shares = (fitted.sends, measured.sum(axis=1)), (fitted.receives, measured.sum(axis=0))
    best = np.nan_to_num(mean_both_ways(fitted.loss), nan=np.inf).min(axis=1)
    slow = []
    for share, number in shares:
        error = MEDIAN_ERROR * fitted.noise / np.sqrt(np.maximum(number, 1))
        if len(share) >= EMPIRICAL_FROM:
            error = np.maximum(error, spread(share))
        is_slow: Bools = share > _bounds(fitted, error, quantity)
        if quantity == "latency":  # else it is far from most, and its best partner is near
            is_slow &= best - np.median(best) >= SLOW_FROM * share
        slow.append(is_slow)
    return slow[0], slow[1]


@dataclass(frozen=True)
class _SlowPath:
    """A pair that is slow from its first node to its second, or in both directions."""

    pair: Pair
    both: bool
    quantity: str


@dataclass(frozen=True)
class Measurement:
    """A quantity as the search of paths sees it: loss of each pair that no slow node explains.

    `again` has the loss of pairs that were measured again, against that of good ones.
    """

    quantity: str
    fit: Fit
    loss: Floats
    again: Mapping[Pair, float]


def slow_paths(measurements: list[Measurement], rounds: Ints) -> list[_SlowPath]:
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
    found = []
    to, fro = _middle(losses[:, left, right]), _middle(losses[:, right, left])
    is_both = np.minimum(to, fro) >= np.maximum(smallest, BOTH_FROM * np.maximum(to, fro))
    is_both &= _chance(np.concatenate(all_of_it)) * tests < FALSE_RATE
    is_to = (to >= smallest) & (_chance(forth) * tests < FALSE_RATE)
    is_fro = (fro >= smallest) & (_chance(back) * tests < FALSE_RATE)
    for index in np.flatnonzero(is_both | is_to | is_fro):
        pair = int(left[index]), int(right[index])
        for wanted, both in (
            *([(pair, True)] if is_both[index] else []),
            *([(pair, False)] if is_to[index] and not is_both[index] else []),
            *([(pair[::-1], False)] if is_fro[index] and not is_both[index] else []),
        ):
            slow = [each for each in measurements if each.loss[wanted] >= smallest]
            name = slow[0].quantity if slow else measurements[0].quantity
            found.append(_SlowPath((wanted[0], wanted[1]), both, name))
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
        tail = _Tail(each)
        crowd = _crowd(each, tail, rounds)[rows, columns]
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        repeated = np.array([each.again.get(pair, np.nan) for pair in pairs])
        first.append(np.minimum(tail.evidence(tail.scores[rows, columns]), -np.log(crowd)))
        again.append(tail.evidence(repeated / each.fit.noise))
    return np.array(first + again)


def _crowd(measurement: Measurement, tail: "_Tail", rounds: Ints) -> Floats:
    """Return for each pair the share of its round that is slow, where its links are contended.

    Contention repeats itself: what is slow in a round of many slow ones proves no more than that.
    """
    has = np.isfinite(measurement.loss)
    smallest = SMALLEST[measurement.quantity]
    slow = has & (measurement.loss >= smallest) & (tail.scores >= PATTERN_SCORE)
    all_of, slow_of = np.bincount(rounds[has]), np.bincount(rounds[slow])
    slow_of = np.pad(slow_of, (0, len(all_of) - len(slow_of)))
    share = slow_of / np.maximum(all_of, 1)
    share = np.where((share > CONTENDED / 2) & (slow_of > 2), share, 1e-300)
    return np.append(share, np.full(int(rounds.max()) + 1 - len(share), 1e-300))[rounds]


class _Tail:
    """How many pairs are slow by so much: those that were seen, and what to expect beyond.

    Beyond the slowest pairs the tail is a power law with the exponent of these (Hill's estimate),
    which is cautious of normal noise. Of a few pairs no exponent is known; of those it is Student's
    t with 3 degrees of freedom. Where so many are slow that it is a pattern, nothing is beyond.
    """

    def __init__(self, measurement: Measurement) -> None:
        self.scores = measurement.loss / measurement.fit.scale
        self.ordered = np.sort(self.scores[np.isfinite(self.scores)])
        size = len(self.ordered)
        self.top = max(TAIL_FEWEST, int(TAIL_SHARE * size))
        self.known = size >= 10 * TAIL_FEWEST
        smallest = SMALLEST[measurement.quantity]
        slow = (measurement.loss >= smallest) & (self.scores >= PATTERN_SCORE)
        self.is_pattern = slow.sum() > max(PATTERN_FROM * size, PATTERN_FEWEST)

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
