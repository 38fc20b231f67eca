"""The kinds of node in a Slurm partition: those alike in hardware and fabric are one of ReFrame's.

Slurm knows processors and features of every node; a look at one node of each kind tells the rest.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from acceptance.core.errors import ParseError
from acceptance.core.text import legal_name
from acceptance.machine.slurm_nodes import PartitionRecord, SlurmNode
from acceptance.site.init import cluster, probe
from acceptance.site.init.fabric_of_node import Fabric, fabric
from acceptance.site.init.probe import Probe

#: How many nodes of a partition are looked at; sites with a feature for each rack have many kinds.
MAX_LOOKS = 8


@dataclass(frozen=True)
class Look:
    """What a look at a node gave; `fault` is why there was none, and then nothing is known."""

    node: SlurmNode
    probe: Probe | None = None
    fabric: Fabric = field(default_factory=Fabric)
    fault: str = ""
    refused: bool = False


@dataclass(frozen=True)
class Kind:
    """Nodes that are alike: `access` are the options that select them within their partition.

    `looked` is the node that was looked at; `taken` are nodes whose facts are those of `looked`
    because they have the same processors.
    """

    name: str
    partition: str
    nodes: tuple[SlurmNode, ...]
    looked: Look
    access: tuple[str, ...]
    taken: tuple[str, ...] = ()
    #: The largest number of nodes of a job; None without a limit.
    most: int | None = None

    @property
    def memory(self) -> int:
        """Return the bytes of memory that each of the nodes has."""
        return min(node.memory for node in self.nodes)

    @property
    def cores(self) -> int:
        """Count the cores that each of the nodes has for jobs."""
        return min(node.cores for node in self.nodes)


Hardware = tuple[str, int, int, int, int]


def hardware(node: SlurmNode) -> Hardware:
    """Return what tells the processors of nodes apart."""
    return node.arch, node.sockets, node.cores_per_socket, node.threads, node.cores


@dataclass
class _Group:
    """Nodes of a kind while they are sorted; `taken` are like the node that was looked at."""

    look: Look
    nodes: list[SlurmNode] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)


def kinds_of(partition: PartitionRecord, nodes: list[SlurmNode], paths: list[str]) -> list[Kind]:
    """Look at nodes of a partition, and sort all of them by what they are.

    `nodes` take jobs; `paths` are looked for on the nodes. Raises cluster.Refused when Slurm takes
    no job for any of them.
    """
    classes: dict[tuple[Hardware, frozenset[str]], list[SlurmNode]] = {}
    for node in nodes:
        classes.setdefault((hardware(node), node.features), []).append(node)
    ordered = sorted(classes.values(), key=len, reverse=True)
    looks = [look_at_one(partition.name, alike, paths) for alike in ordered[:MAX_LOOKS]]
    refusals = [look.fault for look in looks if look.refused]
    if refusals and not any(look.probe for look in looks):
        raise cluster.Refused(refusals[0])
    looks += [Look(alike[0], fault="not looked at") for alike in ordered[MAX_LOOKS:]]
    groups: dict[object, _Group] = {}
    known: dict[Hardware, object] = {}
    pairs = list(zip(ordered, looks, strict=True))
    for alike, look in pairs:
        if look.probe:
            key = _key(alike[0], look.fabric)
            groups.setdefault(key, _Group(look)).nodes.extend(alike)
            known.setdefault(hardware(alike[0]), key)
    for alike, look in pairs:
        if not look.probe:
            key = known.get(hardware(alike[0]), ("unknown", hardware(alike[0])))
            group = groups.setdefault(key, _Group(look))
            group.nodes.extend(alike)
            if group.look.probe:
                group.taken.extend(node.name for node in alike)
    return list(_named(partition, [*groups.values()]))


def _key(node: SlurmNode, facts: Fabric) -> object:
    # Two that say different things are two kinds, even where neither is a fact.
    return hardware(node), tuple(sorted(facts.facts.items())), facts.link


def look_at_one(partition: str, alike: list[SlurmNode], paths: list[str]) -> Look:
    """Look at a node of a partition, of these alike, through a short job."""
    ready = [n for n in alike if n.idle] or [n for n in alike if n.shared]
    if not ready:
        return Look(alike[0], fault="all such nodes were busy")
    node = ready[0]
    try:
        output = cluster.run_on(node.name, partition, probe.script(), paths)
        answer = probe.read(output, node.address, node.name)
    except cluster.Refused as err:
        return Look(node, fault=str(err), refused=True)
    except (cluster.Busy, ParseError) as err:
        return Look(node, fault=str(err))
    return Look(node, answer, fabric(answer))


def _named(partition: PartitionRecord, groups: list[_Group]) -> Iterator[Kind]:
    # No name of ReFrame's begins with a digit or a sign.
    plain = re.sub(r"^(?![A-Za-z_])", "part-", legal_name(partition.name))
    everyone = [node for group in groups for node in group.nodes]
    for number, group in enumerate(groups, 1):
        name = plain
        access: tuple[str, ...] = ()
        if len(groups) > 1:
            suffix, access = _selection(group, everyone, number)
            name = f"{plain}-{suffix}"
        nodes = tuple(sorted(group.nodes, key=lambda node: node.name))
        taken, most = tuple(group.taken), partition.most_nodes
        yield Kind(name, partition.name, nodes, group.look, access, taken, most)


def _selection(
    group: _Group, everyone: list[SlurmNode], number: int
) -> tuple[str, tuple[str, ...]]:
    """Return what tells a group from the others: a part of its name, and the options of a job.

    That is a feature that all of its nodes have and no other node or, without one, a number.
    """
    others = [node for node in everyone if node not in group.nodes]
    common = frozenset.intersection(*(node.features for node in group.nodes))
    strange = frozenset().union(*(node.features for node in others))
    if feature := min(common - strange, key=lambda name: (len(name), name), default=""):
        return legal_name(feature), (f"--constraint={feature}",)
    return str(number), (f"--exclude={','.join(sorted(node.name for node in others))}",)
