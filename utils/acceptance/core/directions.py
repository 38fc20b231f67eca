"""Which direction of a metric is the better one, also of metrics that this project did not name."""

import re

from acceptance.core.units import UNITS, Direction

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


def better(unit: str, lower: float | None = None, upper: float | None = None) -> Direction | None:
    """Return the better direction of a metric by its unit, else by the thresholds that judge it.

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
