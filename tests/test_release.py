"""A release: the same bytes wherever it is built; its installed copy works and says its commit."""

import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.conftest import BIN
from tests.places import ROOT

PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
VERSION = re.search(r'^version = "(.+)"', PROJECT, re.MULTILINE)[1]
#: When the commit of the copies was made, in seconds since 1970: later than 1980, as zip demands.
SECONDS = 1_700_000_000
DATE = f"{SECONDS} +0000"
#: The bill of materials.
BILL = "interconnect-acceptance.cdx.json"
GIT = {
    **dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), DATE),
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "somebody"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "somebody@site.example"),
    **dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull),
}


def run(*command, cwd, **variables):
    """Run a program as somebody with a shell does; its errors are in what is returned, too."""
    mine = ("RFM_", "ACCEPT", "MAKE", "PYTHON", "SOURCE_DATE", "HATCH")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(mine)}
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env={**kept, **GIT, **variables}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180,
    )  # fmt: skip


def must(*command, cwd, **variables):
    done = run(*command, cwd=cwd, **variables)
    assert done.returncode == 0, done.stdout
    return done.stdout


def clone_into(folder, tree, mode, seconds):
    """Write a tree into a folder as a clone, with files of a mode and a time."""
    listed = must("git", "ls-files", "-coz", "--exclude-standard", cwd=tree)
    for name in filter(None, listed.split("\0")):
        source, path = tree / name, folder / name
        if source.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
            path.chmod(mode | (mode >> 2 & 0o111 if os.access(source, os.X_OK) else 0))
            os.utime(path, (seconds, seconds))
    must("git", "init", "-q", cwd=folder)
    must("git", "add", "-A", cwd=folder)
    must("git", "commit", "-q", "-m", "A tree", cwd=folder)
    return folder


@dataclass
class Built:
    """A clone, and the archives that were built of it."""

    root: Path
    dist: Path

    @property
    def wheel(self):
        (found,) = self.dist.glob("*.whl")
        return found

    @property
    def sdist(self):
        (found,) = self.dist.glob("*.tar.gz")
        return found

    @property
    def commit(self):
        return must("git", "rev-parse", "HEAD", cwd=self.root).strip()


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """What `make release` leaves."""
    root = clone_into(tmp_path_factory.mktemp("here"), ROOT, 0o644, SECONDS + 10)
    (root / ".venv").symlink_to(BIN.parent)
    (root / "var/audit").mkdir(parents=True)
    (root / "var/audit" / BILL).write_text("{}\n")
    printed = must("make", "-o", ".venv/.installed", "release", cwd=root)
    built = Built(root, root / "var/dist")
    assert printed.endswith((built.dist / "SHA256SUMS").read_text())
    return built


@pytest.fixture(scope="module")
def again(released, tmp_path_factory):
    """The same commit in a folder of another name, with other modes and times, by another user."""
    folder = tmp_path_factory.mktemp("elsewhere") / "a clone"
    root = clone_into(folder, released.root, 0o600, SECONDS + 90_000)
    dist = root.parent / "dist"
    must(sys.executable, "-m", "hatchling", "build", "-d", dist, cwd=root, TZ="Asia/Tokyo")
    return Built(root, dist)


@pytest.fixture(scope="module")
def unpacked(released, tmp_path_factory):
    """The sdist as somebody unpacks it."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(released.sdist) as archive:
        archive.extractall(folder)
    (root,) = folder.iterdir()
    return root


def test_the_same_commit_gives_the_same_bytes_anywhere(released, again):
    assert released.commit == again.commit
    for one, other in ((released.wheel, again.wheel), (released.sdist, again.sdist)):
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes()


def test_the_sums_are_of_both_archives_and_of_the_bill_of_materials(released):
    sums = (released.dist / "SHA256SUMS").read_text()
    named = dict(reversed(line.split()) for line in sums.splitlines())
    files = (released.wheel, released.sdist, released.dist / BILL)
    assert named == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert {*named} == {
        BILL,
        f"interconnect_acceptance-{VERSION}-py3-none-any.whl",
        f"interconnect_acceptance-{VERSION}.tar.gz",
    }


def test_a_wheel_of_the_sdist_is_that_of_the_clone(released, unpacked, tmp_path):
    options = ("-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", tmp_path)
    must(sys.executable, "-m", "pip", "wheel", *options, unpacked, cwd=tmp_path)
    (wheel,) = tmp_path.iterdir()
    assert wheel.read_bytes() == released.wheel.read_bytes()


def test_all_files_have_the_time_of_the_commit(released):
    with tarfile.open(released.sdist) as archive:
        assert {each.mtime for each in archive} == {SECONDS}
    with zipfile.ZipFile(released.wheel) as archive:
        assert {each.date_time for each in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_the_sdist_has_what_git_has_without_tests(released, unpacked):
    """And says its commit, from a folder that is no clone."""
    listed = must("git", "ls-files", cwd=released.root).splitlines()
    files = (path for path in unpacked.rglob("*") if path.is_file() and path.suffix != ".pyc")
    there = {f"{path.relative_to(unpacked)}" for path in files}
    ours = {name for name in listed if not name.startswith(("tests/", ".ci/"))}
    assert there == {*ours, "COMMIT", "PKG-INFO"}
    said = must(BIN / "python", "-c", COMMAND, "--version", cwd=unpacked, PYTHONPATH="utils")
    assert f"(commit {released.commit})" in said


#: The command of the package that is found first.
COMMAND = "import sys; from acceptance.cli.main import main; sys.exit(main())"
#: A program of ReFrame's, in an environment that only borrows it.
REFRAME = "import sys; from reframe.frontend.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def installed(released, tmp_path_factory):
    """An environment with the wheel, and of the tests' own what it depends on, not the clone."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    must(sys.executable, "-m", "venv", "--without-pip", venv, cwd="/")
    pip = (sys.executable, "-m", "pip", "--python", venv / "bin/python")
    must(*pip, "install", "-q", "--no-deps", "--no-index", released.wheel, cwd="/")
    (packages,) = venv.glob("lib/python*/site-packages")
    # A folder in such a file is only added: the file there that leads to the clone is not read.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    reframe = venv / "bin/reframe"
    reframe.write_text(f"#!{venv}/bin/python\n{REFRAME}\n")
    reframe.chmod(0o755)

    def call(*words):
        home = {"HOME": str(venv.parent), "ACCEPTANCE_MACHINE": str(venv.parent)}
        path = f"{venv}/bin:/usr/bin:/bin"
        program, *words = words
        return run(venv / "bin" / program, *words, cwd=venv.parent, PATH=path, **home).stdout

    return call


def test_an_installed_copy_says_version_and_commit(installed, released):
    said = installed("acceptance", "--version")
    assert said == f"acceptance {VERSION} (commit {released.commit})\n"


def test_an_installed_copy_looks_at_the_machine(installed):
    said = installed("acceptance", "doctor")
    assert re.search(r"^ReFrame +ok +4\.\d+", said, re.MULTILINE), said


def test_reframe_lists_the_checks_of_an_installed_copy(installed):
    asked = ("acceptance", "doctor", "--where")
    checks, settings = (installed(*asked, name).strip() for name in ("checks", "settings"))
    assert "/venv/lib/" in checks
    listed = installed("reframe", "-C", settings, "-c", checks, "-l")
    assert re.search(r"^- LinkCheck\b", listed, re.MULTILINE), listed
    assert re.search(r"^Found \d+ check", listed, re.MULTILINE)


def stamp(root):
    return runpy.run_path(str(ROOT / "utils/hatch_build.py"))["stamp"](root)


@pytest.mark.parametrize("name", ["checks/README.md", "checks/forgotten.py"])
def test_what_is_built_of_a_changed_tree_says_so_and_is_no_release(again, monkeypatch, name):
    monkeypatch.setattr(os, "environ", {**os.environ, **GIT})
    assert stamp(again.root) == f"{again.commit} {SECONDS}\n"
    path = again.root / name
    before = path.read_bytes() if path.exists() else None
    path.write_bytes((before or b"") + b"# more\n")
    try:
        assert stamp(again.root) == f"{again.commit}-dirty {SECONDS}\n"
        done = run("make", "-o", ".venv/.installed", "release", cwd=again.root)
        assert done.returncode
        assert "a release is of a commit" in done.stdout
        assert not (again.root / "var/dist").exists()
    finally:
        path.unlink() if before is None else path.write_bytes(before)


def test_the_version_is_the_same_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\S+)$", changelog, re.MULTILINE)[0]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert newest == (VERSION, f"{cited['date-released']}")
    assert cited["version"] == VERSION
