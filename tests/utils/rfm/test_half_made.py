"""`rfm/half_made.py`: what a full disk leaves of a database is set aside, and nothing else."""

import sqlite3
import subprocess
import sys

import pytest

from acceptance.rfm import half_made
from tests import made

SESSIONS = (
    "CREATE TABLE sessions(uuid TEXT PRIMARY KEY, session_start_unix REAL, session_end_unix REAL, "
    "json_blob TEXT, report_file TEXT)"
)
TESTCASES = "CREATE TABLE testcases(name TEXT, session_uuid TEXT)"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def execute(path, *statements):
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("content", [b"", bytes(12288)])
def test_a_blank_file_is_set_aside(path, content):
    path.write_bytes(content)
    told = half_made.set_aside(path)
    assert f"{path}: half made" in told
    assert "set aside as results.db.malformed-1" in told
    assert not path.exists()
    (aside,) = half_made.since(path, 0)
    assert aside.read_bytes() == content


def test_a_database_with_its_first_table_only_is_set_aside_with_its_journal(path):
    execute(path, SESSIONS)
    assert path.stat().st_size == 12288
    journal = path.with_name("results.db-journal")
    journal.write_bytes(b"")
    assert half_made.set_aside(path)
    assert not path.exists()
    assert not journal.exists()
    assert len(half_made.since(path, 0)) == 1


@pytest.mark.parametrize(
    "statements",
    [
        (SESSIONS, "INSERT INTO sessions VALUES('one', 1, 2, '{}', '')"),
        (TESTCASES, "INSERT INTO testcases VALUES('case', 'one')"),
        (SESSIONS, "CREATE TABLE metadata(schema_version TEXT)", "INSERT INTO metadata VALUES(2)"),
        (SESSIONS, "CREATE TABLE newer(value TEXT)"),
        (SESSIONS, TESTCASES),
    ],
)
def test_what_holds_anything_or_what_reframe_completes_is_left(path, statements):
    execute(path, *statements)
    before = path.read_bytes()
    assert half_made.set_aside(path) == ""
    assert path.read_bytes() == before


def test_a_good_one_a_locked_one_and_no_database_are_left(path):
    assert half_made.set_aside(path) == ""
    path.write_text("this is text")
    assert half_made.set_aside(path) == ""
    path.unlink()
    execute(path, SESSIONS)
    with sqlite3.connect(path) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert not half_made.is_half_made(path)
    path.unlink()
    made.Database(path).add([made.Case()])
    assert half_made.set_aside(path) == ""
    assert path.exists()


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_one_that_another_run_is_making_is_left(path, monkeypatch):
    monkeypatch.setattr(half_made, "_PATIENCE", 0.1)
    execute(path, SESSIONS)
    command = [sys.executable, "-c", HOLD, str(path.with_name(".db.lock"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"held\n"
        told = half_made.set_aside(path)
        run.stdin.close()
    assert "cannot be set aside" in told
    assert path.exists()
    assert half_made.set_aside(path).endswith("ReFrame makes a new one")
