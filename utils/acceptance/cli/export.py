"""`acceptance export`: the last results, for monitoring."""

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from acceptance.alerts import notify
from acceptance.cli.arguments import Commands, add_command, add_database
from acceptance.cli.output import warn
from acceptance.core.errors import Fault
from acceptance.rfm import database
from acceptance.verdict import Status, conclude, prometheus


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "export",
        "the last results, for monitoring",
        "Write metrics, verdict and alerts in the text format of Prometheus.",
    )
    command.add_argument("form", choices=("prometheus",))
    command.add_argument("--output", type=Path, metavar="FILE.prom", help="default: print them")
    add_database(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write what Prometheus is to read; without a results database the verdict says so.

    The verdict is that of `acceptance gate`, history and acknowledgements included.
    """
    given = conclude(
        options.workspace, database=options.db, config_files=options.config_files, keep=False
    )
    session, status = None, Status.PASSED
    try:
        session = prometheus.newest(given, options.db or options.workspace.results)
    except database.ResultsFault as err:
        warn(options, err)
        status = Status.CANNOT_JUDGE
    kept = notify.listing(datetime.now(timezone.utc), options.workspace.alerts)
    for note in kept.notes:
        warn(options, note)
    try:
        text = prometheus.prometheus(given, session, kept, options.output)
    except OSError as err:
        raise Fault(err.strerror or str(err), where=str(options.output)) from None
    sys.stdout.buffer.write(text.encode())  # the format is UTF-8, whatever the terminal has
    return status
