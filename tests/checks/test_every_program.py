"""Every program of OSU with every MPI: two ranks, tiny messages, read as its case reads it.

Printed (`-s`) is a table program x MPI: ran, or why not. What Spack built for other tests is always
run; with `--every-mpi` OSU is built for Debian's MPIs as well, from the archive that Spack's mirror
has, and run with these and Intel's.
"""

import os
import shlex
import subprocess

import pytest

from acceptance.machine import externals
from acceptance.suites import osu
from tests import stored as results
from tests.builds import NEEDED, SHA_OF_OSU, archive, by_hand, trees
from tests.needs import WHEELS, requires
from tests.recorded import mark

#: On two hosts, as bw_fan_in and bw_fan_out require: each rank gets a name of its own.
ON_HOSTS = 'hostname node$OMPI_COMM_WORLD_RANK$PMI_RANK; exec "$@"'
#: Two processes that exchange with each other: a ring has three.
GRAPH = "0,1\n1,0\n"
#: Ends without MPI_Finalize, which Open MPI's launcher calls a failure.
WITHOUT_END = "latency_mt"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def arguments(row):
    """Return how a program is asked for few messages, and for all that its case asks for."""
    asked = ["-m 4:64"] if row.sized else []
    asked += ["-i 20 -x 2"] if row.options else []
    if row.percentiles:
        asked.append("-z" + ",".join(column.name[1:] for column in row.percentiles))
    if row.family == "neighbourhood":
        asked.append("-N graph:graph")
    return shlex.split(" ".join(asked))


def outcome(row, program, launcher, folder, variables):
    """Run a program; return `ran` or why not, and its output."""
    own = ["unshare", "--uts", "sh", "-c", ON_HOSTS, "-"] if row.family == "congestion" else []
    done = subprocess.run(
        [*launcher, *own, str(program), *arguments(row)],
        capture_output=True, text=True, timeout=120, cwd=folder, env=os.environ | variables,
    )  # fmt: skip
    if done.returncode and row.name != WITHOUT_END:
        return f"exited with {done.returncode}: {done.stderr.strip()[-200:]}", done.stdout
    # The job adds the line that has hello's metric.
    added = "launched in 431209 us\n" if row.name == "hello" else ""
    try:
        output = osu.parse(done.stdout + added, row.name, 2, row.name)
        table = output.only_table(row.name, 2)
    except ValueError as err:
        return str(err), done.stdout
    sizes = osu.message_sizes(row.name, 2, 4, 64) if row.sized else [None]
    if [each.size for each in table.rows] != sizes:
        return f"message sizes {[each.size for each in table.rows]}", done.stdout
    wanted = {column.name for column in (*row.columns, *row.percentiles)}
    missing = wanted.difference(*(each.values for each in table.rows))
    return (f"no {sorted(missing)}" if missing else "ran"), done.stdout


def run_all(mpi, folder, launcher, tmp_path, variables):
    """Run all programs below a folder; return name -> outcome, and write what they printed."""
    (tmp_path / "graph").write_text(GRAPH)
    there = {path.name: path for path in folder.rglob("osu_*") if path.is_file()}
    found, printed = {}, []
    for name, row in osu.BENCHMARKS.items():
        if program := there.get(f"osu_{name}"):
            found[name], output = outcome(row, program, launcher, tmp_path, AS_ROOT | variables)
            printed.append(mark(name) + output)
        else:
            found[name] = f"not built: of OSU {row.since}"
        print(f"{name:30}{mpi:14}{found[name]}")
    (tmp_path / f"every.{mpi}.txt").write_text("".join(printed))
    return found


def assert_all_ran(found, version, *, mpi_4):
    """Only what a later version brought may be missing, and what is of MPI 4 for an older MPI."""
    late = {name for name, row in osu.BENCHMARKS.items() if row.since}
    assert {name: why for name, why in found.items() if why != "ran" and name not in late} == {}
    others = {name: why for name, why in found.items() if why != "ran"}
    assert all(why.startswith("not built") for why in others.values()), others
    built = {name for name in late if found[name] == "ran"}
    persistent = {name for name in late if osu.BENCHMARKS[name].family == "persistent-collective"}
    new = {name for name in late if osu.BENCHMARKS[name].since > version}
    assert built | new | (set() if mpi_4 else persistent) == late


class TestSpacks:
    """Those that Spack built for other tests."""

    pytestmark = [*NEEDED, requires("unshare", "hostname")]

    def test_every_program_that_spack_built_runs(self, built, tmp_path):
        mpi = externals.mpi_names()[0]
        done = built.reframe(
            "-c", "checks/osu.py", "-r", "-p", f"spack-{mpi}", "-n", "benchmark=barrier%np=2",
            *by_hand(SHA_OF_OSU, "OsuBuild"),
        )  # fmt: skip
        assert done.status == 0, done.output
        hash_of = results.session(built.database).cases[0].provenance["hash"]
        (folder,) = [path for path in trees(built) if path.name.endswith(hash_of)]
        found = run_all(mpi, folder, [f"mpirun.{mpi}", "-np", "2"], tmp_path, {})
        assert_all_ran(found, "7.4", mpi_4=mpi != "openmpi")
        self.skips_what_it_lacks(built, mpi, [name for name in found if found[name] != "ran"])

    def skips_what_it_lacks(self, built, mpi, lacking):
        """What the build lacks is skipped; nothing fails."""
        asked = [*lacking, "ibarrier"]
        done = built.reframe(
            "-c", "checks/osu.py", "-r", "-p", f"spack-{mpi}", "--mode=acceptance",
            "-S", "OsuBenchmark.iterations=20", "-S", "OsuBenchmark.sizes=4:8",
            "-n", rf"benchmark=({'|'.join(asked)})%np=2%placement=intra-node",
            *by_hand(SHA_OF_OSU, "OsuBuild"),
        )  # fmt: skip
        assert done.status == 0, done.output
        assert done.output.count("[its suite osu has no such program]") == len(lacking)
        assert [case.benchmark for case in results.session(built.database).cases if case.metrics]


@pytest.fixture(scope="module")
def source(request):
    """The archive of OSU, where all MPIs are asked for."""
    if not request.config.getoption("every_mpi"):
        pytest.skip("other MPIs than Spack's: pytest --every-mpi")
    if archive(SHA_OF_OSU) is None:
        pytest.skip("the source mirror has no OSU 7.4")
    return archive(SHA_OF_OSU)


@pytest.fixture(scope="module")
def compiled(source, tmp_path_factory):
    """Return MPI -> a folder with the programs, compiled when they are asked for."""
    folders = {}

    def folder_of(mpi):
        if mpi not in folders:
            folders[mpi] = tmp_path_factory.mktemp(mpi)
            steps = (
                ["tar", "-xf", source, "--strip-components=1"],
                ["./configure", f"CC=mpicc.{mpi}", f"CXX=mpicxx.{mpi}"],
                ["make", "-j2"],
            )
            for step in steps:
                done = subprocess.run(
                    step, cwd=folders[mpi], capture_output=True, text=True,
                    env=os.environ | AS_ROOT,
                )  # fmt: skip
                assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return folders[mpi] / "c/mpi"

    return folder_of


@requires("unshare", "hostname", "mpirun.openmpi", "mpicc.openmpi", "mpirun.mpich", "mpicc.mpich")
@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "intel-mpi"])
def test_every_program_runs_with_another_mpi(mpi, compiled, tmp_path):
    launcher, variables = [f"mpirun.{mpi}", "-np", "2"], {}
    if mpi == "intel-mpi":
        if not (WHEELS / "bin/mpirun").exists():
            pytest.skip(f"no Intel MPI in {WHEELS}: `make setup` installs it on x86_64")
        # Its libraries stand in for those of MPICH, whose interface they have.
        launcher[0] = str(WHEELS / "bin/mpirun")
        variables = {"LD_LIBRARY_PATH": f"{WHEELS}/lib", "I_MPI_ROOT": str(WHEELS)}
    found = run_all(mpi, compiled(mpi.replace("intel-mpi", "mpich")), launcher, tmp_path, variables)
    assert_all_ran(found, "7.4", mpi_4=mpi != "openmpi")
