"""The verdict on a campaign: that on its steps, on what a stopped step left, on what is missing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import shorten

from acceptance.campaigns.runner import over
from acceptance.campaigns.state import DONE, NOT_PROVIDED, State
from acceptance.campaigns.steps import LINKS
from acceptance.core.paths import Workspace
from acceptance.core.units import is_measured
from acceptance.rfm import database
from acceptance.rfm.database import Session
from acceptance.verdict import conclude as verdict
from acceptance.verdict.session import CANNOT_JUDGE, FAILED, PASSED, Unprovided, Verdict

#: Characters of a problem that the summary shows.
_LONGEST = 300

WORDS = {PASSED: "pass", FAILED: "FAIL", CANNOT_JUDGE: "cannot judge"}


def conclude(
    state: State,
    workspace: Workspace,
    config_files: Sequence[Path],
    *,
    send: bool,
    times: int = 0,
    hold: Sequence[int] = (),
) -> Verdict:
    """Judge all steps together; with `send` alerts are sent, the rest is as in `verdict.conclude`.

    Raises Interrupted when this process is told to stop while it measures again.
    """
    runs = [step.last.run for step in state.steps if step.last]
    given = Verdict()
    if runs:
        given = verdict.conclude(
            workspace, runs, config_files=config_files, send=send, times=times, hold=hold
        )
    try:
        left = stopped(state, workspace.results)
        parts = [_judge_part(session) for session in left]
        for session in left:
            verdict.hold_against_guidelines(given, workspace.results, session, config_files)
    except database.ResultsFault as err:
        given.fail("unreadable-database", str(err))
        given.status = CANNOT_JUDGE
        parts = []
    given = verdict.merged([given, *parts])
    given.unprovided += [
        Unprovided(Path(path).name, step.reason)
        for step in state.steps
        if step.state == NOT_PROVIDED
        for path in step.files
    ]
    _judge_whole(given, state)
    return given


def sessions(state: State, results: Path) -> list[Session]:
    """Return the sessions of a campaign: of those that were stopped, the cases that were over.

    Raises ResultsFault when one cannot be read.
    """
    last = [step.last.session for step in state.steps if step.last and step.last.session]
    return [*stopped(state, results), *(database.session(results, uuid) for uuid in last)]


def stopped(state: State, results: Path) -> list[Session]:
    """Return the sessions of steps that were stopped, each with the cases that count.

    That is, those that were over and that no later attempt of the step has again.
    """
    found: list[Session] = []
    for step in state.steps:
        later: set[tuple[str, str]] = set()
        own: list[Session] = []
        uuids = [one.session for one in (*step.kept, *([step.last] if step.last else []))]
        for uuid in reversed([uuid for uuid in uuids if uuid]):
            session = database.session(results, uuid)
            kept = tuple(
                case
                for case in session.cases
                if over(case) and (case.name, case.where) not in later
            )
            later |= {(case.name, case.where) for case in kept}
            if step.last is None or uuid != step.last.session:
                own.append(replace(session, cases=kept))
        found += reversed(own)
    return found


def _judge_part(session: Session) -> Verdict:
    """Judge what was over of a run that was stopped."""
    given = Verdict(session=session.uuid, host=session.host, elapsed=session.elapsed)
    for case in session.cases:
        if case.fixture:
            given.builds += 1
            continue
        given.selected, given.ran = given.selected + 1, given.ran + 1
        if not case.passed:
            given.failed += 1
            given.fail(
                "case-failed",
                f"{case.name} @{case.where}: {case.result} in {case.fail_phase or 'no phase'}: "
                f"{' '.join(case.fail_reason.split())}",
            )
            continue
        given.passed += 1
        for metric in case.metrics:
            if not is_measured(metric.value):
                given.fail("impossible-value", f"{case.name}: {metric.name} is {metric.value}")
            elif metric.reference is None:
                given.recorded += 1
            else:
                source = metric.judged_by.split(",")[0]
                given.judged[source] = given.judged.get(source, 0) + 1
    return given


def _judge_whole(given: Verdict, state: State) -> None:
    """Take back, and add, what only all steps together tell."""
    suites = [step for step in state.steps if step.name != LINKS]
    ran = [step for step in suites if step.last or step.kept]
    measured = {use.suite for use in given.suites} | {step.name for step in ran if step.kept}
    if measured - {"fabric"}:
        # The extra options of the campaign left out all of one suite, not of every one.
        filtered = [one for one in given.problems if one.kind == "no-cases" and ";" in one.message]
        given.problems = [one for one in given.problems if one not in filtered]
    if suites and not ran:
        given.fail("no-suite", "no suite is provided here: nothing but the links was looked at")
    for step in state.steps:
        if step.state not in (DONE, NOT_PROVIDED):
            given.fail("step-not-run", f"the step {step.name} is {step.state}")
    if given.status != CANNOT_JUDGE:
        given.status = FAILED if given.problems else PASSED


def summary(state: State, given: Verdict) -> str:
    """Return the paragraph that ends a campaign."""
    ran = [step.name for step in state.steps if step.state == DONE]
    missing = [step.name for step in state.steps if step.state == NOT_PROVIDED]
    again = sum(max(0, len(step.attempts) - 1) for step in state.steps)
    judged = sum(given.judged.values())
    words = [
        f"{state.id}: {WORDS[given.status]}.",
        f"Steps: {', '.join(ran) or 'none'}"
        + (f"; not provided here: {', '.join(missing)}" if missing else "")
        + (f"; {again} times gone on with after a stop" if again else "")
        + ".",
        f"{given.ran} of {given.selected} cases run: {given.passed} passed, {given.failed} failed;",
        f"{judged} metrics judged, {given.recorded} recorded, not judged.",
    ]
    if given.problems:
        more = len(given.problems) - 1
        first = shorten(given.problems[0].message, _LONGEST, placeholder=" ...")
        words.append(f"First problem: {first}" + (f" (and {more} more)" if more else "") + ".")
    words.append(f"Log: {state.log}")
    return " ".join(words)
