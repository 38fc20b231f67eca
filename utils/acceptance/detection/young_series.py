"""Gross changes of young series: a link at half its rate needs no weeks of history to be seen.

Of a young series the noise is not known, and so nothing about it is assumed: some samples in a row
are a gross change when a gap lies between them and all samples of the level before them, many times
as wide as the range of either. That the last k of n + k samples are the largest comes by chance in
one of C(n + k, k) cases, whatever the distribution; that the range is as small, the less often the
wider the gap. The score is the logarithm of both, for the worst family of noise of the bench,
whatever its size. Only two states far apart, the worse one rare, are like a change: where 5 or 20 %
of the nights have half the rate, 3 or 9 % of the series are reported so, once.
"""

import math

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import (
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
Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]

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
