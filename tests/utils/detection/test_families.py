"""`detection/families.py`: what members of a family say together, night by night."""

import math

import numpy as np
import pytest

from acceptance.detection.constants import DEFAULT_THRESHOLD, FAMILY_FEWEST, FAMILY_HELD
from acceptance.detection.families import advance, empty, record
from tests.bench.detection import FAMILIES
from tests.bench.families import MEMBERS, bound, made

AT = 150


def shifted(noise, correlation, size=0.05, moving=slice(None), count=20, seed=5):
    """Return families whose members `moving` are worse by `size` from night `AT` on."""
    values = made(noise, correlation, AT + 20, count, seed)
    values[AT:, :, moving] += math.log1p(size)
    return values


def found(values, threshold=DEFAULT_THRESHOLD):
    return advance(empty(values.shape[1], values.shape[2]), values, range(len(values)), threshold)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_members_that_move_together_are_found_within_a_night_of_the_bound(correlation):
    changes = [each[-1] for each in found(shifted("Gaussian", correlation, count=40))]
    nights = [change.detected - AT + 1 for change in changes]
    # The bound is one of the mean; a median is a whole number of nights.
    assert np.median(nights) <= math.ceil(bound(correlation) + 1)
    assert all(change.worse for change in changes)
    assert np.mean([abs(change.start - AT) <= 2 for change in changes]) > 0.8
    assert np.mean([change.moved for change in changes]) > 0.85
    off = [np.median(change.after) - np.median(change.before) for change in changes]
    assert np.median(off) == pytest.approx(math.log1p(0.05), abs=0.015)


@pytest.mark.parametrize("moving", [slice(0, 5), slice(5, 10)])
def test_half_of_the_members_are_found_and_named(moving):
    changes = [each[-1] for each in found(shifted("Gaussian", 0.0, 0.08, moving))]
    named = np.array([change.moved for change in changes])
    assert named[:, moving].mean() > 0.9
    # After a night or two a member that noise moved is like one that did move.
    assert named.mean() - named[:, moving].mean() / 2 < 0.1


def test_one_night_is_no_change_where_members_have_their_noise_in_common():
    values = made("Gaussian", 0.5, AT + 20, 20, 6)
    values[AT] += math.log1p(0.3)
    assert found(values) == [[]] * 20


def test_what_became_better_is_a_change_but_not_for_the_worse():
    changes = [each[-1] for each in found(shifted("Gaussian", 0.5, -0.05))]
    assert not any(change.worse for change in changes)


def test_young_families_are_not_judged():
    values = shifted("Gaussian", 0.0, 1.0)[AT - FAMILY_FEWEST + 1 :]
    assert found(values[:FAMILY_FEWEST]) == [[]] * 20


def test_night_by_night_is_as_at_once():
    values = np.concatenate([shifted(noise, 0.5, count=3, seed=7) for noise in FAMILIES], axis=1)
    rng = np.random.default_rng(8)
    # Members without a value, nights without any, families that begin late, one change more.
    values[rng.random(values.shape) < 0.02] = np.nan
    values[rng.random(values.shape[:2]) < 0.05] = np.nan
    values[:20, ::4] = np.nan
    values[AT - 60 :, ::3] -= 0.2
    limits = DEFAULT_THRESHOLD + np.arange(len(values))[:, None] // 100 * np.ones(values.shape[1])
    whole = empty(values.shape[1], MEMBERS)
    at_once = advance(whole, values, range(len(values)), limits)
    assert sum(map(len, at_once)) > 40
    state, changes, first = empty(values.shape[1], MEMBERS), [[] for _ in at_once], 0
    while first < len(values):
        part = slice(first, first + int(rng.choice([1, 1, 2, 7])))
        # Kept and read; whoever else is judged does not matter.
        state = np.frombuffer(state.tobytes(), record(MEMBERS)).copy()
        for some in np.array_split(rng.permutation(len(state)), 2):
            own = state[some]
            new = advance(own, values[part, some], range(len(values))[part], limits[part, some])
            state[some] = own
            for family, more in zip(some, new, strict=True):
                changes[family] += more
        first = part.stop
    assert repr(changes) == repr(at_once)
    assert state.tobytes() == whole.tobytes()


def test_the_state_is_bounded():
    assert record(10).itemsize < 12 * 10 * FAMILY_HELD
