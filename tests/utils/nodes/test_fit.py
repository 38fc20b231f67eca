"""The fit of a matrix: spreads of noise, and how far the latencies of good pairs reach."""

from statistics import NormalDist

import numpy as np
import pytest

from acceptance.core.text import number_text
from acceptance.nodes import Culprit
from acceptance.nodes.explanations import _chance, _is_certain, two_parts
from acceptance.nodes.fit import (
    FAR_FEWEST,
    FAR_QUANTILE,
    SMALLEST,
    Fit,
    mean_both_ways,
    reach,
    spread,
)


def test_the_spread_of_few_and_of_many_values_is_that_of_their_noise():
    chance = np.random.default_rng(1)
    assert spread(np.array([])) == 0.0
    assert spread(np.zeros(7)) == 0.0
    for count in (40, 299, 300, 5000):
        found = [spread(0.02 * chance.standard_normal(count)) for _ in range(200)]
        assert np.mean(found) == pytest.approx(0.02, rel=0.03)
    values = 0.02 * chance.standard_normal(5000)
    values[:50] = 3.0
    assert spread(values) == pytest.approx(0.02, rel=0.05)


def fitted(rest):
    nothing = np.zeros(len(rest))
    return Fit(nothing > 0, nothing > 0, rest, rest, nothing, nothing, rest, 0.01, 9.0, rest)


def test_what_both_directions_of_pairs_share_is_distance_and_their_difference_is_noise():
    chance = np.random.default_rng(2)
    count = 40
    far = np.abs(0.05 * chance.standard_normal((count, count)))
    far = (far + far.T) / 2
    rest = far + 0.004 * chance.standard_normal((count, count))
    # The diagonal is no pair; some pairs were measured in one direction, or not at all.
    rest[np.diag_indices(count)] = np.nan
    rest[0, 3:] = rest[5:, 1] = np.nan
    pairs = [(i, j) for i in range(count) for j in range(i) if np.isfinite(rest[i, j] + rest[j, i])]
    means = [(rest[i, j] + rest[j, i]) / 2 for i, j in pairs]
    noise = spread(np.array([rest[i, j] - rest[j, i] for i, j in pairs])) / 2
    expected = np.quantile(means, FAR_QUANTILE) - NormalDist().inv_cdf(FAR_QUANTILE) * noise
    assert reach(fitted(rest)) == pytest.approx(expected)
    assert reach(fitted(rest - 1.0)) == 0.0
    few = np.full((count, count), np.nan)
    few[0, 1:FAR_FEWEST] = few[1:FAR_FEWEST, 0] = 0.3
    assert reach(fitted(few)) == SMALLEST["latency"]
    few[0, FAR_FEWEST] = few[FAR_FEWEST, 0] = 0.3
    assert reach(fitted(few)) == pytest.approx(0.3)


@pytest.mark.parametrize("slow", [5, 8, 10, 12, 16])
def test_a_block_is_certain_where_no_choice_of_as_many_is_as_slow_by_chance(slow):
    """Chernoff's bound of the binomial tail, written with the entropy."""
    rows, usual, cells = np.arange(4), 0.05, 16
    share = min(slow / cells, 1 - 1e-12)
    choices = 2 * np.log(91390)  # 4 of 40
    entropy = -share * np.log(share) - (1 - share) * np.log1p(-share)
    cross = -share * np.log(usual) - (1 - share) * np.log1p(-usual)
    for rate in (1e-3, 1e-6):
        certain = choices - cells * (cross - entropy) < np.log(rate)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("acceptance.nodes.explanations.FALSE_RATE", rate)
            assert _is_certain(40, rows, rows, slow / cells, cells, usual) == certain


@pytest.mark.parametrize(("pairs", "of", "said"), [(1, 1, ""), (2, 3, "2 of 3 pairs at ")])
def test_a_single_pair_is_not_counted(pairs, of, said):
    it = Culprit(
        "path-slow", ("a",), ("b",), "bandwidth", "MB/s", 50.0, 100.0, 0.5, pairs, of, again=0.51
    )
    numbers = f"(50 instead of {number_text(100.0)} MB/s), measured again alone: 0.51"
    assert it.numbers.replace("its ", "") == f"{said}0.50 of the bandwidth of good pairs {numbers}"


def test_of_a_pair_each_direction_that_has_a_value_counts():
    nan = np.nan
    loss = np.array([[nan, 0.1, 0.5, nan], [0.3, nan, nan, nan], [nan, 0.2, nan, nan], [nan] * 4])
    expected = [[nan, 0.2, 0.5, nan], [0.2, nan, 0.2, nan], [0.5, 0.2, nan, nan], [nan] * 4]
    np.testing.assert_allclose(mean_both_ways(loss), expected)


@pytest.mark.parametrize(("inside", "parts"), [(0, [(0, 1, 2)]), (2, [(0, 1, 2)]), (6, [])])
def test_two_parts_are_good_inside_of_each(inside, parts):
    """Of the 30 pairs inside the larger one some may be slow, but no more than a tenth."""
    logs = 0.01 * np.random.default_rng(3).standard_normal((9, 9))
    logs[:3, 3:] += 0.4
    logs[3:, :3] += 0.4
    logs[np.diag_indices(9)] = np.nan
    pairs = [(i, j) for i in range(3, 9) for j in range(3, 9) if i != j]
    for i, j in pairs[:: len(pairs) // inside] if inside else ():
        logs[i, j] += 0.4
    assert [each.nodes for each in two_parts(logs, "bandwidth")] == parts


def test_of_what_is_slow_several_times_the_strongest_proves_nothing_alone():
    """The values of one column: what a pair showed. Without noise each is a negative logarithm."""
    nan = np.nan
    found = _chance(np.array([[9.0, 9.0, 1.0, 2.0], [nan, 1.0, 1.0, 2.0], [nan, nan, nan, 2.0]]))
    # Two values leave one, three leave two: chi-squared with two and with four degrees of freedom.
    assert found == pytest.approx([1.0, np.exp(-1), np.exp(-1), np.exp(-4) * (1 + 4)])
