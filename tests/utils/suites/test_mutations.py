"""The parsers of all suites on recorded outputs with one random fault each."""

import pytest

from tests.mutations import KINDS, OTHER, REFUSED, SUITES, TRACEBACK, records, trials

#: Of each suite: so many of each kind.
COUNT = 15 * len(KINDS)


@pytest.mark.parametrize("suite", SUITES)
def test_no_fault_ends_in_a_traceback(suite):
    ended = [*trials(suite, COUNT, seed=1)]
    assert {trial.kind for trial in ended} == {*KINDS}
    assert [trial.note for trial in ended if trial.outcome == TRACEBACK] == []
    assert any(trial.outcome == REFUSED for trial in ended)


def test_the_same_seed_makes_the_same_faults():
    first, again, other = ([*trials("osu", 40, seed)] for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_another_value_is_noticed():
    (record,) = (each for each in records("osu") if each.path.name == "osu_bw.openmpi.txt")
    assert record.values["bandwidth_1"] == (23.76, "MB/s")
    assert record.read(record.text.replace("23.76", "23.77"))["bandwidth_1"] == (23.77, "MB/s")
    noted = [trial for trial in trials("osu", 400, seed=1) if trial.outcome == OTHER]
    assert noted
    assert all(trial.note and trial.changed for trial in noted)
