"""`acceptance export`: the last verdict for vendors and monitoring, or all samples for programs."""

import argparse
import errno
import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

from acceptance import ledger
from acceptance.alerts import notify
from acceptance.campaigns import conclusion
from acceptance.cli.shared import DATABASE, Commands, add_command, option, read, warn
from acceptance.core import state_files
from acceptance.core.errors import Fault
from acceptance.core.paths import named
from acceptance.core.state_files import StoredFault
from acceptance.core.text import plural
from acceptance.ledger import ResultsFault
from acceptance.verdict import (
    Judged,
    Status,
    Verdict,
    bencher,
    conclude,
    prometheus,
    punch_list,
    telemetry,
)

#: The file of all samples, in the folder where the command was called.
SAMPLES = Path("samples.parquet")
#: The name of a punch list that is CSV ends like this.
CSV = ".csv"


def add(commands: Commands) -> None:
    """Add the subcommand."""
    failed = "as the verdict that is written says; sessions cannot be read, and are left out"
    command = add_command(commands, "export", run, failed=failed)
    command.set_defaults(system=None)
    forms = ("prometheus", "parquet", "punchlist", "bencher", "otel")
    option(command, "form", choices=forms, metavar=None)
    meaning = (
        f"default: parquet goes into {SAMPLES}, all others are printed; a punch list is CSV where "
        f"the name ends in {CSV}, else Markdown"
    )
    option(command, "-o --output FILE", meaning)
    option(command, "--run ID", "the campaign or run, as of gate --run", dest="run_id")
    option(command, *DATABASE)


def run(options: argparse.Namespace) -> int:
    """Write the last verdict for others, or all samples as Parquet.

    To Prometheus and OpenTelemetry (otel) go metrics, verdict and alerts; a punch list has a line a
    defect for the vendor; Bencher gets the metrics; samples have their keys, units, software and
    sessions (config/storage.md).
    """
    if options.form == "parquet":
        return _samples(options)
    now = datetime.now(timezone.utc)
    if options.form == "prometheus":
        return _prometheus(options, now)
    given = _given(options, now)
    if given.status == Status.CANNOT_JUDGE or not given.session:
        why = "; ".join(each.text for each in given.problems)
        raise Fault(f"there is no verdict to export: {why}")
    past = ledger.of(options.workspace, options.db)
    judged: Judged = [(given, [*map(past.session, given.session.split())])]
    if options.form == "otel":
        return _otel(options, judged, now)
    if options.form == "bencher":
        return _bencher(options, judged)
    listed = punch_list(*judged[0])
    as_csv = options.output is not None and options.output.suffix == CSV
    text = listed.csv() if as_csv else listed.markdown()
    _write(options, named(text, options.workspace.named_by))
    if not listed.defects:
        noted = plural(len(listed.not_measured), "thing")
        warn(options, f"no defect was found; {noted} not measured or not judged")
    return given.status


def _given(options: argparse.Namespace, now: datetime) -> Verdict:
    """Return the verdict of `acceptance gate`, history and acknowledgements included."""
    workspace, files = options.workspace, options.config_files
    if options.db is None:
        workspace.require_records()
        return conclusion.current(workspace, options.run_id, files, now)
    if options.run_id:
        raise Fault("--run is of this clone's runs, not for --db")
    return conclude(workspace, database=options.db, config_files=files, keep=False, now=now)


def _prometheus(options: argparse.Namespace, now: datetime) -> int:
    # Beside a verdict on something else than the last night of a system stands the one on that: it
    # hides none. What was simulated stands beside what was measured last, and its verdict is not
    # the status.
    workspace, config_files = options.workspace, options.config_files
    if options.run_id:
        raise Fault("--run is for a punch list, bencher and otel: Prometheus keeps its own past")
    given = _given(options, now)
    nights = [*conclusion.nights(workspace, now)] if options.db is None else []
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
    text = prometheus(judged, _alerts(options, now))
    if options.output is None:
        sys.stdout.buffer.write(text.encode())  # the format is UTF-8, whatever the terminal has
    elif options.output.parent.is_dir():
        state_files.write_text(options.output, text)
    else:  # one that is made would be none that anybody collects from
        raise Fault(os.strerror(errno.ENOENT), where=str(options.output))
    return status


def _alerts(options: argparse.Namespace, now: datetime) -> notify.Notification:
    kept = notify.listing(now, options.workspace.alerts)
    for note in kept.notes:
        warn(options, note)
    return kept


def _otel(options: argparse.Namespace, judged: Judged, now: datetime) -> int:
    if options.output is not None:
        raise Fault("-o is for what is written: otel is sent to OTEL_EXPORTER_OTLP_ENDPOINT")
    values, logs = telemetry.send(judged, _alerts(options, now))
    print(f"sent {plural(values, 'value')} and {plural(logs, 'log record')}")
    return judged[0][0].status


def _bencher(options: argparse.Namespace, judged: Judged) -> int:
    found, left_out = bencher(*judged[0])
    if not found:
        raise Fault("nothing was measured that Bencher could take")
    for name in left_out:
        warn(options, f"left out, since Bencher takes no name of a measure as long as {name!r}")
    _write(options, json.dumps(found, indent=1, allow_nan=False) + "\n")
    return judged[0][0].status


def _write(options: argparse.Namespace, text: str) -> None:
    """Print a text, or write it into the file that is named, whole or not at all."""
    if options.output is None:
        print(text, end="")
    else:
        state_files.write_text(options.output, text)


def _samples(options: argparse.Namespace) -> int:
    import duckdb

    if options.run_id:
        raise Fault("--run is for a punch list, bencher and otel: Parquet has all samples")
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
