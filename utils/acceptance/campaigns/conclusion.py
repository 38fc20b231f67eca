"""The verdict that counts, whoever asks: on the campaign that ended last, unless a run by hand did.

That is decided by every witness: the campaigns' states, ReFrame's log, and the results database.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from acceptance import verdict
from acceptance.campaigns import lock
from acceptance.campaigns import state as campaign
from acceptance.campaigns import verdict as campaign_verdict
from acceptance.campaigns.state import DONE, NOT_PROVIDED, CampaignFault, State
from acceptance.core.paths import Workspace
from acceptance.rfm import database, last_run, marks
from acceptance.rfm.last_run import LastRun
from acceptance.verdict import Repetition, Verdict, VerdictFault, is_repetition, stored

#: The kind of campaign that ends with a protocol.
ACCEPT = "accept"


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
    given = campaign_verdict.examine(state, workspace, config_files, again)
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
        return _no_verdict(Verdict(), "last-run", last.fault), ""
    try:
        state = _newest(workspace)
    except CampaignFault as err:
        return _no_verdict(Verdict(), "campaign", str(err)), ""
    if state is not None and not _is_before(workspace, state, last):
        if unknown := last_run.unlogged(workspace):
            return _no_verdict(Verdict(), "campaign", unknown), ""
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
    for uuid in reversed(database.ids(workspace.results)):
        session = database.session(workspace.results, uuid)
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
        return _no_verdict(none, "campaign", unfinished(state), state.kind)
    path = stored.path_of(workspace, state.id)
    again = f"restore it from a backup, or measure again: acceptance {state.kind}"
    try:
        given = stored.read(workspace, state.id)
    except VerdictFault as err:
        return _no_verdict(none, "verdict", f"{err}; {again}", state.kind)
    if given is None:
        return _no_verdict(none, "verdict", f"{path}: is not there; {again}", state.kind)
    if (given.campaign, given.status) != (state.id, state.status):
        return _no_verdict(
            none,
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
        return _no_verdict(Verdict(campaign=key), "campaign", str(err))
    return of_campaign(state, workspace, config_files, now)


def _no_verdict(verdict: Verdict, kind: str, message: str, *about: str) -> Verdict:
    verdict.cannot_judge(kind, message, *about)
    return verdict


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
    if last.mark is None and last.run is None:
        return False
    of_campaign = [m for m in marks.read(workspace.var) if campaign.id_of(m.label) == state.id]
    if of_campaign and last.mark is not None:
        # A run that has no end may have ended last.
        return not last.mark.ended or last.mark.ended > max(mark.ended for mark in of_campaign)
    if last.run is None:
        return True
    return state.last_change < datetime.fromisoformat(last.run.last).astimezone()
