"""How many nodes, cores and how much memory of a partition jobs take, also where it states none.

What its extras state counts. Else cores are those of ReFrame's own processor information. Without
nodes or cores Slurm is asked, which may take as long as its controller does; where jobs run on this
machine it is looked at.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acceptance.core.extras import PartitionExtras
from acceptance.launch import scontrol
from acceptance.launch.scontrol import SlurmFault
from acceptance.launch.slurm_jobs import SLURM
from acceptance.launch.slurm_nodes import node_records
from acceptance.launch.topology import usable_cores, usable_memory

#: Nodes that are used of a partition of Slurm which does not say how many: enough for a first
#: verdict that does not wait long.
NODES = 4


@dataclass(frozen=True)
class Size:
    """What jobs take of a partition: nodes, cores of each, bytes of memory of each, 0 if not known.

    `unknown` says why nobody knows nodes or cores; it then has one node without cores.
    """

    nodes: int
    cores: int
    memory: int = 0
    unknown: str = ""

    @property
    def processes(self) -> int:
        """Return the largest number of processes that a job has."""
        return self.nodes * self.cores


def size_of(
    stated: PartitionExtras,
    scheduler: str,
    access: Sequence[str] = (),
    processor: Mapping[str, object] | None = None,
) -> Size:
    """Return the size of a partition; `processor` is ReFrame's entry of that name."""
    cores, known = stated.cores or _cores(processor or {}), Size(1, 0)
    if scheduler == "local":
        known = _of_this_machine()
        # What a site, or ReFrame, says of the processor may be more than this process may use.
        cores = stated.cores or min(cores or known.cores, known.cores)
    elif scheduler in SLURM and not (stated.nodes and cores):
        known = _of_slurm(tuple(access))
    elif not cores:
        known = Size(1, 0, unknown=f"nothing here can ask the scheduler {scheduler}")
    nodes, cores = stated.nodes or known.nodes, cores or known.cores
    if not (nodes and cores):
        return Size(1, 0, stated.memory, known.unknown)
    return Size(nodes, cores, stated.memory or known.memory)


def _cores(processor: Mapping[str, object]) -> int:
    cpus, threads = processor.get("num_cpus"), processor.get("num_cpus_per_core")
    return cpus // threads if isinstance(cpus, int) and isinstance(threads, int) and threads else 0


@functools.cache
def _of_this_machine() -> Size:
    return Size(1, usable_cores(), usable_memory())


@functools.cache
def _of_slurm(access: tuple[str, ...]) -> Size:
    """Ask Slurm for the nodes that these options choose; a node has what the least of them has."""
    try:
        nodes = node_records(access)
        names = frozenset.intersection(*(node.partitions for node in nodes))
        limits = [p.most_nodes for p in scontrol.all_partitions() if p.name in names]
    except SlurmFault as err:
        return Size(0, 0, unknown=str(err))
    most = min([NODES, len(nodes), *(limit for limit in limits if limit)])
    return Size(most, min(n.cores for n in nodes), min(n.memory for n in nodes))
