"""The files of an archive: `archive/<database>-<year>-<number>.parquet` beside the database.

Each holds sessions in the order in which they were stored, the files follow one another by their
numbers, and none is ever altered. A row is a session, without loss: `uuid`, `start` and `end` (s
since the epoch), `json` as ReFrame wrote it, `sum` (`rfm/checksums.py`), `row`, `report_file` and
`testcases`: what the database had beside the JSON.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acceptance.core import columns_database
from acceptance.core.text import plural
from acceptance.rfm import checksums
from acceptance.rfm.stored import ResultsFault, Row, StoredSession

if TYPE_CHECKING:
    import duckdb

#: The form that this module reads and `pack` writes, and the key that says so in a file.
VERSION, KEY = 1, "acceptance_archive"

#: What a file may take that is read or written: some 16 MB of JSON, and it read back.
MEMORY = "1GB"

#: File -> its size and time of change, and its rows.
_read: dict[Path, tuple[tuple[int, int], list[Row]]] = {}


def folder(database: Path) -> Path:
    """Return the folder of the archive of a database."""
    return database.with_name("archive")


def files(database: Path) -> list[Path]:
    """Return the files of the archive of a database in their order; none where there is none."""
    pattern = re.compile(rf"{re.escape(database.name)}-\d+-(\d+)\.parquet")
    try:
        there = [(pattern.fullmatch(path.name), path) for path in folder(database).iterdir()]
    except FileNotFoundError:
        return []
    except OSError as err:
        text = f"{folder(database)}: the archive cannot be read: {err.strerror or err}"
        raise ResultsFault(text) from None
    return [path for _, path in sorted((int(name[1]), path) for name, path in there if name)]


def number(file: Path) -> int:
    """Return the number of a file."""
    return int(file.stem.rpartition("-")[2])


def listed(database: Path) -> list[Row]:
    """Return all archived sessions, each once, in the order of storing; raises ResultsFault."""
    found: dict[str, Row] = {}
    for file in files(database):
        for row in _rows(database, file):
            found[row.uuid] = row  # a file that was written anew counts, in the place of the old
    return list(found.values())


def _rows(database: Path, file: Path) -> list[Row]:
    with _told(database, file):
        return _load(file)


def _load(file: Path) -> list[Row]:
    """Return the sessions of a file; raises what DuckDB and the system do."""
    state = file.stat()
    key = state.st_size, state.st_mtime_ns
    if file not in _read or _read[file][0] != key:
        check_version(file)
        select = 'SELECT uuid, start, "end", row FROM read_parquet(?) ORDER BY file_row_number'
        _read[file] = (
            key,
            [
                Row(uuid, start, end, place, file)
                for uuid, start, end, place in _query(file, select)
            ],
        )
    return _read[file][1]


def check_version(file: Path) -> None:
    """Raise ResultsFault for a file of a newer release, or one that is none of an archive."""
    select = "SELECT value FROM parquet_kv_metadata(?) WHERE key = ?"
    found = [value.decode() for (value,) in _query(file, select, KEY.encode())]
    if found != [str(VERSION)]:
        wrong = f"of form {found[0]}, this program reads {VERSION}" if found else "of no archive"
        raise ResultsFault(f"{file}: {wrong}; it was written by another release of acceptance")


def read(database: Path, file: Path, uuids: Sequence[str]) -> Iterator[StoredSession]:
    """Yield sessions of a file in the order of their UUIDs; raises ResultsFault.

    All of a file are held at once, which is some 16 MB of JSON.
    """
    select = (
        'SELECT uuid, start, "end", json, sum, list_transform(testcases, lambda x: x.name) '
        "FROM read_parquet(?) WHERE list_contains(?, uuid)"
    )
    with _told(database, file):
        found = {row[0]: row for row in _query(file, select, list(uuids))}
    for uuid in uuids:
        _, start, end, blob, kept, names = found[uuid]
        sum_ = session_sum(uuid, start, end, blob, names)
        yield StoredSession(uuid, start, end, sum_, blob, kept)


def session_sum(uuid: str, start: float, end: float, blob: bytes, names: Sequence[str]) -> str:
    """Return the sum of a session by what is in its row, its JSON, and the names of its cases."""
    number = sum(checksums.name_sum((name or "").encode()) for name in names)
    return checksums.session_sum(uuid, start, end, blob, number)


def whole(database: Path, row: Row) -> tuple[Any, ...]:
    """Return all that is known of an archived session; raises ResultsFault."""
    assert row.file is not None
    with _told(database, row.file):
        (found,) = _query(row.file, "SELECT * FROM read_parquet(?) WHERE uuid = ?", row.uuid)
        return found


def content(file: Path) -> list[tuple[Any, ...]]:
    """Return all rows of a file; raises what DuckDB does."""
    return _query(file, "SELECT * FROM read_parquet(?)")


def of_check(database: Path, check: str) -> set[str]:
    """Return the archived sessions that have cases of a check (its class); or ResultsFault."""
    select = (
        "SELECT uuid FROM read_parquet(?) WHERE "
        "len(list_filter(testcases, lambda x: starts_with(x.name, ?))) > 0"
    )
    found: set[str] = set()
    for file in files(database):
        with _told(database, file):
            found.update(uuid for (uuid,) in _query(file, select, check))
    return found


@cache
def connection() -> "duckdb.DuckDBPyConnection":
    """Return DuckDB without a database of its own."""
    return columns_database.connect(memory=MEMORY)


def _query(file: Path, select: str, *values: object) -> list[tuple[Any, ...]]:
    import duckdb

    try:
        return connection().execute(select, [escape(str(file)), *values]).fetchall()
    except (duckdb.InternalException, duckdb.FatalException):
        # Such an error of a damaged file ends the connection: the next file needs a new one.
        connection.cache_clear()
        raise


@contextmanager
def _told(database: Path, file: Path) -> Iterator[None]:
    """Tell of a file that cannot be read what it holds, and what can still be read."""
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError, UnicodeDecodeError) as err:
        others = [path for path in files(database) if path != file]
        fine = [path for path in others if _is_whole(path)]
        raise ResultsFault(
            f"{file}: cannot be read: {said(err)}; {_held(database, file, fine)}; of the other "
            f"{plural(len(others), 'file')} of the archive {len(fine)} can be read; restore it "
            f"from a backup, or give it up: mv {file} {file}.damaged, then acceptance sessions "
            "--forget gone"
        ) from None


def said(err: Exception) -> str:
    """Return in a line what DuckDB or the system says of a file; DuckDB quotes the system."""
    if number := re.search(r'"errno":"(\d+)"', str(err)):
        return os.strerror(int(number[1]))
    if isinstance(err, OSError) and err.strerror:
        return err.strerror
    lines = str(err).splitlines()
    # Of a database that an earlier error has ended, DuckDB names that error below.
    cause = [line for line in lines[1:] if line.startswith("Original error")]
    return " ".join([*lines[:1], *cause]) or type(err).__name__


def _is_whole(file: Path) -> bool:
    """Tell whether all of a file can be read."""
    import duckdb

    try:
        _load(file)
        _query(file, "SELECT sum(octet_length(json)) FROM read_parquet(?)")
    except (ResultsFault, duckdb.Error, OSError):
        return False
    return True


def _held(database: Path, file: Path, others: Sequence[Path]) -> str:
    """Say what a damaged file holds, as far as anybody knows."""
    if file in _read:
        return f"it holds {plural(len(_read[file][1]), 'session')}"
    entries = checksums.read(database).entries.values()
    archived = {entry.uuid for entry in entries if entry.kind == checksums.ARCHIVED}
    known = {row.uuid for path in others for row in _load(path)}
    return f"{plural(len(archived - known), 'archived session')} can be read nowhere else"
