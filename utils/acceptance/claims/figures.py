"""What a claim compares: the figure of two results, and whether it is as claimed.

Units and relations are those of `reference/README.md`, "A claim". Nothing here knows where results
come from: values go in, figures come out.
"""

import math
from dataclasses import dataclass
from typing import Literal

from acceptance import suites
from acceptance.core.units import UNITS, Direction

#: A paper's word for message sizes -> the smallest and the largest one (bytes), both inclusive.
#: Small ones end where koop2008 sees the effect of inlining end, "below 64 bytes" (Section 5.1).
#: Large ones are those that OMB repeats less often than the others, because each fills the pipe by
#: itself: above LARGE_MESSAGE_SIZE, 8192 (osu_util.h); MPIs change to rendezvous about there, too.
SIZES: dict[str, tuple[int, float]] = {
    "small": (0, 63),
    "small-medium": (0, 8192),
    "medium": (64, 8192),
    "medium-large": (64, math.inf),
    "large": (8193, math.inf),
    "all": (0, math.inf),
}

#: Relations that bound the figure: they are said of every pair of results.
BOUNDS = (">=", "<=")

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
    HPCC's tests per flop of HPL are the better the more there is.
    """
    if unit == "1":
        return suites.find(benchmark).better
    return UNITS.get(unit)


def gain(left: float, right: float, way: Direction) -> float:
    """Return by how many per cent of right left is better; negative: worse."""
    return 100 * (left - right if way == "higher" else right - left) / right


@dataclass(frozen=True)
class Figure:
    """What a pair of results gives, in the unit of the claim: `%`, `x` or that of the results."""

    value: float
    unit: str


def figure(
    relation: str, unit: str, left: float, right: float, measured: str, way: Better | None
) -> Figure:
    """Compute what a claim compares, of two values above zero in the unit `measured`.

    `unit` is that of the claim. An ordering (`better`) is given as the gain in per cent, or as how
    much nearer to 1 the left one is; `similar` as how many per cent the larger value is above the
    smaller one. Raises Incomparable when the claim needs a direction or a unit that these results
    do not have.
    """
    if relation == "similar":
        return Figure(100 * (max(left, right) / min(left, right) - 1), "%")
    if unit == "x":
        return Figure(left / right, "x")
    if relation == "better" or unit == "%":
        if way == "nearer to 1" and relation == "better":
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
        """Return the leeway of a claimed value, in its unit."""
        return self.within if self.points else self.within * abs(value)


#: No leeway at all: a bound that a site wrote into a contract means what it says.
EXACT = Leeway(0.0, points=True)


def margin(relation: str, ours: float, value: tuple[float, ...], leeway: Leeway) -> float:
    """Return by how much a figure is as claimed, in the unit of the figure; negative: it is not."""
    if relation == "better":
        return ours
    if relation == "similar":
        return leeway.within - ours
    low, high = value[0] - leeway.of(value[0]), value[-1] + leeway.of(value[-1])
    if relation in BOUNDS:
        return ours - low if relation == ">=" else high - ours
    return min(ours - low, high - ours)


def holds(relation: str, ours: float, value: tuple[float, ...], leeway: Leeway) -> bool:
    """Tell whether a figure is as claimed; `better` requires a difference, however small."""
    by = margin(relation, ours, value, leeway)
    if relation == "better":
        return by > 0
    return by >= -_ROUNDING * max(1.0, abs(ours))


def deciding(relation: str, pairs: int) -> int:
    """Return which of so many pairs decides, counted from the one with the smallest margin.

    A bound is said of all: the worst pair decides. The other relations are said of what is usual:
    they hold when more than half of the pairs are as claimed, which is so exactly when this pair,
    the one in the middle (of an even number the worse one), is.
    """
    return 0 if relation in BOUNDS else (pairs - 1) // 2
