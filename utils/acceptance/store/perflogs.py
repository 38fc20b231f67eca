"""Lines of perflogs that the database lacks, kept in the store.

A perflog only grows: what stands before the end that was read last is not read again, as long as it
is the same file with the same header. A line that is cut off is read again with its rest. Somebody
may have edited what was read: its checksum is compared where the file did not grow though it was
written, and of the others each day for up to `VERIFIED` bytes. Then all of it is read again.
"""

import json
import zlib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from acceptance.rfm.perflogs import Part, PerflogLine, fault_texts, files, read_on
from acceptance.store.schema import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Lines that are compared with the database at once.
MANY = 20_000
#: Bytes of perflogs that grew which are compared with their checksums each day, and those that are
#: read at once.
VERIFIED, CHUNK = 128_000_000, 1_000_000

_DECODER = msgspec.json.Decoder(PerflogLine)

_Status = dict[str, tuple[int, int, int]]


def differ(connection: "DuckDBPyConnection", folder: Path | None) -> bool:
    """Tell whether the perflogs of a folder are not those that were read."""
    return folder is not None and _known(connection, folder) != _status(folder)


def _status(folder: Path) -> _Status:
    """Return inode, bytes and time of change of each perflog."""
    stats = {str(path): path.stat() for path in files(folder)}
    return {path: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}


def _known(connection: "DuckDBPyConnection", folder: Path) -> _Status:
    rows = connection.execute(
        "SELECT path, inode, size, changed FROM perflogs WHERE folder = ?", [str(folder)]
    ).fetchall()
    return {path: (inode, size, changed) for path, inode, size, changed in rows}


def bring_up_to_date(connection: "DuckDBPyConnection", folder: Path | None) -> list[str]:
    """Take what perflogs have and the database has not; nothing where there is no folder.

    Return which of them were edited.
    """
    if folder is None or not differ(connection, folder):
        return []
    now, known = _status(folder), _known(connection, folder)
    connection.execute("BEGIN")
    connection.execute("DELETE FROM perflogs WHERE folder <> ?", [str(folder)])
    for path in known.keys() - now.keys():
        connection.execute("DELETE FROM perflogs WHERE path = ?", [path])
    connection.execute("DELETE FROM perflog_lines WHERE path NOT IN (SELECT path FROM perflogs)")
    changed = {path: status for path, status in now.items() if known.get(path) != status}
    edited = _edited(connection, changed, known)
    for path in edited:
        connection.execute("DELETE FROM perflogs WHERE path = ?", [path])
    for path, status in changed.items():
        _read(connection, folder, path, status)
    connection.execute("COMMIT")
    return [f"{path}: lines that had been read were changed; all of it was read again"
            for path in edited]  # fmt: skip


def _edited(connection: "DuckDBPyConnection", changed: _Status, known: _Status) -> list[str]:
    """Return which of the perflogs that changed are not what was read, as far as they had it."""
    rows = connection.execute("SELECT path, read, sum FROM perflogs").fetchall()
    read = {path: (size, sum_) for path, size, sum_ in rows if path in changed}
    same = [path for path in changed if path in read and changed[path][0] == known[path][0]]
    turns = sum(read[path][0] for path in same) // VERIFIED + 1
    day = date.today().toordinal()
    return [
        path
        for number, path in enumerate(same)
        if (changed[path][1] <= known[path][1] or number % turns == day % turns)
        and _sum(Path(path), 0, read[path][0]) != read[path][1]
    ]


def _sum(path: Path, begin: int, end: int, before: int = 0) -> int:
    """Return the checksum (CRC-32) of a file from `begin`, before which it is `before`, to `end`.

    It is -1 where the file cannot be read, or is shorter.
    """
    try:
        with path.open("rb") as file:
            file.seek(begin)
            while begin < end:
                content = file.read(min(CHUNK, end - begin))
                if not content:
                    return -1
                before, begin = zlib.crc32(content, before), begin + len(content)
    except OSError:
        return -1
    return before


def _read(
    connection: "DuckDBPyConnection", folder: Path, path: str, status: tuple[int, int, int]
) -> None:
    """Take what was added to a perflog; all of it where it is another file now."""
    found = connection.execute(
        "SELECT header, lines, read, sum, faults FROM perflogs WHERE path = ? AND inode = ? "
        "AND size <= ?",
        [path, *status[:2]],
    ).fetchone()
    header, lines, read, sum_, faults = found or ("", 0, 0, 0, "[]")
    part = read_on(Path(path), Part(header, lines, read))
    went_on = bool(lines) and part.header == header
    begin = lines if went_on else 0
    sum_ = _sum(Path(path), read, part.size, sum_) if went_on else _sum(Path(path), 0, part.size)
    connection.execute("DELETE FROM perflog_lines WHERE path = ? AND line > ?", [path, begin])
    connection.execute("DELETE FROM perflogs WHERE path = ?", [path])
    kept = [fault for fault in json.loads(faults) if 0 < fault[0] <= begin]
    connection.execute(
        "INSERT INTO perflogs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [str(folder), path, *status, part.header, part.lines, part.size, sum_,
         json.dumps(kept + part.faults)],
    )  # fmt: skip
    for start in range(0, len(part.rows), MANY):
        rows = part.rows[start : start + MANY]
        new = [rows[number] for number in unknown(connection, [row for _, row in rows])]
        insert(
            connection,
            "perflog_lines",
            {
                "path": [path] * len(new),
                "line": [number for number, _ in new],
                "content": [msgspec.json.encode(row).decode() for _, row in new],
            },
        )


def unknown(connection: "DuckDBPyConnection", rows: Sequence[PerflogLine]) -> list[int]:
    """Return the numbers of the lines whose cases the database does not have, to a second."""
    if not rows:
        return []
    columns: dict[str, Any] = {
        "row_id": list(range(len(rows))),
        "system": [row.system for row in rows],
        "partition": [row.partition for row in rows],
        "environment": [row.environment for row in rows],
        "name": [row.check for row in rows],
        "second": [int(row.time) for row in rows],
    }
    connection.execute(
        "CREATE TEMP TABLE asked(row_id INTEGER, system VARCHAR, partition VARCHAR, "
        "environment VARCHAR, name VARCHAR, second BIGINT)"
    )
    insert(connection, "asked", columns)
    found = connection.execute(
        "SELECT DISTINCT row_id FROM asked a JOIN names n ON a.system = n.system "
        "AND a.partition = n.partition AND a.environment = n.environment "
        "AND (a.name = n.name OR a.name = n.plain_name) "
        "JOIN runs r ON r.name_id = n.name_id "
        "AND r.second IN (a.second - 1, a.second, a.second + 1) WHERE r.second >= 0"
    ).fetchall()
    connection.execute("DROP TABLE asked")
    known = {row for (row,) in found}
    return [number for number in range(len(rows)) if number not in known]


def lines(connection: "DuckDBPyConnection", folder: Path) -> tuple[list[PerflogLine], list[str]]:
    """Return the lines that the database lacks, in the order of the files, and what is wrong."""
    found = connection.execute(
        "SELECT path, content FROM perflog_lines ORDER BY path, line"
    ).fetchall()
    by_path: dict[str, list[PerflogLine]] = {}
    for path, content in found:
        by_path.setdefault(path, []).append(_DECODER.decode(content))
    faults = dict(connection.execute("SELECT path, faults FROM perflogs").fetchall())
    order = [path for path in map(str, files(folder)) if path in faults]
    rows = [row for path in order for row in by_path.get(path, ())]
    texts = [
        text
        for path in order
        for text in fault_texts(
            Path(path), [(line, what) for line, what in json.loads(faults[path])]
        )
    ]
    return [rows[number] for number in unknown(connection, rows)], texts
