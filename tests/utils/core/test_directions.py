"""`core/directions.py`: which way is better, of any unit."""

import pytest

from acceptance.core.directions import better
from acceptance.core.units import UNITS


@pytest.mark.parametrize(
    "unit", [unit for unit, way in UNITS.items() if way and "flop" not in unit.partition("/")[2]]
)
def test_units_of_the_project_have_their_own_direction(unit):
    assert better(unit) == UNITS[unit]


@pytest.mark.parametrize("unit", ["B/kflop", "B/flop", "update/flop"])
def test_of_a_rate_over_another_one_neither_way_is_better(unit):
    # Not even where a reference bounds it: a faster HPL makes it less.
    assert UNITS[unit] == "higher"
    assert better(unit, lower=-0.1) is None


@pytest.mark.parametrize(
    "unit",
    [
        "ns",
        "usec",
        "µs",
        "ms",
        "sec",
        "seconds",
        "min",
        "h",
        "s/step",
        "us/op",
        "Seconds",
        "days/ns",
    ],
)
def test_less_time_is_better(unit):
    assert better(unit) == "lower"


@pytest.mark.parametrize(
    "unit",
    ["Gflops", "GFLOPS", "MFLOP/s", "GiB/s", "B/s", "Gb/s", "Mbps", "images/s", "iops", "msg/sec",
     "GUPS", "steps/min", "ns/day"],
)  # fmt: skip
def test_more_per_time_is_better(unit):
    assert better(unit) == "higher"


@pytest.mark.parametrize("unit", ["", "points", "J", "1", "GHz", "steps", "meters"])
def test_other_units_tell_nothing(unit):
    assert better(unit) is None


@pytest.mark.parametrize(
    ("lower", "upper", "way"),
    [(-0.1, None, "higher"), (None, 0.1, "lower"), (-0.1, 0.1, None), (None, None, None)],
)
def test_a_reference_tells_by_what_fails_it(lower, upper, way):
    assert better("points", lower, upper) == way
    assert better("1", lower, upper) == way


def test_the_unit_counts_more_than_the_reference():
    assert better("us", -0.1, None) == "lower"
