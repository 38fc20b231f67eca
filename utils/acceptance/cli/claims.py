"""`acceptance claims`: which stated relations hold in the results database."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from acceptance import references
from acceptance.claims import evaluate as claims
from acceptance.claims.evaluate import FAILS, HOLDS, NOT_MEASURED, Outcome
from acceptance.claims.figures import Figure
from acceptance.claims.pairs import Value
from acceptance.core.errors import Fault
from acceptance.core.table import table
from acceptance.references import Library, write_parameters
from acceptance.rfm import configuration
from acceptance.rfm import database as results
from acceptance.rfm.database import Session

#: Exit statuses.
FULFILLED, UNFULFILLED, CANNOT_TELL = 0, 1, 2

HEADER = ("state", "claim", "what", "left", "right", "published", "ours", "pairs", "note")


class UnknownSystem(Fault):
    """A system that neither references, configuration nor results know."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Give the subcommand its arguments."""
    command.add_argument("--system", help="only claims in which a side names this system")
    command.add_argument("--db", type=Path, help="another results database")
    command.add_argument(
        "--window",
        type=_days,
        default=claims.WINDOW,
        metavar="DAYS",
        help="how far the two results may lie apart (default: %(default)g)",
    )
    command.add_argument("--format", choices=("table", "json"), default="table")
    command.add_argument("--all", action="store_true", help="list what is not measured, too")


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days")
    return days


def run(options: argparse.Namespace, files: Iterable[Path]) -> int:
    """Print what became of claims; `files` are ReFrame's configuration files.

    Returns the exit status: 1 when a claim fails that its system must fulfil, 2 when it cannot be
    told.
    """
    db = options.db or options.workspace.results
    try:
        library = references.load(options.workspace.reference)
        found = outcomes(library, db, files, options.system, options.window)
    except (
        references.ReferenceFault,
        results.ResultsFault,
        configuration.SiteFault,
        UnknownSystem,
    ) as err:
        print(f"acceptance claims: {err}", file=sys.stderr)
        return CANNOT_TELL
    if options.format == "json":
        print(json.dumps(as_data(found), indent=2, ensure_ascii=False))
    else:
        print(as_text(found, options.all))
    return UNFULFILLED if any(outcome.fails_expected for outcome in found) else FULFILLED


def outcomes(
    library: Library, database: Path, files: Iterable[Path], system: str | None, window: float
) -> list[Outcome]:
    """Evaluate the claims of a library on a database.

    Claims of a site may name what is in systems.csv, in the configuration, and what results exist
    of: a partition that an upgrade has replaced is in no configuration any more. Raises
    UnknownSystem for a system that none of these knows, and the faults of what is read.
    """
    measured: set[str] = set()

    def seen() -> Iterator[Session]:
        for session in results.sessions(database):
            measured.update(f"{case.system}:{case.partition}" for case in session.cases)
            yield session

    wanted = [
        claim
        for claim in library.claims
        if system is None or system in (claim.left.system, claim.right.system)
    ]
    found = claims.evaluate(wanted, seen(), library.tolerances, window)
    known = {*library.partitions, *measured}
    systems = {name.partition(":")[0] for name in known}
    named = {
        side.fullname
        for claim in library.claims
        for side in (claim.left, claim.right)
        if side.partition or side.system not in systems
    }
    if not named <= known or (system is not None and system not in systems):
        configured = {
            f"{one['name']}:{partition['name']}"
            for one in configuration.load(files).systems
            for partition in one["partitions"]
        }
        known |= configured
        systems |= {name.partition(":")[0] for name in configured}
    claims.check_partitions(library.claims, known)
    if system is not None and system not in systems:
        raise UnknownSystem(f"no system {system!r}; there are {', '.join(sorted(systems))}")
    return found


# As text.


def as_text(found: Sequence[Outcome], everything: bool = False) -> str:
    """Return a table, and below it how many claims hold, fail and are not measured."""
    rows = [_cells(outcome) for outcome in found if everything or outcome.state != NOT_MEASURED]
    lines = [table(HEADER, rows), ""] if rows else []
    states = Counter(outcome.state for outcome in found)
    lines.append(
        f"{len(found)} claims: {states[HOLDS]} hold, {states[FAILS]} fail, "
        f"{states[NOT_MEASURED]} not measured"
    )
    reasons = Counter(outcome.reason for outcome in found if outcome.state == NOT_MEASURED)
    if reasons:
        said = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        lines.append(f"not measured: {said}" + ("" if everything else " (--all lists them)"))
    for outcome in found:
        claim = outcome.claim
        if outcome.fails_expected:
            lines.append(f"FAILS, expected to hold: {claim.path}:{claim.line}")
        elif outcome.state == NOT_MEASURED and claim.expected and claim.source == "site":
            # A contract that nobody can tell of is not fulfilled by that.
            lines.append(
                f"NOT MEASURED, expected to hold: {claim.path}:{claim.line}: {outcome.detail}"
            )
    return "\n".join(lines)


def _cells(outcome: Outcome) -> list[str]:
    claim = outcome.claim
    place = f"{claim.paper}, {claim.where}"
    if outcome.left is None or outcome.right is None:
        sides = [claims.described(claim, side) for side in (claim.left, claim.right)]
        why = f"{outcome.reason}: {outcome.detail}"
        return [outcome.state, place, "", *sides, published(outcome), "", "", why]
    return [
        "FAILS" if outcome.fails_expected else outcome.state,
        place,
        _what(outcome.left, outcome.right),
        *(_side(own, other) for own, other in _both(outcome.left, outcome.right)),
        published(outcome),
        ours(outcome.ours),
        f"{outcome.held} of {outcome.compared}",
        outcome.note,
    ]


def _both(left: Value, right: Value) -> list[tuple[Value, Value]]:
    return [(left, right), (right, left)]


def _what(left: Value, right: Value) -> str:
    """Return what both sides share: benchmark, metric and keys, as far as they are the same."""
    common = {key: value for key, value in left.keys.items() if right.keys.get(key) == value}
    common.pop("message_size", None)
    names = [
        first if first == second else f"{first} / {second}"
        for first, second in ((left.benchmark, right.benchmark), (left.metric, right.metric))
    ]
    return " ".join(filter(None, (*names, write_parameters(common))))


def _side(own: Value, other: Value) -> str:
    """Return a side: where, in which keys it differs from the other one, and its value."""
    mine = {**own.keys, "environment": own.environment}
    others = {**other.keys, "environment": other.environment}
    keys = {
        key: value
        for key, value in mine.items()
        if others.get(key) != value and key != "message_size"
    }
    where = ";".join(filter(None, (own.partition, write_parameters(keys))))
    return f"{where}: {_number(own.value, own.unit)}"


def published(outcome: Outcome) -> str:
    """Return the relation as it is stated: `>= 20 %`, `in 43..55 %`, `better`."""
    claim = outcome.claim
    value = "..".join(f"{bound:g}" for bound in claim.value)
    return " ".join(filter(None, (claim.relation, value, claim.unit)))


def ours(found: Figure | None) -> str:
    """Return the figure that the results give."""
    return "" if found is None else _number(found.value, found.unit)


def _number(value: float, unit: str) -> str:
    return f"{value:.5g}" + ("" if unit == "1" else f" {unit}")


# As data.


def as_data(found: Sequence[Outcome]) -> dict[str, Any]:
    """Return all outcomes, and their counts, as plain data."""
    states = Counter(outcome.state for outcome in found)
    return {
        "counts": {state: states[state] for state in (HOLDS, FAILS, NOT_MEASURED)},
        "failed_expected": sum(outcome.fails_expected for outcome in found),
        "claims": [_data(outcome) for outcome in found],
    }


def _data(outcome: Outcome) -> dict[str, Any]:
    claim, figure = outcome.claim, outcome.ours
    return {
        "paper": claim.paper,
        "where": claim.where,
        "line": f"{claim.path}:{claim.line}",
        "source": claim.source,
        "expected": claim.expected,
        "state": outcome.state,
        "claimed": {
            "left": claims.described(claim, claim.left),
            "right": claims.described(claim, claim.right),
            "relation": claim.relation,
            "value": list(claim.value),
            "unit": claim.unit,
            "printed": claim.printed,
        },
        "left": _value(outcome.left),
        "right": _value(outcome.right),
        "ours": figure and {"value": figure.value, "unit": figure.unit},
        "held": outcome.held,
        "compared": outcome.compared,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "note": outcome.note,
    }


def _value(value: Value | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "partition": value.partition,
        "environment": value.environment,
        "benchmark": value.benchmark,
        "metric": value.metric,
        "keys": {key: text for key, text in value.keys.items() if key != "message_size"},
        "value": value.value,
        "unit": value.unit,
        "session": value.session,
        "time": datetime.fromtimestamp(value.time, timezone.utc).isoformat(timespec="seconds"),
    }
