"""Composition of Spack environments, and what is read from Spack, without running it."""

import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from acceptance.core.errors import Fault
from acceptance.core.paths import ROOT
from acceptance.machine import (
    Spack,
    clone_spack,
    complaint,
    compose_environment,
    environment_for,
    externals,
    features_on_local,
    keep_lock,
    lines_on_builds,
    may_build,
    read_lock,
    spack,
)
from tests import fake_spack
from tests.places import PATIENCE, workspace

IDENTITY = {"spack": "1.1.0", "spack_commit": "abc", "packages_commit": "def"}


@pytest.fixture(autouse=True)
def _own_variables(monkeypatch):
    """Say nothing of a Spack in the environment."""
    for name in ("SPACK_ROOT", "SPACK_PACKAGES", "SPACK_MIRROR", "ACCEPTANCE_BUILD"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake(tmp_path):
    """Make the files by which a Spack and its package repository are known."""
    return Spack(*fake_spack.make(tmp_path), workspace(tmp_path / "var"))


def mpis_of(system):
    packages = yaml.safe_load((ROOT / f"spack-envs/systems/{system}/packages.yaml").read_text())
    known = ("openmpi", "mpich", "mvapich", "mvapich2")
    return [name for name in known if name in packages["packages"]]


SYSTEMS = sorted(path.name for path in (ROOT / "spack-envs/systems").iterdir())
SUITES = sorted(path.stem for path in (ROOT / "spack-envs/suites").iterdir())
BUILDS = [
    (system, suite, mpi)
    for system, suite in itertools.product(SYSTEMS, SUITES)
    for mpi in (externals.mpi_names() if system == "local" else mpis_of(system))
]


@pytest.mark.parametrize(("system", "suite", "mpi"), BUILDS)
def test_every_system_suite_and_mpi_gives_an_environment(system, suite, mpi, fake):
    data = yaml.safe_load(compose_environment(suite, system, mpi, fake))["spack"]
    roots = yaml.safe_load((ROOT / f"spack-envs/suites/{suite}.yaml").read_text())["specs"]
    assert data["specs"] == [f"{spec} ^{mpi}" for spec in roots]
    assert all("@" in spec.split()[0] for spec in roots), "versions are pinned"
    assert data["view"]["default"]["link"] == "roots"
    assert data["packages"]["mpi"]["buildable"] is False
    assert list(data["repos"]) == ["interconnect", "builtin"]
    assert data["config"]["install_tree"]["root"] == str(fake.home / "opt")
    assert "mirrors:" not in data


def test_a_mirror_replaces_all_others(fake, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    monkeypatch.setenv("SPACK_MIRROR", str(mirror))
    text = compose_on_local(fake)
    assert yaml.safe_load(text)["spack"]["mirrors:"] == {
        "site": {"url": mirror.as_uri(), "source": True, "binary": False, "signed": False}
    }
    (mirror / "v3").mkdir()
    text = compose_on_local(fake)
    assert yaml.safe_load(text)["spack"]["mirrors:"]["site"]["binary"] is True


def compose_on_local(fake):
    """Compose for koop2008, which needs nothing of this machine."""
    return compose_environment("imb", "koop2008", mpis_of("koop2008")[0], fake)


def test_a_mirror_that_is_not_there_is_named(fake, monkeypatch):
    monkeypatch.setenv("SPACK_MIRROR", "/nowhere")
    with pytest.raises(Fault, match="SPACK_MIRROR=/nowhere: no such folder"):
        compose_on_local(fake)


def test_checksums_are_never_turned_off(fake):
    settings = yaml.safe_load(compose_on_local(fake))["spack"]
    assert "checksum" not in settings["config"]
    for path in (ROOT / "checks").glob("*.py"):
        assert "no-checksum" not in path.read_text()


@pytest.mark.parametrize(
    ("suite", "system", "mpi", "words"),
    [
        ("imb", "nowhere", "openmpi", "systems/nowhere: missing"),
        ("lapack", "koop2008", "openmpi", "suites/lapack.yaml: cannot be read"),
        ("imb", "koop2008", "lam", "packages have no lam"),
    ],
)
def test_a_missing_part_is_named(fake, suite, system, mpi, words):
    with pytest.raises(Fault, match=words):
        compose_environment(suite, system, mpi, fake)


def test_the_lock_lives_as_long_as_its_environment(fake):
    mpi = mpis_of("koop2008")[0]
    folder = environment_for("imb", "koop2008", mpi, fake)
    (folder / "spack.lock").write_text("{}")
    assert environment_for("imb", "koop2008", mpi, fake) == folder
    assert (folder / "spack.lock").exists()
    (fake.root / "lib/spack/spack/__init__.py").write_text('__version__ = "1.2.0"\n')
    environment_for("imb", "koop2008", mpi, fake)
    assert not (folder / "spack.lock").exists(), "another Spack concretizes anew"
    assert sorted(path.name for path in folder.iterdir()) == ["spack.yaml"]


def test_several_runs_may_ask_for_one_environment_at_once(fake):
    def ask(_):
        return environment_for("imb", "koop2008", "openmpi", fake)

    with ThreadPoolExecutor(4) as pool:
        (folder,) = set(pool.map(ask, range(20)))
    expected = compose_environment("imb", "koop2008", "openmpi", fake)
    assert (folder / "spack.yaml").read_text() == expected
    keep_lock(folder, "{}")
    assert sorted(path.name for path in folder.iterdir()) == ["spack.lock", "spack.yaml"]


def test_spack_is_found_in_the_order_of_the_readme(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert Spack.find(fake.workspace) is None
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Spack.find(fake.workspace) == fake
    other = Spack(tmp_path / "other", None, fake.workspace)
    (other.root / "bin").mkdir(parents=True)
    (other.root / "bin/spack").write_text("#!/bin/sh\n")
    (other.root / "bin/spack").chmod(0o755)
    monkeypatch.setenv("PATH", str(other.root / "bin"))
    assert Spack.find(fake.workspace) == other
    monkeypatch.setenv("SPACK_PACKAGES", str(fake.packages))
    assert Spack.find(fake.workspace).packages == fake.packages
    monkeypatch.setenv("SPACK_ROOT", str(fake.root))
    assert Spack.find(fake.workspace) == fake


def test_spack_is_kept_apart_from_the_users_own(fake):
    places = fake.environment()
    assert {key for key in places if key != "SPACK_PYTHON"} == {
        "SPACK_USER_CONFIG_PATH",
        "SPACK_SYSTEM_CONFIG_PATH",
        "SPACK_USER_CACHE_PATH",
    }
    assert all(str(fake.home) in value for key, value in places.items() if key != "SPACK_PYTHON")


LOCK = {
    "roots": [{"hash": "h1", "spec": "imb"}],
    "concrete_specs": {
        "h1": {
            "name": "intel-mpi-benchmarks",
            "version": "2021.7",
            "hash": "h1",
            "arch": {"target": {"name": "nehalem"}},
            "dependencies": [
                {"hash": "h2", "parameters": {"virtuals": ["mpi"]}},
                {"hash": "h3", "parameters": {"virtuals": ["c", "cxx"]}},
            ],
        },
        "h2": {"name": "openmpi", "version": "4.1.4", "hash": "h2"},
        "h3": {"name": "gcc", "version": "12.2.0", "hash": "h3"},
    },
}


def test_a_lock_tells_what_was_built():
    found = read_lock(json.dumps(LOCK), IDENTITY)
    assert found.pop("lock")
    assert found == {
        "spec": "intel-mpi-benchmarks@2021.7",
        "hash": "h1",
        "compiler": "gcc@12.2.0",
        "mpi": "openmpi@4.1.4",
        "target": "nehalem",
        **IDENTITY,
    }


@pytest.mark.parametrize("lock", ["", "{}", "[]", '{"roots": [], "concrete_specs": {}}'])
def test_a_lock_of_another_form_is_refused(lock):
    with pytest.raises(Fault, match=r"spack\.lock: not of a form"):
        read_lock(lock, IDENTITY)


def test_a_complaint_is_one_line():
    output = (
        "==> Installing x\n==> Error: failed to concretize `x@99` for the following reasons:\n"
        "     1. Cannot satisfy 'x@99'\n     2. more\n"
    )
    assert complaint(output) == (
        "failed to concretize `x@99` for the following reasons: 1. Cannot satisfy 'x@99'"
    )
    assert complaint("") == ""
    assert "\n" not in complaint("a\nb\n")


def test_a_source_that_is_not_there_is_told_with_what_to_do():
    output = (
        "==> Error: FetchError: All fetchers failed for spack-stage-npb-3.4.3-g43447s\n"
        "    file:///mirror/_source-cache/archive/a9/a97c03d7.tar.gz: URLError: <urlopen error>\n"
    )
    assert complaint(output) == (
        "FetchError: All fetchers failed for spack-stage-npb-3.4.3-g43447s file:///mirror/"
        "_source-cache/archive/a9/a97c03d7.tar.gz: URLError: <urlopen error> (no source of this "
        "version in reach; `versions` names another: spack-envs/README.md)"
    )


def test_a_build_that_failed_is_told_by_the_first_error_of_its_log(recorded):
    """The log is of HPCC, not patched, with Open MPI 4: Spack 1.2 breaks the line in two."""
    output = recorded("spack/build_error.hpcc.openmpi.txt")
    assert complaint(output) == (
        "/data/acceptance/var/spack/prefix/openmpi/include/mpi.h:327:59: error: "
        "expected expression before '_Static_assert'"
    )


def have_built(fake, name):
    """Leave the lock of a build in the folder of its environment."""
    lock = fake.home / "envs" / name / "spack.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()


def test_on_local_there_is_what_is_built_and_what_is_asked_for(fake, monkeypatch):
    monkeypatch.delenv("ACCEPTANCE_BUILD", raising=False)
    assert features_on_local("openmpi", fake.workspace) == []
    have_built(fake, "local-osu-openmpi")
    have_built(fake, "local-npb-openmpi-0123abcd")
    assert features_on_local("openmpi", fake.workspace) == ["spack", "mpi", "npb", "osu"]
    assert features_on_local("mpich", fake.workspace) == []
    monkeypatch.setenv("ACCEPTANCE_BUILD", "imb,hpcc")
    assert features_on_local("mpich", fake.workspace) == ["spack", "mpi", "hpcc", "imb"]


def test_a_cluster_builds_unasked(monkeypatch):
    assert may_build("osu", "mycluster")
    assert not may_build("osu", "local")
    monkeypatch.setenv("ACCEPTANCE_BUILD", "imb,osu")
    assert may_build("osu", "local")


def test_what_is_not_built_is_said_with_the_command_that_builds_it(fake, tmp_path, monkeypatch):
    have_built(fake, "local-osu-openmpi")
    have_built(fake, "local-patterns-openmpi-0123abcd")
    monkeypatch.setenv("SPACK_MIRROR", str(tmp_path))
    assert lines_on_builds(["openmpi"], fake) == [
        "not built: hpcc (openmpi), imb (openmpi), npb (openmpi); Spack builds them in about "
        "3 min (3 builds) with: make run ACCEPTANCE_BUILD=hpcc,imb,npb"
    ]
    monkeypatch.setenv("ACCEPTANCE_BUILD", "hpcc,imb,npb")
    assert lines_on_builds(["openmpi"], fake) == []


def test_a_spack_that_reaches_no_source_is_told(fake, monkeypatch):
    monkeypatch.setattr(spack, "PUBLIC", "http://127.0.0.1:1/")
    monkeypatch.setenv("ACCEPTANCE_BUILD", ",".join(SUITES))
    (line,) = lines_on_builds(["openmpi"], fake)
    assert line.startswith("Spack reaches no source, and can build none of what is missing: ")
    for suite in SUITES:
        have_built(fake, f"local-{suite}-openmpi")
    assert lines_on_builds(["openmpi"], fake) == []


def test_make_spack_without_a_network_says_so_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(spack, "GITHUB", "file:///nowhere/")
    with pytest.raises(Fault, match="cannot clone file:///nowhere") as caught:
        clone_spack(tmp_path)
    assert "\n" not in str(caught.value)
    assert "No internet" in str(caught.value)
    assert not list(tmp_path.glob("*.part"))


def test_an_mpi_of_debian_gets_a_prefix_of_its_own(tmp_path):
    root = tmp_path / "usr"
    (root / "bin").mkdir(parents=True)
    for name in ("mpicc.mpich", "mpirun.mpich", "mpiexec.mpich", "mpichversion"):
        (root / "bin" / name).write_text("#!/bin/sh\necho 'MPICH Version:    4.0.2'\n")
        (root / "bin" / name).chmod(0o755)
    assert externals.mpi_names(root) == ["mpich"]
    prefix = externals.prefix_of("mpich", tmp_path / "prefix", root)
    assert externals.identify(prefix / "bin") == ("mpich", "4.0.2")
    assert (prefix / "bin/mpicc").resolve() == root / "bin/mpicc.mpich"
    assert not (prefix / "bin/mpif90").is_symlink(), "nothing points to what is not there"


def test_who_makes_the_prefix_of_an_mpi_at_the_same_moment_does_not_trip_over_the_other(tmp_path):
    root = tmp_path / "usr"
    (root / "bin").mkdir(parents=True)
    for name in ("mpicc", "mpicxx", "mpif77", "mpif90", "mpirun", "mpiexec"):
        (root / "bin" / f"{name}.mpich").touch()
    start = threading.Barrier(4)

    def link(_):
        for number in range(100):
            start.wait(timeout=PATIENCE)
            try:
                externals.prefix_of("mpich", tmp_path / f"prefix/{number}", root)
            except BaseException:
                start.abort()
                raise

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(link, range(4)))
    for number in range(100):
        assert (
            tmp_path / f"prefix/{number}/mpich/bin/mpirun"
        ).resolve() == root / "bin/mpirun.mpich"
