"""The checks of applications through real ReFrame: installations made of small scripts.

NAMD, CPMD and SPEC MPI2007 are licensed; what stands in for them prints their documented form
(`tests/made_applications.py`). Himeno's benchmark is compiled from a source that stands in.
"""

import pytest

from acceptance.suites import himeno, specmpi
from tests import stored
from tests.conftest import Site
from tests.made_applications import of_cpmd, of_himeno, of_namd, of_spec
from tests.needs import requires

#: What stands for SPEC's tool: it starts its ranks, and writes the table among its results.
RUNSPEC = """#!/bin/sh
[ "$SPEC" ] || exit 1
echo "$@" > "$SPEC/asked.txt"
cp "$SPEC/table.txt" "$SPEC/result/MPIM2007.002.mref.csv"
"""


def install(folder, processes):
    """Make a folder for each application, with the program, its inputs, and what it prints."""
    programs = {
        "namd/namd2": f"#!/bin/sh\ncat << 'END'\n{of_namd(processes)}END\n",
        # What it prints is its input.
        "cpmd/cpmd.x": '#!/bin/sh\ncat "$1"\n',
        "specmpi/bin/runspec": RUNSPEC,
    }
    for name, text in programs.items():
        program = folder / name
        program.parent.mkdir(parents=True)
        program.write_text(text)
        program.chmod(0o755)
    (folder / "namd/apoa1").mkdir()
    (folder / "namd/apoa1/apoa1.namd").write_text("numsteps 500\n")
    for name in ("c120", "si512", "si512-60"):
        inputs = folder / "cpmd" / name
        inputs.mkdir()
        for step in (1, 2):
            (inputs / f"step{step}.inp").write_text(of_cpmd(name, step, processes))
    spec = folder / "specmpi"
    for name in ("config", "result"):
        (spec / name).mkdir()
    (spec / "shrc").write_text("SPEC=$PWD; export SPEC\n")
    # An earlier run of the same code, which this one must not take for its own.
    (spec / "result/MPIM2007.001.mref.csv").write_text(of_spec(processes=processes, seconds="1.5"))
    (spec / "table.txt").write_text(of_spec(processes=processes))


def environment(name, folder):
    suites = ("namd", "cpmd", "specmpi")
    return {
        "name": name,
        "features": [*suites],
        "target_systems": ["made"],
        "extras": {"suites": {suite: f"{folder}/{suite}" for suite in suites}},
    }


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Return the site, and how a run of all of it with four installations ended."""
    site = Site(tmp_path_factory.mktemp("applications"))
    install(site.folder / "good", 4)
    install(site.folder / "wrong", 2)
    install(site.folder / "without", 4)
    install(site.folder / "idle", 4)
    (site.folder / "idle/specmpi/bin/runspec").write_text("#!/bin/sh\n")
    for name in ("c120", "si512", "si512-60"):
        (site.folder / "idle/cpmd" / name / "step2.inp").write_text("")
    for name in ("namd/apoa1/apoa1.namd", "specmpi/shrc"):
        (site.folder / "without" / name).unlink()
    names = ("good", "wrong", "without", "idle")
    environments = [environment(name, site.folder / name) for name in names]
    configuration = {
        "systems": [{
            "name": "made", "hostnames": [".*"], "prefix": str(site.var),
            "partitions": [{
                "name": "default", "scheduler": "local", "launcher": "local", "max_jobs": 4,
                "environs": [each["name"] for each in environments],
                "extras": {"nodes": 2, "cores": 2, "verify_placement": False, "mode": "acceptance"},
            }],
        }],
        "environments": environments,
    }  # fmt: skip
    site.add_system(f"site_configuration = {configuration!r}\n")
    files = [word for name in ("namd", "cpmd", "specmpi") for word in ("-c", f"checks/{name}.py")]
    done = site.reframe(*files, "-r", "-n", "Namd|benchmark=c120|code=104.milc")
    cases = {
        (case.environment, case.benchmark): case for case in stored.session(site.database).cases
    }
    return site, done, cases


def test_an_installation_gives_the_times_that_its_programs_tell(ran):
    site, done, cases = ran
    values = {
        benchmark: {metric.name: metric.value for metric in case.metrics}
        for (name, benchmark), case in cases.items()
        if name == "good" and benchmark
    }
    assert values == {
        "namd.apoa1": {"time": 137.253464},
        "cpmd.c120": {"time.step.1": 102.15, "time.step.2": 102.15},
        "specmpi.104.milc": {"time": 262.012345},
    }, done.output
    told = {name: cases["good", name].provenance["suite"] for name in values}
    assert [*told.values()] == ["NAMD 2.14", "CPMD 3.13.1", "SPEC MPI2007 2.0"]
    # The suite's tool starts the ranks, and keeps to itself where they stood.
    asked = (site.folder / "good/specmpi/asked.txt").read_text()
    assert asked.startswith(f"--define {specmpi.LAUNCH}=")
    assert "--ranks=4" in asked


def test_what_ran_with_other_processes_or_not_at_all_passes_nowhere(ran):
    _, done, cases = ran
    results = {key: case.result for key, case in cases.items() if key[1] and key[0] != "good"}
    assert results.pop(("without", "cpmd.c120")) == "pass"
    assert results.pop(("idle", "namd.apoa1")) == "pass"
    assert {*results.values()} == {"fail", "fail_deps"}
    for words in (
        "ran with 2 processes instead of 4",
        "without/namd/apoa1/apoa1.namd, which it requires",
        "without/specmpi/shrc, which it requires",
        "runspec: it wrote no table",
        "1 steps instead of 2",
    ):
        assert words in done.output, done.output


#: A program that reads the grid and how to cut it, and prints what the benchmark would.
STAND_IN = """
program stand_in
  include 'mpif.h'
  character(10) :: grid
  character(200) :: line
  integer :: cut(3), rank, ranks, fault
  call mpi_init(fault)
  call mpi_comm_rank(mpi_comm_world, rank, fault)
  call mpi_comm_size(mpi_comm_world, ranks, fault)
  if (rank == 0) then
     read(*, *) grid
     read(*, *) cut
     if (product(cut) /= ranks) print *, 'Invalid number of PE'
     open(10, file='OUTPUT')
     do while (product(cut) == ranks)
        read(10, '(a)', end=1) line
        print '(a)', trim(line)
     end do
1    continue
  end if
  call mpi_finalize(fault)
end program
"""


@requires("gfortran", "mpicc.openmpi", "mpirun.openmpi")
def test_himeno_is_compiled_from_the_folder_that_a_variable_names(tmp_path):
    site = Site(tmp_path)
    source = tmp_path / "source"
    source.mkdir()
    (tmp_path / "output.txt").write_text(of_himeno("XS", 2))
    (source / himeno.SOURCE).write_text(STAND_IN.replace("OUTPUT", str(tmp_path / "output.txt")))
    options = ("-c", "checks/himeno.py", "-p", "debian-openmpi", "-S", "Himeno.grid=XS")
    done = site.reframe(*options, "-r", HIMENO_SOURCE=str(source), SPACK_ROOT=str(tmp_path))
    assert done.status == 0, done.output + done.errors
    (case,) = [case for case in stored.session(site.database).cases if case.benchmark == "himeno"]
    assert case.provenance["parts"] == "2x1x1"
    assert len(case.provenance["sources"]) == 64
    assert case.keys["grid"] == "65x33x33"
    assert [metric.unit for metric in case.metrics] == ["Gflop/s"]
