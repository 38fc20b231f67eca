"""Jobs on the machine that ReFrame runs on: those of another run at the same time are noticed.

They are announced where ReFrame starts them (`reframe_patches.py`), with any check and any build.
Jobs of Slurm have nodes of their own, or share them as Slurm says.
"""

import functools
import os
from pathlib import Path

from reframe.core import runtime
from reframe.core.logging import getlogger
from reframe.utility.osext import expandvars, osuser

from acceptance.core.observations import SHARED, Observation
from acceptance.launch.machine_use import FOLDER, Journal, MachineUseFault

from .extras import extras_of

_TOLD = []


@functools.cache
def journal():
    """Return what this ReFrame tells other ones, and who it is: where its results go to."""
    database = expandvars(runtime.runtime().get_option("storage/0/sqlite_db_file"))
    who = f"a run of {osuser() or os.getuid()} that stores in {database} (PID {os.getpid()})"
    return Journal(who, Path(os.environ.get("ACCEPTANCE_MACHINE") or FOLDER))


def announce(submit):
    """Let other runs know that a job began."""

    def submit_and_announce(scheduler, job):
        submit(scheduler, job)
        _tell("begin", job)

    return submit_and_announce


def announce_end(poll):
    """Let other runs know that a job ended."""

    def poll_and_announce(scheduler, job):
        poll(scheduler, job)
        if job is not None and job.jobid is not None and scheduler.finished(job):
            _tell("end", job)

    return poll_and_announce


def _tell(note, job):
    try:
        getattr(journal(), note)(int(job.jobid))
    except MachineUseFault as err:
        if not _TOLD:
            getlogger().warning(str(err))
        _TOLD.append(err)


def sharing(check):
    """Return observations: which other runs had jobs here while the job of a check ran here."""
    # Simulated time does not depend on what else runs.
    real = check.is_local() and not extras_of(check.current_partition).simulated
    others = journal().others(int(check.job.jobid)) if real else []
    text = f"measured while another run had a job on this machine: {'; '.join(others)}"
    return [Observation(SHARED, text, what="; ".join(others))] if others else []
