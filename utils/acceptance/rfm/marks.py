"""Marks of runs: that a ReFrame which runs checks began, and that it ended, in this order.

ReFrame's log and its database tell of a run only once it is under way, in files named and lines
timed by a clock, and neither when they cannot be written. So each run leaves a file of its own
before ReFrame does anything else, and writes into it when its process ends. Beginnings and ends
are numbered together under a lock: their order is that of the numbers, whatever the clock says.

Of ReFrame's command line only that is read which says whether checks run, and as which run.
ReFrame 4.10 (`frontend/cli.py`) parses it with argparse: one action only, long options may be cut,
short ones without a value may stand together.
"""

import atexit
import os
import re
import shlex
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from msgspec import Struct

from acceptance.core import machine, state_files
from acceptance.core.state_files import StoredFault

#: Marks of ended runs that are kept.
KEPT = 300
#: Bytes that a mark takes at most, but for a very long command.
_BYTES = 4096
#: Seconds to wait for another process that writes a mark.
_PATIENCE = 20.0


class Mark(Struct, forbid_unknown_fields=True):
    """A run: `number` is the place of its beginning, `ended` that of its end (0: it has none).

    One without a number was started, and had not come to write its mark.

    `campaign`: it is no run of ReFrame but a whole campaign of this id, with the marks of its runs
    between its beginning and its end.
    `killed`: its process was gone without an end when the next run began or ended. `process` has
    the number of the process, `ticks` when it began after the start of the machine; `boot` is that
    start and the namespace of process numbers. `began` is when that was in local time (ISO 8601):
    where checks leave the mark, the log has lines before it.
    """

    number: int
    began: str
    arguments: list[str]
    host: str
    boot: str
    process: int
    ticks: str
    ended: int = 0
    killed: bool = False
    campaign: str = ""

    @property
    def label(self) -> str:
        """Return the label of the run; empty where it has none."""
        return self.campaign or label_of(self.arguments)

    @property
    def file(self) -> str:
        """Return the name of the file that tells of it."""
        return f"{self.number}.json" if self.number else f"{self.process}.started"

    @property
    def lives(self) -> bool | None:
        """Tell whether its process is there; None where that cannot be seen from here."""
        boot = machine.boot()
        if self.boot == boot:
            return machine.ticks(self.process) == self.ticks
        started_again = self.boot.split()[:1] != boot.split()[:1]
        return False if started_again and self.host == socket.gethostname() else None

    def __str__(self) -> str:
        """Return the run for a message."""
        command = self.campaign or shlex.join(["reframe", *self.arguments])
        name = f"run {self.number}" if self.number else "a run"
        return f"{name} ({command}), which began at {self.began[:19]} on {self.host}"


#: The number of the run of this process; None where it was not asked for yet.
_own: int | None = None


def started_in() -> Path | None:
    """Return the folder in which ReFrame's command that calls this was started; None if none does.

    While it loads a file of checks the working directory is another one.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == "reframe.frontend.cli":
            told = frame.f_locals.get("session_info") or {}
            return Path(told.get("workdir") or Path.cwd())
    return None


def begin(var: Path, arguments: Sequence[str]) -> int:
    """Write that this process runs checks, if these are such arguments of ReFrame.

    Return the number of the run; 0 where it is none. Its end is written when the process ends.
    Only the first call writes. Raises StoredFault where it cannot.
    """
    global _own
    if _own is None:
        _own = 0
        started = Path(os.environ.pop("ACCEPTANCE_STARTED", ""))
        machine.keep_others_out()
        mark = _begun(var / "runs", _began(), arguments) if runs_checks(arguments) else None
        if started.stem == str(os.getpid()):
            started.unlink(missing_ok=True)
        if mark:
            _own = mark.number
            atexit.register(_end, var / "runs", mark)
    return _own


@contextmanager
def of_campaign(var: Path, key: str) -> Iterator[None]:
    """Leave the mark of a campaign, and write its end at the end; raises StoredFault."""
    mark = _begun(var / "runs", datetime.now(timezone.utc), (), key)
    try:
        yield
    finally:
        _end(var / "runs", mark)


def _begun(folder: Path, when: datetime, arguments: Sequence[str], campaign: str = "") -> Mark:
    with state_files.locked(folder / "lock", _PATIENCE):
        marks = _close_killed(folder)
        mark = Mark(
            _next(folder, marks),
            when.astimezone().isoformat(timespec="seconds"),
            [*arguments],
            socket.gethostname(),
            machine.boot(),
            os.getpid(),
            machine.ticks(os.getpid()),
            campaign=campaign,
        )
        while True:
            try:
                state_files.write(folder / mark.file, mark, new=True)
                break
            except FileExistsError:  # the lock was granted to another run, too
                mark.number = max(mark.number + 1, _next(folder, marks))
        for old in [mark for mark in marks if mark.ended][:-KEPT]:
            (folder / old.file).unlink(missing_ok=True)
    return mark


def _end(folder: Path, mark: Mark) -> None:
    """Write that a run has ended; where that cannot be written, it never did."""
    if os.getpid() == mark.process:  # and not a child of it
        with suppress(StoredFault), state_files.locked(folder / "lock", _PATIENCE):
            mark.ended = _next(folder, _close_killed(folder))
            state_files.write(folder / mark.file, mark)


def read(var: Path) -> list[Mark]:
    """Return the marks of a workspace in the order in which the runs began; of old ones none.

    Raises StoredFault where one cannot be read, or where none could be written now: then a run may
    have begun that left none.
    """
    folder = var / "runs"
    if not folder.exists():
        return []
    if folder.stat().st_uid == os.getuid():  # who only reads this needs no right to write
        _try_to_write(folder / f"trial-{os.getpid()}")
    # First those that may leave their mark meanwhile.
    starts = [
        start
        for start in _starts(folder)  # of the clone's own configuration
        if runs_checks(start.arguments) and not names_configuration(start.arguments)
    ]
    marks = []
    for path in _paths(folder):
        mark = _read(path)
        if mark and not mark.ended and mark.lives is False:
            mark = _read(path)  # its end was written before its process was gone
        marks += [mark] if mark else []
    return [*marks, *starts]


def _starts(folder: Path) -> Iterator[Mark]:
    """Yield what was started and has no mark yet, or never came to write one.

    `utils/bin/reframe` tells of each: boot, namespace, host, then stat and command line of its
    process (proc(5)).
    """
    for path in folder.glob("*.started"):
        with suppress(OSError, ValueError, IndexError):
            boot, space, host, stat, command = path.read_text(errors="replace").split("\n", 4)
            began = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
            process = int(path.stem), stat.rpartition(")")[2].split()[19]
            _shell, _script, *arguments = command.rstrip("\0").split("\0")
            yield Mark(0, began.isoformat(), arguments, host, f"{boot} {space}", *process)


def _try_to_write(path: Path) -> None:
    try:
        state_files.write_text(path, " " * _BYTES)  # a full disk takes an empty file
        path.unlink()
    except (StoredFault, OSError) as err:
        raise StoredFault(f"{err}; a run that began since then left no mark there") from None


def _close_killed(folder: Path) -> list[Mark]:
    """Write that the runs have ended whose process is gone; return all that can be read."""
    marks: list[Mark] = []
    for path in _paths(folder):
        with suppress(StoredFault):
            marks += [mark] if (mark := _read(path)) else []
    for mark in marks:
        if not mark.ended and mark.lives is False:
            mark.ended, mark.killed = _next(folder, marks), True
            state_files.write(folder / mark.file, mark)
    for start in _starts(folder):
        if start.lives is False:
            (folder / start.file).unlink(missing_ok=True)
    return marks


def _next(folder: Path, marks: Iterable[Mark]) -> int:
    numbers = [int(path.stem) for path in _paths(folder)]
    return 1 + max([0, *numbers, *(mark.ended for mark in marks)])


def _paths(folder: Path) -> list[Path]:
    found = (path for path in folder.glob("*.json") if path.stem.isdecimal())
    return sorted(found, key=lambda path: int(path.stem))


def _read(path: Path) -> Mark | None:
    """Read a mark; None where it was removed meanwhile, as the oldest ones are."""
    try:
        mark: Mark | None = state_files.read(path, Mark)
    except ValueError as err:
        raise StoredFault(
            f"{path}: no mark of a run: {err}; look which run that was, and remove the file"
        ) from None
    return mark


def _began() -> datetime:
    """Return when this process began, by the clock as it is now."""
    ticks = int(machine.ticks(os.getpid()) or 0) / os.sysconf("SC_CLK_TCK")
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks if ticks else 0.0
    return datetime.now(timezone.utc) - timedelta(seconds=max(age, 0.0))


#: Short options without a value, and `-r` after them.
_RUN = re.compile(r"-[Rvq]*r")
#: What the option `--session-extras` has, or a part of it.
_LABEL = re.compile(r"(?:--session-extras=)?(?:.*?,)?run=([^,]*)")


def runs_checks(words: Iterable[str]) -> bool:
    """Tell whether these arguments run checks, and do not list, try or describe them."""
    return any(word in ("--run", "--ru") or _RUN.match(word) for word in words)


def names_configuration(words: Iterable[str]) -> bool:
    """Tell whether these arguments name a configuration file."""
    return any(word.startswith(("-C", "--config-file")) for word in words)


def label_of(words: Iterable[str]) -> str:
    """Return the label of a run, `--session-extras run=LABEL`; empty where it has none."""
    found = filter(None, map(_LABEL.match, words))
    return next((match[1] for match in found), "")
