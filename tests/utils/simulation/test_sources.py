"""Sources of suites for SimGrid: found, named, and built whole or not at all."""

import io
import subprocess
import tarfile

import pytest

from acceptance.core.paths import Workspace
from acceptance.simulation import build_command, build_folder
from acceptance.software import find_sources


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
