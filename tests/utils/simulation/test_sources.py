"""Sources of suites for SimGrid: found, named, and built whole or not at all."""

import io
import subprocess
import tarfile
import time

import pytest

from acceptance.core.paths import Workspace
from acceptance.machine import find_sources, release_of_npb
from acceptance.simulation import build_command, build_folder, systems


def archive(path, *names):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as file:
        for name in names:
            file.addfile(tarfile.TarInfo(name), io.BytesIO())


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.delenv("SPACK_MIRROR", raising=False)
    return Workspace.of({"ACCEPTANCE_VAR": str(tmp_path / "var")})


def test_what_spack_kept_is_found_by_what_is_in_it(workspace, tmp_path, monkeypatch):
    kept = workspace.spack / "sources/_source-cache/archive"
    archive(kept / "1e/1ed.tar.gz", "osu-micro-benchmarks-7.4/configure")
    archive(kept / "0a/0a6.tar.gz", "hpcc-1.5.0/Makefile")
    (kept / "0a/0a7.tar.gz").write_bytes(b"no archive")
    mirror = tmp_path / "mirror"
    archive(mirror / "_source-cache/archive/ac/ace.tar.gz", "mpi-benchmarks-IMB-v2021.7/Makefile")
    monkeypatch.setenv("SPACK_MIRROR", str(mirror))
    assert {suite: path.rsplit("/", 1)[1] for suite, path in find_sources(workspace).items()} == {
        "osu": "1ed.tar.gz",
        "imb": "ace.tar.gz",
    }


def test_of_several_archives_the_newest_is_taken(workspace):
    kept = workspace.spack / "sources/_source-cache/archive"
    archive(kept / "0a/0a0.tar.gz", "NPB3.4.1/NPB3.4-MPI/CG/cg.f90")
    archive(kept / "4a/4a8.tar.gz", "NPB3.3.1/NPB3.3-MPI/CG/cg.f")
    archive(kept / "5a/5a0.tar.gz", "osu-micro-benchmarks-7.10/configure")
    archive(kept / "6a/6a0.tar.gz", "osu-micro-benchmarks-7.9/configure")
    found = find_sources(workspace)
    assert found["npb"].endswith("0a0.tar.gz")
    assert found["osu"].endswith("5a0.tar.gz")


def test_the_release_of_npb_is_that_of_its_folder(tmp_path):
    archive(tmp_path / "old.tar.gz", "NPB/README", "NPB/NPB3.3-MPI/CG/cg.f")
    (tmp_path / "new/NPB3.4-MPI").mkdir(parents=True)
    names = ("old.tar.gz", "new", "none")
    assert [release_of_npb(str(tmp_path / name)) for name in names] == ["3.3", "3.4", ""]


def test_what_a_variable_names_goes_first(workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("OSU_SOURCE", str(tmp_path / "osu"))
    assert find_sources(workspace) == {"osu": str(tmp_path / "osu")}


def test_a_build_that_fails_leaves_nothing_that_looks_built(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    folder = build_folder("osu", str(source), tmp_path / "var")
    done = subprocess.run(
        build_command("osu", str(source), folder), shell=True, capture_output=True, check=False
    )
    assert done.returncode
    assert not folder.exists()


def osu(folder, configure):
    """Make a source of OSU whose configure is this script; return the command that builds it."""
    source = folder / "source"
    source.mkdir()
    (source / "configure").write_text(f"#!/bin/sh\n{configure}\n")
    (source / "configure").chmod(0o755)
    built = build_folder("osu", str(source), folder / "var")
    return source, build_command("osu", str(source), built), built


def test_no_file_of_a_source_seems_newer_than_what_is_made_of_it(tmp_path):
    """As automake has it: what autoconf made is made again where its own source is newer."""
    pairs = [(f"made{n}", f"source{n}") for n in range(8)]
    rules = "".join(f"{made}: {of}\\n\\t@echo {made} is made again; false\\n" for made, of in pairs)
    targets = " ".join(made for made, _ in pairs)
    source, command, built = osu(tmp_path, f"printf 'all: {targets}\\n{rules}' > Makefile")
    for made, of in pairs:
        (source / made).touch()
        (source / of).touch()  # just after it
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert built.is_dir()


def test_a_source_without_configure_is_told(tmp_path):
    source, command, _ = osu(tmp_path, "")
    (source / "configure").unlink()
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert f"{source} has no configure (autoreconf -fi makes it)" in done.stderr


def test_a_build_that_failed_is_not_tried_again_by_the_same_process(tmp_path, monkeypatch):
    tries = tmp_path / "tries"
    source, command, built = osu(tmp_path, f"echo one >> {tries}; echo cause >&2; exit 1")
    for _ in "12":
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "cause\n")
    assert tries.read_text() == "one\n"
    monkeypatch.setattr(systems, "_BEGAN", time.time_ns())
    subprocess.run(build_command("osu", str(source), built), shell=True, check=False)
    assert tries.read_text() == "one\none\n"
