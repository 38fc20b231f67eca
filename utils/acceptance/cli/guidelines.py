"""`acceptance guidelines`: where a session violates guidelines that need no reference."""

import argparse
from dataclasses import asdict

from acceptance import guidelines
from acceptance.cli.arguments import Commands, add_command, add_database, add_format
from acceptance.cli.output import emit
from acceptance.core.text import bytes_text, table
from acceptance.guidelines import Report, Violation
from acceptance.rfm import configuration, database
from acceptance.verdict import Status

HEADER = (
    "guideline",
    "suite",
    "ranks",
    "where",
    "sizes",
    "worst",
    "left",
    "right",
    "x",
    "beyond",
    "before",
)


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "guidelines",
        "operations of a session that are slower than others that do their work",
        "Compare the operations of a session with each other: what every correct MPI "
        "satisfies requires no reference.",
        failed="a violation where the partition says that guidelines fail",
    )
    command.add_argument(
        "--session", help="the UUID of a session, or its beginning; default: the last"
    )
    add_database(command)
    add_format(command, "table", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the findings; the exit status is 1 when one of them fails the session."""
    db = options.db or options.workspace.results
    uuid = database.full_id(db, options.session) if options.session else None
    session = database.session(db, uuid)
    earlier = guidelines.earlier(db, session)
    report, failing = guidelines.judge(session, configuration.load(options.config_files), earlier)
    emit(
        options.format,
        lambda: {
            "session": session.uuid,
            "earlier_sessions": len(earlier),
            **asdict(report),
            "failing": [finding.id for finding in failing],
        },
        lambda: _text(report, failing, session.uuid),
    )
    return Status.FAILED if failing else Status.PASSED


def _text(report: Report, failing: tuple[Violation, ...], session: str) -> str:
    lines = []
    if report.findings:
        lines += [table(HEADER, map(_cells, report.findings)), ""]
    facts = [
        ("session", session),
        ("findings", f"{len(report.findings)}, of which {len(failing)} fail"),
        ("compared", f"{report.compared}, of which {report.single} within the noise of one size"),
        *(("skipped", f"{count}: {reason}") for reason, count in report.skipped.items()),
    ]
    return "\n".join([*lines, *(f"{name:9}{text}" for name, text in facts)])


def _cells(finding: Violation) -> list[str]:
    sizes = bytes_text(finding.smallest)
    if finding.largest != finding.smallest:
        sizes += f" to {bytes_text(finding.largest)}"
    return [
        finding.guideline,
        finding.suite,
        finding.placed,
        finding.where,
        sizes,
        bytes_text(finding.worst),
        f"{finding.left} {finding.unit}",
        f"{finding.right_text} {finding.unit}",
        f"{finding.factor:.2f}",
        f"{finding.tolerance:.2f}",
        f"{finding.seen} of {finding.sessions}" if finding.sessions else "-",
    ]
