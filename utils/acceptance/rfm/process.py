"""ReFrame as a child of this process: told to stop when this process is, and never left behind.

What a killed ReFrame left running is ended: jobs in Slurm's queue, and processes of this machine.
They are those that work in the stage folder of the one run, whose name is a part of their paths.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from acceptance.core import machine

#: Seconds that ReFrame has to end its jobs and store what it has, once it is told to stop.
GRACE = 120.0
#: Seconds in which another signal tells nothing new: a terminal that is closed sends two.
TOGETHER = 5.0

_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1


class Interrupted(Exception):
    """This process was told to stop; `signal` is the number of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.signal = number


class ReframeProcess:
    """Runs ReFrame, one at a time; it inherits descriptors, such as that of a lock."""

    def __init__(self, inherited_fds: Sequence[int] = ()) -> None:
        self.inherited_fds = inherited_fds
        self.process: subprocess.Popen[bytes] | None = None
        self.stopped = 0
        self.stopped_at = self.killed_at = float("inf")

    @contextlib.contextmanager
    def heeding(self) -> Iterator[None]:
        """Pass on what tells this process to stop; what it ignores it goes on to ignore (nohup).

        Once it was told, it ends: until then nothing that tells it again may kill it. A handler
        would not do: Python puts the defaults back while it ends, except for what is ignored.
        """
        before = {
            number: signal.signal(number, self._stop)
            for number in _STOPS
            if signal.getsignal(number) != signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if self.stopped else handler)

    def check(self) -> None:
        """Raise Interrupted where this process was told to stop."""
        if self.stopped:
            raise Interrupted(self.stopped)

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path | str,
        env: Mapping[str, str],
        output: IO[Any],
        meanwhile: Callable[[], None] = lambda: None,
    ) -> int:
        """Run a command to its end, and call `meanwhile` ten times a second; return its status."""
        parent = os.getpid()

        def prepare() -> None:
            # Until there is another program these would be caught, and lost.
            for number in _STOPS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            # However this process ends, ReFrame is told to stop, cancels its jobs and stores.
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=env,
            pass_fds=self.inherited_fds,
            # An interrupt from the keyboard comes through this process.
            start_new_session=True,
            preexec_fn=prepare,
        )
        if self.stopped:  # the signal came before there was a child
            self.killed_at = time.monotonic() + GRACE
            self.process.terminate()
        while (status := self.process.poll()) is None:
            meanwhile()
            if time.monotonic() > self.killed_at:
                self.process.kill()
            time.sleep(0.1)
        self.process = None
        meanwhile()
        return status

    def _stop(self, number: int, _: object) -> None:
        now = time.monotonic()
        if not self.stopped:
            self.stopped, self.stopped_at = number, now
            if self.process is not None:
                self.killed_at = now + GRACE
                with contextlib.suppress(ProcessLookupError):
                    self.process.send_signal(signal.SIGTERM)
        elif now > self.stopped_at + TOGETHER:
            self.killed_at = now


#: Seconds that Slurm has to answer.
PATIENCE = 30.0


def end_left_by(run: str) -> list[str]:
    """End what the run of ReFrame with this folder left behind; return a line for each."""
    return [*_cancel_jobs(run), *_end_processes(run)]


def _end_processes(run: str) -> list[str]:
    left: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        # The folder of another user's process cannot be read, and processes end while we look.
        with contextlib.suppress(OSError):
            if int(entry.name) != os.getpid() and run in (entry / "cwd").readlink().parts:
                left.append(int(entry.name))
    for pid in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + PATIENCE
    while any(map(machine.ticks, left)) and time.monotonic() < until:
        time.sleep(0.05)
    stays = f"does not end within {PATIENCE:g} s"
    return [
        f"process {pid} of {run} was still there: {stays if machine.ticks(pid) else 'killed'}"
        for pid in left
    ]


def _cancel_jobs(run: str) -> list[str]:
    if not shutil.which("squeue"):
        return []
    query = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%i|%Z"]
    answer = machine.run(query, PATIENCE)
    jobs = [
        job
        for job, _, folder in (line.partition("|") for line in answer.out.splitlines())
        if run in Path(folder).parts
    ]
    if not answer.fault and jobs:
        answer = machine.run(["scancel", *jobs], PATIENCE)
    if answer.fault:
        return [f"Slurm cannot be asked for jobs of {run}: {answer.fault}"]
    return [f"job {job} of {run} was still in the queue: cancelled" for job in jobs]
