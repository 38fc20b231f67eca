"""Jobs on the machine that ReFrame runs on: those of another run at the same time are noticed.

While a run has jobs here it holds a lock on a file that all users of the machine share, and each
job that begins leaves a line in it: who was there before a job is told by the lock, who came later
by the line. Jobs that a killed run left behind are not noticed. Jobs of Slurm have nodes of their
own, or share them as Slurm says.
"""

import errno
import fcntl
import functools
import os
import stat
import struct
from contextlib import suppress
from pathlib import Path

from reframe.core.logging import getlogger
from reframe.utility.osext import osuser

from acceptance.core.findings import SHARED, Finding
from acceptance.core.text import printable

from .extras import extras_of

#: Not TMPDIR, which often is of one job or user.
FOLDER, NAME = Path("/tmp"), "acceptance-jobs"
#: Bytes of a line that are read: it may be of anybody.
_LONGEST = 300
#: `struct flock` of Linux: type, whence, start, length, process.
_FLOCK = "hhqqi4x"
#: Process of a job -> the other runs that had jobs while it ran; and the jobs that run.
_OTHERS: dict[int, set[str]] = {}
_RUNNING: set[int] = set()


@functools.cache
def _file():
    """Return the open file, which anybody may write; None, with a warning, where there is none."""
    path = Path(os.environ.get("ACCEPTANCE_MACHINE") or FOLDER) / NAME
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with suppress(FileExistsError):
            made = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
            os.fchmod(made, 0o666)
            os.close(made)
        file = os.open(path, flags)
        known = os.fstat(file)
        # The folder is of anybody: a second name for a file of this user would have it emptied.
        if not stat.S_ISREG(known.st_mode) or known.st_nlink != 1:
            os.close(file)
            raise OSError(errno.EPERM, "it is no file, or has other names, too; remove it")
        return file
    except OSError as err:
        getlogger().warning(
            f"{path}: cannot be opened: {err.strerror}; another run on this machine at the same "
            "time is not noticed"
        )
        return None


def _me():
    return f"a run of {osuser() or os.getuid()} (PID {os.getpid()})"


def _look():
    """Note for each job that runs who else has jobs here, or had some since this run's last one."""
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind, *_, process = struct.unpack(_FLOCK, fcntl.fcntl(_file(), fcntl.F_GETLK, asked))
    line = os.pread(_file(), _LONGEST, 0).decode(errors="replace")
    found = {line} - {_me(), ""} if _RUNNING else set()
    if kind != fcntl.F_UNLCK and f"(PID {process})" not in line:
        found.add(f"a run with the PID {process}")
    for job in _RUNNING:
        _OTHERS[job] |= {printable(text, keep="") for text in found}


def announce(submit):
    """Lock the file from the first job on, and write into it who began one."""

    def submit_and_announce(scheduler, job):
        submit(scheduler, job)
        if _file() is None:
            return
        _look()
        os.ftruncate(_file(), 0)
        os.pwrite(_file(), _me().encode(), 0)
        fcntl.lockf(_file(), fcntl.LOCK_SH, 1, os.getpid())
        _RUNNING.add(int(job.jobid))
        _OTHERS[int(job.jobid)] = set()
        _look()

    return submit_and_announce


def announce_end(poll):
    """Look for other runs when a job has ended; leave the lock with the last one."""

    def poll_and_announce(scheduler, job):
        poll(scheduler, job)
        known = job is not None and job.jobid is not None and int(job.jobid) in _RUNNING
        if known and scheduler.finished(job):
            _look()
            _RUNNING.discard(int(job.jobid))
            if not _RUNNING:
                fcntl.lockf(_file(), fcntl.LOCK_UN, 1, os.getpid())

    return poll_and_announce


def sharing(check):
    """Return observations: which other runs had jobs here while the job of a check ran here."""
    # Simulated time does not depend on what else runs.
    real = check.is_local() and not extras_of(check.current_partition).simulated
    others = sorted(_OTHERS.get(int(check.job.jobid), ())) if real else []
    text = f"measured while another run had a job on this machine: {'; '.join(others)}"
    return [Finding(SHARED, text, what="; ".join(others))] if others else []
