"""Small files of state: written whole or not at all, by one process at a time."""

import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from acceptance.core import records
from acceptance.core.errors import Fault

#: Half of a pair of UTF-16: what is left of a byte that is no text, in a name or an argument.
_HALF = re.compile("[\ud800-\udfff]")


def _spelt(half: re.Match[str]) -> str:
    return f"\\\\u{ord(half[0]):x}"


class StoredFault(Fault):
    """A file of state that cannot be read, written or locked: which, why, what to do."""


def write(path: Path, data: object, *, new: bool = False) -> None:
    """Write JSON, of records too, as `write_text` writes text."""
    plain = msgspec.to_builtins(data)
    text = json.dumps(plain, allow_nan=False)
    if "\\ud" in text:  # a pair of halves is a letter; half of one is in no text of JSON
        text = _HALF.sub(_spelt, json.dumps(plain, allow_nan=False, ensure_ascii=False))
        text = json.dumps(json.loads(text))
    # With an indent Python's own encoder takes ten times as long.
    write_text(path, msgspec.json.format(text, indent=1) + "\n", new=new)


def write_text(path: Path, text: str, *, new: bool = False) -> None:
    """Write text so that a reader, or a kill, meets the old text or the new one, never half of one.

    One process at a time should write a file (see `locked`); where locks are granted to everybody,
    as on some NFS and Lustre, one of the texts is there as a whole. What stands in the folder under
    the name that it has until it is whole is removed, not followed or written: it may be of
    anybody. Raises StoredFault, and with `new` FileExistsError where the file is there, whatever
    became of locks.
    """
    part = path.with_name(f"{path.name}.{socket.gethostname()}-{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        with part.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        named = _name(part, path, new)
        sync_folder(path.parent)
    except OSError as err:
        with suppress(OSError):
            part.unlink()  # a full disk needs the place
        raise StoredFault(f"{path}: cannot be written: {err.strerror or err}") from None
    if not named:
        raise FileExistsError(path)


def _name(part: Path, path: Path, new: bool) -> bool:
    """Give a file its name; a `new` one only where no other file has it: tell whether it has it."""
    if new:
        try:
            os.link(part, path)
        except FileExistsError:
            part.unlink()
            return False
        except OSError:  # no hard links here, so that the locks have to do
            pass
        else:
            part.unlink()
            return True
    part.replace(path)
    return True


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
        return records.from_json(path.read_bytes(), kind)
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


def _own(path: str, flags: int) -> int:
    """Open a file that is no link: that would be made, or opened, where somebody else chose."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


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
        file = open(path, "a", opener=_own)  # noqa: SIM115
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
