"""ReFrame's results database, read-only: sessions, their cases, and the metrics of these.

Form: SQLite, tables `sessions`, `testcases`, `metadata`; a session's `json_blob` holds all
(`rfm/session_schema.py`). Source: ReFrame 4.10, `frontend/reporting`.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from acceptance.core.errors import MESSAGE, Fault
from acceptance.core.observations import observations
from acceptance.core.pairs import pair_results
from acceptance.core.text import clipped
from acceptance.rfm.half_made import HALF_MADE, is_half_made
from acceptance.rfm.records import Case, Metric, Session
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

#: The schema that this module reads (ReFrame 4.7 and later).
SCHEMA_VERSION = "1.0"

#: Seconds to wait for a database that another process writes.
TIMEOUT = 10.0


class ResultsFault(Fault):
    """A results database that cannot be read: which, why, and what to do."""


class SessionFault(ResultsFault):
    """A session that cannot be read, in a database that can."""


def session(database: Path, uuid: str | None = None) -> Session:
    """Read one session: that with this UUID, else the one that was stored last.

    The one that ended last need not be the newest: a clock may have been wrong. Raises ResultsFault
    when the database or the session cannot be had.
    """
    query = "SELECT uuid, json_blob FROM sessions"
    if uuid is None:
        rows = list(_query(database, f"{query} ORDER BY rowid DESC LIMIT 1"))
    else:
        rows = list(_query(database, f"{query} WHERE uuid = ?", uuid))
    if not rows:
        missing = "holds no session yet" if uuid is None else f"holds no session {uuid}"
        raise ResultsFault(f"{database}: {missing}")
    return _session(database, *rows[0])


def ids(database: Path) -> list[str]:
    """Return the UUIDs of all sessions, that which was stored first first.

    Raises ResultsFault when the database cannot be read.
    """
    return [uuid for (uuid,) in _query(database, "SELECT uuid FROM sessions ORDER BY rowid")]


def full_id(database: Path, beginning: str) -> str:
    """Return the UUID that begins so; raises ResultsFault where not just one does."""
    found = [uuid for uuid in ids(database) if uuid.startswith(beginning)]
    if len(found) != 1 and beginning not in found:
        which = f"{len(found)} sessions that begin with" if found else "no session"
        raise ResultsFault(f"{database}: holds {which} {beginning}; see: acceptance sessions")
    return beginning if beginning in found else found[0]


def sessions(database: Path, faults: list[str] | None = None) -> Iterator[Session]:
    """Yield all sessions, that which ended last first, each read when it is asked for.

    With `faults` a malformed session is reported there and left out. Raises ResultsFault when the
    database, or without `faults` a session, cannot be read.
    """
    found = _query(database, "SELECT rowid, uuid FROM sessions ORDER BY session_end_unix DESC")
    for uuid, blob in _each(database, list(found)):
        try:
            session = _session(database, uuid, blob)
        except SessionFault as err:
            if faults is None:
                raise
            faults.append(str(err))
        else:
            yield session


def sessions_of_check(database: Path, check: str, before: float) -> Iterator[Session]:
    """Yield the sessions that have cases of a check (its class), and began before a time (s).

    That which ended last first, each read when it is asked for; one that is malformed is left out.
    Raises ResultsFault when the database cannot be read.
    """
    query = (
        "SELECT rowid, uuid FROM sessions WHERE session_start_unix < ? AND uuid IN "
        "(SELECT session_uuid FROM testcases WHERE name LIKE ?) ORDER BY session_end_unix DESC"
    )
    for uuid, blob in _each(database, list(_query(database, query, before, f"{check}%"))):
        with suppress(SessionFault):
            yield _session(database, uuid, blob)


def blobs(database: Path, until: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield UUID and JSON of all sessions, that which was stored first first.

    One is held at a time, and none while the reader works on it, so that a run can write. With
    `until` the session of this UUID is the last one. Raises ResultsFault when the database or that
    session cannot be had.
    """
    rows = list(_query(database, "SELECT rowid, uuid FROM sessions ORDER BY rowid"))
    uuids = [uuid for _, uuid in rows]
    if until is not None:
        if until not in uuids:
            raise ResultsFault(f"{database}: holds no session {until}")
        rows = rows[: uuids.index(until) + 1]
    yield from _each(database, rows)


def _each(database: Path, rows: Iterable[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Yield UUID and JSON of sessions that are named by row and UUID."""
    with _opened(database) as connection:
        query = "SELECT json_blob FROM sessions WHERE rowid = ? AND uuid = ?"
        for number, uuid in rows:
            # A session that somebody has deleted meanwhile is none.
            for (blob,) in connection.execute(query, (number, uuid)).fetchall():
                yield uuid, blob


def _query(database: Path, query: str, *values: str | float) -> Iterator[tuple[Any, ...]]:
    with _opened(database) as connection:
        yield from connection.execute(query, values).fetchall()


@contextmanager
def _opened(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database of the right schema, read-only; ResultsFault for whatever goes wrong."""
    if not database.exists():
        raise ResultsFault(f"{database}: no such file; a run of ReFrame with storage on makes it")
    if not database.is_file():
        raise ResultsFault(f"{database}: no file; a results database of ReFrame is one")
    try:
        connection = sqlite3.connect(
            f"{database.resolve().as_uri()}?mode=ro", uri=True, timeout=TIMEOUT
        )
        with closing(connection):
            versions = connection.execute("SELECT schema_version FROM metadata").fetchall()
            if not versions:
                raise ResultsFault(f"{database}: has no schema yet; the next run completes it")
            if versions != [(SCHEMA_VERSION,)]:
                raise ResultsFault(
                    f"{database}: schema {versions}, this program reads {SCHEMA_VERSION}; "
                    "it was written by another release of ReFrame"
                )
            yield connection
    except sqlite3.Error as err:
        if is_half_made(database):
            raise ResultsFault(f"{database}: {HALF_MADE}; the next run makes it anew") from None
        if "no such table" in str(err):
            raise ResultsFault(f"{database}: no results database of ReFrame: {err}") from None
        raise ResultsFault(
            f"{database}: cannot be read: {err}; the values are also in the perflogs beside it"
        ) from None


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
        raise SessionFault(f"{database}: session {uuid} is malformed: {err!r}") from None


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
