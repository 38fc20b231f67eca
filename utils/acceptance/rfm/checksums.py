"""Checksums of the sessions of a results database, in `<database>.sums`: a line a session.

SQLite and JSON notice few of the faults of a disk: one flipped bit makes 8.27 of 0.27. So the first
verdict that meets a session writes its checksum, and whoever reads the session compares it. Lines
are only appended, each with a checksum of its own: `KIND UUID SHA256 TIME CHECK`.
"""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from acceptance.core import state_files

#: What a line says: the sum of a session as the first verdict met it, or as a person takes it; that
#: it counts nowhere; that it is no longer in the database, and nobody misses it. `SEEN`: that it
#: once was there, without a sum. `ARCHIVED`: that it was moved into the archive, so that no line of
#: a log explains why it is nowhere.
STORED, TRUSTED = "stored", "trusted"
FORGOTTEN, DELETED, SEEN, ARCHIVED = "forgotten", "deleted", "seen", "archived"
_KINDS = (STORED, TRUSTED, FORGOTTEN, DELETED, SEEN, ARCHIVED)
#: Where no sum is known.
NO_SUM = "-"
#: Seconds to wait for another verdict that writes.
_PATIENCE = 20.0


@dataclass(frozen=True)
class Entry:
    """What is known of a session: the kind of its line, its sum, and when it was written."""

    kind: str
    uuid: str
    sum: str
    time: str

    @property
    def line(self) -> str:
        """Return it as a line of the file."""
        text = f"{self.kind} {self.uuid} {self.sum} {self.time}"
        return f"{text} {_check(text)}\n"

    @property
    def protects(self) -> bool:
        """Tell whether the session can be compared with a sum."""
        return self.sum != NO_SUM and self.kind in (STORED, TRUSTED, DELETED, ARCHIVED)


@dataclass
class Sums:
    """What the file says of each session, and which of its lines are damaged or contradict it."""

    entries: dict[str, Entry] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def sum(self, uuid: str) -> str:
        """Return the sum of a session; empty where nothing is known of it."""
        return self.entries[uuid].sum if uuid in self.entries else ""

    def kind(self, uuid: str) -> str:
        """Return the kind of what is known of a session; empty where nothing is."""
        return self.entries[uuid].kind if uuid in self.entries else ""


def path_of(database: Path) -> Path:
    """Return the file of the checksums of a database."""
    return database.with_name(f"{database.name}.sums")


def session_sum(uuid: str, start: object, end: object, blob: bytes, names: int) -> str:
    """Return the checksum of what is read of a session: its row, and its names (`name_sum`)."""
    made = hashlib.sha256(repr((uuid, start, end, len(blob), names)).encode())
    made.update(blob)
    return made.hexdigest()


def name_sum(name: bytes) -> int:
    """Return a number of a case's name; those of a session are added up, in whatever order."""
    return int.from_bytes(hashlib.sha256(name).digest()[:16], "big")


def read(database: Path) -> Sums:
    """Read the checksums of a database; where there is no file, there are none.

    The first sum of a session counts, unless somebody has decided otherwise later. Raises
    StoredFault.
    """
    path, sums = path_of(database), Sums()
    try:
        lines = path.read_bytes().decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return sums
    except OSError as err:
        raise state_files.StoredFault(f"{path}: cannot be read: {err.strerror or err}") from None
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is None:
            sums.faults.append(f"{path}:{number}: a damaged line, which counts nothing; remove it")
        elif entry.kind not in (STORED, SEEN) or sums.kind(entry.uuid) in ("", SEEN):
            sums.entries[entry.uuid] = entry
        else:
            same = entry.sum == sums.entries[entry.uuid].sum
            other = "once more" if same else "with another checksum, which does not count"
            sums.faults.append(f"{path}:{number}: session {entry.uuid} {other}; remove it")
    return sums


def _entry(line: str) -> Entry | None:
    """Read a line; None for one that is damaged."""
    text, _, check = line.rpartition(" ")
    words = text.split(" ")
    if check != _check(text) or len(words) != 4 or words[0] not in _KINDS:
        return None
    return Entry(*words)


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def append(database: Path, kind: str, sums: Iterable[tuple[str, str]]) -> None:
    """Write that sessions (UUID, sum) are of this kind, but none that has its line already.

    Raises StoredFault.
    """
    path = path_of(database)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with state_files.locked(path.with_name(f"{path.name}.lock"), _PATIENCE):
        known = read(database)
        new = [
            Entry(kind, uuid, sum_, now)
            for uuid, sum_ in sums
            if (known.kind(uuid), known.sum(uuid)) != (kind, sum_)
            and uuid.isprintable()
            and " " not in uuid  # whatever a fault made of it
            and not (kind in (STORED, SEEN) and known.kind(uuid) not in ("", SEEN))
        ]
        if not new:
            return
        try:
            with path.open("ab") as file:
                # What a full disk has cut off stays a line of its own.
                begin = "\n" if _is_cut(path) else ""
                file.write((begin + "".join(entry.line for entry in new)).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as err:
            raise state_files.StoredFault(
                f"{path}: cannot be written: {err.strerror or err}"
            ) from None


def _is_cut(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        return file.read(1) not in (b"", b"\n")
