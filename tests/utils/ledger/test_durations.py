"""What a run tells of how far it has come."""

import pytest

from acceptance.ledger import durations
from acceptance.ledger.durations import RunProgress
from tests.made import Database, one_night
from tests.stored import opened

CASES = [(name, "local:default+gnu", "") for name in "abc"]


def test_what_is_done_what_is_left_and_what_runs():
    known = dict(zip(CASES, (30.0, 60.0, 90.0), strict=True))
    line = RunProgress(CASES, known).line(CASES[:1], {CASES[1]: 20.0}, 65.0)
    assert line == "1 of 3 done in 65 s; about 2 min left; now b @local:default+gnu, for 20 s"


def test_what_takes_longer_than_before_takes_nothing_off_the_rest():
    line = RunProgress(CASES, {CASES[1]: 10.0, CASES[2]: 30.0}).rest(CASES[:1], {CASES[1]: 99.0})
    assert line == "about 30 s left"


def test_what_never_ran_is_said():
    assert RunProgress(CASES, {}).rest((), {}) == (
        "rest unknown: none of the 3 left ran here of late"
    )
    assert RunProgress(CASES, {CASES[0]: 10.0}).rest((), {}) == (
        "about 10 s left without 2 that did not run here of late"
    )
    assert RunProgress(CASES, {}).rest(CASES, {}) == "nothing left"


def test_what_never_ran_takes_what_a_formula_says():
    guessed = dict.fromkeys(CASES[:2], 20.0)
    assert RunProgress(CASES[:2], {CASES[0]: 10.0}, guessed).rest((), {}) == (
        "about 30 s left, 20 s of it by formula: 1 did not run here of late"
    )
    assert RunProgress(CASES, {}, guessed).rest((), {}) == (
        "about 40 s left without 1 that did not run here of late, "
        "40 s of it by formula: 2 did not run here of late"
    )


def test_many_that_run_are_counted():
    line = RunProgress(CASES, {}).line((), dict.fromkeys(CASES, 5.0), 5.0)
    assert line.endswith("; now a @local:default+gnu, b @local:default+gnu and 1 more, for 5 s")


def test_the_newest_session_that_ran_a_case_tells(tmp_path, monkeypatch):
    database = Database(tmp_path / "results.db")
    data = database_times(monkeypatch)
    for night in range(3):
        data["run"] = 10.0 + night
        database.add([one_night(night, number) for number in range(3 - night)])
    keys = [(one_night(0, number).name, "made:compute+spack-openmpi", "") for number in range(3)]
    # A session is an hour, and shared among its cases.
    found = dict(zip(keys, (3600.0, 1800.0, 1200.0), strict=True))
    assert durations.recent(database.path, keys) == found
    assert durations.recent(database.path, keys) == durations.durations(opened(database.path), keys)
    assert durations.recent(database.path, keys, patience=-1.0) == {keys[0]: 3600.0}
    monkeypatch.setattr(durations, "NEWEST", 2)
    assert durations.recent(database.path, keys) == {key: found[key] for key in keys[:2]}


@pytest.mark.parametrize(
    "blob",
    [
        "{",
        "[]",
        '{"runs": []}',
        '{"session_info": {"uuid": "1", "time_start_unix": 1, "time_end_unix": 2}, "runs": [{}]}',
        '{"session_info": {"uuid": "1", "time_start_unix": 1, "time_end_unix": NaN}, "runs": [{}]}',
        '{"session_info": {"uuid": "1", "time_start_unix": 1, "time_end_unix": 2}, '
        '"runs": [{"testcases": [3]}]}',
    ],
)
def test_a_run_begins_beside_a_session_that_is_malformed(tmp_path, monkeypatch, blob):
    database = Database(tmp_path / "results.db")
    database_times(monkeypatch)["run"] = 10.0
    for night in range(2):
        database.add([one_night(night, 0)])
    last = "(SELECT max(rowid) FROM sessions)"
    database.connection.execute(f"UPDATE sessions SET json_blob = ? WHERE rowid = {last}", (blob,))
    database.connection.commit()
    key = one_night(0, 0).name, "made:compute+spack-openmpi", ""
    assert durations.recent(database.path, [key]) == {key: 3600.0}


def database_times(monkeypatch):
    """Let the cases that are made have times; return the time of the next ones."""
    from tests import made

    times = {"run": 0.0}
    plain = made.Case.data

    def data(case, *words):
        return {**plain(case, *words), "time_compile": 0.0, "time_run": times["run"]}

    monkeypatch.setattr(made.Case, "data", data)
    return times
