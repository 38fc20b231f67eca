"""Sessions of a database written into a file of its archive, and read back before they count."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acceptance.core import columns_database
from acceptance.core.state_files import StoredFault
from acceptance.rfm import rows
from acceptance.rfm.archive import files
from acceptance.rfm.stored import Row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Bytes of JSON, and sessions, that a file has at most: all of a file is read at once, and what
#: one damaged byte costs is a file.
MOST_BYTES, MOST_SESSIONS = 16_000_000, 1000

#: What of a session stands beside its JSON in a row of `testcases`.
_CASE = {
    "name": "VARCHAR",
    "system": "VARCHAR",
    "partition": "VARCHAR",
    "environ": "VARCHAR",
    "job_completion_time_unix": "DOUBLE",
    "uuid": "VARCHAR",
}
_SESSIONS = {
    "uuid": "VARCHAR",
    "start": "DOUBLE",
    '"end"': "DOUBLE",
    "json": "BLOB",
    "sum": "VARCHAR",
    "row": "BIGINT",
    "report_file": "VARCHAR",
    "testcases": f"STRUCT({', '.join(f'{name} {kind}' for name, kind in _CASE.items())})[]",
}


class ArchiveFault(StoredFault):
    """Sessions that cannot be archived: which, why; they are still in the database."""


def parts(database: Path, found: Sequence[Row]) -> Iterator[list[Row]]:
    """Divide sessions among files; raises ResultsFault."""
    part: list[Row] = []
    size = 0
    for row, stored in zip(found, rows.stored_rows(database, found), strict=True):
        if part and (size + len(stored.blob) > MOST_BYTES or len(part) == MOST_SESSIONS):
            yield part
            part, size = [], 0
        part.append(row)
        size += len(stored.blob)
    if part:
        yield part


def write(database: Path, part: Sequence[Row]) -> Path:
    """Write sessions of the database into a new file, read it back, and return it.

    Raises ArchiveFault where it cannot be written or does not hold what it should, ResultsFault
    where the database cannot be read. Until it returns there is no new file.
    """
    number = max(map(files.number, files.files(database)), default=0) + 1
    year = datetime.fromtimestamp(part[0].end, timezone.utc).year
    file = files.folder(database) / f"{database.name}-{year}-{number:04}.parquet"
    import duckdb

    try:
        sessions = list(_contents(database, part))
        file.parent.mkdir(exist_ok=True)
        with columns_database.connect(memory=files.MEMORY) as connection:
            connection.execute(f"CREATE TABLE sessions({_columns(_SESSIONS)})")
            values = f"?, ?, ?, ?, ?, ?, ?, from_json(?, '{json.dumps([_CASE])}')"
            connection.executemany(f"INSERT INTO sessions VALUES ({values})", sessions)
            _copy(connection, file)
        _verify(file, sessions)
        _part(file).replace(file)
        _sync(file.parent)
    except (duckdb.Error, OSError, TypeError) as err:
        text = f"{file}: cannot be written: {files.said(err)}; nothing was deleted"
        raise ArchiveFault(text) from None
    finally:
        with suppress(OSError):
            _part(file).unlink()
    return file


def _columns(table: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in table.items())


def _contents(database: Path, part: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of sessions, in the order of `_SESSIONS`."""
    select = f"SELECT {', '.join(_CASE)} FROM testcases WHERE session_uuid = ? ORDER BY rowid"
    with rows.opened(database) as connection:
        for row, stored in zip(part, rows.stored_rows(database, part), strict=True):
            cases = connection.execute(select, (row.uuid,)).fetchall()
            ((report,),) = connection.execute(
                "SELECT report_file FROM sessions WHERE rowid = ?", (row.number,)
            ).fetchall()
            named = json.dumps([dict(zip(_CASE, case, strict=True)) for case in cases])
            yield (*stored[:3], stored.blob, stored.sum, row.number, report, named)


def _copy(connection: "DuckDBPyConnection", file: Path) -> None:
    path = str(_part(file)).replace("'", "''")
    connection.execute(
        f"COPY sessions TO '{path}' "
        f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{files.KEY}: '{files.VERSION}'}})"
    )


def _part(file: Path) -> Path:
    return file.with_name(f"{file.name}.part")


def _verify(file: Path, written: Sequence[tuple[Any, ...]]) -> None:
    """Read a file from the disk, and compare each session; raises ArchiveFault."""
    with _part(file).open("rb") as opened:
        os.fsync(opened.fileno())
    read = files.content(_part(file))
    wrong = f"{file}: does not hold what was written"
    if len(read) != len(written):
        raise ArchiveFault(f"{wrong}: {len(read)} of {len(written)} sessions")
    for found, row in zip(read, written, strict=True):
        cases = [tuple(case.values()) for case in found[-1]]
        names = [case["name"] for case in found[-1]]
        uuid, start, end, blob, sum_ = found[:5]
        if not (
            found[:-1] == row[:-1]
            and cases == [tuple(case.values()) for case in json.loads(row[-1])]
            and files.session_sum(uuid, start, end, blob, names) == sum_
        ):
            raise ArchiveFault(f"{wrong}: session {row[0]}; nothing was deleted; try again")


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
