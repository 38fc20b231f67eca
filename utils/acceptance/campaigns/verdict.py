"""The verdict on a campaign: that on its steps, on what a stopped step left, on what is missing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from acceptance import verdict
from acceptance.campaigns.known_nodes import of_campaign
from acceptance.campaigns.links import judge_links
from acceptance.campaigns.runner import over
from acceptance.campaigns.state import DONE, NOT_PROVIDED, State
from acceptance.campaigns.steps import ALL_PAIRS, LINK_SUITE, LINKS, OWN
from acceptance.core.paths import Workspace
from acceptance.rfm import ResultsFault, Session, SiteFault, configuration, database
from acceptance.site import partition_size
from acceptance.verdict import (
    WORDS,
    Repetition,
    Status,
    Unprovided,
    Verdict,
    compare_with_baselines,
    compare_with_guidelines,
    fail_without_suite,
    judge_cases,
    judge_nodes,
    merged,
    tolerance_of,
)

#: Characters of a problem that the summary shows.
_LONGEST = 300


def examine(
    state: State,
    workspace: Workspace,
    config_files: Sequence[Path],
    again: Repetition | None = None,
) -> Verdict:
    """Judge all steps together; `again` is as in `acceptance.verdict.examine`.

    Raises Interrupted when this process is told to stop while it measures again.
    """
    runs = [step.last.run for step in state.steps if step.last]
    given = Verdict()
    if runs:
        given = verdict.examine(
            workspace, runs, config_files=config_files, again=again, with_nodes=False
        )
    given.campaign, given.system = state.id, state.asked.get("system", given.system)
    try:
        left = stopped(state, workspace.results)
        parts = [_judge_part(session) for session in left]
        for session in left:
            compare_with_guidelines(given, workspace.results, session, config_files)
            compare_with_baselines(given, session, workspace.reference)
    except ResultsFault as err:
        given.cannot_judge("unreadable-database", str(err), str(workspace.results))
        parts = []
    missing = Verdict(
        unprovided=[
            Unprovided(Path(path).name, step.reason, step.remedy)
            for step in state.steps
            if step.state == NOT_PROVIDED
            for path in step.files
        ]
    )
    given = merged([given, *parts, missing])
    _judge_nodes(given, state, workspace, config_files)
    given.notes += state.notes
    _judge_whole(given, state)
    return given


def _judge_nodes(
    given: Verdict, state: State, workspace: Workspace, config_files: Sequence[Path]
) -> None:
    """Add which nodes all steps together have benchmarked, and those that are slow."""
    try:
        site = configuration.load(config_files)
        known = of_campaign(state, site)
        measured = sessions(state, workspace.results)
    except (ResultsFault, SiteFault) as err:
        given.cannot_judge("unreadable-database", str(err), str(workspace.results))
        return
    judge_nodes(given, measured, known, tolerance_of(workspace.reference / "tolerances.yaml"))
    judge_links(given, known, [case for session in measured for case in session.cases])
    _tell_once(given, site.system(state.asked.get("system") or None))


def _tell_once(given: Verdict, system: dict[str, Any]) -> None:
    """Leave out which nodes are not up where the checks said it at load: it has its own line."""
    told = {
        f"ReFrame: {system['name']}:{part['name']}: {size.told}"
        for part in system["partitions"]
        if (size := partition_size(part))
    }
    given.notes = [note for note in given.notes if note not in told]


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
    sessions: list[Session] = []
    for step in state.steps:
        later: set[tuple[str, str]] = set()
        parts: list[Session] = []
        attempts = [*step.kept, *([step.last] if step.last else [])]
        for uuid in reversed([attempt.session for attempt in attempts if attempt.session]):
            session = database.session(results, uuid)
            kept = tuple(
                case
                for case in session.cases
                if over(case) and (case.name, case.where) not in later
            )
            later |= {(case.name, case.where) for case in kept}
            if step.last is None or uuid != step.last.session:
                parts.append(replace(session, cases=kept))
        sessions += reversed(parts)
    return sessions


def _judge_part(session: Session) -> Verdict:
    """Judge what was over of a run that was stopped."""
    verdict = Verdict()
    judge_cases(verdict, session)
    return verdict


def _judge_whole(given: Verdict, state: State) -> None:
    """Take back, and add, what only all steps together show."""
    suites = [step for step in state.steps if step.name not in (LINKS, ALL_PAIRS, OWN)]
    if any(use.suite != LINK_SUITE for use in given.suites):
        # The extra options of the campaign left out all of one suite, not of every one.
        given.problems = [
            problem
            for problem in given.problems
            if not (problem.kind == "no-cases" and problem.about)
        ]
    # What one step measured nothing of may be measured by another one.
    measured = {case.suite for case in given.cases if case.measured}
    given.problems = [
        problem
        for problem in given.problems
        if not (
            problem.kind == "nothing-measured" and problem.about and measured >= {*problem.about}
        )
    ]
    of_pairs = [step for step in state.steps if step.name == ALL_PAIRS]
    if suites and not any(step.last or step.kept for step in (*suites, *of_pairs)):
        fail_without_suite(given)
    for step in state.steps:
        if step.state not in (DONE, NOT_PROVIDED):
            given.fail("step-not-run", f"the step {step.name} is {step.state}", step.name)
    if given.status != Status.CANNOT_JUDGE:
        given.status = Status.FAILED if given.problems else Status.PASSED


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
        f"{given.cases_text};",
        f"{judged} metrics judged, {given.recorded} recorded, not judged.",
    ]
    if given.problems:
        more = len(given.problems) - 1
        first = shorten(given.problems[0].message, _LONGEST, placeholder=" ...")
        words.append(f"First problem: {first}" + (f" (and {more} more)" if more else "") + ".")
    words.append(f"Log: {state.log}")
    return " ".join(words)
