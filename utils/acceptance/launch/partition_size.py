"""How many nodes, cores and how much memory of a partition jobs take, also where it states none.

What its extras state counts. Else cores are those of ReFrame's own processor information. Slurm is
asked which nodes are up, for no job gets more than these, and for what nobody states; that may take
as long as its controller does. Where jobs run on this machine it is looked at.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from acceptance.core.extras import ALL, ExtrasFault, PartitionExtras
from acceptance.core.simulated import mismatch
from acceptance.core.text import shortened
from acceptance.launch import scontrol
from acceptance.launch.scontrol import SlurmFault
from acceptance.launch.slurm_jobs import SLURM
from acceptance.launch.slurm_nodes import node_records, nodes_of
from acceptance.launch.topology import usable_cores, usable_memory

#: Nodes that are used of a partition of Slurm which does not say how many: enough for a first
#: verdict that does not wait long.
NODES = 4
#: Names of nodes that a line shows.
_SHOWN = 8


@dataclass(frozen=True)
class Size:
    """What jobs take of a partition: nodes, cores of each, bytes of memory of each, 0 if not known.

    `unknown` says why nobody knows nodes or cores; it then has one node without cores. Of a
    partition that states `all`, and where fewer nodes are up than jobs would take, `there` is how
    many these would be if all were up, and `told` says which take no part, and why; both are empty
    of any other.
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
    extras: Mapping[str, object], scheduler: str, where: str = "", system: str = ""
) -> PartitionExtras:
    """Read what a partition states; raises ExtrasFault, also for `all` nodes that nobody can list.

    `scheduler` is ReFrame's; `where` are file and partition. With its `system` also for one that is
    simulated and not called so, or the other way round.
    """
    stated = PartitionExtras.read(extras, where)
    if system and (wrong := mismatch(system, stated.simulated)):
        raise ExtrasFault(wrong, where=where)
    if stated.nodes == ALL and scheduler not in (*SLURM, "local"):
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
        known = _of_this_machine()
        # What a site, or ReFrame, says of the processor may be more than this process may use.
        cores = stated.cores or min(cores or known.cores, known.cores)
    elif scheduler in SLURM:
        known = _of_slurm(tuple(access), stated.nodes)
    elif not cores:
        known = Size(1, 0, unknown=f"nothing here can ask the scheduler {scheduler}")
    given = stated.nodes if isinstance(stated.nodes, int) else 0
    if scheduler not in SLURM:
        nodes = given or known.nodes
    else:  # which may not answer; where it does, but no node is up, no job would start
        nodes = known.nodes or (0 if known.there else given)
    cores = cores or known.cores
    if not (nodes and cores):
        return Size(1, 0, stated.memory, known.unknown, known.there)
    memory = stated.memory or known.memory
    return replace(known, nodes=nodes, cores=cores, memory=memory, unknown="")


def _cores(processor: Mapping[str, object]) -> int:
    cpus, threads = processor.get("num_cpus"), processor.get("num_cpus_per_core")
    return cpus // threads if isinstance(cpus, int) and isinstance(threads, int) and threads else 0


@functools.cache
def _of_this_machine() -> Size:
    return Size(1, usable_cores(), usable_memory())


@functools.cache
def _of_slurm(access: tuple[str, ...], stated: int | str) -> Size:
    """Ask Slurm for the nodes that these options choose; a node has what the least of them has.

    `stated` is how many of them jobs take, 0 where nobody says; of `ALL` only those count that are
    up.
    """
    try:
        nodes = node_records(access)
        names = frozenset.intersection(*(node.partitions for node in nodes))
        limits = [p.most_nodes for p in scontrol.all_partitions() if p.name in names]
        away = {node.name: node.text for node in nodes_of(nodes, access) if not node.up}
    except SlurmFault as err:
        return Size(0, 0, unknown=str(err))
    there, up, told = len(nodes), len(nodes) - len(away), shortened(away.values(), _SHOWN)
    if not up:
        return Size(0, 0, unknown=f"none of its {there} nodes is up: {told}", there=there)
    if stated == ALL:
        nodes = [node for node in nodes if node.name not in away]
    most = stated if stated and isinstance(stated, int) else there if stated else min(NODES, there)
    number = min([up, most, *filter(None, limits)])
    texts = [f"it states {most} nodes, and Slurm has {there}"] if most > there else []
    if away and up < most:
        texts.append(f"{up} of {there} nodes are up; not: {told}")
    if number < min(up, most):
        texts.append(f"a job may have {number} of {min(up, most)} nodes (MaxNodes)")
    size = Size(number, min(n.cores for n in nodes), min(n.memory for n in nodes))
    return replace(size, there=most, told="; ".join(texts)) if texts or stated == ALL else size
