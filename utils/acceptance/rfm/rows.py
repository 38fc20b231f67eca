"""Rows of ReFrame's results database, read-only, and compared with their checksums.

Form: SQLite, tables `sessions`, `testcases`, `metadata`; a session's `json_blob` holds all
(`rfm/session_schema.py`). Source: ReFrame 4.10, `frontend/reporting`.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from acceptance.core.errors import Fault
from acceptance.rfm import checksums
from acceptance.rfm.half_made import HALF_MADE, is_half_made

#: The schema that this module reads (ReFrame 4.7 and later).
SCHEMA_VERSION = "1.0"

#: All sessions, in the order of storing.
_ALL = "SELECT rowid, uuid FROM sessions ORDER BY rowid"
#: Seconds to wait for a database that another process writes.
TIMEOUT = 10.0
#: Databases that stayed locked for so long: whoever asks again in this process waits no more.
_locked: set[Path] = set()


class ResultsFault(Fault):
    """A results database that cannot be read: which, why, and what to do."""


class SessionFault(ResultsFault):
    """A session that cannot be read, or is not what was stored, in a database that can.

    `what` says it without the `remedy`.
    """

    def __init__(self, database: Path, uuid: str, message: str) -> None:
        self.uuid, self.what = uuid, f"{database}: session {uuid} {message}"
        begin = uuid[:8]
        self.remedy = (
            f"acceptance sessions --forget {begin} leaves it out, --trust {begin} takes it"
        )
        super().__init__(f"{self.what}; {self.remedy}")


class StoredSession(NamedTuple):
    """A session as it stands in the database: times in s since the epoch; its sum, its JSON."""

    uuid: str
    start: float
    end: float
    sum: str
    blob: bytes

    def text(self, database: Path) -> str:
        """Return its JSON; raises SessionFault where that is no text."""
        try:
            return self.blob.decode()
        except UnicodeDecodeError as err:
            raise SessionFault(database, self.uuid, f"is malformed: {err!r}") from None


def query(database: Path, select: str, *values: str | float) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query; raises ResultsFault."""
    with opened(database) as connection:
        yield from connection.execute(select, values).fetchall()


def _text(content: bytes) -> str:
    """Return what SQLite holds as text; a fault of the disk need not have left any."""
    return content.decode(errors="backslashreplace")


@contextmanager
def opened(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database of the right schema, read-only; ResultsFault for whatever goes wrong."""
    if not database.exists():
        raise ResultsFault(f"{database}: no such file; a run of ReFrame with storage on makes it")
    if not database.is_file():
        raise ResultsFault(f"{database}: no file; a results database of ReFrame is one")
    patience = 0.0 if database in _locked else TIMEOUT
    try:
        connection = sqlite3.connect(
            f"{database.resolve().as_uri()}?mode=ro", uri=True, timeout=patience
        )
        with closing(connection):
            connection.text_factory = _text
            versions = connection.execute("SELECT schema_version FROM metadata").fetchall()
            _locked.discard(database)
            if not versions:
                raise ResultsFault(f"{database}: has no schema yet; the next run completes it")
            if versions != [(SCHEMA_VERSION,)]:
                raise ResultsFault(
                    f"{database}: schema {versions}, this program reads {SCHEMA_VERSION}; "
                    "it was written by another release of ReFrame"
                )
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as err:  # the latter: of SQLite's own message
        if "database is locked" in str(err):
            _locked.add(database)
        if is_half_made(database):
            raise ResultsFault(f"{database}: {HALF_MADE}; the next run makes it anew") from None
        if "no such table" in str(err):
            raise ResultsFault(f"{database}: no results database of ReFrame: {err}") from None
        raise ResultsFault(
            f"{database}: cannot be read: {err}; the values are also in the perflogs beside it"
        ) from None


def each(
    database: Path, rows: Sequence[tuple[int, str]], faults: list[SessionFault] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield UUID and JSON of sessions that are what was stored, and that nobody has forgotten.

    The others are reported in `faults`, or without it raised.
    """
    sums = checksums.read(database)
    kept = [row for row in rows if sums.kind(row[1]) != checksums.FORGOTTEN]
    for stored in stored_rows(database, kept):
        try:
            _compare(database, stored, sums.entries.get(stored.uuid))
            text = stored.text(database)
        except SessionFault as err:
            if faults is None:
                raise
            faults.append(err)
        else:
            yield stored.uuid, text


def _compare(database: Path, stored: StoredSession, entry: checksums.Entry | None) -> None:
    """Compare a session with its checksum; raises SessionFault."""
    if entry is None:
        return
    if entry.kind == checksums.DISPUTED:
        message = f"differs from the perflogs (found {entry.time[:19]})"
        raise SessionFault(database, stored.uuid, message)
    if entry.protects and entry.sum != stored.sum:
        message = f"is not what was stored (checksum of {entry.time[:19]})"
        raise SessionFault(database, stored.uuid, message)


def stored_rows(database: Path, rows: Sequence[tuple[int, str]]) -> Iterator[StoredSession]:
    """Yield sessions that are named by row and UUID."""
    select = (
        "SELECT uuid, session_start_unix, session_end_unix, CAST(json_blob AS BLOB) FROM sessions "
        "WHERE rowid = ?"
    )
    with opened(database) as connection:
        names = _names(connection, rows)
        for number, uuid in rows:
            found = connection.execute(select, (number,)).fetchall()
            for there, start, end, blob in found:
                if there == uuid:
                    sum_ = checksums.session_sum(uuid, start, end, blob or b"", names.get(uuid, 0))
                    yield StoredSession(uuid, start, end, sum_, blob or b"")
            # A session that somebody has deleted meanwhile is none.
            if not found and (number, uuid) in connection.execute(_ALL).fetchall():
                raise sqlite3.DatabaseError(f"session {uuid} is listed, and not found")


def _names(connection: sqlite3.Connection, rows: Sequence[tuple[int, str]]) -> dict[str, int]:
    """Return for each session the sum of the names of its cases, by which sessions are searched."""
    select = "SELECT session_uuid, CAST(name AS BLOB) FROM testcases"
    if len(rows) == 1:
        found = connection.execute(f"{select} WHERE session_uuid = ?", (rows[0][1],))
    else:
        found = connection.execute(select)
    known: dict[bytes, int] = {}
    sums: dict[str, int] = {}
    for uuid, name in found:
        number = known.get(name)
        if number is None:
            number = known[name] = checksums.name_sum(name or b"")
        sums[uuid] = sums.get(uuid, 0) + number
    return sums
