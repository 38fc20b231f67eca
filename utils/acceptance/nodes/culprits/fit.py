"""What a matrix would be of good nodes: levels of rounds and distances, and each node's own share.

The logarithmic loss of a pair is fitted as level(round, distance) + sender + receiver by medians in
turns (Tukey's median polish): half of the pairs of a round, or of a node, may be anything.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acceptance.core.robust import MAD_TO_STD
from acceptance.core.units import direction
from acceptance.nodes.culprits.constants import (
    FEWEST_OF_CLASS,
    PRIOR_NOISE,
    PRIOR_WORTH,
    QUARTERS_BELOW,
    ROUNDS_FROM,
    TURNS,
    UPPER_TO_STD,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


def log_loss(values: Floats, unit: str) -> Floats:
    """Return logarithms that are larger where a value is worse."""
    logs: Floats = np.log(values)
    return logs if direction(unit) == "lower" else -logs


def row_medians(values: Floats) -> Floats:
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
        middle = row_medians(self._padded(values))
        middle = np.where(np.isnan(middle), np.nanmedian(middle), middle)
        return np.append(middle, np.nan)[self.of]

    def spreads(self, values: Floats) -> Floats:
        """Return the spread of its class around 0 for each pair."""
        wide = MAD_TO_STD * row_medians(self._padded(np.abs(values)))
        return np.append(np.nan_to_num(wide), 0.0)[self.of]


@dataclass(frozen=True)
class Fit:
    """A matrix as levels, senders and receivers; all as logarithms, larger where it is worse.

    `loss` of each pair against its level, `level` of each pair, `sends` and `receives` of each node
    against the median node, `rest` what is left of good pairs, `noise` its spread, known as well as
    that of `freedom` values, `scale` the spread for each pair, larger in rounds that are noisier.
    """

    loss: Floats
    level: Floats
    sends: Floats
    receives: Floats
    rest: Floats
    noise: float
    freedom: float
    scale: Floats


def fit(logs: Floats, classes: Classes, bad_senders: Bools, bad_receivers: Bools) -> Fit:
    """Fit the matrix; levels are learnt from pairs of which neither node is bad."""
    senders = np.where(bad_receivers[None, :], np.nan, logs)
    receivers = np.where(bad_senders[:, None], np.nan, logs)
    good = np.where(bad_senders[:, None], np.nan, senders)
    sends, receives = np.zeros(len(logs)), np.zeros(len(logs))
    level = np.zeros_like(logs)
    for _ in range(TURNS):
        level = classes.medians(good - sends[:, None] - receives)
        sends = _centred(row_medians(senders - level - receives), bad_senders)
        receives = _centred(row_medians((receivers - level - sends[:, None]).T), bad_receivers)
    level = classes.medians(good - sends[:, None] - receives)
    loss = logs - level
    rest = np.where(np.isnan(good), np.nan, loss - sends[:, None] - receives)
    left = rest[np.isfinite(rest)]
    nodes = int((~bad_senders).sum() + (~bad_receivers).sum())
    free = max(left.size - len(classes.places) - nodes, 1)
    seen = spread(left) ** 2 * left.size
    noise = np.sqrt((seen + PRIOR_WORTH * PRIOR_NOISE**2) / (free + PRIOR_WORTH))
    scale = np.maximum(noise, classes.spreads(rest))
    return Fit(loss, level, sends, receives, rest, float(noise), free + PRIOR_WORTH, scale)


def _centred(shares: Floats, bad: Bools) -> Floats:
    """Return shares against that of the median node; 0 where nothing is known."""
    known = np.isfinite(shares) & ~bad
    middle = np.median(shares[known]) if known.any() else 0.0
    return np.nan_to_num(shares - middle)


def count_both_ways(loss: Floats, bound: float) -> tuple[int, int]:
    """Count the pairs that are slow on the mean of both directions, and all that have a value."""
    both = np.stack([loss, loss.T])
    has = np.isfinite(both).sum(axis=0)
    mean = np.nansum(both, axis=0) / np.maximum(has, 1)
    return int(np.triu((has > 0) & (mean >= bound)).sum()), int(np.triu(has > 0).sum())
