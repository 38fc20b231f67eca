"""Nodes that are slow with whatever partner: in what they send, in what they receive, in both."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from acceptance.nodes.culprits.constants import (
    EMPIRICAL_FROM,
    FALSE_RATE,
    MEDIAN_ERROR,
    QUARTILE_ERROR,
    SMALLEST,
)
from acceptance.nodes.culprits.fit import Bools, Classes, Fit, Floats, fit, spread


@dataclass(frozen=True)
class SlowNodes:
    """Who sends and who receives slowly, in a fit that has learnt nothing from them.

    `half`: those are half of the nodes or more, and the others are what good ones can do.
    """

    sends: Bools
    receives: Bools
    fit: Fit
    half: bool


def slow_nodes(logs: Floats, classes: Classes, quantity: str) -> SlowNodes:
    """Find the slow nodes of a matrix of logarithmic losses."""
    count = len(logs)
    nobody = np.zeros(count, dtype=bool)
    first = fit(logs, classes, nobody, nobody)
    start = _worse_at_best(logs, first, quantity)
    if 2 * start.sum() >= count:
        fitted = fit(logs, classes, start, start)
        if np.median(fitted.sends[start] + fitted.receives[start]) >= 2 * SMALLEST[quantity]:
            return SlowNodes(start, start, fitted, True)
        start = nobody  # their best partners differ, they do not: links are contended
    sends = receives = start if count < EMPIRICAL_FROM else nobody
    fitted = first if not start.any() else fit(logs, classes, sends, receives)
    for _ in range(2):
        sends, receives = _over_bounds(fitted, quantity)
        fitted = fit(logs, classes, sends, receives)
    sends, receives = _over_bounds(fitted, quantity)
    return SlowNodes(sends, receives, fitted, False)


def _worse_at_best(logs: Floats, fitted: Fit, quantity: str) -> Bools:
    """Tell which nodes are worse than the better quarter even with their best quarter of partners.

    With half of the nodes slow most pairs are, and medians of all name nobody.
    """
    both = np.sort(np.concatenate([logs, logs.T], axis=1), axis=1)
    number = np.isfinite(both).sum(axis=1)
    rows = np.arange(len(both))
    best = np.where(number > 0, both[rows, np.maximum(number - 1, 0) // 4], np.nan)
    known = np.sort(best[np.isfinite(best)])
    if not known.size:
        return np.zeros(len(both), dtype=bool)
    anchor = known[max((known.size + 3) // 4 - 1, int(known.size > 3))]
    error = QUARTILE_ERROR * fitted.noise / np.sqrt(np.maximum(number, 1))
    bound = np.maximum(SMALLEST[quantity], _bound(len(both), fitted.freedom) * error)
    worse: Bools = np.nan_to_num(best - anchor) > bound
    return worse


def _over_bounds(fitted: Fit, quantity: str) -> tuple[Bools, Bools]:
    """Tell which senders and which receivers are worse than noise and structure explain."""
    measured = np.isfinite(fitted.loss)
    shares = (fitted.sends, measured.sum(axis=1)), (fitted.receives, measured.sum(axis=0))
    slow = []
    for share, number in shares:
        error = MEDIAN_ERROR * fitted.noise / np.sqrt(np.maximum(number, 1))
        if len(share) >= EMPIRICAL_FROM:
            error = np.maximum(error, spread(share))
        slow.append(
            share > np.maximum(SMALLEST[quantity], _bound(len(share), fitted.freedom) * error)
        )
    return slow[0], slow[1]


def _bound(nodes: int, freedom: float) -> float:
    """Return the bound in standard errors for two shares of so many nodes in three quantities.

    A quantile of Student's t: the first term of its expansion around the normal one (Cornish and
    Fisher).
    """
    normal = -NormalDist().inv_cdf(FALSE_RATE / (6 * nodes))
    return normal + (normal**3 + normal) / (4 * freedom)
