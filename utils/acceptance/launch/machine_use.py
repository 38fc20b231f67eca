"""Which runs have jobs on this machine: those of two at once disturb each other, and are noticed.

Each ReFrame has a file in a folder that all users of a machine share, with who it is in the first
line, and a line when a job begins on this machine (`+ process ticks time`) or ends (`- process
time`). Times are those of the monotonic clock, which all processes share. What is in these files
may be of anybody: it is bounded, and only ever makes a sample count for less.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core import process_id
from acceptance.core.errors import Fault
from acceptance.core.text import printable

#: Not TMPDIR, which often is of one job or user.
FOLDER = Path("/tmp")
_NAME = "acceptance-jobs"
#: Bytes of another run's file that are read, at its end; characters of who it is.
_TAIL, _LONGEST = 1 << 18, 300
#: Seconds after which the file of a run that ended is of no use.
_OLD = 86400.0


class MachineUseFault(Fault):
    """The shared folder cannot be written, so that runs at the same time are not noticed."""


@dataclass
class Journal:
    """What this ReFrame, `who`, has on this machine; other ones look at it."""

    who: str
    folder: Path = FOLDER
    #: Process of a job -> when it began, and when it ended.
    times: dict[int, list[float]] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Return the file of this process; no other one ever has its name."""
        own = os.getpid()
        boot = process_id.boot()[:8]
        return self.folder / f"{_NAME}-{boot}-{os.getuid()}-{own}-{process_id.ticks(own)}"

    def begin(self, process: int) -> None:
        """Note that a job began, by its first process. Raises MachineUseFault."""
        self.times[process] = [time.monotonic()]
        self._write(f"+ {process} {process_id.ticks(process) or 0} {time.monotonic():.3f}\n")

    def end(self, process: int) -> None:
        """Note that a job ended, if it began and has not. Raises MachineUseFault."""
        if len(self.times.get(process, ())) == 1:
            self.times[process].append(time.monotonic())
            self._write(f"- {process} {time.monotonic():.3f}\n")

    def others(self, process: int) -> list[str]:
        """Return which other runs had jobs on this machine while a job of this one ran."""
        if process not in self.times:
            return []
        begin, end = [*self.times[process], time.monotonic()][:2]
        return sorted({who for path in self._files() for who in _busy(path, begin, end)})

    def _files(self) -> Iterator[Path]:
        found = self.folder.glob(f"{_NAME}-{process_id.boot()[:8]}-*")
        return (path for path in found if path != self.path)

    def _write(self, line: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(self.path, flags, 0o644)
            try:
                if not os.fstat(file).st_size:
                    self._remove_old()
                    os.write(file, f"{self.who[:_LONGEST]}\n".encode())
                os.write(file, line.encode())
            finally:
                os.close(file)
        except OSError as err:
            raise MachineUseFault(
                f"{self.path}: cannot be written: {err.strerror or err}; another run on this "
                "machine at the same time is not noticed"
            ) from None

    def _remove_old(self) -> None:
        for path in self.folder.glob(f"{_NAME}-*-{os.getuid()}-*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _OLD and path != self.path:
                    path.unlink()


def _busy(path: Path, begin: float, end: float) -> Iterator[str]:
    """Yield who it is whose jobs were there in a time; nothing of a file that cannot be read."""
    try:
        who, *lines = _read(path)
        if any(began < end and ended > begin for began, ended in _jobs(lines)):
            yield printable(who[:_LONGEST])
    except (OSError, ValueError, IndexError):
        return


def _read(path: Path) -> list[str]:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return []
        head = os.pread(file, _TAIL, 0).decode(errors="replace").splitlines()
        size = os.fstat(file).st_size
        if size > _TAIL:
            tail = os.pread(file, _TAIL, size - _TAIL).decode(errors="replace").splitlines()
            return [*head[:1], *tail[1:]]
        return head
    finally:
        os.close(file)


def _jobs(lines: Iterable[str]) -> Iterator[tuple[float, float]]:
    """Yield when jobs began and ended: one that is still there, also of a killed run, never did."""
    open_jobs: dict[str, tuple[str, float]] = {}
    for words in (line.split() for line in lines):
        if words[:1] == ["+"] and len(words) == 4:
            open_jobs[words[1]] = words[2], float(words[3])
        elif words[:1] == ["-"] and len(words) == 3 and words[1] in open_jobs:
            yield open_jobs.pop(words[1])[1], float(words[2])
    for process, (ticks, began) in open_jobs.items():
        if process_id.ticks(int(process)) == ticks:
            yield began, float("inf")
