"""`acceptance ack`: who acknowledged an alert, why, and until when."""

import argparse
from collections.abc import Sequence
from datetime import datetime, timezone

import msgspec

from acceptance.alerts import Ack, acknowledgements, notify
from acceptance.cli.arguments import Commands, add_command, add_format
from acceptance.cli.output import emit
from acceptance.core.text import plural, table
from acceptance.verdict import Status


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "ack",
        "acknowledge an alert, for a reason and a time",
        "Say that an alert is known. It is still listed, but neither sent again nor a failure.",
    )
    command.add_argument(
        "what",
        nargs="?",
        metavar="ID|PATTERN",
        help="an alert by its id, or all whose `system:partition+environ check metric` matches",
    )
    command.add_argument("--reason", help="why no message has to be sent again")
    command.add_argument(
        "--until",
        metavar="DATE",
        help="the last day: within a year, of a pattern 14 days",
    )
    command.add_argument("--list", action="store_true", help="list the acknowledgements")
    command.add_argument("--remove", metavar="ID|PATTERN", help="take an acknowledgement back")
    add_format(command, "table", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Acknowledge, list or remove."""
    now, folder = datetime.now(timezone.utc), options.workspace.alerts
    if options.remove is not None:
        print(f"removed: {acknowledgements.remove(options.remove, folder).text}")
        return Status.PASSED
    if options.list or options.what is None:
        return _list(options, now, acknowledgements.load(folder))
    if options.until is None:
        raise acknowledgements.AckFault("say until when: --until YYYY-MM-DD")
    there = [entry.alert for entry, _ in notify.listing(now, folder).entries]
    ack, covered = acknowledgements.add(
        options.what, options.reason or "", options.until, there, now, folder
    )
    for alert in covered:
        print(f"{alert.id}  {alert.line}")
    if not covered:
        print("no open alert matches now; those that come will be listed, not sent")
    elif ack.what != covered[0].id:
        open_now = plural(len(there), "open alert")
        print(f"{len(covered)} of {open_now}; those that match later will be listed, not sent")
    print(ack.text)
    return Status.PASSED


def _list(options: argparse.Namespace, now: datetime, acks: Sequence[Ack]) -> int:
    rows = [
        (ack.what, f"{ack.until}{'' if ack.holds(now) else ' (over)'}", ack.who, ack.reason)
        for ack in acks
    ]
    emit(
        options.format,
        lambda: [{**msgspec.to_builtins(ack), "holds": ack.holds(now)} for ack in acks],
        lambda: (
            table(("what", "until", "who", "reason"), rows) if rows else "nothing is acknowledged"
        ),
    )
    return Status.PASSED
