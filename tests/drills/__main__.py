"""Would the checks see it? `make drills` injects faults into a simulated system, one at a time.

The system runs healthy, then with one fault after the other; told is which checks failed, what was
named, and what plain references with 10 % would have said. Exit status: 0 pass; 1 fail: a fault of
5 % or more was missed, or the healthy system raises something; 2 it cannot judge.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acceptance.core.errors import Fault
from acceptance.core.paths import GET_SIMGRID
from acceptance.core.text import table, wrapped
from acceptance.rfm import Interrupted
from acceptance.simulation import DEFECTS, has_simgrid
from tests.drills.outcome import NOTHING, Outcome
from tests.drills.runs import HISTORY, SELECTED, Drills, Report, Selection, chosen, simulated_system

_HEADER = ("fault", "partition", "loss", "seen by", "cause named", "±10 %")


def nights(text: str) -> int:
    """Read how many healthy nights there shall be, for argparse: two show that they repeat."""
    if int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text}: two nights are required to see that they repeat")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options, the values of `ARGS`."""
    drills = argparse.ArgumentParser(
        "make drills", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    drills.add_argument(
        "--system",
        default="simulated-koop2008",
        help="a system of the configuration, or its simulated one (default: %(default)s); "
        "SYSTEM:PARTITION for one partition",
    )
    drills.add_argument(
        "--fault", action="append", default=[], metavar="NAME[:PLACE]", dest="faults",
        help=f"only this one, perhaps at another place: {', '.join(DEFECTS)}",
    )  # fmt: skip
    drills.add_argument(
        "--all", action="store_true", help="run all checks, not only links and all pairs of nodes"
    )
    drills.add_argument(
        "--nights", type=nights, default=2,
        help="healthy nights before each fault; from 7 on their history judges instead of what was "
        "recorded of them (default: 2)",
    )  # fmt: skip
    drills.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what the runs left")
    drills.add_argument("--format", choices=("text", "json"), default="text")
    return drills


def main(words: Sequence[str]) -> int:
    """Run the faults and print the table; return the exit status."""
    options = parser().parse_args(words)
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
    say = _say if sys.stderr.isatty() else lambda _: None
    try:
        report = Drills(folder.resolve(), selection, say).run(faults)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    as_json = options.format == "json"
    print(json.dumps(as_data(report), indent=2) if as_json else "\n".join(_lines(report)))
    return report.status


def _say(line: object) -> None:
    print(f"make drills: {line}", file=sys.stderr)


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
    problems = [each.text for each in report.healthy.problems]
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


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Interrupted as err:
        _say(err)
        sys.exit(128 + err.signal)
    except Fault as err:
        _say(err)
        sys.exit(2)
