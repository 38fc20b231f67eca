"""`fabric.sh` itself, in every shell, with programs that hang, fail or are missing."""

import shutil
import subprocess

import pytest

from acceptance.fabric import outputs
from tests.needs import skip_without
from tests.places import PATIENCE

SHELLS = [["sh"], ["bash", "--posix"], ["busybox", "ash"]]
PROGRAMS = ("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "dump_lfts")


@pytest.fixture
def run(tmp_path):
    """Return what starts the script where only the made programs are found."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("date", "mkdir", "rm", "sleep", "sh", "cat"):
        (programs / name).symlink_to(shutil.which(name))
    script = tmp_path / "fabric.sh"
    script.write_text(outputs.SCRIPT.read_text().replace("PATH=$PATH:/usr/sbin:/sbin", ""))

    def run(*options, shell=("sh",), **made):
        for name, text in made.items():
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        return subprocess.run(
            [shutil.which(shell[0]), *shell[1:], script, tmp_path / "out", *options],
            capture_output=True, text=True, timeout=PATIENCE, env={"PATH": str(programs)},
        )  # fmt: skip

    return run


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_what_the_programs_say_is_left_as_it_is(run, tmp_path, shell):
    skip_without(shell[0])
    says = 'echo "$0 $*"; echo trouble >&2; exit 3'
    made = {"ibnetdiscover": "echo found; echo $*", "iblinkinfo": says, "ibqueryerrors": "exit 0"}
    done = run("-C", "mlx5_0", "-P", "1", shell=shell, **made)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    files = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    statuses = {name: files[f"{name}.status"].strip() for name in PROGRAMS}
    assert statuses == dict(zip(PROGRAMS, ("0", "3", "0", "missing"), strict=True))
    assert files["ibnetdiscover.out"].startswith("found\n-C mlx5_0 -P 1 ")
    assert files["iblinkinfo.err"] == "trouble\n"
    assert files["asked"].split() == ["-C", "mlx5_0", "-P", "1"]
    assert int(files["end"]) >= int(files["begin"])


def test_a_program_that_hangs_is_stopped(run, tmp_path):
    done = run("-t", "1", ibnetdiscover='[ "$1" = --version ] || exec sleep 25')
    assert done.returncode == 0
    reading = outputs.read(tmp_path / "out")
    assert [(fault.kind, fault.device) for fault in reading.faults] == [("late", "ibnetdiscover")]


def test_nothing_is_installed(run, tmp_path):
    assert run().returncode == 0
    (fault,) = outputs.read(tmp_path / "out").faults
    assert fault.kind == "missing"


@pytest.mark.parametrize("options", [["-C", "a b"], ["-C", ""], ["-k"], ["-P"]])
def test_options_that_are_none_of_it(run, options):
    assert run(*options, ibnetdiscover="exit 0").returncode == 2


def test_a_folder_in_use(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/file").write_text("")
    done = run()
    assert (done.returncode, "is not empty" in done.stderr) == (2, True)
