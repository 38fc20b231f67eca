"""The store: the same history as without one, whatever happens to the database or to the store."""

import os
import random
import shlex
import shutil
import subprocess
import sys

import duckdb
import pytest

from acceptance.regressions.history import load, series
from acceptance.rfm import checksums, lost
from acceptance.rfm import database as results
from acceptance.store import store as stores
from acceptance.store import update
from tests.made import Database, nights, one_night
from tests.made_history import NIGHTS, as_data, grow
from tests.places import ROOT


@pytest.fixture
def made(tmp_path):
    return nights(tmp_path / "db", 6, cases=3)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store/samples.duckdb"


def histories(path, store, **keywords):
    """Return the history by the store and without one; what the store says of itself is apart."""
    by_store, without = load(path, store=store, **keywords), load(path, **keywords)
    said = by_store.notes[: len(by_store.notes) - len(without.notes)]
    by_store.notes = by_store.notes[len(said) :]
    return as_data(by_store), as_data(without), said


def same(path, store, **keywords):
    """Require that both are the same; return what the store says of itself."""
    by_store, without, said = histories(path, store, **keywords)
    assert by_store == without
    return said


def decoded(monkeypatch):
    """Return the UUIDs of the sessions that are read from now on."""
    found = []
    read = results.stored_sessions

    def noted(path, uuids):
        for session in read(path, uuids):
            found.append(session.uuid)
            yield session

    monkeypatch.setattr(results, "stored_sessions", noted)
    return found


def test_night_by_night_it_is_what_it_is_at_once(tmp_path, store):
    made, rng = Database(tmp_path / "db"), random.Random(1)
    for night in range(NIGHTS):
        grow(made, night, rng)
        assert same(made.path, store) == []
    for keywords in ({"system": "made"}, {"until": "twice"}, {"until": results.ids(made.path)[3]}):
        assert same(made.path, store, **keywords) == []


def test_in_some_days_each_old_session_is_compared_with_its_checksum(monkeypatch):
    listing = [*((f"s{number}", 10) for number in range(7)), ("archived", None), ("new", 10)]
    known = {uuid for uuid, _ in listing} - {"new"}
    stored = known - {"archived"}
    assert update._in_turn(listing, known, 1) == stored
    monkeypatch.setattr(update, "VERIFIED", 25)
    turns = [update._in_turn(listing, known, day) for day in range(3)]
    assert set().union(*turns) == stored
    assert max(map(len, turns)) == 3


def test_only_what_is_new_is_read(made, store, monkeypatch):
    monkeypatch.setattr(update, "_in_turn", lambda *_: set())
    load(made.path, store=store)
    read = decoded(monkeypatch)
    before = store.stat().st_mtime_ns
    load(made.path, store=store)
    assert (read, store.stat().st_mtime_ns) == ([], before)
    uuid = made.add([])
    load(made.path, store=store)
    assert read == [uuid]


def test_a_session_that_is_no_longer_there_is_noticed(made, store):
    load(made.path, store=store)
    uuids = results.ids(made.path)
    made.connection.execute("DELETE FROM sessions WHERE uuid = ?", (uuids[3],))
    made.connection.commit()
    (said,) = same(made.path, store)
    assert "session 4 of 6" in said
    assert "2 sessions read again" in said
    assert same(made.path, store) == []


def test_another_length_and_other_checksums_are_noticed(made, store):
    load(made.path, store=store)
    first, second, third, *_ = results.ids(made.path)
    made.connection.execute(
        "UPDATE sessions SET json_blob = json_blob || ' ' WHERE uuid = ?", (second,)
    )
    made.connection.commit()
    assert len(same(made.path, store)) == 1
    lost.forget(made.path, [first])
    assert len(same(made.path, store)) == 1
    checksums.append(made.path, checksums.STORED, [(third, "0" * 64)])
    assert len(same(made.path, store)) == 1
    assert [fault.uuid for fault in load(made.path, store=store).faults] == [third]
    lost.trust(made.path, [third])
    assert len(same(made.path, store)) == 1
    assert load(made.path, store=store).faults == []


def test_a_damaged_session_that_is_restored_counts_again(made, store):
    uuid = results.ids(made.path)[2]
    ((blob,),) = made.connection.execute("SELECT json_blob FROM sessions WHERE uuid = ?", (uuid,))
    set_blob = "UPDATE sessions SET json_blob = ? WHERE uuid = ?"
    made.connection.execute(set_blob, (blob.replace("{", "[", 1), uuid))
    made.connection.commit()
    assert same(made.path, store) == []
    assert [fault.uuid for fault in load(made.path, store=store).faults] == [uuid]
    made.connection.execute(set_blob, (blob, uuid))
    made.connection.commit()
    assert len(same(made.path, store)) == 1
    assert load(made.path, store=store).faults == []


def newer(store):
    with duckdb.connect(store) as connection:
        connection.execute("UPDATE meta SET version = version + 1")


def damaged(store):
    content = bytearray(store.read_bytes())
    for at in range(8192, len(content), 3000):
        content[at : at + 200] = b"\0" * 200
    store.write_bytes(content)


def cut(store):
    os.truncate(store, store.stat().st_size // 2)


def foreign(store):
    store.unlink()
    with duckdb.connect(store) as connection:
        connection.execute("CREATE TABLE meta(a INTEGER); CREATE TABLE samples(b INTEGER)")


def text(store):
    store.write_text("no store at all\n" * 1000)


def empty(store):
    store.write_bytes(b"")


@pytest.mark.parametrize("fault", [newer, damaged, cut, foreign, text, empty])
def test_a_store_that_cannot_be_used_is_made_anew(made, store, fault):
    load(made.path, store=store)
    fault(store)
    (said,) = same(made.path, store)
    assert f"{store}: cannot be used, and was made anew: " in said
    assert "\n" not in said
    assert same(made.path, store) == []


def test_damaged_pages_that_nobody_read_at_first(made, store, monkeypatch):
    """The samples are read when somebody asks for them: the history is the same even so."""
    monkeypatch.setattr(series, "READ_FEW", 0)
    load(made.path, store=store)
    with duckdb.connect(store, read_only=True) as connection:
        blocks = connection.execute(
            "SELECT DISTINCT block_id FROM pragma_storage_info('samples') WHERE block_id >= 0"
        ).fetchall()
        ((size,),) = connection.execute("SELECT block_size FROM pragma_database_size()").fetchall()
    content = bytearray(store.read_bytes())
    for (block,) in blocks:
        at = 3 * 4096 + block * size
        content[at + 16 : at + size] = bytes(size - 16)
    store.write_bytes(content)
    assert same(made.path, store) == []
    (said,) = same(made.path, store)
    assert said == f"{store}: was damaged, and was made anew"
    assert same(made.path, store) == []


def test_a_store_of_another_database_is_taken_over(made, store, tmp_path):
    other = nights(tmp_path / "other", 3, cases=1)
    other.connection.execute("UPDATE sessions SET uuid = 'other-' || uuid")
    other.connection.commit()
    load(other.path, store=store)
    (said,) = same(made.path, store)
    assert "session 1 of 3" in said


def test_where_nothing_can_be_written_it_is_done_without(made, tmp_path):
    # A file where the folder should be: as on a read-only disk, root has no right there.
    (tmp_path / "file").write_text("")
    (said,) = same(made.path, tmp_path / "file/samples.duckdb")
    assert said.endswith("the samples were read without it")


def test_a_full_disk(made, store, monkeypatch):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)); "
    code = (
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); " + limit +
        "from acceptance.regressions.history import load; from pathlib import Path; "
        f"h = load(Path({str(made.path)!r}), store=Path({str(store)!r})); "
        "print(sum(len(one.values) for one in h.series), h.notes)"
    )  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count = sum(len(one.values) for one in load(made.path).series)
    assert done.stdout.startswith(f"{count} ['{store}: ")
    assert same(made.path, store) in ([], [str(note) for note in same(made.path, store)])


def test_one_that_another_process_holds_is_waited_for_and_then_gone_without(
    made, store, monkeypatch
):
    load(made.path, store=store)
    code = (
        f"import duckdb, time; c = duckdb.connect({str(store)!r}); print(1, flush=True); "
        "time.sleep(99)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"1\n"
        monkeypatch.setattr(stores, "PATIENCE", 0.1)
        (said,) = same(made.path, store)
        assert said.endswith("the samples were read without it")
    finally:
        holder.kill()
        holder.wait()
    assert same(made.path, store) == []


def test_a_kill_between_any_two_writes(tmp_path, store):
    """Each statement that writes is the last one once."""
    made = nights(tmp_path / "db", 4, cases=2)
    code = "tests.utils.store.killed"
    done = subprocess.run(
        [sys.executable, "-m", code, str(made.path), str(store)],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 20


def test_a_disk_that_became_read_only_is_done_without(made, store):
    mount = f"mount --bind {store.parent} {store.parent} && mount -o remount,ro,bind {store.parent}"
    store.parent.mkdir()
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*unshare, mount], capture_output=True).returncode
    ):
        pytest.skip("mounts need root and unshare (util-linux), in a container CAP_SYS_ADMIN")
    load(made.path, store=store)
    code = (
        "import sys; from acceptance.regressions.history import load; from pathlib import Path; "
        "h = load(Path(sys.argv[1]), store=Path(sys.argv[2])); "
        "print(sum(len(one.values) for one in h.series), h.notes)"
    )
    command = shlex.join([sys.executable, "-c", code, str(made.path), str(store)])

    def said():
        done = subprocess.run(
            [*unshare, f"{mount} && {command}"], capture_output=True, text=True, check=True
        )
        count = sum(len(one.values) for one in load(made.path).series)
        assert done.stdout.startswith(f"{count} [")
        return done.stdout

    assert said().endswith(" []\n")  # nothing is to be written
    made.add([])
    made.add([one_night(7, 0)])
    text = said()
    assert text.count("the samples were read without it") == 1
    assert text.count("\n") == 1
    assert same(made.path, store) == []
