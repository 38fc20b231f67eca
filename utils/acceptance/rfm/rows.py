"""Rows of ReFrame's results database, read-only, and compared with their checksums.

Form: SQLite, tables `sessions`, `testcases`, `metadata`; a session's `json_blob` holds all
(`rfm/session_schema.py`). Source: ReFrame 4.10, `frontend/reporting`.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from acceptance.core.text import plural
from acceptance.rfm import checksums
from acceptance.rfm.archive import files as archive
from acceptance.rfm.half_made import HALF_MADE, is_half_made
from acceptance.rfm.stored import ResultsFault, Row, SessionFault, StoredSession

#: The schema that this module reads (ReFrame 4.7 and later).
SCHEMA_VERSION = "1.0"

#: All sessions, in the order of storing.
_ALL = "SELECT uuid, session_start_unix, session_end_unix, rowid FROM sessions ORDER BY rowid"
#: Seconds to wait for a database that another process writes.
TIMEOUT = 10.0
#: Sessions that a query names at most: an old SQLite has 999 parameters.
_ASKED = 900
#: Databases that stayed locked for so long: whoever asks again in this process waits no more.
_locked: set[Path] = set()


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
        said = f"{database}: cannot be read: {err}"
        if not isinstance(err, sqlite3.OperationalError):  # locked, say, or no right to read it
            said += f"; {readable(database)}"
        raise ResultsFault(said) from None


def readable(database: Path) -> str:
    """Say how many sessions of a damaged database can still be read, and which cannot."""
    listed: dict[int, str] = {}
    lost: list[str] = []
    uri = f"{database.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.text_factory = _text
        for place in ("NOT INDEXED", "INDEXED BY sqlite_autoindex_sessions_1"):
            with suppress(sqlite3.Error, UnicodeDecodeError):
                listed.update(connection.execute(f"SELECT rowid, uuid FROM sessions {place}"))
        for number, uuid in sorted(listed.items()):
            try:
                connection.execute("SELECT * FROM sessions WHERE rowid = ?", (number,)).fetchall()
            except (sqlite3.Error, UnicodeDecodeError):
                lost.append(uuid)
    if not listed:
        return "no session can be found in it"
    shown = f", not: {', '.join(lost[:3])}{' ...' if len(lost) > 3 else ''}" if lost else ""
    return f"{len(listed) - len(lost)} of {plural(len(listed), 'session')} can be read{shown}"


def held(database: Path) -> list[Row]:
    """Return the sessions that stand in the database itself; raises ResultsFault."""
    return [Row(*row) for row in query(database, _ALL)]


def listed(database: Path) -> list[Row]:
    """Return all sessions in the order of storing, archived ones too; raises ResultsFault.

    One that is in both counts once, and is read in the database.
    """
    # The archive is read last: what leaves the database is there before it does.
    here = held(database)
    archived = archive.listed(database)
    if not archived:
        return here
    by_uuid, known = {row.uuid: row for row in here}, {row.uuid for row in archived}
    before = [by_uuid.get(row.uuid, row) for row in archived]
    return before + [row for row in here if row.uuid not in known]


def each(
    database: Path, rows: Sequence[Row], faults: list[SessionFault] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield UUID and JSON of sessions that are what was stored, and that nobody has forgotten.

    The others are reported in `faults`, or without it raised.
    """
    sums = checksums.read(database)
    kept = [row for row in rows if sums.kind(row.uuid) != checksums.FORGOTTEN]
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
    if message := refusal(stored.sum, entry, stored.kept):
        raise SessionFault(database, stored.uuid, message)


def refusal(sum_: str, entry: checksums.Entry | None, kept: str = "") -> str:
    """Return why a session of this sum is not what was stored; empty where it is.

    `kept` is the sum that it was archived with.
    """
    if entry is not None and entry.protects:
        return f"is not what was stored (checksum of {entry.time[:19]})" * (entry.sum != sum_)
    return "is not what was archived" if kept not in ("", sum_) else ""


def stored_rows(database: Path, rows: Sequence[Row]) -> Iterator[StoredSession]:
    """Yield sessions by their rows, compared with nothing; raises ResultsFault."""
    with opened(database) as connection:
        names = _names(connection, [row for row in rows if row.file is None])
        for file, group in groupby(rows, key=lambda row: row.file):
            if file is not None:
                yield from archive.read(database, file, [row.uuid for row in group])
                continue
            for row in group:
                yield from _stored(database, connection, row, names.get(row.uuid, 0))


def _stored(
    database: Path, connection: sqlite3.Connection, row: Row, names: int
) -> Iterator[StoredSession]:
    """Yield a session of the database; where it has left it meanwhile, from the archive."""
    select = (
        "SELECT uuid, session_start_unix, session_end_unix, CAST(json_blob AS BLOB) FROM sessions "
        "WHERE rowid = ?"
    )
    found = connection.execute(select, (row.number,)).fetchall()
    for uuid, start, end, blob in found:
        if uuid == row.uuid:
            sum_ = checksums.session_sum(uuid, start, end, blob or b"", names)
            yield StoredSession(uuid, start, end, sum_, blob or b"")
            return
    for moved in archive.listed(database):
        if moved.uuid == row.uuid and moved.file is not None:
            yield from archive.read(database, moved.file, [moved.uuid])
            return
    # A session that somebody has deleted meanwhile is none.
    if not found and (row.uuid, row.number) in (
        (each[0], each[3]) for each in connection.execute(_ALL)
    ):
        raise sqlite3.DatabaseError(f"session {row.uuid} is listed, and not found")


def _names(connection: sqlite3.Connection, rows: Sequence[Row]) -> dict[str, int]:
    """Return for each session the sum of the names of its cases, by which sessions are searched."""
    # As bytes: most of the time would go into making texts of them.
    select = "SELECT CAST(session_uuid AS BLOB), CAST(name AS BLOB) FROM testcases"
    if not rows:
        return {}
    if len(rows) <= _ASKED:
        # No index leads from a session to its cases: all are searched, and few come back.
        select += f" WHERE session_uuid IN ({', '.join('?' * len(rows))})"
        found = connection.execute(select, [row.uuid for row in rows])
    else:
        found = connection.execute(select)
    known: dict[bytes, int] = {}
    sums: dict[bytes, int] = {}
    for uuid, name in found:
        number = known.get(name)
        if number is None:
            number = known[name] = checksums.name_sum(name or b"")
        sums[uuid] = sums.get(uuid, 0) + number
    return {_text(uuid or b""): number for uuid, number in sums.items()}
