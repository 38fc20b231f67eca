"""Files are made so that nobody else can write them, or choose where they are written."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance import ledger
from acceptance.alerts import targets
from acceptance.campaigns import state
from acceptance.core import machine, state_files
from acceptance.core.state_files import StoredFault
from tests import made, stored
from tests.places import ROOT

#: Mask of the caller -> which bits no file and no folder may have.
MASKS = {0o000: 0o022, 0o077: 0o077}


@pytest.fixture(autouse=True)
def _mask():
    """Leave the mask of this process as it was."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


@pytest.mark.parametrize("mask", MASKS)
def test_what_commands_write_nobody_else_may_write(site, mask):
    os.umask(mask)
    site.var.mkdir()
    made.Database(site.database).add([made.Case(metrics={"latency_8": (1.0, "us")})])
    site.database.chmod(0o600)  # ReFrame made it
    output = site.folder / "written"
    output.mkdir(mode=0o700)
    output.chmod(0o700)
    calls = [
        ("alerts", "ack", "*latency_8", "--reason", "r", "--until", "2026-12-01"),
        ("sessions",),
        ("export", "prometheus", "-o", output / "a.prom"),
        ("export", "parquet", "-o", output / "a.parquet"),
    ]  # fmt: skip
    for words in calls:
        os.umask(mask)
        site.acceptance(*words)
    paths = [path for folder in (site.var, output) for path in folder.rglob("*")]
    assert len([path for path in paths if path.is_file()]) > 3
    for path in paths:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert not mode & MASKS[mask], f"{path}: {mode:o}"


def test_a_mask_of_a_group_is_kept():
    for mask, wanted in (
        (0o000, 0o022),
        (0o020, 0o022),
        (0o002, 0o002),
        (0o007, 0o007),
        (0o077, 0o077),
    ):
        os.umask(mask)
        machine.keep_others_out()
        assert os.umask(0o022) == wanted


@pytest.fixture
def victim(tmp_path):
    """A file that somebody else would have this user write."""
    path = tmp_path / "precious"
    path.write_text("precious")
    return path


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_no_link_leads_a_state_into_another_file(tmp_path, victim, link):
    path = tmp_path / "state.json"
    link(victim, path.with_name("state.json.part"))
    state_files.write(path, {"a": 1})
    assert state_files.read(path) == {"a": 1}
    assert not path.is_symlink()
    assert victim.read_text() == "precious"


def test_no_lock_is_made_or_opened_through_a_link(tmp_path, victim):
    new = tmp_path / "new"
    for target in (victim, new):
        lock = tmp_path / f"{target.name}.lock"
        lock.symlink_to(target)
        with pytest.raises(StoredFault, match="symbolic link"), state_files.locked(lock, 0.1):
            pass
    (tmp_path / "campaigns").mkdir()
    (tmp_path / "campaigns/lock").symlink_to(new)
    with pytest.raises(state.CampaignFault), state.locked(tmp_path / "campaigns", "x"):
        pass
    assert not new.exists()


def test_no_link_leads_an_export_into_another_file(tmp_path, victim):
    database = tmp_path / "results.db"
    made.Database(database).add([made.Case(metrics={"latency_8": (1.0, "us")})])
    (tmp_path / ".a.parquet.part").symlink_to(victim)
    ledger.reading.export(stored.opened(database), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").read_bytes()[:4] == b"PAR1"
    assert victim.read_text() == "precious"


#: Opens the file of all users of a machine in each of some folders, as a run does for its first
#: job, and says whether it does.
OPEN = """
import os, sys
from checks import shared_machine
for os.environ["ACCEPTANCE_MACHINE"] in sys.argv[1:]:
    shared_machine._file.cache_clear()
    print(shared_machine._file() is not None)
"""


def test_the_file_of_a_machine_is_no_other_file_of_this_user(tmp_path, victim):
    """It is the one file that everybody may write: it holds a line for people, no decision."""
    traps = {
        "link": lambda place: os.link(victim, place),
        "symlink": lambda place: place.symlink_to(victim),
        "fifo": os.mkfifo,
        "folder": Path.mkdir,
        "nothing": lambda place: None,
        "its own": lambda place: place.write_text(""),
    }
    for name, lay in traps.items():
        (tmp_path / name).mkdir()
        lay(tmp_path / name / "acceptance-jobs")
    done = subprocess.run(
        [sys.executable, "-c", OPEN, *(tmp_path / name for name in traps)], cwd=ROOT, check=True,
        capture_output=True, text=True, umask=0o077, env={**os.environ, "PYTHONPATH": "utils:."},
    )  # fmt: skip
    opened = dict(zip(traps, done.stdout.split(), strict=True))
    assert [name for name, said in opened.items() if said == "True"] == ["nothing", "its own"]
    assert victim.read_text() == "precious"
    made_file = tmp_path / "nothing/acceptance-jobs"
    assert stat.S_IMODE(made_file.stat().st_mode) == 0o666


def test_targets_that_others_may_read_are_told(tmp_path):
    file = tmp_path / "it's"
    file.write_text("json://host/")
    for mode, told in ((0o644, 1), (0o640, 1), (0o600, 0), (0o400, 0)):
        file.chmod(mode)
        notes = targets.load({"ACCEPTANCE_ALERTS_FILE": str(file)}).notes
        assert len([each for each in notes if "chmod 600" in each]) == told
