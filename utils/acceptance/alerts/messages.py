"""What is sent of alerts: one message a run and target, with a subject and a body for people."""

import shlex
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from acceptance.alerts.alert import KINDS, Alert
from acceptance.core.text import one_line

#: Alerts that a message spells out; the command `acceptance alerts` lists all.
SHOWN = 20

#: Characters of the longest subject.
LONGEST = 160


@dataclass(frozen=True)
class News:
    """What a run has to tell: new alerts, those no longer acknowledged with who did, ended ones."""

    new: tuple[Alert, ...]
    lapsed: tuple[tuple[Alert, str], ...]
    ended: tuple[Alert, ...]

    def __bool__(self) -> bool:
        """Tell whether there is anything to tell."""
        return bool(self.new or self.lapsed or self.ended)


@dataclass(frozen=True)
class Message:
    """A message for one target; `created` is an ISO 8601 time.

    `attempts` have failed, the last one because of `why`. Raises ValueError for what is no message.
    """

    target: str
    created: str
    subject: str
    body: str
    attempts: int = 0
    why: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no message."""
        for value in (self.target, self.subject, self.body, self.why):
            if not isinstance(value, str):
                raise ValueError(f"{value!r} is no text")
        if not isinstance(self.attempts, int):
            raise ValueError(f"{self.attempts!r} is no number of attempts")
        if datetime.fromisoformat(self.created).tzinfo is None:
            raise ValueError(f"{self.created!r} has no time zone")

    def age(self, now: datetime) -> str:
        """Say how old it is."""
        hours = (now - datetime.fromisoformat(self.created)).total_seconds() / 3600
        return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"


def subject(news: News) -> str:
    """Return one line: how many of what, where, and the first of them."""
    alerts = [*news.new, *(alert for alert, _ in news.lapsed)]
    counts = Counter(alert.kind for alert in alerts)
    parts = [f"{count} {KINDS[kind][count > 1]}" for kind, count in counts.items()]
    if news.ended:
        parts.append(f"{len(news.ended)} ended")
    everything = [*alerts, *news.ended]
    systems = ", ".join(dict.fromkeys(alert.system for alert in everything))
    first = everything[0]
    what = " ".join(filter(None, (first.subject, first.extent if alerts else "")))
    more = f" and {len(everything) - 1} more" if len(everything) > 1 else ""
    marked = "SIMULATED: " if _all_simulated(news) else ""
    head, tail = f"{marked}{', '.join(parts)} on {systems}: ", more
    room = max(LONGEST - len(head) - len(tail), 20)
    return one_line(head + (what if len(what) <= room else what[: room - 3] + "...") + tail)


def body(news: News, now: datetime, named_by: str = "") -> str:
    """Return the text: a paragraph an alert, with how to see more and how to acknowledge it.

    The commands name their configuration as `Workspace.named_by` does.
    """
    stamp = now.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    lines = [f"Found on {stamp} by {socket.gethostname()}."]
    if _all_simulated(news):
        lines.append("All of this is SIMULATED: no machine was measured, and none is at fault.")
    new = [_steps(alert, named_by) for alert in news.new]
    lapsed = [(f"was {who}", *_steps(alert, named_by)) for alert, who in news.lapsed]
    for title, alerts, details in (
        ("New", news.new, new),
        ("Still open, no longer acknowledged", [alert for alert, _ in news.lapsed], lapsed),
        ("Ended", news.ended, [() for _ in news.ended]),
    ):
        lines += _section(title, alerts, details)
        if len(alerts) > SHOWN:
            more = f"acceptance alerts{named_by}"
            lines += ["", f"... and {len(alerts) - SHOWN} more: {more}"]
    return "\n".join(lines) + "\n"


def _all_simulated(news: News) -> bool:
    """Tell whether all of it is of simulated systems; a run has no other system than its own."""
    alerts = (*news.new, *(alert for alert, _ in news.lapsed), *news.ended)
    return all(alert.simulated for alert in alerts)


def _section(
    title: str, alerts: Sequence[Alert], details: Sequence[Sequence[str]]
) -> Iterator[str]:
    if alerts:
        yield from ("", f"{title}:")
    for alert, more in list(zip(alerts, details, strict=True))[:SHOWN]:
        yield from ("", f"* {one_line(alert.line)}", *(f"  {one_line(line)}" for line in more))


def _steps(alert: Alert, named_by: str) -> tuple[str, ...]:
    of_history = f"acceptance history{named_by} {shlex.quote(alert.metric)}"
    more = of_history if alert.of_history else f"acceptance gate{named_by}"
    known = f"acceptance ack{named_by} {shlex.quote(alert.id)} --reason TEXT --until YYYY-MM-DD"
    return f"see more: {more}", f"acknowledge: {known}"
