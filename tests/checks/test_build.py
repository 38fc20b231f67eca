"""The fixture that builds suites: real Spack, real sources, real runs."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from acceptance.ledger import Case
from acceptance.machine import Spack, externals
from acceptance.suites.imb import BENCHMARKS
from tests import stored as results
from tests.builds import NEEDED, SHA_OF_OSU, archive, by_hand, run, trees
from tests.conftest import MIRROR, Result, Site
from tests.needs import requires, requires_cores
from tests.places import HERE, ROOT

pytestmark = NEEDED


def imb(site):
    environment = f"spack-{externals.mpi_names()[0]}"
    return run(
        site, "imb", environment, "-n", "PingPong|Allreduce", "-S", "ImbMpi1.msglog=0:4"
    )  # fmt: skip


def kill_a_build(site):
    """Start a build of IMB, and kill it as soon as its sources are unpacked."""
    process = subprocess.Popen(
        [
            *("reframe", "-c", "checks/imb.py", "-r", "-n", "Barrier"),
            *("-p", f"spack-{externals.mpi_names()[0]}"),
        ],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=site.variables(),
        cwd=ROOT,
    )
    stage = site.var / "spack/stage"
    deadline = time.monotonic() + 300
    # Spack adds the name of the user to a path that lacks it.
    unpacked = "*intel-mpi-benchmarks*/spack-src/src_cpp"
    while not [*stage.glob(unpacked), *stage.glob(f"*/{unpacked}")]:
        assert process.poll() is None, "ended before it had begun to build"
        assert time.monotonic() < deadline
        time.sleep(0.2)
    kill_with_children(process.pid)
    process.wait()


def kill_with_children(pid):
    """Kill a process that a test started, and all that descend from it; ReFrame's jobs have
    sessions of their own."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(pid, signal.SIGKILL)
    for child in children:
        kill_with_children(int(child))


@dataclass(frozen=True)
class ImbBuilt:
    """The site where IMB was built for its first MPI, after a build that was killed."""

    site: Site
    #: The installed trees when the first build had been killed.
    left: list[Path]
    done: Result
    cases: tuple[Case, ...]
    gate: int


@pytest.fixture(scope="session")
def imb_built(built):
    """Kill the first build of IMB in the middle, and let the next run complete it."""
    kill_a_build(built)
    left = trees(built)
    return ImbBuilt(built, left, *imb(built), built.gate()[0])


def test_a_build_that_was_killed_is_completed_by_the_next_run(imb_built):
    assert not [tree for tree in imb_built.left if "intel-mpi-benchmarks" in str(tree)]
    assert imb_built.done.status == 0, imb_built.done.output
    assert imb_built.cases[-1].metrics


def test_imb_is_built_once_and_runs(imb_built):
    built, mpi = imb_built.site, externals.mpi_names()[0]
    assert imb_built.done.status == 0, imb_built.done.output
    fixture, *consumers = imb_built.cases
    assert fixture.provenance["spec"] == "intel-mpi-benchmarks@2021.11"
    assert fixture.provenance["mpi"].startswith(f"{mpi}@")
    assert fixture.provenance["compiler"].startswith("gcc@")
    assert all(len(fixture.provenance[name]) == 40 for name in ("spack_commit", "packages_commit"))
    assert len(consumers) == 2
    for case in consumers:
        assert case.provenance.items() >= fixture.provenance.items()
        assert case.provenance["suite"] == "IMB 2021.11"
        assert case.metrics
    assert imb_built.gate == 0
    (lock,) = built.var.glob(f"output/*/local/default/spack-{mpi}/ImbBuild*/spack.lock")
    assert json.loads(lock.read_text())["concrete_specs"]
    (tree,) = [tree for tree in trees(built) if tree.name.endswith(fixture.provenance["hash"])]
    programs = {path.name for path in (tree / "bin").iterdir()}
    # Open MPI 4.1 is of MPI 3.1, which knows no persistent collectives, and without CUDA.
    others = {"IMB-MPI4", "IMB-MPI1-GPU"}
    assert programs | others == {row.program for row in BENCHMARKS.values()}

    installed = {path: path.stat().st_mtime_ns for path in trees(built) if path.is_dir()}
    assert installed
    done, again = imb(built)
    assert done.status == 0, done.output
    assert {path: path.stat().st_mtime_ns for path in installed} == installed
    assert set(trees(built)) >= set(installed)
    assert again[0].provenance == fixture.provenance


@pytest.mark.skipif(archive(SHA_OF_OSU) is None, reason=f"{MIRROR} has no OSU 7.4")
def test_osu_is_built_and_runs(built):
    done, (fixture, *consumers) = run(
        built, "osu", f"spack-{externals.mpi_names()[0]}",
        "-n", r"benchmark=(latency|mbw_mr|allreduce|put_bw)\b", "-S", "sizes=1:1024",
        *by_hand(SHA_OF_OSU, "OsuBuild"),
    )  # fmt: skip
    assert done.status == 0, done.output
    assert fixture.provenance["spec"] == "osu-micro-benchmarks@7.4"
    assert consumers
    assert all(case.metrics and case.provenance["suite"] == "OSU 7.4" for case in consumers)


@pytest.mark.skipif(archive(SHA_OF_OSU) is None, reason=f"{MIRROR} has no OSU 7.4")
@requires("mpirun.openmpi", "mpicc.openmpi")
@requires_cores(2)
def test_the_balance_of_this_machine_is_that_of_its_two_results(built):
    done = built.reframe(
        "-c", "checks/osu.py", "-c", "checks/balance.py", "-r", "-p", "spack-openmpi",
        "-n", "CommunicationBalance%benchmark=latency", "-S", "sizes=1:256",
        "-S", "validate=no", *by_hand(SHA_OF_OSU, "OsuBuild"),
    )  # fmt: skip
    assert done.status == 0, done.output
    cases = {case.name.split()[0]: case for case in results.session(built.database).cases}
    inside, through = (
        {metric.name: metric.value for metric in cases[name].metrics}
        for name in ("OsuBenchmark", "OsuLoopback")
    )
    found = cases["CommunicationBalance"]
    assert cases["OsuLoopback"].keys["intranode"] == found.keys["intranode"] == "loopback"
    assert [(metric.name, metric.value) for metric in found.metrics] == [
        (f"ratio_{2**n}", inside[f"latency_{2**n}"] / through[f"latency_{2**n}"]) for n in range(9)
    ]


@pytest.fixture
def fresh(site, built):
    """A site that has built nothing yet; what Spack knows and considers of recipes is given."""
    site.environment |= built.environment
    for name in ("misc", "config"):
        shutil.copytree(built.var / "spack" / name, site.var / "spack" / name)
    return site


def test_what_tests_leave_out_of_consideration_changes_no_choice(imb_built, fresh):
    shutil.rmtree(fresh.var / "spack/config")
    chosen = fresh.var / f"spack/envs/local-imb-{externals.mpi_names()[0]}"
    shutil.copytree(imb_built.site.var / chosen.relative_to(fresh.var), chosen)
    # What is installed would be chosen again.
    asked = (chosen / "spack.yaml").read_text()
    assert "reuse: true" in asked
    (chosen / "spack.yaml").write_text(asked.replace("reuse: true", "reuse: false"))
    lock = chosen / "spack.lock"
    quick = json.loads(lock.read_text())
    lock.unlink()
    done = fresh.spack("-e", chosen, "concretize")
    assert done.status == 0, done.errors
    whole = json.loads(lock.read_text())
    assert whole["roots"] == quick["roots"]
    assert whole["concrete_specs"].keys() == quick["concrete_specs"].keys()


def test_what_was_built_otherwise_is_skipped_unless_it_is_asked_for(fresh):
    """Of another version of the MPI, say: building takes its time, and nobody asked for it."""
    mpi = externals.mpi_names()[0]
    older = fresh.var / f"spack/envs/local-imb-{mpi}"
    older.mkdir(parents=True)
    (older / "spack.yaml").write_text("spack: {}\n")
    (older / "spack.lock").write_text("{}\n")
    del fresh.environment["ACCEPTANCE_BUILD"]
    listed = fresh.reframe("-c", "checks", "-l", "-p", f"spack-{mpi}").output
    assert {*re.findall(r"\^(\w+) ~", listed)} == {"ImbBuild"}
    done, cases = run(fresh, "imb", f"spack-{mpi}", "-n", "PingPong|Barrier")
    (note,) = (note for note in fresh.gate()[1]["notes"] if note.startswith("skipped: "))
    assert "Spack has not built it as it is asked for" in note
    assert "ACCEPTANCE_BUILD=imb" in note
    assert "make run ACCEPTANCE_BUILD=hpcc," in done.output
    assert not any(case.metrics for case in cases)
    assert not (fresh.var / "spack/opt").exists()


def test_a_wrong_checksum_is_refused(fresh, imb_built, tmp_path):
    source = archive("728b522b")
    copy = tmp_path / "mirror" / source.relative_to(MIRROR)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(source.read_bytes() + b"changed on the way")
    fresh.environment["SPACK_MIRROR"] = str(tmp_path / "mirror")
    mpi = externals.mpi_names()[0]
    # What is to be built is known already, which saves half a minute of choosing it.
    of_suite = f"spack/envs/local-imb-{mpi}"
    (fresh.var / of_suite).mkdir(parents=True)
    shown = fresh.acceptance("spack", "env", "imb", mpi).output
    (fresh.var / of_suite / "spack.yaml").write_text(shown)
    shutil.copy(imb_built.site.var / of_suite / "spack.lock", fresh.var / of_suite)
    done = fresh.reframe("-c", "checks/imb.py", "-r", "-p", f"spack-{mpi}", "-n", "Barrier")
    assert done.status == 1
    status, verdict = fresh.gate()
    assert status == 1
    failed, left_out, *_ = verdict["problems"]
    assert failed["kind"] == "case-failed"
    assert "Spack could not build Intel MPI Benchmarks" in failed["text"]
    assert "hecksum" in failed["text"]
    assert "\n" not in failed["text"]
    assert left_out["kind"] == "left-out"
    said = fresh.acceptance("gate").output
    assert re.search(r"2 cases: 0 passed, 1 failed, 0 skipped, 1 not run; 1 build among them", said)
    assert not [tree for tree in trees(fresh) if "intel-mpi-benchmarks" in str(tree)]


def test_a_spec_that_cannot_be_concretized_is_reported_in_a_line(fresh):
    found = Spack.find(HERE)
    done = fresh.run(
        "python", "-c",
        "import sys; from pathlib import Path; from acceptance.core.paths import Workspace;"
        "from acceptance.machine import Spack, complaint, compose_environment;"
        "f = Path(sys.argv[1]); f.mkdir(); s = Spack.find(Workspace.of());"
        "t = compose_environment('imb', 'local', sys.argv[2], s).replace('@2021.11', '@1999');"
        "(f / 'spack.yaml').write_text(t); d = s.run('-e', str(f), 'concretize');"
        "print(complaint(d.err + d.out)); sys.exit(d.status)",
        fresh.folder / "env", externals.mpi_names()[0],
    )  # fmt: skip
    assert found is not None
    assert done.status != 0
    line = done.output.strip()
    assert "\n" not in line
    assert "intel-mpi-benchmarks@1999" in line


@pytest.fixture(scope="session")
def mirror(imb_built, tmp_path_factory):
    """A mirror with the sources and the build of IMB."""
    folder = tmp_path_factory.mktemp("mirror") / "portable"
    made = imb_built.site.acceptance(
        "spack", "mirror", folder, "--suite", "imb", SPACK_MIRROR=str(MIRROR)
    )
    assert made.status == 0, made.errors
    assert f"imb with {externals.mpi_names()[0]}: sources and build cache" in made.output
    return folder


@pytest.fixture
def alike(imb_built, tmp_path):
    """A machine with the same paths that has built nothing yet; what it has is set aside."""
    site = imb_built.site
    home, aside = site.var / "spack", tmp_path / "aside"
    home.rename(aside)
    try:
        for name in ("misc", "config"):
            shutil.copytree(aside / name, home / name)
        yield Site(site.folder, dict(site.environment))
    finally:
        shutil.rmtree(home)
        aside.rename(home)


def test_a_mirror_is_enough_for_another_machine(mirror, alike):
    """A build is of an MPI at its path: on machines where that is the same it is only copied."""
    alike.environment["SPACK_MIRROR"] = str(mirror)
    before = {*alike.var.glob("output/**/ImbBuild*/rfm_build.*")}
    done, (fixture, case) = run(
        alike, "imb", f"spack-{externals.mpi_names()[0]}",
        "-n", "Barrier", "-S", "ImbMpi1.msglog=0:4",
    )  # fmt: skip
    assert done.status == 0, done.output
    assert case.metrics
    assert fixture.provenance["spec"] == "intel-mpi-benchmarks@2021.11"
    logs = {*alike.var.glob("output/**/ImbBuild*/rfm_build.*")} - before
    log = "".join(path.read_text() for path in logs)
    assert "Extracting intel-mpi-benchmarks-2021.11" in log, log
    assert "from source" not in log
    assert not [*alike.var.glob("spack/sources/**/*.tar.gz")]


def test_a_mirror_has_what_is_built_below_another_path(mirror, fresh):
    """There the suite is built from its source; what it needs is copied, and moved."""
    fresh.environment["SPACK_MIRROR"] = str(mirror)
    mpi = externals.mpi_names()[0]
    environment = fresh.folder / "env"
    environment.mkdir()
    shown = fresh.acceptance("spack", "env", "imb", mpi).output
    (environment / "spack.yaml").write_text(shown)
    done = fresh.spack("-e", environment, "install", "--only", "dependencies")
    assert done.status == 0, done.errors
    assert "Extracting gcc-runtime" in done.output
    assert "from source" not in done.output
    done = fresh.spack("-e", environment, "fetch")
    assert done.status == 0, done.errors
    assert "http" not in done.output
    (source,) = fresh.var.glob("spack/sources/**/*.tar.gz")
    assert source.read_bytes() == archive("728b522b").read_bytes()


def test_a_program_that_the_build_lacks_is_named(fresh, recorded):
    """An environment that has a suite already is held against the same list of programs."""
    script = fresh.replay(recorded("imb/IMB-MPI1_PingPong.impi.txt"))
    config = fresh.folder / "site.py"
    text = config.read_text()
    text = text.replace('"environs": ["recorded"]', '"environs": ["recorded", "unused"]').replace(
        '"environments": [{', '"environments": [{"name": "unused", "features": ["spack"], '
        '"target_systems": ["replay"]}, {'
    )  # fmt: skip
    config.write_text(text)
    script.unlink()
    fresh.reframe("-c", "checks/imb.py", "-r", "-p", "recorded", "-n", "PingPong.*intra-node")
    status, verdict = fresh.gate()
    assert status == 1
    assert "IMB-MPI1: missing or not executable" in verdict["problems"][0]["text"]
