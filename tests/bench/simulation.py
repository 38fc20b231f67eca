"""What simulations of many nodes cost, and whether one slow cable is named among them.

Run by `make bench`; asserts nothing. A fat tree of HDR in full bisection, a rank on each node:
all pairs in 4 rounds with a cable at half its rate, and one MPI_Allreduce and MPI_Alltoall of 8
bytes. `wall` and `memory` are those of SimGrid, `file` the seconds to write the platform.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from acceptance.core.text import table
from acceptance.fabric import Facts
from acceptance.machine import Layout
from acceptance.machine.placement import HOST_FILE, PLATFORM_FILE
from acceptance.nodes import culprits
from acceptance.simulation import Injected, Platform, SimulatedRun, Tree, write
from acceptance.suites import all_pairs
from acceptance.suites.all_pairs import Measured
from acceptance.suites.patterns import SOURCES
from tests import needs
from tests.places import ROOT

HDR = Facts.read(
    {"technology": "infiniband", "rate": "HDR", "lanes": 4, "pcie": "4.0", "pcie_lanes": 16}
)
#: Nodes -> nodes of a leaf, which has as many spines.
TREES = {64: 8, 256: 16, 1024: 32}
MATRIX = "all-pairs.txt"


def why_not():
    """Say what is missing; empty where the bench can run."""
    return needs.why_not("smpirun") or ""


def build(folder):
    """Build both programs; return them."""
    program = folder / "collectives"
    source = ROOT / "tests/bench/collectives.c"
    subprocess.run(["smpicc", "-O2", "-o", program, source], check=True)
    built = ["make", "-s", "-C", SOURCES, "MPICC=smpicc", f"BUILD={folder}/patterns"]
    subprocess.run(built, check=True)
    return program, folder / "patterns/patterns"


def run(folder, nodes, *command):
    """Return the seconds and the MB that a simulation took, and what it printed."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    quiet = [f"--log={name}.thres:warning" for name in ("xbt_cfg", "smpi_config")]
    done = subprocess.run(
        ["smpirun", "-np", str(nodes), *quiet, "-platform", PLATFORM_FILE, "-hostfile", HOST_FILE,
         *map(str, command)],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    # The largest child so far: those of this bench grow from line to line.
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    memory = f"{most / 1000:.0f}" if most > before else f"<= {most / 1000:.0f}"
    return time.monotonic() - began, memory, done.stdout


def named(folder, nodes):
    """Return the places that the culprits of a matrix name."""
    matrix = Measured((folder / MATRIX).read_text(), MATRIX, nodes).matrix
    return " ".join(e.subject for e in culprits.find(matrix) if e.fails) or "nothing"


def rows(folder, nodes, collectives, patterns):
    """Yield a row for each program."""
    slow = f"n{nodes // 2 - 12}"
    began = time.monotonic()
    platform = Platform.of(HDR, nodes, tree=Tree(TREES[nodes], TREES[nodes]))
    healthy = SimulatedRun.of(HDR, platform, Layout(nodes, 1, "inter-node"))
    write(folder, Injected.of(f"cable-half:{slow}").apply(healthy))
    written = f"{time.monotonic() - began:.1f}"
    shifts = ",".join(map(str, all_pairs.shifts(nodes, 4)))
    seconds, memory, _ = run(
        folder, nodes, patterns, "all-pairs", "--bytes", all_pairs.SIMULATED_LARGE, "--limit", 3600,
        "--output", MATRIX, "--timeout", 0, "--time", all_pairs.SIMULATED, "--shifts", shifts,
    )  # fmt: skip
    what = f"slow: {slow}, named: {named(folder, nodes)}"
    yield (nodes, f"all pairs, shifts {shifts}", written, f"{seconds:.1f}", memory, what)
    seconds, memory, printed = run(folder, nodes, collectives)
    yield nodes, "allreduce, alltoall", "", f"{seconds:.1f}", memory, printed.strip() + " us"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", choices=TREES, default=[*TREES])
    found = []
    with tempfile.TemporaryDirectory() as name:
        programs = build(Path(name))
        for nodes in parser.parse_args().nodes:
            found += rows(Path(name), nodes, *programs)
    header = ("nodes", "program", "file s", "wall s", "memory MB", "what came of it")
    print(table(header, found, width=140))
    return 0


if __name__ == "__main__":
    sys.exit(main())
