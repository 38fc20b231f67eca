"""`regressions/progress.py`: each session is judged once, and as if all had been judged again."""

import contextlib
import errno
import gc
import io
import os
import random
import signal
import zipfile

import pytest
from msgspec import msgpack

from acceptance.core.state_files import StoredFault
from acceptance.regressions import progress, records
from acceptance.regressions import progress as kept_files
from acceptance.regressions.judge import judge
from tests.made_series import Acknowledging, Made, compare, known


@pytest.fixture
def small_blocks(monkeypatch):
    """Let blocks of series be small, that there are several."""
    for module in (progress, records):
        monkeypatch.setattr(module, "BLOCK", 16)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "store" / "measured"


def test_night_by_night_is_as_from_the_beginning(place, small_blocks):
    made = Made(88, 1, 110)
    changes = alerts = 0
    somebody = Acknowledging(place.parent, random.Random(88))
    for night in range(110):
        made.night(night)
        if night % 16 == 13:
            found, told, notes = compare(made.history, place, somebody)
            changes, alerts = max(changes, found), alerts + told
            assert not notes
        elif night % 3:
            judge(made.history, None, place)
    assert changes > 40
    assert alerts > 5
    assert somebody.covered
    kept = judge(made.history, None, place).progress.kept
    assert kept.shared
    nodes = {node[2] for block in kept.families for node in block.nodes if node}
    assert nodes >= {"n0", "n1", "n2", "n9"}


def test_a_long_history_is_taken_in_in_portions_and_judged_as_at_once(
    place, small_blocks, monkeypatch
):
    made = Made(44, 3, 60)
    for night in range(60):
        made.night(night)
    at_once = judge(made.history).progress
    monkeypatch.setattr(progress, "BATCH", 500)
    assert len(at_once.portions(made.history.sessions)) > 4
    judge(made.history, None, place)
    assert known(judge(made.history, None, place).progress) == known(at_once)
    assert known(judge(made.history).progress) == known(at_once)


def happens(made, what):
    if what == "deleted":
        del made.sessions[20]
    elif what == "changed":
        made.sessions[20].mark, made.sessions[20].values = "other", made.sessions[20].values * 1.5
    elif what == "all deleted":
        made.sessions[:] = made.sessions[-1:]
    made.forget()


@pytest.mark.parametrize("what", ["deleted", "changed", "all deleted"])
def test_what_was_seen_and_is_another_one_now_begins_again(place, what):
    made = Made(22, 2, 40)
    for night in range(38):
        made.night(night)
    judge(made.history, None, place)
    happens(made, what)
    made.night(38)
    *_, (note,) = compare(made.history, place)
    assert "deleted or changed" in note
    made.night(39)
    *_, notes = compare(made.history, place)
    assert notes == []


@pytest.mark.parametrize("write", range(6))
def test_a_kill_between_any_two_writes(place, small_blocks, monkeypatch, write):
    made = Made(44, 3, 30)
    for night in range(26):
        made.night(night)
    judge(made.history, None, place)
    before = place.read_bytes()
    made.night(26)
    # Three blocks, what stands behind them, the sync, and the replacement.
    count = iter(range(100))

    def killing(function):
        def killed(*arguments):
            if next(count) == write:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)

        return killed

    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            monkeypatch.setattr(records.Kept, "add", killing(records.Kept.add))
            monkeypatch.setattr(records.Kept, "write", killing(records.Kept.write))
            monkeypatch.setattr(os, "fsync", killing(os.fsync))
            monkeypatch.setattr(kept_files.Path, "replace", killing(kept_files.Path.replace))
            judge(made.history, None, place)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert place.read_bytes() == before
    *_, notes = compare(made.history, place)
    assert notes == []


def test_other_code_or_a_damaged_file_begins_again_and_says_so(place, monkeypatch):
    made = Made(11, 4, 20)
    for night in range(18):
        made.night(night)
    judge(made.history, None, place)
    good = place.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(kept_files, "version", lambda: "another one")
        *_, (note,) = compare(made.history, place)
        assert "the code or the constants of detection changed" in note
    for data in (b"", good[:100], good[:-100], b"x" + good[1:], good.replace(b"head", b"hEad", 1)):
        place.write_bytes(data)
        *_, (note,) = compare(made.history, place)
        assert "cannot be used" in note
        assert place.read_bytes()[: len(good) // 2] == good[: len(good) // 2]


def test_a_file_of_another_form_under_the_same_version_begins_again(place):
    """As code leaves it that was replaced by other code while it ran."""
    made = Made(11, 4, 20)
    for night in range(18):
        made.night(night)
    judge(made.history, None, place)
    with zipfile.ZipFile(place) as good:
        entries = {name: good.read(name) for name in good.namelist()}
    head = msgpack.decode(entries["head"])
    for wrong in ({**head, "families": [[1, 2]]}, {**head, "nights": [3]}, [3]):
        with zipfile.ZipFile(place, "w") as changed:
            changed.comment = kept_files.version().encode()
            for name, data in {**entries, "head": msgpack.encode(wrong)}.items():
                changed.writestr(name, data)
        *_, (note,) = compare(made.history, place)
        assert "cannot be used: it is not what was written" in note


def test_a_bit_of_the_file_changes_nothing_or_is_told(place):
    made = Made(11, 4, 20)
    for night in range(18):
        made.night(night)
    judge(made.history, None, place)
    good, version, told = place.read_bytes(), kept_files.version(), 0
    with zipfile.ZipFile(place) as whole:
        entries = [entry.header_offset for entry in whole.infolist()]
        contents = {name: whole.read(name) for name in whole.namelist()}
        headers = [at + byte for at in entries for byte in range(30)]
        headers += range(whole.start_dir, len(good))
    for at in headers:
        for bit in (0, 3, 5):
            place.write_bytes(good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1 :])
            try:
                kept = records.Kept.read(place, version)
                begins = range(0, len(kept.series), records.BLOCK)
                blocks = {f"records{begin}": kept.block(begin) for begin in begins}
                for number in range(len(kept.families)):
                    blocks[f"states{number}"] = kept.states(number)
            except StoredFault:
                told += 1
            else:
                assert all(contents[name].endswith(each.tobytes()) for name, each in blocks.items())
    assert told > len(headers)


def test_series_that_are_called_otherwise_are_judged_again(place):
    """As where a ledger was made anew by code that gives metrics without a unit other ids."""
    made = Made(11, 4, 20)
    for night in range(18):
        made.night(night)
    judge(made.history, None, place)
    made.history.series[0].id += 10**9
    *_, (note,) = compare(made.history, place)
    assert "a series that it has seen has another id now; what became worse was judged" in note
    *_, notes = compare(made.history, place)
    assert notes == []


def test_an_earlier_session_is_judged_without_losing_what_is_known(place):
    made, earlier = Made(11, 5, 20), Made(11, 5, 20)
    for night in range(20):
        made.night(night)
        if night < 12:
            earlier.night(night)
    judge(made.history, None, place)
    before = place.read_bytes()
    *_, notes = compare(earlier.history, place)
    assert (notes, place.read_bytes()) == ([], before)


def test_where_nothing_can_be_kept_the_judgement_is_the_same(tmp_path):
    made = Made(11, 6, 20)
    for night in range(18):
        made.night(night)
    (tmp_path / "file").write_text("in the way")
    *_, notes = compare(made.history, tmp_path / "file" / "measured")
    assert "is not kept" in notes[-1]


def test_a_full_disk_keeps_what_was_kept_and_no_part(place, monkeypatch):
    made = Made(11, 6, 20)
    for night in range(18):
        made.night(night)
    judge(made.history, None, place)
    before = place.read_bytes()
    made.night(18)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    *_, (note,) = compare(made.history, place)
    assert "is not kept" in note
    assert "\n" not in note
    assert place.read_bytes() == before
    assert [path.name for path in place.parent.glob("*.part")] == []


class FullDisk(io.BytesIO):
    def write(self, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refuse_temporary_files(*_):
    raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")


@pytest.mark.parametrize("made_there", [FullDisk, refuse_temporary_files])
def test_without_room_for_temporary_files_it_says_where_and_what_to_do(
    place, monkeypatch, made_there, capfd
):
    made = Made(11, 6, 20)
    made.night(0)
    monkeypatch.setattr(records.tempfile, "TemporaryFile", made_there)
    with pytest.raises(StoredFault, match=r"^/.*: temporary files cannot be written: .*TMPDIR"):
        judge(made.history, None, place)
    gc.collect()
    assert capfd.readouterr().err == ""


def test_what_is_known_is_bounded(place):
    made = Made(11, 7, 300)
    for night in range(300):
        made.night(night)
        if night == 260:
            judge(made.history, None, place)
            before = place.stat().st_size
    judged = judge(made.history, None, place)
    assert known(judged.progress)["counts"][-1] == 11
    assert place.stat().st_size - before < 40 * 300
