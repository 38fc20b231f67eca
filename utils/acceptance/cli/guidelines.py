"""`acceptance guidelines`: what in a session no sound MPI does."""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from acceptance import guidelines
from acceptance.core.table import table
from acceptance.core.text import bytes_text
from acceptance.guidelines import Report, Violation
from acceptance.rfm import configuration, database

#: Exit statuses, those of the gate: none that fails, one that does, and no answer.
PASSED, FAILED, CANNOT_JUDGE = 0, 1, 2

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


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Give the subcommand its arguments."""
    command.add_argument("--session", help="UUID of a stored session; default: the last one")
    command.add_argument("--db", type=Path, help="another results database")
    command.add_argument("--format", choices=("table", "json"), default="table")


def run(options: argparse.Namespace, files: Iterable[Path]) -> int:
    """Print the findings; `files` are ReFrame's configuration files. Returns the exit status."""
    db = options.db or options.workspace.results
    try:
        session = database.session(db, options.session)
        earlier = guidelines.earlier(db, session)
        report, failing = guidelines.judge(session, configuration.load(files), earlier)
    except (database.ResultsFault, configuration.SiteFault) as err:
        print(f"acceptance guidelines: {err}", file=sys.stderr)
        return CANNOT_JUDGE
    if options.format == "json":
        data = {
            "session": session.uuid,
            "earlier_sessions": len(earlier),
            **asdict(report),
            "failing": [finding.id for finding in failing],
        }
        print(json.dumps(data, indent=2))
    else:
        print(_text(report, failing, session.uuid))
    return FAILED if failing else PASSED


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
