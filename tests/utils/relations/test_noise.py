"""The noise of a comparison, and quantiles of Student's t."""

import math

import numpy as np
import pytest

from acceptance.detection.constants import FEWEST, SMALLEST
from acceptance.relations import noise
from acceptance.relations.comparison import holm
from tests.bench.detection import FAMILIES, series

RNG = np.random.default_rng(1)


def test_too_few_samples_tell_nothing():
    values = np.linspace(1, 1.01, FEWEST + 1)
    assert noise.learn(values[: FEWEST - 1], [[FEWEST - 3], [FEWEST - 2]], ()) is None
    assert noise.learn(values, [[0], [1]], ()) is None
    assert noise.learn(np.tile(values, 2), [[0], [1]], ()) is not None


def test_a_change_between_the_sides_is_no_noise():
    values = np.exp(0.01 * RNG.standard_normal(60))
    values[40:] *= 1.5
    sides = [[*range(30, 40)], [*range(40, 50)]]
    inflated = noise.learn(values, sides, ())
    known = noise.learn(values, sides, (40,))
    assert known.spread == pytest.approx(0.01, rel=0.4)
    assert inflated.spread == pytest.approx(0.01, rel=0.6)


def test_equal_values_are_steady_by_rounding_only():
    assert noise.learn(np.full(30, 2.5), [[28], [29]], ()).spread == 0.0025


def test_an_outlier_does_not_make_the_spread_and_one_as_far_is_no_difference():
    values = np.exp(0.01 * RNG.standard_normal(60))
    values[20] = 3.0
    known = noise.learn(values, [[58], [59]], ())
    assert known.spread < 0.03
    assert known.farthest == pytest.approx(math.log(3), rel=0.05)
    assert noise.difference(math.log(3), (1, 1), (known, known))[0] == 0.0
    assert noise.difference(math.log(3), (5, 5), (known, known))[0] > 10


def test_holm_goes_on_from_the_smallest():
    # 0.05 / 3, 0.05 / 2 and 0.05: the third one is not, and 0.03 would not be by Bonferroni.
    assert holm([0.9, 0.01, 0.02]) == 0.05
    assert holm([0.02, 0.03, 0.9]) == 0.05 / 3
    assert holm([]) == 0.05


def test_the_ranks_of_two_sides_are_as_probable_as_shuffles_say():
    first, second = RNG.standard_normal(20).round(1), RNG.standard_normal(17).round(1) + 0.7
    both = np.concatenate([first, second])
    ranks = np.array([(both < each).sum() + ((both == each).sum() + 1) / 2 for each in both])
    shuffled = np.array([RNG.permutation(ranks)[:20].sum() for _ in range(20_000)])
    middle = ranks.mean() * 20
    seen = (np.abs(shuffled - middle) >= abs(ranks[:20].sum() - middle)).mean()
    assert 0.001 < seen < 0.2
    assert noise.ranked(first, second, 0.0) == pytest.approx(seen, rel=0.15)
    assert noise.ranked(first, second, 0.5) > 2 * seen
    assert noise.ranked(first[:14], second, 0.0) == 0.0
    assert noise.ranked(np.ones(20), np.ones(20), 0.0) == 1.0


def test_a_median_that_jumps_between_two_states_is_no_difference():
    by_spread = by_ranks = 0
    for column in series("bimodal 50:50", 60, 40, 3)[0].T:
        sides = np.arange(0, 60, 2), np.arange(1, 60, 2)
        known = noise.learn(column, [side.tolist() for side in sides], ())
        a, b = (np.log(column[side]) for side in sides)
        t, (_, dof, _) = noise.difference(
            float(np.median(b) - np.median(a)), (30, 30), (known,) * 2
        )
        by_spread += noise.two_sided(t, dof) < 0.01
        by_ranks += noise.ranked(a, b, known.correlation) < 0.01
    assert by_spread > 2 > by_ranks


@pytest.mark.parametrize("family", ["Gaussian", "AR(1) 0.5", "bimodal 50:50", "Student t, 3"])
def test_sides_that_are_the_same_are_said_to_be(family):
    """Twelve comparisons of two weeks, of 30 metrics each, in which nothing happened."""
    wrong = 0
    values = 100 * series(family, 40, 360, 7)[0]
    for first in range(0, 360, 30):
        probabilities, sizes = [], []
        for column in values[:, first : first + 30].T:
            known = noise.learn(column, [range(26, 33), range(33, 40)], ())
            sizes.append(math.log(np.median(column[33:]) / np.median(column[26:33])))
            t, (_, dof, _) = noise.difference(sizes[-1], (7, 7), (known, known))
            probabilities.append(noise.two_sided(t, dof))
        level = holm(probabilities)
        assert len(probabilities) == 30
        wrong += any(
            chance <= level and abs(size) > math.log1p(SMALLEST)
            for chance, size in zip(probabilities, sizes, strict=True)
        )
    # At a rate of 5 % three or more of twelve have a probability of 2 %.
    assert wrong <= 2
    assert family in FAMILIES


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
    assert noise.quantile(probability, dof) == pytest.approx(t, abs=6e-4)
    assert noise.two_sided(noise.quantile(probability, dof), dof) == pytest.approx(probability)


def test_nothing_is_certain_and_infinity_is():
    assert noise.two_sided(0.0, 5) == 1.0
    assert noise.two_sided(math.inf, 5) == 0.0
    # Of one degree of freedom it is Cauchy's distribution.
    assert noise.two_sided(100.0, 1) == pytest.approx(1 - 2 / math.pi * math.atan(100))
