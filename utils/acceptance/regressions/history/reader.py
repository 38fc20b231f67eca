"""The past of every metric: ReFrame's results database as series of samples.

A sample is what a passing case measured; what failed, and what passed only when it was repeated, is
none. Anything that plain ReFrame writes will do. Sessions are decoded once, into the store.
"""

import json
from pathlib import Path

from acceptance.core.text import plural
from acceptance.detection.constants import CLOCK_SLACK
from acceptance.regressions.history.series import (
    CaseHistory,
    CaseKey,
    History,
    PastSession,
    Series,
    Source,
    day,
)
from acceptance.rfm import ResultsFault, SessionFault
from acceptance.rfm import database as results
from acceptance.store import (
    REPEATED,
    SHARED_MACHINE,
    UNFIT,
    Store,
    open_store,
    reading,
)


def load(
    database: Path,
    system: str | None = None,
    until: str | None = None,
    store: Path | None = None,
) -> History:
    """Read all series from a results database.

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
    kept = open_store(database, store)
    try:
        return _read(kept, database, system, uuids)
    finally:
        kept.release()


def _read(kept: Store, database: Path, system: str | None, uuids: list[str]) -> History:
    rows, end = reading.end_of(reading.sessions(kept), set(uuids))
    history = History(notes=[*kept.notes])
    places = _add_sessions(history, database, rows)
    source = history.source = Source(kept, rows, places, end)
    repeated, left_out = _add_unfit(history, source, system)
    _add_series(history, source, system)
    history.notes += [
        f"session {uuid} repeats {count} cases of sessions before it; left out"
        for uuid, count in repeated.items()
    ]
    if left_out:
        history.left_out = (
            f"{plural(len(left_out), 'case')} measured while another run had jobs "
            "on the same machine, and left out; the last session that has some is "
            f"{left_out[-1].uuid} of {day(left_out[-1].start)}"
        )
        history.notes.append(history.left_out)
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
                number=len(history.sessions),
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
