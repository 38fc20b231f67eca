"""Units of metrics, and which direction of each is the better one."""

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


def direction(unit: str) -> Direction | None:
    """Return the better direction of a metric with this unit.

    Raises ValueError for a unit that is not in `UNITS`.
    """
    try:
        return UNITS[unit]
    except KeyError:
        raise ValueError(f"unknown unit {unit!r}; known: {', '.join(UNITS)}") from None


def is_measured(value: object) -> bool:
    """Tell whether a value can be a measurement: a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value <= sys.float_info.max
