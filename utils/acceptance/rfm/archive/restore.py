"""Archived sessions put back into the database, as ReFrame stored them; the archive keeps them."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from acceptance.core import state_files
from acceptance.rfm import checksums, half_made, rows
from acceptance.rfm.archive import files
from acceptance.rfm.archive.pack import ArchiveFault
from acceptance.rfm.stored import ResultsFault, Row, SessionFault

#: What names all sessions of an archive.
ALL = "all"


def restore(database: Path, names: Sequence[str]) -> list[str]:
    """Put sessions back by their ids, or the beginnings of these; return the ids.

    They stand before what the database holds, in the order in which they were stored. Raises
    ResultsFault for what names no archived session, or one that is not what was archived;
    ArchiveFault where the database cannot be written.
    """
    with state_files.locked(files.folder(database) / "lock", 0.0):
        held = rows.held(database)
        there = {row.uuid for row in held}
        named = _named(database, names)
        chosen = [row for row in named if row.uuid not in there]
        _require_whole(database, chosen)
        before = min((row.number for row in held), default=1) - len(chosen)
        with half_made.reframe_lock(database):
            _insert(database, chosen, before)
        put_back = [row for row in rows.held(database) if row.uuid not in there]
        _require_whole(database, put_back)
    return [row.uuid for row in chosen]


def _named(database: Path, names: Sequence[str]) -> list[Row]:
    """Return the archived sessions that are named, in the order of storing; or ResultsFault."""
    archived = files.listed(database)
    chosen: set[str] = set()
    for name in names:
        found = [row.uuid for row in archived if name == ALL or row.uuid.startswith(name)]
        if not found or (name != ALL and len(found) != 1):
            which = f"{len(found)} sessions that begin with" if found else "no session"
            raise ResultsFault(f"{files.folder(database)}: holds {which} {name}")
        chosen.update(found)
    return [row for row in archived if row.uuid in chosen]


def _require_whole(database: Path, found: Sequence[Row]) -> None:
    """Raise SessionFault for a session that is not what was stored."""
    sums = checksums.read(database)
    for stored in rows.stored_rows(database, found):
        if message := rows.refusal(stored.sum, sums.entries.get(stored.uuid), stored.kept):
            raise SessionFault(database, stored.uuid, message)


def _insert(database: Path, chosen: Sequence[Row], first: int) -> None:
    """Write sessions and their cases as ReFrame does, all or none, with these numbers of rows."""
    session = (
        "INSERT INTO sessions(rowid, uuid, session_start_unix, session_end_unix, json_blob, "
        "report_file) VALUES(?, ?, ?, ?, CAST(? AS TEXT), ?)"
    )
    case = "INSERT INTO testcases VALUES(?, ?, ?, ?, ?, ?, ?)"
    try:
        with closing(sqlite3.connect(database, timeout=rows.TIMEOUT)) as connection, connection:
            for number, row in enumerate(chosen, first):
                assert row.file is not None
                uuid, start, end, blob, _, _, report, cases = files.whole(database, row)
                connection.execute(session, (number, uuid, start, end, blob, report))
                columns = ([*each.values()] for each in cases)
                connection.executemany(case, [(*each[:5], uuid, each[5]) for each in columns])
    except sqlite3.Error as err:
        raise ArchiveFault(f"{database}: cannot be written: {err}; nothing was put back") from None
