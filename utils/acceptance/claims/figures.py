"""What a claim compares: the figure of two results, and whether it is as claimed.

Units and relations are those of `reference/README.md`, "A claim". Nothing here knows where results
come from: values go in, figures come out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from acceptance import suites
from acceptance.core.units import UNITS, Direction
from acceptance.references import RELATIONS

#: Relations that a figure fulfils only by more than nothing.
STRICT = ("better", "best", "slightly-better", "differs", "peak", "step")

#: Rounding of floating point, as a fraction: 100 * (1.2 - 1) is a little less than 20.
_ROUNDING = 1e-9

Better = Direction | Literal["nearer to 1"]


class Incomparable(ValueError):
    """Two results of which no figure can be made; `kind` is the reason in short."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def better(benchmark: str, unit: str) -> Better | None:
    """Return which of two results is the better one; None where neither direction is.

    Plain numbers have no direction of their own: a communication balance ratio is best at 1, and
    HPCC's tests per flop of HPL are the better the more there is. A quotient, `x`, says how many
    times as good one result is as another.
    """
    if unit == "1":
        return suites.find(benchmark).better
    return "higher" if unit == "x" else UNITS.get(unit)


def gain(left: float, right: float, way: Direction) -> float:
    """Return by how many per cent of right left is better; negative: worse."""
    return 100 * (left - right if way == "higher" else right - left) / right


def times_as_good(left: float, right: float, measured: str, way: Better | None) -> float:
    """Return how many times as good left is as right, both above zero and in the unit `measured`.

    Raises Incomparable where neither is the better one.
    """
    if way == "higher":
        return left / right
    if way == "lower":
        return right / left
    raise Incomparable("no direction", f"no result in {measured!r} is better than another")


@dataclass(frozen=True)
class Figure:
    """What a pair of results gives, in the unit of the claim: `%`, `x`, ... or of the results."""

    value: float
    unit: str


def figure(
    relation: str, unit: str, left: float, right: float, measured: str, way: Better | None
) -> Figure:
    """Compute what a claim compares, of two values above zero in the unit `measured`.

    `unit` is that of the claim. An ordering is given as the gain in per cent, or as how much nearer
    to 1 the left one is; `slightly-better` and `much-better` as how many per cent the performance
    of left lies above that of right, a time being the reciprocal of a performance; `similar` and
    `differs` as how many per cent the larger value is above the smaller one, of two quotients as
    their quotient. Raises Incomparable when the claim needs a direction or a unit that these
    results do not have.
    """
    if relation in ("similar", "differs"):
        apart = max(left, right) / min(left, right)
        return Figure(apart, "x") if measured == "x" else Figure(100 * (apart - 1), "%")
    if unit == "x":
        return Figure(left / right, "x")
    if unit == "decade":
        return Figure(math.log10(left / right), "decade")
    if relation in ("slightly-better", "much-better"):
        return Figure(100 * (times_as_good(left, right, measured, way) - 1), "%")
    if relation in ("better", "best") or unit == "%":
        if way == "nearer to 1" and not unit:
            return Figure(abs(right - 1) - abs(left - 1), "1")
        if way is None or way == "nearer to 1":
            raise Incomparable("no direction", f"no result in {measured!r} is better than another")
        return Figure(gain(left, right, way), "%")
    if unit != measured:
        raise Incomparable("different units", f"the claim is in {unit}, the results in {measured}")
    return Figure(left - right, unit)


@dataclass(frozen=True)
class Leeway:
    """How far a figure may lie from a claim: percentage points, else a fraction of its value."""

    within: float
    points: bool

    def of(self, value: float) -> float:
        """Return the leeway of a claimed value, in its unit: of a gain at most half of it."""
        return min(self.within, abs(value) / 2) if self.points else self.within * abs(value)


#: No leeway at all: a bound that a site wrote into a contract means what it says.
EXACT = Leeway(0.0, points=True)


def margin(relation: str, figure: Figure, value: tuple[float, ...], leeway: Leeway) -> float:
    """Return by how much a figure is as claimed, in the unit of the figure; negative: it is not."""
    ours, within = figure.value, leeway.within
    if relation in ("better", "best"):
        return ours
    if relation == "slightly-better":
        return min(ours, within - ours)
    if relation == "much-better":
        return ours - within
    if relation in ("similar", "differs"):
        most = 1 + within if figure.unit == "x" else within
        return most - ours if relation == "similar" else ours - most
    low, high = value[0] - leeway.of(value[0]), value[-1] + leeway.of(value[-1])
    if relation == ">=":
        return ours - low
    if relation == "<=":
        return high - ours
    if relation == "up-to":
        half = (value[0] + (figure.unit == "x")) / 2
        return min(ours - half, high - ours) if value[0] > 0 else min(half - ours, ours - low)
    return min(ours - low, high - ours)


def holds(relation: str, by: float, ours: float) -> bool:
    """Tell whether a figure with this margin is as claimed."""
    rounding = _ROUNDING * max(1.0, abs(ours))
    return by > rounding if relation in STRICT else by >= -rounding


def deciding(relation: str, value: tuple[float, ...], judged: Sequence[tuple[float, float]]) -> int:
    """Return which of several (margin, figure) decides.

    A bound, and what is best, are said of all: the worst one decides. "Up to" is said of the
    largest. The other kinds are said of what is usual: they hold when more than half are as
    claimed, which is so exactly when the one in the middle (of an even number the worse one) is.
    """
    numbers = range(len(judged))
    if RELATIONS[relation].of == "largest":
        return max(numbers, key=lambda number: judged[number][1] * math.copysign(1, value[0]))
    ordered = sorted(numbers, key=lambda number: judged[number][0])
    return ordered[0 if RELATIONS[relation].of == "all" else (len(ordered) - 1) // 2]
