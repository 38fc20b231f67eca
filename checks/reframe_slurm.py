"""What the checks change in how ReFrame deals with Slurm (`reframe_patches.py` says why)."""

from reframe.core.schedulers import slurm

from acceptance.machine.slurm import read_states, takes_jobs

#: How Slurm begins to say that nodes are down or drained, or that jobs of a partition of higher
#: priority wait for them: the first lasts until somebody fixes it, the second ends by itself.
UNSURE = "Nodes required for job are DOWN"
#: States of a node, with what may follow, that takes no jobs until somebody fixes it.
UNUSABLE = ("DOWN", "DRAIN", "FAIL", "ERROR")


class Beginnings(list):
    """Reasons of Slurm by their first words, for some go on with names of accounts or partitions.

    Releases of Slurm differ in whether they write blanks or underscores. `unsure` tells whether a
    job waits for what is left out here and requires a closer look.
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


def cancel_by_beginnings(cancel):
    """Cancel jobs that wait for a reason that begins as one of `slurm_job_cancel_reasons`."""

    def cancel_if_blocked(scheduler, jobs, reasons=None):
        configured = list(scheduler._cancel_reasons)
        sure = Beginnings(reason for reason in configured if reason != UNSURE)
        scheduler._cancel_reasons = sure
        try:
            cancel(scheduler, jobs, reasons)
            if sure.unsure and UNSURE in configured:
                nodes = scheduler.allnodes()
                scheduler._cancel_reasons = Beginnings([UNSURE])
                waiting = (job for job in jobs if job and slurm.slurm_state_pending(job.state))
                lacking = [job for job in waiting if lacks_nodes(scheduler, job, nodes)]
                cancel(scheduler, lacking, reasons)
        finally:
            scheduler._cancel_reasons = configured

    return cancel_if_blocked


def distribute_over_up(filtered):
    """Know one more state of nodes, `up`: they take jobs, at once or when another one ends.

    Until ReFrame 4.10 it is a function, not a method.
    """

    def nodes_in_state(*scheduler_nodes_state):
        *scheduler, nodes, state = scheduler_nodes_state
        if state != "up":
            return filtered(*scheduler_nodes_state)
        # ReFrame 4.10 adds it where the reservation of a partition has the flag MAINT.
        known = getattr(next(iter(scheduler), None), "_available_states", ())
        return {node for node in nodes if is_up(node, maintained="MAINTENANCE" in known)}

    return nodes_in_state


def is_up(node, maintained=False):
    """Tell whether a node takes jobs; those that ReFrame knows no states of do.

    ReFrame has left out what is reserved, unless the partition names the reservation. One with the
    flag MAINT is `maintained`.
    """
    if hasattr(node, "up"):  # our own reading
        return node.up
    states = read_states("+".join(getattr(node, "states", ["IDLE"])))
    return takes_jobs(states, reserved="RESERVED" in states, maintained=maintained)


def end_preempted(completed):
    """Take a job that was preempted, and is not queued again, for one that has ended."""

    def has_ended(state):
        return completed(state and state.replace("PREEMPTED", "CANCELLED"))

    return has_ended


def keep_whole(distribute):
    """Leave a check of the whole fabric one case: each node sees the same."""

    def distribute_others(testcases, node_map):
        whole = [case for case in testcases if getattr(case.check, "of_whole_fabric", False)]
        return distribute([case for case in testcases if case not in whole], node_map) + whole

    return distribute_others
