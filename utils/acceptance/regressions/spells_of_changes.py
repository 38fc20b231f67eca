"""Samples of different sets of nodes, made comparable before they are judged.

Changes that the members of a family share, as changes of the series that moved.

Of a change of a series and one of its family that are the same event, the one stays that was
decided first.

What became worse, followed from night to night: its spells, without all samples of the past.

A series that became worse once would otherwise be read from its first sample each night. Kept is
where the spells of its changes stand, in a file beside what is known of all series. It is derived:
where it is missing, damaged, of other code, or of other sessions, or where there is a change more,
the series is read from the beginning, and the same is found. So it is also where the file cannot be
written: that the disk is full is told by `progress/kept.py`, which writes before.
"""

import contextlib
import hashlib
import json
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.core import state_files
from acceptance.core.state_files import StoredFault
from acceptance.core.text import plural
from acceptance.detection.changepoint import Floats, LevelChange
from acceptance.detection.constants import FAMILY_NEAR, FOLLOW_MOST
from acceptance.detection.node_sets import comparable_groups
from acceptance.detection.spells import Spell, SpellScan, undone_by
from acceptance.regressions.history import columns
from acceptance.regressions.history.series import Series
from acceptance.regressions.progress import Progress, Recent, Shared
from acceptance.regressions.progress.progress import mark, version
from acceptance.store import Samples


def on_same_nodes(samples: Samples) -> Floats:
    """Return what the values of whole series would be on the same nodes.

    Most have but one set of them.
    """
    values = samples.value.copy()
    ends = np.flatnonzero(np.diff(samples.series, append=-1)) + 1
    groups: dict[bytes, list[tuple[int, int]]] = {}
    for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        sets = samples.nodes[first:last]
        if (sets != sets[0]).any():
            # The metrics of a case were measured by the same jobs, most of them in all.
            groups.setdefault(sets.tobytes(), []).append((first, last))
    # Groups of as many samples and series go through their steps together.
    alike: dict[tuple[int, int], list[list[tuple[int, int]]]] = {}
    for members in groups.values():
        first, last = members[0]
        alike.setdefault((last - first, len(members)), []).append(members)
    for (length, _), several in alike.items():
        begins = np.array([[first for first, _ in members] for members in several])
        rows = np.arange(length)[:, None, None] + begins
        logs = np.log(values[rows])
        same = comparable_groups(logs, samples.nodes[rows[:, :, 0]])
        values[rows] = np.where(same == logs, values[rows], np.exp(same))
    return np.asarray(values, np.float64)


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
            first, last = min(self.waiting), max(self.waiting)
            when = f"{first}" if first == last else f"{first} to {last}"
            said.append(
                f"{sum(self.waiting.values())} not yet: they can be after {when} more "
                f"{'run' if last == 1 else 'runs'}"
            )
        if self.alone:
            said.append(f"{plural(self.alone, 'metric')} in none: too few began together")
        return "; ".join(said)


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


@dataclass
class Followed:
    """A change for the worse of a series, and where its spells stand.

    Samples are counted as the change counts them: all of the series, or those on its node. At the
    sample `undone` the detector saw its end: then nothing more is to be looked at. `when` has the
    number of the session and the time of each sample that the spells speak of, `last` is the
    session of the newest one that was looked at.
    """

    told: Told
    undone: int | None
    scan: SpellScan
    when: dict[int, tuple[int, float]]
    last: int = -1

    @classmethod
    def of(
        cls,
        told: Told,
        later: Sequence[LevelChange],
        values: Floats,
        sessions: NDArray[np.int32],
        times: Floats,
    ) -> "Followed":
        """Look at all samples of a change, as `later` ones changed the level again."""
        back = undone_by(told.change, later)
        undone = None if back is None else back.detected
        scan = SpellScan.of(values, told.change, told.change.spread)
        followed = cls(told, undone, scan, {})
        end = None if undone is None else undone + 1
        followed._take(values[scan.next : end], sessions, times, 0)
        return followed

    def go_on(self, values: Floats, sessions: NDArray[np.int32], times: Floats) -> None:
        """Take in new samples."""
        if self.undone is None and len(values):
            self._take(values, sessions, times, self.scan.next)

    def _take(self, values: Floats, sessions: NDArray[np.int32], times: Floats, first: int) -> None:
        """Take in values; sessions and times are those of the samples from `first` on."""
        self.scan.go_on(values)
        self.last = int(sessions[self.scan.next - 1 - first])
        told = self.scan.samples() | {self.told.change.detected}
        if self.undone is not None:
            told.add(self.undone)
        self.when = {
            at: self.when[at]
            if at < first
            else (int(sessions[at - first]), float(times[at - first]))
            for at in told
        }

    @property
    def spells(self) -> list[Spell]:
        """Return the spells of the change."""
        return self.scan.spells(self.undone)


@dataclass
class _Known:
    """What is known of a series that has so many changes, of its own and shared, and samples."""

    changes: int
    shared: int
    count: int
    followed: list[Followed]


@dataclass
class _Stored:
    """What is known of series, by what stands for them, after the first sessions (`seen`)."""

    seen: int = 0
    series: dict[int, _Known] = field(default_factory=dict)


def followed(
    series: Sequence[Series], progress: Progress, others: Mapping[int, Sequence[Shared]]
) -> dict[int, list[Followed]]:
    """Return the changes for the worse of series, by their identity, in order of their decisions.

    `others` are those that they share with their families.
    """
    place = progress.place and progress.place.with_name(f"{progress.place.name}.followed")
    stored = _read(place, progress) if place is not None else _Stored()
    found = _gone_on(series, progress, others, stored)
    left = [one for one in series if id(one) not in found]
    found.update(_from_the_beginning(left, progress, others))
    sessions = progress.history.sessions
    if place is not None and (left or (found and stored.seen < len(sessions))):
        names = progress.series["name"]
        new = {int(names[progress.slots[id(one)]]): found[id(one)] for one in series}
        _write(place, _Stored(len(sessions), new), progress)
    return {name: known.followed for name, known in found.items()}


def _now(one: Series, progress: Progress, others: Mapping[int, Sequence[Shared]]) -> _Known:
    """Return how many changes and samples a series has by now."""
    slot = progress.slots[id(one)]
    count = int(progress.series["count"][slot])
    return _Known(len(progress.found[slot]), len(others.get(id(one), ())), count, [])


def _gone_on(
    series: Sequence[Series],
    progress: Progress,
    others: Mapping[int, Sequence[Shared]],
    stored: _Stored,
) -> dict[int, _Known]:
    """Return what is known of the series, with new samples, that have no change more."""
    known: dict[int, tuple[_Known, _Known]] = {}
    for one in series:
        before = stored.series.get(int(progress.series["name"][progress.slots[id(one)]]))
        after = _now(one, progress, others)
        if before and (before.changes, before.shared) == (after.changes, after.shared):
            known[id(one)] = before, after
    new = progress.history.sessions[stored.seen :]
    if not new:
        return {name: now[0] for name, now in known.items() if now[0].count == now[1].count}
    if not known or len(new) > FOLLOW_MOST:
        return {}
    samples = columns.since(progress.history, new[0].number, new[-1].number)
    some = [one for one in series if id(one) in known]
    recent = progress.recent(some)
    found: dict[int, _Known] = {}
    for one in some:
        before, after = known[id(one)]
        own = slice(*np.searchsorted(samples.series, (one.number, one.number + 1)).tolist())
        values = _as_if_on_the_same(samples.value[own], samples.session[own], recent[id(one)])
        if values is not None and before.count + len(values) == after.count:
            after.followed = before.followed
            for each in after.followed:
                on = _on_node(samples, own, each.told.node)
                each.go_on(values[on], samples.session[own][on], samples.time[own][on])
            found[id(one)] = after
    return found


def _as_if_on_the_same(
    values: Floats, sessions: NDArray[np.int32], recent: Recent
) -> Floats | None:
    """Return new values as `on_same_nodes` does; None where they are not the newest ones."""
    count = len(values)
    if not count:
        return values
    if count > len(recent.logs) or (recent.sessions[-count:] != sessions).any():
        return None
    logs = recent.logs[-count:]
    return np.asarray(np.where(logs == np.log(values), values, np.exp(logs)), np.float64)


def _on_node(samples: Samples, own: slice, node: str) -> NDArray[np.intp]:
    """Return which of a series' samples were measured on a node; all of them for none."""
    sets = samples.nodes[own]
    if not node:
        return np.arange(len(sets))
    return np.flatnonzero([node in samples.runs.named[each] for each in sets.tolist()])


def _from_the_beginning(
    series: Sequence[Series], progress: Progress, others: Mapping[int, Sequence[Shared]]
) -> dict[int, _Known]:
    if not series:
        return {}
    samples = columns.of(series)
    values = on_same_nodes(samples)
    found: dict[int, _Known] = {}
    for one in series:
        own = slice(*np.searchsorted(samples.series, (one.number, one.number + 1)).tolist())
        sessions = samples.session[own]
        known = found[id(one)] = _now(one, progress, others)
        every = joined(
            one, sessions, progress, others.get(id(one), ()),
            partial(_on_node, samples, own),
        )  # fmt: skip
        for number, told in enumerate(every):
            if told.change.worse:
                # What is told of a node counts what was measured on it.
                on = _on_node(samples, own, told.node)
                later = [each.change for each in every[number + 1 :] if each.node == told.node]
                known.followed.append(
                    Followed.of(told, later, values[own][on], sessions[on], samples.time[own][on])
                )
    return found


@cache
def _version() -> str:
    """Return what stands for the code that finds and follows what became worse."""
    found = hashlib.sha256(version().encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def _seen(progress: Progress, count: int) -> str:
    """Return what stands for the first sessions of a history."""
    text = "\n".join(mark(session) for session in progress.history.sessions[:count])
    return hashlib.sha256(text.encode()).hexdigest()


def _read(place: Path, progress: Progress) -> _Stored:
    """Return what is kept, if it is of the sessions with which the history begins."""
    now = _version()  # of the code that runs: that on the disk may be another one when it ends
    try:
        text, _, sum_ = place.read_text(encoding="utf-8").rstrip("\n").rpartition("\n")
        if int(sum_, 16) != zlib.crc32(text.encode()):
            return _Stored()
        data = json.loads(text)
        count = data["seen"]
        if data["version"] != now or data["sessions"] != _seen(progress, count):
            return _Stored()
        series = {int(name): _known(*rest) for name, *rest in data["series"]}
    except (OSError, ValueError, KeyError, TypeError):
        return _Stored()
    return _Stored(count, series)


def _write(place: Path, stored: _Stored, progress: Progress) -> None:
    data = {
        "version": _version(),
        "seen": stored.seen,
        "sessions": _seen(progress, stored.seen),
        "series": [
            [name, one.changes, one.shared, one.count, [*map(_plain, one.followed)]]
            for name, one in stored.series.items()
        ],
    }
    text = json.dumps(data, default=lambda number: number.item())  # of numpy
    lock = place.with_suffix(".lock")
    with contextlib.suppress(StoredFault), state_files.locked(lock, 0.0):
        state_files.write_text(place, f"{text}\n{zlib.crc32(text.encode()):08x}\n")


def _plain(one: Followed) -> list[Any]:
    when = [[at, *each] for at, each in one.when.items()]
    scan = asdict(one.scan)
    return [asdict(one.told.change), *one.told[1:], one.undone, scan, when, one.last]


def _known(changes: int, shared: int, count: int, followed: Iterable[Any]) -> _Known:
    return _Known(changes, shared, count, [_followed(*each) for each in followed])


def _followed(
    change: dict[str, Any], text: str, node: str, share: float, undone: int | None,
    scan: dict[str, Any], when: Iterable[tuple[int, int, float]], last: int,
) -> Followed:  # fmt: skip
    over = [Spell(**each) for each in scan.pop("over")]
    told = Told(LevelChange(**change), text, node, share)
    samples = {at: (session, time) for at, session, time in when}
    return Followed(told, undone, SpellScan(**scan, over=over), samples, last)
