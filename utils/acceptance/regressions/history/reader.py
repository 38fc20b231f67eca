"""The past of every metric: ReFrame's results database, and perflogs, as series of samples.

A sample is what a passing case measured; what failed, and what passed only when it was repeated, is
none. The database is read one session after the other, straight into arrays: its form is that of
`rfm/database.py`, and anything that plain ReFrame writes will do.
"""

import gc
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from acceptance.core.observations import SHARED, observations
from acceptance.core.text import plural
from acceptance.detection.constants import CLOCK_SLACK, SESSIONS_APART
from acceptance.regressions.history.series import (
    CaseHistory,
    CaseKey,
    History,
    PastSession,
    Sample,
    Series,
    Software,
    add,
    day,
)
from acceptance.rfm import SessionFault
from acceptance.rfm import database as results
from acceptance.rfm.perflogs import PerflogLine, names_of, read
from acceptance.rfm.session_schema import StoredCase, as_table, as_text, as_words, decode

#: What of a case's provenance says which software ran; the rest says how.
SOFTWARE = ("spec", "hash", "mpi", "compiler", "target", "suite", "mpi_standard", "modules")


_INFINITE = float("inf")


def load(
    database: Path,
    perflogs: Path | None = None,
    system: str | None = None,
    until: str | None = None,
) -> History:
    """Read all series from a results database; from the folder `perflogs` what it lacks.

    With `system` only its series, with `until` (UUID) nothing that was stored after that session.
    Raises ResultsFault when the database cannot be read or has no such session. A session that is a
    duplicate, or stored out of order is reported in the notes, one that cannot be read in `faults`.
    """
    reader = _Reader(system, keep_times=perflogs is not None)
    with _no_collection():
        faults = reader.history.faults
        for uuid, blob in results.blobs(database, until, faults):
            try:
                reader.take(uuid, blob)
            except (ValueError, KeyError, TypeError, AttributeError) as err:
                faults.append(SessionFault(database, uuid, f"is malformed: {err!r}"))
        if perflogs is not None:
            sessions = reader.history.sessions
            reader.add_perflogs(perflogs, sessions[-1].end if until and sessions else _INFINITE)
    reader.finish()
    return reader.history


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from searching for cycles: all of what is read stays, and there are millions."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_Shared = TypeVar("_Shared")


class _Reader:
    def __init__(self, system: str | None, *, keep_times: bool) -> None:
        self.system = system
        self.history = History()
        self.cases: dict[CaseKey, CaseHistory] = {}
        # Values that many samples share are kept once.
        self.shared: dict[Any, Any] = {}
        # (where, name, second) of every case of the database, for the perflogs.
        self.known: set[tuple[str, str, int]] | None = set() if keep_times else None
        self.variants: dict[tuple[str, str], CaseKey] = {}
        self.uuids: set[str] = set()
        self.latest_end = 0.0
        self.repeated: dict[str, int] = {}
        # The session of each case that was measured while another run used the machine.
        self.shared_machine: list[PastSession] = []

    def take(self, uuid: str, blob: str) -> None:
        """Take a session of the database."""
        info, cases = decode(blob)
        notes = self.history.notes
        if info.uuid in self.uuids:
            notes.append(f"session {uuid} is stored twice; the second one is left out")
            return
        self.uuids.add(info.uuid)
        session = PastSession(
            number=0,
            uuid=uuid,
            start=info.time_start_unix,
            end=info.time_end_unix,
            command=info.cmdline,
            aborted=bool(info.num_aborted),
        )
        if session.end < self.latest_end - CLOCK_SLACK:
            notes.append(
                f"session {uuid} ended {(self.latest_end - session.end) / 3600:.1f} hours before "
                "one that was stored before it: a clock went backwards; the order of storing counts"
            )
            self.latest_end = session.end  # a single session of the future is reported once
        self.latest_end = max(self.latest_end, session.end)
        self.history.sessions.append(session)
        for case in cases:
            if self.system in (None, case.system):
                self._case(session, case)

    def _case(self, session: PastSession, data: StoredCase) -> None:
        name = data.display_name or data.name
        system, partition, environment = data.system, data.partition, data.environ
        where = f"{system}:{partition}+{environment}"
        time = data.job_completion_time_unix
        if self.known is not None and time is not None:
            self.known.update((where, each, int(time)) for each in names_of(name))
        session.partitions.add((system, partition))
        if data.result != "pass" or (where, name) in session.unfit:
            # What passes when it is repeated has failed nevertheless.
            session.unfit.add((where, name))
            return
        if data.fixture:
            return
        found = observations(data.findings)
        if any(each.kind == SHARED for each in found):
            # A slow sample says nothing then, and a good one neither.
            session.unfit.add((where, name))
            self.shared_machine.append(session)
            return
        keys = tuple(sorted(as_table(data.keys).items()))
        key = CaseKey(system, partition, environment, name, keys)
        case = self.cases.get(key)
        if case is None:
            case = self._new_case(
                key, as_text(data.suite), as_text(data.benchmark_name), plain=data.plain
            )
        if time is None:
            time = session.end
        elif time in case.times:
            self.repeated[session.uuid] = self.repeated.get(session.uuid, 0) + 1
            return
        else:
            case.times.add(time)
        sample = Sample(
            session,
            time,
            self._software(as_table(data.provenance), data.modules),
            self._share(as_words(data.job_nodelist)),
            self._share(tuple(each.text for each in found if not each.fails)),
        )
        add(case, sample, (data.perfvalues or {}).items())

    def _new_case(
        self, key: CaseKey, suite: str, benchmark: str, plain: bool = False
    ) -> CaseHistory:
        case = self.cases[key] = CaseHistory(key, suite, benchmark, plain)
        self.history.cases.append(case)
        self.variants[key.where, key.check] = key
        return case

    def _software(self, provenance: Mapping[str, str], modules: object = None) -> Software:
        found = {name: str(provenance[name]) for name in SOFTWARE if provenance.get(name)}
        if isinstance(modules, list) and modules:
            found["modules"] = " ".join(map(str, modules))
        return self._share(tuple(found.items()))

    def _share(self, value: _Shared) -> _Shared:
        found: _Shared = self.shared.setdefault(value, value)
        return found

    def add_perflogs(self, folder: Path, last: float) -> None:
        """Add the passing cases of perflogs that the database does not have, up to a time."""
        assert self.known is not None
        perflogs = read(folder)
        self.history.notes += perflogs.faults
        lines = sorted(
            (row for row in perflogs.rows if row.time <= last and self._is_new(row)),
            key=lambda row: row.time,
        )
        groups: list[list[PerflogLine]] = []
        for row in lines:
            if not groups or row.time - groups[-1][-1].time > SESSIONS_APART:
                groups.append([])
            groups[-1].append(row)
        killed = [(self._killed(rows), rows[0].time) for rows in groups]
        killed = [(count, start) for count, start in killed if count]
        if killed:
            total = sum(count for count, _ in killed)
            nights = f"{len(killed)} sessions, the last one " if len(killed) > 1 else "a session "
            self.history.notes.append(
                f"{total} cases are in the perflogs only, of {nights}of {day(killed[-1][1])} that "
                "the database lacks"
            )

    def _is_new(self, row: PerflogLine) -> bool:
        assert self.known is not None
        if self.system not in (None, row.system):
            return False
        return not any((row.where, row.check, int(row.time) + n) in self.known for n in (-1, 0, 1))

    def _killed(self, rows: list[PerflogLine]) -> int:
        """Take the lines of a session that was never stored; return how many cases passed."""
        session = PastSession(
            number=0,
            uuid=f"perflog-{rows[0].time:.0f}",
            start=rows[0].time,
            end=rows[-1].time,
            command="",
            perflog=True,
        )
        counted = 0
        for row in rows:
            if row.result != "pass" or (row.where, row.check) in session.unfit:
                session.unfit.add((row.where, row.check))
                continue
            if row.provenance.get(SHARED):
                session.unfit.add((row.where, row.check))
                self.shared_machine.append(session)
            if not row.metrics or row.provenance.get(SHARED):
                continue
            session.partitions.add((row.system, row.partition))
            key = CaseKey(row.system, row.partition, row.environment, row.check, row.keys or ())
            if row.keys is None:
                # A line need not say its keys: it has those that the case has in the database.
                key = self.variants.get((row.where, row.check), key)
            case = self.cases.get(key) or self._new_case(key, "", "")
            sample = Sample(
                session, row.time, self._software(row.provenance), self._share(row.nodes), ()
            )
            add(case, sample, row.values())
            counted += 1
        if counted:
            self.history.sessions.append(session)
        return counted

    def finish(self) -> None:
        """Put sessions into their order, number them, and say what was left out."""
        history = self.history
        for uuid, count in self.repeated.items():
            history.notes.append(
                f"session {uuid} repeats {count} cases of sessions before it; left out"
            )
        if self.shared_machine:
            history.left_out = (
                f"{plural(len(self.shared_machine), 'case')} measured while another run had jobs "
                "on the same machine, and left out; the last session that has some is "
                f"{self.shared_machine[-1].uuid} of {day(self.shared_machine[-1].start)}"
            )
            history.notes.append(history.left_out)
        if any(session.perflog for session in history.sessions):
            history.sessions = _merged(history.sessions)
        for number, session in enumerate(history.sessions):
            session.number = number
        for case in history.cases:
            for series in case.series:
                if any(sample.session.perflog for sample in series.samples):
                    _sort(series)


def _merged(sessions: list[PastSession]) -> list[PastSession]:
    """Put those of the perflogs between those of the database, which keep their order."""
    stored = [session for session in sessions if not session.perflog]
    killed = sorted((one for one in sessions if one.perflog), key=lambda one: one.end)
    merged: list[PastSession] = []
    for session in stored:
        while killed and killed[0].end < session.end:
            merged.append(killed.pop(0))
        merged.append(session)
    return merged + killed


def _sort(series: Series) -> None:
    order = sorted(range(len(series.samples)), key=lambda i: series.samples[i].session.number)
    series.samples = [series.samples[i] for i in order]
    series.values = array("d", [series.values[i] for i in order])
