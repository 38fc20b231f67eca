"""The store of a results database: opened, brought up to date, and asked for columns."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from acceptance.core import state_files
from acceptance.core.state_files import StoredFault
from acceptance.rfm import ResultsFault
from acceptance.store import schema, update
from acceptance.store.update import Difference

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Seconds to wait for another process that writes the store.
PATIENCE = 20.0

_Result = TypeVar("_Result")


class Store:
    """The samples of a results database, as they were when it was opened.

    Once it is released each question opens the file and closes it again, so that another process
    can write. Where the file turns out to be damaged the same is made in memory, and the file anew
    the next time. `notes` say what was rebuilt, or gone without.
    """

    def __init__(
        self,
        results: Path,
        path: Path | None,
        connection: "DuckDBPyConnection",
    ) -> None:
        self.results, self.path = results, path
        self.notes: list[str] = []
        self.connection: DuckDBPyConnection | None = connection
        self.generation = _generation(connection)

    def release(self) -> None:
        """Let another process write; what is in memory only stays."""
        if self.path is not None and self.connection is not None:
            self.connection.close()
            self.connection = None

    @contextmanager
    def opened(self) -> Iterator["DuckDBPyConnection"]:
        """Open it for reading; raises ResultsFault when another process has changed its numbers."""
        if self.connection is not None:
            yield self.connection
            return
        assert self.path is not None
        with closing(_patiently(self.path, read_only=True)) as connection:
            if _generation(connection) != self.generation:
                raise ResultsFault(f"{self.path}: was made anew while it was read; start again")
            yield connection

    def ask(self, question: "Callable[[DuckDBPyConnection], _Result]") -> _Result:
        """Return the answer to a question, whatever becomes of the file."""
        import duckdb

        try:
            with self.opened() as connection:
                return question(connection)
        except duckdb.Error:
            if self.path is None:
                raise
            self.release()
            with suppress(OSError):
                self.path.replace(_damaged(self.path))
        # The same sessions give the same numbers.
        memory = _in_memory(self.results)
        self.path, self.connection = None, memory.connection
        return self.ask(question)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self.ask(lambda connection: connection.execute(query, list(values)).fetchall())


def open_store(results: Path, path: Path | None) -> Store:
    """Return the store of a results database, up to date.

    Without a `path`, or where nothing can be had there, it is made in memory, and says why. Raises
    ResultsFault where the database cannot be read, StoredFault where its checksums cannot.
    """
    if path is None:
        return _in_memory(results)
    import duckdb

    note = ""
    seen: Difference | None = None
    try:
        with suppress(duckdb.Error, StoredFault):
            if path.exists():
                current = _current(results, path)
                if isinstance(current, Store):
                    return current
                seen = current
        with state_files.locked(path.with_name(f"{path.name}.lock"), PATIENCE):
            if _damaged(path).exists():
                note = f"{path}: was damaged, and was made anew"
                _damaged(path).unlink()
            for again in (False, True):
                try:
                    return _written(results, path, note, seen)
                except duckdb.Error as err:
                    if again or not path.exists() or _is_held(path):
                        raise
                    note = f"{path}: cannot be used, and was made anew: {_first_line(err)}"
                    _remove(path)
    except (duckdb.Error, OSError, StoredFault) as err:
        store = _in_memory(results)
        store.notes.append(f"{path}: {_first_line(err)}; the samples were read without it")
        return store
    raise AssertionError


def _current(results: Path, path: Path) -> Store | Difference:
    """Return the store where nothing is to be written into it, else what it lacks."""
    connection = _patiently(path, read_only=True)
    try:
        seen = update.difference(connection, results)
        if not seen.any:
            return Store(results, path, connection)
    except BaseException:
        connection.close()
        raise
    connection.close()
    return seen


def _written(results: Path, path: Path, note: str, seen: Difference | None) -> Store:
    connection = _patiently(path, read_only=False)
    try:
        store = Store(results, path, connection)
        store.notes += [note] if note else []
        _fill(connection, results, store, seen)
        connection.execute("CHECKPOINT")
        store.generation = _generation(connection)
        return store
    except BaseException:
        connection.close()
        raise


def _in_memory(results: Path) -> Store:
    connection = schema.connect(None)
    store = Store(results, None, connection)
    _fill(connection, results, store)
    return store


def _fill(
    connection: "DuckDBPyConnection",
    results: Path,
    store: Store,
    seen: Difference | None = None,
) -> None:
    change = update.difference(connection, results, seen)
    store.notes += update.bring_up_to_date(connection, results, change)


def _patiently(path: Path, *, read_only: bool) -> "DuckDBPyConnection":
    """Open a store as soon as no other process holds it; raises duckdb.Error."""
    import duckdb

    end = time.monotonic() + PATIENCE
    while True:
        try:
            return schema.connect(path, read_only=read_only)
        except duckdb.IOException:
            if time.monotonic() > end or not _is_held(path):
                raise
            time.sleep(0.05)


def _is_held(path: Path) -> bool:
    """Tell whether another process has opened a store, by the lock that DuckDB takes (POSIX)."""
    try:
        with path.open("rb+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _damaged(path: Path) -> Path:
    """Return where a store is put whose pages cannot be read."""
    return path.with_name(f"{path.name}.damaged")


def _remove(path: Path) -> None:
    for ending in ("", ".wal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _generation(connection: "DuckDBPyConnection") -> str:
    ((generation,),) = connection.execute("SELECT generation FROM meta").fetchall()
    return str(generation)


def _first_line(err: Exception) -> str:
    return str(err).split("\n")[0]
