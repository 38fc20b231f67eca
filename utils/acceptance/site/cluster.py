"""What Slurm says of this cluster, and the kinds of node in its partitions.

Those alike in hardware and fabric are one partition of ReFrame's. Slurm knows processors and
features of every node; a look at one node of each kind, through a short job, tells the rest.
"""

import contextlib
import grp
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acceptance.core import machine
from acceptance.core.errors import ParseError
from acceptance.core.groups import grouped
from acceptance.core.text import legal_name
from acceptance.machine import slurm
from acceptance.machine.slurm import PartitionRecord, SchedulerFault, SlurmNode
from acceptance.site import fabric_of_node
from acceptance.site.fabric_of_node import Fabric

#: How many nodes of a partition are looked at; sites with a feature for each rack have many kinds.
MAX_LOOKS = 8
#: Seconds that a look at a node may wait until it starts; by then another user has the node.
PATIENCE = 20
#: Of nodes in these states a job would wait until they have started.
_POWERED_OFF = {"POWERED_DOWN", "POWERING_UP"}
#: Words with which srun says that a job would have to wait, not that it may not run.
_BUSY = ("busy", "Immediate execution", "temporarily", "timed out", "Zero Bytes")


@dataclass(frozen=True)
class Cluster:
    """A cluster as Slurm has it; `plugins` are those of `srun --mpi=list`."""

    config: Mapping[str, str]
    nodes: list[SlurmNode]
    partitions: list[PartitionRecord]
    plugins: list[str]
    #: Why sacct does not answer; empty where it does.
    no_accounting: str

    @property
    def controllers(self) -> list[str]:
        """Return the hosts of its controllers."""
        keys = ("SlurmctldHost", "ControlMachine")
        hosts = (host for key, host in self.config.items() if key.startswith(keys))
        return [host.partition("(")[0] for host in hosts if host]

    @property
    def counts_memory(self) -> bool:
        """Tell whether a job has to ask for memory, as it otherwise gets a share only."""
        return "MEMORY" in self.config.get("SelectTypeParameters", "").upper()

    @property
    def scheduler(self) -> str:
        """Return ReFrame's scheduler that works here."""
        return "squeue" if self.no_accounting else "slurm"

    def usable(self, partition: PartitionRecord) -> list[SlurmNode]:
        """Return the nodes of a partition that take jobs."""
        return [n for n in self.nodes if partition.name in n.partitions and n.up]


def is_here() -> bool:
    """Tell whether this machine has Slurm's commands."""
    return all(shutil.which(name) for name in ("sinfo", "scontrol", "sbatch"))


def ask() -> Cluster:
    """Ask Slurm for all that a configuration needs; raises SchedulerFault without an answer."""
    if fault := slurm.controller_fault():
        raise SchedulerFault(
            f"Slurm does not answer: {fault}; look on a login node of the cluster, or wait until "
            "slurmctld is back; for this machine alone: --local"
        )
    # With hidden partitions, which whoever knows their names may use.
    nodes, partitions = slurm.all_nodes(), slurm.all_partitions()
    config = slurm.config(slurm.show("config"))
    mpis = machine.run(["srun", "--mpi=list"], slurm.PATIENCE)
    if mpis.status is None:
        raise SchedulerFault(f"srun --mpi=list: {mpis.fault}")
    plugins = slurm.mpi_plugins(mpis.out + mpis.err)
    return Cluster(config, nodes, partitions, plugins, slurm.accounting_fault())


def choose(cluster: Cluster, chosen: list[str]) -> tuple[list[PartitionRecord], list[str]]:
    """Return the partitions that jobs of this user may use, the default one first.

    Also returns why each of the others is left out. `chosen` are the only ones to look at, if any.
    Raises SchedulerFault for a chosen partition that cannot be used, and when none can.
    """
    known = {partition.name: partition for partition in cluster.partitions}
    for name in chosen:
        if name not in known:
            names = ", ".join(known) or "none"
            raise SchedulerFault(f"Slurm has no partition {name}; it has: {names}")
    reasons = {name: _why_not(cluster, known[name], chosen) for name in known}
    asked = [name for name in known if name in (chosen or known)]
    left = [f"{name}: {reasons[name]}" for name in asked if reasons[name]]
    usable = [known[name] for name in asked if not reasons[name]]
    if left and (chosen or not usable):
        raise SchedulerFault("no partition can be used: " + "; ".join(left))
    if not usable:
        raise SchedulerFault("Slurm shows no partition; are all of them hidden from you?")
    return sorted(usable, key=lambda partition: not partition.default), left


def _why_not(cluster: Cluster, partition: PartitionRecord, chosen: list[str]) -> str:
    nodes = [node for node in cluster.nodes if partition.name in node.partitions]
    if partition.hidden and not chosen:
        return f"it is hidden; --partition {partition.name} takes it"
    if not partition.up:
        return "it is not up"
    if partition.root_only and os.geteuid() != 0:
        return "only root may use it"
    if partition.groups and not partition.groups & _groups() and os.geteuid() != 0:
        return f"only the groups {', '.join(sorted(partition.groups))} may use it"
    if not nodes:
        return "it has no nodes"
    if not cluster.usable(partition):
        states = sorted({"+".join(sorted(node.states)) for node in nodes})
        return f"none of its {len(nodes)} nodes takes jobs (they are {', '.join(states)})"
    return ""


def run_on(
    node: str, partition: str, script: str, arguments: list[str], of: Sequence[str] = ()
) -> tuple[str, str]:
    """Run a shell script on a node as a job of one task; `of` names another cluster.

    Return what it printed, and why Slurm does not take it; empty where it does. Raises
    SchedulerFault when it would have to wait.
    """
    command = [
        "srun", "--quiet", "--nodes=1", "--ntasks=1", "--mpi=none", "--time=2", "--chdir=/tmp",
        "--job-name=init-site", f"--partition={partition}", f"--nodelist={node}",
        f"--immediate={PATIENCE}", *of, *([f"--account={account()}"] if account() else []),
        "sh", "-s", "--", *arguments,
    ]  # fmt: skip
    done = machine.run(command, PATIENCE + 60, env=_outside_jobs(), text=script)
    if done.late:
        raise SchedulerFault(f"no answer from {node} within {PATIENCE + 60} s")
    if not done.fault:
        return done.out, ""
    # The first line may be of a plugin; the last one often says only that all is over.
    lines = [line.removeprefix("srun: ").removeprefix("error: ")
             for line in done.err.splitlines() if line.strip()]  # fmt: skip
    reasons = [line for line in lines if "Unable to" in line] or lines[:1]
    message = reasons[0] if reasons else done.fault
    if any(word in message for word in _BUSY):
        raise SchedulerFault(message)
    if "account" in message.lower():
        message += "; to name an account: export SLURM_ACCOUNT=..."
    return "", message


def account() -> str:
    """Return the account that this user's jobs are charged to, as Slurm's own variables name it."""
    return os.environ.get("SLURM_ACCOUNT") or os.environ.get("SBATCH_ACCOUNT") or ""


def _outside_jobs() -> dict[str, str]:
    """Return the environment; inside of a job without what would make a step of it."""
    inside, kept = "SLURM_JOB_ID" in os.environ, ("SLURM_CONF", "SLURM_ACCOUNT")
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or not (inside and name.startswith("SLURM"))
    }


def _groups() -> set[str]:
    names = set()
    for number in {os.getegid(), *os.getgroups()}:
        with contextlib.suppress(KeyError):
            names.add(grp.getgrgid(number).gr_name)
    return names


@dataclass(frozen=True)
class Kind:
    """Nodes that are alike: `access` are the options that select them within their partition.

    `fabric` is that of the node that was looked at; `taken` are nodes that are taken to have it
    because they have the same processors.
    """

    name: str
    partition: PartitionRecord
    nodes: tuple[SlurmNode, ...]
    fabric: Fabric
    access: tuple[str, ...]
    taken: tuple[str, ...] = ()

    @property
    def memory(self) -> int:
        """Return the bytes of memory that each of the nodes has."""
        return min(node.memory for node in self.nodes)

    @property
    def cores(self) -> int:
        """Count the cores that each of the nodes has for jobs."""
        return min(node.cores for node in self.nodes)


#: Nodes that Slurm does not tell apart, and what one of them was seen to have.
Alike = tuple[list[SlurmNode], Fabric]


def _hardware(node: SlurmNode) -> tuple[str, int, int, int, int]:
    """Return what tells the processors of nodes apart."""
    return node.arch, node.sockets, node.cores_per_socket, node.threads, node.cores


def kinds_of(partition: PartitionRecord, nodes: list[SlurmNode], paths: list[str]) -> list[Kind]:
    """Look at nodes of a partition, and sort all of them by what they are.

    `nodes` take jobs; `paths` are looked for on the nodes. Raises SchedulerFault when it takes no
    job for any of them.
    """
    classes = grouped(nodes, lambda node: (_hardware(node), node.features))
    ordered = sorted(classes.values(), key=len, reverse=True)
    looks = [look_at_one(partition.name, alike, paths) for alike in ordered[:MAX_LOOKS]]
    refusals = [look.fault for look in looks if look.refused]
    if refusals and not any(look.node for look in looks):
        raise SchedulerFault(refusals[0])
    looks += [Fabric(asked=alike[0].name, fault="not looked at") for alike in ordered[MAX_LOOKS:]]
    groups: dict[tuple[object, ...], list[Alike]] = {}
    # Those that were looked at come first: the others are taken to be like one of them.
    pairs = zip(ordered, looks, strict=True)
    for alike, look in sorted(pairs, key=lambda pair: not pair[1].node):
        same = _hardware(alike[0])
        # Two that say different things are two kinds, even where neither is a fact.
        seen = (same, tuple(sorted(look.facts.items())), look.link)
        key = seen if look.node else next((key for key in groups if key[0] == same), (same,))
        groups.setdefault(key, []).append((alike, look))
    return list(_named(partition, [*groups.values()], nodes))


def look_at_one(
    partition: str, alike: list[SlurmNode], paths: list[str], of: Sequence[str] = ()
) -> Fabric:
    """Look at a node of a partition, of these alike, through a short job (`run_on`)."""
    awake = [node for node in alike if node.up and not node.states & _POWERED_OFF]
    # Beside another job a small one may start at once, too.
    ready = [node for state in ("IDLE", "MIXED") for node in awake if state in node.states]
    if not ready:
        return Fabric(asked=alike[0].name, fault="all such nodes were busy")
    node = ready[0]
    try:
        output, refusal = run_on(node.name, partition, fabric_of_node.script(), paths, of)
        if refusal:
            return Fabric(asked=node.name, fault=refusal, refused=True)
        return fabric_of_node.read(output, node.address, node.name)
    except (SchedulerFault, ParseError) as err:
        return Fabric(asked=node.name, fault=str(err))


def _named(
    partition: PartitionRecord, groups: list[list[Alike]], everyone: list[SlurmNode]
) -> Iterator[Kind]:
    # No name of ReFrame's begins with a digit or a sign.
    plain = re.sub(r"^(?![A-Za-z_])", "part-", legal_name(partition.name))
    for number, group in enumerate(groups, 1):
        nodes = sorted((node for alike, _ in group for node in alike), key=lambda node: node.name)
        fabric = group[0][1]
        others = [node for node in everyone if node not in nodes]
        suffix, access = _selection(nodes, others, number) if others else ("", ())
        unseen = [alike for alike, look in group if fabric.node and not look.node]
        yield Kind(
            name=f"{plain}-{suffix}" if suffix else plain,
            partition=partition,
            nodes=tuple(nodes),
            fabric=fabric,
            access=access,
            taken=tuple(node.name for alike in unseen for node in alike),
        )


def _selection(
    nodes: list[SlurmNode], others: list[SlurmNode], number: int
) -> tuple[str, tuple[str, ...]]:
    """Return what tells nodes from the others: a part of a name, and the options of a job.

    That is a feature that all of them have and no other node or, without one, a number.
    """
    common = frozenset.intersection(*(node.features for node in nodes))
    strange = frozenset().union(*(node.features for node in others))
    if feature := min(common - strange, key=lambda name: (len(name), name), default=""):
        return legal_name(feature), (f"--constraint={feature}",)
    return str(number), (f"--exclude={','.join(sorted(node.name for node in others))}",)
