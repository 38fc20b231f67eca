"""What Slurm says of this cluster, and a look at one of its nodes through a short job."""

import grp
import os
import shutil
from dataclasses import dataclass

from acceptance.core import machine
from acceptance.machine import slurm_jobs, slurm_nodes
from acceptance.machine.slurm_nodes import PartitionRecord, SlurmFault, SlurmNode

#: Seconds that a look at a node may wait until it starts; by then another user has the node.
PATIENCE = 20
#: Words with which srun says that a job would have to wait, not that it may not run.
_BUSY = ("busy", "Immediate execution", "temporarily", "timed out", "Zero Bytes")


class Refused(SlurmFault):
    """A job that Slurm did not take."""


class Busy(SlurmFault):
    """A job that would have to wait."""


@dataclass(frozen=True)
class Cluster:
    """A cluster as Slurm has it; `plugins` are those of `srun --mpi=list`."""

    name: str
    version: str
    controllers: tuple[str, ...]
    nodes: tuple[SlurmNode, ...]
    partitions: tuple[PartitionRecord, ...]
    plugins: tuple[str, ...]
    #: Why sacct does not answer; empty where it does.
    no_accounting: str
    #: What jobs must have, such as `associations`; empty for nothing.
    enforced: str
    #: Whether a job has to ask for memory, as it otherwise gets a share only.
    counts_memory: bool
    #: The account that this user's jobs are charged to, as Slurm's own variables name it.
    account: str

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
    """Ask Slurm for all that a configuration needs; raises SlurmFault when it does not answer."""
    if fault := slurm_jobs.controller_fault():
        raise SlurmFault(
            f"Slurm does not answer: {fault}; look on a login node of the cluster, or wait until "
            "slurmctld is back; for this machine alone: --local"
        )
    # With hidden partitions, which whoever knows their names may use.
    nodes, partitions = slurm_nodes.all_nodes(), slurm_nodes.all_partitions()
    config = slurm_nodes.config(slurm_nodes.show("config"))
    mpis = machine.run(["srun", "--mpi=list"], slurm_nodes.PATIENCE)
    if mpis.status is None:
        raise SlurmFault(f"srun --mpi=list: {mpis.fault}")
    hosts = [value for key, value in config.items() if key.startswith("SlurmctldHost")]
    hosts.append(config.get("ControlMachine", ""))
    return Cluster(
        name=config.get("ClusterName", ""),
        version=config.get("SLURM_VERSION", ""),
        controllers=tuple(host.partition("(")[0] for host in hosts if host),
        nodes=tuple(nodes),
        partitions=tuple(partitions),
        plugins=tuple(slurm_nodes.mpi_plugins(mpis.out + mpis.err)),
        no_accounting=slurm_jobs.accounting_fault(),
        enforced=config.get("AccountingStorageEnforce", ""),
        counts_memory="MEMORY" in config.get("SelectTypeParameters", "").upper(),
        account=_account(),
    )


def choose(
    cluster: Cluster, chosen: list[str], mine: frozenset[str] | None = None
) -> tuple[list[PartitionRecord], list[str]]:
    """Return the partitions that jobs of this user may use, the default one first.

    Also returns why each of the others is left out. `chosen` are the only ones to look at, if any;
    `mine` are the groups of the user. Raises SlurmFault for a chosen partition that cannot be used,
    and when none can.
    """
    mine = _groups() if mine is None else mine
    known = {partition.name: partition for partition in cluster.partitions}
    for name in chosen:
        if name not in known:
            names = ", ".join(known) or "none"
            raise SlurmFault(f"Slurm has no partition {name}; it has: {names}")
    usable, left = [], []
    for partition in cluster.partitions:
        if chosen and partition.name not in chosen:
            continue
        if partition.hidden and not chosen:
            left.append(f"{partition.name}: it is hidden; --partition {partition.name} takes it")
        elif reason := _why_not(cluster, partition, mine):
            left.append(f"{partition.name}: {reason}")
        else:
            usable.append(partition)
    if left and (chosen or not usable):
        raise SlurmFault("no partition can be used: " + "; ".join(left))
    if not usable:
        raise SlurmFault("Slurm shows no partition; are all of them hidden from you?")
    return sorted(usable, key=lambda partition: not partition.default), left


def _why_not(cluster: Cluster, partition: PartitionRecord, mine: frozenset[str]) -> str:
    nodes = [node for node in cluster.nodes if partition.name in node.partitions]
    if not partition.up:
        return "it is not up"
    if partition.root_only and os.geteuid() != 0:
        return "only root may use it"
    if partition.groups and not partition.groups & mine and os.geteuid() != 0:
        return f"only the groups {', '.join(sorted(partition.groups))} may use it"
    if not nodes:
        return "it has no nodes"
    if not cluster.usable(partition):
        states = sorted({"+".join(sorted(node.states)) for node in nodes})
        return f"none of its {len(nodes)} nodes takes jobs (they are {', '.join(states)})"
    return ""


def run_on(node: str, partition: str, script: str, arguments: list[str]) -> str:
    """Run a shell script on a node as a job of one task; return what it printed.

    Raises Busy when it would have to wait, Refused when Slurm does not take it.
    """
    command = [
        "srun", "--quiet", "--nodes=1", "--ntasks=1", "--mpi=none", "--time=2", "--chdir=/tmp",
        "--job-name=init-site", f"--partition={partition}", f"--nodelist={node}",
        f"--immediate={PATIENCE}", *([f"--account={_account()}"] if _account() else []),
        "sh", "-s", "--", *arguments,
    ]  # fmt: skip
    done = machine.run(command, PATIENCE + 60, env=_outside_jobs(), text=script)
    if done.late:
        raise Busy(f"no answer from {node} within {PATIENCE + 60} s")
    if not done.fault:
        return done.out
    # The first line may be of a plugin; the last one often says only that all is over.
    lines = [line.removeprefix("srun: ").removeprefix("error: ")
             for line in done.err.splitlines() if line.strip()]  # fmt: skip
    reasons = [line for line in lines if "Unable to" in line] or lines[:1]
    message = reasons[0] if reasons else done.fault
    if any(word in message for word in _BUSY):
        raise Busy(message)
    if "account" in message.lower():
        message += "; to name an account: export SLURM_ACCOUNT=..."
    raise Refused(message)


def _account() -> str:
    return os.environ.get("SLURM_ACCOUNT") or os.environ.get("SBATCH_ACCOUNT") or ""


def _outside_jobs() -> dict[str, str]:
    """Return the environment; inside of a job without what would make a step of it."""
    if "SLURM_JOB_ID" not in os.environ:
        return dict(os.environ)
    kept = ("SLURM_CONF", "SLURM_ACCOUNT")
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or not name.startswith("SLURM")
    }


def _groups() -> frozenset[str]:
    names = set()
    for number in {os.getegid(), *os.getgroups()}:
        try:
            names.add(grp.getgrgid(number).gr_name)
        except KeyError:
            names.add(str(number))
    return frozenset(names)
