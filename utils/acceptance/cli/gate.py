"""`acceptance gate`: the verdict on a run."""

import argparse
import os
import sys
from datetime import datetime, timezone

from acceptance import ledger
from acceptance.campaigns import conclusion
from acceptance.cli.shared import (
    AGAIN,
    DATABASE,
    Commands,
    add_command,
    emit,
    option,
    painter,
    rounds,
)
from acceptance.core.errors import Fault
from acceptance.verdict import Repetition, conclude, junit, verdict_text


def add(commands: Commands) -> None:
    """Add the subcommand."""
    forms, failed = ("text", "json", "junit"), "a problem, or a metric that became worse"
    command = add_command(commands, "gate", run, forms=forms, failed=failed)
    option(command, "--run ID", "the run with --session-extras run=ID", dest="run_id")
    option(command, "--session ID", "the UUID of a stored session, or its beginning")
    option(command, "--db FILE", f"{DATABASE[1]}: its last session, and the history of all")
    option(command, "--send", "send alerts that are new, or ended")
    option(command, *AGAIN, default=0, type=rounds)


def _minutes() -> float:
    """Return the minutes that a run has, those that `make run` gives it, say."""
    stated = os.environ.get("ACCEPTANCE_MINUTES") or "inf"
    try:
        return float(stated)
    except ValueError:
        raise Fault(f"ACCEPTANCE_MINUTES is {stated!r}; it must be a number of minutes") from None


def run(options: argparse.Namespace) -> int:
    """Judge the run or campaign that ended last.

    Was everything that was selected measured and stored, did every case pass, and did no metric
    become worse than it was?
    """
    session, now = options.session, datetime.now(timezone.utc)
    elsewhere = "--db" if options.db else "--session" if session else ""
    for name, value in (("--run", options.run_id), ("--again", options.again)):
        if elsewhere and value:
            raise Fault(f"{name} is of this clone's runs, not for {elsewhere}")
    again = None
    if options.again:
        again = Repetition(options.again, sys.stderr, minutes=_minutes())
    if not elsewhere:
        options.workspace.require_records()
        given = conclusion.current(
            options.workspace,
            options.run_id,
            options.config_files,
            now,
            send=options.send,
            again=again,
            keep=True,
        )
    else:
        database = options.db or options.workspace.results
        given = conclude(
            options.workspace,
            database=database,
            session=session and ledger.of(options.workspace, database).full_id(session),
            config_files=options.config_files,
            send=options.send,
            now=now,
        )
    if options.format == "junit":
        print(junit(given))
    else:
        emit(options, (), {}, [verdict_text(given, painter())], given.as_data())
    return given.status
