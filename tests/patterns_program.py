"""The program of `checks/src/patterns`, built and started with each MPI that is here."""

import atexit
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from acceptance.suites import all_pairs
from tests import needs
from tests.places import PATIENCE, ROOT, WHEELS

SOURCES = ROOT / "checks/src/patterns"
#: Open MPI refuses to run as root otherwise; it is asked to give way where ranks share a core.
_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@dataclass(frozen=True)
class Mpi:
    """An MPI: its compiler, its launcher, and what these require in the environment."""

    compiler: Path
    launcher: Path
    variables: dict[str, str]


def _debian(name: str, variables: dict[str, str]) -> Mpi:
    programs = [shutil.which(f"{kind}.{name}") for kind in ("mpicc", "mpirun")]
    return Mpi(*(Path(program or "/missing") for program in programs), variables)


MPIS = {
    "openmpi": _debian("openmpi", _OPEN_MPI),
    "mpich": _debian("mpich", {}),
    "intel-mpi": Mpi(
        WHEELS / "bin/mpicc",
        WHEELS / "bin/mpiexec.hydra",
        {
            "I_MPI_ROOT": str(WHEELS),
            "LD_LIBRARY_PATH": f"{WHEELS}/lib:{WHEELS}/opt/mpi/libfabric/lib",
        },
    ),
}


@cache
def build(name: str, *options: str) -> Path:
    """Return the program, built with this MPI once for all tests of a process.

    The test is skipped without it.
    """
    mpi = MPIS[name]
    needs.skip_for(needs.why_no_mpi(name) or needs.why_not("gcc"))
    folder = Path(tempfile.mkdtemp(prefix="patterns-"))
    atexit.register(shutil.rmtree, folder)
    command = ["make", "-C", SOURCES, f"MPICC={mpi.compiler}", f"BUILD={folder}", *options]
    if options or name != "openmpi":
        command.append("CFLAGS=-O0")  # one is built as users build it; to optimize takes longest
    done = subprocess.run(
        command,
        env=environment(name),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "patterns"


def environment(name: str) -> dict[str, str]:
    """Return the environment in which this MPI's compiler and launcher work."""
    return {**os.environ, **MPIS[name].variables}


def run(name, program, ranks, *options, **variables):
    """Start the program with so many ranks; return what it printed, and its exit status."""
    return subprocess.run(
        [MPIS[name].launcher, "-n", str(ranks), program, *options],
        env={**environment(name), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def whole(text, ranks=0):
    """Return what `patterns all-pairs` has written; raise the fault where it is not complete."""
    measured = all_pairs.Measured(text, ranks=ranks)
    if measured.fault:
        raise measured.fault
    return measured
