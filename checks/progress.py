"""What lines of a run tell: the outcome of each case, and how far the run has come.

`reframe_patches` puts them into ReFrame. They go where ReFrame's own lines go, the terminal and its
log, as whole lines of their own: whoever reads ReFrame's lines finds them as they are. In between a
look at the clock is all that they cost.
"""

import math
import numbers
import os
import re
import time
from pathlib import Path

from reframe.core import runtime
from reframe.core.logging import getlogger
from reframe.utility.osext import expandvars

from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.ledger import durations
from acceptance.machine import BUILD_TIME, Spack, externals, lines_on_builds
from acceptance.rfm import ASK_TIMES
from acceptance.suites import duration

#: Seconds from one line to the next: where a case has ended, and where none has.
SOON, LATE = 10.0, 60.0
#: Minutes after which a run begins no case, where it is set; `make run` sets it.
MINUTES = "ACCEPTANCE_MINUTES"


class Told:
    """What is told of one round of a run; `tasks` are ReFrame's, by their cases."""

    def __init__(self, cases: list, tasks: dict) -> None:
        self.tasks = tasks
        self.keys = {case: _key(case) for case in cases}
        self.begin = self.last = time.monotonic()
        self.done = 0
        keys = [*self.keys.values()]
        known = _known(keys)
        guessed = {key: _guess(case) for case, key in self.keys.items() if key not in known}
        self.run = durations.RunProgress(keys, known, guessed)
        count = (
            [f"{len(cases)} cases and builds; {self.run.rest((), {})}"] if len(cases) > 1 else []
        )
        for line in [*count, *_builds()]:
            getlogger().info(f"[----------] {line}")

    def look(self) -> None:
        """Write a line where it is time for one."""
        now = time.monotonic()
        if now - self.last < SOON:
            return
        tasks = {key: self.tasks[case] for case, key in self.keys.items() if case in self.tasks}
        done = [key for key, task in tasks.items() if task.state in _OVER]
        if len(done) == self.done and now - self.last < LATE:
            return
        self.last, self.done = now, len(done)
        running = {key: _since(task) for key, task in tasks.items() if task.state in _RUNNING}
        getlogger().info(f"[----------] {self.run.line(done, running, now - self.begin)}")


#: States of ReFrame's tasks.
_OVER = ("completed", "retired", "fail", "xfail", "xpass", "skip")
_RUNNING = {"compiling": "compile_start", "running": "run_start"}
#: The round that runs now, if any.
_CURRENT: list[Told] = []


def tell_progress(run_all):
    """Run cases, and tell how far that has come."""

    def run_all_and_tell(runner, testcases):
        _CURRENT[:] = [Told(testcases, runner._policy._task_index)]
        try:
            return run_all(runner, testcases)
        finally:
            _CURRENT.clear()

    return run_all_and_tell


def too_late() -> str:
    """Return why a case that would run now is left out; empty: it runs.

    Raises ValueError where the environment variable is no number of minutes.
    """
    stated = os.environ.get(MINUTES)
    if not stated:
        return ""
    if not re.fullmatch(r"\d+(\.\d+)?", stated):
        raise ValueError(f"{MINUTES} is {stated!r}; it must be a number of minutes")
    over = any(time.monotonic() - told.begin > 60 * float(stated) for told in _CURRENT)
    return f"the {stated} minutes of this run are over; give it more with {MINUTES}" if over else ""


def _since(task) -> float:
    """Return for how long a build or a job has been running, in s; 0 where nothing tells."""
    began = task._timestamps.get(_RUNNING[task.state])
    return 0.0 if began is None else max(time.time() - began, 0.0)


def look() -> None:
    """Write a line where it is time for one; called whenever ReFrame rests."""
    for told in _CURRENT:
        told.look()


def _key(case) -> durations.CaseInMode:
    check, partition, environment = case
    mode = "" if check.is_fixture() else getattr(check, "mode", "") or ""
    return check.display_name, f"{partition.fullname}+{environment.name}", mode


def _known(keys: list) -> dict:
    """Return how long cases took when they last ran here, where that is known (s)."""
    option = runtime.runtime().get_option
    path = Path(expandvars(option("storage/0/sqlite_db_file")))
    if not option("storage/0/enable") or not path.is_file():
        return {}
    try:
        return durations.recent(path, keys)
    except Fault:  # whoever judges the results tells it
        return {}


def _guess(case) -> float:
    """Return how long a case takes that never ran here, by formula, in s; 0: nobody knows."""
    check, part, environ = case
    if check.is_fixture():
        return BUILD_TIME if "spack" in environ.features else duration.COMPILE
    try:
        return min(check.seconds(part), check.time_limit or math.inf)
    except Exception:  # a site's own, whatever its `seconds` is; or it fails by that when it runs
        return 0.0


def tell_times(list_checks):
    """List cases, and how long each takes that never ran here, for whoever asks for it."""

    def list_and_tell(testcases, printer, *options, **named):
        list_checks(testcases, printer, *options, **named)
        if ASK_TIMES in os.environ:
            builds = (build for case in testcases for build in case.deps)
            for case in dict.fromkeys((*testcases, *builds)):
                name, where, _ = _key(case)
                printer.info(f"takes {_guess(case):.3g} s: {name} @{where}")

    return list_and_tell


def _builds() -> list[str]:
    """Say what Spack does not build in a run on this machine itself; on a cluster it builds all."""
    spack = Spack.find(Workspace.of())
    if not spack or runtime.runtime().system.name != "local":
        return []
    return lines_on_builds(externals.mpi_names(), spack)


def tell_outcome(print_perf):
    """Add a line to that which ends a case: how long its build and its job took, and a figure."""

    def print_outcome_and_perf(task):
        phases = (task.duration(phase) for phase in ("compile_complete", "run_complete"))
        times = [time for time in phases if time is not None]
        if times and not task.check.is_dry_run():
            figure = main_figure(task.check.perfvalues or {})
            getlogger().info(f"==> {sum(times):.1f} s{figure and f', {figure}'}")
        print_perf(task)

    return print_outcome_and_perf


def main_figure(perfvalues):
    """Return the metric that one line shows: the first that failed, a peak, or the first of all.

    A count has no unit there. What is no number, as of a check that measured nothing, is no figure.
    """
    metrics = [
        (key.split(":", 2)[-1], *values)
        for key, values in perfvalues.items()
        if isinstance(values[0], numbers.Real)
    ]
    failed = (metric for metric in metrics if metric[-1] == "fail")
    peaks = (metric for metric in metrics if "_peak" in metric[0])
    for name, value, *_, unit, _ in (*failed, *peaks, *metrics):
        return f"{name} {value:.6g}" + (f" {unit}" if unit != "1" else "")
    return ""
