"""How a results database of ReFrame is opened."""

import sqlite3

import pytest

from acceptance.ledger import ResultsFault, results_db
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
