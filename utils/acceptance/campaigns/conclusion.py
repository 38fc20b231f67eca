"""The verdict that counts, whoever asks: on the campaign that ended last, unless a run by hand did.

That is decided by the marks that both leave. The verdict on a campaign is that on its steps, on
what a stopped step left, and on what is missing.
"""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from acceptance import ledger, verdict
from acceptance.campaigns import state as campaign
from acceptance.campaigns.nodes import asked_nodes
from acceptance.campaigns.runner import over
from acceptance.campaigns.state import DONE, NOT_PROVIDED, CampaignFault, State, Step
from acceptance.campaigns.steps import ALL_PAIRS, LINKS, OWN
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.state_files import StoredFault
from acceptance.ledger import Ledger, Session
from acceptance.machine import without_case
from acceptance.rfm import marks
from acceptance.rfm.last_run import LastRun
from acceptance.verdict import (
    ACCEPT,
    WORDS,
    Repetition,
    Run,
    Verdict,
    stored,
)


def current(
    workspace: Workspace,
    run_id: str | None,
    config_files: Sequence[Path],
    now: datetime,
    *,
    send: bool = False,
    again: Repetition | None = None,
    keep: bool = False,
) -> Verdict:
    """Return the verdict on the campaign or run `run_id`, or without one on what ended last.

    A campaign has given its own; a run by hand is judged by `again`, and its verdict kept, as
    `verdict.conclude` does it. Raises Fault for what is not possible for a campaign.
    """
    run = verdict.find_run(workspace, run_id)
    mark = run.runs[0].mark
    key = ledger.campaign_of(run_id or (mark.label if mark else ""))
    if not key or run_id not in (None, key):
        given = verdict.conclude(
            workspace, run, config_files=config_files, send=send, again=again, keep=keep, now=now
        )
        if run_id is None and not run.runs[0].fault:
            given.notes += _unfinished_before(workspace)
        return given
    given = _asked(workspace, key, now)
    if again:
        what = f"--again is for a run by hand, and {key} ended last"
        raise Fault(f"{what}; acceptance nightly has an --again of its own")
    if send:
        if run_id:
            raise Fault("--send is for the campaign that ended last: without --run")
        if given.sort == ACCEPT:
            raise Fault(f"{key} sends no alerts: an acceptance has a protocol")
        stored.settle(given, workspace, now, send=True)
    return given


def _unfinished_before(workspace: Workspace) -> list[str]:
    """Note of the newest campaign beside a later run by hand that it did not come to its end."""
    marked = (ledger.campaign_of(mark.label) for mark in marks.read(workspace.var))
    keys = [key for key in marked if key]
    try:
        states = [campaign.load(workspace.campaigns / key / "state.json") for key in keys[-1:]]
        return [unfinished(state) for state in states if not state.ended]
    except CampaignFault as err:
        return [str(err)]


def nights(workspace: Workspace, now: datetime) -> Iterator[Verdict]:
    """Yield the verdict on the newest night of each system, for whoever watches all of them.

    It cannot judge where that night cannot be read. One of which the system is not known either is
    told where it is newer than the night of some system.
    """
    every = sorted(
        campaign.readable(workspace.campaigns, "nightly-*"), key=lambda state: state.last_change
    )
    newest = {state.asked.get("system", ""): state for state in every}
    last = {system: state.id for system, state in newest.items()}
    names = {path.name for path in workspace.campaigns.glob("nightly-*") if path.is_dir()}
    names = {name for name in names if ledger.campaign_of(name) == name}
    unread = names - {state.id for state in every}
    for system, name in {_system_of(name, workspace): name for name in sorted(unread)}.items():
        if name > last.get(system, min(last.values(), default="")):
            newest.pop(system, None)
            yield replace(_asked(workspace, name, now), system=system)
    for state in newest.values():
        yield of_campaign(state, workspace, now)


def _system_of(key: str, workspace: Workspace) -> str:
    """Return the system of a campaign without a state, by its verdict; nothing: nobody knows."""
    with contextlib.suppress(StoredFault):
        given = stored.read(workspace, key)
        return given.system if given else ""
    return ""


def last_measured(
    workspace: Workspace, config_files: Sequence[Path], now: datetime
) -> Verdict | None:
    """Return the verdict on what was measured last, whatever was simulated since; None: nothing.

    Raises ResultsFault and StoredFault where it, or its session, cannot be read.
    """
    past = ledger.of(workspace)
    for uuid in reversed(past.ids()):
        session = past.session(uuid)
        if all(case.simulated for case in session.cases):
            continue
        if key := ledger.campaign_of(session.label):
            return _asked(workspace, key, now)
        if given := stored.read(workspace, uuid):
            stored.reconsider(given, workspace, now)
            return given
        where, files = workspace.results, config_files
        return verdict.conclude(
            workspace, database=where, session=uuid, config_files=files, keep=False, now=now
        )
    return None


def of_campaign(state: State, workspace: Workspace, now: datetime) -> Verdict:
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
    fault = f"{path}: is not there; {again}"
    try:
        given = stored.read(workspace, state.id)
    except StoredFault as err:
        given, fault = None, f"{err}; {again}"
    if given and (given.campaign, given.status) == (state.id, state.status):
        stored.reconsider(given, workspace, now)
        return given
    if given:
        fault = (
            f"{state.id} ended with status {state.status}, and {path} says {given.status:d} of "
            f"{given.campaign}; look into {state.log}, and measure again"
        )
    return none.cannot_judge("verdict", fault, state.kind)


def unfinished(state: State) -> str:
    """Say where a campaign that has not ended is, and what to do."""
    left = [step.name for step in state.steps if step.state not in (DONE, NOT_PROVIDED)]
    where = f"in its step {left[0]}" if left else "before its verdict"
    if holder := campaign.holder(state):
        return f"{state.id} is not over: {where}; {holder}"
    return f"{state.id} was stopped {where}; measure again: acceptance {state.kind}"


def _asked(workspace: Workspace, key: str, now: datetime) -> Verdict:
    try:
        state = campaign.load(workspace.campaigns / key / "state.json")
    except CampaignFault as err:
        return Verdict(campaign=key).cannot_judge("campaign", str(err))
    return of_campaign(state, workspace, now)


def run_of(state: State, workspace: Workspace) -> Run:
    """Return what a campaign has run, which is judged as one when its steps are over."""
    suites = [step for step in state.steps if step.name not in (LINKS, ALL_PAIRS, OWN)]
    of_pairs = [step for step in state.steps if step.name == ALL_PAIRS]
    return Run(
        runs=[run for step in state.steps for run in _runs_of(step, workspace)],
        id=state.id,
        system=state.asked.get("system", ""),
        stopped=functools.partial(stopped, state),
        nodes=functools.partial(asked_nodes, state),
        not_run={
            step.name: step.state for step in state.steps if step.state not in (DONE, NOT_PROVIDED)
        },
        unprovided=[
            without_case(Path(path).name, state.asked.get("system", ""), step.reason, step.remedy)
            for step in state.steps
            if step.state == NOT_PROVIDED
            for path in step.files
        ],
        without_suite=bool(suites)
        and not any(step.last or step.kept for step in (*suites, *of_pairs)),
        notes=state.notes,
    )


def _runs_of(step: Step, workspace: Workspace) -> Iterator[LastRun]:
    """Yield the last run of a step; of one that left nothing its exit status tells the end."""
    if step.last is None:
        return
    status = step.last.status or 0
    for run in verdict.find_run(workspace, step.last.run).runs:
        if status >= 0 or run.run or run.mark or run.fault or run.killed:
            yield run
        else:
            said = f"the ReFrame of step {step.name} was killed before it left a mark"
            yield LastRun(killed=f"{said} (signal {-status})", label=run.label)


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


def summary(state: State, given: Verdict) -> str:
    """Return the paragraph that ends a campaign, below its verdict."""
    ran = [step.name for step in state.steps if step.state == DONE]
    missing = [step.name for step in state.steps if step.state == NOT_PROVIDED]
    again = sum(max(0, len(step.attempts) - 1) for step in state.steps)
    steps = f"Steps: {', '.join(ran) or 'none'}"
    steps += f"; not provided here: {', '.join(missing)}" if missing else ""
    steps += f"; {again} times gone on with after a stop" if again else ""
    return f"{state.id}: {WORDS[given.status]}. {steps}. {given.cases_text}. Log: {state.log}"
