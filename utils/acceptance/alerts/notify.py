"""Alerts: each is sent to every target at least once, and so is its end.

State, in `var/alerts/`: `state.json` (which alerts are open, whom they were sent to, which targets
fail), `acks.json` (see `alerts/acknowledgements.py`), `lock`. A message is made of what its target
was not told yet: what a target does not take is in the message of the next call. The state is
written before anything is sent, and after each message; so a kill at any moment loses no alert, and
sends one twice only when it falls between the delivery and the note of it.
"""

import shlex
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from acceptance.alerts import acknowledgements, targets
from acceptance.alerts.acknowledgements import Ack, Alert, Time
from acceptance.alerts.targets import Target, Targets
from acceptance.core import state_files
from acceptance.core.errors import Fault
from acceptance.core.paths import ALERT_TARGETS, named
from acceptance.core.text import one_line

#: Seconds to wait for another process that sends alerts.
PATIENCE = 120.0

_STATE = "state.json"
#: What of an alert is kept from one call to the next; the rest is as the run found it.
_KEPT = ("opened", "told", "acknowledged", "lapsed")

#: Alerts that a message spells out; the command `acceptance alerts` lists all.
SHOWN = 20

#: Characters of the longest subject.
LONGEST = 160


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

    alerts: list[Alert] = []
    failing: dict[str, Failure] = {}

    def __post_init__(self) -> None:
        """Refuse an alert of which nobody knows when it was seen."""
        for alert in self.alerts:
            if alert.opened is None or alert.seen is None:
                raise ValueError(f"alert {alert.id} has no time at which it was seen")


@dataclass
class Notification:
    """What became of the alerts of one run, or what is stored of all.

    `open` are there and not acknowledged, `acknowledged` are only listed, `ended` are there no
    more. `delivered` are the targets that took a message, `failures` those that did not; `acks` all
    that somebody has acknowledged, or expects to fail.
    """

    open: list[Alert] = field(default_factory=list)
    acknowledged: list[Alert] = field(default_factory=list)
    ended: list[Alert] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    failures: dict[str, Failure] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    acks: Sequence[Ack] = ()

    @property
    def alerts(self) -> list[Alert]:
        """Return those that are there, those that nobody acknowledged first."""
        return [*self.open, *self.acknowledged]

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
        notification.acks = _acks(folder, notification.notes)
        state.alerts = list(_compared(state, alerts, now, judged, notification))
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
    notification.acks = _acks(folder, notification.notes)
    list(_compared(state, alerts, now, judged, notification))
    return notification


def listing(now: datetime, folder: Path) -> Notification:
    """Return what is stored, changing nothing: open alerts, and targets that fail.

    Raises StoredFault when it cannot be read.
    """
    found = Notification()
    state = _read(folder, found.notes, aside=False)
    acks = _acks(folder, found.notes)
    for alert in state.alerts:
        if not alert.ended:
            ack = acknowledgements.find(acks, alert, now)
            (found.acknowledged if ack else found.open).append(replace(alert, acknowledged=ack))
    found.failures = state.failing
    return found


def _read(folder: Path, notes: list[str], *, aside: bool = True) -> State:
    """Read the state; one that is malformed counts as none: what a run still finds is sent again.

    What is malformed is put `aside` and noted. Raises StoredFault.
    """
    path = folder / _STATE
    try:
        return state_files.read(path, State) or State()
    except ValueError as err:
        kept = f"; kept as {state_files.put_aside(path).name}" if aside else ""
        rest = "it alone has those that no run looks for again"
        notes.append(f"{path}: malformed ({err}){kept}; alerts found again are sent again; {rest}")
        return State()


def _acks(folder: Path, notes: list[str]) -> list[Ack]:
    try:
        return acknowledgements.load(folder)
    except Fault as err:
        notes.append(f"{err}; nothing counts as acknowledged")
        return []


def _compared(
    state: State,
    alerts: Sequence[Alert],
    now: datetime,
    judged: Callable[[Alert], bool],
    notification: Notification,
) -> Iterator[Alert]:
    """Compare the alerts of this run with those of the state; yield what is kept of both."""
    known = {alert.id: alert for alert in state.alerts if not alert.ended}
    current = {alert.id: alert for alert in alerts}
    for found in current.values():
        before = known.get(found.id) or Alert(found.id, found.finding, opened=now)
        alert = replace(found, seen=now, **{name: getattr(before, name) for name in _KEPT})
        ack = acknowledgements.find(notification.acks, alert, now)
        if before.acknowledged and not ack:
            alert = replace(alert, lapsed=before.acknowledged, told={})
        # Of its state a verdict has but this: it is the same whenever it is asked for.
        (notification.acknowledged if ack else notification.open).append(
            replace(found, acknowledged=ack)
        )
        yield replace(alert, acknowledged=ack)
    for alert in state.alerts:
        if alert.id in current:
            continue
        if alert.ended or not judged(alert):
            yield alert
            continue
        notification.ended.append(alert)
        if alert.told or not alert.acknowledged:
            yield replace(alert, ended=now, told={}, acknowledged=None)


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
        if not (due := [alert for alert in state.alerts if _is_due(alert, target)]):
            continue
        why = targets.send(target, subject(due), body(due, now, named_by))
        if why is None:
            state.failing.pop(target.name, None)
            notification.delivered.append(target.name)
            state.alerts = [
                replace(alert, told={**alert.told, target.name: now}) if alert in due else alert
                for alert in state.alerts
            ]
        else:
            before = state.failing.get(target.name)
            failure = Failure(why, before.since if before else now)
            state.failing[target.name] = notification.failures[target.name] = failure
        state_files.write(folder / _STATE, state)
    if not to.targets and any(not alert.acknowledged and not alert.told for alert in state.alerts):
        notification.notes.append(
            "nobody is told of these alerts: no target is configured; set "
            f"{ALERT_TARGETS} or write {targets.FILE_VARIABLE}"
        )
    state.alerts = list(_kept(state.alerts, to))
    state_files.write(folder / _STATE, state)


def _is_due(alert: Alert, target: Target) -> bool:
    return not alert.acknowledged and target.name not in alert.told


def _kept(alerts: Sequence[Alert], to: Targets) -> Iterator[Alert]:
    """Yield what is kept: nothing of an end, or a lapsed acknowledgement, that all were told."""
    for alert in alerts:
        told = not any(_is_due(alert, target) for target in to.targets)
        if not (alert.ended and told):
            yield replace(alert, lapsed=None) if told and to.targets else alert


def subject(news: Sequence[Alert]) -> str:
    """Return one line: how many of what, where, and the first of them; those that ended last."""
    told = sorted(news, key=_section)
    first = told[0].finding
    counts = Counter(each.called for each in told if not each.ended)
    parts = [f"{count} {called[count > 1]}" for called, count in counts.items()]
    if ended := len(news) - counts.total():
        parts.append(f"{ended} ended")
    systems = ", ".join(dict.fromkeys(each.finding.system for each in told))
    extent = first.found if counts and first.of_history else ""
    what = " ".join(filter(None, (first.subject, extent)))
    more = f" and {len(told) - 1} more" if len(told) > 1 else ""
    head = f"{'SIMULATED: ' * _all_simulated(news)}{', '.join(parts)} on {systems}: "
    room = max(LONGEST - len(head) - len(more), 20)
    return one_line(head + (what if len(what) <= room else what[: room - 3] + "...") + more)


def body(news: Sequence[Alert], now: datetime, named_by: str = "") -> str:
    """Return the text: a paragraph an alert, with how to see more and how to acknowledge it.

    The commands name their configuration as `Workspace.named_by` does.
    """
    stamp = now.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    lines = [f"Found on {stamp} by {socket.gethostname()}."]
    if _all_simulated(news):
        lines.append("All of this is SIMULATED: no machine was measured, and none is at fault.")
    for number, title in enumerate(("New", "Still open, no longer acknowledged", "Ended")):
        entries = [each for each in news if _section(each) == number]
        lines += ["", f"{title}:"] if entries else []
        for each in entries[:SHOWN]:
            more = [f"was {each.lapsed.text}"] if each.lapsed and number == 1 else []
            more += [] if each.ended else _steps(each)
            lines += ["", f"* {one_line(each.line)}", *(f"  {one_line(x)}" for x in more)]
        if len(entries) > SHOWN:
            lines += ["", f"... and {len(entries) - SHOWN} more: acceptance alerts"]
    return named("\n".join(lines), named_by) + "\n"


def _section(alert: Alert) -> int:
    """Return where a message tells it: new, no longer acknowledged, or ended."""
    return 2 if alert.ended else int(alert.lapsed is not None)


def _all_simulated(news: Sequence[Alert]) -> bool:
    """Tell whether all of it is of simulated systems; a run has no other system than its own."""
    return all(each.finding.simulated for each in news)


def _steps(alert: Alert) -> tuple[str, ...]:
    of_history = f"acceptance history {shlex.quote(alert.finding.what)}"
    more = of_history if alert.finding.of_history else "acceptance gate"
    words = f"acceptance alerts ack {shlex.quote(alert.id)}"
    return f"see more: {more}", f"acknowledge: {words} --reason TEXT --until YYYY-MM-DD"
