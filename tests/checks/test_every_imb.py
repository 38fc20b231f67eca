"""Every benchmark of IMB with every MPI: two processes, tiny messages, read as its case reads it.

Printed (`-s`) is a table benchmark x MPI: ran, or why not. Intel's wheel is always run; with
`--every-mpi` IMB is built for Debian's MPIs, from the archive that Spack's mirror or `IMB_SOURCE`
has, and run with these and Intel's.
"""

import os
import subprocess

import pytest

from acceptance.suites import imb, imb_output
from tests.conftest import MIRROR, needs_wheels
from tests.needs import requires
from tests.netns import ASLEEP
from tests.places import WHEELS
from tests.recorded import runs

#: Upstream's archive of IMB 2021.11.
ARCHIVE = "_source-cache/archive/72/728b522b*.tar.gz"
FAMILIES = [*dict.fromkeys(row.family for row in imb.BENCHMARKS.values())]
WITHOUT_WHEEL = "not in Intel's wheel"
#: So many that one late process exchanges no two times.
REPETITIONS = 30
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NO_CUDA = "built where CUDA is"
NO_DRIVER = "Please put path to gpu library in LD_LIBRARY_PATH"
OLD_MPI = "MPI 4, which this MPI is not"


def names(family):
    """Return name -> key of the benchmarks of a component."""
    return {row.name: key for key, row in imb.BENCHMARKS.items() if row.family == family}


def rows_of(family):
    return [row for row in imb.BENCHMARKS.values() if row.family == family]


def launched(command, folder, variables):
    """Return the output of a program, or that it ended with a fault."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, timeout=280
    )
    return done.stdout, done.stderr.strip().splitlines()[-1:] if done.returncode else []


def arguments(family, wanted):
    """Return how a component is asked for some of its benchmarks, and few repetitions."""
    (key, *_) = (key for name, key in names(family).items() if name in wanted)
    sized = imb.BENCHMARKS[key].sized
    sizes = imb.message_sizes(key, 2, 2, 4) if sized else []
    own = " ".join(imb.options(key, 2, REPETITIONS, 2, sizes)).split()[1:]
    return [*wanted, *own]


def outcomes(launcher, programs, folder, variables):
    """Return benchmark -> `ran`, or why not."""
    found = {}
    for family in FAMILIES:
        of_two = [name for name, key in names(family).items() if imb.BENCHMARKS[key].runs_with(2)]
        found |= {
            key: f"on {imb.BENCHMARKS[key].multiple} processes"
            for name, key in names(family).items()
            if name not in of_two
        }
        (program,) = {programs / row.program for row in rows_of(family)}
        if not program.exists():
            built = programs != WHEELS / "bin"
            why = (built and {"mpi4": OLD_MPI, "gpu": NO_CUDA}.get(family)) or WITHOUT_WHEEL
            found |= dict.fromkeys(map(names(family).get, of_two), why)
            continue
        # IMB-MT takes one type of data for all: its reductions are not of bytes.
        groups = [of_two]
        if family == "mt":
            sums = [name for name in of_two if imb.BENCHMARKS[names(family)[name]].reduction]
            groups = [sums, [name for name in of_two if name not in sums]]
        for group in groups:
            command = [*launcher, program, *arguments(family, group)]
            output, fault = launched(command, folder, variables)
            found |= dict.fromkeys(map(names(family).get, group), *fault or [output[-80:]])
            if not fault:
                found |= read(family, output)
    return found


def read(family, output):
    """Return benchmark -> `ran` or the parser's fault, of what an output has."""
    found = {}
    for name, text in runs("imb", output):
        key = names(family).get(name)
        try:
            if key:
                row, whole = imb.BENCHMARKS[key], imb_output.parse(text)
                table = whole.only_table(key, 2)
                whole.require_columns(table, [column.name for column in row.columns])
                sizes = imb.message_sizes(key, 2, 2, 4) if row.sized else [None]
                seen = [each.size for each in table.rows]
                found[key] = "ran" if seen == sizes else f"the sizes {seen} instead of {sizes}"
        except ValueError as err:
            found[key] = str(err)
    return found


def show(mpi, found):
    for key, outcome in found.items():
        print(f"{key:32}{mpi:12}{outcome}")


@needs_wheels
def test_every_benchmark_of_the_wheel_runs(tmp_path):
    variables = {
        "LD_LIBRARY_PATH": f"{WHEELS}/lib", "I_MPI_ROOT": str(WHEELS), "OMP_NUM_THREADS": "1",
        **ASLEEP,
    }  # fmt: skip
    launcher = [f"{WHEELS}/bin/mpiexec", "-n", "2"]
    found = outcomes(launcher, WHEELS / "bin", tmp_path, variables)
    show("Intel MPI", found)
    assert {*found} == {*imb.BENCHMARKS}
    for key, outcome in found.items():
        family = imb.BENCHMARKS[key].family
        if family in ("ext", "mpi4", "io", "halo"):
            assert outcome == WITHOUT_WHEEL
        elif family == "mt" and not (WHEELS / "lib/libiomp5.so").exists():
            assert "libiomp5.so" in outcome
        elif family == "gpu":
            assert outcome in ("ran", NO_DRIVER)
        elif not imb.BENCHMARKS[key].runs_with(2):
            assert outcome == f"on {imb.BENCHMARKS[key].multiple} processes"
        else:
            assert outcome == "ran", key


@pytest.fixture(scope="module")
def sources(request):
    """The folder or archive of the source of IMB, where all MPIs are asked for."""
    if not request.config.getoption("--every-mpi", default=False):
        pytest.skip("other MPIs than that of the wheel: pytest --every-mpi")
    found = [os.environ[name] for name in ("IMB_SOURCE",) if name in os.environ]
    found += map(str, MIRROR.glob(ARCHIVE))
    if not found:
        pytest.skip(f"no source of IMB 2021.11: IMB_SOURCE, or {MIRROR / ARCHIVE}")
    return found[0]


BUILD = """
set -e
if [ -d "$1" ]; then cp -R "$1/." .; else tar -xf "$1" --strip-components=1; fi
sed -i 's/-Werror/$(if $(WITH_OPENMP),-fopenmp)/' src_cpp/Makefile
sed -i 's/-Werror//' src_c/P2P/Makefile
export CC=mpicc.$2 CXX=mpicxx.$2
make all
make -C src_cpp TARGET=MPI4 || true
make -C src_cpp TARGET=HALO
cp src_cpp/IMB-MPI4 src_cpp/IMB-HALO . || true
"""


@pytest.fixture(scope="module")
def compiled(sources, tmp_path_factory):
    """Return MPI -> a folder with the programs, compiled when they are asked for."""
    folders = {}

    def folder_of(mpi):
        if mpi not in folders:
            folders[mpi] = tmp_path_factory.mktemp(mpi)
            command = ["sh", "-c", BUILD, "build", sources, mpi]
            done = subprocess.run(command, cwd=folders[mpi], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-2000:]
        return folders[mpi]

    return folder_of


@requires("mpirun.openmpi", "mpicc.openmpi", "mpirun.mpich", "mpicc.mpich")
@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "intel-mpi"])
def test_every_benchmark_runs_with_another_mpi(mpi, compiled, tmp_path):
    launcher, variables = [f"mpirun.{mpi}", "-np", "2"], {**AS_ROOT, "OMP_NUM_THREADS": "1"}
    if mpi == "intel-mpi":
        # Its libraries stand in for those of MPICH, whose interface they have.
        launcher[0] = f"{WHEELS}/bin/mpirun"
        variables |= {"LD_LIBRARY_PATH": f"{WHEELS}/lib", "I_MPI_ROOT": str(WHEELS)}
    found = outcomes(launcher, compiled(mpi.replace("intel-mpi", "mpich")), tmp_path, variables)
    show(mpi, found)
    for key, outcome in found.items():
        row = imb.BENCHMARKS[key]
        if row.family == "mpi4" and outcome == OLD_MPI:
            assert mpi == "openmpi"
        elif row.family == "gpu":
            assert outcome == NO_CUDA
        else:
            wanted = "ran" if row.runs_with(2) else f"on {row.multiple} processes"
            assert outcome == wanted, key
