"""`detection/node_sets.py`: samples of sets of nodes that differ, made comparable."""

import numpy as np
import pytest

from acceptance.detection.constants import SET_WINDOW, SUSPICIOUS
from acceptance.detection.node_sets import HELD_OF_SETS
from tests import scanned
from tests.scanned import comparable

NIGHTS, COUNT = 160, 40


def made(kinds, between, nights=NIGHTS, noise=0.01, seed=1):
    """Return logs (nights, COUNT) and sets: nodes in turn, whose effects have a deviation."""
    rng = np.random.default_rng(seed)
    sets = np.arange(nights) % kinds
    effects = between * rng.standard_normal((kinds, COUNT))
    return effects[sets] + noise * rng.standard_normal((nights, COUNT)), sets


def scan(logs):
    return scanned.scan(np.exp(logs), np.zeros(logs.shape[1], np.bool_))[0]


def alarms(logs):
    return [change.detected for found in scan(logs) for change in found.changes if change.worse]


def found_at(logs, first=100):
    """Return the night in which each series is found to be worse; a late one for none."""
    return [
        min((c.detected for c in found.changes if c.worse and c.detected >= first), default=999)
        for found in scan(logs)
    ]


def spread(logs):
    return float(np.median(logs.std(axis=0)))


@pytest.mark.parametrize("sets", [np.zeros(NIGHTS, np.intp), np.arange(NIGHTS)])
def test_one_set_and_sets_that_never_repeat_change_no_bit(sets):
    logs, _ = made(1, 0.0)
    assert (comparable(logs, sets) == logs).all()


def test_a_move_to_other_nodes_for_good_is_a_change_and_no_effect_of_theirs():
    logs, _ = made(1, 0.0)
    logs[80:] += 0.1
    sets = (np.arange(NIGHTS) >= 80).astype(np.intp)
    assert (comparable(logs, sets) == logs).all()


def test_effects_of_sets_are_taken_off():
    logs, sets = made(4, 0.03)
    same = comparable(logs, sets)
    assert spread(logs[60:]) > 0.018
    assert spread(same[60:]) < 0.0115
    assert not alarms(same)
    assert (comparable(logs, 7 - sets) == same).all()  # names in another order


def test_sets_that_do_not_differ_stay_what_they_were():
    logs, sets = made(4, 0.0)
    same = comparable(logs, sets)
    assert np.abs(same - logs).max() < 0.01
    assert np.mean(same == logs) > 0.7


def test_each_sample_depends_on_those_before_it_alone():
    logs, sets = made(4, 0.03)
    whole = comparable(logs, sets)
    for count in (15, 60, 99):
        assert (comparable(logs[:count], sets[:count]) == whole[:count]).all()


@pytest.mark.parametrize("kinds", [2, 4, 10])
def test_a_drop_of_all_nodes_is_found_sooner_than_without(kinds):
    logs, sets = made(kinds, 0.03)
    logs[100:] += np.log(1.05)
    found, without = found_at(comparable(logs, sets)), found_at(logs)
    assert np.quantile(found, 0.9) <= 106
    assert np.median(found) <= np.median(without)


def test_a_drop_of_one_set_is_suspected_in_its_turn_and_found_when_it_is_measured_again():
    logs, sets = made(4, 0.03, nights=101)
    logs[100] += np.log(1.08)  # the turn of set 0
    once = scan(comparable(logs, sets))
    assert np.mean([found.suspicion > SUSPICIOUS for found in once]) > 0.9
    rng = np.random.default_rng(2)
    again = np.vstack([logs, *(logs[100] + 0.01 * rng.standard_normal((3, COUNT)))])
    found = scan(comparable(again, np.append(sets, [0, 0, 0])))
    assert np.mean([any(c.worse and c.start == 100 for c in one.changes) for one in found]) > 0.9


def test_a_new_set_says_little_where_sets_differ_and_all_where_they_do_not():
    for between, least, most in ((0.03, 0.0, 0.5), (0.0, 0.9, 1.1)):
        logs, sets = made(4, between, nights=101)
        logs[100], sets[100] = logs[:100].mean(axis=0) + 0.05, 4
        moved = comparable(logs, sets)[100] - comparable(logs, sets)[60:100].mean(axis=0)
        assert least <= np.median(moved) / 0.05 <= most


def test_a_change_of_all_that_happened_is_no_effect_of_sets_that_came_later():
    logs, sets = made(4, 0.0)
    logs[80:] += 0.2
    sets[80:] += 4
    same = comparable(logs, sets)
    assert np.median(same[100:] - logs[100:]) == pytest.approx(0, abs=0.03)
    assert all(any(c.worse and abs(c.start - 80) <= 1 for c in one.changes) for one in scan(same))


@pytest.mark.parametrize("kinds", [2, 10, 300])
def test_going_on_is_as_from_the_beginning(kinds):
    logs, sets = made(kinds, 0.03, nights=330)
    whole = comparable(logs, sets)
    assert (whole != logs).any() == (kinds < 300)
    rng, first, rows = np.random.default_rng(3), 0, []
    while first < len(logs):
        part = slice(first, first + rng.choice([1, 1, 4, 40]))
        held = slice(max(0, first - HELD_OF_SETS), first)
        same = np.vstack([logs[:0], *rows])[max(0, first - SET_WINDOW) :]
        before = (first, logs[held].astype(np.float32), sets[held], same)
        rows.append(comparable(logs[part], sets[part], before))
        first = part.stop
    assert (np.vstack(rows) == whole).all()
    assert (comparable(logs[:, 3:4], sets) == whole[:, 3:4]).all()
