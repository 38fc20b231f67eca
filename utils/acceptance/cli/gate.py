"""`acceptance gate`: the verdict on a run."""

import argparse
import sys
from datetime import datetime, timezone

from acceptance import ledger
from acceptance.campaigns import conclusion
from acceptance.cli.arguments import CONFIRM, DATABASE, Commands, add_command, option
from acceptance.cli.output import emit, painter
from acceptance.core.errors import Fault
from acceptance.verdict import Repetition, conclude, junit, verdict_text


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "gate",
        run,
        forms=("text", "json", "junit"),
        failed="a problem, or a metric that became worse",
    )
    option(command, "--run ID", "the run with --session-extras run=ID", dest="run_id")
    option(command, "--session ID", "the UUID of a stored session, or its beginning")
    option(command, "--db FILE", f"{DATABASE[1]}: its last session, and the history of all")
    option(command, "--send", "send alerts that are new, or ended")
    option(command, *CONFIRM, default=0)


def run(options: argparse.Namespace) -> int:
    """Judge the run or campaign that ended last.

    Was everything that was selected measured and stored, did every case pass, and did no metric
    become worse than it was?
    """
    database = options.db
    elsewhere = "--db" if options.db else "--session" if options.session else ""
    for name, value in (("--run", options.run_id), ("--confirm", options.confirm)):
        if elsewhere and value:
            raise Fault(f"{name} is of this clone's runs, not for {elsewhere}")
    if options.session and not database:
        database = options.workspace.results
    now = datetime.now(timezone.utc)
    if database is None:
        options.workspace.require_records()
        given = conclusion.current(
            options.workspace,
            options.run_id,
            options.config_files,
            now,
            send=options.send,
            again=Repetition(options.confirm, sys.stderr) if options.confirm else None,
            keep=True,
        )
    else:
        session = options.session
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
