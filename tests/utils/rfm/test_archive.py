"""`rfm/archive/`: what leaves the database is read as if it were in it, or it is told."""

import json
import random
import re
import resource
import sqlite3
import time
from contextlib import closing

import duckdb
import pytest

from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.rfm import ResultsFault, checksums, database, lost, rows
from acceptance.rfm.archive import files, move, pack, restore
from acceptance.rfm.session_schema import decode
from tests import made

FLIPS = 60
OLD, COUNT = 5, 8


class Killed(BaseException):
    """What a test ends a move with."""


def fill(path, old=OLD, count=COUNT, more=None):
    """Make a database of sessions of which some ended more than 400 days ago; return the limit.

    `more` has cases by the number of their session.
    """
    limit = time.time() - 400 * made.NIGHT
    new = made.Database(path)
    for night in range(count):
        start = limit + (night - old) * made.NIGHT
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
    run("UPDATE testcases SET job_completion_time_unix = NULL WHERE rowid = 2")
    new.connection.commit()
    new.connection.close()
    protect(path)
    return limit


def protect(path):
    stored = database.stored_sessions(path, database.ids(path))
    checksums.append(path, checksums.STORED, [(each.uuid, each.sum) for each in stored])


def tables(path):
    """Return all that ReFrame keeps, with the numbers of rows."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            connection.execute(f"SELECT {columns} FROM {table} ORDER BY rowid").fetchall()
            for columns, table in (("rowid, *", "sessions"), ("*", "testcases"))
        ]


def read(path):
    """Return all that others read of a database."""
    return (
        list(database.blobs(path)),
        [session.uuid for session in database.sessions(path)],
        [session.uuid for session in database.sessions_of_check(path, "OsuMpi", time.time())],
        database.session(path).uuid,
        database.session(path, database.ids(path)[0]),
        lost.lost_sessions(path),
    )


def held(path):
    return [row.uuid for row in rows.held(path)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


@pytest.fixture
def work(path, monkeypatch):
    """Return a workspace, and stand in for ReFrame, which deletes in `tests/utils/cli`."""

    def delete(_, query):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA foreign_keys = ON")
            for uuid in held(path):
                if uuid in query:
                    connection.execute("DELETE FROM sessions WHERE uuid = ?", (uuid,))
        return ""

    monkeypatch.setattr(move, "_ask", delete)
    return Workspace.of({"ACCEPTANCE_VAR": str(path.parent)})


def moved(work, limit):
    return move.move(work, limit, lambda _: None)


def test_what_was_moved_is_read_as_before_and_comes_back_as_it_was(path, work):
    limit = fill(path)
    before, stored = read(path), tables(path)
    assert moved(work, limit).sessions == OLD
    assert len(held(path)) == COUNT - OLD
    assert read(path) == before
    assert not list(files.folder(path).glob("*.backup"))
    kept = files.files(path)[0].read_bytes()
    first, *others = before[0]
    assert restore.restore(path, [first[0][:8]]) == [first[0]]
    assert read(path) == before
    assert restore.restore(path, ["all"]) == [uuid for uuid, _ in others[: OLD - 1]]
    assert read(path) == before
    again = tables(path)
    assert [row[1:] for row in sorted(again[0], key=lambda row: row[2])] == [
        row[1:] for row in stored[0]
    ]
    assert sorted(again[1], key=str) == sorted(stored[1], key=str)
    assert (moved(work, limit).files, moved(work, limit).sessions) == ((), 0)
    assert read(path) == before
    assert files.files(path)[0].read_bytes() == kept
    assert moved(work, limit + 2 * made.NIGHT).sessions == 2
    assert read(path) == before
    assert [files.number(file) for file in files.files(path)] == [1, 2]


def test_rows_get_their_old_numbers_when_all_come_back_at_once(path, work):
    limit = fill(path)
    stored = tables(path)
    moved(work, limit)
    restore.restore(path, ["all"])
    assert [tables(path)[0], sorted(tables(path)[1], key=str)] == [
        stored[0], sorted(stored[1], key=str),
    ]  # fmt: skip


STEPS = [
    (move, "back_up"), (pack, "_copy"), (pack, "_verify"), (pack, "write"),
    (move, "_ask"), (move, "_verify"),
]  # fmt: skip


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_a_kill_loses_nothing_and_the_next_move_goes_on(path, work, monkeypatch, step, late):
    limit = fill(path, 3, 4)
    before = read(path)
    module, name = step
    whole = getattr(module, name)

    def end(*words):
        if late:
            whole(*words)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(module, name, end)
        with pytest.raises(Killed):
            moved(work, limit)
    # What only a kill that nothing sees leaves.
    for litter in ("results.db-2025-0001.parquet.part", "results.db-2025.backup"):
        (files.folder(path) / litter).write_bytes(b"half")
    assert read(path) == before
    moved(work, limit)
    assert read(path) == before
    assert len(held(path)) == 1
    (file,) = files.files(path)
    assert {each.name for each in file.parent.iterdir()} == {file.name, "lock"}


def test_who_reads_while_sessions_are_moved_reads_all(path, work):
    limit = fill(path)
    before = list(database.blobs(path))
    reader = database.blobs(path)
    first = next(reader)
    moved(work, limit)
    assert [first, *reader] == before


def test_a_bit_of_the_archive_changes_nothing_or_is_told(path, work):
    limit = fill(path)
    (file,) = moved(work, limit).files
    before = read(path)
    data, chance, told = file.read_bytes(), random.Random(1), 0
    for _ in range(FLIPS):
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        file.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        try:
            same = read(path) == before
        except ResultsFault as err:
            told += len(str(err).splitlines()) == 1
        else:
            assert same, (place, bit)
    assert told > FLIPS / 4


def test_after_any_damaged_file_a_sound_one_is_read(tmp_path):
    sound, damaged = tmp_path / "sound.parquet", tmp_path / "damaged.parquet"
    duckdb.execute(f"COPY (SELECT 1 AS uuid, 'text' AS json, 2.5 AS start) TO '{sound}'")
    data, rows_, ended = sound.read_bytes(), files.content(sound), 0
    for place in range(len(data)):
        damaged.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        try:
            files.content(damaged)
        except duckdb.Error:
            ended += 1
            assert files.content(sound) == rows_, place
    assert ended > len(data) / 4


@pytest.mark.parametrize("known", [True, False])
def test_a_damaged_file_names_what_can_be_read(path, work, known):
    limit = fill(path)
    moved(work, limit - 2 * made.NIGHT)
    moved(work, limit)
    first, _ = files.files(path)
    if not known:
        files._read.clear()
    first.write_bytes(first.read_bytes()[:-50])
    with pytest.raises(ResultsFault) as fault:
        database.ids(path)
    held_by = "it holds 3 sessions" if known else "3 archived sessions can be read nowhere else"
    assert f"{first}: cannot be read: " in str(fault.value)
    assert f"{held_by}; of the other 1 file of the archive 1 can be read" in str(fault.value)
    first.rename(f"{first}.damaged")
    assert len(database.ids(path)) == COUNT - 3
    assert len(lost.lost_sessions(path)) == 3
    lost.forget(path, ["gone"])
    assert not lost.lost_sessions(path)


def test_a_file_of_a_newer_release_is_refused(path, work):
    limit = fill(path)
    (file,) = moved(work, limit).files
    for pairs, says in (("{acceptance_archive: '2'}", "of form 2, this"), ("{}", "of no archive")):
        duckdb.execute(
            f"COPY (SELECT * FROM '{file}') TO '{file}.new' (FORMAT parquet, KV_METADATA {pairs})"
            if pairs != "{}"
            else f"COPY (SELECT * FROM '{file}') TO '{file}.new' (FORMAT parquet)"
        )
        file.with_name(f"{file.name}.new").replace(file)
        with pytest.raises(ResultsFault, match=says):
            database.ids(path)


def refused(work, limit):
    """Return why nothing is moved; nothing is there afterwards that was not before."""
    before = tables(work.results)
    with pytest.raises(Fault) as fault:
        moved(work, limit)
    assert tables(work.results) == before
    assert {each.name for each in files.folder(work.results).iterdir()} == {"lock"}
    assert len(str(fault.value).splitlines()) == 1
    return str(fault.value)


def test_what_is_not_what_was_stored_keeps_all_where_they_are(path, work):
    limit = fill(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        run = connection.execute
        run("UPDATE sessions SET json_blob = replace(json_blob, 'node01', 'node07')"
            " WHERE rowid = 2")  # fmt: skip
    uuid = held(path)[1]
    assert f"session {uuid} is not what was stored" in refused(work, limit)
    lost.forget(path, [uuid])
    before = read(path)
    assert moved(work, limit).sessions == OLD
    assert read(path) == before
    lost.trust(path, [uuid])
    assert len(read(path)[0]) == COUNT


def test_sessions_without_checksum_wait_for_a_verdict(path, work):
    limit = fill(path)
    checksums.path_of(path).unlink()
    assert "5 sessions without a checksum" in refused(work, limit)


def test_a_damaged_page_names_what_can_be_read(path, work):
    limit = fill(path)
    data = path.read_bytes()
    size = 4096
    at = (data.index(b'"session_info": {', 40000) + 6000) // size * size
    path.write_bytes(data[:at] + random.Random(1).randbytes(size) + data[at + size :])
    with pytest.raises(
        ResultsFault, match=r"malformed; [1-7] of 8 sessions can be read, not: 0000"
    ):
        move.check_pages(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ResultsFault, match=r"no session can be found in it$"):
        moved(work, limit)


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        (move, "back_up", r"no backup could be made: .*results.db: cannot be copied into .*; noth"),
        (pack, "_copy", r"0001.parquet: cannot be written: File too large; nothing was deleted$"),
    ],
)
def test_what_cannot_be_written_moves_nothing(path, work, monkeypatch, module, name, says):
    limit = fill(path)
    whole = getattr(module, name)

    def cramped(*words):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, hard))
        try:
            return whole(*words)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    monkeypatch.setattr(module, name, cramped)
    assert re.search(says, refused(work, limit))


def test_a_full_disk_and_a_folder_that_is_none_move_nothing(path, work, monkeypatch):
    limit = fill(path)
    with monkeypatch.context() as patched:
        patched.setattr(move, "_SPACE", 1e12)
        assert "required, most of it for a backup; nothing was moved" in refused(work, limit)
    files.folder(path).joinpath("lock").unlink()
    files.folder(path).rmdir()
    files.folder(path).write_text("")
    with pytest.raises(Fault, match="archive"):
        moved(work, limit)


def test_a_run_under_way_is_waited_for(path, work):
    limit = fill(path)
    begun = {"number": 1, "began": "2026-11-22T21:00:00", "arguments": ["-r"], "ended": 0}
    there = {"host": "elsewhere", "boot": "other space", "process": 1, "ticks": "1"}
    (path.parent / "runs").mkdir()
    (path.parent / "runs/1.json").write_text(json.dumps({**begun, **there, "killed": False}))
    assert "is under way; wait for it" in refused(work, limit)


def test_nothing_overtakes_a_session_that_stays(path, work):
    limit = fill(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sessions SET session_end_unix = 4e9 WHERE rowid = 3")
    checksums.path_of(path).unlink()
    protect(path)
    plan = move.plan(path, limit)
    assert len(plan.move) == 2
    assert "2 sessions as old stay" in plan.blocked
    lost.forget(path, [held(path)[2]])
    assert (len(move.plan(path, limit).move), move.plan(path, limit).blocked) == (OLD, "")
