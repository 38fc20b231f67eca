"""`core/units.py`: directions, and what a measurement can be."""

import math

import pytest

from acceptance.core.units import UNITS, direction, is_measured


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
