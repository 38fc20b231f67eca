"""`acceptance export`: the last results for monitoring, or all samples for other programs."""

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from acceptance import ledger
from acceptance.alerts import notify
from acceptance.campaigns import conclusion
from acceptance.cli.shared import DATABASE, Commands, add_command, option, read, warn
from acceptance.core.errors import Fault
from acceptance.core.state_files import StoredFault
from acceptance.core.text import plural
from acceptance.ledger import ResultsFault
from acceptance.verdict import Status, Verdict, conclude, prometheus

#: The file of all samples, in the folder where the command was called.
SAMPLES = Path("samples.parquet")


def add(commands: Commands) -> None:
    """Add the subcommand."""
    failed = "as the verdict that is written says; sessions cannot be read, and are left out"
    command = add_command(commands, "export", run, failed=failed)
    command.set_defaults(system=None)
    option(command, "form", choices=("prometheus", "parquet"), metavar=None)
    meaning = f"default: prometheus is printed, parquet goes into {SAMPLES}"
    option(command, "-o --output FILE", meaning)
    option(command, *DATABASE)


def run(options: argparse.Namespace) -> int:
    """Write the last results for Prometheus, or all samples as Parquet.

    To Prometheus go metrics, verdict and alerts; samples have their keys, units, software and
    sessions (config/storage.md).
    """
    if options.form == "parquet":
        return _samples(options)
    # The verdict is that of `acceptance gate`, history and acknowledgements included. Beside one
    # on something else than the last night of a system stands the one on that: it hides none. What
    # was simulated stands beside what was measured last, and its verdict is not the status.
    workspace, config_files = options.workspace, options.config_files
    now = datetime.now(timezone.utc)
    nights: list[Verdict] = []
    if options.db is None:
        workspace.require_records()
        given = conclusion.current(workspace, None, config_files, now)
        nights = list(conclusion.nights(workspace, now))
    else:
        given = conclude(
            workspace, database=options.db, config_files=config_files, keep=False, now=now
        )
    verdicts, status = [given], given.status
    try:
        if given.simulated and options.db is None:
            measured = conclusion.last_measured(workspace, config_files, now)
            if measured:  # no simulation takes its place
                verdicts, status = [measured, given], measured.status
        past = ledger.of(workspace, options.db)
        judged = [
            # Of a verdict on no session the one that was stored last.
            (each, [*map(past.session, each.session.split())] or [past.session()])
            for each in verdicts
        ]
    except (ResultsFault, StoredFault) as err:
        warn(options, err)
        judged, status = [(each, []) for each in verdicts], Status.CANNOT_JUDGE
    campaigns = {each.campaign for each in verdicts}
    judged += [(night, []) for night in nights if night.campaign not in campaigns]
    kept = notify.listing(now, workspace.alerts)
    for note in kept.notes:
        warn(options, note)
    try:
        text = prometheus(judged, kept, options.output)
    except OSError as err:
        raise Fault(err.strerror or str(err), where=str(options.output)) from None
    sys.stdout.buffer.write(text.encode())  # the format is UTF-8, whatever the terminal has
    return status


def _samples(options: argparse.Namespace) -> int:
    import duckdb

    past = read(options)
    file = options.output or SAMPLES
    try:
        count = ledger.reading.export(ledger.of(options.workspace, options.db), file)
    except (duckdb.Error, OSError) as err:
        raise Fault(str(err).splitlines()[0], where=str(file)) from None
    for note in past.notes:
        warn(options, note)
    print(f"{file}: {plural(count, 'sample')}")
    return Status.FAILED if past.faults else Status.PASSED
