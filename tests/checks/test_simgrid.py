"""Simulated systems, with the real SimGrid: two runs are the same, and what ends one early."""

import re
import shutil

import pytest

from acceptance.simulation import simgrid_version
from acceptance.suites import SUITES, npb
from tests import stored as results
from tests.checks.test_balance import slower
from tests.conftest import DATA, MIRROR, ROOT, Site
from tests.needs import requires

pytestmark = requires("smpirun")
DISTANCE = ("-c", "checks/patterns.py", "-n", "distance")
ALL_PAIRS = ("-c", "checks/all_pairs.py", "-n", "AllPairs")
#: NPB 3.4.1 in the source mirror.
NPB = sorted(MIRROR.glob("_source-cache/archive/f3/f3a43467da6e*"))


def run(site, *arguments, system="simulated-koop2008:qdr-pcie2", **environment):
    return site.reframe("--system", system, *arguments, "-r", **environment)


def cases(site):
    return {
        case.benchmark: case for case in results.session(site.database).cases if not case.fixture
    }


def values(site):
    return {
        (benchmark, metric.name): metric.value
        for benchmark, case in cases(site).items()
        for metric in case.metrics
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return Site(tmp_path_factory.mktemp("simulated"))


@pytest.fixture(scope="module")
def measured(site):
    """Return what two runs gave, and the cases of the second one."""
    found = []
    for _ in "12":
        done = run(site, *DISTANCE, *ALL_PAIRS)
        assert done.status == 0, done.output
        found.append(values(site))
    return *found, cases(site)


def test_two_runs_give_the_same_values(measured):
    first, second, _ = measured
    assert first == second
    assert len(first) > 20


def test_the_gate_passes_and_says_that_it_is_simulated(site, measured):
    status, verdict = site.gate()
    assert (status, verdict["problems"]) == (0, [])
    for case in measured[2].values():
        assert case.provenance["simulated"].startswith("SimGrid ")
        assert case.keys["nodes"] == "2"


def test_nodes_are_those_of_the_simulation(measured):
    assert measured[2]["patterns.all-pairs"].all_pairs["nodes"] == ["n0", "n1"]


def test_the_slot_bounds_the_peak(measured):
    value = measured[0]["patterns.distance", "bandwidth_peak.distance.15"]
    assert value == pytest.approx(2600, rel=0.005)


def test_ranks_that_simgrid_puts_elsewhere_are_misplaced(site, tmp_path, measured):
    """A launcher that deals ranks out in turn, whatever it was told."""
    program = tmp_path / "smpirun"
    program.write_text(
        "#!/bin/sh\n"
        "if [ -e ranks.hosts ]; then\n"
        "  awk '{print \"n\" (NR + 1) % 2}' ranks.hosts > dealt; mv dealt ranks.hosts\n"
        "fi\n"
        f'exec {shutil.which("smpirun")} "$@"\n'
    )
    program.chmod(0o755)
    path = f"{tmp_path}:{site.variables()['PATH']}"
    done = run(site, *DISTANCE, PATH=path)
    assert done.status != 0
    assert "misplaced: mapping block puts rank 1 on n0, it stood on n1" in done.output


def test_a_simulation_beyond_its_memory_fails_with_a_line(site, measured):
    done = run(site, *DISTANCE, ACCEPTANCE_SIMULATION_MB="9")
    assert done.status != 0
    reasons = [line for line in done.output.splitlines() if "* Reason:" in line]
    assert len(reasons) == 1
    assert "took more memory than the 9 MB that it may" in reasons[0]


def test_without_simgrid_it_says_how_to_get_it(site, tmp_path):
    """Only where a simulated system is asked for."""
    folders = [
        f for f in site.variables()["PATH"].split(":") if not shutil.which("smpirun", path=f)
    ]
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "env", "uname", "hostname", "python3", "git"):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    path = ":".join([str(programs), *folders])
    listed = site.reframe(
        "--system", "simulated-koop2008", "-c", "checks/all_pairs.py", "-l", PATH=path
    )
    said = listed.output + listed.errors
    assert "no case of " in said
    told = site.acceptance("doctor", "--system", "simulated-koop2008", PATH=path).output
    assert "libsimgrid-dev" in told
    assert "libsimgrid-dev" not in site.acceptance("doctor", PATH=path).output


@pytest.mark.skipif(not NPB, reason=f"no NPB 3.4.1 in {MIRROR}: see SPACK_MIRROR")
@requires("gfortran")
def test_communication_of_npb_takes_as_long_as_recorded(tmp_path):
    """Its own verification succeeds: what is computed is real, and takes no time."""
    site = Site(tmp_path)
    done = run(site, "-c", "checks/npb.py", NPB_SOURCE=str(NPB[0]))
    assert done.status == 0, done.output
    found = cases(site)
    assert sorted(found) == [f"npb.{name}" for name in sorted(npb.NAMES)]
    for case in found.values():
        (metric,) = case.metrics
        assert (metric.name, metric.unit) == ("communication_time", "us")
        assert case.provenance["suite"] == "NPB 3.4.1"
    status, verdict = site.gate()
    assert (status, verdict["problems"]) == (0, [])
    if simgrid_version() == "3.32":
        assert verdict["judged"] == {"recorded simulated-koop2008": 8}


@pytest.mark.parametrize("mode", ["nightly", "acceptance"])
def test_npb_is_of_class_s_in_every_mode(site, tmp_path, mode):
    (tmp_path / "NPB3.4-MPI").mkdir()
    done = site.reframe(
        "--system=simulated-koop2008:qdr-pcie2", "-c", "checks/npb.py", "-l", f"--mode={mode}",
        NPB_SOURCE=str(tmp_path),
    )  # fmt: skip
    programs = {*re.findall(r"^- Npb %program=(\S+)", done.output, re.MULTILINE)}
    assert programs == {f"{name}.S.16" for name in npb.NAMES}


def test_a_source_of_npb_that_is_none_is_a_line(site, tmp_path):
    done = run(site, "-c", "checks/npb.py", "-n", "cg", NPB_SOURCE=str(tmp_path))
    assert done.status != 0
    (reason,) = (line for line in done.output.splitlines() if "* Reason:" in line)
    assert f"{tmp_path} has neither NPB3.4-MPI nor NPB3.3-MPI" in reason


def test_a_build_that_fails_is_one_finding_with_its_cause(site, tmp_path):
    """Four partitions take it, and it is tried once."""
    source, tries = tmp_path / "source", tmp_path / "tries"
    source.mkdir()
    (source / "configure").write_text(
        f"#!/bin/sh\necho one >> {tries}; echo \"configure: error: in '$PWD':\" >&2\n"
        "echo 'configure: error: cannot run C compiled programs.' >&2; exit 1\n"
    )
    (source / "configure").chmod(0o755)
    done = run(
        site, "-c", "checks/osu.py", "-n", r"latency\b", system="simulated-koop2008",
        OSU_SOURCE=str(source),
    )  # fmt: skip
    assert done.status != 0
    status, verdict = site.gate()
    (failed,) = (each for each in verdict["problems"] if each["kind"] == "case-failed")
    assert status == 1
    cause = "for smpi: configure: error: cannot run C compiled programs. (all of it: "
    assert cause in failed["text"]
    assert tries.read_text() == "one\n"
    (skipped,) = (note for note in verdict["notes"] if "its build is that of" in note)
    assert ", and 2 more for the same reason" in skipped


PRINTS = """
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {{
        FILE *file = fopen("{output}", "r");
        for (int c; (c = getc(file)) != EOF;)
            putchar(c);
        fclose(file);
    }}
    MPI_Finalize();
    return 0;
}}
"""


def test_the_nodes_of_a_balance_are_those_of_its_two_results(tmp_path):
    """It runs on this machine, which is no node of the simulation."""
    site, source = Site(tmp_path), tmp_path / "source"
    source.mkdir()
    # No message between two nodes is as fast as inside one, and none judges these.
    text = (DATA / "osu/osu_latency.openmpi.txt").read_text()
    output = tmp_path / "output.txt"
    output.write_text(slower(text, 90))
    reference = shutil.copytree(ROOT / "reference", tmp_path / "reference")
    shutil.rmtree(reference / "simulated")
    (source / "osu.c").write_text(PRINTS.format(output=output))
    programs = " ".join(SUITES["osu"].programs)
    (source / "makefile.in").write_text(
        f"all:\n\tsmpicc osu.c -o a.out && for name in {programs}; do cp a.out $$name; done\n"
    )
    (source / "configure").write_text("#!/bin/sh\ncp makefile.in Makefile\n")
    (source / "configure").chmod(0o755)
    done = run(
        site, "-c", "checks/osu.py", "-c", "checks/balance.py", "-S", "validate=no",
        "-n", "CommunicationBalance%benchmark=latency%.*%over=inter-node",
        OSU_SOURCE=str(source), ACCEPTANCE_REFERENCE=str(reference),
    )  # fmt: skip
    assert done.status == 0, done.output
    found = {case.benchmark: case.nodes for case in results.session(site.database).cases}
    assert found["cbr.latency"] == ("n0", "n1")
    _, verdict = site.gate()
    assert verdict["nodes"]["simulated-koop2008:qdr-pcie2"]["benchmarked"] == ["n0", "n1"]
