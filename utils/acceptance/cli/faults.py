"""`acceptance faults`: would the checks see it?"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acceptance.cli.arguments import Commands, add_command, add_format
from acceptance.cli.output import emit, warn
from acceptance.core.errors import Fault
from acceptance.core.paths import GET_SIMGRID
from acceptance.core.table import table
from acceptance.core.text import wrapped
from acceptance.drills import (
    HISTORY,
    NOTHING,
    SELECTED,
    Drills,
    Outcome,
    Report,
    Selection,
    chosen,
    simulated_system,
)
from acceptance.simulation import FAULTS, has_simgrid

_HEADER = ("fault", "partition", "loss", "seen by", "cause named", "±10 %")


def nights(text: str) -> int:
    """Read how many healthy nights there shall be, for argparse: two show that they repeat."""
    if int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text}: two nights are required to see that they repeat")
    return int(text)


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "faults",
        "inject faults into a simulated system: would the checks see them?",
        "Run a simulated system healthy, then with one fault after the other, and say which checks "
        "failed, what was named, and what plain references with 10 % would have said.",
        failed="a fault of 5 % or more was missed, or the healthy system raises something",
    )
    command.add_argument(
        "--system",
        default="simulated-koop2008",
        help="a system of the configuration, or its simulated one (default: %(default)s); "
        "SYSTEM:PARTITION for one partition",
    )
    command.add_argument(
        "--fault", action="append", default=[], metavar="NAME[:PLACE]", dest="faults",
        help=f"only this one, perhaps at another place: {', '.join(FAULTS)}",
    )  # fmt: skip
    command.add_argument(
        "--all", action="store_true", help="run all checks, not only links and all pairs of nodes"
    )
    command.add_argument(
        "--nights", type=nights, default=2,
        help="healthy nights before each fault; from 7 on their history judges instead of what was "
        "recorded of them (default: 2)",
    )  # fmt: skip
    command.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what the runs left")
    add_format(command, "text", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the faults and print the table."""
    faults = chosen(options.faults)
    if not has_simgrid():
        raise Fault(f"there is no SimGrid here ({GET_SIMGRID})")
    checks = () if options.all else SELECTED
    selection = Selection(simulated_system(options.system), checks, options.nights)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="faults-"))
    if options.keep:
        if folder.exists() and any(folder.iterdir()):
            raise Fault(f"{folder} is not empty")
        folder.mkdir(parents=True, exist_ok=True)
    say = (lambda line: warn(options, line)) if sys.stderr.isatty() else lambda _: None
    try:
        report = Drills(folder.resolve(), selection, say).run(faults)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    emit(options.format, lambda: as_data(report), lambda: "\n".join(_lines(report)))
    return report.status


def as_data(report: Report) -> dict[str, Any]:
    """Return all of it as plain data."""
    return {
        "system": report.selection.system,
        "status": report.status,
        "not_run": report.not_run,
        "healthy": report.healthy.as_data(),
        "outcomes": [each.as_data() for each in report.outcomes],
        "seconds": report.seconds,
    }


def _lines(report: Report) -> Iterator[str]:
    yield f"SIMULATED: {report.selection.system}; nothing of it is evidence about a machine"
    yield ""
    applied = [each for each in report.outcomes if each.applied]
    yield table(_HEADER, [_row(each) for each in applied])
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in report.outcomes:
        if each.why_not:
            reasons.setdefault((each.fault, each.why_not), []).append(each.partition)
    yield ""
    for (fault, why), partitions in reasons.items():
        yield from wrapped("not there", f"{fault}: {why}: {', '.join(partitions)}", 11)
    problems = [each.message for each in report.healthy.problems]
    for text in problems or ["nothing raised"]:
        yield from wrapped("healthy", text, 11)
    what, why = "history", f"it judges instead of what was recorded: --nights {HISTORY}"
    if report.selection.by_history:
        what, why = "recorded", f"the history judges instead: --nights {HISTORY} or more"
    yield from wrapped(what, f"not looked at: {why}", 11)
    missed = [f"{each.fault} on {each.partition}" for each in applied if each.missed]
    for text in missed:
        yield from wrapped("MISSED", text, 11)
    for text in report.not_run:
        yield from wrapped("NOT RUN", text, 11)


def _row(outcome: Outcome) -> tuple[str, ...]:
    seen = ", ".join([*outcome.by, *(f"({kind})" for kind in outcome.noted)]) or "nothing"
    return (
        outcome.fault,
        outcome.partition.partition(":")[2],
        f"{100 * max(0, outcome.loss):.1f} %" if outcome.loss > -NOTHING else "better",
        f"{seen}, night {outcome.nights}" if outcome.nights > 1 else seen,
        outcome.cause,
        f"{len(outcome.plain)} metrics" if outcome.plain else "green",
    )
