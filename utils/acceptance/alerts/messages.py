"""What is sent of alerts: one message a call and target, with a subject and a body for people."""

import shlex
import socket
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone

from acceptance.alerts.alert import KINDS, Alert, Entry
from acceptance.core.paths import named
from acceptance.core.text import one_line

#: Alerts that a message spells out; the command `acceptance alerts` lists all.
SHOWN = 20

#: Characters of the longest subject.
LONGEST = 160


def subject(news: Sequence[Entry]) -> str:
    """Return one line: how many of what, where, and the first of them; those that ended last."""
    told = [each.alert for each in sorted(news, key=_section)]
    kinds = Counter(each.alert.kind for each in sorted(news, key=_section) if not each.ended)
    parts = [f"{count} {KINDS[kind][count > 1]}" for kind, count in kinds.items()]
    if ended := len(news) - kinds.total():
        parts.append(f"{ended} ended")
    systems = ", ".join(dict.fromkeys(alert.system for alert in told))
    what = " ".join(filter(None, (told[0].subject, told[0].extent if kinds else "")))
    more = f" and {len(told) - 1} more" if len(told) > 1 else ""
    head = f"{'SIMULATED: ' * _all_simulated(news)}{', '.join(parts)} on {systems}: "
    room = max(LONGEST - len(head) - len(more), 20)
    return one_line(head + (what if len(what) <= room else what[: room - 3] + "...") + more)


def body(news: Sequence[Entry], now: datetime, named_by: str = "") -> str:
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
            more = [f"was {each.lapsed}"] * (number == 1)
            more += [] if each.ended else _steps(each.alert)
            lines += ["", f"* {one_line(each.alert.line)}", *(f"  {one_line(x)}" for x in more)]
        if len(entries) > SHOWN:
            lines += ["", f"... and {len(entries) - SHOWN} more: acceptance alerts"]
    return named("\n".join(lines), named_by) + "\n"


def _section(entry: Entry) -> int:
    """Return where a message tells it: new, no longer acknowledged, or ended."""
    return 2 if entry.ended else int(bool(entry.lapsed))


def _all_simulated(news: Sequence[Entry]) -> bool:
    """Tell whether all of it is of simulated systems; a run has no other system than its own."""
    return all(each.alert.simulated for each in news)


def _steps(alert: Alert) -> tuple[str, ...]:
    of_history = f"acceptance history {shlex.quote(alert.metric)}"
    more = of_history if alert.of_history else "acceptance gate"
    words = f"acceptance alerts ack {shlex.quote(alert.id)}"
    return f"see more: {more}", f"acknowledge: {words} --reason TEXT --until YYYY-MM-DD"
