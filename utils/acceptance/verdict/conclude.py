"""The whole verdict on a run, and on the steps of a campaign: one way to it, one list of rules.

Each run is judged by itself first (`verdict/session.py`): was all that was selected measured, and
did it pass? What its sessions show together, beside earlier ones and the site, is found by the
rules, each of which adds to the verdict what it finds in the same evidence (`verdict/rules.py`).

A series whose newest sample arouses a suspicion (`constants.SUSPICIOUS`) is measured again in the
same night, with the command that measured it, narrowed down to its case. The repetitions are
sessions like all others, and samples like all others: none is preferred, and none left out.
"""

import contextlib
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TextIO

from msgspec import structs

from acceptance import ledger
from acceptance.core import state_files
from acceptance.core.paths import Workspace
from acceptance.ledger import ResultsFault, Session, repeated
from acceptance.regressions.history import Series
from acceptance.rfm import (
    LoggedRun,
    ReframeProcess,
    SiteFault,
    configuration,
    last_run,
    reframe_environment,
    reframe_program,
    run_log,
)
from acceptance.rfm.configuration import Site
from acceptance.verdict import coverage, stored
from acceptance.verdict.cases import judge_cases
from acceptance.verdict.evidence import Evidence, Run
from acceptance.verdict.model import Status, Verdict
from acceptance.verdict.nodes import Nodes, stated_nodes
from acceptance.verdict.rules import RULES, judged_history
from acceptance.verdict.session import judge_run, judge_stored

#: Seconds before the newest session in which the other ones of the same night end.
NIGHT = 12 * 3600.0

#: Options that a repetition has of its own, with a value.
_OWN = ("-n", "--name", "--session-extras", "--timestamp")


@dataclass(frozen=True)
class Repetition:
    """How often to measure again, and where the output goes, ReFrame's included.

    ReFrame inherits `inherited_fds`, the descriptor of a lock for instance.
    """

    times: int
    output: TextIO
    inherited_fds: Sequence[int] = ()


def suspects(series: Iterable[Series], newest: float) -> dict[str, list[str]]:
    """Return the cases of the night that ended at `newest` (s since the epoch).

    As UUID of their session -> their names, given the series that are suspected.
    """
    by_session: dict[str, list[str]] = {}
    for suspected in series:
        session = suspected.samples[-1].session
        names = by_session.setdefault(session.uuid, [])
        name = suspected.case.key.check
        if newest - session.end <= NIGHT and name not in names:
            names.append(name)
    return {uuid: names for uuid, names in by_session.items() if names}


def repetitions(logs: Path, session: str) -> list[LoggedRun]:
    """Return the runs that measured again what a session had measured, the first first."""
    later = itertools.takewhile(lambda run: run.stored != session, run_log.runs(logs))
    return [run for run in later if repeated(run.label) == session][::-1]


def command(arguments: Sequence[str], names: Iterable[str], label: str) -> list[str]:
    """Return ReFrame's options for these cases of a run only, under another label.

    `arguments` are those of the log, the program first. ReFrame matches names without spaces.
    """
    kept: list[str] = []
    skip = False
    for word in arguments[1:]:
        if skip:
            skip = False
        elif word in _OWN:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in _OWN if name.startswith("--"))):
            kept.append(word)
    patterns = [f"^{re.escape(name.replace(' ', ''))}$" for name in names]
    narrowed = [word for pattern in patterns for word in ("-n", pattern)]
    # Its outputs have a folder of their own, and take nobody's place.
    return [*kept, *narrowed, "--session-extras", f"run={label}", f"--timestamp={label}"]


def repeat(
    workspace: Workspace, suspected: dict[str, list[str]], label: str, how: Repetition
) -> list[str]:
    """Run the suspected cases of each session again; return what could not be.

    Raises Interrupted when this process is told to stop.
    """
    child = ReframeProcess(how.inherited_fds)
    runs = {run.stored: run for run in run_log.runs(workspace.logs) if run.stored in suspected}
    again = [(uuid, turn) for uuid in suspected if uuid in runs for turn in range(how.times)]
    with child.heeding():
        for number, (uuid, turn) in enumerate(again, 1):
            run, names = runs[uuid], suspected[uuid]
            told = f"acceptance: again ({turn + 1} of {how.times}): {', '.join(names)}\n"
            how.output.write(told)
            how.output.flush()
            child.check()
            child.run(
                [reframe_program(), *command(run.arguments, names, f"{label}.again{number}")],
                cwd=run.fields.get("working directory", "").strip("'") or workspace.start,
                env=reframe_environment(workspace),
                output=how.output,
            )
            child.check()
    return [
        f"not measured again, since the log has no command of session {uuid}: {', '.join(names)}"
        for uuid, names in suspected.items()
        if uuid not in runs
    ]


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
    systems of the run; of a database without a session that of all its systems. What is suspected
    to be worse is measured `again` before it is judged.

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
                workspace, past, sessions, newest, site, nodes, verdict.system, config_files,
                foreign=not (database is None or workspace.keeps(database)),
                whole=database is not None and session is None,
            )  # fmt: skip
            if newest and database is None and session is None:
                if again:
                    _measure_again(verdict, evidence, again)
                evidence.newest = _judge_repetitions(verdict, evidence)
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


def find_run(workspace: Workspace, label: str | None = None) -> Run:
    """Return the run that ended last, or the one labelled `--session-extras run=<label>`."""
    if label is None:
        return Run([last_run.find(workspace, lambda each: not repeated(each))])
    last = last_run.find(workspace, lambda each: each == label)
    return Run([replace(last, label=label)])


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


def _measure_again(verdict: Verdict, evidence: Evidence, how: Repetition) -> None:
    """Measure again what is suspected."""
    try:
        judgement = judged_history(verdict, evidence)
    except ResultsFault:  # reported when the history is judged
        return
    suspected = suspects(judgement.suspected, judgement.newest)
    if suspected:
        verdict.notes += repeat(evidence.workspace, suspected, evidence.newest, how)


def _judge_repetitions(verdict: Verdict, evidence: Evidence) -> str:
    """Judge what was measured again of a session, if anything was; return the last session."""
    workspace, newest, past = evidence.workspace, evidence.newest, evidence.past
    runs = repetitions(workspace.logs, newest)
    cases: set[str] = set()
    for run in runs:
        again = Verdict()
        judge_run(again, workspace, *find_run(workspace, run.label).runs)
        newest = again.session or newest
        cases.update(case.name for case in again.cases)
        verdict.cases += again.cases
        for problem in again.problems:
            verdict.add(structs.replace(problem, text=f"when measured again: {problem.text}"))
    if runs:
        evidence.past = ledger.of(workspace, past.results)
        verdict.notes.append(
            f"measured again, {len(runs)} times in all: {', '.join(sorted(cases))}"
        )
    return newest


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
