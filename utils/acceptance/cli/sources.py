"""Which results a subcommand reads: the clone's own, or others."""

import argparse
from pathlib import Path

from acceptance.cli.arguments import add_database
from acceptance.cli.output import warn
from acceptance.regressions.history import History, load
from acceptance.rfm import ResultsFault, lost


def add_sources(command: argparse.ArgumentParser) -> None:
    """Give a subcommand the arguments that say which results it reads."""
    command.add_argument("--system", help="only this system")
    add_database(command)
    command.add_argument("--perflogs", type=Path, help="a folder of perflogs beside it")


def read(options: argparse.Namespace, *, whole: bool = False) -> History:
    """Read the project's own database with its perflogs, or another one.

    Of `--system` only its results, unless the `whole` is wanted. Raises ResultsFault when it cannot
    be read, and when it has nothing of `--system`.
    """
    perflogs = options.perflogs
    if options.db is None and perflogs is None:
        perflogs = options.workspace.perflogs
    db = options.db or options.workspace.results
    workspace = options.workspace
    if gone := lost.why_gone(db, None if options.db else workspace.witnesses):
        raise ResultsFault(gone)
    history = load(db, perflogs, None if whole else options.system, store=workspace.store_of(db))
    for fault in history.faults:
        warn(options, fault)
    systems = (series.case.key.system for series in history.series)
    if options.system and options.system not in systems:
        why = f"; {history.left_out}" if history.left_out else ""
        raise ResultsFault(f"{db}: no result of a system {options.system!r}{why}")
    return history
