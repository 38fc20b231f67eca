"""The verdict that counts, whoever asks: on the campaign that ended last, unless a run by hand did.

That is decided by the marks of runs and the campaigns' states.
The verdict on a campaign is that on its steps, on what a stopped step left, and on what is missing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import Any

from acceptance import ledger, verdict
from acceptance.campaigns import lock
from acceptance.campaigns import state as campaign
from acceptance.campaigns.nodes import asked_nodes, judge_links
from acceptance.campaigns.runner import over
from acceptance.campaigns.state import DONE, NOT_PROVIDED, CampaignFault, State
from acceptance.campaigns.steps import ALL_PAIRS, LINK_SUITE, LINKS, OWN
from acceptance.core.paths import Workspace
from acceptance.ledger import Ledger, ResultsFault, Session
from acceptance.rfm import SiteFault, configuration, last_run, marks
from acceptance.rfm.last_run import LastRun
from acceptance.site import partition_size
from acceptance.verdict import (
    WORDS,
    Repetition,
    Status,
    Unprovided,
    Verdict,
    VerdictFault,
    compare_with_baselines,
    compare_with_guidelines,
    fail_without_suite,
    is_repetition,
    judge_cases,
    judge_nodes,
    merged,
    stored,
)

#: The kind of campaign that ends with a protocol.
ACCEPT = "accept"
#: Characters of a problem that the summary shows.
_LONGEST = 300


def conclude(
    state: State,
    workspace: Workspace,
    config_files: Sequence[Path],
    *,
    send: bool = False,
    again: Repetition | None = None,
) -> Verdict:
    """Judge a campaign whose steps are over; `send` and `again` as for a run.

    An acceptance has a protocol, and no alerts but the incidents of the history. Raises Interrupted
    when this process is told to stop while it measures again.
    """
    given = _judge_steps(state, workspace, config_files, again)
    now = campaign.now()
    given.given = campaign.stamp(now)
    stored.settle(given, workspace, now, send=send, tell=state.kind != ACCEPT)
    return given


def current(
    workspace: Workspace, run_id: str | None, config_files: Sequence[Path], now: datetime
) -> tuple[Verdict | None, str]:
    """Return the verdict on the campaign that is asked for, and what to note beside it.

    That is the campaign `run_id`, or without one that which ended last. None where a run by hand is
    asked for, or has ended later: it is judged by itself.
    """
    if run_id is not None:
        if campaign.id_of(run_id) != run_id:
            return None, ""
        return _asked(workspace, run_id, config_files, now), ""
    last = last_run.find(workspace, _is_by_hand)
    if last.fault:
        return Verdict().cannot_judge("last-run", last.fault), ""
    try:
        state = _newest(workspace)
    except CampaignFault as err:
        return Verdict().cannot_judge("campaign", str(err)), ""
    if state is not None and not _is_before(workspace, state, last):
        return of_campaign(state, workspace, config_files, now), ""
    return None, "" if state is None or state.ended else unfinished(state)


def nights(workspace: Workspace, config_files: Sequence[Path], now: datetime) -> Iterator[Verdict]:
    """Yield the verdict on the newest night of each system, for whoever watches all of them."""
    newest: dict[str, State] = {}
    for state in campaign.readable(workspace.campaigns, "nightly-*"):
        system = state.asked.get("system", "")
        if system not in newest or newest[system].last_change < state.last_change:
            newest[system] = state
    for state in newest.values():
        yield of_campaign(state, workspace, config_files, now)


def last_measured(
    workspace: Workspace, config_files: Sequence[Path], now: datetime
) -> Verdict | None:
    """Return the verdict on what was measured last, whatever was simulated since; None: nothing.

    Raises ResultsFault and VerdictFault where it, or its session, cannot be read.
    """
    past = ledger.of(workspace)
    for uuid in reversed(past.ids()):
        session = past.session(uuid)
        if all(case.simulated for case in session.cases):
            continue
        if key := campaign.id_of(session.label):
            return _asked(workspace, key, config_files, now)
        if given := stored.read(workspace, uuid):
            stored.reconsider(given, workspace, now)
            return given
        where, files = workspace.results, config_files
        return verdict.conclude(
            workspace, database=where, session=uuid, config_files=files, keep=False, now=now
        )
    return None


def send(given: Verdict, workspace: Workspace, now: datetime) -> None:
    """Send what is new of the alerts of a campaign, as it would have done itself.

    Raises CampaignFault for an acceptance, which has a protocol instead.
    """
    if given.sort == ACCEPT:
        raise CampaignFault(f"{given.campaign} sends no alerts: an acceptance has a protocol")
    stored.settle(given, workspace, now, send=True)


def of_campaign(
    state: State, workspace: Workspace, config_files: Sequence[Path], now: datetime
) -> Verdict:
    """Return the verdict that a campaign ended with; what is acknowledged since counts in it.

    Of one that has not ended, or whose verdict cannot be read, it says so: then it cannot judge.
    """
    none = Verdict(
        campaign=state.id,
        system=state.asked.get("system", ""),
        time=state.started,
        given=campaign.stamp(state.last_change),
    )
    if not state.ended:
        return none.cannot_judge("campaign", unfinished(state), state.kind)
    path = stored.path_of(workspace, state.id)
    again = f"restore it from a backup, or measure again: acceptance {state.kind}"
    try:
        given = stored.read(workspace, state.id)
    except VerdictFault as err:
        return none.cannot_judge("verdict", f"{err}; {again}", state.kind)
    if given is None:
        return none.cannot_judge("verdict", f"{path}: is not there; {again}", state.kind)
    if (given.campaign, given.status) != (state.id, state.status):
        return none.cannot_judge(
            "verdict",
            f"{state.id} ended with status {state.status}, and {path} says {given.status:d} of "
            f"{given.campaign}; look into {state.log}, and measure again",
            state.kind,
        )
    stored.reconsider(given, workspace, now)
    return given


def unfinished(state: State) -> str:
    """Say where a campaign that has not ended is, and what to do."""
    left = [step.name for step in state.steps if step.state not in (DONE, NOT_PROVIDED)]
    where = f"in its step {left[0]}" if left else "before its verdict"
    if holder := lock.holder(state):
        return f"{state.id} is not over: {where}; {holder}"
    return f"{state.id} was stopped {where}; measure again: acceptance {state.kind}"


def _asked(workspace: Workspace, key: str, config_files: Sequence[Path], now: datetime) -> Verdict:
    try:
        state = campaign.load(workspace.campaigns / key / "state.json")
    except CampaignFault as err:
        return Verdict(campaign=key).cannot_judge("campaign", str(err))
    return of_campaign(state, workspace, config_files, now)


def _is_by_hand(label: str) -> bool:
    return not is_repetition(label) and not campaign.id_of(label)


def _newest(workspace: Workspace) -> State | None:
    """Return the campaign that began a run last; by their clocks where that cannot be told."""
    newest = campaign.newest(workspace.campaigns)
    ids = [campaign.id_of(mark.label) for mark in marks.read(workspace.var)]
    ids = [id for id in ids if (workspace.campaigns / id / "state.json").exists() and id]
    if newest is None or not ids or newest.id not in ids[:-1]:
        return newest
    return campaign.load(workspace.campaigns / ids[-1] / "state.json")


def _is_before(workspace: Workspace, state: State, last: LastRun) -> bool:
    """Tell whether a campaign ended before the last run by hand."""
    if last.mark is None:
        return False
    of_campaign = [m for m in marks.read(workspace.var) if campaign.id_of(m.label) == state.id]
    if not of_campaign:  # it ran nothing: no order is known but that of the clock
        return state.last_change < datetime.fromisoformat(last.mark.began)
    # A run that has no end may have ended last.
    return not last.mark.ended or last.mark.ended > max(mark.ended for mark in of_campaign)


def _judge_steps(
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
    parts = []
    try:
        for session in stopped(state, ledger.of(workspace)):
            parts.append(Verdict())
            judge_cases(parts[-1], session)
            compare_with_guidelines(given, ledger.of(workspace), session, config_files)
            compare_with_baselines(given, session, workspace.reference)
    except ResultsFault as err:
        given.cannot_judge("unreadable-database", str(err), str(workspace.results))
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
        known = asked_nodes(state, site)
        measured = sessions(state, ledger.of(workspace))
    except (ResultsFault, SiteFault) as err:
        given.cannot_judge("unreadable-database", str(err), str(workspace.results))
        return
    judge_nodes(given, measured, known)
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


def sessions(state: State, past: Ledger) -> list[Session]:
    """Return the sessions of a campaign: of those that were stopped, the cases that were over.

    Raises ResultsFault when one cannot be read.
    """
    last = [step.last.session for step in state.steps if step.last and step.last.session]
    return [*stopped(state, past), *(past.session(uuid) for uuid in last)]


def stopped(state: State, past: Ledger) -> list[Session]:
    """Return the sessions of steps that were stopped, each with the cases that count.

    That is, those that were over and that no later attempt of the step has again.
    """
    sessions: list[Session] = []
    for step in state.steps:
        later: set[tuple[str, str]] = set()
        parts: list[Session] = []
        attempts = [*step.kept, *([step.last] if step.last else [])]
        for uuid in reversed([attempt.session for attempt in attempts if attempt.session]):
            session = past.session(uuid)
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
