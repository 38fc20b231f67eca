"""The verdict on a session: was everything measured that was selected, and did it pass?

Plain ReFrame exits 0 when it selected nothing, could not import a check file, lost a malformed
reference or stored nothing. So ReFrame's log (what was selected), the results database (what was
measured) and the tree of check files (what there is, `verdict/coverage.py`) are compared.
"""

import shlex
from datetime import datetime
from pathlib import Path

from acceptance import ledger
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.core.words import is_measured
from acceptance.ledger import ResultsFault, Session
from acceptance.machine import slurm
from acceptance.rfm import LoggedRun, half_made
from acceptance.rfm.last_run import LastRun
from acceptance.verdict import coverage
from acceptance.verdict.cases import judge_cases, only_functional
from acceptance.verdict.model import EXPECTED, LEFT_OUT, Verdict

#: Seconds between the start of ReFrame and its first line in the log, at most.
_START_OF_REFRAME = 5.0
#: How ReFrame ends the line of a case that was skipped since another one was, or failed.
_FOR_ANOTHER = ("[dependencies failed]", "[skipped due to skipped dependencies]")


def judge_run(verdict: Verdict, workspace: Workspace, last: LastRun) -> list[Session]:
    """Judge a run by its mark, by ReFrame's log and by its session, which is returned if there is.

    What is counted adds up with that of other runs that the verdict is on.
    """
    run, mark = last.run, last.mark
    words = run.arguments[1:] if run else mark.arguments if mark else ()
    if words:
        command = shlex.join(["reframe", *words])
        verdict.command = "; ".join(filter(None, (verdict.command, command)))
    verdict.time = verdict.time or (run.time if run else mark.began if mark else "")[:19]
    if last.fault:
        verdict.cannot_judge("last-run", last.fault)
        return []
    if last.killed:
        verdict.fail("interrupted", last.killed)
    if run is None:
        if not last.killed:
            label = f" labelled run={last.label}" if last.label else ""
            text = f"{workspace.logs}: no run of ReFrame{label} is recorded; it did not start"
            verdict.fail("no-run", text)
        return []
    _judge_log(verdict, run, bool(last.killed))
    if run.stored is None:
        # Which files the cases are of, only the session knows.
        if run.ran == (0, 0):
            coverage.judge_check_files(verdict, run, ())
        return []
    stored = judge_stored(verdict, workspace, run.database, run.stored, run)
    for session in stored:
        _count_lost(verdict, run, session)
        coverage.judge_check_files(verdict, run, session.cases)
    return stored


def judge_stored(
    verdict: Verdict,
    workspace: Workspace,
    database: Path | None,
    uuid: str | None,
    run: LoggedRun | None = None,
) -> list[Session]:
    """Judge a session of a database, None for its last one, and return it if it can be read.

    `run` is what ReFrame's log has of it.
    """
    if database is None:
        verdict.fail("no-database", "this run did not store its results: storage is off")
        return []
    verdict.database = str(database)
    try:
        session = ledger.of(workspace, database).session(uuid)
    except ResultsFault as err:
        verdict.cannot_judge("unreadable-database", str(err), str(database))
        return []
    judge_cases(verdict, session, run)
    verdict.command = verdict.command or session.command
    verdict.time = verdict.time or datetime.fromtimestamp(session.start).isoformat(
        timespec="seconds"
    )
    measured = (case.metrics for case in session.cases if case.result != EXPECTED)
    if not only_functional(session.cases, run.unread if run else ()) and not any(
        is_measured(metric.value) for metrics in measured for metric in metrics
    ):
        suites = sorted({case.suite for case in session.cases if case.suite})
        of = f" of {', '.join(suites)}" if suites else ""
        verdict.fail("nothing-measured", f"no case{of} measured anything", *suites)
    return [session]


def _skipped(run: LoggedRun) -> list[str]:
    """Say which cases were skipped for themselves, in a line those of one reason."""
    lines: dict[str, list[str]] = {}
    for case in run.skipped:
        if not case.endswith(_FOR_ANOTHER):
            lines.setdefault(case.rpartition(" [")[2], []).append(case)
    return [
        f"skipped: {cases[0]}"
        + (f", and {len(cases) - 1} more for the same reason" if cases[1:] else "")
        for cases in lines.values()
    ]


def _judge_log(verdict: Verdict, run: LoggedRun, killed: bool) -> None:
    """Judge what ReFrame says of the run itself: was everything selected, run and stored?"""
    verdict.system, verdict.host = verdict.system or run.system, verdict.host or run.host
    for message in run.errors:
        verdict.fail("error", f"ReFrame: {message}")
        if slurm.lacks_accounting(message):
            verdict.fail("no-accounting", slurm.NO_ACCOUNTING)
    for message in run.losses:
        verdict.fail("lost", f"ReFrame: {message}")
    if reasons := run.not_logged:
        stored = f"; only {run.database} has the results" if run.stored else ""
        verdict.fail(
            "perflogs",
            f"the perflogs lack {plural(len(reasons), 'case')} ({reasons[0]}): make room there, or "
            f"make it writable{stored}",
        )
    verdict.notes += [f"ReFrame: {line}" for line in run.remarks]
    verdict.notes += _set_aside(run)
    if run.ran is None:
        if not killed:
            verdict.fail("interrupted", "ReFrame stopped before its run was over")
        return
    ran, selected = run.ran
    verdict.notes += _skipped(run)
    if selected == 0 and not run.skipped:
        because, about = _why_no_case(run)
        verdict.fail("no-cases", f"ReFrame selected no case at all{because}", *about)
    elif run.stored is None:
        verdict.fail(
            "not-stored",
            f"the session is not in {run.database}: make room there, or make it writable, and "
            "measure again",
        )
    if ran < selected:
        verdict.fail("fewer-cases", f"only {ran} of {selected} selected cases were run")


def _set_aside(run: LoggedRun) -> list[str]:
    """Tell of half-made databases that this run has set aside, just before it began to log."""
    if run.database is None or not run.time:
        return []
    since = datetime.fromisoformat(run.time).timestamp() - _START_OF_REFRAME
    return [
        f"{run.database}: was {half_made.HALF_MADE}; this run has set it aside as {path.name}"
        for path in half_made.since(run.database, since)
    ]


def _why_no_case(run: LoggedRun) -> tuple[str, list[str]]:
    """Say why a run selected no case, and return the options of its command that may be why."""
    away = coverage.none_up(run)
    reasons = [f"{place}: {reason}" for place, reason in away.items() if reason]
    filters = [] if all(away.values()) else run.filters
    if filters:
        reasons.append(f"{' '.join(filters)} may match nothing")
    return "".join(f"; {reason}" for reason in reasons), filters


def _count_lost(verdict: Verdict, run: LoggedRun, session: Session) -> None:
    """Count the cases that ReFrame selected, and did not store, as not run."""
    stored = sum(case.result not in ("skip", LEFT_OUT) for case in session.cases)
    if run.ran is not None:
        verdict.not_run += max(0, run.ran[1] - stored)
