"""Small files of state: written whole or not at all, by one process at a time."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from acceptance.core.errors import Fault


class StoredFault(Fault):
    """A file of state that cannot be read, written or locked: which, why, what to do."""


def write(path: Path, data: object) -> None:
    """Write JSON, of records too, as `write_text` writes text."""
    plain = msgspec.to_builtins(data)
    write_text(path, json.dumps(plain, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write text so that a reader, or a kill, meets the old text or the new one, never half of one.

    One process at a time may write a file: see `locked`. Raises StoredFault.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)
    except OSError as err:
        with suppress(OSError):
            part.unlink()  # a full disk needs the place
        raise StoredFault(f"{path}: cannot be written: {err.strerror or err}") from None


def sync_folder(folder: Path) -> None:
    """Let the disk have what was renamed in a folder; raises OSError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read(path: Path, kind: Any = Any) -> Any:
    """Read JSON as a record of some kind (msgspec), or as it is; None when there is no such file.

    Raises StoredFault for a file that cannot be read, ValueError for one that is not JSON, or not
    of this kind: what was expected, and where.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as err:
        raise StoredFault(f"{path}: cannot be read: {err.strerror or err}") from None


def put_aside(path: Path) -> Path:
    """Rename a malformed file, so that nothing is lost of it; return its new path."""
    number = 1
    while (aside := path.with_name(f"{path.name}.malformed-{number}")).exists():
        number += 1
    try:
        return path.replace(aside)
    except OSError as err:
        raise StoredFault(f"{path}: cannot be put aside: {err.strerror or err}") from None


@contextmanager
def locked(
    path: Path, patience: float, lock: Callable[[IO[str], int], object] = fcntl.flock
) -> Iterator[None]:
    """Hold a lock file, which a kill releases; wait for it up to `patience` s.

    `lock` is `fcntl.lockf` where others hold a lock of POSIX. Raises StoredFault when another
    process keeps it longer.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as err:
        raise StoredFault(f"{path}: cannot be written: {err.strerror or err}") from None
    with file:
        end = time.monotonic() + patience
        while True:
            try:
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise StoredFault(
                        f"{path}: another process has held it for {patience:.0f} s; try again later"
                    ) from None
                time.sleep(0.05)
            except OSError as err:
                raise StoredFault(f"{path}: cannot be locked: {err.strerror or err}") from None
        yield
