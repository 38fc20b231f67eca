"""`core/words.py`: directions, and what a measurement can be."""

import math

import pytest

from acceptance.core.words import UNITS, better, direction, is_measured


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("us", "lower"),
        ("s", "lower"),
        ("MB/s", "higher"),
        ("Mop/s", "higher"),
        ("1/us", "higher"),
        ("B/kflop", "higher"),
        ("%", "higher"),
        ("GHz", None),
        ("1", None),
    ],
)
def test_a_unit_has_the_direction_of_what_it_measures(unit, expected):
    assert direction(unit) == expected


def test_only_times_are_better_when_lower():
    assert [unit for unit in UNITS if direction(unit) == "lower"] == ["us", "s"]


@pytest.mark.parametrize("unit", ["MiB/s", "mb/s", "", "usec"])
def test_an_unknown_unit_is_refused_with_the_known_ones(unit):
    with pytest.raises(ValueError, match=rf"^unknown unit '{unit}'; known: us, s, MB/s, "):
        direction(unit)


@pytest.mark.parametrize("value", [1, 0.01, 1e-300, 10**18])
def test_a_finite_number_above_zero_is_measured(value):
    assert is_measured(value)


@pytest.mark.parametrize("value", [0, 0.0, -1, -0.5, math.nan, math.inf, -math.inf, None, "1.0"])
def test_anything_else_is_not_measured(value):
    assert not is_measured(value)


def test_a_truth_value_is_no_measurement():
    assert not is_measured(True)


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
