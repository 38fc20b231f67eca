"""Families of series, and their states from one session to the next.

The whole site is watched for about one false alarm a year. A threshold of `changepoint` is the
natural logarithm of the mean number of samples between two false alarms of one series; its default
serves `SERIES` series that are sampled every night. With m of them the union would raise m / SERIES
times as many, so ln(m / SERIES) is added. m is rounded up to a power of two.

Watched together are the series of a metric, of an environment, of a partition, of a node. Those of
a family began in the same session, and so nobody joins it later: the sizes of one metric of a case;
metrics of all the cases of an environment on a partition, and of all its environments. A node's are
those that ran on it, alone or as one of a pair, in the first session in which there were enough of
them.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from acceptance.core.groups import grouped
from acceptance.core.words import split_metric
from acceptance.detection.constants import (
    DEFAULT_THRESHOLD,
    FAMILY_BLOCK,
    FAMILY_LEAST,
    FAMILY_MOST,
    FAMILY_NODES,
    FAMILY_RENEWED,
    FAMILY_SHARE,
    SERIES,
)
from acceptance.detection.families import advance, empty
from acceptance.regressions.history import Series
from acceptance.regressions.records import FamilyBlock, Ints, Kept, New, Node, Shared


def threshold(count: int) -> float:
    """Return the evidence that a change needs among so many series."""
    rounded = 2 ** math.ceil(math.log2(max(count, 1)))
    return float(DEFAULT_THRESHOLD) + max(0.0, math.log(rounded / SERIES))


#: A session, and an environment on a partition of a system.
_Place = tuple[int, str, str, str]


#: A family that forms: in which session, its members by their slots, and the node whose it is.
_Formed = tuple[int, tuple[int, ...], Node | None]


def _of_metrics(series: Sequence[tuple[int, Series, int]]) -> Iterator[_Formed]:
    """Yield the families that series form: each with its slot, and the session it began in."""
    sizes: dict[tuple[_Place, int, str, str | None], list[tuple[int, int]]] = defaultdict(list)
    some: dict[_Place, list[int]] = defaultdict(list)
    for slot, one, session in series:
        stem, size = split_metric(one.metric)
        key = one.case.key
        place = (session, key.system, key.partition, key.environment)
        if size is None:
            some[place].append(slot)
        else:
            sizes[place, id(one.case), stem, one.unit].append((size, slot))
    for (place, *_), each in sizes.items():
        members = [slot for _, slot in sorted(each)]
        some[place].append(members[len(members) // 2])
        yield from _some(place[0], members)
    partitions: dict[tuple[int, str, str], list[list[int]]] = defaultdict(list)
    for place, members in some.items():
        yield from _some(place[0], sorted(members))
        partitions[place[:3]].append(members)
    for (session, *_), parts in partitions.items():
        if len(parts) > 1:
            yield from _some(session, sorted(slot for part in parts for slot in part))


def of_nodes(
    new: New,
    which: Ints,
    nodes: Sequence[tuple[str, ...]],
    series: Mapping[int, Series],
    known: Iterable[Node],
) -> Iterator[_Formed]:
    """Yield the families of nodes that form with new samples, of `series` by their slots.

    `which` of `nodes` a sample was measured on; of `known` nodes there are families already.
    """
    done = set(known)
    places: dict[tuple[str, str], int] = {}
    place = np.full(max(int(new.slot.max(initial=0)), max(series, default=0)) + 1, -1)
    for slot, one in series.items():
        key = one.case.key
        place[slot] = places.setdefault((key.system, key.partition), len(places))
    # A pair is a partition with a set of nodes, -1 where the series is of no interest.
    pair = np.where(place[new.slot] < 0, -1, place[new.slot] * len(nodes) + which)
    names = [*places]
    of_pair: dict[int, list[Node]] = {
        code: [(*names[code // len(nodes)], name) for name in nodes[code % len(nodes)] if code >= 0]
        for code in np.unique(pair).tolist()
    }
    by_session = np.argsort(new.session, kind="stable")
    edges = np.flatnonzero(np.diff(new.session[by_session], prepend=-1, append=-1))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        those = by_session[first:last]
        # Most sessions have no node of which there is no family yet.
        codes = [code for code in np.unique(pair[those]) if not done.issuperset(of_pair[code])]
        those = those[np.isin(pair[those], codes)]
        on: dict[Node, set[int]] = defaultdict(set)
        for slot, code in zip(new.slot[those].tolist(), pair[those].tolist(), strict=True):
            for node in of_pair[code]:
                on[node].add(slot)
        for node in sorted(on.keys() - done):
            members = _few_of_each(sorted(on[node]), series)
            for formed in _some(int(new.session[those[0]]), members, node):
                done.add(node)
                yield formed


def _few_of_each(members: Sequence[int], series: Mapping[int, Series]) -> Sequence[int]:
    """Return the middle size of each metric of a case, or all where these are too few."""
    metrics: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for slot in members:
        stem, size = split_metric(series[slot].metric)
        metrics[id(series[slot].case), stem].append((size or 0, slot))
    middle = sorted(sorted(each)[len(each) // 2][1] for each in metrics.values())
    return middle if len(middle) >= FAMILY_LEAST else members


def _some(session: int, members: Sequence[int], node: Node | None = None) -> Iterator[_Formed]:
    if len(members) >= FAMILY_LEAST:
        count = min(len(members), FAMILY_MOST)
        places = [round(at) for at in np.linspace(0, len(members) - 1, count)]
        yield session, tuple(members[place] for place in places), node


Flags = NDArray[np.bool_]


def take(
    kept: Kept,
    target: Kept,
    new: New,
    series: Mapping[int, Series],
    begun: Ints,
    named: Mapping[int, tuple[str, ...]],
) -> None:
    """Take new samples into the families that are kept, and into those that they begin.

    `series` are those that have a better direction, by their slots, `begun` the slots of those
    without an earlier sample; `named` has the nodes of each set. The states are written into the
    file of `target`.
    """
    slots, at = np.unique(new.slot, return_index=True)
    first = dict(zip(slots.tolist(), new.session[at].tolist(), strict=True))
    own = [slot for slot in begun.tolist() if slot in first and slot in series]
    known = [node for block in kept.families for node in block.nodes if node is not None]
    codes = np.unique(new.sets)
    which = np.searchsorted(codes, new.sets)
    each_of = (named.get(code, ()) for code in codes.tolist())
    nodes = [some if len(set(some)) <= FAMILY_NODES else () for some in each_of]
    formed = [
        *_of_metrics([(slot, series[slot], first[slot]) for slot in own]),
        *of_nodes(new, which, nodes, series, known),
    ]
    blocks = [(block, np.full(len(block.members), -1)) for block in kept.families]
    blocks += _blocks(formed)
    target.shared = list(kept.shared)
    sessions, row = _rows(new)
    begins = sorted(session for session, *_ in formed)
    before = sum(len(block.members) for block in kept.families)
    watched = before + np.searchsorted(begins, sessions, side="right")
    limits = np.array([threshold(FAMILY_SHARE * count) for count in watched.tolist()])
    for number, (block, since) in enumerate(blocks):
        families, members = block.members.shape
        is_kept = number < len(kept.families)
        states = kept.states(number) if is_kept else empty(families, members)
        values = np.full((len(sessions), families * members), np.nan)
        renewed = np.zeros(values.shape, np.bool_)
        sample, place = _places(block, since, new, which, nodes)
        values[row[sample], place] = new.worse[sample]
        renewed[row[sample], place] = new.renewed[sample]
        values = values.reshape(len(sessions), families, members)
        share = renewed.reshape(values.shape).sum(axis=2)
        other = share >= FAMILY_RENEWED * np.maximum(np.isfinite(values).sum(axis=2), 1)
        found = advance(states, values, sessions.tolist(), limits[:, None], other)
        for who, node, changes in zip(block.members.tolist(), block.nodes, found, strict=True):
            target.shared += [Shared(tuple(who), change, node) for change in changes]
        target.add_states(block.members, block.nodes, states)
    target.shared.sort(key=lambda one: (one.change.detected, one.members, one.node or ()))


def _blocks(formed: list[_Formed]) -> Iterator[tuple[FamilyBlock, Ints]]:
    """Yield new families of as many members together, and in which session each forms."""
    for _, some in sorted(grouped(formed, lambda one: len(one[1])).items()):
        for begin in range(0, len(some), FAMILY_BLOCK):
            sessions, members, nodes = zip(*some[begin : begin + FAMILY_BLOCK], strict=True)
            yield FamilyBlock(np.array(members, np.intp), [*nodes]), np.array(sessions)


def _places(
    block: FamilyBlock, since: Ints, new: New, which: Ints, nodes: Sequence[tuple[str, ...]]
) -> tuple[Ints, Ints]:
    """Return which new samples are of families of a block, and of which member in all of them.

    Of a node's family only those count that were measured on it (`which` of `nodes`), from the
    session on with which it forms (`since`).
    """
    flat = block.members.ravel()
    order = np.argsort(flat, kind="stable")
    count_of = np.bincount(flat, minlength=int(new.slot.max(initial=0)) + 1)
    count, last = count_of[new.slot], np.cumsum(count_of)[new.slot]
    sample = np.repeat(np.arange(len(new.slot)), count)
    place = order[np.arange(len(sample)) + np.repeat(last - np.cumsum(count), count)]
    family = place // block.members.shape[1]
    known = [[node is None or node[2] in some for some in nodes] for node in block.nodes]
    on = np.array(known, np.bool_)  # of no new sample there is no code
    counts = on[family, which[sample]] & (new.session[sample] >= since[family])
    return sample[counts], place[counts]


def _rows(new: New) -> tuple[Ints, Ints]:
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
