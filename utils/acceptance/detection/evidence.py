"""The noise of many series, and gross changes of those of which it is not known yet.

The shape of the noise is learnt robustly from the history of a series. A link at half its rate
needs no weeks of history to be seen, though.

Of a young series the noise is not known, and so nothing about it is assumed: some samples in a row
are a gross change when a gap lies between them and all samples of the level before them, many times
as wide as the range of either. That the last k of n + k samples are the largest comes by chance in
one of C(n + k, k) cases, whatever the distribution; that the range is as small, the less often the
wider the gap. The score is the logarithm of both, for the worst family of noise of the bench,
whatever its size. Only two states far apart, the worse one rare, are like a change: where 5 or 20 %
of the nights have half the rate, 3 or 9 % of the series are reported so, once.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import (
    BOUND,
    BOUND_ROUGH,
    DECILES,
    DOF_ROUGH,
    LASTING,
    MAYBE_OUTLIERS,
    OUTLIER,
    PHI_DOUBTED,
    PHI_FULL,
    PHI_FULL_LATER,
    PHI_GROWN,
    PHI_MORE,
    PHI_MOST,
    PHI_UNKNOWN,
    PHI_YOUNG,
    REMEMBERED,
    STEADIEST,
    WINDOWS,
    YOUNG_BACK,
    YOUNG_LARGE,
    YOUNG_PAST,
    YOUNG_POWER,
    YOUNG_SIZE,
    YOUNG_STEADIEST,
    YOUNG_SURE,
    YOUNG_UNTIL,
    YOUNG_WINDOWS,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass
class Noise:
    """The noise of m series, arrays of shape (m,); values are logarithms.

    A sample counts as no farther than `half` from `centre`. Of the rest a part `phi` is that of the
    sample before it (AR(1)); what is left, the residual, is bounded by `bound`, has the skewness
    `skew` and gives an estimate of its variance `dof` degrees of freedom a sample.
    """

    centre: Floats
    half: Floats
    phi: Floats
    bound: Floats
    skew: Floats
    dof: Floats

    def take(self, other: "Noise", those: slice) -> None:
        """Replace the noise of some series by that of `other`."""
        for part in fields(self):
            getattr(self, part.name)[those] = getattr(other, part.name)


def learn(
    values: Floats, kept: Flags, pairs: Flags, bounds: tuple[float, float] = (BOUND, BOUND_ROUGH)
) -> tuple[Noise, NDArray[np.intp]]:
    """Return the noise of the samples `kept` of `values`, both (n, m), and their numbers.

    The oldest sample is the first row; `pairs` (n - 1, m) are those kept that have one before them.
    Where none is kept, the result means nothing. `bounds` are those of a sample, in standard
    deviations: of a history without outliers, and of one with them.
    """
    count = kept.sum(axis=0)
    ranked = np.sort(np.where(kept, values, np.inf), axis=0)
    last, columns = np.maximum(count - 1, 0), np.arange(len(count))
    centre = (ranked[last // 2, columns] + ranked[(last + 1) // 2, columns]) / 2
    centre[count == 0] = 0.0
    low, high = (ranked[np.rint(share * last).astype(np.intp), columns] for share in (0.1, 0.9))
    with np.errstate(invalid="ignore"):
        wide = np.fmax((high - low) / DECILES * (1 + 1 / np.maximum(count, 1)), STEADIEST)
    values = np.where(kept, values - centre, 0.0)
    rough = np.abs(values).max(axis=0) > OUTLIER * wide
    half = wide * np.where(rough, bounds[1], bounds[0])

    total = np.maximum(count, 2)
    bounded = np.clip(values, -half, half)
    bounded = np.where(kept, bounded - bounded.sum(axis=0) / total, 0.0)
    variance = np.maximum((bounded**2).sum(axis=0) / (total - 1), STEADIEST**2)
    phi = _cautious((bounded[1:] * bounded[:-1]).sum(axis=0) / (total - 1) / variance, total)
    residual = np.where(pairs, bounded[1:] - phi * bounded[:-1], 0.0)
    bound = BOUND * np.sqrt(np.maximum((residual**2).sum(axis=0) / total, STEADIEST**2))
    residual = np.clip(residual, -bound, bound)
    residual = np.where(pairs, residual - residual.sum(axis=0) / total, 0.0)
    squares = residual**2
    spread = np.maximum(squares.sum(axis=0) / total, STEADIEST**2)
    skew = (squares * residual).sum(axis=0) / total / spread**1.5
    # Shrunk by what a Gaussian's estimate, of variance 6 / n, may have by chance.
    chance = 6 / total
    skew *= np.maximum(0, 1 - chance / np.maximum(skew**2, chance))
    # Less what it exceeds 3 by in a Gaussian by chance, of variance 24 / n.
    kurtosis = (squares**2).sum(axis=0) / total / spread**2 - np.sqrt(24 / total)
    dof = 2 / np.maximum(kurtosis - 1, 2) * np.where(rough, DOF_ROUGH, 1.0)
    return Noise(centre, half, phi, bound, skew, dof), count


def _cautious(phi: Floats, count: NDArray[np.intp]) -> Floats:
    """Return the correlation to reckon with when `phi` was estimated from `count` samples.

    One that is taken for too low makes false alarms, one that is too high late alarms.
    """
    # The estimate's bias: Kendall, Biometrika 41 (1954), 403-404.
    phi = np.asarray(phi + (1 + 3 * np.maximum(phi, 0)) / count, np.float64)
    error = np.sqrt(np.maximum(1 - phi**2, 0.05) / count)
    grown = np.clip((count - PHI_YOUNG) / (PHI_GROWN - PHI_YOUNG), 0, 1)
    # A correlation that a series without one may show by chance counts in part.
    full = PHI_FULL + PHI_FULL_LATER * grown
    part = np.clip((phi * np.sqrt(count) - PHI_DOUBTED) / (full - PHI_DOUBTED), 0, 1)
    cautious = part * np.minimum(phi + PHI_MORE * error, PHI_MOST)
    return np.asarray(np.maximum(cautious, PHI_UNKNOWN * np.maximum(0, 1 - count / PHI_YOUNG)))


#: Samples that are held of a series.
BUFFER = REMEMBERED + int(WINDOWS[-1])


def may_be_outliers(values: Floats, before: float, after: float, spread: float) -> bool:
    """Tell whether it is too early to call so large a change a lasting one.

    Two outliers and a sample of the old level have as much evidence as three of a small change.
    """
    if len(values) >= LASTING or abs(after - before) < MAYBE_OUTLIERS * spread:
        return False
    return len(values) < 3 or bool((abs(values - before) < abs(values - after)).any())


def begin(values: Floats, before: float, spread: float) -> int:
    """Return the first sample of a change: where two levels leave the least (bounded) rest.

    The window with most evidence may begin too early: bounded samples of a large change carry
    some others with them.
    """

    def rest(level: float, some: Floats) -> float:
        return float(np.minimum((some - level) ** 2, 9 * spread**2).sum())

    rests = [
        rest(before, values[:first]) + rest(float(np.median(values[first:])), values[first:])
        for first in range(len(values) - 1)
    ]
    return int(np.argmin(rests))


Ints = NDArray[np.intp]

#: ln C(n + k, k) for n samples of a level and k of another.
_ORDERS = np.array(
    [
        [math.log(math.comb(n + k, k)) for k in range(YOUNG_WINDOWS[-1] + 1)]
        for n in range(YOUNG_UNTIL + 1)
    ]
)


def scores(values: Floats, level: Flags) -> Floats:
    """Return the scores of a gross change upwards and downwards that ends with the last sample.

    `values` (n, m) are logarithms, `level` tells which samples are of the present level, those of
    the change included. The result has the shape (2, number of `YOUNG_WINDOWS`, m).
    """
    n, m = values.shape
    found = np.zeros((2, len(YOUNG_WINDOWS), m))
    # Of the samples up to each one: the largest, the smallest, and how many are of the level.
    high = np.maximum.accumulate(np.where(level, values, -np.inf), axis=0)
    low = np.minimum.accumulate(np.where(level, values, np.inf), axis=0)
    counts = level.cumsum(axis=0)
    for slot, window in enumerate(YOUNG_WINDOWS):
        if n < YOUNG_PAST + window:
            break
        last, new = n - window - 1, values[n - window :]
        top, bottom, count = high[last], low[last], counts[last]
        possible = (count >= YOUNG_PAST) & level[n - window :].all(axis=0)
        scatter = np.maximum(new.max(axis=0) - new.min(axis=0), YOUNG_STEADIEST)
        with np.errstate(invalid="ignore"):
            steady = np.maximum(top - bottom, scatter)
            middle = (top + bottom) / 2
            least = YOUNG_LARGE if 1 < window < YOUNG_SURE else YOUNG_SIZE
            changed = possible & (np.abs(np.median(new, axis=0) - middle) >= least)
            for way, gap in enumerate((new.min(axis=0) - top, bottom - new.max(axis=0))):
                apart = changed & (gap > 0)
                ratio = np.where(apart, gap / steady, 1.0)
                score = _ORDERS[count, window] + YOUNG_POWER * np.log(ratio)
                found[way, slot] = np.where(apart, np.maximum(score, 0.0), 0.0)
    return found


def is_back(values: Floats, before: float, after: float) -> bool:
    """Tell whether two samples are of the level before a gross change from it."""
    return bool((np.abs(values - before) <= YOUNG_BACK * abs(after - before)).all())
