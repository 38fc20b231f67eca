"""The verdict on a session: was everything measured that was selected, and did it pass?

Plain ReFrame exits 0 when it selected nothing, could not import a check file, lost a malformed
reference or stored nothing. So ReFrame's log (what was selected), the results database (what was
measured) and the tree of check files (what there is, `verdict/coverage.py`) are compared.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from acceptance.core.storage import LogFiles
from acceptance.core.units import is_measured
from acceptance.fabric.link_check import STANDING
from acceptance.launch import slurm_jobs
from acceptance.rfm import Case, LoggedRun, ResultsFault, Session, half_made, run_log
from acceptance.rfm import database as results
from acceptance.rfm.half_made import HALF_MADE
from acceptance.verdict import coverage
from acceptance.verdict.model import LEFT_OUT, CaseResult, SuiteUse, Verdict
from acceptance.verdict.remeasure import is_repetition

#: Seconds between the start of ReFrame and its first line in the log, at most.
_START_OF_REFRAME = 10.0
#: What ReFrame stores as the result of a case that it neither ended nor aborted.
_UNFINISHED = "<unknown>"
#: That of a case whose failure its check announces (`xfail`); if it passes, ReFrame lets it fail.
_EXPECTED = "xfail"


def judge(
    logs: LogFiles,
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
        if run_id is None:
            run = run_log.last_ended(logs, besides=is_repetition)
        else:
            run = run_log.newest(logs, run_id)
        if run is None and (run_id is not None or database is None):
            label = f" labelled run={run_id}" if run_id else ""
            verdict.fail(
                "no-run", f"{logs}: no run of ReFrame{label} is recorded; it did not start"
            )
            return verdict
        if run is not None and run_id is None and database not in (None, run.database):
            run = None
    if run is not None:
        database, session = run.database, run.stored
        _judge_run(verdict, run)
        verdict.notes += [f"{logs}: {logs.note}"] if logs.note else []
        if run.stored is None:
            coverage.judge_check_files(verdict, run, ())
            return verdict
    if database is None:
        verdict.fail("no-database", "this run did not store its results: storage is off")
        return verdict
    verdict.database = str(database)
    try:
        stored = results.session(database, session)
    except ResultsFault as err:
        verdict.cannot_judge("unreadable-database", str(err), str(database))
        return verdict
    _judge_session(verdict, stored)
    if run is not None:
        _add_skip_reasons(verdict, run)
        coverage.judge_check_files(verdict, run, stored.cases)
        coverage.judge_nodes(verdict, run, stored.cases)
    return verdict


def _judge_run(verdict: Verdict, run: LoggedRun) -> None:
    """Judge what ReFrame says of the run itself: was everything selected, run and stored?"""
    verdict.command = " ".join(["reframe", *run.arguments[1:]])
    verdict.system, verdict.time = run.system, run.time[:19]
    for message in run.errors:
        verdict.fail("error", f"ReFrame: {message}")
        if slurm_jobs.lacks_accounting(message):
            verdict.fail("no-accounting", slurm_jobs.NO_ACCOUNTING)
    for message in run.losses:
        verdict.fail("lost", f"ReFrame: {message}")
    verdict.notes += [f"ReFrame: {line}" for line in run.warnings if line not in run.losses]
    verdict.notes += _set_aside(run)
    if run.ran is None:
        verdict.fail("interrupted", "ReFrame stopped before its run was over")
        return
    verdict.ran, verdict.selected = run.ran
    verdict.notes += [
        f"skipped: {case}" for case in run.skipped if not case.endswith("[dependencies failed]")
    ]
    if verdict.selected == 0 and not run.skipped:
        filters = " ".join(run.filters)
        because = f"; {filters} may match nothing" if filters else ""
        verdict.fail("no-cases", f"ReFrame selected no case at all{because}", *run.filters)
    elif run.stored is None:
        verdict.fail(
            "not-stored",
            f"the session is not in {run.database}; its values are in the perflogs beside it",
        )
    if verdict.ran < verdict.selected:
        verdict.fail(
            "fewer-cases", f"only {verdict.ran} of {verdict.selected} selected cases were run"
        )


def _set_aside(run: LoggedRun) -> list[str]:
    """Tell of half-made databases that this run has set aside, just before it began to log."""
    if run.database is None:
        return []
    since = datetime.fromisoformat(run.time).timestamp() - _START_OF_REFRAME
    return [
        f"{run.database}: was {HALF_MADE}; this run has set it aside as {path.name}"
        for path in half_made.since(run.database, since)
    ]


def _judge_session(verdict: Verdict, session: Session) -> None:
    judge_cases(verdict, session)
    verdict.command = verdict.command or session.command
    verdict.time = verdict.time or datetime.fromtimestamp(session.start).isoformat(
        timespec="seconds"
    )
    measured = (case.metrics for case in session.cases if case.result != _EXPECTED)
    if not any(is_measured(metric.value) for metrics in measured for metric in metrics):
        suites = sorted({case.suite for case in session.cases if case.suite})
        of = f" of {', '.join(suites)}" if suites else ""
        verdict.fail("nothing-measured", f"no case{of} measured anything", *suites)


def judge_cases(verdict: Verdict, session: Session) -> None:
    """Judge every case of a session, and count them; a case that failed once has failed."""
    verdict.session, verdict.host, verdict.elapsed = session.uuid, session.host, session.elapsed
    tests = [case for case in session.cases if not case.fixture]
    verdict.system = verdict.system or ", ".join(sorted({case.system for case in tests}))
    first = [case for case in tests if case.run_index == 0]
    # As ReFrame's log counts them: without those that had no chance.
    verdict.selected = verdict.selected or sum(case.result != LEFT_OUT for case in first)
    verdict.ran = verdict.ran or sum(case.result in ("pass", "fail", _EXPECTED) for case in first)
    verdict.builds = len(session.cases) - len(tests)
    verdict.check_files = sorted({Path(case.filename).name for case in tests if case.filename})
    passed_later = {_place(case) for case in tests if case.run_index and case.passed}
    verdict.cases += map(_result, session.cases)
    for case in session.cases:
        if case.result == "skip":
            verdict.skipped += 1
        elif case.result == _EXPECTED:
            _note_expected(verdict, case)
        elif not case.passed:
            verdict.failed += not case.fixture
            if case.result not in (LEFT_OUT, _UNFINISHED):
                _fail_case(verdict, case, _place(case) in passed_later)
        elif not case.fixture:
            verdict.passed += 1
            _judge_metrics(verdict, case)
    _judge_not_run(verdict, session.cases)
    _note_links(verdict, session.cases)
    verdict.suites = _suites(tests)


def _place(case: Case) -> str:
    return f"{case.name} @{case.where}"


def _result(case: Case) -> CaseResult:
    faults: dict[str, str] = {}
    for finding in case.findings:
        if finding.fails and finding.node:
            faults.setdefault(finding.node, finding.text)
    return CaseResult(
        where=case.where,
        name=case.name,
        result=case.result,
        suite=case.suite,
        benchmark=case.benchmark,
        reason="" if case.passed else " ".join(case.fail_reason.split()),
        seconds=case.seconds,
        nodes=case.nodes,
        faults=faults,
        measured=any(is_measured(metric.value) for metric in case.metrics),
    )


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


def _note_expected(verdict: Verdict, case: Case) -> None:
    verdict.expected_failures += 1
    reason = " ".join(case.fail_reason.split())
    because = f": {reason}" if reason else ""
    verdict.notes.append(f"failed, as its check expects: {_place(case)}{because}")


def _fail_case(verdict: Verdict, case: Case, passed_later: bool) -> None:
    again = (
        " (passed when it was repeated; a repetition turns no failure green)"
        if passed_later
        else ""
    )
    verdict.fail(
        "case-failed",
        f"{_place(case)}: {case.result} in {case.fail_phase or 'no phase'}{again}: "
        f"{' '.join(case.fail_reason.split())}",
        _place(case),
    )


def _judge_not_run(verdict: Verdict, cases: Sequence[Case]) -> None:
    """Fail for the cases that had no chance: what they need failed, or ReFrame stopped."""
    left_out = Counter((case.suite, case.where) for case in cases if case.result == LEFT_OUT)
    for (suite, where), count in left_out.items():
        verdict.fail(
            "left-out",
            f"{suite} @{where}: {count} cases not run, since what they need failed",
            f"{suite} @{where}",
        )
    if any(slurm_jobs.lacks_accounting(case.fail_reason) for case in cases):
        verdict.fail("no-accounting", slurm_jobs.NO_ACCOUNTING)
    if unfinished := [case for case in cases if case.result == _UNFINISHED]:
        verdict.fail(
            "unfinished",
            f"{len(unfinished)} cases had begun, or waited, when ReFrame stopped, the first one "
            f"{_place(unfinished[0])}; their jobs may still be in the queue",
        )


def _judge_metrics(verdict: Verdict, case: Case) -> None:
    measured = {metric.name for metric in case.metrics}
    if missing := [name for name in case.declared if name not in measured]:
        verdict.fail(
            "missing-metrics",
            f"{_place(case)}: passed without {', '.join(missing)}",
            _place(case),
        )
    if not measured:
        verdict.fail("no-metrics", f"{_place(case)}: passed without any metric", _place(case))
    for metric in case.metrics:
        if not is_measured(metric.value):
            verdict.fail(
                "impossible-value",
                f"{_place(case)}: {metric.name} is {metric.value}",
                _place(case),
                metric.name,
            )
        elif metric.reference is None:
            verdict.recorded += 1
        else:
            source = metric.judged_by.split(",")[0]
            verdict.judged[source] = verdict.judged.get(source, 0) + 1


def _note_links(verdict: Verdict, cases: Iterable[Case]) -> None:
    seen = Counter(
        finding.text
        for case in cases
        for finding in case.findings
        if not finding.fails and finding.kind != STANDING
    )
    for text, count in seen.items():
        verdict.notes.append(f"links, during {count} of the cases: {text}")


def _suites(cases: Iterable[Case]) -> list[SuiteUse]:
    """Return what provided each suite, in the order in which the suites ran."""
    by_suite: dict[str, list[Case]] = {}
    for case in cases:
        by_suite.setdefault(case.suite or Path(case.filename).stem, []).append(case)
    return [
        SuiteUse(
            suite,
            tuple(dict.fromkeys(case.where for case in members)),
            tuple(
                dict.fromkeys(
                    case.provenance["suite"] for case in members if "suite" in case.provenance
                )
            ),
            sum(case.run_index == 0 for case in members),
        )
        for suite, members in by_suite.items()
    ]
