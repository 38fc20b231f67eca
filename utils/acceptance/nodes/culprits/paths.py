"""Single pairs that are slow while both of their nodes are good: the path between them.

One value proves nothing where noise has heavy tails. So the evidence of a pair is that of all its
measurements: of each the share of all pairs that are as slow or slower, multiplied (Fisher's
method: -2 ln of the product is chi-squared). They are independent: taken at different times, in
different rounds. The strongest one is left out (a partial conjunction): what was slow once only was
no path, but a moment. So a path in one direction is found only where it was measured again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from acceptance.core.pair_matrix import Pair
from acceptance.nodes.culprits.constants import (
    BOTH_FROM,
    CONTENDED,
    FALSE_RATE,
    PATTERN_FEWEST,
    PATTERN_FROM,
    PATTERN_SCORE,
    SMALLEST,
    T3_SCALE,
    TAIL_FEWEST,
    TAIL_SHARE,
)
from acceptance.nodes.culprits.fit import Fit, Floats, Ints


@dataclass(frozen=True)
class SlowPath:
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


def slow_paths(measurements: list[Measurement], rounds: Ints) -> list[SlowPath]:
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
            found.append(SlowPath((wanted[0], wanted[1]), both, name))
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
