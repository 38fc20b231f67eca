"""The ledger: the same history whatever happens to the database, to a file, or to who writes."""

import errno
import importlib
import json
import os
import pickle
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

from acceptance import ledger
from acceptance.core import state_files
from acceptance.core.paths import Workspace
from acceptance.core.state_files import StoredFault
from acceptance.ledger import ResultsFault, files, results_db
from acceptance.ledger import ledger as ledgers
from acceptance.regressions import history
from tests.made import Database, nights, one_night
from tests.made_history import NIGHTS, as_data, grow
from tests.places import ROOT
from tests.started import ALONE
from tests.stored import ids, load


@pytest.fixture
def made(tmp_path):
    return nights(tmp_path / "db", 6, cases=3)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "ledger"


def opened(path, folder):
    """Open a ledger as another process would."""
    return ledgers.Ledger(path, folder)


def of(path, folder, **keywords):
    """Return a history by a ledger, without its notes, and these."""
    past = opened(path, folder)
    found = as_data(history.load(past, **keywords))
    return found | {"notes": found["notes"][len(past.notes) :]}, past.notes


def same(path, folder, **keywords):
    """Require the history that a ledger has which is kept nowhere; return what this one says."""
    (kept, said), (without, _) = of(path, folder, **keywords), of(path, None, **keywords)
    assert kept == without
    return said


def names(folder):
    return sorted(path.name for path in folder.glob("*.parquet"))


def read(monkeypatch):
    """Return the UUIDs of the sessions that are read from now on."""
    found = []
    contents = results_db.contents

    def noted(path, rows):
        for row, blob in contents(path, rows):
            found.append(row.uuid)
            yield row, blob

    monkeypatch.setattr(results_db, "contents", noted)
    return found


def test_night_by_night_it_is_what_it_is_at_once(tmp_path, folder):
    made, rng = Database(tmp_path / "db"), random.Random(1)
    for night in range(NIGHTS):
        grow(made, night, rng)
        said = same(made.path, folder)
        assert said == (["session twice is stored twice; the second one is left out"] * (night > 9))
    for keywords in ({"system": "made"}, {"until": ids(made.path)[3]}):
        same(made.path, folder, **keywords)


def test_only_what_is_new_is_read(made, folder, monkeypatch):
    opened(made.path, folder)
    found, before = read(monkeypatch), names(folder)
    opened(made.path, folder)
    assert (found, names(folder)) == ([], before)
    uuid = made.add([])
    opened(made.path, folder)
    assert found == [uuid]


def test_what_was_deleted_or_changed_afterwards_stays_as_it_was(made, folder):
    expected = of(made.path, folder)[0]
    first, second, *_ = ids(made.path)
    made.connection.execute("DELETE FROM sessions WHERE uuid = ?", (first,))
    made.connection.execute(
        "UPDATE sessions SET json_blob = replace(json_blob, '1', '2') WHERE uuid = ?", (second,)
    )
    made.connection.commit()
    assert of(made.path, folder) == (expected, [])
    assert opened(made.path, folder).session(second).uuid == second
    made.path.unlink()
    found, (said,) = of(made.path, folder)
    assert (found, "is gone; the 6 sessions that it held are in the ledger" in said) == (
        expected,
        True,
    )


def test_a_malformed_session_that_is_restored_takes_its_place(made, folder):
    expected = of(made.path, None)[0]
    uuid = ids(made.path)[2]
    ((blob,),) = made.connection.execute("SELECT json_blob FROM sessions WHERE uuid = ?", (uuid,))
    set_blob = "UPDATE sessions SET json_blob = ? WHERE uuid = ?"
    made.connection.execute(set_blob, (blob.replace("{", "[", 1), uuid))
    made.connection.commit()
    past = opened(made.path, folder)
    assert ([fault.uuid for fault in past.faults], past.gone) == ([uuid], [])
    with pytest.raises(ledger.SessionFault, match="is malformed"):
        past.session(uuid)
    made.connection.execute(set_blob, (blob, uuid))
    made.connection.commit()
    assert of(made.path, folder) == (expected, [])
    assert opened(made.path, folder).faults == []


def test_text_that_is_none_is_a_fault_of_its_session_only(made, folder):
    uuid = ids(made.path)[1]
    made.connection.execute(
        "UPDATE sessions SET json_blob = CAST(x'7bff' AS TEXT) WHERE uuid = ?", (uuid,)
    )
    made.connection.commit()
    past = opened(made.path, folder)
    assert (len(past.entries), [fault.uuid for fault in past.faults]) == (5, [uuid])


def test_a_session_that_is_forgotten_counts_nowhere_and_stays_stored(made, folder):
    past = opened(made.path, folder)
    uuid = past.ids()[1]
    assert past.forget([uuid[:8]]) == [uuid]
    past = opened(made.path, folder)
    assert uuid not in past.ids()
    assert past.gone == []
    assert uuid in {entry.uuid for entry in past.every}
    assert len(history.load(past).sessions) == 5
    with pytest.raises(ResultsFault, match=r"was left out; .*0000002-\*\.forgotten") as caught:
        past.session(uuid)
    assert "--forget" not in str(caught.value)
    with pytest.raises(ResultsFault, match="holds no session nobody"):
        past.forget(["nobody"])


def test_a_session_with_any_name_can_be_forgotten(made, folder):
    made.store("../../a b%", 1.0, 2.0, "{")
    past = opened(made.path, folder)
    assert past.forget(["../../a b%"]) == ["../../a b%"]
    past = opened(made.path, folder)
    assert (past.faults, past.gone, len(past.entries)) == ([], [], 6)


def test_of_somebody_elses_database_a_ledger_is_kept_once_a_session_is_forgotten(made):
    workspace = Workspace.of({"ACCEPTANCE_VAR": str(made.path.parent / "var")})
    past = ledger.of(workspace, made.path)
    assert past.folder is None
    uuid, *others = past.ids()
    past.forget([uuid])
    past = ledger.of(workspace, made.path)
    assert (past.folder, past.ids()) == (made.path.with_name("db.ledger"), others)


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("fault", [damage, cut, empty])
def test_what_a_damaged_file_held_is_taken_from_the_database_again(made, folder, fault):
    expected = of(made.path, folder)[0]
    made.add([])
    later = of(made.path, folder)[0]
    first, _ = sorted(folder.glob("*.parquet"))
    fault(first)
    found, (said,) = of(made.path, folder)
    assert found == later
    assert f"{first}: is damaged, and set aside as {first.name}.damaged" in said
    assert of(made.path, folder) == (later, [])
    assert len(expected["sessions"]) == 6


def test_a_bit_of_the_ledger_changes_nothing_or_is_told(made, folder):
    """Also where the sums of files are compared on another day."""
    expected = of(made.path, folder)[0]
    (file,) = folder.glob("*.parquet")
    data, chance = file.read_bytes(), random.Random(1)
    for _ in range(60):
        for left in folder.glob("*.*"):
            left.unlink()
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        file.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        found, said = of(made.path, folder)
        assert (found, len(said)) == (expected, 1), (place, bit)


@pytest.mark.parametrize("fault", [cut, os.unlink])
def test_the_json_of_a_session_that_the_ledger_lost_is_that_of_the_database(made, folder, fault):
    uuid, *others = opened(made.path, folder).ids()
    (file,) = (folder / "json").glob("*.parquet")
    expected = opened(made.path, None).session(uuid)
    fault(file)
    past = opened(made.path, folder)
    assert past.session(uuid) == expected
    made.connection.execute("DELETE FROM sessions WHERE uuid = ?", (uuid,))
    made.connection.execute("UPDATE sessions SET json_blob = json_blob || ' ' WHERE rowid = 2")
    made.connection.commit()
    past = opened(made.path, folder)
    for lost in (uuid, others[0]):
        with pytest.raises(ledger.SessionFault, match=r"is no longer in .*json"):
            past.session(lost)
    faults = []
    assert len(list(past.sessions(faults))) == 4
    assert {fault.uuid for fault in faults} == {uuid, others[0]}
    # Whoever goes without them says so.
    assert len(past.notes) == 2
    assert past.holds(past.entries) == set()
    assert len(history.load(past).sessions) == 6


def test_a_damaged_file_whose_turn_was_another_day_is_found_when_it_is_read(
    made, folder, monkeypatch
):
    expected = of(made.path, folder)[0]
    (file,) = folder.glob("*.parquet")
    whole = file.read_bytes()
    monkeypatch.setattr(files, "in_turn", lambda *_: [])
    for begin in range(4, 4004, 500):
        for left in folder.glob("*.*"):
            left.unlink()
        file.write_bytes(whole[:begin] + bytes(500) + whole[begin + 500 :])
        ledgers._entries.cache_clear()
        assert of(made.path, folder)[0] == expected, begin


def test_in_some_days_each_file_is_compared_with_its_sum(folder, monkeypatch):
    folder.mkdir()
    made = []
    for number in range(1, 8):
        path = folder / f"{number:07}-{number:07}-{'0' * 16}.parquet"
        path.write_bytes(b"0123456789")
        made.append(path)
    found, _ = files.listed([folder])
    assert files.in_turn(found, 1) == found
    monkeypatch.setattr(files, "VERIFIED", 25)
    turns = [files.in_turn(found, day) for day in range(3)]
    assert sorted(file.path for turn in turns for file in turn) == made
    assert max(map(len, turns)) == 3


def test_what_is_nowhere_is_missed_until_somebody_says_otherwise(made, folder):
    opened(made.path, folder)
    made.add([])
    opened(made.path, folder)
    made.connection.execute("DELETE FROM sessions WHERE rowid <= 6")
    made.connection.commit()
    sorted(folder.glob("*.parquet"))[0].unlink()
    past = opened(made.path, folder)
    assert (past.gone, len(past.entries)) == ([1, 2, 3, 4, 5, 6], 1)
    past.forget([ledger.GONE])
    past = opened(made.path, folder)
    assert (past.gone, len(past.entries)) == ([], 1)


def test_a_ledger_that_begins_behind_the_first_session_lacks_those_before_it(made, folder):
    made.connection.execute("DELETE FROM sessions WHERE rowid <= 2")
    made.connection.commit()
    for _ in range(2):
        past = opened(made.path, folder)
        assert (past.gone, [entry.number for entry in past.entries]) == ([1, 2], [3, 4, 5, 6])
    assert opened(made.path, None).gone == []
    past.forget([ledger.GONE])
    assert opened(made.path, folder).gone == []
    with pytest.raises(ResultsFault, match="no session is gone"):
        opened(made.path, folder).forget([ledger.GONE])


def test_a_number_that_a_fault_made_of_the_first_row_is_no_loss(made, folder):
    made.connection.execute("UPDATE sessions SET rowid = rowid + 2000000000000")
    made.connection.commit()
    assert opened(made.path, folder).gone == []


def test_the_last_session_that_is_stored_twice_is_none(made, folder):
    uuid = made.add([one_night(6, 0)])
    ((blob,),) = made.connection.execute("SELECT json_blob FROM sessions WHERE uuid = ?", (uuid,))
    made.store("again", 1.0, 2.0, blob)
    assert opened(made.path, folder).session().uuid == uuid


def test_where_small_files_cannot_be_merged_all_is_there_and_it_is_told(
    tmp_path, folder, monkeypatch
):
    made = Database(tmp_path / "db")
    monkeypatch.setattr(files, "MANY", 3)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_groups", full)
    for night in range(3):
        made.add([one_night(night, 0)])
        past = opened(made.path, folder)
    (said,) = past.notes
    assert "its small files cannot be merged: [Errno 28]" in said
    assert (len(past.entries), len(names(folder))) == (3, 3)


def test_a_run_that_writes_a_write_ahead_log_is_seen_by_the_same_process(made, folder):
    made.connection.execute("PRAGMA journal_mode = WAL")
    before = len(ledger.of_file(made.path, folder).entries)
    made.add([one_night(6, 0)])
    assert len(ledger.of_file(made.path, folder).entries) == before + 1


def test_small_files_are_merged_and_stay_a_while(tmp_path, folder, monkeypatch):
    made = Database(tmp_path / "db")
    monkeypatch.setattr(files, "MANY", 4)
    for night in range(4):
        made.add([one_night(night, 0)])
        opened(made.path, folder)
    found = names(folder)
    assert [name[:15] for name in found if name[:7] != name[8:15]] == ["0000001-0000004"]
    assert len(found) == 5
    assert same(made.path, folder) == []
    long_ago = time.time() - 2 * files.GRACE
    for path in folder.glob("*.parquet"):
        os.utime(path, (long_ago, long_ago))
    made.add([one_night(4, 0)])
    assert same(made.path, folder) == []
    assert [name[:15] for name in names(folder)] == ["0000001-0000004", "0000005-0000005"]


def test_the_folders_above_a_new_ledger_are_made(made, tmp_path):
    folder = tmp_path / "var/of/a/site/ledger"
    opened(made.path, folder)
    assert names(folder)
    assert same(made.path, folder) == []


def test_files_that_two_processes_have_written_count_once(made, folder):
    opened(made.path, folder)
    (whole,) = folder.glob("*.parquet")
    other = folder / "other"
    short = nights(folder.parent / "short", 4, cases=3)
    opened(short.path, other)
    (part,) = other.glob("*.parquet")
    shutil.copy(part, folder / part.name)
    assert same(made.path, folder) == []
    shutil.copy(part, folder / f"0000004-0000007-{part.name[16:]}")
    assert same(made.path, folder) == []
    assert whole.exists()


WRITER = """
import sys
from pathlib import Path
from acceptance.ledger.ledger import Ledger
print(len(Ledger(Path(sys.argv[1]), Path(sys.argv[2])).entries))
"""


def test_two_writers_and_a_reader_at_once(tmp_path, folder):
    made = nights(tmp_path / "db", 12, cases=4)
    command = [sys.executable, "-c", ALONE + WRITER, str(made.path), str(folder)]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [writer.communicate()[0] for writer in writers] == ["12\n"] * 3
    assert same(made.path, folder) == []


def test_a_file_system_without_locks(made, folder, monkeypatch):
    def refused(path, _patience):
        raise StoredFault(f"{path}: cannot be locked: No locks available")

    monkeypatch.setattr(state_files, "locked", refused)
    assert same(made.path, folder) == []
    assert names(folder)


def test_where_nothing_can_be_written_it_is_done_without(made, tmp_path):
    # A file where the folder should be: as on a read-only disk, root has no right there.
    (tmp_path / "file").write_text("")
    (said,) = same(made.path, tmp_path / "file/ledger")
    assert said.endswith("what is new was read without it")


def test_a_damaged_file_of_a_ledger_that_is_kept_nowhere_takes_no_other_with_it(made, monkeypatch):
    monkeypatch.setattr(ledgers, "BYTES", 0)  # a file for each session
    past = opened(made.path, None)
    asked = "SELECT count(DISTINCT number), count(*) FROM samples"
    expected, uuids = past.rows(asked), past.ids()
    assert len(past.files) == len(uuids) == 6
    past.files[2].path.write_bytes(b"")
    assert past.rows(asked) == expected
    assert past.ids() == uuids
    assert [session.uuid for session in past.sessions()] == uuids[::-1]


LIMITED = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
from acceptance.ledger.ledger import Ledger
try:
    past = Ledger(Path(sys.argv[1]), Path(sys.argv[2]))
    print(len(past.entries), past.notes)
except Exception as err:
    print("refused", type(err).__name__, err)
"""


def test_a_full_disk_leaves_no_half_file(made, folder):
    for limit in (100, 5000, 20_000):
        done = subprocess.run(
            [sys.executable, "-c", ALONE + LIMITED, str(made.path), str(folder), str(limit)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.startswith(("6 ", "refused ResultsFault")), done.stdout
        assert list(folder.glob("*.part")) == []
    assert same(made.path, folder) == []


def forked(function):
    """Return the status of a process that calls a function."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = int(not function())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(path, folder):
    """Write a ledger, killed at each write in turn; return how many writes there were."""
    importlib.import_module("duckdb")  # once, not in each fork; it starts no thread before a query
    # Rows of each session by themselves, and the JSON of each before the rows of all.
    of_each = [killed_at_each_write(path, folder, *held) for held in ((1, 2**30), (2**30, 1))]
    return min(of_each)


def killed_at_each_write(path, folder, rows, json):
    """Do so while so many rows, and bytes of JSON, are held."""
    ledgers.ROWS, ledgers.JSON_BYTES, files.MANY = rows, json, 2
    writes = 0
    # The database stays the same, and so what it has without a ledger.
    without = folder.with_suffix(".without")
    assert forked(lambda: without.write_bytes(pickle.dumps(of(path, None)[0]))) == 0
    places = [(os, "fsync"), (type(path), "replace"), (type(path), "mkdir"), (files, "sum_of")]
    real = [getattr(*place) for place in places]

    def killed():
        left = [writes]

        def instead(function):
            def counted(*args, **keywords):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*args, **keywords)

            return counted

        for (owner, name), function in zip(places, real, strict=True):
            setattr(owner, name, instead(function))
        return opened(path, folder).entries

    while True:
        shutil.rmtree(folder, ignore_errors=True)
        status = forked(killed)
        if forked(lambda: of(path, folder) == (pickle.loads(without.read_bytes()), [])):
            sys.exit(f"another history after a kill at write {writes}")
        if status != -signal.SIGKILL:
            return writes
        writes += 1


def test_a_kill_at_any_write(tmp_path, folder):
    """In processes that are forked before DuckDB has threads."""
    made = nights(tmp_path / "db", 3, cases=1)
    code = (
        "import sys; from pathlib import Path; from tests.utils.ledger import test_ledger; "
        "print(test_ledger.main(*map(Path, sys.argv[1:])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", ALONE + code, str(made.path), str(folder)],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 10


def test_the_json_of_who_was_killed_is_not_taken_for_that_of_others(made, folder, monkeypatch):
    monkeypatch.setattr(ledgers, "JSON_BYTES", 1)
    with monkeypatch.context() as patch:
        patch.setattr(ledgers.Batch, "write", lambda *_: sys.exit("killed"))
        with pytest.raises(SystemExit):
            opened(made.path, folder)
    assert len(list(folder.glob("json/*.parquet"))) > 1
    made.connection.execute("DELETE FROM sessions WHERE rowid = 2")
    made.connection.commit()
    past = opened(made.path, folder)
    stored = made.connection.execute("SELECT json_blob FROM sessions ORDER BY rowid").fetchall()
    assert [text for _, text in past.contents(past.entries)] == [blob for (blob,) in stored]
    assert past.holds(past.entries) == {*ids(made.path)}


def test_a_disk_that_became_read_only_is_done_without(made, folder):
    mount = f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"
    folder.mkdir()
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*unshare, mount], capture_output=True).returncode
    ):
        pytest.skip("mounts need root and unshare (util-linux), in a container CAP_SYS_ADMIN")
    opened(made.path, folder)
    code = WRITER.replace("len(", "[p.notes for p in [").replace(").entries))", ")]])")
    command = shlex.join([sys.executable, "-c", code, str(made.path), str(folder)])

    def said():
        done = subprocess.run(
            [*unshare, f"{mount} && {command}"], capture_output=True, text=True, check=True
        )
        return done.stdout

    assert said() == "[[]]\n"  # nothing is to be written
    made.add([one_night(7, 0)])
    assert said().count("what is new was read without it") == 1
    assert same(made.path, folder) == []


def test_of_a_session_that_is_malformed_in_its_second_case_nothing_is_taken_in(made, folder):
    whole = opened(made.path, None).rows(f"{COUNTED} WHERE number <> 2 GROUP BY number ORDER BY 1")
    (uuid, blob), *_ = made.connection.execute("SELECT uuid, json_blob FROM sessions LIMIT 1, 1")
    data = json.loads(blob)
    data["runs"][0]["testcases"][1]["system"] = 5
    made.connection.execute(
        "UPDATE sessions SET json_blob = ? WHERE uuid = ?", (json.dumps(data), uuid)
    )
    made.connection.commit()
    past = opened(made.path, folder)
    assert [fault.uuid for fault in past.faults] == [uuid]
    assert past.rows(f"{COUNTED} GROUP BY number ORDER BY 1") == whole


COUNTED = "SELECT number, count(*), count(DISTINCT case_id), max(value), max(row) FROM samples"


def test_all_sessions_are_read_from_files_that_were_merged(tmp_path, folder, monkeypatch):
    made = nights(tmp_path / "db", 20, cases=2)
    expected = list(load(made.path).sessions)
    monkeypatch.setattr(ledgers, "ROWS", 1)
    past = opened(made.path, folder)
    assert [session.uuid for session in past.sessions()] == [
        session.uuid for session in expected[::-1]
    ]
    texts = [text for _, text in past.contents(past.entries)]
    stored = made.connection.execute("SELECT json_blob FROM sessions ORDER BY rowid").fetchall()
    assert texts == [blob for (blob,) in stored]
