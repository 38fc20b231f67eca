"""ReFrame's results database, read-only: sessions, their cases, and the metrics of these."""

import sqlite3
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from acceptance.core.errors import MESSAGE
from acceptance.core.findings import observations
from acceptance.core.pairs import pair_results
from acceptance.core.text import clipped
from acceptance.rfm import checksums, rows
from acceptance.rfm.archive import files as archive
from acceptance.rfm.records import Case, Metric, Session
from acceptance.rfm.rows import refusal as refusal
from acceptance.rfm.session_schema import (
    PerfValue,
    StoredCase,
    as_seconds,
    as_table,
    as_text,
    as_words,
    decode,
    metric_name,
)
from acceptance.rfm.stored import ResultsFault, Row, SessionFault, StoredSession


def session(database: Path, uuid: str | None = None) -> Session:
    """Read one session: that with this UUID, else the one that was stored last.

    The one that ended last need not be the newest: a clock may have been wrong. Raises ResultsFault
    when the database or the session cannot be had, or is not what was stored.
    """
    found = rows.listed(database)
    found = found[-1:] if uuid is None else [row for row in found if row.uuid == uuid]
    if not found:
        missing = "holds no session yet" if uuid is None else f"holds no session {uuid}"
        raise ResultsFault(f"{database}: {missing}")
    row = found[-1]
    if checksums.read(database).kind(row.uuid) == checksums.FORGOTTEN:
        raise SessionFault(database, row.uuid, "was left out")
    for stored in rows.each(database, [row]):
        return _session(database, *stored)
    raise ResultsFault(f"{database}: holds no session {row.uuid}")


def ids(database: Path) -> list[str]:
    """Return the UUIDs of all sessions, that which was stored first first.

    Raises ResultsFault when the database cannot be read.
    """
    return [row.uuid for row in rows.listed(database)]


def full_id(database: Path, beginning: str) -> str:
    """Return the UUID that begins so; raises ResultsFault where not just one does."""
    found = [uuid for uuid in ids(database) if uuid.startswith(beginning)]
    if len(found) != 1 and beginning not in found:
        which = f"{len(found)} sessions that begin with" if found else "no session"
        raise ResultsFault(f"{database}: holds {which} {beginning}; see: acceptance sessions")
    return beginning if beginning in found else found[0]


def last_first(database: Path) -> list[str]:
    """Return the UUIDs of all sessions, that which ended last first; raises ResultsFault."""
    return [row.uuid for row in _last_first(rows.listed(database))]


def sessions(
    database: Path,
    faults: list[SessionFault] | None = None,
    only: Collection[str] | None = None,
) -> Iterator[Session]:
    """Yield all sessions, that which ended last first, each read when it is asked for.

    With `faults` a session that cannot be read is reported there and left out; with `only` none but
    these (UUID) are read. Raises ResultsFault when the database, or without `faults` a session,
    cannot be read.
    """
    found = (row for row in rows.listed(database) if only is None or row.uuid in only)
    for uuid, blob in rows.each(database, _last_first(found), faults):
        try:
            session = _session(database, uuid, blob)
        except SessionFault as err:
            if faults is None:
                raise
            faults.append(err)
        else:
            yield session


def sessions_of_check(database: Path, check: str, before: float) -> Iterator[Session]:
    """Yield the sessions that have cases of a check (its class), and began before a time (s).

    That which ended last first, each read when it is asked for; one that cannot be read is left
    out. Raises ResultsFault when the database cannot be read.
    """
    # Sums protect no index: the tables themselves are searched.
    query = "SELECT DISTINCT session_uuid FROM testcases NOT INDEXED WHERE name LIKE ?"
    of_check = {uuid for (uuid,) in rows.query(database, query, f"{check}%")}
    of_check |= archive.of_check(database, check)
    listed = (row for row in rows.listed(database) if row.uuid in of_check)
    found = _last_first(row for row in listed if _number(row.start) < before)
    for uuid, blob in rows.each(database, found, faults=[]):
        with suppress(SessionFault):
            yield _session(database, uuid, blob)


def blobs(
    database: Path, until: str | None = None, faults: list[SessionFault] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield UUID and JSON of all sessions, that which was stored first first.

    One is held at a time, and none while the reader works on it, so that a run can write. With
    `until` the session of this UUID is the last one. One that is not what was stored is reported
    in `faults` and left out. Raises ResultsFault when the database or that session cannot be had.
    """
    found = rows.listed(database)
    uuids = [row.uuid for row in found]
    if until is not None:
        if until not in uuids:
            raise ResultsFault(f"{database}: holds no session {until}")
        found = found[: uuids.index(until) + 1]
    yield from rows.each(database, found, [] if faults is None else faults)


def stored_sessions(database: Path, uuids: Collection[str]) -> Iterator[StoredSession]:
    """Yield sessions as they stand there, compared with nothing; in the order of storing.

    Raises ResultsFault when the database cannot be read.
    """
    found = rows.listed(database)
    yield from rows.stored_rows(database, [row for row in found if row.uuid in uuids])


def _last_first(found: Iterable[Row]) -> list[Row]:
    return sorted(found, key=lambda row: -_number(row.end))


def _number(time: object) -> float:
    """Return a time, of which a fault of the disk need not have left a number."""
    return time if isinstance(time, int | float) else 0.0


def listing(database: Path) -> list[tuple[str, int | None]]:
    """Return UUID and bytes of all sessions that nobody has forgotten, in the order of storing.

    The bytes are None where it is not the database that holds a session. None of them is read.
    Raises ResultsFault when the database cannot be read.
    """
    sums, sizes = checksums.read(database), _sizes(database)
    return [
        (uuid, sizes.get(uuid)) for uuid in ids(database) if sums.kind(uuid) != checksums.FORGOTTEN
    ]


def _sizes(database: Path) -> dict[str, int]:
    """Return the bytes of each session's JSON in the database itself, without reading it."""
    with rows.opened(database) as connection:
        if sqlite3.sqlite_version_info >= (3, 43):
            size = "octet_length(json_blob)"
        elif sys.version_info >= (3, 11):
            found = connection.execute("SELECT rowid, uuid FROM sessions").fetchall()
            return {uuid: _size(connection, number) for number, uuid in found}
        else:  # an old SQLite without the blobs of Python 3.11 has to read it
            size = "length(CAST(json_blob AS BLOB))"
        return dict(connection.execute(f"SELECT uuid, {size} FROM sessions").fetchall())


def _size(connection: Any, number: int) -> int:
    try:
        with connection.blobopen("sessions", "json_blob", number, readonly=True) as blob:
            return len(blob)
    except sqlite3.OperationalError:  # nothing, or a number, as a fault of the disk may leave
        return -1


def decoded(database: Path, stored: StoredSession) -> Session:
    """Return a session as it stands there; raises SessionFault where it cannot be read."""
    return _session(database, stored.uuid, stored.text(database))


def unreadable(database: Path) -> list[SessionFault]:
    """Return what is wrong with sessions, all of which are read; raises ResultsFault."""
    faults: list[SessionFault] = []
    for _ in sessions(database, faults):
        pass
    return faults


def _session(database: Path, uuid: str, blob: str) -> Session:
    try:
        info, cases = decode(blob)
        return Session(
            uuid=info.uuid,
            start=info.time_start_unix,
            end=info.time_end_unix,
            host=info.hostname,
            command=info.cmdline,
            label=info.run,
            aborted=info.num_aborted or 0,
            cases=tuple(map(_case, cases)),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise SessionFault(database, uuid, f"is malformed: {err!r}") from None


def _case(stored: StoredCase) -> Case:
    judged_by = as_table(stored.judged_by)
    return Case(
        name=stored.display_name or stored.name,
        system=stored.system,
        partition=stored.partition,
        environment=stored.environ,
        filename=stored.filename,
        suite=as_text(stored.suite),
        run_index=stored.run_index,
        result=stored.result or "",
        fail_phase=stored.fail_phase or "",
        fail_reason=clipped(stored.fail_reason or "", MESSAGE),
        nodes=as_words(stored.job_nodelist),
        fixture=bool(stored.fixture),
        benchmark=as_text(stored.benchmark_name),
        keys=as_table(stored.keys),
        declared=as_table(stored.declared),
        provenance=as_table(stored.provenance),
        findings=observations(stored.findings),
        metrics=tuple(
            _metric(metric_name(key), value, judged_by)
            for key, value in (stored.perfvalues or {}).items()
            if value.value is not None
        ),
        pairs=pair_results(stored.pairs),
        seconds=as_seconds(stored.time_total),
        all_pairs=stored.all_pairs if isinstance(stored.all_pairs, dict) else {},
        folder=as_text(stored.outputdir if stored.result == "pass" else stored.stagedir),
        output=as_text(stored.job_stdout),
    )


def _metric(name: str, stored: PerfValue, judged_by: dict[str, str]) -> Metric:
    judged = stored.lower is not None or stored.upper is not None
    return Metric(
        name=name,
        value=stored.value,
        unit=stored.unit or "",
        reference=stored.reference if judged else None,
        lower=stored.lower,
        upper=stored.upper,
        judged_by=judged_by.get(name, "a reference of the check" if judged else ""),
        passed=stored.result == "pass",
    )
