"""`acceptance claims`: which stated relations hold in the results database."""

import argparse
from collections import Counter
from collections.abc import Sequence

from acceptance import references
from acceptance.claims import (
    BEYOND_MODEL,
    FAILS,
    HOLDS,
    NOT_MEASURED,
    WINDOW,
    ClaimResult,
    Figure,
    Value,
    described,
    report,
)
from acceptance.cli.arguments import Commands, add_command, add_database, add_format
from acceptance.cli.output import emit
from acceptance.core.text import table
from acceptance.core.words import NO_EVIDENCE, is_simulated, model_of
from acceptance.references import write_parameters
from acceptance.verdict import Status

HEADER = ("state", "claim", "what", "left", "right", "published", "ours", "pairs", "note")


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "claims",
        "which stated relations hold in the results",
        "Compare pairs of stored results with the relations that papers and sites state.",
        failed="a claim that the system must fulfil does not hold",
    )
    command.add_argument("--system", help="only claims in which a side names this system")
    add_database(command)
    command.add_argument(
        "--window",
        type=_days,
        default=WINDOW,
        metavar="DAYS",
        help="how far the two results may lie apart (default: %(default)g)",
    )
    add_format(command, "table", "json")
    command.add_argument("--all", action="store_true", help="list what is not measured, too")
    command.set_defaults(run=run)


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days")
    return days


def run(options: argparse.Namespace) -> int:
    """Print what became of claims; the exit status is 1 when one that must hold fails."""
    db = options.db or options.workspace.results
    library = references.load(options.workspace.reference)
    results = report.evaluate_database(
        library,
        db,
        options.config_files,
        options.system,
        options.window,
        options.workspace.store_of(db),
    )
    emit(
        options.format,
        lambda: report.as_data(results),
        lambda: as_text(results, options.all, options.system or ""),
    )
    fails = any(result.fails_expected for result in results)
    return Status.FAILED if fails else Status.PASSED


def as_text(results: Sequence[ClaimResult], everything: bool = False, system: str = "") -> str:
    """Return a table, and below it how many claims hold, fail and are not measured."""
    shown = [result for result in results if everything or result.state in (HOLDS, FAILS)]
    lines = [table(HEADER, map(_cells, shown)), ""] if shown else []
    states = Counter(result.state for result in results)
    counts = [
        f"{states[HOLDS]} hold",
        f"{states[FAILS]} fail",
        f"{states[NOT_MEASURED]} not measured",
    ]
    if is_simulated(system):
        counts.append(f"{states[BEYOND_MODEL]} the model cannot say")
        lines.append(f"SIMULATED: {system} is {NO_EVIDENCE.format(model_of(system))}")
    lines.append(f"{len(results)} claims: {', '.join(counts)}")
    for state in (NOT_MEASURED, BEYOND_MODEL):
        reasons = Counter(result.reason for result in results if result.state == state)
        if reasons:
            said = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
            lines.append(f"{state}: {said}" + ("" if everything else " (--all lists them)"))
    if of_input := sum(result.of_input and result.state in (HOLDS, FAILS) for result in results):
        lines.append(f"{of_input} of them by an input of the model: small latencies")
    for result in results:
        claim = result.claim
        if result.fails_expected:
            lines.append(f"FAILS, expected to hold: {claim.path}:{claim.line}")
        elif result.state == NOT_MEASURED and claim.expected and claim.source == "site":
            # A contract that nobody can tell of is not fulfilled by that.
            lines.append(
                f"NOT MEASURED, expected to hold: {claim.path}:{claim.line}: {result.detail}"
            )
    return "\n".join(lines)


def _cells(result: ClaimResult) -> list[str]:
    claim = result.claim
    place = f"{claim.paper}, {claim.where}"
    if result.left is None or result.right is None:
        sides = [described(claim, side) if side else "" for side in (claim.left, claim.right)]
        why = f"{result.reason}: {result.detail}"
        return [result.state, place, "", *sides, _published(result), "", "", why]
    return [
        "FAILS" if result.fails_expected else result.state,
        place,
        _what(result.left, result.right),
        _side(result.left, result.right),
        _side(result.right, result.left),
        _published(result),
        _ours(result.ours),
        f"{result.held} of {result.compared}",
        result.note,
    ]


def _what(left: Value, right: Value) -> str:
    """Return what both sides share: benchmark, metric and keys, as far as they are the same."""
    common = {key: value for key, value in left.keys.items() if right.keys.get(key) == value}
    common.pop("message_size", None)
    names = [
        first if first == second else f"{first} / {second}"
        for first, second in ((left.benchmark, right.benchmark), (left.metric, right.metric))
    ]
    return " ".join(filter(None, (*names, write_parameters(common))))


def _side(value: Value, other: Value) -> str:
    """Return a side: where, in which keys it differs from the other one, and its value."""
    others = {**other.keys, "environment": other.environment}
    keys = {
        key: text
        for key, text in {**value.keys, "environment": value.environment}.items()
        if others.get(key) != text and key != "message_size"
    }
    where = ";".join(filter(None, (value.partition, write_parameters(keys))))
    return f"{where}: {_number(value.value, value.unit)}"


def _published(result: ClaimResult) -> str:
    """Return the relation as it is stated: `>= 20 %`, `in 43..55 %`, `better`."""
    claim = result.claim
    value = "..".join(f"{bound:g}" for bound in claim.value)
    return " ".join(filter(None, (claim.relation, value, claim.unit)))


def _ours(figure: Figure | None) -> str:
    """Return the figure that the results give."""
    return "" if figure is None else _number(figure.value, figure.unit)


def _number(value: float, unit: str) -> str:
    return f"{value:.5g}" + ("" if unit == "1" else f" {unit}")
