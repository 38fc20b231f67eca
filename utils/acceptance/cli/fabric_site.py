"""What the configuration says of a fabric: its name, who looks from where, whose node each is."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from acceptance.core.errors import Fault
from acceptance.fabric import Facts, NodeLinks, facts_of, topology, view
from acceptance.fabric.topology import Joined, Topology
from acceptance.launch import SLURM, SlurmFault, partition_nodes


@dataclass(frozen=True)
class FabricSite:
    """A fabric of a system: the name of its files, adapters to look from, and its nodes.

    An adapter without a name is the first one. `away` are nodes that are not up, and why.
    """

    name: str
    adapters: tuple[str, ...] = ("",)
    hosts: view.Hosts = field(default_factory=lambda: view.Hosts({}))
    away: Mapping[str, str] = field(default_factory=dict)

    def join(self, seen: Topology, known: Iterable[NodeLinks]) -> Joined:
        """Join hosts with nodes: `known` by GUID, those of Slurm or else all by description."""
        described = {
            topology.called(device.name)
            for device in seen.devices.values()
            if device.kind == "host" and len(device.name.split()) > 1
        }
        return topology.join(seen, known, self.hosts.by_node or described)


def of(
    system: Mapping[str, Any], place_of: Callable[[str, str], str], only: str | None = None
) -> FabricSite:
    """Return the fabric of a system, or of the partition `only`; asks Slurm for the nodes.

    Raises Fault where several partitions state who looks, and none of them is named.
    """
    name = system["name"]
    facts: dict[str, Facts] = {}
    for partition in system["partitions"]:
        stated = facts_of(partition.get("extras", {}), place_of(name, partition["name"]))
        if stated is not None and stated.technology == "infiniband":
            facts[partition["name"]] = stated
    if only is not None and only not in facts:
        raise Fault(f"{name} has no partition {only!r} that states InfiniBand")
    viewers = [part for part, stated in facts.items() if stated.view]
    if only is None and len(viewers) > 1:
        raise Fault(f"{name} has several fabrics: name one with --partition: {', '.join(viewers)}")
    chosen = only or next(iter(viewers), None) or next(iter(facts), None)
    by_node, away, alone = _nodes(system, facts)
    alone = [facts[only]] if only else alone
    others = alone[0] if len(alone) == 1 and not by_node else None
    return FabricSite(
        f"{name}-{only}" if len(viewers) > 1 else name,
        tuple(dict.fromkeys(facts[chosen].devices)) or ("",) if chosen else ("",),
        view.Hosts(by_node, others),
        away,
    )


def _nodes(
    system: Mapping[str, Any], facts: Mapping[str, Facts]
) -> tuple[dict[str, Facts], dict[str, str], list[Facts]]:
    """Return the facts of Slurm's nodes, which are away, and the facts of other partitions."""
    by_node: dict[str, Facts] = {}
    away: dict[str, str] = {}
    alone: list[Facts] = []
    for partition in system["partitions"]:
        stated = facts.get(partition["name"])
        if stated is None:
            continue
        if partition["scheduler"] not in SLURM:
            alone.append(stated)
            continue
        with suppress(SlurmFault):  # the doctor says it
            for node in partition_nodes(tuple(partition.get("access", ()))):
                by_node[node.name] = stated
                away |= {} if node.up else {node.name: node.text}
    return by_node, away, alone
