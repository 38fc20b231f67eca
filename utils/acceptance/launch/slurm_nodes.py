"""The nodes that Slurm has for a partition of ReFrame: which are up, and why the others are not.

A partition of ReFrame is a choice among Slurm's nodes, made by its `access` options. They are read
as ReFrame 4.10 reads them (`SlurmJobScheduler.filternodes`), so that `--distribute` and this agree:
of several partitions a node is in all; without `--partition` it is in the default one. Source of
the options, and of the form of a constraint: sbatch(1) of Slurm 22.05.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from acceptance.launch import scontrol
from acceptance.launch.scontrol import NodeRecord, SlurmFault

#: The options that choose nodes; each has a value.
_OPTIONS = {
    "-p": "--partition",
    "-C": "--constraint",
    "-x": "--exclude",
    "-w": "--nodelist",
    "--reservation": "--reservation",
}
#: What a node is; its other states are flags.
_BASES = ("ALLOCATED", "DOWN", "ERROR", "FUTURE", "IDLE", "MIXED", "UNKNOWN")
_FEATURE = re.compile(r"[A-Za-z0-9_.:+=/-]+\Z")


@dataclass(frozen=True)
class SlurmNode:
    """A node: its state in Slurm's words, `idle` say, and what was written of why it is away.

    `up`: it takes jobs, at once or when another one ends. It does not when it is down, drained,
    draining, failing, kept for a reservation, or of an unknown state.
    """

    name: str
    state: str
    reason: str
    up: bool

    @property
    def text(self) -> str:
        """Return its name, its state, and the reason that was written: `node3 is drained (fan)`."""
        return f"{self.name} is {self.state}" + (f" ({self.reason})" if self.reason else "")


def partition_nodes(access: Sequence[str]) -> list[SlurmNode]:
    """Return Slurm's nodes for the `access` options of a partition, sorted by name.

    Raises SlurmFault as `node_records`.
    """
    return nodes_of(node_records(access), access)


def nodes_of(records: Iterable[NodeRecord], access: Sequence[str]) -> list[SlurmNode]:
    """Return nodes of a partition as people know them; `access` are its options."""
    reserved = "--reservation" in _chosen(access)
    return [
        SlurmNode(
            record.name,
            _state(record),
            record.reason,
            scontrol.takes_jobs(record.states, reserved=reserved),
        )
        for record in records
    ]


def node_records(access: Sequence[str]) -> list[NodeRecord]:
    """Return what Slurm has of the nodes of a partition, chosen by its `access` options.

    They are sorted by name. Raises SlurmFault when Slurm does not answer, when it knows no node
    that the options choose, or for an option whose value cannot be read.
    """
    chosen = _chosen(access)
    records = scontrol.all_nodes()
    known = {record.name for record in records}
    partitions = set(filter(None, chosen.get("--partition", "").split(","))) or {_default()}
    nodes = {record.name: record for record in records if partitions <= record.partitions}
    reservation = chosen.get("--reservation", "")
    if reservation:
        listed = _reserved(reservation)
        nodes = {
            n: nodes[n] for n in _names(listed, f"--reservation={reservation}", known) if n in nodes
        }
    if expression := chosen.get("--constraint"):
        nodes = {n: record for n, record in nodes.items() if satisfies(record, expression)}
    if names := chosen.get("--nodelist"):
        nodes = {n: nodes[n] for n in _names(names, f"--nodelist={names}", known) if n in nodes}
    if names := chosen.get("--exclude"):
        for node in _names(names, f"--exclude={names}", known):
            nodes.pop(node, None)
    if not nodes:
        raise SlurmFault(f"Slurm has no node for {' '.join(access) or 'its default partition'}")
    return sorted(nodes.values(), key=lambda record: natural(record.name))


def excluded_nodes(access: Sequence[str]) -> str:
    """Return the list of nodes that the `access` options of a partition exclude; empty for none."""
    return _chosen(access).get("--exclude", "")


def partition_option(access: Sequence[str]) -> str:
    """Return the partition of Slurm that the `access` options choose, else the default one."""
    return _chosen(access).get("--partition", "").split(",")[0] or _default()


def listed_nodes(text: str) -> list[str]:
    """Return the names of a list of Slurm such as node[1-4],node7; raises SlurmFault."""
    return list(dict.fromkeys(scontrol.show("hostnames", text).split()))


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts names as people count: node2 before node10."""
    return tuple((text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", name))


def satisfies(record: NodeRecord, expression: str) -> bool:
    """Tell whether a node has the features of a constraint: names, `&`, `|`, groups in () or [].

    `&` binds closer, as in ReFrame. Raises SlurmFault for anything else, such as counts (`*2`).
    """
    words = [word for word in re.split(r"\s*([&|,()\[\]])\s*", expression.strip()) if word]
    try:
        value = _any_of(words, record.features)
        if words:
            raise ValueError
    except (IndexError, ValueError):
        raise SlurmFault(
            f"--constraint={expression}: not read here: only features, &, |, () and [] are"
        ) from None
    return value


def _any_of(words: list[str], features: frozenset[str]) -> bool:
    """Take `a&b|c` off the beginning of the words; raises ValueError or IndexError."""
    values = [_all_of(words, features)]
    while words and words[0] == "|":
        words.pop(0)
        values.append(_all_of(words, features))
    return any(values)


def _all_of(words: list[str], features: frozenset[str]) -> bool:
    values = [_feature(words, features)]
    while words and words[0] in "&,":
        words.pop(0)
        values.append(_feature(words, features))
    return all(values)


def _feature(words: list[str], features: frozenset[str]) -> bool:
    word = words.pop(0)
    if word in "([":
        value = _any_of(words, features)
        if words.pop(0) != {"(": ")", "[": "]"}[word]:
            raise ValueError
        return value
    if not _FEATURE.match(word):
        raise ValueError
    return word in features


def _chosen(access: Sequence[str]) -> dict[str, str]:
    """Return the options that choose nodes, by their long names; the last one counts."""
    chosen: dict[str, str] = {}
    words = iter([word for option in access for word in shlex.split(option)])
    for word in words:
        name, equals, value = word.partition("=")
        if not word.startswith("--") and word[:2] in _OPTIONS:
            name, equals, value = word[:2], word[2:], word[2:]
        name = _OPTIONS.get(name, name)
        if name in _OPTIONS.values():
            chosen[name] = (value if equals else next(words, "")).strip()
            if not chosen[name]:
                raise SlurmFault(f"{' '.join(access)}: {name} has no value")
    return chosen


def _default() -> str:
    for record in scontrol.all_partitions():
        if record.default:
            return record.name
    raise SlurmFault(
        "Slurm has no default partition: write --partition into the access options of the partition"
    )


def _reserved(name: str) -> str:
    """Return the list of nodes of a reservation."""
    text = scontrol.show("reservation", name, "--oneliner")
    nodes = re.search(r"(?:^|\s)Nodes=(\S+)", text)
    if not nodes or nodes[1] == "(null)":
        raise SlurmFault(f"--reservation={name}: Slurm names no nodes of it")
    return nodes[1]


def _names(listed: str, option: str, known: set[str]) -> Iterator[str]:
    """Yield the names of a list such as node[1-4]; raises SlurmFault for one that is no node."""
    for name in listed_nodes(listed):
        if name not in known:
            raise SlurmFault(f"{option}: Slurm has no node {name}")
        yield name


def _state(record: NodeRecord) -> str:
    """Return a node's state as people know it from sinfo."""
    states = record.states
    if "DRAIN" in states and "DOWN" not in states:
        busy = states & {"ALLOCATED", "MIXED", "COMPLETING"}
        return "draining" if busy else "drained"
    base = sorted(states, key=lambda word: (word not in _BASES, word))
    return "+".join(base).lower()
