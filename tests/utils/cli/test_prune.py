"""`acceptance sessions prune`: ReFrame itself deletes, and every command reads on as before."""

import json
import re
import shutil
import sqlite3
import time

import pytest

from acceptance.ledger import results_db
from acceptance.ledger.records import decode
from tests import made
from tests.conftest import Site
from tests.utils.relations.made import NEW, OLD, copy_of_references, result, write

READERS = (
    ("history", "--format", "json"),
    ("sessions", "--format", "json"),
    ("claims", "guidelines", "--format", "json"),
    ("baseline", "--nights", "7"),
    ("claims", "--system", "mine", "--format", "json"),
    ("gate", "--session", "00000001", "--format", "json"),
)
#: Sessions that ended more than 400 days ago, and all.
AGED, COUNT = 5, 8


def fill(path, aged=AGED, count=COUNT, more=None):
    """Make a database as ReFrame does; `more` has cases by the number of their session."""
    limit = time.time() - 400 * made.NIGHT
    new = made.Database(path)
    for night in range(count):
        start = limit + (night - aged) * made.NIGHT
        cases = [made.one_night(night, number, None, made.SIZES, 0.01) for number in range(2)]
        if night == 1:
            cases[0].metrics["odd"] = (float("nan"), "us")
        new.add([*cases, *(more or {}).get(night, ())], start=start)
    run = new.connection.execute
    for uuid, blob in run("SELECT uuid, json_blob FROM sessions").fetchall():
        for case in decode(blob)[1]:
            row = (case.name, case.system, case.partition, case.environ)
            end = case.job_completion_time_unix
            run("INSERT INTO testcases VALUES(?,?,?,?,?,?,?)", (*row, end, uuid, f"{uuid}:0:0"))
    new.connection.commit()
    new.connection.close()


def held(site):
    return [row.uuid[:8] for row in results_db.sessions(site.database)]


def answers(site):
    """Return what the readers say, but for when they were asked."""
    said = (site.acceptance(*words) for words in READERS)
    return [(each.status, re.sub(r'"given": ".*"', "", each.output), each.errors) for each in said]


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """A site that was pruned once: what its commands said before, and what the prune said."""
    site = Site(tmp_path_factory.mktemp("pruned"))
    site.var.mkdir()
    # A result of before is compared with one of now.
    folder = copy_of_references(site.folder)
    write(folder, {"value": "5"})
    site.environment["ACCEPTANCE_REFERENCE"] = str(folder)
    fill(site.database, more={0: [result(OLD, 10.0)[1]], COUNT - 1: [result(NEW, 8.0)[1]]})
    before = answers(site)
    dry = site.acceptance("sessions", "prune", "--keep", "400", "--dry-run")
    assert len(held(site)) == COUNT
    return site, before, dry, site.acceptance("sessions", "prune", "--keep", "400")


def test_reframe_has_deleted_what_is_old_and_nobody_notices(pruned):
    site, before, dry, done = pruned
    assert (dry.status, "5 sessions would be deleted, of 2" in dry.output) == (0, True)
    assert (done.status, done.errors) == (0, "")
    assert "5 sessions deleted, of 2" in done.output
    assert "the ledger has all 8" in done.output
    assert held(site) == [f"{number:08x}" for number in range(5, 8)]
    log = "".join(path.read_text() for path in (site.var / "log").glob("*.log"))
    assert log.count("deleted successfully") == 5
    after = answers(site)
    assert after == before
    (claim,) = json.loads(after[4][1])["claims"]
    assert claim["state"] == "holds"


def test_a_ledger_that_is_lost_then_fails_the_gate(site, pruned):
    site.take_over(pruned[0])
    shutil.rmtree(site.var / "ledger")
    for _ in range(2):
        uuid = site.acceptance("sessions", "--format", "json").data[-1]["id"]
        status, verdict = site.gate("--session", uuid)
        problems = {each["kind"]: each["text"] for each in verdict["problems"]}
        assert status == 1
        assert "lacks 5 sessions, of the numbers 1 to 5" in problems["sessions-gone"]


def test_what_the_ledger_has_lost_is_not_deleted(site):
    site.var.mkdir()
    fill(site.database)
    assert site.acceptance("sessions").status == 0
    shutil.rmtree(site.var / "ledger/json")
    # The database has it still: whoever reads goes on.
    assert site.acceptance("sessions").status == 0
    doctor = site.acceptance("doctor", "--format", "json").data
    (row,) = (row for row in doctor if row["what"] == "sessions")
    assert (row["state"], "has 8 sessions not whole" in row["found"]) == ("BROKEN", True)
    done = site.acceptance("sessions", "prune", "--keep", "400")
    assert (done.status, "0 sessions deleted" in done.output) == (0, True)
    assert "5 sessions as old stay, which the ledger has not whole: 00000000" in done.errors
    assert len(held(site)) == COUNT


def test_what_cannot_be_read_and_what_changed_stays(site):
    site.var.mkdir()
    fill(site.database)
    database = sqlite3.connect(site.database)
    database.execute("UPDATE sessions SET json_blob = '{' WHERE rowid = 1")
    database.commit()
    assert site.acceptance("sessions").status == 1
    database.execute("UPDATE sessions SET json_blob = json_blob || ' ' WHERE rowid = 2")
    database.commit()
    database.close()
    done = site.acceptance("sessions", "prune", "--keep", "400")
    assert (done.status, "3 sessions deleted" in done.output) == (0, True)
    assert "1 session as old stay, which the ledger has not whole: 00000000" in done.errors
    assert "1 session as old stay, which changed since: 00000001" in done.errors
    assert held(site)[:3] == ["00000000", "00000001", "00000005"]


def test_a_run_under_way_is_waited_for(site):
    site.var.mkdir()
    fill(site.database)
    begun = {"number": 1, "began": "2026-11-22T21:00:00", "arguments": ["-r"], "ended": 0}
    there = {"host": "elsewhere", "boot": "other space", "process": 1, "ticks": "1"}
    (site.var / "runs").mkdir()
    (site.var / "runs/1.json").write_text(json.dumps({**begun, **there, "killed": False}))
    done = site.acceptance("sessions", "prune", "--keep", "400")
    assert (done.status, "is under way; wait for it, or end it" in done.errors) == (2, True)
    assert len(held(site)) == COUNT


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--keep", "30"), "detection looks back 240 nights, a baseline takes 14; at least 240"),
        (("--keep", "soon"), "'soon' is no whole number above 0"),
        (("--keep", "400d"), "'400d' is no whole number above 0"),
        (("--keep", "400"), "results.db: no such file"),
        ((), "the following arguments are required: --keep"),
    ],
)
def test_what_cannot_be_is_refused(site, words, says):
    done = site.acceptance("sessions", "prune", *words)
    assert (done.status, says in done.errors) == (2, True)


def test_nothing_old_is_said(site):
    site.var.mkdir()
    fill(site.database, aged=0, count=1)
    done = site.acceptance("sessions", "prune", "--keep", "730")
    assert (done.status, "0 sessions deleted" in done.output) == (0, True)
