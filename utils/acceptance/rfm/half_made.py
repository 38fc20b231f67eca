"""A results database that was left half made, in which ReFrame can store no session.

ReFrame 4.10 makes the tables `sessions` and `testcases` when the file is not there, each in a
transaction of its own (`frontend/reporting/storage.py`). Where a full disk or a kill came between,
every later run loses its session: "no such table".
"""

import fcntl
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

from acceptance.core import state_files

#: The tables that ReFrame makes first; where both are there, it makes the rest when it needs it.
_FIRST = {"sessions", "testcases"}
#: What SQLite keeps beside a database; it belongs to that file only.
_BESIDE = ("-journal", "-wal", "-shm")

HALF_MADE = "half made, as by a full disk: it holds no session, and none can be stored in it"

#: Bytes that are read at once, and seconds to wait for a run that writes.
_BLOCK, _PATIENCE = 1 << 20, 60.0


def remedy(database: Path) -> str:
    """Return what to do about it: a command for a shell, whatever the folder is called."""
    words = ["mv", str(database), f"{database}.half-made"]
    return f"{shlex.join(words)}; the next run makes it anew"


def is_half_made(database: Path) -> bool:
    """Tell whether a file is the beginning of a results database, and holds nothing.

    It is none when it cannot be read, is locked, has a row, or a table that is not ReFrame's.
    """
    try:
        if not database.is_file():
            return False
        if _is_blank(database):
            return True
        # Who holds its lock is writing it: there is nothing to wait for.
        uri = f"{database.resolve().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=0)) as opened:
            query = "SELECT name FROM sqlite_master WHERE type = 'table'"
            tables = {name for (name,) in opened.execute(query)}
            return tables < _FIRST and not any(
                opened.execute(f"SELECT 1 FROM {name}").fetchone() for name in tables
            )
    except (OSError, sqlite3.Error, UnicodeDecodeError):
        return False


def _is_blank(path: Path) -> bool:
    """Tell whether a file has no byte but zeros, as a power failure leaves it; or none at all."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            if block.strip(b"\0"):
                return False
    return True


def set_aside(database: Path) -> str:
    """Give a half-made database another name, so that ReFrame makes it anew; say so, or nothing.

    ReFrame's own lock (fasteners: POSIX) is held meanwhile: another run may be making it.
    """
    if not is_half_made(database):
        return ""
    try:
        with state_files.locked(database.with_name(".db.lock"), _PATIENCE, fcntl.lockf):
            if not is_half_made(database):
                return ""
            aside = state_files.put_aside(database)
            for ending in _BESIDE:
                beside = database.with_name(database.name + ending)
                if beside.exists():
                    beside.replace(aside.with_name(aside.name + ending))
    except (state_files.StoredFault, OSError) as err:
        return f"{database}: {HALF_MADE}, and cannot be set aside: {err}"
    return f"{database}: {HALF_MADE}; set aside as {aside.name}, ReFrame makes a new one"


def since(database: Path, time: float) -> list[Path]:
    """Return the half-made databases that were set aside since a time (s since the epoch)."""
    found = database.parent.glob(f"{database.name}.malformed-*")
    return sorted(
        path for path in found if path.stat().st_ctime >= time and not path.name.endswith(_BESIDE)
    )
