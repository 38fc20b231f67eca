"""The nodes whose turn it is: each night benchmarks others, until all have been measured.

The nodes of a partition, sorted by name, are cut into blocks of as many as the benchmarks use. The
block with the node that was measured the longest ago comes first. So each node is measured within
as many nights as there are blocks, and sets of nodes repeat, which the history needs.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from acceptance.campaigns.state import DONE, State
from acceptance.campaigns.steps import LINKS
from acceptance.core.extras import node_count
from acceptance.core.text import shortened
from acceptance.machine import NODES, PlacementFault, SlurmNode, slurm

#: Names of nodes that a line shows.
_SHOWN = 8


class Turn(NamedTuple):
    """The nodes of a partition that a night benchmarks; none where Slurm chooses.

    `text` is a line for whoever reads what the night did.
    """

    nodes: tuple[str, ...]
    text: str


def turns(
    system: Mapping[str, Any], nodes: Mapping[str, Sequence[SlurmNode]], earlier: Iterable[State]
) -> dict[str, Turn]:
    """Return whose turn it is in each partition whose benchmarks do not use all of its nodes.

    `nodes` are those that Slurm has, `earlier` the campaigns before, in any order.
    """
    measured = _measured(system, earlier)
    found = {}
    for partition in system["partitions"]:
        name = partition["name"]
        known = nodes.get(name, ())
        size = node_count(partition.get("extras", {}), min(NODES, len(known)) or 1)
        if size is not None and size < len(known):
            place = f"{system['name']}:{name}"
            found[name] = _turn(place, known, size, measured.get(name, {}))
    return found


def _turn(place: str, known: Sequence[SlurmNode], size: int, measured: Mapping[str, str]) -> Turn:
    up = {node.name for node in known if node.up}
    names = [node.name for node in known]
    starts = range(0, len(names), size)
    if len(up) < size:
        few = f"only {len(up)} of {len(names)} nodes are up, fewer than {size}"
        return Turn((), f"{place}: benchmarks run on any nodes: {few}")
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
    return Turn(ordered, text)


def _measured(system: Mapping[str, Any], earlier: Iterable[State]) -> dict[str, dict[str, str]]:
    """Return when the benchmarks of a night last ran on each node: partition -> node -> time."""
    partitions = [partition["name"] for partition in system["partitions"]]
    last: dict[str, dict[str, str]] = {}
    for state in (state for state in earlier if state.asked.get("system") == system["name"]):
        for step in (step for step in state.steps if step.name != LINKS and step.state == DONE):
            with contextlib.suppress(PlacementFault):  # of partitions that there are no more
                for partition, names in slurm.read_pins(step.pinned, partitions).items():
                    times = last.setdefault(partition, {})
                    times |= {name: max(state.started, times.get(name, "")) for name in names}
    return last
