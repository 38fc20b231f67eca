"""LogGP of a curve: times of messages over their sizes in, L+2o, o, G and switch points out.

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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acceptance.core.robust import MAD_TO_STD

Floats = NDArray[np.float64]
#: Sizes of a line, and of a curve that is fitted, at least. [chosen] two parameters and one that
#: shows whether they fit.
FEWEST_OF_LINE, FEWEST = 3, 6
#: Lines of a curve at most: eager, eager in pieces, rendezvous, and one more. [chosen]
MOST_LINES = 4
#: Relative noise below which nothing is looked for: clocks and the digits of an output. [chosen]
LEAST_NOISE = 0.005
#: Residuals count in full up to so many spreads, beyond that in proportion (Huber 1964: 1.345 keeps
#: 95 % of the efficiency with normal noise).
_HUBER = 1.345
#: A time costs a line no more than one that is so many spreads off: a stray one is no line of its
#: own, and three of them may be. [chosen]
_STRAY = 3.0
_TURNS, _SETTLED = 8, 0.01


@dataclass(frozen=True)
class Estimate:
    """A value and its standard error, in the same unit; infinite where nothing tells it."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval, from 0 on."""
        return max(self.value - 1.96 * self.error, 0.0), self.value + 1.96 * self.error


@dataclass(frozen=True)
class Line:
    """A line through times: `start` (us, at 0 bytes) and `slope` (us a byte), of these sizes."""

    start: Estimate
    slope: Estimate
    first: int
    last: int
    cost: float


@dataclass(frozen=True)
class Fit:
    """The lines of a curve by size, and the relative noise around them."""

    lines: tuple[Line, ...]
    noise: float

    @property
    def latency(self) -> Estimate:
        """Return L + 2o, or g of many messages in a row, in us."""
        return self.lines[0].start

    @property
    def gap(self) -> Estimate:
        """Return G of the largest messages, in us a byte."""
        return self.lines[-1].slope

    @property
    def switches(self) -> tuple[int, ...]:
        """Return the sizes from which on another line holds: where the protocol switches."""
        return tuple(line.first for line in self.lines[1:])


def line(sizes: Sequence[int], times: Sequence[float], noise: float = 0.0) -> Line:
    """Fit a line to two sizes or more; `noise` is the relative one beyond which a time is stray.

    0: it is known from the residuals. Neither intercept nor slope is below 0.
    """
    size, time = np.array(sizes, float), np.array(times, float)
    weight = np.ones_like(time)
    scale = max(noise, LEAST_NOISE)
    start = slope = 0.0
    for _ in range(_TURNS):
        start, slope = _solve(size, time, weight / time**2)
        off = (time - start - slope * size) / time
        if not noise:
            scale = max(MAD_TO_STD * float(np.median(np.abs(off))), LEAST_NOISE)
        before, weight = weight, np.minimum(1, _HUBER * scale / np.maximum(np.abs(off), 1e-12))
        if np.abs(weight - before).max() < _SETTLED:
            break
    spent = np.abs(off) / scale
    cost = float(np.minimum(spent**2, _STRAY**2).sum())
    free = max(len(size) - 2, 1)
    scale = max(scale, math.sqrt(float((weight * off**2).sum()) / free))
    errors = _errors(size, weight / (time * scale) ** 2)
    return Line(Estimate(start, errors[0]), Estimate(slope, errors[1]), sizes[0], sizes[-1], cost)


def _solve(size: Floats, time: Floats, weight: Floats) -> tuple[float, float]:
    """Return intercept and slope by weighted least squares, neither below 0."""
    whole = float(weight.sum())
    mean, middle = float(weight @ size) / whole, float(weight @ time) / whole
    around = float(weight @ (size - mean) ** 2)
    slope = float(weight @ ((size - mean) * (time - middle))) / around if around else 0.0
    if slope <= 0:
        return middle, 0.0
    if middle < slope * mean:
        return 0.0, float(weight @ (size * time)) / float(weight @ size**2)
    return middle - slope * mean, slope


def _errors(size: Floats, weight: Floats) -> tuple[float, float]:
    whole, first, second = float(weight.sum()), float(weight @ size), float(weight @ size**2)
    determinant = whole * second - first**2
    if determinant <= 0:
        return math.inf, math.inf
    return math.sqrt(second / determinant), math.sqrt(whole / determinant)


def fit(sizes: Sequence[int], times: Sequence[float]) -> Fit:
    """Fit the lines of a curve, as many as the Bayesian information criterion asks for.

    Raises ValueError for fewer than `FEWEST` sizes, or what is no measurement.
    """
    if len(sizes) < FEWEST or len(sizes) != len(times):
        raise ValueError(f"{len(sizes)} sizes and {len(times)} times: {FEWEST} are required")
    if any(not 0 < time < math.inf for time in times) or [*sizes] != sorted({*sizes}):
        raise ValueError("times above 0, and sizes in their order, are required")
    lines, noise = [line(sizes, times)], math.inf
    # From one line on: as many as the noise asks for which those before have left.
    for _ in range(_TURNS):
        off = np.concatenate([_off(each, sizes, times) for each in lines])
        free = max(len(sizes) - 3 * len(lines), 1) / len(sizes)
        spread = MAD_TO_STD * float(np.median(np.abs(off))) / math.sqrt(free)
        if spread > noise * (1 - _SETTLED) or noise == LEAST_NOISE:
            break
        noise = max(spread, LEAST_NOISE)
        lines = _best(sizes, times, noise)
    return Fit(tuple(lines), noise)


def _off(of: Line, sizes: Sequence[int], times: Sequence[float]) -> Floats:
    inside = [(s, t) for s, t in zip(sizes, times, strict=True) if of.first <= s <= of.last]
    size, time = np.array(inside, float).T
    off: Floats = (time - of.start.value - of.slope.value * size) / time
    return off


def _best(sizes: Sequence[int], times: Sequence[float], noise: float) -> list[Line]:
    """Return the lines with the least cost, each more of which has to be worth it."""
    count = len(sizes)
    lines = {
        (i, j): line(sizes[i:j], times[i:j], noise)
        for i in range(count)
        for j in range(i + FEWEST_OF_LINE, count + 1)
    }
    # best[j]: cost and lines of the first j sizes; a line takes two parameters and where it begins.
    price = 3 * math.log(count)
    best: dict[int, list[tuple[float, list[Line]]]] = {0: [(0.0, [])]}
    for j in range(FEWEST_OF_LINE, count + 1):
        best[j] = [
            (cost + lines[i, j].cost + price, [*before, lines[i, j]])
            for i, chosen in best.items()
            for cost, before in chosen
            if (i, j) in lines and len(before) < MOST_LINES
        ]
        by_number: dict[int, tuple[float, list[Line]]] = {}
        for each in sorted(best[j], key=lambda one: one[0]):
            by_number.setdefault(len(each[1]), each)
        best[j] = [*by_number.values()]
    return min(best[count], key=lambda one: one[0])[1]
