"""How a results database of ReFrame is opened."""

import sqlite3
from types import SimpleNamespace

import pytest

from acceptance.ledger import ResultsFault, results_db
from acceptance.ledger.ledger import numbered
from tests.made import Case, Database


def test_one_that_stays_locked_is_waited_for_once(tmp_path, monkeypatch):
    made = Database(tmp_path / "db")
    made.add([Case("a")])
    waited, connect = [], sqlite3.connect

    def opens(*words, timeout=None, **more):
        waited.append(timeout)
        return connect(*words, timeout=0.0, **more)

    monkeypatch.setattr(results_db.sqlite3, "connect", opens)
    writer = connect(made.path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    for _ in range(3):
        with pytest.raises(ResultsFault, match="database is locked"), results_db.opened(made.path):
            pass
    assert (waited[0], {*waited[1:]}) == (results_db.TIMEOUT, {0.0})
    waited.clear()
    writer.execute("ROLLBACK")
    writer.close()
    # Once it could be read it is waited for again.
    for _ in range(2):
        with results_db.opened(made.path) as connection:
            assert connection.execute("SELECT count(*) FROM sessions").fetchall() == [(1,)]
    assert waited == [0.0, results_db.TIMEOUT]
    reads = results_db.opened(made.path)
    with pytest.raises(ResultsFault, match="readonly"), reads as connection:
        connection.execute("DELETE FROM sessions")


@pytest.mark.parametrize(
    ("names", "known", "more", "found"),
    [
        # What follows all that are known, and what lies between two whose number is free.
        ("abc", {"a": 1}, (), {"b": 2, "c": 3}),
        ("abc", {"a": 1, "c": 3}, (), {"b": 2}),
        # No number is free there, or there is none: it counts as the newest one.
        ("abc", {"a": 1, "c": 2}, (), {"b": 3}),
        ("abc", {"a": 1, "c": 3}, (2,), {"b": 4}),
        ("ab", {"b": 1}, (), {"a": 2}),
        ("abcd", {"d": 3}, (), {"c": 2, "b": 1, "a": 4}),
    ],
)
def test_a_session_that_is_not_known_has_the_number_of_its_place(names, known, more, found):
    rows = [SimpleNamespace(uuid=name) for name in names]
    assert numbered(rows, known, {*known.values(), *more}) == found


def test_the_first_session_of_a_ledger_follows_those_that_it_lacks():
    rows = [SimpleNamespace(uuid=name) for name in "ab"]
    assert numbered(rows, {}, set(), 4) == {"a": 5, "b": 6}
