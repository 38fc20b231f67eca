"""The verdict on a session: was everything measured that was selected, and did it pass?

Plain ReFrame exits 0 when it selected nothing, could not import a check file, lost a malformed
reference or stored nothing. The gate holds ReFrame's log (what was selected), the results database
(what was measured) and the tree of check files (what there is) against each other.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from acceptance.core.units import is_measured
from acceptance.launch import slurm_jobs
from acceptance.rfm import check_files as checkfiles
from acceptance.rfm import configuration, run_log
from acceptance.rfm import database as results
from acceptance.suites import SUITES

#: Exit statuses of `acceptance gate`.
PASSED, FAILED, CANNOT_JUDGE = 0, 1, 2

#: Warnings of ReFrame that mean that something was not run, measured or stored.
_LOST = (
    "skipping test",
    "skipping evaluation",
    "could not resolve dependency",
    "check path",
    "failed to store",
    "could not load",
)

#: What ReFrame stores as the result of a case that it neither ended nor aborted.
_UNFINISHED = "<unknown>"
#: That of a case whose failure its check announces (`xfail`); if it passes, ReFrame lets it fail.
_EXPECTED = "xfail"


@dataclass(frozen=True)
class Problem:
    """A reason why the verdict is not green: a stable kind, and a sentence for the reader."""

    kind: str
    message: str


@dataclass(frozen=True)
class SuiteUse:
    """What provided a suite in this session, and how many cases it had."""

    suite: str
    environments: tuple[str, ...]
    versions: tuple[str, ...]
    cases: int


@dataclass(frozen=True)
class Unprovided:
    """A check file without a case, and why that is no failure."""

    check: str
    reason: str


@dataclass
class Verdict:
    """What a session measured, what judged it, and what is wrong."""

    status: int = PASSED
    session: str = ""
    command: str = ""
    system: str = ""
    host: str = ""
    time: str = ""
    elapsed: float = 0.0
    selected: int = 0
    ran: int = 0
    builds: int = 0
    passed: int = 0
    failed: int = 0
    expected_failures: int = 0
    skipped: int = 0
    judged: dict[str, int] = field(default_factory=dict)
    recorded: int = 0
    suites: list[SuiteUse] = field(default_factory=list)
    unprovided: list[Unprovided] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    database: str = ""
    #: What `acceptance.verdict.conclude` adds: incidents of the history, and violated guidelines.
    alerts: list[dict[str, Any]] = field(default_factory=list)
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, Any] = field(default_factory=dict)
    guidelines: dict[str, Any] = field(default_factory=dict)

    def fail(self, kind: str, message: str) -> None:
        """Add a problem; the verdict is red from now on."""
        self.problems.append(Problem(kind, message))
        self.status = max(self.status, FAILED)

    def as_data(self) -> dict[str, Any]:
        """Return the verdict as plain data, `verdict` being pass, fail or cannot-judge."""
        words = {PASSED: "pass", FAILED: "fail", CANNOT_JUDGE: "cannot-judge"}
        return {"verdict": words[self.status], **asdict(self)}


def judge(
    logs: Path,
    database: Path | None = None,
    *,
    run_id: str | None = None,
    session: str | None = None,
) -> Verdict:
    """Judge the run that ended last, or the one labelled `--session-extras run=<run_id>`.

    With `session`, or with a `database` that is not that of the last run, only what the database
    tells is judged: the log of that session may be on another machine.
    """
    verdict = Verdict()
    run = None
    if session is None:
        run = next(
            (run for run in run_log.runs(logs) if run_id is None or _has_label(run, run_id)), None
        )
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
        if run.stored is None:
            _judge_coverage(verdict, run, ())
            return verdict
    if database is None:
        verdict.fail("no-database", "this run did not store its results: storage is off")
        return verdict
    verdict.database = str(database)
    try:
        stored = results.session(database, session)
    except results.ResultsFault as err:
        verdict.fail("unreadable-database", str(err))
        verdict.status = CANNOT_JUDGE
        return verdict
    _judge_session(verdict, stored)
    if run is not None:
        _judge_coverage(verdict, run, stored.cases)
        _judge_nodes(verdict, run, stored.cases)
    return verdict


def _has_label(run: run_log.LoggedRun, run_id: str) -> bool:
    return any(
        f"run={run_id}" in word.removeprefix("--session-extras=").split(",")
        for word in run.arguments
    )


def _judge_run(verdict: Verdict, run: run_log.LoggedRun) -> None:
    """Judge what ReFrame says of the run itself: was everything selected, run and stored?"""
    verdict.command = " ".join(["reframe", *run.arguments[1:]])
    verdict.system, verdict.time = run.system, run.time[:19]
    for message in run.errors:
        verdict.fail("error", f"ReFrame: {message}")
        if slurm_jobs.lacks_accounting(message):
            verdict.fail("no-accounting", slurm_jobs.NO_ACCOUNTING)
    for message in run.warnings:
        if message.startswith(_LOST):
            verdict.fail("lost", f"ReFrame: {message}")
        else:
            verdict.notes.append(f"ReFrame: {message}")
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
        verdict.fail("no-cases", f"ReFrame selected no case at all{because}")
    elif run.stored is None:
        verdict.fail(
            "not-stored",
            f"the session is not in {run.database}; its values are in the perflogs beside it",
        )
    if verdict.ran < verdict.selected:
        verdict.fail(
            "fewer-cases", f"only {verdict.ran} of {verdict.selected} selected cases were run"
        )


def _judge_session(verdict: Verdict, session: results.Session) -> None:
    """Judge every case of a session; a case that failed once has failed."""
    verdict.session, verdict.host, verdict.elapsed = session.uuid, session.host, session.elapsed
    verdict.command = verdict.command or session.command
    verdict.time = verdict.time or datetime.fromtimestamp(session.start).isoformat(
        timespec="seconds"
    )
    cases = [case for case in session.cases if not case.fixture]
    verdict.system = verdict.system or ", ".join(sorted({case.system for case in cases}))
    first = [case for case in cases if case.run_index == 0]
    verdict.selected = verdict.selected or len(first)
    over = ("pass", "fail", _EXPECTED)
    verdict.ran = verdict.ran or sum(case.result in over for case in first)
    verdict.builds = sum(case.fixture for case in session.cases)
    left_out: Counter[tuple[str, str]] = Counter()
    unfinished: list[str] = []
    unaccounted = False
    passed_later = {(case.name, case.where) for case in cases if case.run_index and case.passed}
    for case in session.cases:
        if case.result == "skip":
            verdict.skipped += 1
        elif case.result == "fail_deps":
            verdict.failed += 1
            left_out[case.suite, case.where] += 1
        elif case.result == _UNFINISHED:
            verdict.failed += not case.fixture
            unfinished.append(f"{case.name} @{case.where}")
        elif case.result == _EXPECTED:
            verdict.expected_failures += 1
            reason = " ".join(case.fail_reason.split())
            verdict.notes.append(
                f"failed, as its check expects: {case.name} @{case.where}"
                + (f": {reason}" if reason else "")
            )
        elif not case.passed:
            verdict.failed += not case.fixture
            again = (
                " (passed when it was repeated; a repetition turns no failure green)"
                if (case.name, case.where) in passed_later
                else ""
            )
            verdict.fail(
                "case-failed",
                f"{case.name} @{case.where}: {case.result} in {case.fail_phase or 'no phase'}"
                f"{again}: {' '.join(case.fail_reason.split())}",
            )
            unaccounted |= slurm_jobs.lacks_accounting(case.fail_reason)
        elif not case.fixture:
            verdict.passed += 1
            _judge_metrics(verdict, case)
    for (suite, where), count in left_out.items():
        verdict.fail(
            "left-out", f"{suite} @{where}: {count} cases not run, since what they need failed"
        )
    if unaccounted:
        verdict.fail("no-accounting", slurm_jobs.NO_ACCOUNTING)
    if unfinished:
        verdict.fail(
            "unfinished",
            f"{len(unfinished)} cases had begun, or waited, when ReFrame stopped, the first one "
            f"{unfinished[0]}; their jobs may still be in the queue",
        )
    seen = Counter(
        finding.text for case in session.cases for finding in case.findings if not finding.fails
    )
    for text, count in seen.items():
        verdict.notes.append(f"links, during {count} of the cases: {text}")
    _count_suites(verdict, cases)
    if not verdict.recorded and not verdict.judged:
        verdict.fail("nothing-measured", "no case measured anything")


def _judge_metrics(verdict: Verdict, case: results.Case) -> None:
    measured = {metric.name: metric for metric in case.metrics}
    missing = [name for name in case.declared if name not in measured]
    if missing:
        verdict.fail(
            "missing-metrics", f"{case.name} @{case.where}: passed without {', '.join(missing)}"
        )
    if not measured:
        verdict.fail("no-metrics", f"{case.name} @{case.where}: passed without any metric")
    for metric in case.metrics:
        if not is_measured(metric.value):
            verdict.fail(
                "impossible-value", f"{case.name} @{case.where}: {metric.name} is {metric.value}"
            )
        elif metric.reference is None:
            verdict.recorded += 1
        else:
            source = metric.judged_by.split(",")[0]
            verdict.judged[source] = verdict.judged.get(source, 0) + 1


def _count_suites(verdict: Verdict, cases: list[results.Case]) -> None:
    for suite in dict.fromkeys(case.suite or Path(case.filename).stem for case in cases):
        own = [case for case in cases if (case.suite or Path(case.filename).stem) == suite]
        verdict.suites.append(
            SuiteUse(
                suite,
                tuple(dict.fromkeys(case.where for case in own)),
                tuple(
                    dict.fromkeys(
                        case.provenance["suite"] for case in own if "suite" in case.provenance
                    )
                ),
                sum(case.run_index == 0 for case in own),
            )
        )


def _judge_coverage(
    verdict: Verdict, run: run_log.LoggedRun, cases: Iterable[results.Case]
) -> None:
    """Fail for each check file of the search path that gave no case for no stated reason."""
    seen = {Path(case.filename).resolve() for case in cases}
    for path in checkfiles.check_files(run.check_path, recursive=run.recursive):
        if path.resolve() in seen:
            continue
        if run.filters:
            verdict.notes.append(f"{path.name}: not selected by {' '.join(run.filters)}")
            continue
        reason = checkfiles.why_no_case(path.stem, run)
        if reason is None:
            verdict.fail(
                "check-without-case",
                f"{path}: gave no case, though something provides it; see `reframe -c {path} -L`",
            )
        else:
            verdict.unprovided.append(Unprovided(path.name, reason))
    if verdict.unprovided and seen and not any(case.suite in SUITES for case in cases):
        verdict.fail("no-suite", "no suite is provided here: nothing but the links was looked at")


def _judge_nodes(verdict: Verdict, run: run_log.LoggedRun, cases: Iterable[results.Case]) -> None:
    """Fail for nodes that `--distribute` left out: without `=all` those that are not idle."""
    seen: dict[str, set[str]] = {}
    for case in cases:
        # ReFrame's name of a case that is pinned to a node.
        if (pinned := re.search(r"%\.nid=(\S+)", case.name)) and case.suite == "fabric":
            seen.setdefault(case.partition, set()).add(pinned[1])
    if not seen or any(word.startswith(("-J", "--job-option")) for word in run.arguments):
        return
    try:
        partitions = configuration.load(run.config_files).system(run.system)["partitions"]
    except configuration.SiteFault:
        return
    stated = {part["name"]: part.get("extras", {}).get("nodes", 1) for part in partitions}
    for partition, nodes in seen.items():
        if len(nodes) < stated.get(partition, 0):
            verdict.fail(
                "nodes-left-out",
                f"only {len(nodes)} of the {stated[partition]} nodes of {partition} were looked "
                "at; --distribute leaves out those that are not idle, --distribute=all does not",
            )
