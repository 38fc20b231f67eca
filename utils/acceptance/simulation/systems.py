"""Simulated systems for ReFrame's configuration, each derived from the file of the real one.

SimGrid's programs: whether they are here, and which version.
"""

import functools
import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.extras import ALL, ExtrasFault, PartitionExtras
from acceptance.core.paths import Workspace
from acceptance.core.words import PREFIX
from acceptance.fabric import GPU_FACTS
from acceptance.machine import (
    ASKED,
    NODES,
    access_of,
    find_sources,
    release_of_npb,
    size_of,
    usable_cores,
    usable_memory,
)

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
    done = machine.run(["smpirun", "-version"], timeout=20)
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


def _most_at_once() -> int:
    """Return how many simulations this machine has cores and memory for."""
    return max(1, min(usable_cores(), usable_memory() // (_FOR_EACH * 10**6)))


def memory_limit() -> int:
    """Return the MB that one simulation may take; raises Fault for a number that is none."""
    stated = os.environ.get(MEMORY, "")
    if stated and not (stated.isdecimal() and int(stated)):
        raise Fault(f"{MEMORY}={stated}: has to be a whole number of MB")
    return int(stated or _SHARE * usable_memory() / 10**6 / _most_at_once())


def launch_command(processes: int) -> list[str]:
    """Return the command that launches simulated ranks, without the platform and their hosts.

    SimGrid says where it puts each rank (`-map`), and little else.
    """
    quiet = [f"--log={name}.thres:warning" for name in ("xbt_cfg", "smpi_config")]
    watch = shlex.quote(shlex.join(["sh", str(WATCH), str(memory_limit())]))
    return ["smpirun", "-np", str(processes), "-map", *quiet, "-wrapper", watch]


#: Nodes, nodes of a leaf, spines of `simulated-fattree`: 16,4,4 unless this says otherwise.
SIZE = "ACCEPTANCE_FATTREE"
#: The variable that names a real system of which there shall be a simulated one without a file.
DERIVED = "ACCEPTANCE_SIMULATED"
#: The variable with the nodes of each partition of a system that is derived from a real one.
AT_MOST = "ACCEPTANCE_SIMULATED_NODES"
#: The variable with a folder that has our own program for SimGrid; without it each run builds it.
BUILT = "ACCEPTANCE_PATTERNS"
#: What of a partition goes on; all else is of its scheduler, launcher and environments.
_KEPT = ("name", "descr", "extras", "processor")

Configured = tuple[dict[str, Any], list[dict[str, Any]]]


def simulated(name: str) -> Configured:
    """Return SYSTEM and ENVIRONMENTS of a simulated system, by the file of the system `name`.

    Raises ExtrasFault for `all` nodes of Slurm where it does not answer, unless `AT_MOST` is set.
    """
    system = machine.names_in(_file_of(name))["SYSTEM"]
    parts = [
        _simulated_part({**part, "extras": _sized(part, f"{name}:{part['name']}")}, {"of": name})
        for part in system["partitions"]
    ]
    return _system(name, f"simulated: {system.get('descr', name)}", parts), _environments()


def fat_tree() -> Configured:
    """Return SYSTEM and ENVIRONMENTS of a simulated fat tree of the size that is asked for.

    One rank stands on a node. Raises ExtrasFault for a size that cannot be read.
    """
    size = os.environ.get(SIZE) or "16,4,4"
    words = size.split(",")
    if len(words) != 3 or not all(word.strip().isdecimal() for word in words):
        raise ExtrasFault(f"{SIZE}={size}: has to be nodes,nodes of a leaf,spines, as 16,4,4")
    nodes, leaf, spines = map(int, words)
    fabric = {
        "technology": "infiniband",
        "rate": "HDR",
        "lanes": 4,
        "pcie": "4.0",
        "pcie_lanes": 16,
    }
    part = {
        "name": "hdr",
        "descr": f"fat tree of {nodes} nodes, {leaf} a leaf, {spines} spines, InfiniBand HDR",
        "processor": {"num_cpus": 1, "num_cpus_per_core": 1, "num_cpus_per_socket": 1},
        "extras": {"nodes": nodes, "cores": 1, "memory": 256 * 10**9, "fabric": fabric},
    }
    parts = [_simulated_part(part, {"of": "fattree", "leaf": leaf, "spines": spines})]
    return _system("fattree", "simulated: a fat tree that nobody has", parts), _environments()


def _file_of(name: str) -> Path:
    folders = [root / "config/systems" for root in Workspace.of().systems]
    for folder in folders:
        if (path := folder / f"{name}.py").is_file():
            return path
    places = ", ".join(map(str, folders))
    raise Fault(f"there is no {name}.py in {places}: no such system to simulate")


def _system(name: str, descr: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": f"{PREFIX}{name}",
        "descr": descr,
        "hostnames": [rf"^{PREFIX}{name}\b"],
        "modules_system": "nomod",
        "prefix": str(Workspace.of().var),
        "partitions": parts,
    }


def _simulated_part(part: dict[str, Any], how: dict[str, object]) -> dict[str, Any]:
    """Return a partition with the same nodes and facts whose jobs SimGrid runs on this machine."""
    kept = {key: part[key] for key in _KEPT if key in part}
    extras = {"mode": "nightly", **part.get("extras", {}), "simulated": how}
    # The model has no GPUs.
    fabric = {key: value for key, value in extras.get("fabric", {}).items() if key not in GPU_FACTS}
    if fabric:
        extras["fabric"] = fabric
    if fabric.get("technology") == "infiniband" and (how.get("spines") or "view" in fabric):
        extras["fabric"] = {**fabric, "view": "here"}
    processor = dict(part.get("processor", {}))
    if "num_cpus" in processor:
        # The model has no sockets: whatever ranks of a node share is alike.
        processor.update(num_sockets=1, num_cpus_per_socket=processor["num_cpus"])
    return {
        **kept,
        "scheduler": "local",
        "launcher": "smpirun",
        "environs": [each["name"] for each in _environments()] or ["builtin"],
        # Simulated time does not depend on what else runs.
        "max_jobs": _most_at_once(),
        "processor": processor,
        "extras": extras,
    }


def _sized(part: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the extras of a partition with as many nodes as checks take of the real one now."""
    extras = part.get("extras", {})
    nodes, asked = extras.get("nodes"), os.environ.get(AT_MOST)
    if asked:
        if not asked.isdecimal() or not int(asked):
            raise ExtrasFault(f"{AT_MOST}={asked}: has to be a whole number from 1")
        return {**extras, "nodes": int(asked)}
    if nodes not in (None, ALL) or part["scheduler"] not in ASKED:
        return dict(extras)
    size = size_of(
        PartitionExtras(nodes or 0),
        part["scheduler"],
        access_of(part),
        part.get("processor"),
    )
    if not size.unknown:
        return {"cores": size.cores, "memory": size.memory, **extras, "nodes": size.nodes}
    if nodes == ALL:
        raise ExtrasFault(
            f"nodes is {ALL!r}, and its scheduler cannot be asked how many these are "
            f"({size.unknown}); set {AT_MOST} to the nodes that the simulated system shall have",
            where=where,
        )
    return {**extras, "nodes": NODES}


def _environments() -> list[dict[str, Any]]:
    if not has_simgrid():
        return []
    sources, built = find_sources(Workspace.of()), os.environ.get(BUILT)
    release = release_of_npb(sources["npb"]) if "npb" in sources else ""
    return [
        {
            "name": "smpi",
            "features": ["mpi", "patterns", *sources],
            "extras": {
                "mpi": "simgrid",
                "sources": sources,
                **({"versions": {"npb": release}} if release else {}),
                **({"suites": {"patterns": built}} if built else {}),
            },
            "cc": "smpicc",
            "cxx": "smpicxx",
            "ftn": "smpiff",
        }
    ]
