"""Alerts: each sent once, its end once, to every target; what a target refuses is sent next time.

State, in `var/alerts/`: `state.json` (which alerts are open, when they were sent and to whom),
`spool/` (undelivered messages), `acks.json` (see `acceptance.alerts.acknowledgements`), `lock`. A
message is spooled, then
the state is written, then it is sent; so a kill at any moment loses no alert, and sends one twice
only when it falls between the delivery and the note of it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from acceptance.alerts import acknowledgements, messages, targets
from acceptance.alerts import state as alertstate
from acceptance.alerts.acknowledgements import Ack, AckFault
from acceptance.alerts.alert import Alert
from acceptance.alerts.messages import News
from acceptance.alerts.outbox import Message, Spool
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


@dataclass(frozen=True)
class Failure:
    """A target that did not take a message: why, how many wait for it, how old the oldest is."""

    target: str
    why: str
    waiting: int
    age: str

    def __str__(self) -> str:
        """Say it in one line."""
        kept = "1 message is" if self.waiting == 1 else f"{self.waiting} messages are"
        return (
            f"target {self.target}: {self.why}; {kept} kept (the oldest for {self.age}) and "
            "sent next time"
        )


@dataclass
class Outcome:
    """What became of the alerts of one run.

    `new` were seen for the first time, `lapsed` are no longer acknowledged and sent again,
    `standing` were sent before, `acknowledged` are only listed, `ended` are there no more.
    `delivered` counts the messages that each target took, older ones included.
    """

    new: list[Alert] = field(default_factory=list)
    lapsed: list[Alert] = field(default_factory=list)
    standing: list[Alert] = field(default_factory=list)
    acknowledged: list[tuple[Alert, Ack]] = field(default_factory=list)
    ended: list[Alert] = field(default_factory=list)
    delivered: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def open(self) -> list[Alert]:
        """Return the alerts that are open and not acknowledged."""
        return [*self.new, *self.lapsed, *self.standing]

    def lines(self) -> list[str]:
        """Return the outcome for a terminal, a line each."""
        groups = {
            "new": self.new,
            "no longer acknowledged": self.lapsed,
            "still open": self.standing,
            "ended": self.ended,
        }
        said = [f"{word}: {one.line} [{one.id}]" for word, them in groups.items() for one in them]
        said += [f"{ack.text}: {alert.line} [{alert.id}]" for alert, ack in self.acknowledged]
        said += [f"sent to {name}: {number}" for name, number in self.delivered.items()]
        return [*said, *map(str, self.failures), *self.notes]

    def as_data(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        data: dict[str, Any] = {
            name: [alert.as_data() for alert in getattr(self, name)]
            for name in ("new", "lapsed", "standing", "ended")
        }
        data["acknowledged"] = [
            {**alert.as_data(), "acknowledgement": asdict(ack)} for alert, ack in self.acknowledged
        ]
        data["delivered"] = dict(self.delivered)
        data["failures"] = [asdict(failure) for failure in self.failures]
        return {**data, "notes": list(self.notes)}


def update(
    alerts: Sequence[Alert],
    now: datetime,
    folder: Path,
    *,
    judged: Callable[[Alert], bool] = lambda alert: True,
    to: Targets | None = None,
) -> Outcome:
    """Take note of all alerts that are open `now` (with time zone), and send what is new of them.

    Alerts of earlier runs that are missing have ended, unless `judged` says that this run could
    not have found them. `to` are the targets (default: those of environment and file). What a
    target does not take is no error but a failure in the outcome. Raises AlertFault when state
    cannot be kept; then nothing new was sent, and all will be next time.
    """
    to = targets.load() if to is None else to
    if not alerts and not folder.exists():
        return Outcome(notes=list(to.notes))
    outcome = Outcome(notes=list(to.notes))
    with _faults(), state_files.locked(folder / "lock", PATIENCE):
        state = alertstate.read(folder, outcome.notes)
        spool = _spool(folder, state, outcome.notes)
        if not state.known:  # from here on its serial tells which messages are committed
            alertstate.write(folder, state, now)
        news = _compare(state, alerts, now, judged, _acks(folder, outcome.notes), outcome)
        if news and to.targets:
            state.serial += 1
            spool.put(_messages(news, now, state.serial, to.names))
            _mark_sent(state, news, now, to.names)
        elif news:
            outcome.notes.append(_nobody())
        alertstate.write(folder, state, now)
        _deliver(spool, to, now, outcome)
    return outcome


def preview(
    alerts: Sequence[Alert],
    now: datetime,
    folder: Path,
    *,
    judged: Callable[[Alert], bool] = lambda alert: True,
) -> Outcome:
    """Tell what `update` would find, without writing or sending anything.

    Raises AlertFault when the state cannot be read.
    """
    outcome = Outcome()
    with _faults():
        state = alertstate.read(folder, outcome.notes, aside=False)
    _compare(state, alerts, now, judged, _acks(folder, outcome.notes), outcome)
    return outcome


def send(now: datetime, folder: Path, *, to: Targets | None = None) -> Outcome:
    """Send what is spooled, and nothing else.

    Raises AlertFault as `update`.
    """
    to = targets.load() if to is None else to
    outcome = Outcome(notes=list(to.notes))
    if not folder.exists():
        return outcome
    with _faults(), state_files.locked(folder / "lock", PATIENCE):
        state = alertstate.read(folder, outcome.notes)
        _deliver(_spool(folder, state, outcome.notes), to, now, outcome)
    return outcome


def forget(target: str, folder: Path) -> int:
    """Remove the messages that wait for a target; return their number.

    Raises AlertFault as `update`.
    """
    if not folder.exists():
        return 0
    with _faults(), state_files.locked(folder / "lock", PATIENCE):
        spool = Spool(folder / "spool")
        dropped = [message for message in spool.messages()[0] if message.target == target]
        for message in dropped:
            spool.remove(message)
    return len(dropped)


@dataclass(frozen=True)
class Listing:
    """What is stored: open alerts with their acknowledgements, undelivered messages, and notes."""

    entries: tuple[tuple[Entry, Ack | None], ...]
    spooled: tuple[Message, ...]
    notes: tuple[str, ...]


def listing(now: datetime, folder: Path) -> Listing:
    """Return what is stored, changing nothing.

    Raises AlertFault when it cannot be read.
    """
    notes: list[str] = []
    with _faults():
        state = alertstate.read(folder, notes, aside=False)
        waiting, malformed = Spool(folder / "spool").messages()
    notes += [f"{path}: malformed, no message" for path in malformed]
    acks = _acks(folder, notes)
    entries = tuple(
        (entry, acknowledgements.find(acks, entry.alert, now, datetime.fromisoformat(entry.opened)))
        for entry in state.entries.values()
    )
    committed = [one for one in waiting if not state.known or one.serial <= state.serial]
    return Listing(entries, tuple(committed), tuple(notes))


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


def _spool(folder: Path, state: State, notes: list[str]) -> Spool:
    """Open the spool: drop what was killed before its state was written, put aside what is broken.

    The dropped messages are made again, for the state does not know their alerts.
    """
    spool = Spool(folder / "spool")
    waiting, malformed = spool.messages()
    for path in malformed:
        kept = state_files.put_aside(path)
        notes.append(f"{path}: malformed, no message; kept as {kept.name}, not sent")
    if not state.known:
        state.serial = max((message.serial for message in waiting), default=0)
    for message in waiting:
        if message.serial > state.serial:
            spool.remove(message)
    return spool


def _compare(
    state: State,
    alerts: Sequence[Alert],
    now: datetime,
    judged: Callable[[Alert], bool],
    acks: Sequence[Ack],
    outcome: Outcome,
) -> News:
    """Hold the alerts of this run against those of the state, which is brought up to date."""
    unsent: list[Alert] = []
    lapsed: list[tuple[Alert, str]] = []
    ended: list[Alert] = []
    current = {alert.id: alert for alert in alerts}
    for alert in current.values():
        known = state.entries.get(alert.id)
        entry = replace(known, alert=alert) if known else Entry(alert, stamp(now))
        ack = acknowledgements.find(acks, alert, now, datetime.fromisoformat(entry.opened))
        if ack:
            outcome.acknowledged.append((alert, ack))
            entry = replace(entry, acknowledged=ack.text)
        elif entry.acknowledged:
            # The mark stays until it is sent: `_mark_sent` takes it off.
            outcome.lapsed.append(alert)
            lapsed.append((alert, entry.acknowledged))
        else:
            (outcome.standing if known else outcome.new).append(alert)
            if not entry.sent:
                unsent.append(alert)
        state.entries[alert.id] = entry
    for entry in [one for key, one in state.entries.items() if key not in current]:
        if judged(entry.alert):
            del state.entries[entry.alert.id]
            outcome.ended.append(entry.alert)
            if entry.sent:
                ended.append(entry.alert)
    return News(tuple(unsent), tuple(lapsed), tuple(ended))


def _messages(news: News, now: datetime, serial: int, names: Sequence[str]) -> list[Message]:
    subject, body = messages.subject(news), messages.body(news, now)
    return [Message(serial, name, stamp(now), subject, body) for name in names]


def _mark_sent(state: State, news: News, now: datetime, names: Sequence[str]) -> None:
    for alert in [*news.new, *(alert for alert, _ in news.lapsed)]:
        state.entries[alert.id] = replace(
            state.entries[alert.id], sent=stamp(now), targets=tuple(names), acknowledged=""
        )


def _deliver(spool: Spool, to: Targets, now: datetime, outcome: Outcome) -> None:
    """Send what is spooled, oldest first; a target that fails does not hold up the others."""
    waiting, _ = spool.messages()
    for target in to.targets:
        queue = [message for message in waiting if message.target == target.name]
        failed: list[Message] = []
        why, end = "", time.monotonic() + BUDGET
        while queue:
            message = queue.pop(0)
            fault = targets.send(target, message.subject, message.body)
            if fault is None:
                spool.remove(message)
                outcome.delivered[target.name] = outcome.delivered.get(target.name, 0) + 1
                continue
            why = fault
            spool.failed(message, why)
            failed.append(message)
            if message.attempts < STUBBORN or time.monotonic() > end:
                break
        if failed:
            left = [*failed, *queue]
            outcome.failures.append(Failure(target.name, why, len(left), left[0].age(now)))
    for name in dict.fromkeys(one.target for one in waiting if one.target not in to.names):
        theirs = [message for message in waiting if message.target == name]
        outcome.notes.append(
            f"{len(theirs)} kept for target {name}, which is not configured (the oldest for "
            f"{theirs[0].age(now)}); drop with: acceptance alerts --forget {name}"
        )
