"""What the newest samples of many series say for a change, of every window at once."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import (
    LASTING,
    LEVEL_FEWEST,
    MAYBE_OUTLIERS,
    OWN_VARIANCE_FROM,
    REMEMBERED,
    SCORE_OFFSET,
    SCORE_SLOPE,
    STEADIEST,
    TAUGHT_LEVEL_FEWEST,
    WINDOW_PENALTIES,
    WINDOWS,
)
from acceptance.detection.noise import Noise

Floats = NDArray[np.float64]

#: Samples that are held of a series.
BUFFER = REMEMBERED + int(WINDOWS[-1])


class Levels(Protocol):
    """What is known of the present levels of many series; `detector.py` describes each array."""

    now: int
    smallest: float
    noise: Noise
    first: NDArray[np.intp]
    base: Floats
    based: Floats
    variance: Floats
    known: Floats
    residual: Floats
    totals: Floats
    sums: Floats
    squares: Floats


class Evidence:
    """What the last samples of each series say for a change at the beginning of each window."""

    def __init__(self, watch: Levels) -> None:
        now, windows, noise = watch.now, WINDOWS[:, None], watch.noise
        starts = np.maximum(now - WINDOWS, 0)
        first = np.maximum(watch.first, now - BUFFER)
        columns = np.arange(len(first))
        one, based = 1 - noise.phi, watch.based
        past = now - windows - first
        count = np.maximum(past + based, 1.0)
        sums = watch.sums[now] - watch.sums[starts]
        mean = watch.sums[starts] - watch.sums[first, columns]
        mean = (mean + based * one * (watch.base - noise.centre)) / count
        # Generalized least squares: the first residual has all of the change, the next a part.
        jump, later = watch.residual[starts], windows - 1
        size = jump - mean + one * (sums - jump - later * mean)
        weight = 1 + later * one**2
        # Squares about both levels; what earlier ones taught counts less as these grow.
        all_squares = watch.squares[now] - watch.squares[first, columns]
        own = all_squares - np.maximum(past, 0) * mean**2
        own += windows * mean**2 - 2 * mean * sums - size**2 / weight
        own, free = np.maximum(own, 0.0), np.maximum(past - 1.0, 1.0) + later
        known = np.maximum(watch.known - np.maximum(past, 0), 0.0)
        pooled = (known * watch.variance + own) / (known + free)
        self.variance = np.where(past >= OWN_VARIANCE_FROM, np.maximum(pooled, own / free), pooled)
        self.variance = np.maximum(self.variance, (STEADIEST * one) ** 2)
        self.t = size / np.sqrt(self.variance * (weight + (1 + later * one) ** 2 / count))
        # Correlated samples are worth fewer.
        self.dof = (known + free) * noise.dof * one
        self.before = mean / one
        self.skew = noise.skew / np.sqrt(windows)
        enough = np.where(watch.known > 0, TAUGHT_LEVEL_FEWEST, LEVEL_FEWEST)
        self.possible = (past >= 0) & (past + based >= np.maximum(enough, windows // 2))
        # A bounded change would look too small; the size is that of the samples themselves.
        after = (watch.totals[now] - watch.totals[starts]) / windows
        self.possible &= np.abs(after - noise.centre - self.before) >= watch.smallest
        self.deviation = np.sqrt(self.variance / (1 - noise.phi**2))

    def scores(self, sign: float) -> Floats:
        """Return the score of a change in the direction of `sign`, for each window and series."""
        t = np.maximum(sign * self.t, 0.0)
        t = np.sqrt(self.dof * np.log1p(t**2 / self.dof))
        skew = np.maximum(sign * self.skew, 1e-3)
        evidence = 4 / skew**2 * (skew * t / 2 - np.log1p(skew * t / 2)) - WINDOW_PENALTIES[:, None]
        return np.where(self.possible, np.maximum(SCORE_OFFSET + SCORE_SLOPE * evidence, 0.0), 0.0)


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
