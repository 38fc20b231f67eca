"""What Slurm's `scontrol` and `srun` say of a cluster: records of `Key=Value`, and lists.

`scontrol show node --oneliner` has a record a line; a value may hold blanks, as that of `OS`::

    NodeName=node1 Arch=x86_64 CoresPerSocket=2  CPUAlloc=0 CPUEfctv=1 CPUTot=2 ... State=IDLE

`scontrol show config` has an entry a line, `ClusterName             = acceptance`. Of lists such as
`node[01-04,7]` only names are needed, which Slurm also writes out itself, a record each.

Sources: scontrol(1) and srun(1) of Slurm 22.05; node states of sinfo(1).
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from acceptance.core import process
from acceptance.core.errors import Fault, ParseError

#: Seconds that a controller has to answer; by itself scontrol would wait longer.
PATIENCE = 30

Value = TypeVar("Value")

_KEY = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9_:/]*)=(?P<value>.*)\Z")
_NOTHING = ("", "(null)", "N/A", "None", "none")

#: States and flags in which a node takes no job of everyone, or is not there.
_AWAY = {
    "BLOCKED", "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE",
    "INVAL", "INVALID_REG", "MAINT", "MAINTENANCE", "NOT_RESPONDING", "NO_RESPOND", "PERFCTRS",
    "POWER_DOWN", "POWERING_DOWN", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED", "RESERVED",
    "UNKNOWN",
}  # fmt: skip
#: Those of a node that is kept for a reservation; a job of that reservation does get it.
_KEPT = {"RESERVED", "MAINT", "MAINTENANCE"}
_POWERED_OFF = {"POWERED_DOWN", "POWERING_UP"}


class SlurmFault(Fault):
    """Why Slurm, or a part of it, cannot be used: what, and what to do."""


@dataclass(frozen=True)
class NodeRecord:
    """A node as Slurm has it: `cores` are those that jobs get, `memory` is in bytes, 0 if unknown.

    `address` is where its slurmd is reached, `reason` what was written when it was taken away.
    """

    name: str
    address: str
    arch: str
    states: frozenset[str]
    sockets: int
    cores_per_socket: int
    threads: int
    cores: int
    memory: int
    features: frozenset[str]
    partitions: frozenset[str]
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Tell whether jobs of anyone may come to stand on it."""
        return takes_jobs(self.states)

    @property
    def idle(self) -> bool:
        """Tell whether a job would start at once."""
        return self.usable and "IDLE" in self.states and not self.states & _POWERED_OFF

    @property
    def shared(self) -> bool:
        """Tell whether a small job may start at once beside another one."""
        return self.usable and "MIXED" in self.states


@dataclass(frozen=True)
class PartitionRecord:
    """A partition as Slurm has it; no `groups` means that all may use it.

    `most_nodes` is the largest number of nodes of a job, None without a limit.
    """

    name: str
    up: bool
    default: bool
    root_only: bool
    groups: frozenset[str]
    most_nodes: int | None
    hidden: bool = False


def takes_jobs(states: Collection[str], *, reserved: bool = False) -> bool:
    """Tell whether a node in these states takes jobs, at once or when another one ends.

    With `reserved` those jobs are of the reservation that keeps it.
    """
    return not (set(states) - (_KEPT if reserved else set())) & _AWAY


def show(*what: str) -> str:
    """Return what `scontrol show ...` prints; raises SlurmFault when it does not answer."""
    command = ["scontrol", "show", *what]
    done = process.run(command, PATIENCE)
    if done.fault:
        raise SlurmFault(f"{' '.join(command)}: {done.fault}")
    return done.out


def all_nodes() -> list[NodeRecord]:
    """Ask Slurm for its nodes, those of hidden partitions, too; raises SlurmFault."""
    return _asked(nodes, "node")


def all_partitions() -> list[PartitionRecord]:
    """Ask Slurm for its partitions, also for hidden ones; raises SlurmFault."""
    return _asked(partitions, "partition")


def _asked(read: Callable[[str], list[Value]], what: str) -> list[Value]:
    try:
        return read(show(what, "--oneliner", "--all"))
    except ParseError as err:
        raise SlurmFault(f"what Slurm says is not of a form that is known here: {err}") from None


def nodes(text: str, source: str = "scontrol show node") -> list[NodeRecord]:
    """Read `scontrol show node --oneliner`; raises ParseError for a record that is not one."""
    return _records(text, source, "NodeName", _node)


def partitions(text: str, source: str = "scontrol show partition") -> list[PartitionRecord]:
    """Read `scontrol show partition --oneliner`; raises ParseError as `nodes` does."""
    return _records(text, source, "PartitionName", _partition)


def config(text: str) -> dict[str, str]:
    """Read `scontrol show config`: key -> value, empty where Slurm has none."""
    entries: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip():
            entries.setdefault(key.strip(), "" if value.strip() in _NOTHING else value.strip())
    return entries


def mpi_plugins(text: str) -> list[str]:
    """Read `srun --mpi=list`: the plugins, and the versions of pmix, in the order of the list.

    Before 22.05 each line began with `srun: `, and the list came on standard error.
    """
    plugins = []
    for line in text.splitlines():
        words = line.removeprefix("srun: ").strip()
        if words.startswith("specific pmix plugin versions available:"):
            plugins += words.partition(":")[2].replace(",", " ").split()
        elif words and " " not in words:
            plugins.append(words)
    return list(dict.fromkeys(name for name in plugins if name != "none"))


def _records(
    text: str, source: str, first: str, make: Callable[[dict[str, str]], Value]
) -> list[Value]:
    made = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        record = _record(line)
        if next(iter(record), None) != first:
            raise ParseError(source, f"does not begin with {first}=", number=number, line=line)
        try:
            made.append(make(record))
        except KeyError as err:
            raise ParseError(source, f"has no {err.args[0]}", number=number, line=line) from None
        except ValueError as err:
            raise ParseError(source, str(err), number=number, line=line) from None
    return made


def _record(line: str) -> dict[str, str]:
    """Take a record apart. A key that stands twice is part of a later value (Reason, Comment)."""
    record: dict[str, str] = {}
    last = ""
    for word in line.split():
        key = _KEY.match(word)
        if key and key["key"] not in record:
            last = key["key"]
            record[last] = key["value"]
        elif last:
            record[last] += f" {word}"
        else:
            break
    return record


def _node(record: dict[str, str]) -> NodeRecord:
    threads = max(1, _count(record, "ThreadsPerCore"))
    total = _count(record, "CPUTot")
    if "CPUEfctv" in record:
        cpus = _count(record, "CPUEfctv")
    else:  # before 22.05
        cpus = total - threads * _count(record, "CoreSpecCount", 0)
    mebibytes = _count(record, "RealMemory") - _count(record, "MemSpecLimit", 0)
    return NodeRecord(
        name=record["NodeName"],
        address=record.get("NodeAddr") or record["NodeName"],
        arch=record.get("Arch", ""),
        states=read_states(record["State"]),
        sockets=max(1, _count(record, "Sockets")),
        cores_per_socket=max(1, _count(record, "CoresPerSocket")),
        threads=threads,
        cores=max(1, cpus // threads),
        # 1 is what Slurm takes where slurm.conf says nothing.
        memory=mebibytes * 2**20 if mebibytes > 1 else 0,
        features=_words(record.get("ActiveFeatures", record.get("AvailableFeatures", ""))),
        partitions=_words(record.get("Partitions", "")),
        reason=record.get("Reason", ""),
    )


def _partition(record: dict[str, str]) -> PartitionRecord:
    most = record.get("MaxNodes", "UNLIMITED")
    return PartitionRecord(
        name=record["PartitionName"],
        up=record["State"] == "UP",
        default=record.get("Default") == "YES",
        root_only=record.get("RootOnly") == "YES",
        groups=_words(record.get("AllowGroups", "ALL")) - {"ALL"},
        most_nodes=None if most == "UNLIMITED" else _count(record, "MaxNodes"),
        hidden=record.get("Hidden") == "YES",
    )


def read_states(text: str) -> frozenset[str]:
    """Return state and flags: of `IDLE+DRAIN`, and of `DOWN*`, which does not respond."""
    bare = text.split()[0] if text.split() else "UNKNOWN"
    states = set(re.sub(r"[^A-Z_+]", "", bare).split("+")) - {""}
    return frozenset(states | ({"NOT_RESPONDING"} if "*" in bare else set()))


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in text.split(",") if word not in _NOTHING)


def _count(record: dict[str, str], key: str, default: int | None = None) -> int:
    if default is not None and record.get(key, "") in _NOTHING:
        return default
    if not (record[key].isascii() and record[key].isdigit()):
        raise ValueError(f"{key} is {record[key]!r}, which is no number")
    return int(record[key])
