"""The ledger of a results database: all that was ever measured, kept beside what ReFrame stores.

Whoever opens it has each new session of the database taken in, as it stands there, with its JSON;
from then on nobody reads the database for it. Files are immutable (`files.py`), so that a kill, a
second writer and a reader at any time do no harm.
"""

import hashlib
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import date
from functools import lru_cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acceptance.core import state_files
from acceptance.core.paths import Workspace
from acceptance.core.state_files import StoredFault
from acceptance.core.text import plural
from acceptance.ledger import files, results_db
from acceptance.ledger.files import File
from acceptance.ledger.records import Session, StoredCase, decode, session_of
from acceptance.ledger.results_db import ResultsFault, Row, SessionFault
from acceptance.ledger.rows import CASE, SAMPLE, SESSION, Batch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What names all sessions that a ledger lacks.
GONE = "gone"
#: Rows that are held before they are written, and bytes of the JSON that they are of; and bytes of
#: JSON that are held.
ROWS, BYTES, JSON_BYTES = 1_000_000, 160_000_000, 16_000_000
#: Sessions whose JSON is read at once.
_AT_ONCE = 8
#: The label of a campaign's step: `nightly-2026-11-20T220000.osu.3f2a9c`.
_STEP = re.compile(
    r"(?P<campaign>(?:nightly|accept)-\d{4}-\d\d-\d\dT\d{6}(?:\.\d+)?)(?:\.(?P<step>[^.]+).*)?\Z"
)
#: What the label of a repetition has after the session that it repeats.
_AGAIN = re.compile(r"\.again\d+\Z")
#: More sessions than a database has had when its ledger begins.
_MOST = 1_000_000
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

    `entries` are the sessions in the order of storing; in `every` are those that somebody left out,
    too. `faults` are those of the database that cannot be read, `gone` the numbers of those that
    are nowhere; `notes` say what else was odd.
    """

    def __init__(self, results: Path, folder: Path | None) -> None:
        self.results, self.folder = results, folder
        self.notes: list[str] = []
        self.faults: list[SessionFault] = []
        #: The session that was taken in last, which is mostly the one that is asked for.
        self._newest: tuple[str, Session, list[StoredCase]] | None = None
        #: Where what could not be written into the folder is, and what stays there damaged.
        self._aside: Path | None = None
        self._damaged: set[Path] = set()
        # Of damaged files nothing is read.
        self._list()
        for file in files.in_turn(self.files, date.today().toordinal()):
            if not _is_sound(file):
                self._set_aside(file)
        self._list()
        self._take_in()

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
        self._note(
            f"{file.path}: is damaged, and set aside as {file.path.name}.damaged; what "
            f"{self.results} still holds of its {plural(file.last - file.first + 1, 'session')} is "
            "taken from there"
        )
        try:
            file.path.replace(file.path.with_name(f"{file.path.name}.damaged"))
        except OSError:
            self._damaged.add(file.path)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    # What is new.

    def _take_in(self) -> None:
        """Write what the database has and the ledger lacks."""
        rows = self._stored()
        known = self._known
        taken = {*known.values()} | self._forgotten.keys()
        # A ledger that begins behind the first session has lost those before it.
        before = rows[0].number - 1 if rows and self.folder and not taken else 0
        new = numbered(rows, known, taken, before if 0 <= before < _MOST else 0)
        #: The number of each session that is known, or stands in the database.
        self.numbers = known | new
        there = taken | {*new.values()}
        self.gone = sorted({*range(1, max(there, default=0) + 1)} - there)
        if not new:
            return
        wanted = [row for row in rows if row.uuid in new]
        try:
            self._write(wanted, self.folder)
        except OSError as err:
            if self.folder:
                self._note(f"{self.folder}: {_first_line(err)}; what is new was read without it")
            place = "TMPDIR"
            try:
                if self._aside is None:
                    self._aside = Path(tempfile.mkdtemp(prefix="acceptance-ledger-"))
                    weakref.finalize(self, shutil.rmtree, self._aside, ignore_errors=True)
                place = f"{self._aside}"
                self._write(wanted, self._aside)
            except OSError as again:
                raise ResultsFault(
                    f"{place}: {_first_line(again)}; make room in {self.folder or place}"
                ) from None

    def _stored(self) -> list[Row]:
        """Return the sessions of the database."""
        if not self.every or self.results.exists():
            return results_db.sessions(self.results)
        held = plural(len(self.every), "session")
        self._note(f"{self.results}: is gone; the {held} that it held are in the ledger")
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
            except duckdb.Error as err:
                files.database.cache_clear()
                raise OSError(_first_line(err)) from None
            finally:
                self._list()
            if folder == self.folder:
                self._merge(folder)

    def _merge(self, folder: Path) -> None:
        """Merge small files; where that cannot be all is there as it was."""
        import duckdb

        try:
            files.merge(folder)
        except (duckdb.Error, OSError) as err:
            files.database.cache_clear()
            self._note(f"{folder}: its small files cannot be merged: {_first_line(err)}")
        self._list()

    def _write_batches(self, new: Sequence[Row], folder: Path) -> None:
        ((latest,),) = self.rows(f"SELECT max(time) FROM samples WHERE kind = {SAMPLE}")
        batch = Batch(self._samples_between, float("-inf") if latest is None else latest)
        own = {*self._known}
        self.faults = []
        for row, blob in results_db.contents(self.results, new):
            number = self.numbers[row.uuid]
            follows = not batch.sessions or batch.sessions[-1][0] + 1 == number
            if not follows or len(batch.values) > ROWS or batch.bytes > BYTES:
                self.files.append(batch.write(folder))
                batch.clear()
            elif sum(len(blob) for _, blob in batch.blobs) > JSON_BYTES:
                batch.write_json(folder)
            try:
                info, decoded = decode(blob.decode())
                if info.uuid in own:
                    self._note(f"session {row.uuid} is stored twice; the second one is left out")
                    del self.numbers[row.uuid]
                    continue
                cases = [*decoded] if row is new[-1] else decoded
                batch.add(number, row.uuid, info, cases, blob)
                own |= {info.uuid, row.uuid}
                if isinstance(cases, list):
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
        """Return the rows of a query, as `_ask`."""
        found: list[tuple[Any, ...]] = self._ask("fetchall", select, values, tables)
        return found

    def columns(self, select: str, *values: Any, **tables: Any) -> list[Any]:
        """Return the columns of a query as arrays, as `_ask`."""
        import numpy as np

        found = self._ask("fetchnumpy", select, values, tables)
        return [np.asanyarray(column) for column in found.values()]

    def _ask(self, fetch: str, select: str, values: Sequence[Any], tables: dict[str, Any]) -> Any:
        """Return DuckDB's answer to a query over the view `samples`, and `tables` of arrays.

        Raises ResultsFault where a file cannot be read.
        """
        import duckdb

        for again in (True, False):
            try:
                return getattr(self.cursor(**tables).execute(select, [*values]), fetch)()
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

    def full_id(self, beginning: str, *, faulty: bool = False) -> str:
        """Return the UUID that begins so; raises ResultsFault where not just one does.

        With `faulty` it may be that of a session that cannot be read.
        """
        uuids = [*self.ids(), *(fault.uuid for fault in self.faults if faulty)]
        found = [uuid for uuid in uuids if uuid.startswith(beginning)]
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
        for number, left_out in self._forgotten.items():
            if wanted and left_out == wanted:
                mark = f"{self.folder}/{number:07}-*.forgotten"
                raise ResultsFault(
                    f"{self.results}: session {wanted} was left out; whoever removes {mark} takes "
                    "it back"
                )
        for session in self._read(entry for entry in self.entries if entry.uuid == wanted):
            return session
        missing = "holds no session yet" if uuid is None else f"holds no session {uuid}"
        raise ResultsFault(f"{self.results}: {missing}")

    def sessions(
        self, faults: list[SessionFault] | None = None, wanted: Container[str] | None = None
    ) -> Iterator[Session]:
        """Yield the sessions (all, or the `wanted` UUIDs), that which ended last first.

        Each is read when it is asked for. With `faults` one that cannot be read is told there and
        left out, else it is raised.
        """
        entries = (each for each in self.entries if wanted is None or each.uuid in wanted)
        yield from self._read(last_first(entries), faults)

    def sessions_of_check(self, check: str, before: float) -> Iterator[Session]:
        """Yield those with cases of a check (its class) that began before a time (s).

        That which ended last comes first; one that cannot be read is left out.
        """
        found = self.rows(
            "SELECT DISTINCT number FROM samples "
            f'WHERE first >= {CASE} AND starts_with("check", ?)',
            check,
        )
        of_check = {number for (number,) in found}
        chosen = (each for each in self.entries if each.number in of_check and each.start < before)
        yield from self._read(last_first(chosen), [])

    def contents(
        self, entries: Iterable[Entry], faults: list[SessionFault] | None = None
    ) -> Iterator[tuple[Entry, str]]:
        """Yield the JSON of sessions, which the database may still have where the ledger lost it.

        One that nobody has as it was stored is told in `faults`, else it is raised.
        """
        for entry, blob in self._blobs_of(entries):
            found = blob or self._stored_json(entry)
            if found:
                yield entry, found.decode()
                continue
            fault = SessionFault(self.results, entry.uuid, f"is no longer in {self.folder}/json")
            if faults is None:
                raise fault
            self._note(str(fault))
            faults.append(fault)

    def holds(self, entries: Iterable[Entry]) -> set[str]:
        """Return those of some sessions (UUID) of which the ledger itself has all, as stored."""
        sound = [file for file in self.files if _is_sound(file)]
        return {
            entry.uuid
            for entry, blob in self._blobs_of(entries)
            if blob and any(file.first <= entry.number <= file.last for file in sound)
        }

    def _blobs_of(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Yield the JSON of sessions as it was stored; empty where the ledger has not that.

        Of some that adjoin it is read at once.
        """
        folders = [folder / "json" for folder in (self.folder, self._aside) if folder]
        # Whoever was killed before it wrote rows may have left what has these numbers, too.
        stored, others = files.listed(folders)

        def file_of(entry: Entry) -> File | None:
            around = (file for file in stored if file.first <= entry.number <= file.last)
            return next(around, None)

        for file, group in groupby(entries, file_of):
            while some := [*islice(group, _AT_ONCE)]:
                blobs = _blobs(file, tuple(entry.number for entry in some)) if file else {}
                for entry in some:
                    one = (entry.number,)
                    found = chain([blobs], (_blobs(other, one) for other in others))
                    texts = (each.get(entry.number, b"") for each in found)
                    yield entry, next((text for text in texts if _sum_of(text) == entry.sum), b"")

    def _stored_json(self, entry: Entry) -> bytes:
        """Return what the database has of a session; empty where it is not what it was."""
        if not self.results.exists():
            return b""
        rows = [row for row in results_db.sessions(self.results) if row.uuid == entry.uuid]
        found = (blob for _, blob in results_db.contents(self.results, rows))
        return next((blob for blob in found if _sum_of(blob) == entry.sum), b"")

    def _read(
        self, entries: Iterable[Entry], faults: list[SessionFault] | None = None
    ) -> Iterator[Session]:
        for entry, text in self.contents(entries, faults):
            if self._newest and self._newest[0] == entry.uuid:
                yield session_of(*self._newest)
            else:
                yield _session(entry.uuid, text)

    # What somebody decides.

    def forget(self, names: Sequence[str]) -> list[str]:
        """Leave sessions out for good, by their ids or the beginnings of these; return the ids.

        `GONE` names those that are nowhere. Of somebody else's database a ledger is kept from then
        on, in `FILE.ledger`. Raises ResultsFault for what names no session, or where that cannot be
        written.
        """
        found: list[tuple[int, str]] = []
        for name in names:
            if name == GONE:
                if not self.gone:
                    raise ResultsFault(f"{self.results}: no session is gone")
                found += [(number, "") for number in self.gone]
                continue
            uuid = self.full_id(name, faulty=True)
            found.append((self.numbers[uuid], uuid))
        folder = self.folder or self.results.with_name(f"{self.results.name}.ledger")
        try:
            for number, uuid in found:
                files.forget(folder, number, uuid)
        except OSError as err:
            raise ResultsFault(f"{folder}: cannot be written: {err.strerror}") from None
        _known_ledgers.clear()
        return [uuid or f"number {number}" for number, uuid in found]


def numbered(
    rows: Sequence[Row], known: dict[str, int], taken: set[int], before: int = 0
) -> dict[str, int]:
    """Return the number of each session of a database that is not known yet.

    One that was stored after all that are known follows them; one between two gets the number that
    is free there, as one has whose file was lost; another one counts as the newest. Where none is
    taken the first one follows the number `before`.
    """
    places = [place for place, row in enumerate(rows) if row.uuid in known]
    last = places[-1] if places else -1
    found: dict[str, int] = {}
    newest = max(taken, default=before)
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


def campaign_of(label: str) -> str:
    """Return the id of the campaign that a label is, or begins with; empty where it has none."""
    found = _STEP.match(label)
    return found["campaign"] if found else ""


def step_of(label: str) -> str:
    """Return the step of a campaign that a label names, `again` for a repetition, else nothing."""
    found = _STEP.match(label)
    return (found["step"] or "") if found else "again" if repeated(label) else ""


def repeated(label: str) -> str:
    """Return the session that a label of a repetition names; empty where it is of none."""
    session = _AGAIN.sub("", label)
    return session if session != label else ""


def runs_of(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the run of each session (UUID): the id of its campaign, else of its first session."""
    found: dict[str, str] = {}
    for entry in entries:
        of_session = found.get(repeated(entry.label), entry.uuid)
        found[entry.uuid] = campaign_of(entry.label) or of_session
    return found


def last_first(entries: Iterable[Entry]) -> list[Entry]:
    """Return sessions in the order in which they ended, the last one first."""
    return sorted(entries, key=lambda entry: -entry.end)


#: Ledgers that a process keeps open.
_KEPT = 8
#: Database and folder -> what they were like, and the ledger that was opened then.
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
    """Return what is another one when a database or the folder of its ledger changed."""
    state: list[object] = [*sorted(os.listdir(folder))] if folder and folder.is_dir() else []
    # With a write-ahead log the database itself stays as it is for a while.
    for path in (results, results.with_name(f"{results.name}-wal")):
        with suppress(OSError):
            found = path.stat()
            state += [found.st_ino, found.st_size, found.st_mtime_ns]
    return state


@lru_cache(maxsize=10_000)
def _entries(file: File) -> tuple[Entry, ...]:
    columns = ", ".join(f'"{name}"' for name in ("number", *files.TABLES["sessions"]))
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


def _sum_of(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


def _is_sound(file: File) -> bool:
    try:
        return files.sum_of(file.path) == file.sum
    except OSError:
        return False


def _first_line(err: Exception) -> str:
    return str(err).split("\n")[0]
