"""Sessions that were never stored, made of the lines that only perflogs have of them."""

import hashlib
from collections.abc import Iterable, Iterator

from acceptance.core.observations import SHARED
from acceptance.core.units import better, is_measured
from acceptance.detection.constants import SESSIONS_APART
from acceptance.regressions.history.series import (
    CaseHistory,
    CaseKey,
    History,
    PastSession,
    Sample,
    Series,
    day,
)
from acceptance.rfm.perflogs import PerflogLine
from acceptance.rfm.session_schema import PerfValue, metric_name
from acceptance.store import software_of


def add_killed(history: History, lines: Iterable[PerflogLine]) -> list[PastSession]:
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
