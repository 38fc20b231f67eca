"""Alerts: each is sent to every target at least once, and so is its end.

State, in `var/alerts/`: `state.json` (which alerts are open, whom they were sent to, which targets
fail), `acks.json` (see `alerts/acknowledgements.py`), `lock`. A message is made of what its target
was not told yet: what a target does not take is in the message of the next call. The state is
written before anything is sent, and after each message; so a kill at any moment loses no alert, and
sends one twice only when it falls between the delivery and the note of it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from acceptance.alerts import acknowledgements, messages, targets
from acceptance.alerts.acknowledgements import Ack, AckFault
from acceptance.alerts.alert import Alert, Entry, Time
from acceptance.alerts.targets import Target, Targets
from acceptance.core import state_files
from acceptance.core.paths import ALERT_TARGETS

#: Seconds to wait for another process that sends alerts.
PATIENCE = 120.0

_STATE = "state.json"


class Failure(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a target did not take the last message, and since when it takes none."""

    why: str
    since: Time

    def text(self, target: str) -> str:
        """Say it in one line."""
        since = f"{self.since:%Y-%m-%d}"
        return f"target {target}: {self.why} (since {since}; the next call tries again)"


class State(Struct, forbid_unknown_fields=True):
    """What is kept from one call to the next: alerts, and the targets that fail."""

    alerts: list[Entry] = []
    failing: dict[str, Failure] = {}


class Acknowledged(Struct, frozen=True, forbid_unknown_fields=True):
    """An open alert, and who has acknowledged it."""

    alert: Alert
    acknowledgement: Ack

    @property
    def text(self) -> str:
        """Say who has acknowledged it, until when and why; and what it is."""
        return f"{self.acknowledgement.text}: {self.alert.line} [{self.alert.id}]"


@dataclass
class Notification:
    """What became of the alerts of one run.

    `open` are there and not acknowledged, `acknowledged` are only listed, `ended` are there no
    more. `delivered` are the targets that took a message, `failures` those that did not.
    """

    open: list[Alert] = field(default_factory=list)
    acknowledged: list[Acknowledged] = field(default_factory=list)
    ended: list[Alert] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    failures: dict[str, Failure] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """Return why somebody was not told, a line each."""
        return [*(failure.text(name) for name, failure in self.failures.items()), *self.notes]


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
    not have found them: with none, and none judged, only what targets were not told yet is sent.
    `to` are the targets (default: those of environment and file), `named_by` is how commands name
    the configuration (`Workspace.named_by`). What a target does not take is no error but a failure
    in the notification. Raises StoredFault when state cannot be kept; then nothing new was sent,
    and all will be next time.
    """
    to = targets.load() if to is None else to
    notification = Notification(notes=list(to.notes))
    if not alerts and not folder.exists():
        return notification
    with state_files.locked(folder / "lock", PATIENCE):
        state = _read(folder, notification.notes)
        acks = _acks(folder, notification.notes)
        state.alerts = list(_compared(state, alerts, now, judged, acks, notification))
        state_files.write(folder / _STATE, state)
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

    Raises StoredFault when the state cannot be read.
    """
    notification = Notification()
    state = _read(folder, notification.notes, aside=False)
    acks = _acks(folder, notification.notes)
    list(_compared(state, alerts, now, judged, acks, notification))
    return notification


@dataclass(frozen=True)
class Listing:
    """What is stored: open alerts with their acknowledgements, targets that fail, and notes."""

    entries: tuple[tuple[Entry, Ack | None], ...]
    failing: dict[str, Failure]
    notes: tuple[str, ...]


def listing(now: datetime, folder: Path) -> Listing:
    """Return what is stored, changing nothing.

    Raises StoredFault when it cannot be read.
    """
    notes: list[str] = []
    state = _read(folder, notes, aside=False)
    acks = _acks(folder, notes)
    entries = tuple(
        (entry, acknowledgements.find(acks, entry.alert, now, entry.opened))
        for entry in state.alerts
        if not entry.ended
    )
    return Listing(entries, state.failing, tuple(notes))


def _read(folder: Path, notes: list[str], *, aside: bool = True) -> State:
    """Read the state; one that is malformed counts as none, so that all alerts are sent again.

    What is malformed is put `aside` and noted. Raises StoredFault.
    """
    path = folder / _STATE
    try:
        return state_files.read(path, State) or State()
    except ValueError as err:
        kept = f"; kept as {state_files.put_aside(path).name}" if aside else ""
        notes.append(f"{path}: malformed ({err}){kept}; all open alerts are sent again")
        return State()


def _acks(folder: Path, notes: list[str]) -> list[Ack]:
    try:
        return acknowledgements.load(folder)
    except (AckFault, state_files.StoredFault) as err:
        notes.append(f"{err}; nothing counts as acknowledged")
        return []


def _compared(
    state: State,
    alerts: Sequence[Alert],
    now: datetime,
    judged: Callable[[Alert], bool],
    acks: Sequence[Ack],
    notification: Notification,
) -> Iterator[Entry]:
    """Compare the alerts of this run with those of the state; yield what is kept of both."""
    known = {entry.alert.id: entry for entry in state.alerts if not entry.ended}
    current = {alert.id: alert for alert in alerts}
    for alert in current.values():
        entry = replace(known.get(alert.id) or Entry(alert, now, now), alert=alert, seen=now)
        if ack := acknowledgements.find(acks, alert, now, entry.opened):
            notification.acknowledged.append(Acknowledged(alert, ack))
            yield replace(entry, acknowledged=ack.text)
            continue
        if entry.acknowledged:
            entry = replace(entry, acknowledged="", lapsed=entry.acknowledged, told={})
        notification.open.append(alert)
        yield entry
    for entry in state.alerts:
        if entry.alert.id in current:
            continue
        if entry.ended or not judged(entry.alert):
            yield entry
            continue
        notification.ended.append(entry.alert)
        if entry.told or not entry.acknowledged:
            yield replace(entry, ended=now, told={}, acknowledged="")


def _deliver(
    folder: Path,
    state: State,
    to: Targets,
    now: datetime,
    notification: Notification,
    named_by: str,
) -> None:
    """Send each target what it was not told; one that fails does not hold up the others."""
    state.failing = {name: why for name, why in state.failing.items() if name in to.names}
    for target in to.targets:
        if not (due := [entry for entry in state.alerts if _is_due(entry, target)]):
            continue
        why = targets.send(target, messages.subject(due), messages.body(due, now, named_by))
        if why is None:
            state.failing.pop(target.name, None)
            notification.delivered.append(target.name)
            state.alerts = [
                replace(entry, told={**entry.told, target.name: now}) if entry in due else entry
                for entry in state.alerts
            ]
        else:
            before = state.failing.get(target.name)
            failure = Failure(why, before.since if before else now)
            state.failing[target.name] = notification.failures[target.name] = failure
        state_files.write(folder / _STATE, state)
    if not to.targets and any(not entry.acknowledged and not entry.told for entry in state.alerts):
        notification.notes.append(
            "nobody is told of these alerts: no target is configured; set "
            f"{ALERT_TARGETS} or write {targets.FILE_VARIABLE}"
        )
    state.alerts = list(_kept(state.alerts, to))
    state_files.write(folder / _STATE, state)


def _is_due(entry: Entry, target: Target) -> bool:
    return not entry.acknowledged and target.name not in entry.told


def _kept(entries: Sequence[Entry], to: Targets) -> Iterator[Entry]:
    """Yield what is kept: nothing of an end, or a lapsed acknowledgement, that all were told."""
    for entry in entries:
        told = not any(_is_due(entry, target) for target in to.targets)
        if not (entry.ended and told):
            yield replace(entry, lapsed="") if told and to.targets else entry
