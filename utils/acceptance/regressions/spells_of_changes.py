"""The changes for the worse of series, their own and those of their families, and their spells.

Samples of different sets of nodes are made comparable before. Of a change of a series and one of
its family that are the same event, the one stays that was decided first.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.core.text import plural
from acceptance.detection.changepoint import Floats
from acceptance.detection.constants import FAMILY_NEAR
from acceptance.detection.node_sets import comparable
from acceptance.detection.spells import spells, undone_by, within
from acceptance.detection.state import LevelChange
from acceptance.ledger import Ints, Samples
from acceptance.references import Library
from acceptance.regressions.changes import Change, baseline_of
from acceptance.regressions.history.series import Series
from acceptance.regressions.progress import Progress, Shared


def on_same_nodes(samples: Samples) -> Floats:
    """Return what the values of whole series would be on the same nodes."""
    logs, begin = np.log(samples.value), np.diff(samples.series, prepend=-1) != 0
    lengths = np.diff(np.flatnonzero(begin), append=len(logs))
    column = np.cumsum(begin) - 1
    row = np.arange(len(logs)) - np.flatnonzero(begin)[column]
    shape = (int(lengths.max(initial=0)), len(lengths))
    packed, sets = np.zeros(shape), np.zeros(shape, np.uint32)
    packed[row, column], sets[row, column] = logs, samples.nodes
    same = comparable(packed, sets, lengths)[row, column]
    return np.asarray(np.where(same == logs, samples.value, np.exp(same)), np.float64)


class Told(NamedTuple):
    """A change of a series, and what its family tells of it; empty for one of its own.

    The change of a `node`'s family counts the samples of the series that were measured on it.
    `share` is that of the family's members that moved, more than all for a change of its own.
    """

    change: LevelChange
    text: str = ""
    node: str = ""
    share: float = 2.0


#: Returns which samples of a series were measured on a node, all of them for none.
OnNode = Callable[[str], NDArray[np.intp]]


@dataclass(frozen=True)
class Together:
    """How many families were judged, and what of the rest.

    `waiting` has runs still missing -> number of families; `alone` counts the series that are in no
    family, since too few began together: they are judged by themselves only.
    """

    judged: int = 0
    waiting: dict[int, int] = field(default_factory=dict)
    alone: int = 0

    def __str__(self) -> str:
        """Say it in a line; empty where there are no series."""
        if not (self.judged or self.waiting or self.alone):
            return ""
        said = [f"{self.judged} families of metrics judged together"]
        if self.waiting:
            count = sum(self.waiting.values())
            said.append(f"{count} not yet: they can be after {more_runs(self.waiting)}")
        if self.alone:
            said.append(f"{plural(self.alone, 'metric')} in none: too few began together")
        return "; ".join(said)


def more_runs(waiting: Mapping[int, int]) -> str:
    """Say how many more runs are needed, of the numbers of them."""
    first, last = min(waiting), max(waiting)
    when = f"{first}" if first == last else f"{first} to {last}"
    return f"{when} more {'run' if last == 1 else 'runs'}"


def together(progress: Progress, judged: Iterable[Series]) -> Together:
    """Count the families that are judged after the newest session, of series that are `judged`."""
    missing = Counter(each for block in progress.kept.families for each in block.missing)
    ready = missing.pop(0, 0)
    within = {slot for block in progress.kept.families for slot in block.members.ravel().tolist()}
    alone = sum(progress.slots[id(one)] not in within for one in judged)
    return Together(ready, dict(missing), alone)


def shared(progress: Progress) -> dict[int, list[Shared]]:
    """Return the changes for the worse that series share with others, by their identity."""
    found: dict[int, list[Shared]] = defaultdict(list)
    for one in progress.kept.shared:
        if one.change.worse:
            for slot, moved in zip(one.members, one.change.moved, strict=True):
                if moved and slot in progress.by_slot:
                    found[id(progress.by_slot[slot])].append(one)
    return found


def joined(
    series: Series,
    sessions: NDArray[np.int32],
    progress: Progress,
    others: Sequence[Shared],
    on_node: OnNode,
) -> list[Told]:
    """Return the changes of a series, its own and those that it shares, as they were decided.

    `sessions` are the numbers of those of its samples.
    """
    found = [(change.detected, change.start, Told(change)) for change in progress.changes(series)]
    for one in others:
        own = on_node(one.node[2] if one.node else "")
        for told in _told(series, sessions[own], progress, one):
            found.append((int(own[told.change.detected]), int(own[told.change.start]), told))
    # The family that moved as a whole tells more; that of an environment more than those of nodes.
    found.sort(key=lambda each: (each[0], -each[2].share, bool(each[2].node), each[1]))
    kept: list[tuple[int, int, Told]] = []
    for each in found:
        if not any(_same(earlier, each) for earlier in kept):
            kept.append(each)
    return [told for *_, told in kept]


def _same(earlier: tuple[int, int, Told], later: tuple[int, int, Told]) -> bool:
    """Tell whether a change that was decided later is one that was decided already."""
    (detected, start, first), (_, begins, second) = earlier, later
    if not (first.text or second.text) or not (first.change.worse and second.change.worse):
        return False
    return start - FAMILY_NEAR <= begins <= max(detected, start + FAMILY_NEAR)


def _told(
    series: Series, sessions: NDArray[np.int32], progress: Progress, one: Shared
) -> Iterator[Told]:
    change, member = one.change, one.members.index(progress.slots[id(series)])
    detected = int(np.searchsorted(sessions, change.detected, side="right")) - 1
    start = min(int(np.searchsorted(sessions, change.start)), detected)
    if start > 0:
        bad = -1 if series.direction == "higher" else 1
        before, after = (math.exp(bad * each[member]) for each in (change.before, change.after))
        spread = change.spread[member]
        level = LevelChange(start, detected, before, after, change.score, True, spread)
        share = sum(change.moved) / len(change.moved)
        yield Told(level, _text(one, progress), one.node[2] if one.node else "", share)


def _text(one: Shared, progress: Progress) -> str:
    """Say how many members of a family moved, and by how much, and what they have in common."""
    known = [progress.by_slot[slot] for slot in one.members if slot in progress.by_slot]
    key, case = known[0].case.key, known[0].case
    what = f"metrics of {key.environment}"
    if one.node is not None:
        what = f"metrics on {' and '.join(_nodes(one, progress))}"
    elif len({each.case.key.environment for each in known}) > 1:
        what = f"metrics of {key.system}:{key.partition}"
    elif len({id(each.case) for each in known}) == len({each.direction for each in known}) == 1:
        what = f"sizes of {case.benchmark or key.check.split(' ')[0]}"
    return _size(one, known, what) + (" with other software" if one.change.renewed else "")


def _nodes(one: Shared, progress: Progress) -> list[str]:
    """Return the nodes of which the same series moved at the same time."""
    when = one.change.start, one.change.detected
    return [
        each.node[2]
        for each in progress.kept.shared
        if each.node
        and each.members == one.members
        and (each.change.start, each.change.detected) == when
    ]


def _size(one: Shared, known: Sequence[Series], what: str) -> str:
    moved = np.array(one.change.moved)
    off = float(np.median((np.array(one.change.after) - np.array(one.change.before))[moved]))
    if len({each.direction for each in known}) > 1:
        return (
            f"{moved.sum()} of {len(moved)} {what} became worse together by "
            f"{100 * math.expm1(off):.1f} %"
        )
    size = math.expm1(-off if known[0].direction == "higher" else off)
    return f"{moved.sum()} of {len(moved)} {what} moved together by {100 * size:+.1f} %"


def followed(
    series: Sequence[Series],
    progress: Progress,
    others: Mapping[int, Sequence[Shared]],
    library: Library | None = None,
) -> dict[int, list[Change]]:
    """Return the changes for the worse of series, by their identity, in order of their decisions.

    Each is there once for each of its spells. One that a baseline of the `library` accepts is over.
    `others` are those that they share with their families. All samples of these series are read.
    """
    found: dict[int, list[Change]] = {id(one): [] for one in series}
    if not series:
        return found
    samples = progress.history.samples(series)
    values = on_same_nodes(samples)
    for one in series:
        own = slice(*np.searchsorted(samples.series, (one.number, one.number + 1)).tolist())
        on_node = partial(_on_node, samples, own)
        every = joined(one, samples.session[own], progress, others.get(id(one), ()), on_node)
        for number, told in enumerate(every):
            if told.change.worse:
                # What is told of a node counts what was measured on it.
                on = on_node(told.node)
                later = [each.change for each in every[number + 1 :] if each.node == told.node]
                measured = values[own][on], samples.session[own][on], samples.time[own][on]
                found[id(one)] += _changes(one, told, later, measured, progress, library)
    return found


def _changes(
    one: Series,
    told: Told,
    later: Sequence[LevelChange],
    measured: tuple[Floats, Ints, Floats],
    progress: Progress,
    library: Library | None,
) -> Iterator[Change]:
    """Yield a change once for each of its spells, and with which session they were over.

    Samples are counted as the change counts them: all of the series, or those on its node. Of these
    `measured` has values, sessions and times.
    """
    change, (values, numbers, times) = told.change, measured
    sessions = [progress.history.sessions[progress.places[each]] for each in numbers.tolist()]
    undone = undone_by(change, later)
    accepted = undone is None and _accepted(one, change, library)
    evidence = confidence(change.score, progress.watched(sessions[change.detected]))
    last = None if undone is None else undone.detected
    for spell in spells(values, change, change.spread, last):
        over = sessions[spell.end] if spell.end is not None else None
        yield Change(
            one,
            "regression",
            sessions[spell.start],
            sessions[spell.decided],
            float(times[spell.start]),
            before=float(change.before),
            after=float(change.after),
            confidence=evidence,
            over=sessions[-1] if accepted and over is None else over,
            text=told.text,
            within=within(change, change.spread),
            node=told.node,
        )


def _accepted(series: Series, change: LevelChange, library: Library | None) -> bool:
    """Tell whether the site's baseline is the level after the change: a new one was recorded."""
    found = baseline_of(series, library) if library is not None else None
    if found is None:
        return False
    middle = math.sqrt(change.before * change.after)
    return found.value > middle if change.after > change.before else found.value < middle


def confidence(score: float, count: int) -> float:
    """Return 1 less the false alarms a night that so much evidence gives among so many series."""
    return round(min(max(1 - count * math.exp(-score), 0.0), 0.9999), 4)


def _on_node(samples: Samples, own: slice, node: str) -> NDArray[np.intp]:
    """Return which of a series' samples were measured on a node; all of them for none."""
    sets = samples.nodes[own]
    if not node:
        return np.arange(len(sets))
    return np.flatnonzero([node in samples.runs.named[each] for each in sets.tolist()])
