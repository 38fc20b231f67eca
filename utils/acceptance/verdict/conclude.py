"""The whole verdict on a run, and on the steps of a campaign: one way to it, one list of rules.

Each run is judged by itself first (`verdict/session.py`): was all that was selected measured, and
did it pass? What its sessions show together, beside earlier ones and the site, is found by the
rules, each of which adds to the verdict what it finds in the same evidence (`verdict/rules.py`).
"""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from acceptance import ledger
from acceptance.core import state_files
from acceptance.core.paths import Workspace
from acceptance.ledger import ResultsFault, Session
from acceptance.rfm import SiteFault, configuration
from acceptance.rfm.configuration import Site
from acceptance.verdict import coverage, stored
from acceptance.verdict.cases import judge_cases
from acceptance.verdict.evidence import Evidence, Run, find_run
from acceptance.verdict.model import Status, Verdict
from acceptance.verdict.nodes import Nodes, stated_nodes
from acceptance.verdict.remeasured import Repetition, measure_again
from acceptance.verdict.rules import JUDGES, RULES
from acceptance.verdict.session import judge_run, judge_stored


def conclude(
    workspace: Workspace,
    run: Run | None = None,
    *,
    database: Path | None = None,
    session: str | None = None,
    config_files: Sequence[Path] = (),
    send: bool = False,
    again: Repetition | None = None,
    keep: bool = True,
    now: datetime | None = None,
) -> Verdict:
    """Judge a run (default: the last one), with all that its sessions show, and its history.

    With a `session`, or with a `database` that is not that of the last run, only what the database
    has is judged: the log of that session may be on another machine. Judged is the history of the
    systems of the run; of a database without a session that of all its systems. What is undecided
    is measured `again` before it is judged.

    What is acknowledged does not count. With `send` new alerts are sent and noted as sent; of an
    acceptance, which has a protocol, only incidents of the history. Without `send` nothing is
    written but, to `keep` it, the verdict on a run by hand. Raises Interrupted when this process is
    told to stop while it measures again.
    """
    if run is None:
        run = find_run(workspace) if session is None else Run()
        if run.runs and database is not None and not _has_it(database, run, workspace):
            run = Run()
    verdict = Verdict(campaign=run.id, system=run.system)
    sessions = [each for last in run.runs for each in judge_run(verdict, workspace, last)]
    if not (run.runs or run.id):
        sessions = judge_stored(verdict, workspace, database, session)
    judged = bool(sessions) and verdict.status != Status.CANNOT_JUDGE
    if judged or run.id:
        newest = sessions[-1].uuid if judged else ""
        with _readable(verdict, workspace):
            past = ledger.of(workspace, Path(verdict.database) if verdict.database else None)
            for session_of_step in run.stopped(past):
                judge_cases(verdict, session_of_step)
                sessions.append(session_of_step)
            site, nodes = _site(config_files, verdict, sessions, run)
            evidence = Evidence(
                workspace, past, sessions, newest, site, nodes, verdict.system,
                foreign=not (database is None or workspace.keeps(database)),
                whole=database is not None and session is None,
            )  # fmt: skip
            if newest and database is None and session is None:
                with _readable(verdict, workspace):
                    measure_again(verdict, evidence, JUDGES, again)
            for rule in RULES:
                with _readable(verdict, workspace):
                    rule(verdict, evidence)
    judge_whole(verdict, run)
    now = now or datetime.now(timezone.utc)
    verdict.given = now.isoformat(timespec="seconds")
    stored.settle(verdict, workspace, now, send=send)
    if keep and not run.id and database is None and session is None and verdict.session:
        try:
            stored.keep(workspace, verdict.session.split()[-1], verdict)
        except state_files.StoredFault as err:
            verdict.notes.append(f"this verdict is not kept: {err}")
    return verdict


@contextlib.contextmanager
def _readable(verdict: Verdict, workspace: Workspace) -> Iterator[None]:
    """Let a verdict say that results cannot be read, which leaves nothing to judge by."""
    try:
        yield
    except ResultsFault as err:
        place = verdict.database or str(workspace.results)
        verdict.cannot_judge("unreadable-database", str(err), place)


def _has_it(database: Path, run: Run, workspace: Workspace) -> bool:
    """Tell whether a database is that of the last run."""
    last = run.runs[0]
    if last.run is not None:
        return database == last.run.database
    return last.mark is not None and workspace.keeps(database)


def _site(
    config_files: Sequence[Path], verdict: Verdict, sessions: Sequence[Session], run: Run
) -> tuple[Site | None, Nodes]:
    """Return the site and its nodes; a configuration that cannot be read fails the verdict."""
    site = None
    try:
        site = configuration.load(config_files)
        if run.nodes:
            return site, run.nodes(site)
        systems = {case.system for session in sessions for case in session.cases}
        return site, Nodes(stated=stated_nodes(site, systems))
    except SiteFault as err:
        verdict.fail("guidelines", str(err))
    return site, Nodes()


def judge_whole(verdict: Verdict, run: Run) -> None:
    """Take back, and add, what only all steps together show, and what they could not run."""
    for unprovided in run.unprovided:
        verdict.add(unprovided)
    verdict.notes += run.notes
    measured = {case.suite for case in verdict.cases if case.measured}
    # The extra options of a campaign left out all of one suite, not of every one; and what one step
    # measured nothing of may be measured by another one.
    beside_links = any(use.suite != coverage.LINK_SUITE for use in verdict.suites)
    verdict.problems = [
        problem
        for problem in verdict.problems
        if not (problem.place and problem.kind == "no-cases" and beside_links)
        and not (
            problem.place and problem.kind == "nothing-measured" and measured >= {*problem.place}
        )
    ]
    if run.without_suite:
        coverage.fail_without_suite(verdict)
    for step, state in run.not_run.items():
        verdict.fail("step-not-run", f"the step {step} is {state}", step)
    # A file that no step selected was left out last by its own: the links before it have a mode
    # which leaves out all other files.
    said = {each.what for each in verdict.unprovided} | {*verdict.check_files}
    left_out = sorted(verdict.not_selected.items())
    verdict.not_selected = {check: options for check, options in left_out if check not in said}
    verdict.notes = [*dict.fromkeys(verdict.notes)]
    if verdict.status != Status.CANNOT_JUDGE:
        verdict.status = Status.FAILED if verdict.problems else Status.PASSED
