"""The nodes of a campaign: what Slurm has for each partition when it begins.

Those that an operator limits an acceptance to, what the verdict has to know of them, and of which
of them nobody looked at the links.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from acceptance.campaigns.state import State
from acceptance.campaigns.steps import ALL_PAIRS
from acceptance.core.errors import Fault
from acceptance.core.text import shortened
from acceptance.machine import (
    SLURM,
    SlurmFault,
    SlurmNode,
    excluded_nodes,
    listed_nodes,
    partition_nodes,
    slurm,
)
from acceptance.rfm.configuration import Site
from acceptance.verdict import ACCEPT, Nodes, stated_nodes

#: Names of nodes that a line shows.
_SHOWN = 8


class LimitFault(Fault):
    """A list of nodes that nothing can be limited to: which, and why."""


def ask(system: Mapping[str, Any]) -> dict[str, list[SlurmNode]]:
    """Return the nodes of each partition of a system that has Slurm, by the partition's name.

    Raises SlurmFault, with the partition, when Slurm does not answer or knows no node of it.
    """
    nodes = {}
    for partition in system["partitions"]:
        if partition.get("scheduler") in SLURM:
            try:
                nodes[partition["name"]] = partition_nodes(partition.get("access", []))
            except SlurmFault as err:
                raise SlurmFault(f"{system['name']}:{partition['name']}: {err}") from None
    return nodes


def lines(nodes: Mapping[str, Iterable[SlurmNode]]) -> list[str]:
    """Return a line for each partition: how many nodes it has, and which are not up, and why."""
    texts = []
    for partition, known in nodes.items():
        names = [node.name for node in known if node.up]
        away = [node.text for node in known if not node.up]
        text = f"{len(names)} of {len(names) + len(away)} nodes of {partition} are up"
        texts.append(text + (f"; not: {shortened(away, _SHOWN)}" if away else ""))
    return texts


def limit(listed: str, known: Mapping[str, Sequence[SlurmNode]]) -> dict[str, list[str]]:
    """Return the nodes of each partition that a list of Slurm, such as node[1-16], names.

    `known` are the nodes of the partitions. Raises LimitFault for a name that none of them has, and
    for a partition without any of them; SlurmFault where Slurm cannot read the list.
    """
    if not known:
        raise LimitFault(f"--nodes {listed}: no partition of this system is one of Slurm")
    names = listed_nodes(listed)
    if not names:
        raise LimitFault(f"--nodes {listed!r} names no node")
    limited = {
        partition: [node.name for node in nodes if node.name in names]
        for partition, nodes in known.items()
    }
    everywhere = {name for chosen in limited.values() for name in chosen}
    if unknown := [name for name in names if name not in everywhere]:
        there = sorted({node.name for nodes in known.values() for node in nodes})
        raise LimitFault(
            f"--nodes {listed}: no node {', '.join(unknown)} in {', '.join(known)}; there are: "
            f"{shortened(there, 16)}"
        )
    if empty := [partition for partition, chosen in limited.items() if not chosen]:
        raise LimitFault(
            f"--nodes {listed}: names no node of {', '.join(empty)}, whose cases would take any; "
            "name one at least"
        )
    return limited


def pinned(limited: Mapping[str, Collection[str]], known: Mapping[str, Sequence[SlurmNode]]) -> str:
    """Return what pins benchmarks to those of these nodes that are up, as `launch` writes pins."""
    chosen = {
        partition: [node.name for node in known[partition] if node.up and node.name in names]
        for partition, names in limited.items()
    }
    return slurm.write_pins({name: nodes for name, nodes in chosen.items() if nodes})


def exclusion(
    limited: Mapping[str, Iterable[str]],
    known: Mapping[str, Sequence[SlurmNode]],
    partitions: Iterable[Mapping[str, Any]],
) -> str:
    """Return the nodes that the link check leaves out, as a list of Slurm; empty for none.

    Of two such options Slurm takes the last one: so those that partitions exclude are in it, too.
    """
    if not limited:
        return ""
    chosen = {name for names in limited.values() for name in names}
    left_out = [node.name for nodes in known.values() for node in nodes if node.name not in chosen]
    stated = [excluded_nodes(partition.get("access", ())) for partition in partitions]
    return ",".join(dict.fromkeys(filter(None, (*left_out, *stated))))


def asked_nodes(state: State, configuration: Site) -> Nodes:
    """Return the nodes of a campaign's partitions, and how it was to measure them.

    Raises SiteFault for a system that there is none of.
    """
    system = configuration.system(state.asked.get("system") or None)["name"]
    return Nodes(
        known={f"{system}:{partition}": nodes for partition, nodes in state.nodes.items()},
        stated=stated_nodes(configuration, [system]),
        limited={f"{system}:{partition}": names for partition, names in state.limited.items()},
        every=state.kind == ACCEPT,
        unpaired="".join(step.reason for step in state.steps if step.name == ALL_PAIRS),
    )
