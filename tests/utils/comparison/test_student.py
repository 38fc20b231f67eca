"""Student's t, by the tables that everybody has."""

import math

import pytest

from acceptance.comparison import student


@pytest.mark.parametrize(
    ("dof", "probability", "t"),
    [
        (1, 0.05, 12.706),
        (4, 0.01, 4.604),
        (10, 0.05, 2.228),
        (30, 0.001, 3.646),
        (1e6, 0.05, 1.960),
    ],
)
def test_quantiles_are_those_of_the_tables(dof, probability, t):
    assert student.quantile(probability, dof) == pytest.approx(t, abs=6e-4)
    assert student.two_sided(student.quantile(probability, dof), dof) == pytest.approx(probability)


def test_nothing_is_certain_and_infinity_is():
    assert student.two_sided(0.0, 5) == 1.0
    assert student.two_sided(math.inf, 5) == 0.0
    # Of one degree of freedom it is Cauchy's distribution.
    assert student.two_sided(100.0, 1) == pytest.approx(1 - 2 / math.pi * math.atan(100))
