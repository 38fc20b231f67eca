"""`acceptance references`: published values and baselines, and which check measures them."""

import argparse

from acceptance import references
from acceptance.cli import tolerances
from acceptance.cli.arguments import Commands, add_command, add_format
from acceptance.cli.output import emit
from acceptance.core.text import table
from acceptance.references import Reference, tables
from acceptance.suites import check_of
from acceptance.verdict import Status


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
    command.add_argument(
        "--tolerances",
        action="store_true",
        help="how far from which reference a result fails, and which file says so",
    )
    add_format(command, "table", "csv", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the references that are asked for."""
    library = references.load(options.workspace.reference)
    rows = tables.select(library, options.paper, options.partition, options.benchmark)
    if options.tolerances:
        tolerances.show(options, library)
    elif options.format == "csv":
        print(tables.as_csv(rows), end="")
    else:
        emit(
            options.format,
            lambda: [
                {
                    **tables.fields(row),
                    "value": row.value,
                    "source": row.source,
                    "check": check_of(row.benchmark, row.metric),
                }
                for row in rows
            ],
            lambda: table(("partition", *tables.SHORT_COLUMNS), map(_cells, rows)),
        )
    return Status.PASSED


def _cells(row: Reference) -> list[str]:
    fields = tables.fields(row)
    return [f"{row.system}:{row.partition}", *(fields[name] for name in tables.SHORT_COLUMNS)]
