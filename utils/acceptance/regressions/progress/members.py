"""Which series are watched together: of a metric, of an environment, of a partition, of a node.

The series of a family began in the same session, and so nobody joins it later: the sizes of one
metric of a case; metrics of all the cases of an environment on a partition, and of all its
environments. A node's are those that ran on it, alone or as one of a pair, in the first session in
which there were enough of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.core.metrics import split
from acceptance.detection.family_constants import FAMILY_LEAST, FAMILY_MOST, FAMILY_NODES
from acceptance.regressions.history.series import Series
from acceptance.regressions.progress.records import Ints, Node

#: A session, and an environment on a partition of a system.
_Place = tuple[int, str, str, str]


class Formed(NamedTuple):
    """A family that forms in a session: its members by their slots, and whose it is."""

    session: int
    members: tuple[int, ...]
    node: Node | None = None


def of_metrics(series: Sequence[tuple[int, Series, int]]) -> Iterator[Formed]:
    """Yield the families that series form: each with its slot, and the session it began in."""
    sizes: dict[tuple[_Place, int, str, str | None], list[tuple[int, int]]] = defaultdict(list)
    some: dict[_Place, list[int]] = defaultdict(list)
    for slot, one, session in series:
        stem, size = split(one.metric)
        key = one.case.key
        place = (session, key.system, key.partition, key.environment)
        if size is None:
            some[place].append(slot)
        else:
            sizes[place, id(one.case), stem, one.stored_unit].append((size, slot))
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
    slots: Ints,
    sessions: Ints,
    sets: NDArray[np.uint32],
    named: Mapping[int, tuple[str, ...]],
    series: Mapping[int, Series],
    known: Iterable[Node],
) -> Iterator[Formed]:
    """Yield the families of nodes that form with new samples, of `series` by their slots.

    `sets` are what the samples were measured on, of `known` nodes there are families already.
    """
    done = set(known)
    few = {code: nodes for code, nodes in named.items() if 0 < len(set(nodes)) <= FAMILY_NODES}
    own = np.flatnonzero(np.isin(sets, np.array([*few], sets.dtype)))
    own = own[np.lexsort((slots[own], sets[own], sessions[own]))]
    edges = np.flatnonzero(np.diff(sessions[own], prepend=-1, append=-1))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        those = own[first:last]
        on: dict[Node, set[int]] = defaultdict(set)
        for slot, code in {*zip(slots[those].tolist(), sets[those].tolist(), strict=True)}:
            if slot in series:
                key = series[slot].case.key
                for name in few[code]:
                    on[key.system, key.partition, name].add(slot)
        for node in sorted(on.keys() - done):
            members = _few_of_each(sorted(on[node]), series)
            for formed in _some(int(sessions[those[0]]), members):
                done.add(node)
                yield formed._replace(node=node)


def _few_of_each(members: Sequence[int], series: Mapping[int, Series]) -> Sequence[int]:
    """Return the middle size of each metric of a case, or all where these are too few."""
    metrics: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for slot in members:
        stem, size = split(series[slot].metric)
        metrics[id(series[slot].case), stem].append((size or 0, slot))
    middle = sorted(sorted(each)[len(each) // 2][1] for each in metrics.values())
    return middle if len(middle) >= FAMILY_LEAST else members


def _some(session: int, members: Sequence[int]) -> Iterator[Formed]:
    if len(members) >= FAMILY_LEAST:
        count = min(len(members), FAMILY_MOST)
        places = [round(at) for at in np.linspace(0, len(members) - 1, count)]
        yield Formed(session, tuple(members[place] for place in places))
