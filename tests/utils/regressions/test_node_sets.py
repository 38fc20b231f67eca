"""Series of cases that run on other nodes each night: compared as if on the same ones."""

import random

import numpy as np
import pytest

from acceptance.regressions.changes import on_same_nodes
from acceptance.regressions.judge import judge
from acceptance.regressions.progress import update
from tests.made import nights
from tests.stored import load

KINDS = 4


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def block(night):
    return night % KINDS


def differing(night, case, size):
    """Return how much worse the nodes of a night are: a deviation of 3 %, the same each time."""
    return 1 + random.Random(block(night)).gauss(0, 0.03)


def turns(night, number, case):
    case.nodes = tuple(f"node{2 * block(night) + n}" for n in range(2))
    return case


def test_nodes_in_turn_that_differ_are_no_change_and_a_drop_of_all_is(path):
    nights(path, 60, differing, change=turns)
    assert judge(load(path)).incidents == ()


def test_a_drop_of_all_nodes_is_an_incident_of_its_night(path):
    worse = lambda n, case, size: differing(n, case, size) * (1.08 if n >= 50 else 1)  # noqa: E731
    nights(path, 58, worse, change=turns)
    incidents = judge(load(path)).incidents
    assert incidents
    assert all(each.finding.kind in ("regression", "machine") for each in incidents)


def test_values_of_one_set_of_nodes_and_of_none_are_what_was_measured(path):
    nights(path, 30)
    history = load(path)
    samples = history.samples(history.series)
    assert (on_same_nodes(samples) == samples.value).all()


def test_values_are_drawn_together_and_are_those_that_detection_goes_on_from(path):
    nights(path, 60, differing, change=turns)
    history = load(path)
    samples = history.samples(history.series)
    values = on_same_nodes(samples)
    recent = update(history, None, []).recent(history.series)
    for one in history.series:
        (those,) = np.nonzero(samples.series == one.number)
        late, measured = values[those[30:]], samples.value[those[30:]]
        assert max(late) / min(late) < max(measured) / min(measured)
        assert np.exp(recent[id(one)][1]) == pytest.approx(values[those], rel=1e-12)
