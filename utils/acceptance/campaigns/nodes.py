"""The nodes of a campaign: what Slurm has for each partition when it begins."""

from collections.abc import Iterable, Mapping
from typing import Any

from acceptance.core.text import shortened
from acceptance.launch import SLURM, SlurmFault, SlurmNode, partition_nodes

#: Names of nodes that a line shows.
_SHOWN = 8


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
