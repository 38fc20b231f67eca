"""What a killed ReFrame left running: jobs in Slurm's queue, and processes of this machine.

They are those that work in the stage folder of the one run, whose name is a part of their paths.
"""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

from acceptance.core import machine

#: Seconds that Slurm has to answer.
PATIENCE = 30.0


def end(run: str) -> list[str]:
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
    return [f"process {pid} of {run} was still there: killed" for pid in left]


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
