"""What each suite measures, how it is asked, and what it prints: a folder a suite, a row each.

What only the checks of one suite ask for is in that suite's folder: its rows (`benchmarks.py`) and
the parser of its output (`output.py`).
"""

from acceptance.suites.records import SIZE_OF_FLOAT, Benchmark, Column, Suite
from acceptance.suites.registry import (
    SUITES,
    check_of,
    find,
    has_check,
    suite_of,
    units_of,
)

__all__ = [
    "SIZE_OF_FLOAT",
    "SUITES",
    "Benchmark",
    "Column",
    "Suite",
    "check_of",
    "find",
    "has_check",
    "suite_of",
    "units_of",
]
