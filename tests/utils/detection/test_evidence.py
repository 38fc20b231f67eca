"""`detection/evidence.py`: clear changes of series too young for their noise to be known."""

import math

import numpy as np
import pytest

from acceptance.detection.constants import FEWEST, SUSPICIOUS, YOUNG_PAST, YOUNG_UNTIL
from acceptance.detection.evidence import scores
from acceptance.regressions.families import threshold
from tests.scanned import scan


def noisy(nights, count, seed, deviation=0.01):
    return 100 * (1 + deviation * np.random.default_rng(seed).standard_normal((nights, count)))


def bandwidths(values, level=None):
    """Scan series of which lower values are worse."""
    higher = np.ones(values.shape[1], np.bool_)
    return (scan(values, higher) if level is None else scan(values, higher, level))[0]


def changes(found):
    return [(change.start, change.detected, change.worse) for change in found.changes]


@pytest.mark.parametrize("deviation", [0.0, 0.002, 0.01, 0.02])
@pytest.mark.parametrize("history", [*range(YOUNG_PAST, 17), 25, 35])
def test_half_the_bandwidth_is_seen_on_the_second_night(history, deviation):
    values = noisy(history + 2, 30, history, deviation)
    values[history:] /= 2
    for found in bandwidths(values):
        assert changes(found) == [(history, history + 1, True)]
        assert found.changes[0].before == pytest.approx(100, rel=0.05)
        assert found.changes[0].after == pytest.approx(50, rel=0.05)
        assert math.isfinite(found.spread)


def test_half_the_bandwidth_is_seen_among_many_series():
    values = noisy(YOUNG_PAST + 2, 30, 1)
    values[YOUNG_PAST:] /= 2
    assert all(found.changes for found in bandwidths(values, threshold(1000)))


def test_twice_the_bandwidth_is_no_regression():
    values = noisy(20, 20, 2)
    values[8:] *= 2
    assert all(changes(found) == [(8, 9, False)] for found in bandwidths(values))


def test_a_quarter_less_takes_four_nights_at_most():
    values = noisy(30, 50, 3)
    values[10:] *= 0.75
    found = [change.detected for found in bandwidths(values) for change in found.changes[:1]]
    assert len(found) == 50
    assert set(found) == {13}


def test_one_night_is_a_suspicion_only():
    values = noisy(FEWEST, 20, 4)
    assert all(found.suspicion < SUSPICIOUS for found in bandwidths(values))
    values[-1] /= 2
    for found in bandwidths(values):
        assert found.changes == ()
        assert found.suspicion > SUSPICIOUS
    back = np.vstack([values, noisy(1, 20, 5)])
    assert all(found.suspicion < SUSPICIOUS for found in bandwidths(back))


@pytest.mark.parametrize("nights", [2, 3, 6, 12])
def test_what_is_back_is_a_change_back_and_may_change_again(nights):
    values = noisy(34, 20, 6)
    values[6 : 6 + nights] /= 2
    values[25:] /= 2
    for found in bandwidths(values):
        assert changes(found) == [
            (6, 7, True),
            (6 + nights, 7 + nights, False),
            (25, 26, True),
        ]


def test_the_end_of_a_brief_better_level_is_no_regression():
    values = noisy(20, 20, 7)
    values[6:10] *= 2
    assert all(changes(found) == [(6, 7, False), (10, 11, False)] for found in bandwidths(values))
    values[6:15] = 200
    assert all(changes(found) == [(6, 7, False), (15, 16, True)] for found in bandwidths(values))


def test_a_grown_series_forgets_an_early_failure():
    values = noisy(200, 50, 8, 0.02)
    values[6:9] /= 2
    values[150:] /= 1.05
    found = [
        min((change.detected for change in found.changes[2:] if change.worse), default=999)
        for found in bandwidths(values)
    ]
    assert min(found) >= 150
    assert np.median(found) <= 154


def nasty(count, seed):
    """Return young series of all kinds: shifts, spells, gaps, constants, few digits, two states."""
    rng = np.random.default_rng(seed)
    values = noisy(60, count, seed, 0.02)
    for column in range(count):
        first, last = np.sort(rng.integers(3, 50, 2))
        values[first : last + 1, column] *= rng.choice([0.5, 0.8, 0.95, 1.3, 2.0])
    values[:, ::5] = np.round(values[:, ::5], -1)
    values[:, 1::5] = np.where(rng.random(values[:, 1::5].shape) < 0.3, 50.0, 100.0)
    values[rng.random(values.shape) < 0.05] = rng.choice([0.0, math.nan, -1.0, math.inf])
    return values


def test_only_the_past_decides():
    values = nasty(60, 9)
    full = bandwidths(values)
    assert sum(len(found.changes) for found in full) > 60
    counts = (np.isfinite(values) & (values > 0)).cumsum(axis=0)
    for until in (7, 8, 9, 12, 20, 30, 41, 59):
        prefixes = bandwidths(values[:until])
        for found, prefix, count in zip(full, prefixes, counts[until - 1], strict=True):
            assert prefix.changes == tuple(one for one in found.changes if one.detected < count)


def test_the_unit_does_not_matter():
    values = nasty(30, 10)
    for found, other in zip(bandwidths(values), bandwidths(values * 1e-6), strict=True):
        assert changes(found) == changes(other)


def test_scores_need_the_level_and_a_gap():
    values = np.log(np.array([[10.0, 10.0, 10.0]] * 6 + [[20.0, 20.0, 10.0]] * 2))
    level = np.ones(values.shape, np.bool_)
    level[3, 1] = False
    level[2, 1] = False
    found = scores(values, level)
    assert found.shape[0] == 2
    assert found[0, 1, 0] > 10
    assert not found[:, :, 1:].any()
    assert not found[1].any()


@pytest.mark.parametrize("deviation", [0.02, 0.1])
@pytest.mark.parametrize("noise", ["gaussian", "student", "lognormal", "quantised"])
def test_false_alarms_while_young_are_rare(noise, deviation):
    """At most 1.1 in 1,000 young series are wanted of any noise; more than 9 of 2,000 are not."""
    rng = np.random.default_rng(11)
    shape = (YOUNG_UNTIL, 2000)
    made = {
        "gaussian": lambda: rng.standard_normal(shape),
        "student": lambda: rng.standard_t(3, shape) / math.sqrt(3),
        "lognormal": lambda: rng.lognormal(0, 0.5, shape) / 0.604 - 1.87,
        "quantised": lambda: np.round(rng.standard_normal(shape)),
    }[noise]()
    found, _ = scan(np.maximum(1 + deviation * made, 0.01), np.zeros(shape[1], np.bool_))
    assert sum(change.worse for one in found for change in one.changes) <= 9
