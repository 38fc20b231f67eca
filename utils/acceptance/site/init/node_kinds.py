"""The kinds of node in a Slurm partition: those alike in hardware and fabric are one of ReFrame's.

Slurm knows processors and features of every node; a look at one node of each kind tells the rest.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from acceptance.core.errors import ParseError
from acceptance.site.init import cluster, probe
from acceptance.site.init.fabric_of_node import Fabric, fabric
from acceptance.site.init.probe import Probe
from acceptance.site.init.scontrol import NodeRecord, PartitionRecord

#: Nodes of a partition that are looked at; sites with a feature for each rack have many kinds.
MOST = 8


@dataclass(frozen=True)
class Look:
    """What a look at a node gave; `fault` is why there was none, and then nothing is known."""

    node: NodeRecord
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
    nodes: tuple[NodeRecord, ...]
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


def hardware(node: NodeRecord) -> Hardware:
    """Return what tells the processors of nodes apart."""
    return node.arch, node.sockets, node.cores_per_socket, node.threads, node.cores


def kinds(partition: PartitionRecord, nodes: list[NodeRecord], paths: list[str]) -> list[Kind]:
    """Look at nodes of a partition, and sort all of them by what they are.

    `nodes` take jobs; `paths` are looked for on the nodes. Raises slurm.Refused when Slurm takes
    no job for any of them.
    """
    classes: dict[tuple[Hardware, frozenset[str]], list[NodeRecord]] = {}
    for node in nodes:
        classes.setdefault((hardware(node), node.features), []).append(node)
    ordered = sorted(classes.values(), key=len, reverse=True)
    looks = [_look(partition.name, alike, paths) for alike in ordered[:MOST]]
    refusals = [look.fault for look in looks if look.refused]
    if refusals and not any(look.probe for look in looks):
        raise cluster.Refused(refusals[0])
    groups: dict[object, tuple[Look, list[NodeRecord], list[str]]] = {}
    known: dict[Hardware, object] = {}
    for alike, look in zip(ordered, looks, strict=False):
        if look.probe:
            key = _key(alike[0], look.fabric)
            groups.setdefault(key, (look, [], []))[1].extend(alike)
            known.setdefault(hardware(alike[0]), key)
    for number, alike in enumerate(ordered):
        if number < len(looks) and looks[number].probe:
            continue
        look = looks[number] if number < len(looks) else Look(alike[0], fault="not looked at")
        key = known.get(hardware(alike[0]), ("unknown", hardware(alike[0])))
        group = groups.setdefault(key, (look, [], []))
        group[1].extend(alike)
        if group[0].probe:
            group[2].extend(node.name for node in alike)
    return list(_named(partition, [*groups.values()]))


def _key(node: NodeRecord, facts: Fabric) -> object:
    # Two that say different things are two kinds, even where neither is a fact.
    return hardware(node), tuple(sorted(facts.facts.items())), facts.link


def _look(partition: str, alike: list[NodeRecord], paths: list[str]) -> Look:
    ready = [n for n in alike if n.idle] or [n for n in alike if n.shared]
    if not ready:
        return Look(alike[0], fault="all such nodes were busy")
    node = ready[0]
    try:
        said = probe.read(
            cluster.run_on(node.name, partition, probe.script(), paths), node.address, node.name
        )
    except cluster.Busy as err:
        return Look(node, fault=str(err))
    except cluster.Refused as err:
        return Look(node, fault=str(err), refused=True)
    except ParseError as err:
        return Look(node, fault=str(err))
    return Look(node, said, fabric(said))


def _named(
    partition: PartitionRecord, groups: list[tuple[Look, list[NodeRecord], list[str]]]
) -> Iterator[Kind]:
    # No name of ReFrame's begins with a digit or a sign.
    plain = re.sub(r"^(?![A-Za-z_])", "part-", _legal(partition.name))
    everyone = [node for _, nodes, _ in groups for node in nodes]
    for number, (look, nodes, taken) in enumerate(groups, 1):
        own = tuple(sorted(nodes, key=lambda node: node.name))
        if len(groups) == 1:
            yield Kind(plain, partition.name, own, look, (), tuple(taken), partition.most_nodes)
            continue
        others = [node for node in everyone if node not in nodes]
        if feature := _telling(nodes, others):
            name, access = f"{plain}-{_legal(feature)}", f"--constraint={feature}"
        else:
            names = ",".join(sorted(node.name for node in others))
            name, access = f"{plain}-{number}", f"--exclude={names}"
        most = partition.most_nodes
        yield Kind(name, partition.name, own, look, (access,), tuple(taken), most)


def _telling(nodes: list[NodeRecord], others: list[NodeRecord]) -> str:
    """Return a feature that all of these nodes have, and none of the others; empty without."""
    common = frozenset.intersection(*(node.features for node in nodes))
    strange = frozenset().union(*(node.features for node in others))
    return min(common - strange, key=lambda name: (len(name), name), default="")


def _legal(name: str) -> str:
    """Return a name of Slurm with the signs only that ReFrame's may have."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)
