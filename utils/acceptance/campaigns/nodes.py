"""The nodes of a campaign: what the scheduler has for each partition when it begins.

Those that an operator limits an acceptance to, and what the verdict has to know of them.

And those whose turn it is: each night benchmarks others, until all have been measured. The nodes of
a partition, sorted by name, are cut into blocks of as many as the benchmarks use. The block with
the node that was measured the longest ago comes first. So each node is measured within as many
nights as there are blocks, and sets of nodes repeat, which the history needs.
"""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from acceptance.campaigns.state import DONE, State
from acceptance.campaigns.steps import ALL_PAIRS, LINKS
from acceptance.core.errors import Fault
from acceptance.core.extras import node_count
from acceptance.core.text import shortened
from acceptance.machine import (
    ASKED,
    NODES,
    PlacementFault,
    SchedulerFault,
    SlurmNode,
    access_of,
    excluded_nodes,
    names_of,
    nodes_of,
    placement,
)
from acceptance.rfm.configuration import Site
from acceptance.verdict import ACCEPT, Nodes, stated_nodes

#: Names of nodes that a line shows.
_SHOWN = 8


def ask(system: Mapping[str, Any]) -> dict[str, list[SlurmNode]]:
    """Return the nodes of each partition whose scheduler can be asked, by the partition's name.

    Raises SchedulerFault, with the partition, when it does not answer or knows no node of it.
    """
    nodes = {}
    for partition in system["partitions"]:
        if (scheduler := partition.get("scheduler")) in ASKED:
            try:
                nodes[partition["name"]] = nodes_of(scheduler, access_of(partition))
            except SchedulerFault as err:
                raise SchedulerFault(f"{system['name']}:{partition['name']}: {err}") from None
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
    """Return the nodes of each partition that a list, such as node[1-16], names.

    `known` are the nodes of the partitions. Raises Fault for a name that none of them has, for a
    partition without any of them, and for a list that cannot be read.
    """
    if not known:
        raise Fault(f"--nodes {listed}: no partition of this system has a scheduler to ask")
    names = [*dict.fromkeys(names_of(listed))]
    if not names:
        raise Fault(f"--nodes {listed!r} names no node")
    limited = {
        partition: [node.name for node in nodes if node.name in names]
        for partition, nodes in known.items()
    }
    everywhere = {name for chosen in limited.values() for name in chosen}
    if unknown := [name for name in names if name not in everywhere]:
        there = sorted({node.name for nodes in known.values() for node in nodes})
        raise Fault(
            f"--nodes {listed}: no node {', '.join(unknown)} in {', '.join(known)}; there are: "
            f"{shortened(there, 16)}"
        )
    if empty := [partition for partition, chosen in limited.items() if not chosen]:
        raise Fault(
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
    return placement.write_pins({name: nodes for name, nodes in chosen.items() if nodes})


def exclusion(
    limited: Mapping[str, Iterable[str]],
    known: Mapping[str, Sequence[SlurmNode]],
    partitions: Iterable[Mapping[str, Any]],
) -> str:
    """Return the nodes that the link check leaves out, as a list; empty for none.

    Of two such options the last one counts: so those that partitions exclude are in it, too.
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
        detect=next(iter(state.asked.get("aim", ())), 0.0),
    )


def turns(
    system: Mapping[str, Any], nodes: Mapping[str, Sequence[SlurmNode]], earlier: Iterable[State]
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return whose turn it is in each partition whose benchmarks do not use all of its nodes.

    A line says it to whoever reads what the night did, also where the scheduler chooses the nodes.

    `nodes` are those that the scheduler has, `earlier` the campaigns before, the newest first.
    """
    measured = _measured(system, nodes, earlier)
    chosen: dict[str, tuple[str, ...]] = {}
    lines = []
    for partition in system["partitions"]:
        name = partition["name"]
        known = nodes.get(name, ())
        size = node_count(partition.get("extras", {}), min(NODES, len(known)) or 1)
        if size is not None and size < len(known):
            place = f"{system['name']}:{name}"
            names, line = _turn(place, known, size, measured.get(name, {}))
            chosen |= {name: names} if names else {}
            lines.append(line)
    return chosen, lines


def _turn(
    place: str, known: Sequence[SlurmNode], size: int, measured: Mapping[str, str]
) -> tuple[tuple[str, ...], str]:
    up = {node.name for node in known if node.up}
    names = [node.name for node in known]
    starts = range(0, len(names), size)
    if len(up) < size:
        few = f"only {len(up)} of {len(names)} nodes are up, fewer than {size}"
        return (), f"{place}: benchmarks run on any nodes: {few}"
    blocks = [(start, [name for name in names[start : start + size] if name in up])
              for start in starts]  # fmt: skip
    start, block = min(
        (each for each in blocks if each[1]),
        key=lambda each: (min(measured.get(name, "") for name in each[1]), each[0]),
    )
    # What is not up is replaced by what comes next, the same each time.
    following = [*names[start + size :], *names[: start + size]]
    spare = [name for name in following if name in up and name not in block]
    chosen = {*block, *spare[: size - len(block)]}
    ordered = tuple(name for name in names if name in chosen)
    text = (
        f"{place}: benchmarks run on {shortened(ordered, _SHOWN)}; each of its {len(names)} nodes "
        f"is measured within {len(starts)} nights"
    )
    return ordered, text


def _measured(
    system: Mapping[str, Any],
    nodes: Mapping[str, Sequence[SlurmNode]],
    earlier: Iterable[State],
) -> dict[str, dict[str, str]]:
    """Return when the benchmarks of a night last ran on each node: partition -> node -> time.

    No more campaigns are read than it takes until each node that is up was measured.
    """
    partitions = [partition["name"] for partition in system["partitions"]]
    last: dict[str, dict[str, str]] = {}
    left = {(name, node.name) for name in partitions for node in nodes.get(name, ()) if node.up}
    for state in (state for state in earlier if state.asked.get("system") == system["name"]):
        for step in (step for step in state.steps if step.name != LINKS and step.state == DONE):
            with contextlib.suppress(PlacementFault):  # of partitions that there are no more
                for partition, names in placement.read_pins(step.pinned, partitions).items():
                    times = last.setdefault(partition, {})
                    times |= {name: max(state.started, times.get(name, "")) for name in names}
                    left -= {(partition, name) for name in names}
        if not left:
            break
    return last
