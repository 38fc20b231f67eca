"""The words that everything shares: names and units of metrics, simulated systems, statuses.

A metric is a stem, keys of this metric alone, and the message size in bytes: `bandwidth_1024`; in a
case that has results under several values of a key also `bandwidth_peak.distance.4`, or
`bandwidth.pattern.nearest_1024`.

The partitions of a simulated system state `simulated` in their extras, which names the real one,
and each result has it in its provenance, with the simulator. The name of the system begins with
`PREFIX`: neither is there without the other (`mismatch`), so that whoever has no more of a result
than the name of its system knows it, too.
"""

import re
import sys
from collections.abc import Mapping
from enum import IntEnum
from typing import Literal

_SIZED = re.compile(r"(?P<stem>[A-Za-z].*)_(?P<size>\d+)\Z")
#: The keys of `reference/README.md` that a name can have.
_KEY = re.compile(r"\.(?P<key>distance|pairs|pattern|step)\.(?P<value>[^.]+)\Z")


def sized(stem: str, message_size: int) -> str:
    """Name the metric of one message size (bytes): `bandwidth`, 1024 -> `bandwidth_1024`."""
    return f"{stem}_{message_size}"


def keyed(stem: str, keys: Mapping[str, object]) -> str:
    """Return a stem with keys: `bandwidth`, {"distance": 4} -> `bandwidth.distance.4`."""
    return stem + "".join(f".{key}.{value}" for key, value in keys.items())


def split_metric(name: str) -> tuple[str, int | None]:
    """Split a name into stem and message size (bytes): `bandwidth_1024` -> `bandwidth`, 1024.

    A name without a size has None there.
    """
    found = _SIZED.match(name)
    return (found["stem"], int(found["size"])) if found else (name, None)


def read_metric(name: str) -> tuple[str, dict[str, str]]:
    """Return the bare stem of a name, and its parameters: keys and `message_size`."""
    stem, size = split_metric(name)
    parameters = {}
    while found := _KEY.search(stem):
        parameters[found["key"]] = found["value"]
        stem = stem[: found.start()]
    return stem, parameters | ({} if size is None else {"message_size": str(size)})


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


#: `fabric/rates.py` says what is known of each one; those that are not there have no formula.
TECHNOLOGIES = (
    *("infiniband", "ethernet", "omni-path", "slingshot", "roce"),
    *("myrinet", "numalink", "cray", "ixs"),
)

_ETHERNET = ("1", "2.5", "5", "10", "25", "40", "50", "100", "200", "400", "800")
#: Technology -> its rates, the slowest one first: words of InfiniBand, Gb/s of a port of others.
#: Slingshot's 100 is that of adapters for it that speak plain Ethernet. Of those that are not there
#: any word may be a rate.
RATES: dict[str, tuple[str, ...]] = {
    "infiniband": (*("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR100", "HDR", "NDR", "XDR"),),
    "ethernet": _ETHERNET,
    "roce": _ETHERNET,
    "omni-path": ("100", "400"),
    "slingshot": ("100", "200", "400"),
}


#: The key in the extras of a partition, in the provenance of a result, and the label of a series.
SIMULATED = "simulated"
#: How the name of a simulated system begins, and of no other.
PREFIX = "simulated-"
#: What people are told wherever results of a simulated system are shown.
NO_EVIDENCE = "a model of {}: no machine was measured, and nothing here is said of one"


def is_simulated(system: str) -> bool:
    """Tell whether a system is simulated, by its name."""
    return system.startswith(PREFIX)


def model_of(system: str) -> str:
    """Return the name of the system that a simulated one is a model of."""
    return system.removeprefix(PREFIX)


def mismatch(system: str, stated: object) -> str:
    """Say why a system cannot have this name, and `stated` for `simulated`; empty if it can."""
    if stated and not is_simulated(system):
        return f"states `{SIMULATED}`, so that its system has to be called {PREFIX}..."
    if is_simulated(system) and not stated:
        return f"systems called {PREFIX}... have to state `{SIMULATED}` in their extras"
    return ""


class Status(IntEnum):
    """What a verdict says: also the exit status of the command that gives it."""

    PASSED = 0
    FAILED = 1
    CANNOT_JUDGE = 2

    @property
    def word(self) -> str:
        """Return the status as verdicts that are data write it."""
        return ("pass", "fail", "cannot-judge")[self]
