"""`acceptance export`: the last results, for monitoring."""

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from acceptance.alerts import notify
from acceptance.campaigns import conclusion
from acceptance.cli.arguments import Commands, add_command, add_database
from acceptance.cli.output import warn
from acceptance.core.errors import Fault
from acceptance.rfm import ResultsFault
from acceptance.verdict import Status, Verdict, conclude, prometheus


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "export",
        "the last results, for monitoring",
        "Write metrics, verdict and alerts in the text format of Prometheus.",
        failed="as the verdict that is written says",
    )
    command.add_argument("form", choices=("prometheus",))
    command.add_argument("--output", type=Path, metavar="FILE.prom", help="default: print them")
    add_database(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write what Prometheus is to read; the exit status is that of the verdict.

    The verdict is that of `acceptance gate`, history and acknowledgements included. Beside one on
    something else than the last night of a system stands the one on that: it hides none.
    """
    workspace, config_files = options.workspace, options.config_files
    now = datetime.now(timezone.utc)
    verdicts: list[Verdict] = []
    others: list[Verdict] = []
    if options.db is None:
        workspace.require_records()
        given, _ = conclusion.current(workspace, None, config_files, now)
        verdicts = [given] if given else []
        others = list(conclusion.nights(workspace, config_files, now))
    if not verdicts:
        verdicts = [
            conclude(workspace, database=options.db, config_files=config_files, keep=False, now=now)
        ]
    verdicts += [night for night in others if night.campaign != verdicts[0].campaign]
    sessions, status = [], verdicts[0].status
    try:
        sessions = prometheus.sessions_of(verdicts[0], options.db or workspace.results)
    except ResultsFault as err:
        warn(options, err)
        status = Status.CANNOT_JUDGE
    kept = notify.listing(now, workspace.alerts)
    for note in kept.notes:
        warn(options, note)
    try:
        text = prometheus.prometheus(verdicts, sessions, kept, options.output)
    except OSError as err:
        raise Fault(err.strerror or str(err), where=str(options.output)) from None
    sys.stdout.buffer.write(text.encode())  # the format is UTF-8, whatever the terminal has
    return status
