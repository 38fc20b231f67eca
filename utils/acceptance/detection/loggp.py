"""LogGP of curves: times of messages over their sizes in, L+2o or g, G and switch points out.

A message of s bytes that goes one way takes L + 2o + (s - 1) G: L is the latency of the network, o
the time that a processor is busy with a message on each end, G the time of a byte of a long one
(Alexandrov, Ionescu, Schauser, Scheiman, LogGP, SPAA 1995; L, o and the gap g between short
messages are of Culler et al., LogP, PPoPP 1993). Where an MPI changes its protocol the line has
another intercept and slope, so that a curve is several lines (Hoefler, Lichei, Rehm, Low-Overhead
LogGP Parameter Assessment, IPDPS 2007). Half of a ping-pong gives L + 2o and G, and never L and o
apart; o is known where the call that posts a message was timed. The time for each of many messages
in a row, the inverse of a message rate or bandwidth, has g in place of L + 2o.

Sizes are in bytes, times in us, G is in us a byte. Residuals are relative: noise is in proportion.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acceptance.core.robust import MAD_TO_STD
from acceptance.detection.constants import (
    LINE_FEWEST,
    LINE_HUBER,
    LINE_NOISE,
    LINE_PRICE,
    LINE_PRICE_ALONE,
    LINE_SETTLED,
    LINE_STRAY,
    LINE_TURNS,
    LINES_FEWEST,
    LINES_MOST,
)

Floats = NDArray[np.float64]


class Lines(NamedTuple):
    """Lines, one for each row of times: `start` (us, at 0 bytes) and `slope` (us a byte).

    Each has its standard error, in the same unit. `cost` is what a line leaves unexplained.
    """

    start: Floats
    start_error: Floats
    slope: Floats
    slope_error: Floats
    cost: Floats


def lines(
    sizes: ArrayLike, times: ArrayLike, noise: float = 0.0, inside: ArrayLike = True
) -> Lines:
    """Fit a line to each row of `times`, of two sizes or more, where `inside` is true.

    `noise` is the relative one beyond which a time is stray; 0: it is known from the residuals of
    a row, all of which is inside then. Neither intercept nor slope is below 0.
    """
    size, time = np.asarray(sizes, float), np.atleast_2d(np.asarray(times, float))
    time, is_inside = np.broadcast_arrays(time, np.asarray(inside))
    weight = is_inside.astype(float)
    scale = np.full((len(time), 1), max(noise, LINE_NOISE))
    for _ in range(LINE_TURNS):
        start, slope = _solve(size, time, weight / time**2)
        off = np.abs(time - start - slope * size) / time
        if not noise:
            usual = MAD_TO_STD * np.median(off, axis=1, keepdims=True)
            scale = np.maximum(usual, LINE_NOISE)
        before, weight = weight, np.minimum(1, LINE_HUBER * scale / np.maximum(off, 1e-12))
        weight *= is_inside
        if np.abs(weight - before).max() < LINE_SETTLED:
            break
    cost = (np.minimum(off / scale, LINE_STRAY) ** 2 * is_inside).sum(axis=1)
    free = np.maximum(is_inside.sum(axis=1, keepdims=True) - 2, 1)
    scale = np.maximum(scale, np.sqrt((weight * off**2).sum(axis=1, keepdims=True) / free))
    whole, mean, around = _moments(size, weight / (time * scale) ** 2)
    errors = np.sqrt(1 / whole + mean**2 / around), np.sqrt(1 / around)
    return Lines(start[:, 0], errors[0][:, 0], slope[:, 0], errors[1][:, 0], cost)


def _moments(size: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return of each row the weights, the mean size, and the sum of squares around it."""
    whole = weight.sum(axis=1, keepdims=True)
    mean = (weight * size).sum(axis=1, keepdims=True) / whole
    return whole, mean, (weight * (size - mean) ** 2).sum(axis=1, keepdims=True)


def _solve(size: Floats, time: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return intercepts and slopes by weighted least squares, neither below 0."""
    whole, mean, around = _moments(size, weight)
    middle = (weight * time).sum(axis=1, keepdims=True) / whole
    slope = (weight * (size - mean) * (time - middle)).sum(axis=1, keepdims=True) / around
    slope = np.maximum(slope, 0)
    start = middle - slope * mean
    through = weight * size
    steepest = (through * time).sum(axis=1, keepdims=True) / (through * size).sum(
        axis=1, keepdims=True
    )
    return np.maximum(start, 0), np.where(start < 0, steepest, slope)


def switches(sizes: Sequence[int], times: Sequence[float], known: float = 0.0) -> tuple[int, ...]:
    """Return the sizes from which on another line holds: where the protocol switches.

    A curve has as many lines as the Bayesian information criterion asks for. `known` is the
    relative noise of the times where other curves show it; 0: the lines alone tell it. Raises
    ValueError for fewer than `LINES_FEWEST` sizes, or what is no measurement.
    """
    count = len(sizes)
    if count < LINES_FEWEST or count != len(times):
        raise ValueError(f"{count} sizes and {len(times)} times: {LINES_FEWEST} are required")
    if any(not 0 < time < math.inf for time in times) or [*sizes] != sorted({*sizes}):
        raise ValueError("times above 0, and sizes in their order, are required")
    ends = [(i, j) for i in range(count) for j in range(i + LINE_FEWEST, count + 1)]
    first, last = np.array(ends).T[:, :, None]
    inside = (first <= np.arange(count)) & (np.arange(count) < last)
    found, noise, least = [(0, count)], math.inf, max(known, LINE_NOISE)
    price = (LINE_PRICE if known else LINE_PRICE_ALONE) * math.log(count)
    fitted = lines(sizes, times)
    off = _off(sizes, times, fitted, [0], np.ones((1, count), bool))
    # From one line on: as many as the noise asks for which those before have left.
    for _ in range(LINE_TURNS):
        free = max(count - 3 * len(found), 1) / count
        spread = MAD_TO_STD * float(np.median(off)) / math.sqrt(free)
        if spread > noise * (1 - LINE_SETTLED) or noise == least:
            break
        noise = max(spread, least)
        fitted = lines(sizes, times, noise, inside)
        found = _best(dict(zip(ends, fitted.cost.tolist(), strict=True)), count, price)
        off = _off(sizes, times, fitted, [ends.index(each) for each in found], inside)
    return tuple(sizes[i] for i, _ in found[1:])


def _off(
    sizes: Sequence[int],
    times: Sequence[float],
    of: Lines,
    rows: list[int],
    inside: NDArray[np.bool_],
) -> Floats:
    """Return the relative residuals of all sizes, each by that of the lines in which it is."""
    off = np.abs(1 - (of.start[rows, None] + of.slope[rows, None] * np.array(sizes)) / times)
    residuals: Floats = off[inside[rows]]
    return residuals


def _best(costs: dict[tuple[int, int], float], count: int, price: float) -> list[tuple[int, int]]:
    """Return the ends of the lines with the least cost, each of which has its price."""
    # best[j]: cost and lines of the first j sizes, by the number of lines.
    best: dict[int, dict[int, tuple[float, list[tuple[int, int]]]]] = {0: {0: (0.0, [])}}
    for (i, j), cost in sorted(costs.items(), key=lambda item: item[0][1]):
        for number, (before, chosen) in best.get(i, {}).items():
            whole = before + cost + price
            known = best.setdefault(j, {})
            if number < LINES_MOST and (number + 1 not in known or whole < known[number + 1][0]):
                known[number + 1] = whole, [*chosen, (i, j)]
    return min(best[count].values(), key=lambda each: each[0])[1]
