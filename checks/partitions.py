"""What the partitions of this system state, and how many processes they take, and where."""

import functools
import re
import sys

import reframe.core.runtime as runtime

from acceptance import machine
from acceptance.core.extras import MODES
from acceptance.core.paths import Workspace
from acceptance.fabric import Facts, facts_of, takes_gpus
from acceptance.machine import ASKED, Size, SlurmNode

from .extras import extras_of


@functools.cache
def size_of(partition) -> Size:
    """Return how many nodes, cores and how much memory of a partition jobs take."""
    scheduler = partition.scheduler.registered_name
    return machine.size_of(
        extras_of(partition), scheduler, access_of(partition), partition.processor.info
    )


def cores_of(partition) -> int:
    """Count the cores that the checks may use on one node of a partition; 0 if unknown."""
    return size_of(partition).cores


def mode_of(partition, asked: str) -> str:
    """Return the mode that is asked for, else that of a partition; ValueError for another word."""
    mode = asked or extras_of(partition).mode or "nightly"
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(MODES)}")
    return mode


#: How the command line sets the mode of checks.
_MODE = re.compile(rf"(?:-S|--setvar=)?(?:\w+\.)?mode=({'|'.join(MODES)})")


def modes_of_run() -> set[str]:
    """Return the modes of all partitions, and those that the command names.

    A case that its mode leaves out costs ReFrame as much as another one. What a mode of a site's
    own (`--mode`) stands for is not known: then it is all of them.
    """
    named = [_MODE.fullmatch(word) for word in sys.argv[1:] if "mode" in word]
    if None in named:
        return {*MODES}
    return {mode_of(part, "") for part in partitions()} | {each[1] for each in named if each}


def memory_of(partition) -> int:
    """Return the bytes of memory of a node of a partition; 0 if unknown."""
    return size_of(partition).memory


def nodes_of(partition) -> int:
    """Count the nodes of a partition that the checks may use, no more than are up; 1 if unknown."""
    return size_of(partition).nodes


def access_of(partition) -> list[str]:
    """Return the `access` options of a partition, and the clusters that ReFrame adds to these."""
    clusters = {"slurm_multi_cluster_mode": getattr(partition.scheduler, "_multi_clusters", ())}
    return machine.access_of({"access": partition.access, "sched_options": clusters})


@functools.cache
def nodes_up(partition) -> list[SlurmNode]:
    """Return the nodes of a partition that are up, asked once; raises SchedulerFault."""
    known = machine.nodes_of(partition.scheduler.registered_name, access_of(partition))
    return [node for node in known if node.up]


def has_nodes(partition) -> bool:
    """Tell whether the scheduler of a partition can be asked for its nodes, and jobs name some."""
    return partition.scheduler.registered_name in ASKED


def largest_job() -> int:
    """Return the largest number of processes that any partition of this system takes; at least 2.

    ReFrame drops a check whose parameter has no value. Where two processes are too many, no
    partition fits (`no_case.py` tells why).
    """
    return max([2, *(size_of(part).processes for part in partitions())])


def nodes_for(partition, processes: int, most: int) -> int:
    """Return the largest number of nodes over which processes can be spread evenly, at most `most`.

    0 when even that gives a node more processes than it has cores.
    """
    largest = min(nodes_of(partition), processes, most)
    nodes = next(n for n in range(largest, 0, -1) if processes % n == 0)
    return nodes if processes // nodes <= cores_of(partition) else 0


def sockets_of(partition) -> int:
    """Count the sockets of a node; 1 if unknown."""
    return partition.processor.num_sockets or 1


def partitions():
    """Return the partitions of this system."""
    return runtime.runtime().system.partitions


@functools.cache
def fabric_facts(fullname: str) -> Facts | None:
    """Return the fabric facts of a partition of this system, read once; None: it states none.

    Raises FabricFault.
    """
    part = next(part for part in partitions() if part.fullname == fullname)
    return facts_of(part.extras, Workspace.of().place_of(*fullname.split(":", 1)))


def placements() -> list[str]:
    """Return where the processes of a job can stand on any partition of this system."""
    found = ["intra-node"]
    if any(sockets_of(part) > 1 for part in partitions()):
        found += ["intra-socket", "inter-socket"]
    if any(nodes_of(part) > 1 for part in partitions()):
        found.append("inter-node")
    return found


def not_for_gpus() -> set[str]:
    """Return the environments that are not for cases with buffers on GPUs, where there are any."""
    having = (part for part in partitions() if takes_gpus(part.extras))
    environments = (each for part in having for each in part.environs)
    return {each.name for each in environments if "no-gpu" in each.features}


#: Between nodes, on as few of them as have the cores; a partition asks for it in its extras.
PACKED = "packed"


def packings() -> list[str]:
    """Return the placement on as few nodes as possible, if a partition of this system asks for it.

    Where it is as wide as possible, too, there is no case of it.
    """
    return [PACKED] if any(extras_of(part).packed for part in partitions()) else []


def packed(part, np, most, spills) -> int:
    """Count the nodes that processes fill; 0 unless these are fewer than the widest job takes."""
    nodes = -(-np // cores_of(part)) if cores_of(part) else 0
    if not extras_of(part).packed or not 1 < nodes <= min(nodes_of(part), most):
        return 0
    if np % nodes and not spills:
        return 0
    return nodes if nodes < standing(part, np, "inter-node", most, spills=spills) else 0


def standing(part, np, placement, most, *, spills=False) -> int:
    """Count the nodes of a partition that processes placed so take; 0 if they do not fit.

    `most` is the largest number of nodes that makes sense; `spills` lets processes that cannot be
    spread evenly fill one node after the other.
    """
    if placement == PACKED:
        return packed(part, np, most, spills)
    if placement == "inter-node":
        nodes = nodes_for(part, np, most)
        if not nodes and spills:
            nodes = -(-np // cores_of(part)) if cores_of(part) else 0
            nodes = nodes if nodes <= min(nodes_of(part), most) else 0
        return nodes if nodes > 1 else 0
    if np > cores_of(part):
        return 0
    if placement != "intra-node":
        share = np if placement == "intra-socket" else np // 2
        if sockets_of(part) < 2 or share > cores_of(part) // sockets_of(part):
            return 0
    return 1


def differs(np, nodes, mapping, path) -> bool:
    """Tell whether processes on so many nodes are another case with a mapping and a path."""
    return (mapping == "block" or nodes > 1) and (path == "shared" or np > nodes)
