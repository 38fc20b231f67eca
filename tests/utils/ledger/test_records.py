"""`ledger/records.py`: the results of pairs that a case has stored."""

import json

import pytest

from acceptance.core.pairs import PairResult
from acceptance.ledger import SessionFault
from tests import made
from tests import stored as database

PAIRS = (
    PairResult("neighbours", ("node1", "node2"), 8, 12.5, 0.64),
    PairResult("inside", ("node1",), 8, 0.2, 40.0),
)


def test_a_case_has_the_pairs_that_were_stored_with_it(tmp_path):
    path = tmp_path / "results.db"
    made.Database(path).add([made.Case(pairs=PAIRS), made.Case(name="without"), made.Case(plain=1)])
    assert [case.pairs for case in database.session(path).cases] == [PAIRS, (), ()]


def test_pairs_that_cannot_be_read_are_a_fault_of_their_session(tmp_path):
    path = tmp_path / "results.db"
    new = made.Database(path)
    new.add([made.Case(pairs=PAIRS)])
    (blob,) = new.connection.execute("SELECT json_blob FROM sessions").fetchone()
    data = json.loads(blob)
    data["runs"][0]["testcases"][0]["pairs"][1]["time"] = "soon"
    new.connection.execute("UPDATE sessions SET json_blob = ?", (json.dumps(data),))
    new.connection.commit()
    with pytest.raises(SessionFault, match=r"malformed.*float.*\[1\]\.time"):
        database.session(path)
