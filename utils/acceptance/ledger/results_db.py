"""ReFrame's results database, read-only: which sessions stand in it, and the JSON of each.

Form: SQLite, tables `sessions`, `testcases`, `metadata`; a session's `json_blob` holds all
(`records.py`). Source: ReFrame 4.10, `frontend/reporting`.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from acceptance.core.errors import Fault
from acceptance.core.text import plural
from acceptance.rfm.half_made import HALF_MADE, is_half_made

#: The schema that this module reads (ReFrame 4.7 and later).
SCHEMA_VERSION = "1.0"

#: All sessions, in the order of storing.
_ALL = "SELECT uuid, session_start_unix, session_end_unix, rowid FROM sessions ORDER BY rowid"
#: Seconds to wait for a database that another process writes.
TIMEOUT = 10.0
#: Databases that stayed locked for so long: whoever asks again in this process waits no more.
_locked: set[Path] = set()


class ResultsFault(Fault):
    """Results that cannot be read: which, why, and what to do."""


class SessionFault(ResultsFault):
    """A session that cannot be read, in a database that can.

    `reason` says what is wrong without the name of the session.
    """

    def __init__(self, database: Path, uuid: str, reason: str) -> None:
        self.uuid, self.reason = uuid, reason
        remedy = f"acceptance sessions --forget {uuid[:8]} leaves it out"
        super().__init__(f"{database}: session {uuid} {reason}; {remedy}")


class Row(NamedTuple):
    """Where a session stands, and what its row says: times in s since the epoch.

    A fault of the disk need not have left numbers of the times.
    """

    uuid: str
    start: Any
    end: Any
    number: int


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
            said += f"; {_readable(database)}"
        raise ResultsFault(said) from None


def _readable(database: Path) -> str:
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


def sessions(database: Path) -> list[Row]:
    """Return the sessions in the order of storing; raises ResultsFault."""
    with opened(database) as connection:
        return [Row(*row) for row in connection.execute(_ALL)]


def contents(database: Path, rows: Iterable[Row]) -> Iterator[tuple[Row, bytes]]:
    """Yield the JSON of sessions; of one that was deleted meanwhile nothing. Raises ResultsFault.

    The database is not held open while the reader works on one, so that a run can write.
    """
    select = "SELECT uuid, CAST(json_blob AS BLOB) FROM sessions WHERE rowid = ?"
    for row in rows:
        with opened(database) as connection:
            found = connection.execute(select, (row.number,)).fetchone()
            if found is None and row.uuid in {uuid for uuid, *_ in connection.execute(_ALL)}:
                raise sqlite3.DatabaseError(f"session {row.uuid} is listed, and not found")
        if found is not None and found[0] == row.uuid:
            yield row, found[1] or b""
