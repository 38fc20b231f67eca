"""`detection/state.py`: detection that goes on where it stopped decides as if it never had."""

import numpy as np
import pytest

from acceptance.detection.constants import DEFAULT_THRESHOLD
from acceptance.detection.state import HELD, RECORD, LevelChange, State
from tests.bench.detection import FAMILIES, series
from tests.scanned import scan

NIGHTS = HELD + 60


@pytest.fixture(scope="module")
def made():
    """Return series of every kind of noise with shifts and gaps, directions, and thresholds."""
    rng = np.random.default_rng(1)
    values = np.hstack([series(family, NIGHTS, 5, 3)[0] for family in FAMILIES])
    for column in range(values.shape[1]):
        for night in np.sort(rng.integers(4, NIGHTS, 3)):
            values[night : night + rng.integers(2, 90), column] *= rng.choice([0.5, 0.9, 1.1, 2])
        values[: rng.choice([0, 0, 13, 120]), column] = np.nan
    values[rng.random(values.shape) < 0.01] = rng.choice([0.0, np.nan, -1.0, np.inf])
    thresholds = DEFAULT_THRESHOLD + np.arange(NIGHTS)[:, None] // 100 * np.ones(values.shape)
    return values, np.arange(values.shape[1]) % 2 == 0, thresholds


def same(state, other):
    return state.records.tobytes() == other.records.tobytes() and state.found == other.found


def kept(state):
    """Return a state as it is when it was written and is read."""
    records = np.frombuffer(state.records.tobytes(), RECORD).copy()
    return State(records, [[LevelChange(*one) for one in found] for found in state.found])


def test_night_by_night_is_as_at_once(made):
    values, higher, thresholds = made
    scans, state = scan(values, higher, thresholds)
    assert sum(len(found.changes) for found in scans) > 150
    rng, first, on = np.random.default_rng(2), 0, None
    while first < NIGHTS:
        part = slice(first, first + rng.choice([1, 1, 1, 2, 9, 30]))
        found, on = scan(values[part], higher, thresholds[part], state=on)
        first, on = part.stop, kept(on)
    assert same(on, state)
    assert repr(found) == repr(scans)


def test_a_state_does_not_change_when_one_goes_on_from_it(made):
    values, higher, _ = made
    _, state = scan(values[:200], higher)
    before = kept(state)
    _, on = scan(values[200:], higher, state=state)
    assert same(state, before)
    assert sum(map(len, on.found)) > sum(map(len, before.found))


def test_what_else_is_watched_does_not_matter(made):
    values, higher, thresholds = made
    _, state = scan(values, higher, thresholds)
    for those in ([7], [3, 50], range(20, 54)):
        columns = np.array(those)
        _, alone = scan(values[:, columns], higher[columns], thresholds[:, columns])
        assert same(alone, state.part(columns))


def test_the_threshold_is_that_of_each_sample(made):
    values, higher, _ = made
    strict = np.full(NIGHTS, 1e9)
    strict[NIGHTS // 2 :] = DEFAULT_THRESHOLD
    scans, _ = scan(values, higher, strict[:, None])
    before = np.isfinite(values[: NIGHTS // 2]) & (values[: NIGHTS // 2] > 0)
    assert any(found.changes for found in scans)
    for found, first in zip(scans, before.sum(axis=0), strict=True):
        assert all(change.detected >= first for change in found.changes)
