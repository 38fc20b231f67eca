"""How many nodes, cores and how much memory of a partition jobs take, also where it states none.

What its extras state counts. Else cores are those of ReFrame's own processor information. Slurm,
PBS or Flux is asked which nodes are up, for no job gets more than these, and for what nobody
states; that may take as long as its controller does. Where jobs run on this machine it is looked
at.

What a process may use of this machine follows, and how many processes jobs have.
"""

import functools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.core.extras import ALL, ExtrasFault, PartitionExtras
from acceptance.core.text import shortened
from acceptance.core.words import mismatch
from acceptance.machine import schedulers, slurm
from acceptance.machine.schedulers import ASKED, PBS, access_of, nodes_of
from acceptance.machine.slurm import SLURM, SchedulerFault

#: Prints what the caches of a node are.
CACHE_SCRIPT = Path(__file__).with_name("cache.sh")


def usable_cores(sysfs: Path = Path("/sys"), cpus: set[int] | None = None) -> int:
    """Count the physical cores that this process may compute on; at least 1.

    Hardware threads of one core count once. Bounded by the affinity mask (`cpus`, by default this
    process's own) and by the CPU quota of the control group, rounded down, so that a container
    limited to 2 CPUs on a 64-core host gives 2. Source: Linux, `topology/thread_siblings_list` (a
    `core_id` may come again on each die of a package) and cgroup v2's `cpu.max`.
    """
    mask = os.sched_getaffinity(0) if cpus is None else cpus
    topology = "devices/system/cpu/cpu{}/topology/thread_siblings_list"
    cores = {machine.read_text(sysfs / topology.format(cpu)) or cpu for cpu in mask}
    limit = re.match(r"(\d+) (\d+)$", machine.read_text(sysfs / "fs/cgroup/cpu.max"))
    quota = int(limit[1]) // int(limit[2]) if limit else len(cores)
    return max(1, min(len(cores), quota))


def usable_memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory that jobs on this machine may take; 0 if unknown.

    The machine's, or the limit of the control group where that is less. Source: Linux,
    `/proc/meminfo` (MemTotal in KiB) and cgroup v2's `memory.max`.
    """
    stated = re.search(r"^MemTotal:\s+(\d+)", machine.read_text(root / "proc/meminfo"), re.M)
    total = int(stated[1]) * 1024 if stated else 0
    limit = machine.read_text(root / "sys/fs/cgroup/memory.max").strip()
    return min(total, int(limit)) if limit.isdecimal() else total


_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def last_level_cache(text: str, source: str = "cache.out") -> int:
    """Return the bytes of all last-level caches of a node, from what `machine/cache.sh` said.

    Source of the form: Linux, `cache/index*/{level,size,shared_cpu_list}`. Raises ValueError, with
    the line, when the text is cut or garbled, and when the node reports no cache.
    """
    lines = text.splitlines()
    if not lines or lines[-1] != "end":
        raise ValueError(f"{source}: what the node says of its caches is cut")
    caches: dict[tuple[int, str], int] = {}
    for number, line in enumerate(lines[:-1], 1):
        match = re.match(r"cache (\d+) (\d+)([KMG]) (\S+)\Z", line)
        if not match:
            raise ValueError(f"{source}:{number}: {line!r} describes no cache")
        level, size, unit, cpus = match.groups()
        caches[int(level), cpus] = int(size) * _UNITS[unit]
    if not caches:
        raise ValueError(
            f"{source}: the node reports no caches, so that STREAM cannot be told from a test of "
            'them; write "cache", the bytes of a node\'s last level, into the extras of '
            "its partition"
        )
    last = max(level for level, _ in caches)
    return sum(size for (level, _), size in caches.items() if level == last)


def process_counts(largest: int) -> list[int]:
    """Return 2, 4, 8, ... up to and including the largest count itself."""
    counts = [2**n for n in range(1, largest.bit_length()) if 2**n <= largest]
    return [*counts, largest] if largest > 2 and largest not in counts else counts


#: Nodes that are used of a partition which does not say how many, where a scheduler can be asked:
#: enough for a first verdict that does not wait long.
NODES = 4
#: Names of nodes that a line shows.
_SHOWN = 8
#: Why cores are not known of a partition of PBS.
_THREADS = "PBS counts the CPUs of a node (ncpus), which may be hardware threads"
#: How it is said of a partition that none of its nodes is up.
NONE_UP = "none of its "


@dataclass(frozen=True)
class Size:
    """What jobs take of a partition: nodes, cores of each, bytes of memory of each, 0 if not known.

    `unknown` says why nobody knows nodes or cores; it then has one node without cores. Of a
    partition that states `all`, and where fewer nodes are up than jobs would take, `there` is how
    many these would be if all were up, and `told` says which take no part, and why; both are empty
    of any other. Where none is up `told` begins with `NONE_UP`, and is what `unknown` says.
    """

    nodes: int
    cores: int
    memory: int = 0
    unknown: str = ""
    there: int = 0
    told: str = ""

    @property
    def processes(self) -> int:
        """Return the largest number of processes that a job has."""
        return self.nodes * self.cores


def stated_of(
    extras: Mapping[str, object],
    scheduler: str,
    where: str = "",
    system: str = "",
    launcher: str = "local",
) -> PartitionExtras:
    """Read what a partition states; raises ExtrasFault, also for `all` nodes that nobody can list.

    `scheduler` and `launcher` are ReFrame's, and refused where they place no ranks; `where` are
    file and partition. With its `system` also for one that is simulated and not called so, or the
    other way round.
    """
    stated = PartitionExtras.read(extras, where)
    if refused := schedulers.refusal(scheduler, launcher, stated.verify_placement):
        raise ExtrasFault(refused, where=where)
    if system and (wrong := mismatch(system, stated.simulated)):
        raise ExtrasFault(wrong, where=where)
    if stated.nodes == ALL and scheduler not in (*ASKED, "local"):
        raise ExtrasFault(
            f"nodes is {ALL!r}, and nothing here can ask the scheduler {scheduler} "
            "for its nodes; write how many there are",
            where=where,
        )
    return stated


def size_of(
    stated: PartitionExtras,
    scheduler: str,
    access: Sequence[str] = (),
    processor: Mapping[str, object] | None = None,
) -> Size:
    """Return the size of a partition; `processor` is ReFrame's entry of that name."""
    cores, known = stated.cores or _cores(processor or {}), Size(1, 0)
    if scheduler == "local":
        known = Size(1, usable_cores(), usable_memory())
        # What a site, or ReFrame, says of the processor may be more than this process may use.
        cores = stated.cores or min(cores or known.cores, known.cores)
    elif scheduler in ASKED:
        known = _of_scheduler(scheduler, tuple(access), stated.nodes)
        if scheduler in PBS and not (cores or known.unknown):
            known = replace(known, cores=0, unknown=_THREADS)
    elif not cores:
        known = Size(1, 0, unknown=f"nothing here can ask the scheduler {scheduler}")
    nodes, cores = known.nodes, cores or known.cores
    if scheduler not in ASKED and isinstance(stated.nodes, int):
        nodes = stated.nodes or known.nodes
    if not (nodes and cores):
        return replace(known, nodes=1, cores=0, memory=stated.memory)
    memory = stated.memory or known.memory
    return replace(known, nodes=nodes, cores=cores, memory=memory, unknown="")


def configured_size(partition: Mapping[str, Any]) -> Size | None:
    """Return how many nodes and cores of a partition of the configuration jobs take.

    None where its extras are wrong, which is told by itself: every check refuses them.
    """
    scheduler = partition.get("scheduler", "")
    try:
        stated = stated_of(partition.get("extras", {}), scheduler)
    except ExtrasFault:
        return None
    return size_of(stated, scheduler, access_of(partition), partition.get("processor"))


def _cores(processor: Mapping[str, object]) -> int:
    cpus, threads = processor.get("num_cpus"), processor.get("num_cpus_per_core")
    return cpus // threads if isinstance(cpus, int) and isinstance(threads, int) and threads else 0


@functools.cache
def _of_scheduler(scheduler: str, access: tuple[str, ...], stated: int | str) -> Size:
    """Ask for the nodes that these options choose; a node has what the least of them has.

    `stated` is how many of them jobs take, 0 where nobody says, and counts where nobody answers; of
    `ALL` only those count that are up. Where none is, no job would start.
    """
    try:
        nodes, limits = nodes_of(scheduler, access), list[int | None]()
        names = frozenset.intersection(*(node.partitions for node in nodes))
        if scheduler in SLURM:
            partitions = slurm.all_partitions(*slurm.of_cluster(access))
            limits = [each.most_nodes for each in partitions if each.name in names]
        away = {node.name: node.text for node in nodes if not node.up}
    except SchedulerFault as err:
        return Size(stated if isinstance(stated, int) else 0, 0, unknown=str(err))
    there, up, told = len(nodes), len(nodes) - len(away), shortened(away.values(), _SHOWN)
    if not up:
        told = f"{NONE_UP}{there} nodes is up: {told}"
        return Size(0, 0, unknown=told, there=there, told=told)
    if stated == ALL:
        nodes = [node for node in nodes if node.name not in away]
    most = stated if stated and isinstance(stated, int) else there if stated else min(NODES, there)
    number = min([up, most, *filter(None, limits)])
    whose = "Slurm" if scheduler in SLURM else scheduler
    texts = [f"it states {most} nodes, and {whose} has {there}"] if most > there else []
    if away and up < most:
        texts.append(f"{up} of {there} nodes are up; not: {told}")
    if number < min(up, most):
        texts.append(f"a job may have {number} of {min(up, most)} nodes (MaxNodes)")
    size = Size(number, min(n.cores for n in nodes), min(n.memory for n in nodes))
    return replace(size, there=most, told="; ".join(texts)) if texts or stated == ALL else size
