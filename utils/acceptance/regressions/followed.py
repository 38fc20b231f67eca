"""What became worse, followed from night to night: its spells, without all samples of the past.

A series that became worse once would otherwise be read from its first sample each night. Kept is
where the spells of its changes stand, in a file beside what is known of all series. It is derived:
where it is missing, damaged, of other code, or of other sessions, or where there is a change more,
the series is read from the beginning, and the same is found. So it is also where the file cannot be
written: that the disk is full is told by `progress/kept.py`, which writes before.
"""

import contextlib
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acceptance.core import state_files
from acceptance.core.state_files import StoredFault
from acceptance.detection.changepoint import Floats, LevelChange
from acceptance.detection.constants import FOLLOW_MOST
from acceptance.detection.spells import Spell, SpellScan, undone_by
from acceptance.regressions.families import Told, joined
from acceptance.regressions.history import columns
from acceptance.regressions.history.series import Series
from acceptance.regressions.node_sets import on_same_nodes
from acceptance.regressions.progress import Progress, Recent, Shared
from acceptance.regressions.progress.kept import version
from acceptance.regressions.progress.progress import mark
from acceptance.store import Samples


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
