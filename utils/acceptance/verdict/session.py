"""The verdict on a session: was everything measured that was selected, and did it pass?

Plain ReFrame exits 0 when it selected nothing, could not import a check file, lost a malformed
reference or stored nothing. So ReFrame's log (what was selected), the results database (what was
measured) and the tree of check files (what there is, `verdict/coverage.py`) are compared.
"""

import shlex
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from acceptance import ledger
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.core.words import is_measured
from acceptance.ledger import ResultsFault, Session
from acceptance.machine import slurm_jobs
from acceptance.rfm import LoggedRun, half_made, last_run
from acceptance.rfm.last_run import LastRun
from acceptance.verdict import coverage
from acceptance.verdict.cases import judge_cases, only_functional
from acceptance.verdict.model import EXPECTED, LEFT_OUT, Verdict
from acceptance.verdict.remeasure import is_repetition

#: Seconds between the start of ReFrame and its first line in the log, at most.
_START_OF_REFRAME = 5.0
#: How ReFrame ends the line of a case that was skipped since another one was, or failed.
_FOR_ANOTHER = ("[dependencies failed]", "[skipped due to skipped dependencies]")


def judge(
    workspace: Workspace,
    database: Path | None = None,
    *,
    run_id: str | None = None,
    session: str | None = None,
) -> Verdict:
    """Judge the run that ended last, or the one labelled `--session-extras run=<run_id>`.

    With `session`, or with a `database` that is not that of the last run, only what the database
    has is judged: the log of that session may be on another machine.
    """
    verdict = Verdict()
    run = None
    if session is None:
        last = _last_run(workspace, run_id)
        if run_id is not None or database is None or _is_of(database, last, workspace):
            run = last.run
            _judge_last(verdict, workspace, last, run_id)
            if run is None or last.fault:
                return verdict
    if run is not None:
        database, session = run.database, run.stored
        _judge_run(verdict, run)
        if run.stored is None:
            # Which files the cases are of, only the session knows.
            if run.ran == (0, 0):
                coverage.judge_check_files(verdict, run, ())
            return verdict
    if database is None:
        verdict.fail("no-database", "this run did not store its results: storage is off")
        return verdict
    verdict.database = str(database)
    try:
        stored = ledger.of(workspace, database).session(session)
    except ResultsFault as err:
        verdict.cannot_judge("unreadable-database", str(err), str(database))
        return verdict
    _judge_session(verdict, stored, run.unread if run else ())
    if run is not None:
        _add_skip_reasons(verdict, run)
        _count_lost(verdict, run, stored)
        coverage.judge_check_files(verdict, run, stored.cases)
        coverage.judge_nodes(verdict, run, stored.cases)
    return verdict


def _last_run(workspace: Workspace, run_id: str | None) -> LastRun:
    if run_id is None:
        return last_run.find(workspace, lambda label: not is_repetition(label))
    return last_run.find(workspace, lambda label: label == run_id)


def _is_of(database: Path, last: LastRun, workspace: Workspace) -> bool:
    """Tell whether a database is that of the last run."""
    if last.run is not None:
        return database == last.run.database
    return last.mark is not None and workspace.keeps(database)


def _judge_last(verdict: Verdict, workspace: Workspace, last: LastRun, run_id: str | None) -> None:
    """Judge what its mark says of the run: did it end, and was it the last one?"""
    if last.mark is not None:
        verdict.command = shlex.join(["reframe", *last.mark.arguments])
        verdict.time = last.mark.began[:19]
    if last.fault:
        verdict.cannot_judge("last-run", last.fault)
    elif last.killed:
        verdict.fail("interrupted", last.killed)
    elif last.run is None:
        label = f" labelled run={run_id}" if run_id else ""
        message = f"{workspace.logs}: no run of ReFrame{label} is recorded; it did not start"
        verdict.fail("no-run", message)


def _judge_run(verdict: Verdict, run: LoggedRun) -> None:
    """Judge what ReFrame says of the run itself: was everything selected, run and stored?"""
    verdict.command = shlex.join(["reframe", *run.arguments[1:]])
    verdict.system, verdict.host, verdict.time = run.system, run.host, run.time[:19]
    for message in run.errors:
        verdict.fail("error", f"ReFrame: {message}")
        if slurm_jobs.lacks_accounting(message):
            verdict.fail("no-accounting", slurm_jobs.NO_ACCOUNTING)
    for message in run.losses:
        verdict.fail("lost", f"ReFrame: {message}")
    if reasons := run.not_logged:
        verdict.fail(
            "perflogs",
            f"the perflogs lack {plural(len(reasons), 'case')} ({reasons[0]}): make room there, or "
            "make it writable" + (f"; only {run.database} has the results" if run.stored else ""),
        )
    verdict.notes += [f"ReFrame: {line}" for line in run.remarks]
    verdict.notes += _set_aside(run)
    if run.ran is None:
        if any(problem.kind == "interrupted" for problem in verdict.problems):
            return
        verdict.fail("interrupted", "ReFrame stopped before its run was over")
        return
    ran, selected = run.ran
    verdict.notes += [f"skipped: {case}" for case in run.skipped if not case.endswith(_FOR_ANOTHER)]
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


def _judge_session(verdict: Verdict, session: Session, unread: Collection[str]) -> None:
    judge_cases(verdict, session, unread)
    verdict.command = verdict.command or session.command
    verdict.time = verdict.time or datetime.fromtimestamp(session.start).isoformat(
        timespec="seconds"
    )
    measured = (case.metrics for case in session.cases if case.result != EXPECTED)
    if not only_functional(session.cases, unread) and not any(
        is_measured(metric.value) for metrics in measured for metric in metrics
    ):
        suites = sorted({case.suite for case in session.cases if case.suite})
        of = f" of {', '.join(suites)}" if suites else ""
        verdict.fail("nothing-measured", f"no case{of} measured anything", *suites)


def _count_lost(verdict: Verdict, run: LoggedRun, session: Session) -> None:
    """Count the cases that ReFrame selected, and did not store, as not run."""
    stored = sum(case.result not in ("skip", LEFT_OUT) for case in session.cases)
    if run.ran is not None:
        verdict.not_run += max(0, run.ran[1] - stored)


def _add_skip_reasons(verdict: Verdict, run: LoggedRun) -> None:
    """Add why cases were skipped, which only the log has: `NAME /HASH @WHERE [REASON]`."""
    for number, case in enumerate(verdict.cases):
        where = f"@{case.where} ["
        lines = [
            line for line in run.skipped if line.startswith(f"{case.name} /") and where in line
        ]
        if case.result == "skip" and lines:
            reason = lines[0].partition(where)[2].removesuffix("]")
            verdict.cases[number] = replace(case, reason=reason)
