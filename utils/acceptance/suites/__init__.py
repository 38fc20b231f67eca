"""What each suite measures, how it is asked, and what it prints: a file a suite."""

from acceptance.suites.records import SIZE_OF_FLOAT, Benchmark, Column, Suite
from acceptance.suites.registry import (
    SUITES,
    check_of,
    class_of,
    find,
    has_check,
    of_class,
    suite_of,
    units_of,
)
