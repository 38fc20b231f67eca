"""What is sent of alerts: one message a call and target, with a subject and a body for people."""

import shlex
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from acceptance.alerts.alert import KINDS, Alert
from acceptance.core.paths import named
from acceptance.core.text import one_line

#: Alerts that a message spells out; the command `acceptance alerts` lists all.
SHOWN = 20

#: Characters of the longest subject.
LONGEST = 160


@dataclass(frozen=True)
class News:
    """What a target is told: new alerts, those no longer acknowledged with who did, ended ones."""

    new: tuple[Alert, ...]
    lapsed: tuple[tuple[Alert, str], ...]
    ended: tuple[Alert, ...]


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
    new = [_steps(alert) for alert in news.new]
    lapsed = [(f"was {who}", *_steps(alert)) for alert, who in news.lapsed]
    for title, alerts, details in (
        ("New", news.new, new),
        ("Still open, no longer acknowledged", [alert for alert, _ in news.lapsed], lapsed),
        ("Ended", news.ended, [() for _ in news.ended]),
    ):
        lines += _section(title, alerts, details)
        if len(alerts) > SHOWN:
            lines += ["", f"... and {len(alerts) - SHOWN} more: acceptance alerts"]
    return named("\n".join(lines), named_by) + "\n"


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


def _steps(alert: Alert) -> tuple[str, ...]:
    of_history = f"acceptance history {shlex.quote(alert.metric)}"
    more = of_history if alert.of_history else "acceptance gate"
    words = f"acceptance alerts ack {shlex.quote(alert.id)}"
    return f"see more: {more}", f"acknowledge: {words} --reason TEXT --until YYYY-MM-DD"
