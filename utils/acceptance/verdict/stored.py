"""Verdicts that are kept, one file a run or campaign, and what is acknowledged later."""

from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from acceptance.alerts import Alert, Notification, notify
from acceptance.core import state_files
from acceptance.core.findings import Finding
from acceptance.core.paths import Workspace, named
from acceptance.core.state_files import StoredFault
from acceptance.verdict.announce import announce, looked_at
from acceptance.verdict.model import ACCEPT, Status, Verdict


def path_of(workspace: Workspace, key: str) -> Path:
    """Return the file of a verdict: `key` is a session, or the id of a campaign."""
    return workspace.verdicts / f"{key}.json"


def keep(workspace: Workspace, key: str, verdict: Verdict) -> None:
    """Store a verdict; raises StoredFault."""
    state_files.write(path_of(workspace, key), verdict)


def read(workspace: Workspace, key: str) -> Verdict | None:
    """Return a verdict that was kept, as it was given; None where there is none.

    Raises StoredFault for one that cannot be read.
    """
    path = path_of(workspace, key)
    try:
        data = state_files.read(path)
        return None if data is None else Verdict.of_data(data)
    except ValueError as err:
        raise StoredFault(f"{path}: no verdict: {err}") from None


def settle(verdict: Verdict, workspace: Workspace, now: datetime, *, send: bool = False) -> None:
    """Give a new verdict its alerts, and let those that are acknowledged fail nothing.

    With `send` what is new is sent; without it nothing is written. An acceptance has a protocol:
    of its findings only incidents of the history are alerts.
    """
    folder, named_by = workspace.alerts, workspace.named_by
    verdict.problems = [
        replace(problem, text=named(problem.text, named_by)) for problem in verdict.problems
    ]
    try:
        known = notify.listing(now, folder).alerts
    except StoredFault:  # reported when it is compared
        known = []
    tell = verdict.sort != ACCEPT
    if tell:
        announce(verdict, known)
    alerts = [
        replace(each, finding=replace(each.finding, text=named(each.finding.text, named_by)))
        for each in _alerts(verdict)
    ]
    looked = looked_at(verdict, {verdict.system})

    def judged(each: Alert) -> bool:
        return (tell or each.finding.of_history) and looked(each)

    try:
        if send:
            outcome = notify.update(alerts, now, folder, judged=judged, named_by=named_by)
        else:
            outcome = notify.preview(alerts, now, folder, judged=judged)
    except StoredFault as err:
        verdict.fail("alerts", str(err))
        outcome = Notification(open=alerts)
    _apply(verdict, outcome)
    verdict.notes += [f"ended: {each.line} [{each.id}]" for each in outcome.ended]
    verdict.notes += [f"alert sent to {name}" for name in outcome.delivered]
    verdict.notes += [f"alerts: {text}" for text in outcome.faults]
    verdict.notes = [named(note, named_by) for note in verdict.notes]


def reconsider(verdict: Verdict, workspace: Workspace, now: datetime) -> None:
    """Let acknowledgements that were made, or have ended, since a verdict was given count in it.

    What an acceptance has concluded stays: its protocol may be signed.
    """
    if verdict.outcome:
        return
    try:
        outcome = notify.preview(_alerts(verdict), now, workspace.alerts, judged=lambda _: False)
    except StoredFault as err:
        verdict.fail("alerts", str(err))
        return
    verdict.notes += [f"alerts: {text}" for text in outcome.notes]
    _apply(verdict, outcome)


def _alerts(verdict: Verdict) -> list[Alert]:
    """Return all alerts of a verdict, whether or not they were acknowledged."""
    return [*verdict.alerts, *verdict.acknowledged]


def _apply(verdict: Verdict, outcome: Notification) -> None:
    """Sort alerts and problems by what is acknowledged, and judge by what is left."""
    verdict.alerts = outcome.open
    verdict.acknowledged = outcome.acknowledged
    acknowledged = {each.id for each in outcome.acknowledged}

    def is_excused(problem: Finding) -> bool:
        return bool(problem.alerts) and acknowledged.issuperset(problem.alerts)

    problems = [*verdict.problems, *verdict.excused]
    verdict.problems = [problem for problem in problems if not is_excused(problem)]
    verdict.excused = [problem for problem in problems if is_excused(problem)]
    if verdict.status != Status.CANNOT_JUDGE:
        verdict.status = Status.FAILED if verdict.problems else Status.PASSED
