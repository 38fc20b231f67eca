"""Which run ended last, by every witness there is: marks, ReFrame's log, and its database.

Files of the log are named by a clock, and a log may not have been written; sessions are stored in
an order, but a killed run stores none; marks (`rfm/marks.py`) have the order, but releases before
wrote none. Where they disagree nobody knows, and an older run is never taken for the last one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.rfm import database, marks, run_log
from acceptance.rfm.marks import Mark
from acceptance.rfm.run_log import LoggedRun
from acceptance.rfm.stored import ResultsFault

#: How long ReFrame may take from its mark to its first line, and how far times are rounded.
_START, _ROUNDING = timedelta(hours=1), timedelta(seconds=1)


@dataclass
class LastRun:
    """The run that ended last: what the log has of it, and its mark; None where there is neither.

    `fault` says why nobody can tell which run that is; `killed` that it never ended.
    """

    run: LoggedRun | None = None
    mark: Mark | None = None
    fault: str = ""
    killed: str = ""


def find(workspace: Workspace, wanted: Callable[[str], bool]) -> LastRun:
    """Return which of the runs ended last whose label is `wanted`.

    Raises Fault where there is no log that can be read.
    """
    newest = run_log.last_ended(workspace.logs, lambda run: wanted(run.label))
    try:
        known = marks.read(workspace.var)
    except Fault as err:
        return LastRun(newest, fault=str(err))
    mine = [mark for mark in known if wanted(mark.label)]
    if not mine:
        return _stored_last(workspace, LastRun(newest), wanted)
    for mark in mine:
        if not mark.ended and mark.lives is not False:
            return LastRun(None, mark, fault=_under_way(workspace.var, mark))
    mark = max(mine, key=lambda mark: (not mark.ended, mark.ended, mark.number, mark.began))
    run = next((run for run in run_log.runs(workspace.logs) if mark_of(run, known) is mark), None)
    if mark.killed or not mark.ended:
        what = "never ended: it was killed" if mark.number else "ended before it left a mark"
        return LastRun(run, mark, killed=f"{mark}, {what}")
    if run is None:
        where = f"{workspace.logs} has no line of {mark}"
        return LastRun(None, mark, fault=f"{where}: nobody knows what it selected; see its output")
    last = LastRun(run, mark)
    if newest is not None and newest is not run and mark_of(newest, known) is None:
        last = _unmarked(workspace, last, newest)
    return last if last.fault else _stored_last(workspace, last, wanted)


def mark_of(run: LoggedRun, known: Iterable[Mark]) -> Mark | None:
    """Return the mark that a run of the log left: of its process and label, just before it."""
    time = datetime.fromisoformat(run.time[:19])
    fitting = [
        mark
        for mark in known
        if run.label == mark.label
        and (run.process == mark.process if run.process else run.arguments[1:] == mark.arguments)
        and -_ROUNDING <= time - datetime.fromisoformat(mark.began[:19]) <= _START
    ]
    return max(fitting, key=lambda mark: mark.number, default=None)


def _under_way(var: Path, mark: Mark) -> str:
    if mark.lives:
        return f"{mark}, is under way (PID {mark.process}); wait for it, or end it"
    return (
        f"{mark}, has not ended, and whether it still runs cannot be seen from here; look there, "
        f"and if it was killed remove {var / 'runs' / mark.file}"
    )


def _unmarked(workspace: Workspace, last: LastRun, newest: LoggedRun) -> LastRun:
    """Look at the newest run of the log, which left no mark: was it after the last one that did?"""
    assert last.mark is not None
    if newest.stored is None:  # it fails by itself
        return LastRun(newest) if newest.time[:19] >= last.mark.began[:19] else last
    order = _order(newest.database)
    if newest.stored not in order[_place(order, last.run) + 1 :]:
        return last
    if workspace.is_of_site:  # where runs of the site's own checks leave no mark
        return LastRun(newest)
    last.fault = (
        f"the run that began at {newest.time[:19]} was stored last, and {workspace.var / 'runs'} "
        f"has no mark of it, so that others may have left none; see: acceptance gate --session "
        f"{newest.stored}"
    )
    return last


def unlogged(workspace: Workspace) -> str:
    """Say which session was stored last, if no log has its run; empty where one has it."""
    order = _order(workspace.results)
    if not order or _run_of(workspace, order[-1]) is not None:
        return ""
    return _unlogged(workspace, workspace.results, order[-1])


def _run_of(workspace: Workspace, session: str) -> LoggedRun | None:
    return next((run for run in run_log.runs(workspace.logs) if run.stored == session), None)


def _unlogged(workspace: Workspace, path: Path, session: str) -> str:
    return (
        f"{path}: session {session} was stored last, and no log in {workspace.logs} has its run, "
        f"so nobody knows what it selected; what it stored: acceptance gate --session {session}"
    )


def _stored_last(workspace: Workspace, last: LastRun, wanted: Callable[[str], bool]) -> LastRun:
    """Compare with the session that was stored last in the database of the run."""
    path = workspace.results if last.run is None else last.run.database
    order = _order(path)
    if path is None or not order or (last.run is not None and order[-1] == last.run.stored):
        return last
    newest = order[-1]
    run = _run_of(workspace, newest)
    if run is None and _has_label(path, newest, wanted):
        last.fault = _unlogged(workspace, path, newest)
    elif run and wanted(run.label) and last.run and last.run.stored in order:
        last.fault = (
            f"{path}: session {newest} was stored last, but by log and marks another run ended "
            f"last, that which began at {last.run.time[:19]}: judge each of them: "
            f"acceptance gate --session {newest}, and --session {last.run.stored}"
        )
    return last


def _has_label(path: Path, session: str, wanted: Callable[[str], bool]) -> bool:
    """Tell whether a session may be one that is wanted: one that cannot be read may be any."""
    try:
        return wanted(database.session(path, session).label)
    except ResultsFault:
        return True


def _order(path: Path | None) -> Sequence[str]:
    """Return the sessions in the order in which they were stored; none where it cannot be read."""
    try:
        return [] if path is None else database.ids(path)
    except ResultsFault:  # whoever judges reports it
        return []


def _place(order: Sequence[str], run: LoggedRun | None) -> int:
    stored = run and run.stored
    return order.index(stored) if stored in order else -1
