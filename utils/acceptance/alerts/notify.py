"""Alerts: each sent once, its end once, to every target; what a target refuses is sent next time.

State, in `var/alerts/`: `state.json` (which alerts are open, when they were sent and to whom, and
the messages that wait for a target), `acks.json` (see `alerts/acknowledgements.py`), `lock`. A
message is sent once the state that holds it is written; so a kill at any moment loses no alert, and
sends one twice only when it falls between the delivery and the note of it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from acceptance.alerts import acknowledgements, messages, targets
from acceptance.alerts import state as alertstate
from acceptance.alerts.acknowledgements import Ack, AckFault
from acceptance.alerts.alert import Alert
from acceptance.alerts.messages import Message, News
from acceptance.alerts.notification import Failure, Notification
from acceptance.alerts.state import Entry, State, stamp
from acceptance.alerts.targets import Targets
from acceptance.core import state_files
from acceptance.core.errors import Fault
from acceptance.core.paths import ALERT_TARGETS

#: Seconds to wait for another process that sends alerts.
PATIENCE = 120.0

#: Attempts after which a message no longer holds up those after it: its target may refuse it alone.
STUBBORN = 3

#: Seconds that the failures of one target may take in a run.
BUDGET = 60.0


class AlertFault(Fault):
    """The state of alerts cannot be read, written or locked: which file, why."""


def update(
    alerts: Sequence[Alert],
    now: datetime,
    folder: Path,
    *,
    judged: Callable[[Alert], bool] = lambda alert: True,
    to: Targets | None = None,
    named_by: str = "",
) -> Notification:
    """Take note of all alerts that are open `now` (with time zone), and send what is new of them.

    Alerts of earlier runs that are missing have ended, unless `judged` says that this run could
    not have found them. `to` are the targets (default: those of environment and file), `named_by`
    is how commands name the configuration (`Workspace.named_by`). What a target does not take is no
    error but a failure in the notification. Raises AlertFault when state cannot be kept; then
    nothing new was sent, and all will be next time.
    """
    to = targets.load() if to is None else to
    if not alerts and not folder.exists():
        return Notification(notes=list(to.notes))
    notification = Notification(notes=list(to.notes))
    with _faults(), state_files.locked(folder / "lock", PATIENCE):
        state = alertstate.read(folder, notification.notes)
        news = _compare(state, alerts, now, judged, _acks(folder, notification.notes), notification)
        if news and to.targets:
            subject, body = messages.subject(news), messages.body(news, now, named_by)
            state.waiting += [Message(name, stamp(now), subject, body) for name in to.names]
            _mark_sent(state, news, now, to.names)
        elif news:
            notification.notes.append(_nobody())
        alertstate.write(folder, state)
        _deliver(folder, state, to, now, notification, named_by)
    return notification


def preview(
    alerts: Sequence[Alert],
    now: datetime,
    folder: Path,
    *,
    judged: Callable[[Alert], bool] = lambda alert: True,
) -> Notification:
    """Tell what `update` would find, without writing or sending anything.

    Raises AlertFault when the state cannot be read.
    """
    notification = Notification()
    with _faults():
        state = alertstate.read(folder, notification.notes, aside=False)
    _compare(state, alerts, now, judged, _acks(folder, notification.notes), notification)
    return notification


def send(
    now: datetime, folder: Path, *, to: Targets | None = None, named_by: str = ""
) -> Notification:
    """Send what waits, and nothing else.

    Raises AlertFault as `update`.
    """
    to = targets.load() if to is None else to
    notification = Notification(notes=list(to.notes))
    if not folder.exists():
        return notification
    with _faults(), state_files.locked(folder / "lock", PATIENCE):
        state = alertstate.read(folder, notification.notes)
        _deliver(folder, state, to, now, notification, named_by)
    return notification


def forget(target: str, folder: Path) -> int:
    """Remove the messages that wait for a target; return their number.

    Raises AlertFault as `update`.
    """
    if not folder.exists():
        return 0
    with _faults(), state_files.locked(folder / "lock", PATIENCE):
        notes: list[str] = []
        state = alertstate.read(folder, notes, aside=False)
        if notes:  # what is malformed shall not be overwritten here
            raise AlertFault("; ".join(notes))
        kept = [message for message in state.waiting if message.target != target]
        dropped, state.waiting = len(state.waiting) - len(kept), kept
        alertstate.write(folder, state)
    return dropped


@dataclass(frozen=True)
class Listing:
    """What is stored: open alerts with their acknowledgements, undelivered messages, and notes."""

    entries: tuple[tuple[Entry, Ack | None], ...]
    waiting: tuple[Message, ...]
    notes: tuple[str, ...]


def listing(now: datetime, folder: Path) -> Listing:
    """Return what is stored, changing nothing.

    Raises AlertFault when it cannot be read.
    """
    notes: list[str] = []
    with _faults():
        state = alertstate.read(folder, notes, aside=False)
    acks = _acks(folder, notes)
    entries = tuple(
        (entry, acknowledgements.find(acks, entry.alert, now, datetime.fromisoformat(entry.opened)))
        for entry in state.entries.values()
    )
    return Listing(entries, tuple(state.waiting), tuple(notes))


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except state_files.StoredFault as err:
        raise AlertFault(f"alerts: {err}") from None


def _nobody() -> str:
    return (
        "nobody is told of these alerts: no target is configured; set "
        f"{ALERT_TARGETS} or write {targets.FILE_VARIABLE}"
    )


def _acks(folder: Path, notes: list[str]) -> list[Ack]:
    try:
        return acknowledgements.load(folder)
    except AckFault as err:
        notes.append(f"{err}; nothing counts as acknowledged")
        return []


def _compare(
    state: State,
    alerts: Sequence[Alert],
    now: datetime,
    judged: Callable[[Alert], bool],
    acks: Sequence[Ack],
    notification: Notification,
) -> News:
    """Compare the alerts of this run with those of the state, which is brought up to date."""
    unsent: list[Alert] = []
    lapsed: list[tuple[Alert, str]] = []
    ended: list[Alert] = []
    current = {alert.id: alert for alert in alerts}
    for alert in current.values():
        known = state.entries.get(alert.id)
        entry = replace(known, alert=alert, seen=stamp(now)) if known else Entry(alert, stamp(now))
        ack = acknowledgements.find(acks, alert, now, datetime.fromisoformat(entry.opened))
        if ack:
            notification.acknowledged.append((alert, ack))
            entry = replace(entry, acknowledged=ack.text)
        elif entry.acknowledged:
            # The mark stays until it is sent: `_mark_sent` takes it off.
            notification.lapsed.append(alert)
            lapsed.append((alert, entry.acknowledged))
        else:
            (notification.standing if known else notification.new).append(alert)
            if not entry.sent:
                unsent.append(alert)
        state.entries[alert.id] = entry
    for entry in [one for key, one in state.entries.items() if key not in current]:
        if judged(entry.alert):
            del state.entries[entry.alert.id]
            notification.ended.append(entry.alert)
            if entry.sent:
                ended.append(entry.alert)
    return News(tuple(unsent), tuple(lapsed), tuple(ended))


def _mark_sent(state: State, news: News, now: datetime, names: Sequence[str]) -> None:
    for alert in [*news.new, *(alert for alert, _ in news.lapsed)]:
        state.entries[alert.id] = replace(
            state.entries[alert.id], sent=stamp(now), targets=tuple(names), acknowledged=""
        )


def _deliver(
    folder: Path,
    state: State,
    to: Targets,
    now: datetime,
    notification: Notification,
    named_by: str,
) -> None:
    """Send what waits, the oldest first; a target that fails does not hold up the others."""
    for target in to.targets:
        queue = [message for message in state.waiting if message.target == target.name]
        failed: list[Message] = []
        why, end = "", time.monotonic() + BUDGET
        while queue:
            message = queue.pop(0)
            fault = targets.send(target, message.subject, message.body)
            place = state.waiting.index(message)
            if fault is None:
                del state.waiting[place]
                delivered = notification.delivered
                delivered[target.name] = delivered.get(target.name, 0) + 1
            else:
                why = fault
                state.waiting[place] = replace(message, attempts=message.attempts + 1, why=why)
                failed.append(message)
            alertstate.write(folder, state)
            if fault is not None and (message.attempts < STUBBORN or time.monotonic() > end):
                break
        if failed:
            left = [*failed, *queue]
            notification.failures.append(Failure(target.name, why, len(left), left[0].age(now)))
    for name in dict.fromkeys(message.target for message in state.waiting):
        if name not in to.names:
            theirs = [message for message in state.waiting if message.target == name]
            notification.notes.append(
                f"{len(theirs)} kept for target {name}, which is not configured (the oldest for "
                f"{theirs[0].age(now)}); drop with: acceptance alerts{named_by} --forget {name}"
            )
