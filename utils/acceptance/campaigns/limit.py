"""The nodes that an operator limits an acceptance to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acceptance.core.errors import Fault
from acceptance.core.text import shortened
from acceptance.launch import SlurmNode, excluded_nodes, listed_nodes, slurm_nodes


class LimitFault(Fault):
    """A list of nodes that nothing can be limited to: which, and why."""


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


def pinned(limited: Mapping[str, Iterable[str]], known: Mapping[str, Sequence[SlurmNode]]) -> str:
    """Return what pins benchmarks to those of these nodes that are up, as `launch` writes pins."""
    up = {partition: {node.name for node in nodes if node.up} for partition, nodes in known.items()}
    chosen = {
        partition: [name for name in names if name in up[partition]]
        for partition, names in limited.items()
    }
    return slurm_nodes.write_pins(
        {partition: names for partition, names in chosen.items() if names}
    )


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
