"""What the checks change in how ReFrame deals with PBS and Flux (`reframe_patches.py` says why)."""

import re
import time
from pathlib import Path

from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import Node

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.machine import ASKED, SLURM, Layout, nodes_of, schedulers, slurm

#: Options of a command line that choose nodes when ReFrame distributes, and are none of a job's.
_CHOICE = ("--exclude", "-x")


class ListedNode(Node):
    """A node as our own reading of a scheduler has it."""

    def __init__(self, node):
        self.name, self.up = node.name, node.up
        self.states = {state.upper() for state in node.states}

    def in_state(self, state):
        """Tell whether it is in all of these states: `IDLE+DRAIN`."""
        return self.states >= {*state.upper().split("+")}

    def in_statex(self, state):
        """Tell whether it is in these states and in no other."""
        return self.states == {*state.upper().split("+")}


def lists(scheduler, options):
    """Tell whether the nodes that options choose are read here, not by ReFrame."""
    name = scheduler.registered_name
    return name in ASKED and (name not in SLURM or "--clusters" in slurm.options_of(options))


def list_nodes(allnodes):
    """Leave the nodes of PBS and Flux to `choose_nodes`, which knows the options."""

    def list_ours(scheduler):
        return allnodes(scheduler) if scheduler.registered_name in SLURM else set()

    return list_ours


def choose_nodes(filternodes):
    """Return the nodes that the options of a job choose, with their states."""

    def choose_ours(scheduler, job, nodes):
        options = [*job.sched_access, *job.options, *job.cli_options]
        if not lists(scheduler, options):
            return filternodes(scheduler, job, nodes)
        try:
            return {ListedNode(node) for node in nodes_of(scheduler.registered_name, options)}
        except Fault as err:
            raise JobSchedulerError(str(err)) from None

    return choose_ours


def asked(job):
    """Return how the ranks of a job shall stand, and on which nodes; None where nobody asks."""
    layout = getattr(job, "layout", None)
    if layout is None and job.pin_nodes:
        each = job.num_tasks_per_node or job.num_tasks or 1
        layout = Layout(job.num_tasks or 1, each, "inter-node")
    return layout


def select_nodes(emit):
    """Ask PBS for whole nodes, as many as the ranks take, or for those of a name."""

    def emit_ours(scheduler, job):
        layout, name = asked(job), scheduler.registered_name
        if layout is None or name not in schedulers.PBS:
            return emit(scheduler, job)
        access = () if scheduler._sched_access_in_submit else job.sched_access
        given = [*access, *_given(job)]
        of_chunk = [each for each in given if not each.startswith(("-", "#"))]
        lines = schedulers.of_pbs(
            name, layout, _cpus(name, job.sched_access), job.pin_nodes, of_chunk
        )
        # What the site states itself goes before that.
        stated = " ".join([*job.sched_access, *given])
        keys = (each.removeprefix("-l ").partition("=")[0] for each in lines)
        lines = [
            line
            for line, key in zip(lines, [*keys], strict=True)
            if not re.search(rf"(^|[\s,]){key}=", stated)
        ]
        lines += [each for each in given if each.startswith("-")]
        verbatim = [each for each in given if each.startswith("#")]
        return [*map(scheduler._format_option, lines), *verbatim]

    return emit_ours


def _given(job):
    """Return the options of a check and of the command line that are the job's own."""
    return [each for each in (*job.options, *job.cli_options) if not each.startswith(_CHOICE)]


def _cpus(scheduler, access):
    """Return how many CPUs a chunk may have on each node of a partition; 0 where nobody says."""
    try:
        # Of a node that is lost PBS may say none.
        return min((node.cores for node in nodes_of(scheduler, access) if node.cores), default=0)
    except Fault:  # whoever counts the nodes says it
        return 0


def submit_batch(submit):
    """Submit an instance of Flux that has whole nodes, in which `flux run` places the ranks."""

    def submit_ours(scheduler, job):
        layout = asked(job)
        if layout is None:
            return submit(scheduler, job)
        folder = Path(job.workdir).absolute()
        command = [
            "flux", "batch", f"--job-name={job.name}", f"--output={folder / job.stdout}",
            f"--error={folder / job.stderr}", f"--cwd={folder}",
            *([f"--time-limit={job.time_limit:g}s"] if job.time_limit else []),
            *schedulers.of_flux(layout, job.pin_nodes),
            *schedulers.words_of([*job.sched_access, *_given(job)]),
            str(folder / job.script_filename),
        ]  # fmt: skip
        done = machine.run(command, scheduler._submit_timeout or slurm.PATIENCE)
        if done.fault or not done.out.strip():
            why = done.fault or "it told no number of a job"
            raise JobSchedulerError(f"{' '.join(command)}: {why}")
        from flux.job import JobID

        job._jobid = done.out.split()[-1]
        job._submit_time = time.time()
        job._flux_future = scheduler._fexecutor.attach(JobID(job.jobid))
        return None

    return submit_ours


def tell_end(poll):
    """Tell the exit status of a job of Flux, and that it ended for its time limit."""

    def poll_and_tell(scheduler, *jobs):
        poll(scheduler, *jobs)
        for job in filter(None, jobs):
            if not job.completed or job.exitcode is not None:
                continue
            fault = job._flux_future.exception(0)
            if fault is None:
                job._exitcode = job._flux_future.result(0)
            elif getattr(fault, "type", "") == "timeout":
                job._state = "TIMEOUT"

    return poll_and_tell
