"""`acceptance hpcc-balance`: what each test of HPCC gives for each flop of HPL, side by side.

Source and normalisation: `claims/hpcc_ratios.py`.
"""

import argparse
import csv
import io
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from acceptance import references
from acceptance.claims import hpcc_ratios
from acceptance.cli.arguments import Commands, add_command, add_database, add_format
from acceptance.cli.output import emit, warn
from acceptance.core.table import table
from acceptance.rfm import database
from acceptance.suites.hpcc import benchmarks as hpcc
from acceptance.verdict import Status

#: What is printed of a point.
COLUMNS = tuple(
    field.name for field in fields(hpcc_ratios.Point) if field.name not in ("session", "number")
)


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "hpcc-balance",
        "HPCC's tests per flop of HPL, for plots",
        "Show the results of HPCC for each flop of HPL, one line for each session and partition.",
    )
    command.add_argument("--system", help="only this system")
    add_database(command)
    add_format(command, "table", "csv", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the ratios of what was measured and of what is published."""
    db = options.db or options.workspace.results
    library = references.load(options.workspace.reference)
    sessions = list(database.sessions(db)) if db.exists() else []
    ratios = hpcc_ratios.points(sessions, library, options.system)
    for problem in problems(ratios, db, options.system):
        warn(options, problem)
    if options.format == "csv":
        print(as_csv(ratios), end="")
    else:
        emit(options.format, lambda: as_data(ratios), lambda: _text(ratios))
    return Status.PASSED


def _text(ratios: Iterable[hpcc_ratios.Point]) -> str:
    rows = [
        [
            format(value, ".4g") if isinstance(value, float) else "" if value is None else value
            for value in row.values()
        ]
        for row in as_data(ratios)
    ]
    return table(COLUMNS, rows, remedy="--format csv shows all")


def problems(ratios: Iterable[hpcc_ratios.Point], db: Path, system: str | None) -> list[str]:
    """Return what a reader of these points should know that they do not tell."""
    ratios = list(ratios)
    whose = f" of {system}" if system is not None else ""
    if not ratios:
        return [f"no result of HPCC{whose} is known"]
    said = []
    if not any(point.environment for point in ratios):
        said.append(f"{db} has no result of HPCC{whose} that passed: published values only")
    if not all(map(hpcc_ratios.comparable, ratios)):
        said.append(
            f"not normalised: problems that fill less than {hpcc.COMPARABLE:.0%} of the memory; "
            "the mode acceptance fills it"
        )
    return said


def as_data(ratios: Iterable[hpcc_ratios.Point]) -> list[dict[str, object]]:
    """Return points as plain data."""
    return [{name: getattr(point, name) for name in COLUMNS} for point in ratios]


def as_csv(ratios: Iterable[hpcc_ratios.Point]) -> str:
    """Return points as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_data(ratios))
    return text.getvalue()
