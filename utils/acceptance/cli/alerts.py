"""`acceptance alerts`: open alerts, whom they were sent to, and who acknowledged them."""

import argparse
import socket
from collections.abc import Sequence
from datetime import datetime, timezone

import msgspec

from acceptance.alerts import Alert, acknowledgements, notify, targets
from acceptance.cli.shared import FORMS, Commands, add_command, add_verbs, emit, option, warn
from acceptance.core.errors import Fault
from acceptance.core.paths import ALERT_TARGETS, named
from acceptance.core.text import plural
from acceptance.verdict import Status


def add(commands: Commands) -> None:
    """Add the subcommand."""
    failed = "a target did not take a message"
    command = add_command(commands, "alerts", run, forms=FORMS, failed=failed)
    what = command.add_mutually_exclusive_group()
    option(what, "--send", "send what was not sent yet")
    option(what, "--test", "send a test message to each target")
    ack = add_command(add_verbs(command), "ack", _ack, forms=FORMS)
    meaning = "an alert by its id, or all whose `system:partition+environ check metric` matches"
    option(ack, "ID|PATTERN", meaning, dest="what", nargs="?")
    option(ack, "--reason TEXT", "why no message has to be sent again")
    meaning = "the last day: within a year, of a pattern of alerts 14 days"
    option(ack, "--until DATE", meaning, type=None)
    meaning = "until then cases NAME @system:partition+environ that match are expected to fail"
    option(ack, "--expected", meaning)
    option(ack, "--remove ID|PATTERN", "take an acknowledgement back")


def run(options: argparse.Namespace) -> int:
    """List open alerts and whom they were sent to.

    Targets that did not take a message are listed, too.
    """
    now, folder = datetime.now(timezone.utc), options.workspace.alerts
    if options.test:
        return _test(options, now)
    if options.send:
        named_by = options.workspace.named_by
        outcome = notify.update((), now, folder, judged=lambda _: False, named_by=named_by)
        lines = [*(f"sent to {name}" for name in outcome.delivered), *outcome.faults]
        emit(options, (), {}, lines or ["everything is sent"], outcome)
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
    failed, host = 0, socket.gethostname()
    body = (
        f"A test by {host}, sent on {now:%Y-%m-%d %H:%M UTC}. Alerts will look like this; those "
        "that are open: acceptance alerts"
    )
    body = named(body, options.workspace.named_by) + "\n"
    for target in to.targets:
        why = targets.send(target, f"Test of the alerts of {host}", body)
        failed += why is not None
        print(f"{target.name}: {f'FAILED: {why}' if why else 'ok'}", flush=True)
    return Status.FAILED if failed else Status.PASSED


def _list(options: argparse.Namespace, now: datetime) -> int:
    kept = notify.listing(now, options.workspace.alerts)
    to = targets.load()
    notes = [*kept.notes, *to.notes]
    emit(
        options,
        kept.alerts,
        {
            "id": "id",
            "alert": "line",
            "sent, or acknowledged": lambda alert: _sent(alert, to.names),
            # Not every run looks at all of what runs show by themselves.
            "last seen": lambda alert: "" if alert.finding.of_history else f"{alert.seen:%Y-%m-%d}",
        },
        [
            *([] if kept.alerts else ["no alert is open"]),
            *(failure.text(name) for name, failure in kept.failures.items()),
            f"targets: {', '.join(to.names) or 'none'}",
        ],
        {
            "open": kept.alerts,
            "failing": kept.failures,
            "targets": to.names,
            "notes": notes,
        },
    )
    if options.format != "json":
        for note in notes:
            warn(options, note)
    return Status.PASSED


def _sent(alert: Alert, names: Sequence[str]) -> str:
    """Say who has acknowledged an alert, else who was told of it, and who was not yet."""
    if alert.acknowledged:
        return alert.acknowledged.text
    told = [f"sent {when:%Y-%m-%d} to {name}" for name, when in alert.told.items()]
    waiting = ", ".join(name for name in names if name not in alert.told)
    return "; ".join([*told, *([f"not sent to {waiting}"] if waiting else [])]) or "not sent"


def _ack(options: argparse.Namespace) -> int:
    """Acknowledge an alert, for a reason and a time.

    It is still listed, but neither sent again nor a failure. Without an alert the
    acknowledgements are listed, and what is expected to fail.
    """
    now, folder = datetime.now(timezone.utc), options.workspace.alerts
    if options.remove is not None:
        print(f"removed: {acknowledgements.remove(options.remove, folder).text}")
        return Status.PASSED
    if options.what is None:
        acks = acknowledgements.load(folder)
        emit(
            options,
            [{**msgspec.to_builtins(ack), "holds": ack.holds(now)} for ack in acks],
            {
                "what": "what",
                "is": lambda ack: "expected to fail" if ack["expected"] else "acknowledged",
                "until": lambda ack: f"{ack['until']}{'' if ack['holds'] else ' (over)'}",
                "who": "who",
                "reason": "reason",
            },
            [] if acks else ["nothing is acknowledged"],
        )
        return Status.PASSED
    if options.until is None:
        raise Fault("say until when: --until YYYY-MM-DD")
    there = notify.listing(now, folder).alerts
    reason = options.reason or ""
    ack, covered = acknowledgements.add(
        options.what, reason, options.until, there, now, folder, expected=options.expected
    )
    for alert in covered:
        print(f"{alert.id}  {alert.line}")
    if not covered and ack.expected:
        print("no case that matches has an open alert; a night says which pattern no case matches")
    elif not covered:
        print("no open alert matches now; those that come will be listed, not sent")
    elif ack.what != covered[0].id:
        open_now = plural(len(there), "open alert")
        print(f"{len(covered)} of {open_now}; those that match later will be listed, not sent")
    print(ack.text)
    return Status.PASSED
