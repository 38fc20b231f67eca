"""`acceptance alerts`, `acceptance ack` and `acceptance export`."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from acceptance.alerts import acknowledgements, notify, targets
from acceptance.alerts.state import Entry
from acceptance.core.paths import ALERT_TARGETS
from acceptance.core.table import table
from acceptance.rfm import database as results
from acceptance.verdict import conclude
from acceptance.verdict import prometheus as export

_Run = Callable[[argparse.Namespace], int]


def add_commands(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    config_files: Callable[[], list[Path]],
) -> None:
    """Add the three subcommands."""
    command = commands.add_parser("alerts", help="open alerts, and messages that wait")
    what = command.add_mutually_exclusive_group()
    what.add_argument("--send", action="store_true", help="send the messages that wait")
    what.add_argument("--test", action="store_true", help="send a test message to each target")
    what.add_argument("--forget", metavar="TARGET", help="drop the messages that wait for a target")
    command.add_argument("--format", choices=("table", "json"), default="table")
    command.set_defaults(run=_guarded("alerts", run_alerts))

    command = commands.add_parser("ack", help="acknowledge an alert, for a reason and a time")
    command.add_argument(
        "what",
        nargs="?",
        metavar="ID|PATTERN",
        help="an alert by its id, or all whose `system:partition+environ check metric` matches",
    )
    command.add_argument("--reason", default="", help="why nobody needs to be told again")
    command.add_argument("--until", metavar="DATE", help="the last day for which it holds")
    command.add_argument("--list", action="store_true", help="list the acknowledgements")
    command.add_argument("--remove", metavar="ID|PATTERN", help="take an acknowledgement back")
    command.add_argument("--format", choices=("table", "json"), default="table")
    command.set_defaults(run=_guarded("ack", run_ack))

    command = commands.add_parser("export", help="the last results, for monitoring")
    command.add_argument("form", choices=("prometheus",))
    command.add_argument("--output", type=Path, metavar="FILE.prom", help="default: print them")
    command.add_argument("--db", type=Path, help="another results database of ReFrame")
    command.set_defaults(
        run=_guarded("export", lambda options: run_export(options, config_files()))
    )


def _guarded(name: str, run: _Run) -> _Run:
    def guarded(options: argparse.Namespace) -> int:
        try:
            return run(options)
        except (notify.AlertFault, acknowledgements.AckFault, results.ResultsFault) as err:
            print(f"acceptance {name}: {err}", file=sys.stderr)
            return 1

    return guarded


def _now() -> datetime:
    return datetime.now(timezone.utc)


def run_alerts(options: argparse.Namespace) -> int:
    """List, send or test; the exit status is 1 when a target did not take a message."""
    now = _now()
    folder = options.workspace.alerts
    if options.test:
        return _test(now)
    if options.forget:
        print(f"{notify.forget(options.forget, folder)} dropped that waited for {options.forget}")
        return 0
    if options.send:
        outcome = notify.send(now, folder)
        if options.format == "json":
            print(json.dumps(outcome.as_data(), indent=2))
        else:
            print("\n".join(outcome.lines()) or "nothing waits to be sent")
        return int(bool(outcome.failures))
    _list(now, folder, options.format)
    return 0


def _test(now: datetime) -> int:
    to = targets.load()
    for note in to.notes:
        print(f"acceptance alerts: {note}", file=sys.stderr)
    if not to.targets:
        print(
            f"acceptance alerts: no target is configured; set {ALERT_TARGETS} to URLs of "
            f"apprise, or write them to {targets.default_file()}",
            file=sys.stderr,
        )
        return 1
    failed = 0
    body = f"A test, sent on {now.strftime('%Y-%m-%d %H:%M UTC')}. Alerts will look like this.\n"
    for target in to.targets:
        why = targets.send(target, "Test of the alerts of acceptance", body)
        failed += why is not None
        print(f"{target.name}: {f'FAILED: {why}' if why else 'ok'}", flush=True)
    return int(failed > 0)


def _list(now: datetime, folder: Path, form: str) -> None:
    kept = notify.listing(now, folder)
    to = targets.load()
    if form == "json":
        data = {
            "open": [
                {
                    **entry.alert.as_data(),
                    "opened": entry.opened,
                    "sent": entry.sent,
                    "targets": entry.targets,
                    "acknowledged": asdict(ack) if ack else None,
                }
                for entry, ack in kept.entries
            ],
            "waiting": [asdict(message) for message in kept.waiting],
            "targets": to.names,
            "notes": [*kept.notes, *to.notes],
        }
        print(json.dumps(data, indent=2))
        return
    for entry, ack in kept.entries:
        print(
            f"{entry.alert.id}  {entry.alert.line}\n    {ack.text if ack else _sent(entry, kept)}"
        )
    if not kept.entries:
        print("no alert is open")
    for message in kept.waiting:
        print(
            f"waits for {message.target}, {message.age(now)}: {message.subject} "
            f"({message.why or 'not tried yet'})"
        )
    print(f"targets: {', '.join(to.names) or 'none'}")
    for note in [*kept.notes, *to.notes]:
        print(f"acceptance alerts: {note}", file=sys.stderr)


def _sent(entry: Entry, kept: notify.Listing) -> str:
    """Say who was told of an alert, and who was not yet: a message has the time of its alerts."""
    if not entry.sent:
        return "not sent"
    waiting = {message.target for message in kept.waiting if message.created == entry.sent}
    groups = {
        f"sent {entry.sent[:10]} to": [name for name in entry.targets if name not in waiting],
        "waits for": [name for name in entry.targets if name in waiting],
    }
    return "; ".join(f"{word} {', '.join(names)}" for word, names in groups.items() if names)


def run_ack(options: argparse.Namespace) -> int:
    """Acknowledge, list or remove."""
    now, folder = _now(), options.workspace.alerts
    if options.remove is not None:
        print(f"removed: {acknowledgements.remove(options.remove, folder).text}")
        return 0
    if options.list or options.what is None:
        _list_acks(now, folder, options.format)
        return 0
    if options.until is None:
        raise acknowledgements.AckFault("say until when: --until YYYY-MM-DD")
    there = [entry.alert for entry, _ in notify.listing(now, folder).entries]
    ack, covered = acknowledgements.add(
        options.what, options.reason, options.until, there, now, folder
    )
    for alert in covered:
        print(f"{alert.id}  {alert.line}")
    if not covered:
        print("no open alert matches now; those that come will be listed, not sent")
    print(ack.text)
    return 0


def _list_acks(now: datetime, folder: Path, form: str) -> None:
    found = acknowledgements.load(folder)
    if form == "json":
        print(json.dumps([{**asdict(ack), "holds": ack.holds(now)} for ack in found], indent=2))
        return
    rows = [
        (ack.what, ack.until + ("" if ack.holds(now) else " (over)"), ack.who, ack.reason)
        for ack in found
    ]
    print(table(("what", "until", "who", "reason"), rows) if rows else "nothing is acknowledged")


def run_export(options: argparse.Namespace, config_files: Sequence[Path]) -> int:
    """Write what Prometheus is to read; without a results database the verdict says so.

    The verdict is that of `acceptance gate`, history and acknowledgements included.
    """
    given = conclude(options.workspace, database=options.db, config_files=config_files, keep=False)
    session, status = None, 0
    try:
        session = export.newest(given, options.db or options.workspace.results)
    except results.ResultsFault as err:
        print(f"acceptance export: {err}", file=sys.stderr)
        status = 1
    kept = notify.listing(_now(), options.workspace.alerts)
    for note in kept.notes:
        print(f"acceptance export: {note}", file=sys.stderr)
    try:
        text = export.prometheus(given, session, kept, options.output)
    except OSError as err:
        print(f"acceptance export: {options.output}: {err.strerror or err}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(text.encode())  # the format is UTF-8, whatever the terminal has
    return status
