"""The files of a ledger: Parquet, each with some sessions that follow one another, never altered.

`0000012-0000015-<sum>.parquet` holds the sessions 12 to 15, numbered in the order of storing, and
`sum` is the beginning of its SHA-256. A row is a metric of a case (`COLUMNS`); what is of a session
or of a case stands in its first row alone. A file whose sessions another one has, too, was merged
into that one. In `json/` files named likewise have the JSON of each session, which are never
merged. `0000007-<uuid>.forgotten` says that session 7 counts nowhere.
"""

import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from acceptance.core import state_files

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What a column is of -> column -> type of DuckDB. `number`: of the session, `run`: of the case in
#: it, `row`: of the row in it; `first`, `kind`: as in `rows.py`; `sum`: of the JSON. `keys`,
#: `software`, `nodes` and `findings` are JSON; times are s since the epoch.
TABLES = {
    "sessions": {
        "session": "VARCHAR",
        "session_start": "DOUBLE",
        "session_end": "DOUBLE",
        "host": "VARCHAR",
        "command": "VARCHAR",
        "label": "VARCHAR",
        "aborted": "BOOLEAN",
        "sum": "VARCHAR",
    },
    "cases": {
        "system": "VARCHAR",
        "partition": "VARCHAR",
        "environment": "VARCHAR",
        "check": "VARCHAR",
        "keys": "VARCHAR",
        "suite": "VARCHAR",
        "benchmark": "VARCHAR",
        "plain": "BOOLEAN",
        "result": "VARCHAR",
        "time": "DOUBLE",
        "software": "VARCHAR",
        "nodes": "VARCHAR",
        "findings": "VARCHAR",
    },
    "metrics": {"metric": "VARCHAR", "unit": "VARCHAR"},
    "numbers": {
        "number": "INTEGER",
        "row": "INTEGER",
        "run": "INTEGER",
        "first": "TINYINT",
        "kind": "TINYINT",
        "case_id": "BIGINT",
        "series": "BIGINT",
        "direction": "VARCHAR",
        "value": "DOUBLE",
    },
}
COLUMNS = {name: kind for columns in TABLES.values() for name, kind in columns.items()}

#: Sessions of files that are smaller are merged once there are so many files, up to so many bytes.
MANY, LARGE = 32, 16_000_000
#: Seconds that a file stays which was merged into another one: somebody may be reading it.
GRACE = 3600.0
#: Bytes that are compared with their sums each time: all of a small ledger, else each day others.
VERIFIED = 128_000_000
#: What queries may take: others work on the machine, too.
THREADS, MEMORY = 2, "512MB"

_NAME = re.compile(r"(\d{7})-(\d{7})-([0-9a-f]{16})\.parquet")
_FORGOTTEN = re.compile(r"(\d{7})(?:-(.+))?\.forgotten")


class File(NamedTuple):
    """A file: the numbers of its first and last session, its sum, and where it is."""

    first: int
    last: int
    sum: str
    path: Path


def listed(folders: Iterable[Path]) -> tuple[list[File], list[File]]:
    """Return the files in the order of their sessions, and those that were merged into others."""
    found = [
        File(int(name[1]), int(name[2]), name[3], path)
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if (name := _NAME.fullmatch(path.name))
    ]
    files: list[File] = []
    merged: list[File] = []
    for file in sorted(found, key=lambda file: (file.first, -file.last, file.sum)):
        (merged if files and file.first <= files[-1].last else files).append(file)
    return files, merged


def forgotten(folder: Path) -> dict[int, str]:
    """Return number -> UUID of what counts nowhere; the UUID is empty where nobody knows it."""
    names = (
        [_FORGOTTEN.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else ()
    )
    return {int(name[1]): unquote(name[2] or "") for name in names if name}


def forget(folder: Path, number: int, session: str) -> None:
    """Write that a session counts nowhere; raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    # Whatever a fault has made of a UUID, it is no path.
    name = f"-{quote(session, safe='')}" if session else ""
    (folder / f"{number:07}{name}.forgotten").touch()


def sum_of(path: Path) -> str:
    """Return the sum of a file; raises OSError."""
    made = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            made.update(block)
    return made.hexdigest()[:16]


def in_turn(files: Sequence[File], day: int) -> list[File]:
    """Return the files that are compared with their sums on a day."""
    sizes = [file.path.stat().st_size for file in files]
    turns = sum(sizes) // VERIFIED + 1
    return [file for number, file in enumerate(files) if number % turns == day % turns]


@cache
def database() -> "DuckDBPyConnection":
    """Return DuckDB without a database of its own: bounded, silent, with nothing from elsewhere."""
    import duckdb

    connection = duckdb.connect(
        config={
            "threads": THREADS,
            "memory_limit": MEMORY,
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    # Slow queries would draw a bar on the standard output, which is ours.
    connection.execute("SET enable_progress_bar = false")
    return connection


def source(files: Sequence[File]) -> str:
    """Return what a query reads files by; with none of them it has no row."""
    if not files:
        columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in COLUMNS.items())
        return f"(SELECT {columns} WHERE false)"
    return f"read_parquet([{', '.join(literal(escape(str(file.path))) for file in files)}])"


def literal(text: object) -> str:
    """Return a text, as a path, for a query."""
    return "'" + str(text).replace("'", "''") + "'"


def write(
    connection: "DuckDBPyConnection", select: str, folder: Path, first: int, last: int
) -> File:
    """Write what a query returns as the file of some sessions, and return it.

    It is there as a whole or not at all. Raises duckdb.Error or OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{first:07}-{uuid.uuid4().hex}.part"
    try:
        connection.execute(
            f"COPY ({select}) TO {literal(part)} "
            "(FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
        )
        with part.open("rb") as file:
            os.fsync(file.fileno())
        sum_ = sum_of(part)
        path = folder / f"{first:07}-{last:07}-{sum_}.parquet"
        part.replace(path)
        state_files.sync_folder(folder)
    finally:
        with suppress(OSError):
            part.unlink()
    return File(first, last, sum_, path)


def merge(folder: Path) -> None:
    """Merge small files, and remove those that were merged a while ago; raises as `write`."""
    files, merged = listed([folder])
    now = time.time()
    for old in merged:
        holders = (file for file in files if file.first <= old.first and old.last <= file.last)
        if any(file.path.stat().st_mtime < now - GRACE for file in holders):
            old.path.unlink(missing_ok=True)
    for path in folder.rglob("*.part"):
        if path.stat().st_mtime < now - GRACE:
            path.unlink(missing_ok=True)
    if sum(file.path.stat().st_size < LARGE for file in files) < MANY:
        return
    for group in _groups(files):
        select = f"SELECT * FROM {source(group)}"
        write(database(), select, folder, group[0].first, group[-1].last)


def _groups(files: Sequence[File]) -> list[list[File]]:
    """Return the files that are merged, those of each group into one."""
    groups: list[list[File]] = [[]]
    size = 0
    for file in files:
        own = file.path.stat().st_size
        follows = not groups[-1] or groups[-1][-1].last + 1 == file.first
        if not follows or size + own > LARGE:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += own
    return [group for group in groups if len(group) > 1]


def rows(select: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query; raises duckdb.Error."""
    return database().cursor().execute(select, list(values)).fetchall()
