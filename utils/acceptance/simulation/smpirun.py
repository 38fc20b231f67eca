"""SimGrid's programs: whether they are here, and which version."""

import functools
import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from acceptance.core import process
from acceptance.core.errors import Fault
from acceptance.launch import usable_cores, usable_memory

#: Builds a suite from its source.
BUILD = Path(__file__).with_name("build.sh")
#: When this process began, in ns of the epoch: a build that fails is not tried again in it.
_BEGAN = time.time_ns()
#: Ends a simulation that takes too much memory.
WATCH = Path(__file__).with_name("watch.sh")
#: MB that a simulation may take, if not its share of the machine's memory.
MEMORY = "ACCEPTANCE_SIMULATION_MB"
#: MB of the machine for each of the simulations that run at once, and the share that they may take.
_FOR_EACH, _SHARE = 2000, 0.8


def has_simgrid() -> bool:
    """Tell whether SimGrid's launcher and compiler are on PATH."""
    return all(map(shutil.which, ("smpirun", "smpicc")))


@functools.cache
def simgrid_version() -> str:
    """Return the version of the SimGrid on PATH, which prints `SimGrid version 3.32`."""
    done = process.run(["smpirun", "-version"], timeout=20)
    words = done.out.split()
    return words[-1] if words else ""


def build_folder(suite: str, source: str, var: Path, programs: Sequence[str] = ()) -> Path:
    """Return where a suite is built for SimGrid from a source; raises OSError without a source."""
    stat = os.stat(source)
    key = f"{source} {stat.st_mtime_ns} {stat.st_size} {simgrid_version()} {BUILD.read_text()}"
    key = " ".join((key, *programs))
    return var / "simulated" / f"{suite}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def build_command(suite: str, source: str, folder: Path, programs: Sequence[str] = ()) -> str:
    """Return the command that builds a suite for SimGrid, unless it is built.

    Of NPB only the `programs` are built, which are named as those of NPB 3.3: `cg.S.16`.
    """
    return shlex.join(["sh", str(BUILD), suite, source, str(folder), str(_BEGAN), *programs])


def most_at_once() -> int:
    """Return how many simulations this machine has cores and memory for."""
    return max(1, min(usable_cores(), usable_memory() // (_FOR_EACH * 10**6)))


def memory_limit() -> int:
    """Return the MB that one simulation may take; raises Fault for a number that is none."""
    stated = os.environ.get(MEMORY, "")
    if stated and not (stated.isdecimal() and int(stated)):
        raise Fault(f"{MEMORY}={stated}: has to be a whole number of MB")
    return int(stated or _SHARE * usable_memory() / 10**6 / most_at_once())


def launch_command(processes: int) -> list[str]:
    """Return the command that launches simulated ranks, without the platform and their hosts.

    SimGrid says where it puts each rank (`-map`), and little else.
    """
    quiet = [f"--log={name}.thres:warning" for name in ("xbt_cfg", "smpi_config")]
    watch = shlex.quote(shlex.join(["sh", str(WATCH), str(memory_limit())]))
    return ["smpirun", "-np", str(processes), "-map", *quiet, "-wrapper", watch]
