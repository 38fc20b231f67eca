"""Nodes of a matrix in groups, and where in these the culprits stand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acceptance.nodes import findings
from acceptance.nodes.culprits import Culprit, model

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Nodes of which each pair has a cell; of more, groups have.
MOST = 96
#: Groups of nodes at most, where no fabric says which nodes are together.
GROUPS = 64


@dataclass(frozen=True)
class Group:
    """Nodes that stand together: of a leaf, or else next to each other in the order of ranks."""

    name: str
    ranks: Ints


def cells_of(
    culprit: Culprit, places: Mapping[str, int]
) -> Iterator[tuple[float | None, float | None]]:
    """Yield the columns and rows that a culprit explains."""
    nodes = [places[name] for name in culprit.nodes if name in places]
    others = [places[name] for name in culprit.others if name in places]
    if culprit.kind in (findings.WAY, model.ONE_WAY, model.FAILED) and nodes and others:
        for row, column in ((row, column) for row in nodes for column in others):
            yield column, row
            if culprit.kind != model.ONE_WAY:
                yield row, column
        return
    for place in dict.fromkeys(nodes):
        if culprit.kind != model.RECEIVES:
            yield None, place
        if culprit.kind != model.SENDS:
            yield place, None


def blocks_of(nodes: Sequence[str]) -> list[Group]:
    """Group nodes by their ranks: each alone where each has a cell."""
    size = 1 if len(nodes) <= MOST else -(-len(nodes) // GROUPS)
    groups = []
    for begin in range(0, len(nodes), size):
        ranks = np.arange(begin, min(begin + size, len(nodes)))
        first, last = nodes[ranks[0]], nodes[ranks[-1]]
        groups.append(Group(first if first == last else f"{first} to {last}", ranks))
    return groups


def of_each(blocks: Sequence[Sequence[Floats]], reduced: object) -> Floats:
    """Return a number of each block, NaN where it has none."""
    assert callable(reduced)
    return np.array(
        [[reduced(block) if np.isfinite(block).any() else np.nan for block in row]
         for row in blocks]
    )  # fmt: skip


def rounded(value: float) -> float | None:
    """Return a value with five digits; None for NaN."""
    return float(f"{value:.5g}") if np.isfinite(value) else None


def text_of(value: float) -> str:
    """Return a value as people write it."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
