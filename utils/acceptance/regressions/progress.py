"""The sessions of a history taken in one after the other: what is known after the newest.

Everything is decided when it was measured: by the threshold for as many series as there were then,
by the nights before. So nothing is decided again when more is measured, and who goes on from what
is kept decides as who begins with the first session, to the last bit.

What is known is kept in one file, written whole or not at all. It is derived: whatever is wrong
with it, all begins again with the first session.
"""

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acceptance import detection
from acceptance.core import state_files
from acceptance.core.state_files import StoredFault
from acceptance.detection import changepoint, common_mode
from acceptance.detection.changepoint import Scan
from acceptance.detection.constants import (
    BATCH,
    BLOCK,
    CASE_METRICS,
    NIGHT_WINDOW,
    SET_WINDOW,
    SMALLEST,
    SMALLEST_SEEN,
    STALE,
    STALE_TIMES,
)
from acceptance.detection.node_sets import Before, comparable
from acceptance.detection.state import HELD, LevelChange, State
from acceptance.regressions import families
from acceptance.regressions.families import threshold
from acceptance.regressions.history import History, Nights, PastSession, Series
from acceptance.regressions.records import (
    RECORD,
    SERIES,
    Floats,
    Ints,
    Kept,
    New,
    NightLevels,
    Partition,
    Records,
)


def step(records: Records, own: Records, found: list[list[LevelChange]], new: New) -> None:
    """Take in new samples, and find what they count as, and how far they lie off.

    `records` and `own` (of `SERIES`) are changed in place, and `found` gets what is found.
    """
    lengths = np.bincount(new.slot, minlength=len(records))
    row = np.arange(len(new.slot)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    where, shape = (row, new.slot), (int(lengths.max()), len(records))

    def packed(values: Floats, fill: float) -> Floats:
        columns = np.full(shape, fill)
        columns[where] = values
        return columns

    sets, sessions = np.zeros(shape, np.uint32), np.zeros(shape, np.int32)
    sets[where], sessions[where] = new.sets, new.session
    state = State(records["state"].copy(), found)
    bad = np.where(own["way"] < 0, 1.0, -1.0)
    before = state.records["values"][:, -NIGHT_WINDOW:].T.copy()
    counts = state.records["count"].copy()
    logs = np.log(packed(new.value, 1.0))
    same = records["state"]["values"][:, -SET_WINDOW:].T * bad
    known = Before(counts, records["raw"].T, records["sets"].T, same)
    values = comparable(logs, sets, lengths, known) * bad
    some = np.unique(new.slot[new.counted])
    off = common_mode.deviations(values[:, some], before[:, some], counts[some])
    changepoint.go_on(state, values, lengths, packed(new.limit, math.inf), SMALLEST_SEEN)
    records["state"] = state.records
    _shift(records["sessions"], sessions, lengths)
    _shift(records["raw"], logs.astype(np.float32), lengths)
    _shift(records["sets"], sets, lengths)
    _shift(own["times"], packed(new.time, 0.0), lengths)
    own["suspicion"], own["spread"] = state.records["suspicion"], state.records["spread"]
    at = (row[new.counted], np.searchsorted(some, new.slot[new.counted]))
    new.worse[:] = values[where]
    new.off[new.counted] = np.column_stack([off[0][at], off[1][at]])


def _shift(held: Records, new: NDArray[np.generic], lengths: Ints) -> None:
    """Append new samples, (n, m), to those that are held, (m, ...), in place."""
    both = np.hstack([held, new.T])
    held[:] = np.take_along_axis(both, np.arange(held.shape[1]) + lengths[:, None], axis=1)


_WAYS = {"higher": 1, "lower": -1, None: 0}


#: The newest samples of a series, as if on the same nodes: the numbers of their sessions, and their
#: logarithms.
Recent = tuple[NDArray[np.int32], Floats]


class Progress:
    """What is known of the series of a history after its last session."""

    def __init__(self, history: History, kept: Kept) -> None:
        """Take up what is kept of the sessions with which a history begins."""
        self.history, self.kept = history, kept
        self.all = history.series
        slots = {name: slot for slot, name in enumerate(kept.series["name"].tolist())}
        names = [one.id for one in self.all]
        new = [name for name in names if name not in slots]
        slots.update((name, slot) for slot, name in enumerate(new, len(kept.series)))
        self.known = len(kept.series)
        self.series = np.concatenate([kept.series, np.zeros(len(new), SERIES)])
        self.series["name"][self.known :] = new
        self.slots = {id(one): slots[name] for one, name in zip(self.all, names, strict=True)}
        self.by_slot = {self.slots[id(one)]: one for one in self.all}
        ways = np.array([_WAYS[one.direction] for one in self.all], np.int8)
        own = np.array([*self.slots.values()], np.intp)
        before = own < self.known
        same = bool((self.series["way"][own[before]] == ways[before]).all())
        #: Why what is kept is not of this history; empty where it is.
        self.why = "" if same else "it is known now which way is better of a series"
        if int(before.sum()) < self.known:
            self.why = "a series that it has seen has another id now"
        self.series["way"][own] = ways
        fresh = self.series[self.known :]
        fresh["times"], fresh["session"] = np.nan, -1
        self.places = {one.number: place for place, one in enumerate(history.sessions)}
        self.found = [*kept.found, *([] for _ in new)]
        #: The names of the nodes of each set that a new sample was of.
        self.named: Mapping[int, tuple[str, ...]] = {}

    def portions(self, sessions: Sequence[PastSession]) -> list[Sequence[PastSession]]:
        """Divide sessions, so that of a long history no more than `BATCH` samples are held."""
        usual = sum(one.count for one in self.all) / max(len(self.history.sessions), 1)
        size = max(1, int(BATCH / max(usual, 1)))
        return [sessions[first : first + size] for first in range(0, len(sessions), size)]

    def take(self, sessions: Sequence[PastSession], target: Kept) -> None:
        """Take in the sessions that are new, and write what is known then into `target`."""
        target.seen = [*self.kept.seen, *map(mark, sessions)]
        target.counts = [*self.kept.counts]
        begun = np.flatnonzero(self.series["count"] == 0)
        new = self._new(sessions, target.counts)
        for begin in range(0, len(self.series), BLOCK):
            stop = min(begin + BLOCK, len(self.series))
            records = self._records(begin, stop)
            first, last = np.searchsorted(new.slot, (begin, stop))
            if first < last:
                own, found = self.series[begin:stop], self.found[begin:stop]
                part = New._make(column[first:last] for column in new)
                step(records, own, found, part._replace(slot=part.slot - begin))
            target.add(begin, records)
        directed = {slot: one for slot, one in self.by_slot.items() if one.direction is not None}
        families.take(self.kept, target, new, directed, begun, self.named)
        target.series, target.found = self.series, self.found
        target.nights = self._nights(new)
        self.kept, self.known = target, len(self.series)

    def _records(self, begin: int, stop: int) -> Records:
        old = self.kept.block(begin) if begin < self.known else np.zeros(0, RECORD)
        more = np.zeros(stop - begin - len(old), RECORD)
        more["state"], more["sessions"] = State.empty(len(more)).records, -1
        return np.concatenate([old, more])

    def _new(self, sessions: Sequence[PastSession], counts: list[int]) -> New:
        """Return the samples of new sessions, and count the series that are watched at each."""
        samples = self.history.samples(self.all, sessions[0].number, sessions[-1].number)
        slot_of = np.zeros(max((one.number for one in self.all), default=0) + 1, np.intp)
        slot_of[[one.number for one in self.all]] = [self.slots[id(one)] for one in self.all]
        slot = slot_of[samples.series]
        order = np.argsort(slot, kind="stable")
        slot, session = slot[order], samples.session[order]
        time, limit = samples.time[order], np.empty(len(order))
        by_session = np.argsort(session, kind="stable")
        ordered, numbers = session[by_session], [one.number for one in sessions]
        begins, ends = (np.searchsorted(ordered, numbers, side) for side in ("left", "right"))
        # Each column by itself: so they lie close together.
        names = ("begun", "last", "session", "count")
        begun, newest, newest_session, count = (self.series[name].copy() for name in names)
        directed = self.series["way"] != 0
        for one, begin, end in zip(sessions, begins.tolist(), ends.tolist(), strict=True):
            those = by_session[begin:end]
            own = slot[those]
            young = count[own] == 0
            begun[own[young]] = time[those[young]]
            newest[own], newest_session[own] = time[those], one.number
            count += np.bincount(own, minlength=len(count))
            usual = (newest - begun) / np.maximum(count - 1, 1)
            old = one.end - newest > np.maximum(STALE, STALE_TIMES * usual)
            counts.append(int(((count > 0) & directed & ~old).sum()))
            limit[those] = threshold(counts[-1])
        for name, column in zip(names, (begun, newest, newest_session, count), strict=True):
            self.series[name] = column
        self.named = samples.named
        return New(
            slot, session, time, samples.value[order], samples.nodes[order].astype(np.uint32),
            self._renewed(slot, samples.software[order]), limit, self._some_of_each(slot, session),
            np.empty(len(order)), np.empty((len(order), 2)),
        )  # fmt: skip

    def _renewed(self, slot: Ints, software: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Tell which samples have other software than the one before them, and keep the last."""
        edges = np.flatnonzero(np.diff(slot, prepend=-1, append=-1))
        before = np.roll(software, 1)
        before[edges[:-1]] = self.series["software"][slot[edges[:-1]]]
        self.series["software"][slot[edges[1:] - 1]] = software[edges[1:] - 1]
        return np.asarray((software != before) & (software != 0) & (before != 0), np.bool_)

    def _some_of_each(self, slot: Ints, session: Ints) -> NDArray[np.bool_]:
        """Choose up to `CASE_METRICS` samples of each case in each session, evenly spread."""
        numbers: dict[int, int] = {}
        case = np.zeros(len(self.series), np.intp)
        for one in self.all:
            case[self.slots[id(one)]] = numbers.setdefault(id(one.case), len(numbers))
        chosen = np.zeros(len(slot), np.bool_)
        (directed,) = np.nonzero(self.series["way"][slot])
        group = session[directed] * np.intp(len(numbers)) + case[slot[directed]]
        order = np.argsort(group, kind="stable")
        _, first, sizes = np.unique(group[order], return_index=True, return_counts=True)
        rank = np.arange(len(order)) - np.repeat(first, sizes)
        chosen[directed[order]] = rank % np.repeat(-(-sizes // CASE_METRICS), sizes) == 0
        return chosen

    def _nights(self, new: New) -> dict[Partition, NightLevels]:
        """Return the nights of all partitions with new samples, in the order of their sessions."""
        kept, nights = dict(self.kept.nights), Nights(self.history.sessions)
        places = {name: number for number, name in enumerate(one.partition for one in self.all)}
        place = np.full(len(self.series), -1)
        case = np.zeros(len(self.series), np.int64)
        for one in self.all:
            slot = self.slots[id(one)]
            place[slot], case[slot] = places[one.partition], one.case.id
        (counted,) = np.nonzero(new.counted)
        for name, number in places.items():
            those = counted[place[new.slot[counted]] == number]
            those = those[np.argsort(new.session[those], kind="stable")]
            if len(those):
                night_of = nights.by_session(name)
                night = np.array([night_of[each] for each in new.session[those].tolist()], np.int64)
                before = kept.get(name, NightLevels())
                kept[name] = before.later(night, case[new.slot[those]], new.off[those])
        return kept

    def last(self, series: Series) -> int:
        """Return the number of the session of the newest sample of a series, -1 for none."""
        slot = self.slots.get(id(series))
        return -1 if slot is None else int(self.series["session"][slot])

    def spread(self, series: Series) -> float:
        """Return the relative standard deviation of a sample; infinite or NaN: not known."""
        return float(self.series["spread"][self.slots[id(series)]]) or math.inf

    def watched(self, session: PastSession) -> int:
        """Return how many series were watched as of a session."""
        return self.kept.counts[self.places[session.number]]

    def stale(self, now: float) -> NDArray[np.bool_]:
        """Tell of each series whether it has had no sample for so long that nobody measures it."""
        rows = self.series
        old: NDArray[np.bool_] = now - rows["last"] > STALE
        for slot in np.flatnonzero(old):
            old[slot] = is_old(self.usual(int(slot)), float(rows["last"][slot]), now)
        return old

    def usual(self, slot: int) -> float:
        """Return the usual time between two of the last samples of a series, 0 for one sample."""
        times = self.series["times"][slot]
        gaps = np.diff(times[np.isfinite(times)])
        return float(np.median(gaps)) if len(gaps) else 0.0

    def scan(self, series: Series) -> Scan:
        """Return what a series shows after its last sample, without changes of no interest."""
        return self.scans([series])[id(series)]

    def scans(self, series: Iterable[Series]) -> dict[int, Scan]:
        """Return what each of some series shows, by their identity; each block is read once."""
        return {
            id(one): changepoint.told(
                record["state"], self.changes(one), higher_is_better=self._up(slot)
            )
            for slot, one, record in self._records_of(series)
        }

    def _records_of(self, series: Iterable[Series]) -> Iterator[tuple[int, Series, np.void]]:
        """Yield some series with their records, block after block."""
        begin, records = -1, np.empty(0, RECORD)
        for slot, one in sorted(((self.slots[id(one)], one) for one in series), key=itemgetter(0)):
            if slot // BLOCK * BLOCK != begin:
                begin = slot // BLOCK * BLOCK
                records = self.kept.block(begin)
            yield slot, one, records[slot - begin]

    def changes(self, series: Series) -> tuple[LevelChange, ...]:
        """Return the changes of a series that are of interest."""
        slot = self.slots[id(series)]
        changes = [each.in_unit(higher_is_better=self._up(slot)) for each in self.found[slot]]
        return tuple(
            one for one in changes if abs(math.log(one.after / one.before)) >= math.log1p(SMALLEST)
        )

    def _up(self, slot: int) -> bool:
        return bool(self.series["way"][slot] >= 0)

    def recent(self, series: Iterable[Series]) -> dict[int, Recent]:
        """Return the newest samples of some series, by their identity."""
        found: dict[int, Recent] = {}
        for slot, one, record in self._records_of(series):
            count = min(int(record["state"]["count"]), HELD)
            logs = record["state"]["values"][HELD - count :] * (-1 if self._up(slot) else 1)
            found[id(one)] = record["sessions"][HELD - count :].copy(), logs
        return found


def mark(session: PastSession) -> str:
    """Return what a session is known by: as long as it stays, so do its samples."""
    return f"{session.number} {session.uuid} {session.mark or session.end}"


def is_old(usual: float, last: float, now: float) -> bool:
    """Tell whether what was last there at a time is no longer measured."""
    return now - last > max(STALE, STALE_TIMES * usual)


def update(history: History, place: Path | None, notes: list[str]) -> Progress:
    """Return what is known after the last session of a history, from the file of before if it can.

    Without a `place` nothing is kept, nor of a judgement as of an earlier session. `notes` are told
    why all began again, or nothing was kept.
    """
    seen, why, earlier = [mark(session) for session in history.sessions], "", False
    progress = Progress(history, Kept())
    if place is not None:
        now = version()  # of the code that runs: that on the disk may be another one when it ends
        try:
            kept = Kept.read(place, now)
            earlier = len(kept.seen) > len(seen) and kept.seen[: len(seen)] == seen
            if kept.seen != seen[: len(kept.seen)]:
                raise StoredFault("sessions that it has seen were deleted or changed")
            progress = Progress(history, kept)
            if why := progress.why:
                progress = Progress(history, Kept())
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, StoredFault) as err:
            why = f"{err}"
    new = history.sessions[len(progress.kept.seen) :]
    for some in progress.portions(new):
        progress.take(some, Kept())
    if place is not None and new and not earlier:
        try:
            _keep(progress.kept, place, now)
        except (OSError, StoredFault) as err:
            notes.append(f"what is known of series is not kept: {err}")
    if why and not earlier:
        notes.append(f"{place}: {why}; what became worse was judged again from the first session")
    return progress


def _keep(kept: Kept, place: Path, now: str) -> None:
    """Replace the file: by all that is kept, or not at all."""
    part = place.with_name(f"{place.name}.part")
    place.parent.mkdir(parents=True, exist_ok=True)
    with state_files.locked(place.with_name(f"{place.name}.lock"), 0.0):
        try:
            with part.open("wb") as copy:
                kept.write(copy, now)
                copy.flush()
                os.fsync(copy.fileno())
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)  # a full disk needs the place


@cache
def version() -> str:
    """Return what stands for the code and the constants by which is judged."""
    found = hashlib.sha256(np.__version__.encode())
    folders = (Path(detection.__file__).parent, Path(__file__).parent)
    for path in sorted(path for folder in folders for path in folder.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()
