"""Families of series, and their states from one session to the next.

Which series are a family: see `members.py`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.families import advance
from acceptance.detection.family_constants import (
    FAMILY_BLOCK,
    FAMILY_NODES,
    FAMILY_RENEWED,
    FAMILY_SHARE,
)
from acceptance.detection.pools import empty
from acceptance.regressions.history.series import Series
from acceptance.regressions.progress.members import Formed, of_metrics, of_nodes
from acceptance.regressions.progress.records import FamilyBlock, Ints, Kept, Node, Shared
from acceptance.regressions.threshold import threshold

Flags = NDArray[np.bool_]


class Rows(NamedTuple):
    """New samples, those of a series (`slot`) together: logarithms, up is worse.

    `sets` stand for the nodes they were measured on; `renewed` are those with other software than
    the one before them.
    """

    slot: Ints
    session: Ints
    value: NDArray[np.float64]
    sets: NDArray[np.uint32]
    renewed: Flags


def take(
    kept: Kept,
    target: Kept,
    new: Rows,
    series: Mapping[int, Series],
    begun: Ints,
    named: Mapping[int, tuple[str, ...]],
) -> None:
    """Take new samples into the families that are kept, and into those that they begin.

    `series` are those that have a better direction, by their slots, `begun` the slots of those
    without an earlier sample; `named` has the nodes of each set. The states are written into the
    file of `target`.
    """
    formed = [*_formed(kept, new, series, begun, named)]
    blocks = [(block, np.full(len(block.members), -1)) for block in kept.families]
    blocks += _blocks(formed)
    target.shared = list(kept.shared)
    sessions, row = _rows(new)
    begins = sorted(one.session for one in formed)
    before = sum(len(block.members) for block in kept.families)
    watched = before + np.searchsorted(begins, sessions, side="right")
    limits = np.array([threshold(FAMILY_SHARE * count) for count in watched.tolist()])
    for block, since in blocks:
        families, members = block.members.shape
        states = kept.states(block) if block.size else empty(families, members)
        values = np.full((len(sessions), families * members), np.nan)
        renewed = np.zeros(values.shape, np.bool_)
        sample, place = _places(block, since, new, named)
        values[row[sample], place] = new.value[sample]
        renewed[row[sample], place] = new.renewed[sample]
        values = values.reshape(len(sessions), families, members)
        share = renewed.reshape(values.shape).sum(axis=2)
        other = share >= FAMILY_RENEWED * np.maximum(np.isfinite(values).sum(axis=2), 1)
        found = advance(states, values, sessions.tolist(), limits[:, None], other)
        for who, node, changes in zip(block.members.tolist(), block.nodes, found, strict=True):
            target.shared += [Shared(tuple(who), change, node) for change in changes]
        target.add_states(block.members, block.nodes, states)
    target.shared.sort(key=lambda one: (one.change.detected, one.members, one.node or ()))


def _formed(
    kept: Kept,
    new: Rows,
    series: Mapping[int, Series],
    begun: Ints,
    named: Mapping[int, tuple[str, ...]],
) -> Iterator[Formed]:
    slots, at = np.unique(new.slot, return_index=True)
    first = dict(zip(slots.tolist(), new.session[at].tolist(), strict=True))
    yield from of_metrics(
        [
            (slot, series[slot], first[slot])
            for slot in begun.tolist()
            if slot in first and slot in series
        ]
    )
    known = [node for block in kept.families for node in block.nodes if node is not None]
    yield from of_nodes(new.slot, new.session, new.sets, named, series, known)


def _blocks(formed: list[Formed]) -> Iterator[tuple[FamilyBlock, Ints]]:
    """Yield new families of as many members together, and in which session each forms."""
    alike: dict[int, list[Formed]] = defaultdict(list)
    for one in formed:
        alike[len(one.members)].append(one)
    for _, some in sorted(alike.items()):
        for begin in range(0, len(some), FAMILY_BLOCK):
            part = some[begin : begin + FAMILY_BLOCK]
            members = np.array([one.members for one in part], np.intp)
            block = FamilyBlock(members, [one.node for one in part])
            yield block, np.array([one.session for one in part])


def _places(
    block: FamilyBlock, since: Ints, new: Rows, named: Mapping[int, tuple[str, ...]]
) -> tuple[Ints, Ints]:
    """Return which new samples are of families of a block, and of which member in all of them.

    Of a node's family only those count that were measured on it, from the session on with which it
    forms (`since`).
    """
    flat = block.members.ravel()
    order = np.argsort(flat, kind="stable")
    first, last = (np.searchsorted(flat[order], new.slot, side) for side in ("left", "right"))
    count = last - first
    sample = np.repeat(np.arange(len(new.slot)), count)
    place = order[np.arange(len(sample)) + np.repeat(first - (np.cumsum(count) - count), count)]
    family = place // block.members.shape[1]
    codes, which = np.unique(new.sets, return_inverse=True)
    known = [[_is_on(node, named.get(code, ())) for code in codes] for node in block.nodes]
    on = np.array(known, np.bool_)  # of no new sample there is no code
    counts = on[family, which.reshape(-1)[sample]] & (new.session[sample] >= since[family])
    return sample[counts], place[counts]


def _is_on(node: Node | None, nodes: tuple[str, ...]) -> bool:
    return node is None or (node[2] in nodes and len(set(nodes)) <= FAMILY_NODES)


def _rows(new: Rows) -> tuple[Ints, Ints]:
    """Return the sessions of rows, one for each repetition, and the row of each sample."""
    change = (np.diff(new.slot, prepend=-1) != 0) | (np.diff(new.session, prepend=-1) != 0)
    begin = np.flatnonzero(change)
    count = np.diff(begin, append=len(new.slot))
    again = np.arange(len(new.slot)) - np.repeat(begin, count)
    # The numbers of both are small: a table of them is cheaper than an order.
    first, times = int(new.session.min(initial=0)), int(again.max(initial=0)) + 1
    keys = (new.session - first) * np.intp(times) + again
    there = np.bincount(keys) > 0
    return np.flatnonzero(there) // times + first, (np.cumsum(there) - 1)[keys]
