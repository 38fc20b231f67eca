"""Nights on which nearly everything on a partition was slower: the machine, not the metrics.

One slow sample says nothing of one metric. When most cases are slow on the same night that is
evidence at once, and long before each series has its own. Formulas: each sample is compared with
the median of the `NIGHT_WINDOW` samples before it, in units of their spread (`core/robust.py`); of
a case's metrics, which one run measured, the median counts; of the cases, the level that
`NIGHT_SHARE` of them reach or exceed. A night stands out when that level does, beside the nights
before it, which show how far all cases usually move together, and how heavy the tail of it is.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from acceptance.core.robust import middle_and_spread
from acceptance.detection.constants import (
    NIGHT_CASES,
    NIGHT_LEAST,
    NIGHT_PAST,
    NIGHT_PAST_FEWEST,
    NIGHT_RARE,
    NIGHT_SHARE,
    NIGHT_SPELLS,
    NIGHT_SPREADS,
    NIGHT_STEADIEST,
    NIGHT_TAIL,
    NIGHT_WINDOW,
    NIGHT_WINDOW_FEWEST,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Deviations:
    """How each sample lies to those before it: shape (n, m), NaN where too few are before it.

    `spreads` is positive where the sample is worse; `relative` is the natural logarithm of how
    much; `usual` the median that it was compared with.
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
    """Compare every sample of m series, shape (n, m), with the samples before it."""
    samples = np.log(samples)
    usual = np.full_like(samples, np.nan)
    spread = np.full_like(samples, np.nan)
    for number in range(NIGHT_WINDOW_FEWEST, min(NIGHT_WINDOW, len(samples))):
        usual[number], spread[number] = middle_and_spread(samples[:number].T)
    if len(samples) > NIGHT_WINDOW:
        before = sliding_window_view(samples[:-1], NIGHT_WINDOW, axis=0)
        usual[NIGHT_WINDOW:], spread[NIGHT_WINDOW:] = middle_and_spread(before)
    relative = np.where(higher_is_better, usual - samples, samples - usual)
    return Deviations(relative / np.maximum(spread, NIGHT_STEADIEST), relative, np.exp(usual))


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
    count, out = _quantile(by_case, _quantile(both, spreads, 0.5)[1], 1 - NIGHT_SHARE)
    _, moved = _quantile(by_case, _quantile(both, relative, 0.5)[1], 1 - NIGHT_SHARE)
    enough = count >= NIGHT_CASES
    return list(_decide(np.unique(by_case)[enough], out[enough], moved[enough]))


def _quantile(
    groups: NDArray[np.int64], values: Floats, fraction: float
) -> tuple[NDArray[np.int64], Floats]:
    """Return size and (lower) quantile of the values of each group, the groups in their order."""
    order = np.lexsort((values, groups))
    _, first, count = np.unique(groups[order], return_index=True, return_counts=True)
    at = first + np.floor(fraction * (count - 1)).astype(np.int64)
    return count, values[order][at]


def _decide(nights: NDArray[np.int64], out: Floats, moved: Floats) -> list[Night]:
    found: list[Night] = []
    calm: list[float] = []
    # Each spell of nights that stood out: the number of its last one, and the worst change.
    spells: list[tuple[int, float]] = []
    for number, (night, level, change) in enumerate(
        zip(nights.tolist(), out.tolist(), moved.tolist(), strict=True)
    ):
        goes_on = bool(spells) and spells[-1][0] == number - 1
        before = spells[:-1] if goes_on else spells
        past = calm[-NIGHT_PAST:] + [
            worst for last, worst in before[:-NIGHT_SPELLS] if last >= number - NIGHT_PAST
        ]
        chance, risk = 1.0, 0.0
        if len(past) >= NIGHT_PAST_FEWEST and level > NIGHT_SPREADS and change > NIGHT_LEAST:
            chance = unusual(change, np.array(past))
            # The first ones, of whose tail little is known, risk no more than 0.2 together.
            risk = 1 / NIGHT_RARE + 1 / len(past) ** 2
        if chance > risk:
            calm.append(change)
            continue
        found.append(Night(night, change, round(min(1 - chance, 0.9999), 4)))
        if goes_on:
            spells[-1] = (number, max(change, spells[-1][1]))
        else:
            spells.append((number, change))
    return found


def unusual(value: float, past: Floats) -> float:
    """Return how likely a value as large is, by the tail of the values of the past.

    The largest sqrt(n) of them tell the mean excess over the next one; the tail beyond is that of
    a generalized Pareto distribution of shape `NIGHT_TAIL`, and heavier by what so few tell of its
    scale (the predictive distribution of an exponential one is Pareto's, of shape 1 / their
    number). Source: Pickands, Ann. Stat. 3 (1975), 119-131.
    """
    ordered = np.sort(past)
    top = math.ceil(math.sqrt(len(ordered)))
    start = float(ordered[-top - 1])
    excess = max(float(ordered[-top:].mean()) - start, NIGHT_STEADIEST)
    shape = NIGHT_TAIL + 1 / top
    far = max(value - start, 0.0) / (excess * (1 - NIGHT_TAIL))
    return float(top / len(ordered) * (1 + shape * far) ** (-1 / shape))
