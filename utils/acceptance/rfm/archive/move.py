"""Old sessions moved into the archive: checked, backed up, written, compared, then deleted.

ReFrame itself deletes them. A session is in the archive before it leaves the database, and one that
is in both counts once: a kill at any point loses nothing, and the next move goes on.
"""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from acceptance.core import machine, state_files
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import one_line, plural
from acceptance.rfm import checksums, marks, rows
from acceptance.rfm.archive import files, pack
from acceptance.rfm.environment import reframe_environment, reframe_program
from acceptance.rfm.stored import ResultsFault, Row, SessionFault

#: Seconds in which ReFrame deletes the sessions of a file.
_TIMEOUT = 600.0
#: Free bytes that are required, for each byte of the database: the backup, and the archive.
_SPACE = 1.3


@dataclass(frozen=True)
class Plan:
    """What is moved: sessions that are to be archived, and those that the archive has already.

    `blocked` says why sessions that are as old stay.
    """

    move: tuple[Row, ...]
    archived: tuple[Row, ...]
    blocked: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return all sessions that leave the database."""
        return (*self.archived, *self.move)


@dataclass(frozen=True)
class Moved:
    """What was moved: the new files of the archive, and sizes in bytes."""

    sessions: int
    files: tuple[Path, ...]
    size: int
    backup_size: int


def plan(database: Path, limit: float) -> Plan:
    """Return which sessions that ended before a time (s) can be moved; raises ResultsFault.

    The archive holds the sessions that were stored first: none is moved that was stored after one
    which stays.
    """
    known = {row.uuid for row in files.listed(database)}
    sums = checksums.read(database)
    held = rows.held(database)
    new = [row for row in held if row.uuid not in known]
    count, younger = 0, None
    for place, row in enumerate(new, 1):
        if _is_old(row, limit):
            count = place
        elif sums.kind(row.uuid) != checksums.FORGOTTEN:
            younger = row
            break
    left = sum(_is_old(row, limit) for row in new[count:])
    blocked = ""
    if younger is not None and left:
        blocked = (
            f"{plural(left, 'session')} as old stay: stored after session {younger.uuid}, which "
            f"ended {_day(younger.end)}; if a clock was wrong: "
            f"acceptance sessions --forget {younger.uuid[:8]}"
        )
    doubled = (row for row in held if row.uuid in known and _is_old(row, limit))
    return Plan(tuple(new[:count]), tuple(doubled), blocked)


def _is_old(row: Row, limit: float) -> bool:
    return isinstance(row.end, int | float) and row.end < limit


def _day(time: object) -> str:
    known = isinstance(time, int | float)
    return f"{datetime.fromtimestamp(float(str(time))):%Y-%m-%d}" if known else "nobody knows when"


def move(workspace: Workspace, limit: float, tell: Callable[[str], None]) -> Moved:
    """Move the sessions that ended before a time (s); `tell` is told of each step.

    Raises Fault: in what it says nothing was deleted, or the backup is named.
    """
    database = workspace.results
    with state_files.locked(files.folder(database) / "lock", 0.0):
        refuse_runs(workspace)
        _settle(database)
        chosen = plan(database, limit)
        if not chosen.rows:
            return Moved(0, (), 0, 0)
        check_pages(database)
        require_whole(database, chosen.move)
        before = _sums(database, rows.listed(database))
        require_space(database)
        backup, size = back_up(database, before)
        tell(f"backup {backup}, {size / 1e6:.3g} MB, until all is verified")
        try:
            _require_same(database, chosen.archived, before)
            new = [pack.write(database, part) for part in pack.parts(database, chosen.move)]
            moved = [(row.uuid, before[row.uuid]) for row in chosen.rows]
            kinds = checksums.read(database)
            checksums.append(
                database,
                checksums.ARCHIVED,
                [each for each in moved if kinds.kind(each[0]) != checksums.FORGOTTEN],
            )
        except Fault:
            backup.unlink()
            raise
        for file in new:
            tell(f"archive {file}, {file.stat().st_size / 1e6:.3g} MB, read back and compared")
        try:
            _delete(workspace, chosen)
            _verify(database, chosen, before)
        except Fault as err:
            raise ResultsFault(f"{err}; the database of before is {backup}") from None
        backup.unlink()
        return Moved(len(chosen.rows), tuple(new), sum(f.stat().st_size for f in new), size)


def refuse_runs(workspace: Workspace) -> None:
    """Raise Fault where a run of ReFrame is under way, whose times this would disturb."""
    for mark in marks.read(workspace.var):
        if not mark.ended and mark.lives is not False:
            raise Fault(f"{mark}, is under way; wait for it, or end it")


def _settle(database: Path) -> None:
    """Clear away what a killed move left, when all that its backup holds can be read elsewhere."""
    for left in files.folder(database).glob(f"{database.name}-*.parquet.part"):
        left.unlink()
    now: dict[str, str] = {}
    for backup in files.folder(database).glob(f"{database.name}-*.backup"):
        now = now or _sums(database, rows.listed(database))
        try:
            copied = _sums(backup, rows.held(backup))
        except ResultsFault:  # it was being written: nothing had been deleted
            copied = {}
        if lost := [uuid for uuid, sum_ in copied.items() if now.get(uuid) != sum_]:
            raise ResultsFault(
                f"{backup}: holds session {lost[0]}, which is not in {database} as it was; put it "
                f"back, or remove the backup"
            )
        backup.unlink()


def check_pages(database: Path) -> None:
    """Raise ResultsFault where SQLite finds a fault in any page of a database."""
    with rows.opened(database) as connection:
        found = [text for (text,) in connection.execute("PRAGMA integrity_check")]
    if found != ["ok"]:
        raise ResultsFault(
            f"{database}: damaged: {one_line(found[0])}; {rows.readable(database)}; nothing was "
            "moved; restore it from a backup"
        )


def require_whole(database: Path, found: Sequence[Row]) -> None:
    """Raise ResultsFault unless sessions are what was stored, and protected by a checksum.

    Not for those that somebody has left out: they are moved as they are.
    """
    sums, bare = checksums.read(database), []
    for stored in rows.stored_rows(database, found):
        entry = sums.entries.get(stored.uuid)
        if entry is not None and entry.kind == checksums.FORGOTTEN:
            continue
        if message := rows.refusal(stored.sum, entry):
            raise SessionFault(database, stored.uuid, f"{message}, so that none is moved")
        if entry is None or not entry.protects:
            bare.append(stored.uuid)
    if bare:
        raise ResultsFault(
            f"{database}: {plural(len(bare), 'session')} without a checksum, as {bare[0]}, so that "
            "none is moved; acceptance gate gives them one"
        )


def require_space(database: Path) -> None:
    """Raise Fault where the disk has not room for the backup and the archive."""
    free = shutil.disk_usage(files.folder(database)).free
    required = int(database.stat().st_size * _SPACE)
    if free < required:
        raise Fault(
            f"{files.folder(database)}: {free / 1e6:.3g} MB are free, {required / 1e6:.3g} MB are "
            "required, most of it for a backup; nothing was moved"
        )


def back_up(database: Path, sums: dict[str, str]) -> tuple[Path, int]:
    """Copy a database by SQLite's backup interface, compare its sessions; return it, its bytes."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S")
    backup = files.folder(database) / f"{database.name}-{stamp}.backup"
    try:
        with rows.opened(database) as source, closing(sqlite3.connect(backup)) as copy:
            try:
                source.backup(copy)
            except sqlite3.Error as err:
                text = f"{database}: cannot be copied into {backup}: {err}; nothing was moved"
                raise ResultsFault(text) from None
        copied = _sums(backup, rows.held(backup))
        if any(sums.get(uuid) != sum_ for uuid, sum_ in copied.items()):
            raise ResultsFault(f"{backup}: the backup is not what was copied; nothing was moved")
    except (Fault, sqlite3.Error) as err:
        backup.unlink(missing_ok=True)
        raise ResultsFault(f"no backup could be made: {err}") from None
    return backup, backup.stat().st_size


def _sums(database: Path, found: Sequence[Row]) -> dict[str, str]:
    return {stored.uuid: stored.sum for stored in rows.stored_rows(database, found)}


def _require_same(database: Path, found: Sequence[Row], sums: dict[str, str]) -> None:
    """Compare sessions of the archive with sums; raises ResultsFault."""
    wanted = {row.uuid for row in found}
    archived = [row for row in files.listed(database) if row.uuid in wanted]
    for row in archived:
        assert row.file is not None
        for stored in files.read(database, row.file, [row.uuid]):
            if stored.sum != sums[row.uuid]:
                raise ResultsFault(
                    f"{row.file}: session {row.uuid} is not what is in {database}, which keeps it; "
                    f"if that is right: mv {row.file} {row.file}.damaged"
                )
    if len(archived) < len(wanted):
        raise ResultsFault(f"{files.folder(database)}: has not all sessions that are to be deleted")


def _delete(workspace: Workspace, chosen: Plan) -> None:
    """Let ReFrame delete sessions, many at a time; raises Fault."""
    database = workspace.results
    for part in list(pack.parts(database, chosen.rows)):
        _ask(workspace, _query(part))
    # One whose JSON has no name, or another one, is asked for by that of its row.
    there = {row.uuid for row in rows.held(database)}
    for row in chosen.rows:
        if row.uuid in there and (said := _ask(workspace, row.uuid)):
            raise Fault(f"reframe --delete-stored-sessions={row.uuid}: {said}")


def _query(part: Sequence[Row]) -> str:
    """Return what selects just these sessions, whose JSON alone is decoded (ReFrame 4.8).

    A period is in whole seconds; a session belongs to that in which it began.
    """
    begin, end = min(row.start for row in part), max(row.start for row in part)
    period = ":".join(
        datetime.fromtimestamp(int(time), timezone.utc).strftime("%Y%m%dT%H%M%S+0000")
        for time in (begin, end + 1)
    )
    return f"{period}?uuid in { ({row.uuid for row in part})!r}"


def _ask(workspace: Workspace, query: str) -> str:
    """Let ReFrame delete what a query selects; return why it could not, empty where it did."""
    done = machine.run(
        [reframe_program(), f"--delete-stored-sessions={query}"],
        _TIMEOUT,
        env=reframe_environment(workspace),
        folder=workspace.start,
    )
    return done.fault


def _verify(database: Path, chosen: Plan, before: dict[str, str]) -> None:
    """Look whether all sessions can still be read as they were; raises ResultsFault."""
    there = {row.uuid for row in rows.held(database)}
    if kept := [row.uuid for row in chosen.rows if row.uuid in there]:
        raise ResultsFault(f"{database}: ReFrame has not deleted session {kept[0]}")
    after = _sums(database, rows.listed(database))
    if list(after)[: len(before)] != list(before):
        raise ResultsFault(f"{database}: has not the sessions that it had, in their order")
    if wrong := [uuid for uuid, sum_ in before.items() if after[uuid] != sum_]:
        raise ResultsFault(f"{database}: session {wrong[0]} is not what it was")
