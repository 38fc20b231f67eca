"""`acceptance references`: published values and baselines, and which check measures them."""

import argparse
import csv
import sys
from collections.abc import Sequence

from acceptance import references
from acceptance.cli.arguments import Commands, add_command, add_format
from acceptance.cli.coverage import coverage, covers
from acceptance.cli.output import emit
from acceptance.core.table import table
from acceptance.references import Library, Reference, tables
from acceptance.verdict import Status

_Covered = Sequence[tuple[Reference, str | None]]


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "references",
        "published values and baselines",
        "List what judges results: the values of papers, and the baselines of a site.",
    )
    command.add_argument("--paper", help="only those of a paper, by its key")
    command.add_argument("--partition", help="only those of a partition, system:partition")
    command.add_argument("--benchmark", help="only those of suite.program, or of a whole suite")
    command.add_argument("--coverage", action="store_true", help="which check produces each metric")
    add_format(command, "table", "csv", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the references that are asked for."""
    library = references.load(options.workspace.reference)
    rows = tables.select(library, options.paper, options.partition, options.benchmark)
    covered = coverage(rows)
    if options.format == "csv" and options.coverage:
        csv.writer(sys.stdout, lineterminator="\n").writerows(_lines(covered, True))
    elif options.format == "csv":
        print(tables.as_csv(rows), end="")
    else:
        emit(
            options.format,
            lambda: [
                {**tables.fields(row), "value": row.value, "source": row.source, "check": check}
                for row, check in covered
            ],
            lambda: _text(covered, library, options),
        )
    return Status.PASSED


def _lines(covered: _Covered, with_checks: bool) -> list[list[str]]:
    """Return a header, and a line for each reference."""
    return [
        ["partition", *tables.SHORT_COLUMNS, *(["check"] if with_checks else [])],
        *(
            [
                f"{row.system}:{row.partition}",
                *(tables.fields(row)[name] for name in tables.SHORT_COLUMNS),
                *([check or "none yet"] if with_checks else []),
            ]
            for row, check in covered
        ),
    ]


def _text(covered: _Covered, library: Library, options: argparse.Namespace) -> str:
    header, *lines = _lines(covered, options.coverage)
    text = table(header, lines)
    if not options.coverage:
        return text
    produced = sum(check is not None for _, check in covered)
    claims = [claim for claim in library.claims if options.paper in (None, claim.paper)]
    both = sum(map(covers, claims))
    return (
        f"{text}\n\n{produced} of {len(covered)} rows have a check that produces their metric\n"
        f"{both} of {len(claims)} claims have checks that produce both of their sides"
    )
