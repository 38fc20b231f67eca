"""`acceptance alerts`: open alerts, and messages that wait."""

import argparse
import socket
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone

from acceptance.alerts import Entry, notify, targets
from acceptance.cli.arguments import Commands, add_command, add_format
from acceptance.cli.output import emit, warn
from acceptance.core.errors import Fault
from acceptance.core.paths import ALERT_TARGETS
from acceptance.core.text import one_line
from acceptance.rfm import configuration
from acceptance.verdict import Status


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "alerts",
        "open alerts, and messages that wait",
        "List the open alerts and the messages that no target took yet; send them, or try "
        "the targets.",
        failed="a target did not take a message",
    )
    what = command.add_mutually_exclusive_group()
    what.add_argument("--send", action="store_true", help="send the messages that wait")
    what.add_argument("--test", action="store_true", help="send a test message to each target")
    what.add_argument("--forget", metavar="TARGET", help="drop the messages that wait for a target")
    add_format(command, "table", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List, send or test; the exit status is 1 when a target did not take a message."""
    now, folder = datetime.now(timezone.utc), options.workspace.alerts
    if options.test:
        return _test(options, now)
    if options.forget:
        print(f"{notify.forget(options.forget, folder)} dropped that waited for {options.forget}")
        return Status.PASSED
    if options.send:
        outcome = notify.send(now, folder, named_by=options.workspace.named_by)
        emit(
            options.format,
            outcome.as_data,
            lambda: "\n".join(outcome.lines()) or "nothing waits to be sent",
        )
        return Status.FAILED if outcome.failures else Status.PASSED
    return _list(options, now)


def _test(options: argparse.Namespace, now: datetime) -> int:
    to = targets.load()
    for note in to.notes:
        warn(options, note)
    if not to.targets:
        raise Fault(
            f"no target is configured; set {ALERT_TARGETS} to URLs of apprise, or write them to "
            f"{targets.default_file()}"
        )
    failed = 0
    try:
        site = configuration.load(options.config_files).system()["name"]
    except configuration.SiteFault as err:  # alerts are kept of other systems all the same
        site = f"no system ({err})"
    of = f"{site}, by {socket.gethostname()}"
    body = (
        f"A test of {of}, sent on {now.strftime('%Y-%m-%d %H:%M UTC')}. Alerts will look like "
        f"this; those that are open: acceptance alerts{options.workspace.named_by}\n"
    )
    for target in to.targets:
        why = targets.send(target, one_line(f"Test of the alerts of {of}"), body)
        failed += why is not None
        print(f"{target.name}: {f'FAILED: {why}' if why else 'ok'}", flush=True)
    return Status.FAILED if failed else Status.PASSED


def _list(options: argparse.Namespace, now: datetime) -> int:
    kept = notify.listing(now, options.workspace.alerts)
    to = targets.load()
    notes = [*kept.notes, *to.notes]
    emit(
        options.format,
        lambda: {
            "open": [
                {
                    **entry.alert.as_data(),
                    "opened": entry.opened,
                    "seen": entry.seen or entry.opened,
                    "sent": entry.sent,
                    "targets": entry.targets,
                    "acknowledged": asdict(ack) if ack else None,
                }
                for entry, ack in kept.entries
            ],
            "waiting": [asdict(message) for message in kept.waiting],
            "targets": to.names,
            "notes": notes,
        },
        lambda: _text(kept, to.names, now),
    )
    if options.format != "json":
        for note in notes:
            warn(options, note)
    return Status.PASSED


def _text(kept: notify.Listing, names: Sequence[str], now: datetime) -> str:
    lines = [
        f"{entry.alert.id}  {entry.alert.line}\n    {ack.text if ack else _sent(entry, kept)}"
        f"{_last_seen(entry)}"
        for entry, ack in kept.entries
    ]
    lines += [] if kept.entries else ["no alert is open"]
    lines += [
        f"waits for {message.target}, {message.age(now)}: {message.subject} "
        f"({message.why or 'not tried yet'})"
        for message in kept.waiting
    ]
    return "\n".join([*lines, f"targets: {', '.join(names) or 'none'}"])


def _last_seen(entry: Entry) -> str:
    """Say when what runs show by themselves was last seen: not every run looks at all of it."""
    seen = (entry.seen or entry.opened)[:10]
    return "" if entry.alert.of_history else f"; last seen {seen}"


def _sent(entry: Entry, kept: notify.Listing) -> str:
    """Say who got the message of an alert, and who did not yet: it has the time of its alerts."""
    if not entry.sent:
        return "not sent"
    waiting = {message.target for message in kept.waiting if message.created == entry.sent}
    groups = {
        f"sent {entry.sent[:10]} to": [name for name in entry.targets if name not in waiting],
        "waits for": [name for name in entry.targets if name in waiting],
    }
    return "; ".join(f"{word} {', '.join(names)}" for word, names in groups.items() if names)
