"""Which run ended last: by the marks that each run leaves (`rfm/marks.py`), not by a clock.

What a run selected and stored is in ReFrame's log, whose files and lines are named by a clock.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from acceptance.core.errors import Fault
from acceptance.core.paths import FRAGMENT, Workspace
from acceptance.rfm import marks, run_log
from acceptance.rfm.marks import Mark
from acceptance.rfm.run_log import LoggedRun

#: How long ReFrame may take from its mark to its first line, and how far times are rounded.
_START, _ROUNDING = timedelta(hours=1), timedelta(seconds=1)


@dataclass
class LastRun:
    """The run that ended last: what the log has of it, and its mark; None where there is neither.

    `fault` says why nobody can tell which run that is; `killed` that it never ended. `label` is the
    one that was asked for, if one was.
    """

    run: LoggedRun | None = None
    mark: Mark | None = None
    fault: str = ""
    killed: str = ""
    label: str = ""


def find(workspace: Workspace, wanted: Callable[[str], bool]) -> LastRun:
    """Return which of the runs ended last whose label is `wanted`.

    Raises Fault where the log cannot be read.
    """
    try:
        known = marks.read(workspace.var)
    except Fault as err:
        return LastRun(fault=str(err))
    mine = [mark for mark in known if wanted(mark.label)]
    for mark in mine:
        if not mark.ended and mark.lives is not False:
            return LastRun(None, mark, fault=_under_way(workspace.var, mark))
    if not mine:
        return LastRun()
    mark = max(mine, key=lambda mark: (not mark.ended, mark.ended, mark.number, mark.began))
    run = next((run for run in run_log.runs(workspace.logs) if _mark_of(run, known) is mark), None)
    if mark.killed or not mark.ended:
        lost = "" if run and run.stored else ", and nothing that it measured is stored"
        what = f"never ended: it was killed{lost}" if mark.number else "ended before it left a mark"
        return LastRun(run, mark, killed=f"it {what}: {mark}")
    if run is None:
        fault = (
            f"{workspace.logs} has no line of {mark}: nobody knows what it selected; see its "
            f"output, or start it anew with our fragment if it was started without {FRAGMENT}"
        )
        return LastRun(None, mark, fault=fault)
    return LastRun(run, mark)


def _mark_of(run: LoggedRun, known: Iterable[Mark]) -> Mark | None:
    """Return the mark that a run of the log left: of its process and label, just before it."""
    time = datetime.fromisoformat(run.time[:19])
    fitting = [
        mark
        for mark in known
        if (run.label, run.process) == (mark.label, mark.process) and _is_just_before(mark, time)
    ]
    return max(fitting, key=lambda mark: mark.number, default=None)


def _is_just_before(mark: Mark, time: datetime) -> bool:
    """Tell whether a run began just before a time of the log, which has no time zone.

    Daylight saving may have begun or ended meanwhile: then the same hour comes twice, or none.
    """
    began = datetime.fromisoformat(mark.began)
    passed = [time - began.replace(tzinfo=None)]
    if began.tzinfo:
        passed += [time.replace(fold=fold).astimezone() - began for fold in (0, 1)]
    return any(-_ROUNDING <= each <= _START for each in passed)


def _under_way(var: Path, mark: Mark) -> str:
    if mark.lives:
        return f"{mark}, is under way (PID {mark.process}); wait for it, or end it"
    return (
        f"{mark}, has not ended, and whether it still runs cannot be seen from here; look there, "
        f"and if it was killed remove {var / 'runs' / mark.file}"
    )
