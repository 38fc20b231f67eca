"""Jobs that are pinned to nodes: `partition=node1,node2` in, the nodes of a case out."""

from collections.abc import Collection, Mapping, Sequence
from zlib import crc32

from acceptance.core.errors import Fault


class PinFault(Fault):
    """Nodes that a case cannot be pinned to: which, and why."""


def read(text: str, partitions: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the nodes of each partition that is pinned; empty for an empty text.

    `partitions` are those that there are. Raises PinFault.
    """
    pins: dict[str, tuple[str, ...]] = {}
    for part in filter(None, text.split(";")):
        partition, equals, listed = part.partition("=")
        nodes = tuple(listed.split(","))
        if not equals or not all(nodes) or len(set(nodes)) < len(nodes):
            raise PinFault(f"pinned={text}: {part!r} is not of the form partition=node1,node2")
        if partition not in partitions:
            raise PinFault(
                f"pinned={text}: no partition {partition}; there are: {', '.join(partitions)}"
            )
        if partition in pins:
            raise PinFault(f"pinned={text}: {partition} stands there twice")
        pins[partition] = nodes
    return pins


def write(pins: Mapping[str, Sequence[str]]) -> str:
    """Return the text that `read` reads."""
    return ";".join(f"{partition}={','.join(nodes)}" for partition, nodes in pins.items())


def nodes_of_case(nodes: Sequence[str], number: int, case: str) -> list[str]:
    """Return which of the pinned nodes a case takes that needs so many of them.

    Neighbours in the list, the same ones each time for a case of this name; cases of other names
    take others, so that together they visit all. Raises PinFault when there are too few.
    """
    if number > len(nodes):
        raise PinFault(
            f"it takes {number} nodes, and is pinned to {len(nodes)}: {', '.join(nodes)}"
        )
    first = crc32(case.encode()) % (len(nodes) // number) * number
    return list(nodes[first : first + number])
