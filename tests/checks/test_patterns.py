"""`checks/patterns.py`: our own program, compiled with each MPI of this machine and run."""

import shutil

import pytest

from acceptance.machine import externals
from acceptance.suites import patterns
from tests import stored as results
from tests.conftest import Site
from tests.needs import requires, requires_cores
from tests.places import WHEELS

MPIS = {f"debian-{name}": f"{name}@" for name in externals.mpi_names()}
MPIS |= {"wheels": "intel-mpi@"} if (WHEELS / "bin/mpicc").exists() else {}

pytestmark = [
    requires("gcc"),
    pytest.mark.skipif(not MPIS, reason="no MPI: make setup, or install libopenmpi-dev"),
    requires_cores(2),
]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return a site on which some patterns were measured with each MPI, all in one run."""
    site = Site(tmp_path_factory.mktemp("patterns"))
    done = site.reframe(
        "-c", "checks/patterns.py", "-r", "-p", "|".join(f"{name}$" for name in MPIS),
        "-n", "%benchmark=(aapc|distance)",
    )  # fmt: skip
    assert done.status == 0, done.output
    return site


def test_each_mpi_compiles_and_runs_it_and_all_metrics_are_there(measured):
    cases = results.session(measured.database).cases
    builds = {case.environment: case for case in cases if case.fixture}
    assert builds.keys() == MPIS.keys()
    runs = [case for case in cases if not case.fixture]
    assert len(runs) == 2 * len(MPIS)
    for case in runs:
        row = patterns.BENCHMARKS[case.benchmark.removeprefix("patterns.")]
        assert {metric.name for metric in case.metrics} == {*patterns.metrics(row, 2)}
        assert case.provenance.items() >= builds[case.environment].provenance.items()
        assert case.provenance["suite"] == "patterns 1.0"
        assert case.keys["np"] == "2"
    for environment, case in builds.items():
        assert case.provenance["sources"] == patterns.checksum()
        assert "gcc" in case.provenance["compiler"]
        assert case.provenance["mpi"].startswith(MPIS[environment])


def test_its_verdict_names_suite_and_environments(measured):
    status, verdict = measured.gate()
    assert (status, verdict["problems"]) == (0, [])
    text = measured.acceptance("gate").output
    line = next(line for line in text.splitlines() if line.startswith("suite       patterns"))
    assert line.startswith(f"suite       patterns (patterns 1.0): {2 * len(MPIS)} cases")


def test_the_effective_bandwidth_is_measured_shortly(tmp_path):
    site, environment = Site(tmp_path), min(MPIS)
    done = site.reframe("-c", "checks/patterns.py", "-r", "-p", environment, "-n", "b_eff")
    assert done.status == 0, done.output
    (case,) = (case for case in results.session(site.database).cases if not case.fixture)
    assert case.keys["repetitions"] == "1"
    assert {metric.name for metric in case.metrics} == {
        *patterns.metrics(patterns.BENCHMARKS["b_eff"], 2)
    }


def test_a_corrupted_message_is_the_reason_of_the_failure_with_each_mpi(tmp_path):
    site = Site(tmp_path)
    done = site.reframe(
        "-c", "checks/patterns.py", "-r", "-p", "|".join(f"{name}$" for name in MPIS),
        "-n", "%benchmark=distance", PATTERNS_TEST_CORRUPT="1:13:1",
    )  # fmt: skip
    assert done.status == 1
    cases = [case for case in results.session(site.database).cases if not case.fixture]
    assert len(cases) == len(MPIS)
    for case in cases:
        assert ": patterns: rank 0 on " in case.fail_reason
        assert "(timed) is wrong from byte 13 on" in case.fail_reason


def compiler(site, text):
    """Give the site one environment, whose mpicc does what the lines say."""
    folder = site.folder / "bin"
    folder.mkdir()
    if text:
        (folder / "mpicc").write_text(f"#!/bin/sh\n{text}\n")
        (folder / "mpicc").chmod(0o755)
    site.add_system(f"""
        site_configuration = {{
            "systems": [{{
                "name": "made", "hostnames": [".*"], "prefix": {str(site.var)!r},
                "partitions": [{{
                    "name": "default", "scheduler": "local", "launcher": "mpirun",
                    "environs": ["own"], "max_jobs": 1, "extras": {{"nodes": 1, "cores": 2}},
                }}],
            }}],
            "environments": [{{
                "name": "own", "features": ["patterns"], "target_systems": ["made"],
                "extras": {{"mpi": "openmpi"}},
                "env_vars": [["PATH", "{folder}:{site.folder}/path"]],
            }}],
        }}
    """)


def test_a_compiler_that_fails_is_told_with_its_first_error(site):
    compiler(site, 'echo "main.c:1:10: fatal error: stdio.h: No such file" >&2; exit 1')
    path = site.folder / "path"
    path.mkdir()
    for program in ("make", "sh", "cat", "mkdir", "bash"):
        (path / program).symlink_to(shutil.which(program))
    site.reframe("-c", "checks/patterns.py", "-r", "-n", "aapc")
    status, verdict = site.gate()
    assert status == 1
    message = verdict["problems"][0]["text"]
    assert "mpicc could not build Communication patterns for own: main.c:1:10: fatal" in message


def test_without_a_compiler_of_the_mpi_it_says_what_is_missing(site):
    compiler(site, "")
    rows = site.acceptance("doctor", "--system", "made", "--format", "json").data
    (row,) = (row for row in rows if row["what"] == "Communication patterns")
    assert "no mpicc is on the PATH that its `modules` and `env_vars` make" in row["found"]
    assert "a C compiler (Debian: gcc libc6-dev)" in row["remedy"]
