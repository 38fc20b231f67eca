"""The past of every metric: ReFrame's results database, and perflogs, as series of samples.

A sample is what a passing case measured; what failed, and what passed only when it was repeated, is
none. Anything that plain ReFrame writes will do. Sessions are decoded once, into the store.

Sessions that were never stored, made of the lines that only perflogs have of them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from acceptance.core.findings import SHARED
from acceptance.core.text import plural
from acceptance.core.words import better, is_measured
from acceptance.detection.constants import CLOCK_SLACK, SESSIONS_APART
from acceptance.regressions.history.series import (
    CaseHistory,
    CaseKey,
    History,
    PastSession,
    Sample,
    Series,
    Source,
    day,
)
from acceptance.rfm import ResultsFault, SessionFault
from acceptance.rfm import database as results
from acceptance.rfm.perflogs import PerflogLine
from acceptance.rfm.session_schema import PerfValue, metric_name
from acceptance.store import (
    REPEATED,
    SHARED_MACHINE,
    UNFIT,
    Store,
    open_store,
    reading,
    software_of,
)


def _add_killed(history: History, lines: Iterable[PerflogLine]) -> list[PastSession]:
    """Add what perflogs have and the database has not; return the session of each case left out.

    These cases were measured while another run used the machine.
    """
    groups: list[list[PerflogLine]] = []
    for row in sorted(lines, key=lambda row: row.time):
        if not groups or row.time - groups[-1][-1].time > SESSIONS_APART:
            groups.append([])
        groups[-1].append(row)
    if not groups:
        return []
    adder = _Adder(history)
    killed = [(count, rows[0].time) for rows in groups if (count := adder.add(rows))]
    if killed:
        total = sum(count for count, _ in killed)
        nights = f"{len(killed)} sessions, the last one " if len(killed) > 1 else "a session "
        history.notes.append(
            f"{total} cases are in the perflogs only, of {nights}of {day(killed[-1][1])} that "
            "the database lacks"
        )
    return adder.left_out


class _Adder:
    def __init__(self, history: History) -> None:
        self.history = history
        self.cases = {case.key: case for case in history.cases}
        self.variants = {(case.key.where, case.key.check): case for case in history.cases}
        self.left_out: list[PastSession] = []

    def add(self, rows: list[PerflogLine]) -> int:
        """Take the lines of a session; return how many cases passed."""
        session = PastSession(
            number=0,
            uuid=f"perflog-{rows[0].time:.0f}",
            start=rows[0].time,
            end=rows[-1].time,
            command="",
            perflog=True,
            mark=hashlib.sha256(repr(rows).encode()).hexdigest(),
        )
        counted = 0
        for row in rows:
            if row.result != "pass" or (row.where, row.check) in session.unfit:
                session.unfit.add((row.where, row.check))
                continue
            if row.provenance.get(SHARED):
                session.unfit.add((row.where, row.check))
                self.left_out.append(session)
            if not row.metrics or row.provenance.get(SHARED):
                continue
            session.partitions.add((row.system, row.partition))
            software = tuple(software_of(row.provenance).items())
            sample = Sample(session, row.time, software, row.nodes, ())
            for name, data in row.values():
                self._add(self._case(row), sample, metric_name(name), data)
            counted += 1
        if counted:
            self.history.sessions.append(session)
        return counted

    def _case(self, row: PerflogLine) -> CaseHistory:
        """Return the case of a line.

        A line need not say its keys: it has those that the case has in the database.
        """
        key = CaseKey(row.system, row.partition, row.environment, row.check, row.keys or ())
        case = self.cases.get(key)
        if row.keys is None:
            case = self.variants.get((row.where, row.check), case)
        if case is None:
            case = self.cases[key] = CaseHistory(key)
            self.history.cases.append(case)
            self.variants[row.where, row.check] = case
        return case

    def _add(self, case: CaseHistory, sample: Sample, metric: str, data: PerfValue) -> None:
        series = self._series(case, metric, data)
        if is_measured(data.value):
            series.logged.append((sample, data.value))
        elif data.value is not None:
            series.impossible += 1
            series.last = sample.session
        if series.direction is None:
            series.direction = better(series.unit, data.lower, data.upper)

    def _series(self, case: CaseHistory, metric: str, data: PerfValue) -> Series:
        for series in case.series:
            if (series.metric, series.stored_unit) == (metric, data.unit):
                return series
        way = better(data.unit or "", data.lower, data.upper)
        assert self.history.source is not None
        series = Series.stored_in(self.history.source, case, metric, data.unit, way)
        case.series.append(series)
        return series


def merged(sessions: list[PastSession]) -> Iterator[PastSession]:
    """Put those of the perflogs between those of the database, which keep their order."""
    killed = sorted((one for one in sessions if one.perflog), key=lambda one: one.end)
    for session in sessions:
        if not session.perflog:
            while killed and killed[0].end < session.end:
                yield killed.pop(0)
            yield session
    yield from killed


def load(
    database: Path,
    perflogs: Path | None = None,
    system: str | None = None,
    until: str | None = None,
    store: Path | None = None,
) -> History:
    """Read all series from a results database; from the folder `perflogs` what it lacks.

    With `system` only its series, with `until` (UUID) nothing that was stored after that session.
    `store` is the file that keeps samples from one call to the next; values are read when they are
    asked for. Raises ResultsFault when the database cannot be read or has no such session. A
    session that is a duplicate, or stored out of order is reported in the notes, one that cannot be
    read in `faults`.
    """
    uuids = results.ids(database)
    if until is not None:
        if until not in uuids:
            raise ResultsFault(f"{database}: holds no session {until}")
        uuids = uuids[: uuids.index(until) + 1]
    kept = open_store(database, store, perflogs)
    try:
        return _read(kept, database, perflogs, system, uuids, until is not None)
    finally:
        kept.release()


def _read(
    kept: Store,
    database: Path,
    perflogs: Path | None,
    system: str | None,
    uuids: list[str],
    until: bool,
) -> History:
    rows, end = reading.end_of(reading.sessions(kept), set(uuids))
    history = History(notes=[*kept.notes])
    places = _add_sessions(history, database, rows)
    source = history.source = Source(kept, rows, places, end)
    repeated, left_out = _add_unfit(history, source, system)
    _add_series(history, source, system)
    if perflogs is not None:
        lines, faults = kept.perflog_lines(perflogs)
        history.notes += faults
        last = history.sessions[-1].end if until and history.sessions else float("inf")
        of_system = (line for line in lines if system in (None, line.system))
        left_out += _add_killed(history, [line for line in of_system if line.time <= last])
    history.notes += [
        f"session {uuid} repeats {count} cases of sessions before it; left out"
        for uuid, count in repeated.items()
    ]
    _finish(history, left_out)
    source.read_few()
    return history


def _add_sessions(
    history: History, database: Path, rows: list[reading.SessionRow]
) -> list[PastSession | None]:
    """Add the sessions of the database; return them by their places in the store."""
    places: list[PastSession | None] = []
    latest = 0.0
    for row in rows:
        places.append(None)
        if row.fault:
            history.faults.append(SessionFault(database, row.uuid, row.fault))
        elif row.twice:
            history.notes.append(f"session {row.uuid} is stored twice; the second one is left out")
        else:
            if row.end < latest - CLOCK_SLACK:
                history.notes.append(
                    f"session {row.uuid} ended {(latest - row.end) / 3600:.1f} hours before "
                    "one that was stored before it: a clock went backwards; the order of storing "
                    "counts"
                )
                latest = row.end  # a single session of the future is reported once
            latest = max(latest, row.end)
            session = PastSession(
                number=0,
                uuid=row.uuid,
                start=row.start,
                end=row.end,
                command=row.command,
                aborted=row.aborted,
                mark=row.sum,
            )
            history.sessions.append(session)
            places[-1] = session
    return places


def _add_unfit(
    history: History, source: Source, system: str | None
) -> tuple[dict[str, int], list[PastSession]]:
    """Add to sessions which partitions had cases, and which of these are no samples.

    Return how many cases of each session are repetitions, and the session of each case that was
    measured while another run used the machine.
    """
    for place in reading.places(source.store, source.end, system):
        source.session(place.session).partitions.add((place.system, place.partition))
    for number, name, partition, most in reading.most_nodes(source.store, source.end, system):
        source.session(number).most[name, partition] = most
    found = reading.without_sample(source.store, source.end, system)
    for place in (*found[UNFIT], *found[SHARED_MACHINE]):
        source.session(place.session).unfit.add((place.where, place.name))
    repeated: dict[str, int] = {}
    for place in found[REPEATED]:
        uuid = source.session(place.session).uuid
        repeated[uuid] = repeated.get(uuid, 0) + 1
    return repeated, [source.session(place.session) for place in found[SHARED_MACHINE]]


def _add_series(history: History, source: Source, system: str | None) -> None:
    by_number: dict[int, CaseHistory] = {}
    keys: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in reading.cases(source.store, source.end, system):
        if row.keys not in keys:
            keys[row.keys] = tuple((name, value) for name, value in json.loads(row.keys))
        key = CaseKey(row.system, row.partition, row.environment, row.name, keys[row.keys])
        case = CaseHistory(key, row.suite, row.benchmark, row.plain, number=row.number)
        by_number[row.number] = case
        history.cases.append(case)
    for each in reading.series(source.store, source.end):
        if each.case in by_number:
            case = by_number[each.case]
            last = None if each.last is None else source.session(each.last)
            case.series.append(
                Series.stored_in(
                    source, case, each.metric, each.unit, each.direction, each.samples,
                    each.impossible, last, each.number,
                )
            )  # fmt: skip
    source.serve(history.cases)


def _finish(history: History, left_out: list[PastSession]) -> None:
    """Put sessions into their order, number them, and say what was left out."""
    if left_out:
        history.left_out = (
            f"{plural(len(left_out), 'case')} measured while another run had jobs "
            "on the same machine, and left out; the last session that has some is "
            f"{left_out[-1].uuid} of {day(left_out[-1].start)}"
        )
        history.notes.append(history.left_out)
    history.sessions = [*merged(history.sessions)]
    for number, session in enumerate(history.sessions):
        session.number = number
    every = [series for case in history.cases for series in case.series]
    unused = max((series.number for series in every), default=-1) + 1
    for series in every:
        if series.number < 0:
            series.number, unused = unused, unused + 1
