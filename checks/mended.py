"""Where ReFrame 4.10 waits for ever, or does not stop, mended; whoever imports this has it so."""

import logging
import sys

from reframe.core.exceptions import ForceExitError
from reframe.core.schedulers import slurm
from reframe.frontend import executors
from reframe.frontend.executors import policies

#: How Slurm begins to say that nodes are down or drained, or that jobs of a partition of higher
#: priority wait for them: the first lasts until somebody mends it, the second ends by itself.
UNSURE = "Nodes required for job are DOWN"
#: States of a node, with what may follow, that takes no jobs until somebody mends it.
UNUSABLE = ("DOWN", "DRAIN", "FAIL", "ERROR")


class Beginnings(list):
    """Reasons of Slurm by their first words, for some go on with names of accounts or partitions.

    Releases of Slurm differ in whether they write blanks or underscores. `unsure` tells whether a
    job waits for what is left out here and wants a closer look.
    """

    unsure = False

    def __contains__(self, reason):
        """Tell whether a reason begins with one of these."""
        reason = reason.replace("_", " ")
        self.unsure = self.unsure or reason.startswith(UNSURE)
        return reason.startswith(tuple(self))


def lacks_nodes(scheduler, job, nodes):
    """Tell whether fewer of a cluster's nodes than a job needs are neither down nor drained."""
    usable = [
        node
        for node in scheduler.filternodes(job, set(nodes))
        if not any(state.startswith(UNUSABLE) for state in node.states)
    ]
    return len(usable) * (job.num_tasks_per_node or 1) < job.num_tasks


def cancel_if_blocked(
    scheduler, jobs, reasons=None, cancel=slurm.SlurmJobScheduler._cancel_if_blocked
):
    """Cancel jobs that wait for one of the scheduler's reasons (`slurm_job_cancel_reasons`)."""
    every = list(scheduler._cancel_reasons)
    sure = Beginnings(reason for reason in every if reason != UNSURE)
    scheduler._cancel_reasons = sure
    try:
        cancel(scheduler, jobs, reasons)
        if sure.unsure and UNSURE in every:
            nodes = scheduler.allnodes()
            scheduler._cancel_reasons = Beginnings([UNSURE])
            waiting = (job for job in jobs if job and slurm.slurm_state_pending(job.state))
            cancel(
                scheduler, [job for job in waiting if lacks_nodes(scheduler, job, nodes)], reasons
            )
    finally:
        scheduler._cancel_reasons = every


slurm.SlurmJobScheduler._cancel_if_blocked = cancel_if_blocked


def has_ended(state, completed=slurm.slurm_state_completed):
    """Tell whether a job of Slurm has ended, as one has that was preempted and is not requeued."""
    return completed(state and state.replace("PREEMPTED", "CANCELLED"))


slurm.slurm_state_completed = has_ended


#: Signals by which this session was told to stop.
_TOLD = []


def stop(number, frame, answer=executors._force_exit):
    """Answer a signal that ends the session, and remember it.

    ReFrame 4.10 answers SIGTERM and SIGHUP with an exception where it happens to be, and ignores
    them from then on. What keeps exceptions loses the stop for good, some one in fifty, and only
    SIGKILL, which loses the results, can end the session: `logging` does while it writes a line,
    `shutil` while it copies a file.
    """
    _TOLD.append(number)
    answer(number, frame)


executors._force_exit = stop


def snooze(controller, rest=policies._PollController.snooze):
    """Rest before jobs are looked at again, unless the session was told to stop."""
    if not _TOLD:
        rest(controller)
    if _TOLD:
        raise ForceExitError(f"received signal {_TOLD[0]}")


policies._PollController.snooze = snooze


def let_stops_through(handler, record, report=logging.Handler.handleError):
    """Report a fault of a log's handler, unless it is the end of the session that came there."""
    if isinstance(sys.exc_info()[1], ForceExitError):
        raise
    report(handler, record)


logging.Handler.handleError = let_stops_through
