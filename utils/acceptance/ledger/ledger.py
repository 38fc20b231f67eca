"""The ledger of a results database: all that was ever measured, kept beside what ReFrame stores.

Whoever opens it has each new session of the database taken in, as it stands there, with its JSON;
from then on nobody reads the database for it. Files are immutable (`files.py`), so that a kill, a
second writer and a reader at any time do no harm.
"""

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import date
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acceptance.core import state_files
from acceptance.core.paths import Workspace
from acceptance.core.state_files import StoredFault
from acceptance.core.text import plural
from acceptance.ledger import files, results_db
from acceptance.ledger.files import File
from acceptance.ledger.records import Session, session_of
from acceptance.ledger.results_db import ResultsFault, Row, SessionFault
from acceptance.ledger.rows import CASE, SAMPLE, SESSION, Batch
from acceptance.ledger.session_schema import SessionInfo, StoredCase, decode

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What names all sessions that a ledger lacks.
GONE = "gone"
#: Rows, and bytes of JSON, that are held before they are written.
ROWS, BYTES = 150_000, 16_000_000
#: Sessions whose JSON is read at once.
_AT_ONCE = 8
#: Seconds to wait for another process that writes.
_PATIENCE = 20.0


class Entry(NamedTuple):
    """A session of the ledger; times in s since the epoch, `sum` the SHA-256 of its JSON."""

    number: int
    uuid: str
    start: float
    end: float
    host: str
    command: str
    label: str
    aborted: bool
    sum: str


class Ledger:
    """What a results database has held, as it was when this was opened.

    `entries` are the sessions in the order of storing, without those that somebody left out, which
    are in `every`;
    `faults` those of the database that cannot be read, `gone` the numbers of those that are
    nowhere, `notes` say what else was odd.
    """

    def __init__(self, results: Path, folder: Path | None) -> None:
        self.results, self.folder = results, folder
        self.notes: list[str] = []
        self.faults: list[SessionFault] = []
        #: The session that was taken in last, which is mostly the one that is asked for.
        self._newest: tuple[str, SessionInfo, list[StoredCase]] | None = None
        #: Where what could not be written into the folder is, and what stays there damaged.
        self._aside: Path | None = None
        self._damaged: set[Path] = set()
        self._open()
        self._take_in()

    def _open(self) -> None:
        """Read what there is; of damaged files nothing."""
        self._list()
        for file in files.in_turn(self.files, date.today().toordinal()):
            if not _is_sound(file):
                self._set_aside(file)
        self._list()

    def _list(self) -> None:
        import duckdb

        found, _ = files.listed([folder for folder in (self.folder, self._aside) if folder])
        self.files = [file for file in found if file.path not in self._damaged]
        self._forgotten = files.forgotten(self.folder) if self.folder else {}
        self.every: list[Entry] = []
        for file in [*self.files]:
            try:
                self.every += _entries(file)
            except duckdb.Error:
                files.database.cache_clear()
                self._set_aside(file)
        self.entries = [entry for entry in self.every if entry.number not in self._forgotten]

    def _set_aside(self, file: File) -> None:
        """Go without a damaged file; what the database still holds of it is taken in again."""
        self.files.remove(file)
        self.notes.append(
            f"{file.path}: is damaged, and set aside as {file.path.name}.damaged; what "
            f"{self.results} still holds of its {plural(file.last - file.first + 1, 'session')} is "
            "taken from there"
        )
        try:
            file.path.replace(file.path.with_name(f"{file.path.name}.damaged"))
        except OSError:
            self._damaged.add(file.path)

    # What is new.

    def _take_in(self) -> None:
        """Write what the database has and the ledger has not."""
        rows = self._stored()
        known = self._known
        taken = {*known.values()} | self._forgotten.keys()
        new = numbered(rows, known, taken)
        #: The number of each session that is known, or stands in the database.
        self.numbers = known | new
        self.gone = sorted({*range(1, max(taken, default=0) + 1)} - taken - {*new.values()})
        if not known and rows and rows[0].number > 1:
            before = plural(rows[0].number - 1, "session")
            self.notes.append(
                f"{self.results}: {before} before its first one were deleted, and nobody read them"
            )
        if not new:
            return
        wanted = [row for row in rows if row.uuid in new]
        try:
            self._write(wanted, self.folder)
        except OSError as err:
            if self.folder:
                said = f"{self.folder}: {_first_line(err)}; what is new was read without it"
                self.notes.append(said)
            self._aside = Path(tempfile.mkdtemp(prefix="acceptance-ledger-"))
            weakref.finalize(self, shutil.rmtree, self._aside, ignore_errors=True)
            try:
                self._write(wanted, self._aside)
            except OSError as again:
                raise ResultsFault(f"{self._aside}: {_first_line(again)}") from None

    def _stored(self) -> list[Row]:
        """Return the sessions of the database."""
        if not self.every or self.results.exists():
            return results_db.sessions(self.results)
        held = plural(len(self.every), "session")
        self.notes.append(f"{self.results}: is gone; the {held} that it held are in the ledger")
        return []

    @property
    def _known(self) -> dict[str, int]:
        """Return the numbers of the sessions that the ledger has, or nobody wants."""
        left_out = {uuid: number for number, uuid in self._forgotten.items() if uuid}
        return left_out | {entry.uuid: entry.number for entry in self.every}

    def _write(self, new: Sequence[Row], folder: Path | None) -> None:
        """Write new sessions into files; raises OSError where that cannot be."""
        import duckdb

        if folder is None:
            raise OSError("there is no place for it")
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            # Where there are no locks two processes may write the same: that does no harm.
            with suppress(StoredFault):
                stack.enter_context(state_files.locked(folder / "lock", _PATIENCE))
            self._list()  # another process may have written it meanwhile
            known = self._known
            try:
                self._write_batches([row for row in new if row.uuid not in known], folder)
                if folder == self.folder:
                    files.merge(folder)
            except duckdb.Error as err:
                files.database.cache_clear()
                raise OSError(_first_line(err)) from None
            finally:
                self._list()

    def _write_batches(self, new: Sequence[Row], folder: Path) -> None:
        ((latest,),) = self.rows(f"SELECT max(time) FROM samples WHERE kind = {SAMPLE}")
        batch = Batch(self._samples_between, float("-inf") if latest is None else latest)
        own = {*self._known}
        self.faults = []
        for row, blob in results_db.contents(self.results, new):
            number = self.numbers[row.uuid]
            follows = not batch.sessions or batch.sessions[-1][0] + 1 == number
            if not follows or batch.rows > ROWS or batch.bytes > BYTES:
                self.files.append(batch.write(folder))
                batch.clear()
            try:
                info, decoded = decode(blob.decode())
                if info.uuid in own:
                    twice = f"session {row.uuid} is stored twice; the second one is left out"
                    self.notes.append(twice)
                    continue
                cases = [*decoded]
                batch.add(number, row.uuid, info, cases, blob)
                own |= {info.uuid, row.uuid}
                self._newest = row.uuid, info, cases
            except (ValueError, KeyError, TypeError, AttributeError) as err:
                self.faults.append(SessionFault(self.results, row.uuid, f"is malformed: {err!r}"))
        if batch.sessions:
            self.files.append(batch.write(folder))

    def _samples_between(self, first: float, last: float) -> set[tuple[int, float]]:
        return {
            *self.rows(
                f"SELECT case_id, time FROM samples WHERE kind = {SAMPLE} AND first >= {CASE} "
                "AND time BETWEEN ? AND ?",
                first, last,
            )
        }  # fmt: skip

    # What is asked for.

    def rows(self, select: str, *values: Any, **tables: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, as `ask`."""
        return list(self.ask(select, *values, **tables).fetchall())

    def columns(self, select: str, *values: Any, **tables: Any) -> list[Any]:
        """Return the columns of a query as arrays, as `ask`."""
        import numpy as np

        found = self.ask(select, *values, **tables).fetchnumpy()
        return [np.asanyarray(column) for column in found.values()]

    def ask(self, select: str, *values: Any, **tables: Any) -> Any:
        """Return DuckDB's answer to a query over the view `samples`, and `tables` of arrays.

        Raises ResultsFault where a file cannot be read.
        """
        import duckdb

        for again in (True, False):
            try:
                return self.cursor(**tables).execute(select, list(values))
            except duckdb.Error as err:
                # Such an error may have ended the connection of everybody.
                files.database.cache_clear()
                damaged = [file for file in self.files if not _is_sound(file)]
                if not (again and damaged):
                    raise ResultsFault(
                        f"{self.folder}: cannot be read: {_first_line(err)}"
                    ) from None
                for file in damaged:
                    self._set_aside(file)
                self._list()
                self._take_in()
        raise AssertionError

    def cursor(self, **tables: Any) -> "DuckDBPyConnection":
        """Return a connection that has the view `samples`, and these tables of arrays."""
        cursor = files.database().cursor()
        left_out = ", ".join(map(str, self._forgotten)) or "0"
        cursor.execute(
            f"CREATE TEMP VIEW samples AS SELECT * FROM {files.source(self.files)} "
            f"WHERE number NOT IN ({left_out})"
        )
        for name, table in tables.items():
            cursor.register(name, table)
        return cursor

    def ids(self) -> list[str]:
        """Return the UUIDs of the sessions, in the order of storing."""
        return [entry.uuid for entry in self.entries]

    def full_id(self, beginning: str) -> str:
        """Return the UUID that begins so; raises ResultsFault where not just one does."""
        found = [uuid for uuid in self.ids() if uuid.startswith(beginning)]
        if len(found) != 1 and beginning not in found:
            which = f"{len(found)} sessions that begin with" if found else "no session"
            raise ResultsFault(
                f"{self.results}: holds {which} {beginning}; see: acceptance sessions"
            )
        return beginning if beginning in found else found[0]

    def session(self, uuid: str | None = None) -> Session:
        """Read one session: that with this UUID, else the one that was stored last.

        The one that ended last need not be the newest: a clock may have been wrong. Raises
        ResultsFault when it cannot be had.
        """
        wanted = uuid or max(self.numbers, key=self.numbers.__getitem__, default="")
        for fault in self.faults:
            if fault.uuid == wanted:
                raise fault
        if wanted in self._forgotten.values():
            raise SessionFault(self.results, wanted, "was left out")
        for session in self._read(self._named([wanted])):
            return session
        missing = "holds no session yet" if uuid is None else f"holds no session {uuid}"
        raise ResultsFault(f"{self.results}: {missing}")

    def sessions(self, only: Collection[str] | None = None) -> Iterator[Session]:
        """Yield the sessions, that which ended last first, each read when it is asked for.

        With `only` none but these (UUID). Raises ResultsFault where a file cannot be read.
        """
        found = self.entries if only is None else self._named(only)
        yield from self._read(last_first(found))

    def sessions_of_check(self, check: str, before: float) -> Iterator[Session]:
        """Yield, as `sessions`, those with cases of a check (its class) that began before a time.

        The time is in s since the epoch.
        """
        found = self.rows(
            "SELECT DISTINCT number FROM samples "
            f'WHERE first >= {CASE} AND starts_with("check", ?)',
            check,
        )
        of_check = {number for (number,) in found}
        chosen = (each for each in self.entries if each.number in of_check and each.start < before)
        yield from self._read(last_first(chosen))

    def contents(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, str]]:
        """Yield the JSON of sessions; some that stand side by side are read at once."""
        folders = [folder / "json" for folder in (self.folder, self._aside) if folder]
        stored, _ = files.listed(folders)

        def file_of(entry: Entry) -> File | None:
            around = (file for file in stored if file.first <= entry.number <= file.last)
            return next(around, None)

        for file, group in groupby(entries, file_of):
            while some := [*islice(group, _AT_ONCE)]:
                blobs = _blobs(file, tuple(entry.number for entry in some)) if file else {}
                for entry in some:
                    yield entry, self._checked(entry, blobs.get(entry.number, b"")).decode()

    def _checked(self, entry: Entry, blob: bytes) -> bytes:
        """Return the JSON of a session, which the database may still have where the ledger lost it.

        Raises SessionFault where nobody has it as it was stored.
        """
        found = blob
        if hashlib.sha256(found).hexdigest() != entry.sum and self.results.exists():
            rows = [row for row in results_db.sessions(self.results) if row.uuid == entry.uuid]
            found = next((other for _, other in results_db.contents(self.results, rows)), b"")
        if hashlib.sha256(found).hexdigest() == entry.sum:
            return found
        raise SessionFault(self.results, entry.uuid, f"is no longer in {self.folder}/json")

    def _named(self, uuids: Collection[str]) -> list[Entry]:
        return [entry for entry in self.entries if entry.uuid in uuids]

    def _read(self, entries: Iterable[Entry]) -> Iterator[Session]:
        for entry, text in self.contents(entries):
            try:
                if self._newest and self._newest[0] == entry.uuid:
                    yield session_of(*self._newest)
                else:
                    yield _session(entry.uuid, text)
            except (ValueError, KeyError, TypeError, AttributeError) as err:
                malformed = f"is malformed: {err!r}"
                raise SessionFault(self.results, entry.uuid, malformed) from None

    # What somebody decides.

    def forget(self, names: Sequence[str]) -> list[str]:
        """Leave sessions out for good, by their ids or the beginnings of these; return the ids.

        `GONE` names those that are nowhere. Of somebody else's database a ledger is kept from then
        on, in `FILE.ledger`. Raises ResultsFault for what names no session, or where that cannot be
        written.
        """
        uuids = [*self.ids(), *(fault.uuid for fault in self.faults)]
        found: list[tuple[int, str]] = []
        for name in names:
            if name == GONE:
                found += [(number, "") for number in self.gone]
                continue
            named = [uuid for uuid in uuids if uuid.startswith(name)]
            uuid = named[0] if len(named) == 1 else self.full_id(name)
            found.append((self.numbers[uuid], uuid))
        folder = self.folder or self.results.with_name(f"{self.results.name}.ledger")
        try:
            for number, uuid in found:
                files.forget(folder, number, uuid)
        except OSError as err:
            raise ResultsFault(f"{folder}: cannot be written: {err.strerror}") from None
        _known_ledgers.clear()
        return [uuid or f"number {number}" for number, uuid in found]


def numbered(rows: Sequence[Row], known: dict[str, int], taken: set[int]) -> dict[str, int]:
    """Return the number of each session of a database that is not known yet.

    One that was stored after all that are known follows them; one between two gets the number that
    is free there, as one has whose file was lost; another one counts as the newest.
    """
    places = [place for place, row in enumerate(rows) if row.uuid in known]
    last = places[-1] if places else -1
    found: dict[str, int] = {}
    newest = max(taken, default=0)
    for row in rows[last + 1 :]:
        newest += 1
        found[row.uuid] = newest
    below = 0
    for row in reversed(rows[: last + 1]):
        if row.uuid in known:
            below = known[row.uuid]
        elif below > 1 and below - 1 not in taken:
            below -= 1
            found[row.uuid] = below
        else:
            newest += 1
            found[row.uuid] = newest
    return found


def last_first(entries: Iterable[Entry]) -> list[Entry]:
    """Return sessions in the order in which they ended, the last one first."""
    return sorted(entries, key=lambda entry: -entry.end)


#: Folder and database -> what they were like, and the ledger that was opened then.
_KEPT = 8
_known_ledgers: dict[tuple[Path, Path | None], tuple[object, Ledger]] = {}


def of(workspace: Workspace, database: Path | None = None) -> Ledger:
    """Return the ledger of a workspace, or of another results database, with all that is new in it.

    That of somebody else's database is kept nowhere. Raises ResultsFault where the database cannot
    be read.
    """
    results = database or workspace.results
    return of_file(results, workspace.ledger_of(results))


def of_file(results: Path, folder: Path | None = None) -> Ledger:
    """Return the ledger of a results database that is kept in a folder, or nowhere; as `of`."""
    key = results, folder
    state = _state(results, folder)
    if key not in _known_ledgers or _known_ledgers[key][0] != state:
        opened = Ledger(results, folder)
        if len(_known_ledgers) == _KEPT:
            _known_ledgers.clear()
        _known_ledgers[key] = _state(results, folder), opened
    return _known_ledgers[key][1]


def _state(results: Path, folder: Path | None) -> object:
    names = sorted(os.listdir(folder)) if folder and folder.is_dir() else ()
    with suppress(OSError):
        found = results.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns, [*names]
    return [*names]


@lru_cache(maxsize=10_000)
def _entries(file: File) -> tuple[Entry, ...]:
    columns = 'number, session, session_start, session_end, host, command, label, aborted, "sum"'
    select = f"SELECT {columns} FROM {files.source([file])} WHERE first = {SESSION} ORDER BY number"
    return tuple(Entry(*row) for row in files.rows(select))


@lru_cache(maxsize=2)
def _blobs(file: File, numbers: tuple[int, ...]) -> dict[int, bytes]:
    """Return the JSON of sessions, as far as a file has them."""
    import duckdb

    wanted = ", ".join(map(str, numbers))
    try:
        return dict(files.rows(f"SELECT * FROM {files.source([file])} WHERE number IN ({wanted})"))
    except duckdb.Error:
        files.database.cache_clear()
        return {}


@lru_cache(maxsize=2)
def _session(uuid: str, text: str) -> Session:
    return session_of(uuid, *decode(text))


def _is_sound(file: File) -> bool:
    try:
        return files.sum_of(file.path) == file.sum
    except OSError:
        return False


def _first_line(err: Exception) -> str:
    return str(err).split("\n")[0]
