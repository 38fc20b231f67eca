"""The fixture that builds suites, of HPCC and NPB: real Spack, real sources, real runs.

Of NPB those are versions whose sources a mirror may have; the pinned one is the newest, which
everybody gets who reaches upstream.
"""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from acceptance.core.paths import Workspace
from acceptance.machine import Spack, environment_for, externals, pinned_version
from acceptance.suites import hpcc, npb
from tests.builds import NEEDED, SHA_OF_HPCC, SHA_OF_NPB, archive, by_hand, run, trees
from tests.conftest import MIRROR, Site
from tests.places import ROOT

pytestmark = NEEDED


@pytest.mark.skipif(archive(SHA_OF_HPCC) is None, reason=f"{MIRROR} has no HPCC 1.5.0")
@pytest.mark.parametrize("mpi", externals.mpi_names())
def test_hpcc_is_built_with_an_mpi_of_version_3_and_runs(built, mpi):
    """Without the overlay recipe this does not compile with Open MPI 4."""
    # What a user gets to see is what is built.
    shown = built.acceptance("spack", "env", "hpcc", mpi, SPACK_MIRROR=str(MIRROR)).output
    options = by_hand(SHA_OF_HPCC, "HpccBuild")
    done, (fixture, case) = run(built, "hpcc", f"spack-{mpi}", "-S", "Hpcc.order=500", *options)
    assert done.status == 0, done.output
    (used,) = built.var.glob(f"output/*/local/default/spack-{mpi}/HpccBuild*/spack.yaml")
    assert used.read_text().strip() == shown.strip()
    assert fixture.provenance["spec"] == "hpcc@1.5.0"
    assert fixture.provenance["mpi"].startswith(f"{mpi}@")
    assert case.provenance.items() >= fixture.provenance.items()
    assert case.provenance["order"] == "500"
    assert len(case.metrics) == len(hpcc.METRICS) + len(hpcc.RATIOS)
    assert built.gate()[0] == 0


#: Version of NPB, MPI, and class. A build takes a minute: each release, each MPI and each class
#: once. The old release has a program for each number of processes.
NPB_BUILDS = [
    *(("3.4.1", mpi, "W") for mpi in externals.mpi_names()[:1]),
    *(("3.3.1", mpi, "S") for mpi in externals.mpi_names()[-1:]),
]


#: Version of NPB -> what its environments are called by; ReFrame wants no points there.
ENVIRONMENTS = {version: version.replace(".", "_") for version in SHA_OF_NPB}


@pytest.fixture(scope="session")
def npb_site(built):
    """The same site, whose environments ask for versions that are not the pinned one."""
    site = Site(built.folder, dict(built.environment))
    site.add_system(f"""
        import runpy

        local = runpy.run_path({str(ROOT / "config/systems/local.py")!r})
        environments = [
            {{
                **environ, "name": f"npb-{{name}}-{{environ['extras']['mpi']}}",
                "extras": {{**environ["extras"], "versions": {{"npb": version}}}},
                "target_systems": ["local"],
            }}
            for environ in local["ENVIRONMENTS"] if "spack" in environ["features"]
            for version, name in {ENVIRONMENTS}.items()
        ]
        (partition,) = local["SYSTEM"]["partitions"]
        partition["environs"] += [environ["name"] for environ in environments]
        site_configuration = {{"systems": [local["SYSTEM"]], "environments": environments}}
    """)
    return site


def npb_options(version, mpi, classes):
    """Return the environment that builds a version of NPB, and the options for these classes."""
    environment = f"npb-{ENVIRONMENTS[version]}-{mpi}"
    options = ["-S", f"classes={classes}", *by_hand(SHA_OF_NPB[version], "NpbBuild")]
    return environment, *options


@pytest.fixture(scope="session")
def npb_built(npb_site):
    """Build NPB, two at a time: a build takes one core. Whether all went well is seen later."""

    def build(what):
        # A program of one process, so that the builds beside it disturb nothing.
        environment, *options = npb_options(*what)
        npb_site.reframe("-c", "checks/npb.py", "-r", "-p", environment, "-n", "bt.*.1", *options)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(build, [what for what in NPB_BUILDS if archive(SHA_OF_NPB[what[0]])]))
    return npb_site


@pytest.mark.parametrize(("version", "mpi", "classes"), NPB_BUILDS)
def test_npb_is_built_once_and_runs(npb_built, version, mpi, classes):
    if archive(SHA_OF_NPB[version]) is None:
        pytest.skip(f"{MIRROR} has no NPB {version}")
    installed = {path: path.stat().st_mtime_ns for path in trees(npb_built)}
    assert [path for path in installed if f"/npb-{version}-" in str(path)]
    # MPICH 4.0 over UCX's TCP, the loopback, hangs in MPI_Finalize now and then
    # (https://github.com/pmodels/mpich/pull/6596).
    ways = ("shared", "loopback") if mpi == "openmpi" else ("shared",)
    only = rf"path=({'|'.join(ways)})"
    done, (fixture, *consumers) = run(
        npb_built, "npb", *npb_options(version, mpi, classes), "-n", only, "-S", "all_ways=yes"
    )
    assert done.status == 0, done.output
    assert {path: path.stat().st_mtime_ns for path in trees(npb_built)} == installed

    assert fixture.provenance["spec"] == f"npb@{version}"
    assert fixture.provenance["mpi"].startswith(f"{mpi}@")
    assert len(fixture.provenance["hash"]) == 32
    ran = {(case.benchmark, case.keys["class"], case.keys.get("intranode")) for case in consumers}
    assert ran == {
        (f"npb.{name}", classes, None if name in npb.SQUARE else way)
        for name in npb.NAMES
        for way in ways
    }
    for case in consumers:
        assert case.provenance.items() >= fixture.provenance.items()
        assert case.provenance["suite"].startswith(f"NPB {version[:3]}")
        assert {metric.name for metric in case.metrics} == {
            "mops_total", *(["time"] if classes == "W" else [])
        }  # fmt: skip


def test_the_recipe_has_the_pinned_version_and_lets_the_integers_of_dt_wrap(built, monkeypatch):
    """No source of the pinned version need be there: another one is built."""
    version, mpi, _ = NPB_BUILDS[0]
    if archive(SHA_OF_NPB[version]) is None:
        pytest.skip(f"{MIRROR} has no NPB {version}")
    monkeypatch.setenv("SPACK_MIRROR", str(MIRROR))
    spack = Spack.find(Workspace.of({"ACCEPTANCE_VAR": str(built.var)}))
    folder = environment_for("npb", "local", mpi, spack, version, "names=dt classes=A nprocs=1")
    known = spack.run("-e", str(folder), "versions", "--safe", "npb").out.split()
    assert {pinned_version("npb"), *SHA_OF_NPB} <= {*known}
    as_it_is = ["--no-checksum"] * bool(by_hand(SHA_OF_NPB[version], "NpbBuild"))
    for step in (["concretize"], ["install", *as_it_is]):
        done = spack.run("-e", str(folder), *step)
        assert not done.fault, done.err
    program = (folder / ".spack-env/view/bin/dt.A.x").resolve()
    log = gzip.decompress((program.parents[1] / ".spack/spack-build-out.txt.gz").read_bytes())
    assert b"-fwrapv dt.c\n" in log


def test_a_program_of_npb_that_the_build_lacks_is_named(npb_built):
    """The suite's makefile goes on when one program does not compile, and succeeds."""
    version, mpi, classes = NPB_BUILDS[0]
    if archive(SHA_OF_NPB[version]) is None:
        pytest.skip(f"{MIRROR} has no NPB {version}")
    environment, *_ = npb_options(version, mpi, classes)
    locks = npb_built.var.glob(f"output/*/local/default/{environment}/NpbBuild*/spack.lock")
    roots = (root for lock in locks for root in json.loads(lock.read_text())["roots"])
    (built,) = {root["hash"] for root in roots}
    (folder,) = (path for path in trees(npb_built) if path.name.endswith(built))
    program = folder / f"bin/cg.{classes}.x"
    program.chmod(0o644)
    try:
        options = npb_options(version, mpi, classes)
        done, _ = run(npb_built, "npb", *options, "-n", "ep.*path=shared")
        status, verdict = npb_built.gate()
    finally:
        program.chmod(0o755)
    assert (done.status, status) == (1, 1)
    failed, *_ = verdict["problems"]
    assert failed["kind"] == "case-failed"
    assert "NAS Parallel Benchmarks: " in failed["text"]
    names = f"cg.{classes}.2 or cg.{classes}.x"
    assert f"{names}: missing or not executable, though the build succeeded" in failed["text"]
