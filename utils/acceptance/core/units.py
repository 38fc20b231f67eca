"""Units of metrics, ours and other programs', and which direction of each is the better one."""

import re
import sys
from typing import Literal

Direction = Literal["lower", "higher"]

#: Every unit that a metric or a reference may have -> the better direction; None where there is
#: none (a fact, a ratio whose best value is 1). Multiples are decimal: 1 MB/s is 10^6 bytes a
#: second.
UNITS: dict[str, Direction | None] = {
    "us": "lower",
    "s": "lower",
    "MB/s": "higher",
    "GB/s": "higher",
    "Mbit/s": "higher",
    "Mop/s": "higher",
    "Gflop/s": "higher",
    "GUP/s": "higher",
    "1/s": "higher",
    "1/us": "higher",
    "GHz": None,
    "B/kflop": "higher",
    "B/flop": "higher",
    "update/flop": "higher",
    "%": "higher",
    "1": None,
}

_UNIT_OF_TIME = (
    r"([num\u00b5\u03bc]?s|[num]?secs?|(nano|micro|milli)?seconds?|min|minutes?|h|hours?|days?)"
)
#: Of a rate over another one, both of which are metrics with a past of their own: a faster HPL
#: makes all that is counted per flop of it less, and nothing worse.
_OVER_ANOTHER = ("B/kflop", "B/flop", "update/flop")
#: Something per time (also simulated time, ns/day), or operations; more is better.
_RATE = re.compile(
    rf"(?!days?/).*/ ?{_UNIT_OF_TIME}|[kmgtpe]?flops?|[kmgt]?i?ops|[kmgt]?gups"
    r"|[kmgt]?i?(b|bit|byte)s?ps",
    re.I,
)
#: A time, or a time for each of something; less is better.
_TIME = re.compile(rf"{_UNIT_OF_TIME}(/.+)?", re.I)


def direction(unit: str) -> Direction | None:
    """Return the better direction of a metric that has a reference.

    Raises ValueError for a unit that is not in `UNITS`.
    """
    try:
        return UNITS[unit]
    except KeyError:
        raise ValueError(f"unknown unit {unit!r}; known: {', '.join(UNITS)}") from None


def better(unit: str, lower: float | None = None, upper: float | None = None) -> Direction | None:
    """Return the better direction of any metric by its unit, else by the thresholds that judge it.

    A reference that only a lower value fails (`lower` alone) is one of which more is better. None:
    nothing tells.
    """
    if unit in _OVER_ANOTHER:
        return None
    if known := UNITS.get(unit):
        return known
    if unit not in UNITS:
        if _RATE.fullmatch(unit.strip()):
            return "higher"
        if _TIME.fullmatch(unit.strip()):
            return "lower"
    if (lower is None) == (upper is None):
        return None
    return "higher" if upper is None else "lower"


def is_measured(value: object) -> bool:
    """Tell whether a value can be a measurement: a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value <= sys.float_info.max


#: Units of one quantity as multiples of its smallest, decimal.
_QUANTITIES: tuple[dict[str, float], ...] = (
    {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9},
    {"B/s": 8, "KB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "Mbit/s": 1e6, "Gbit/s": 1e9},
    {"1/s": 1, "1/ms": 1e3, "1/us": 1e6},
    {"Mflop/s": 1, "Gflop/s": 1e3, "Tflop/s": 1e6},
    {"MHz": 1, "GHz": 1e3},
)


def factor(unit: str, into: str) -> float | None:
    """Return what a value in `unit` is multiplied by to be one in `into`; None: not convertible."""
    if unit == into:
        return 1.0
    for multiples in _QUANTITIES:
        if unit in multiples and into in multiples:
            return multiples[unit] / multiples[into]
    return None
