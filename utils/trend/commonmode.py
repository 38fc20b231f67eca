"""Nights on which nearly everything on a partition was slower: the machine, not the metrics.

One slow sample says nothing of one metric. When most cases are slow on the same night that is
evidence at once, and long before each series has its own. Formulas: each sample is held against the
median of the `WINDOW` samples before it, in units of their spread (1.4826 times the median absolute
deviation, which is the standard deviation of normal noise); of a case's metrics, which one run
measured, the median counts; of the cases, the level that `SHARE` of them reach or exceed. A night
stands out when that level does, against the nights before it, which know how far all cases are
wont to move together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

#: Samples before a sample that it is held against, and how many of them it takes at least.
WINDOW, FEWEST = 15, 6
#: The share of cases that must have moved, and how many cases make a machine.
SHARE, CASES = 0.6, 6
#: Spreads that this share must be worse by, and relative change that it must have.
OUT, LEAST = 2.0, 0.01
#: Robust spreads by which a night must stand out from the `PAST` nights before it, and how many
#: times the worst of these it must be: machines that are busy now and then have skewed noise.
UNUSUAL, BEYOND, PAST, FEWEST_NIGHTS = 6.0, 1.5, 30, 6
#: The smallest relative spread of a sample, and of the level of nights, that is believed.
_STEADIEST, _CALMEST = 0.002, 0.15

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Deviations:
    """How each sample lies to those before it: shape (n, m), NaN where too few are before it.

    `spreads` is positive where the sample is worse; `relative` is the natural logarithm of how
    much; `usual` the median that it was held against.
    """

    spreads: Floats
    relative: Floats
    usual: Floats


@dataclass(frozen=True)
class Night:
    """A night on which the machine was slow; `confidence` in 0..1."""

    night: int
    relative: float
    confidence: float


def deviations(samples: Floats, higher_is_better: NDArray[np.bool_]) -> Deviations:
    """Hold every sample of m series, shape (n, m), against the samples before it."""
    samples = np.log(samples)
    usual = np.full_like(samples, np.nan)
    spread = np.full_like(samples, np.nan)
    for number in range(FEWEST, min(WINDOW, len(samples))):
        usual[number], spread[number] = robust(samples[:number].T)
    if len(samples) > WINDOW:
        before = sliding_window_view(samples[:-1], WINDOW, axis=0)
        usual[WINDOW:], spread[WINDOW:] = robust(before)
    relative = np.where(higher_is_better, usual - samples, samples - usual)
    return Deviations(relative / np.maximum(spread, _STEADIEST), relative, np.exp(usual))


def robust(samples: Floats) -> tuple[Floats, Floats]:
    """Return median and spread (of normal noise its standard deviation) over the last axis."""
    middle = np.median(samples, axis=-1)
    return middle, 1.4826 * np.median(np.abs(samples - middle[..., None]), axis=-1)


def outstanding(
    nights: NDArray[np.int64], cases: NDArray[np.int64], spreads: Floats, relative: Floats
) -> list[Night]:
    """Return the nights on which a partition was slow, in the order of `nights`.

    The four arrays have an entry for each sample: the number of its night, that of its case, and
    its deviations. Only the nights before a night decide on it.
    """
    valid = np.isfinite(spreads)
    nights, cases = nights[valid], cases[valid]
    spreads, relative = spreads[valid], relative[valid]
    if not len(nights):
        return []
    both = nights * (int(cases.max()) + 1) + cases
    _, first = np.unique(both, return_index=True)
    by_case = nights[first]
    count, out = _quantile(by_case, _quantile(both, spreads, 0.5)[1], 1 - SHARE)
    _, moved = _quantile(by_case, _quantile(both, relative, 0.5)[1], 1 - SHARE)
    enough = count >= CASES
    return list(_decide(np.unique(by_case)[enough], out[enough], moved[enough]))


def _quantile(
    groups: NDArray[np.int64], values: Floats, fraction: float
) -> tuple[NDArray[np.int64], Floats]:
    """Return size and (lower) quantile of the values of each group, the groups in their order."""
    order = np.lexsort((values, groups))
    _, first, count = np.unique(groups[order], return_index=True, return_counts=True)
    at = first + np.floor(fraction * (count - 1)).astype(np.int64)
    return count, values[order][at]


def _decide(nights: NDArray[np.int64], out: Floats, moved: Floats) -> Sequence[Night]:
    found: list[Night] = []
    calm: list[float] = []
    for night, level, change in zip(nights.tolist(), out.tolist(), moved.tolist(), strict=True):
        slow = False
        if len(calm) >= FEWEST_NIGHTS:
            past = np.array(calm[-PAST:])
            middle, spread = robust(past)
            far = (level - float(middle)) / max(float(spread), _CALMEST)
            slow = far > UNUSUAL and level > max(OUT, BEYOND * max(past)) and change > LEAST
            if slow:
                found.append(Night(night, change, min(1 - math.erfc(far / math.sqrt(2)), 0.9999)))
        if not slow:
            calm.append(level)
    return found
