"""Nights on which nearly everything on a partition was slower: the machine, not the metrics.

One slow sample says nothing of one metric. When most cases are slow on the same night that is
evidence at once, and long before each series has its own. Formulas: each sample is compared with
the median of the `NIGHT_WINDOW` samples before it, in units of their spread (`core/robust.py`); of
a case's metrics, which one run measured, the median counts; of the cases, the level that
`NIGHT_SHARE` of them reach or exceed. A night stands out when that level does, beside the nights
before it, which show how far all cases usually move together, and how heavy the tail of it is.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from acceptance.core.robust import MAD_TO_STD
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
    NIGHT_WIDEST,
    NIGHT_WINDOW,
    NIGHT_WINDOW_FEWEST,
)

Floats = NDArray[np.float64]


def deviations(values: Floats, before: Floats, counts: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Compare samples of m series with those before them: by how many spreads, and by how much.

    All are logarithms, up is worse: `values` (n, m), `before` the `NIGHT_WINDOW` newest ones before
    these, of which each series has its `counts`. NaN where too few are before a sample.
    """
    rows = np.arange(len(values))[:, None]
    known = np.minimum(counts + rows, NIGHT_WINDOW)
    windows = sliding_window_view(np.vstack([before, values])[:-1], NIGHT_WINDOW, axis=0)
    there = np.arange(NIGHT_WINDOW) >= NIGHT_WINDOW - known[:, :, None]
    usual = _median(np.where(there, windows, np.inf), known)
    with np.errstate(invalid="ignore"):
        off = np.where(there, np.abs(windows - usual[:, :, None]), np.inf)
        spread = MAD_TO_STD * _median(off, known)
        relative = np.where(known < NIGHT_WINDOW_FEWEST, np.nan, values - usual)
    return relative / np.fmax(spread, NIGHT_STEADIEST), relative


def _median(values: Floats, counts: NDArray[np.intp]) -> Floats:
    """Return the median of the smallest `counts` values along the last axis."""
    ordered, last = np.sort(values, axis=-1), np.maximum(counts - 1, 0)[:, :, None]
    low, high = (np.take_along_axis(ordered, at, axis=-1) for at in (last // 2, (last + 1) // 2))
    return np.asarray((low + high)[:, :, 0] / 2, np.float64)


def levels(nights: NDArray[np.int64], cases: NDArray[np.int64], off: Floats) -> Floats:
    """Return the nights on which enough cases were measured, and how far most of these moved.

    The arrays have an entry for each sample: the number of its night, its case, and its deviations
    (n, 2). The result has a row for each night, in their order: its number, by how many spreads,
    and by how much.
    """
    valid = np.isfinite(off[:, 0])
    nights, off = nights[valid], off[valid]
    if not len(nights):
        return np.empty((0, 3))
    cases = np.unique(cases[valid], return_inverse=True)[1]
    width = int(cases.max()) + 1
    both, _, of_cases = _quantiles(nights * width + cases, off, 0.5)
    names, count, moved = _quantiles(both // width, of_cases, 1 - NIGHT_SHARE)
    return np.column_stack([names, moved])[count >= NIGHT_CASES]


def _quantiles(
    groups: NDArray[np.int64], values: Floats, fraction: float
) -> tuple[NDArray[np.int64], NDArray[np.intp], Floats]:
    """Return the names of groups of values (n, m), in their order, how many values each has, and
    the (lower) quantiles of these (groups, m).
    """
    order = np.argsort(groups, kind="stable")
    names, first, count = np.unique(groups[order], return_index=True, return_counts=True)
    at = np.floor(fraction * (count - 1)).astype(np.int64)
    group, most = np.repeat(np.arange(len(count)), count), int(count.max())
    found = np.empty((len(count), values.shape[1]))
    for column, ordered in enumerate(values[order].T):
        if most * len(count) > NIGHT_WIDEST * len(values):  # few groups are far larger than others
            found[:, column] = ordered[np.lexsort((ordered, group))][first + at]
        else:
            table = np.full((len(count), most), np.inf)
            table[group, np.arange(len(values)) - first[group]] = ordered
            table.sort(axis=1)
            found[:, column] = table[np.arange(len(table)), at]
    return names, count, found


def outstanding(levels: Floats) -> dict[int, float]:
    """Return the nights on which a partition was slow, and how sure that is (0..1) of each.

    Only the nights before one decide on it.
    """
    found: dict[int, float] = {}
    calm: list[float] = []
    # Each spell of nights that stood out: the number of its last one, and the worst change.
    spells: list[tuple[int, float]] = []
    for number, (night, level, change) in enumerate(levels.tolist()):
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
        found[int(night)] = round(min(1 - chance, 0.9999), 4)
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
