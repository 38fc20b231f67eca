"""`acceptance references --coverage` and `--judges`: the cases that rows and claims judge."""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from acceptance.cli.output import emit
from acceptance.core.extras import MODES
from acceptance.core.simulated import SIMULATED, is_simulated, model_of
from acceptance.core.table import table
from acceptance.coverage import (
    CoveredClaim,
    CoveredRow,
    Judged,
    Why,
    cover_claims,
    cover_rows,
)
from acceptance.references import Library, Reference, tables
from acceptance.rfm import ListedCase, configuration, list_cases

_SHORT = ("row", "benchmark", "metric", "parameters", "judges in")
_HEADER = ("partition", *tables.SHORT_COLUMNS, "check", "modes", SIMULATED, "why not", "detail")


def show(options: argparse.Namespace, library: Library, rows: Sequence[Reference]) -> None:
    """Print what the listings of the systems of these rows say of them, and of the claims."""
    claims = [claim for claim in library.claims if options.paper in (None, claim.paper)]
    whole = options.partition is None and options.benchmark is None
    systems = {row.system for row in rows}
    if whole:
        systems |= {side.system for claim in claims for side in claim.sides}
    known = {system["name"] for system in configuration.load(options.config_files).systems}
    # A simulated system runs the cases of the one that it models: they are listed once.
    models = {model_of(name) for name in known if is_simulated(name)}
    cases = list_cases(options.workspace, systems & known)
    covered = cover_rows(rows, library, cases, models)
    covered_claims = cover_claims(claims, library, cases, models) if whole else []
    if options.format == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([_HEADER, *map(_cells, covered)])
        return
    emit(
        options.format,
        lambda: {
            "rows": [_row_data(row) for row in covered],
            "claims": [_claim_data(claim) for claim in covered_claims],
        },
        lambda: "\n\n".join(
            [
                _judges(covered) if options.judges else table(_SHORT, map(_short, covered)),
                *_summaries(covered, covered_claims),
            ]
        ),
    )


def _cells(covered: CoveredRow) -> list[str]:
    row = covered.row
    return [
        f"{row.system}:{row.partition}",
        *(tables.fields(row)[name] for name in tables.SHORT_COLUMNS),
        covered.check,
        " ".join(covered.modes),
        "yes" if covered.simulated else "",
        covered.why.value if covered.why else "",
        covered.detail,
    ]


def _short(covered: CoveredRow) -> list[str]:
    """Return what fits into a table: the row by its line, and its modes, or why there is none."""
    row = covered.row
    return [
        f"{row.path.name}:{row.line}",
        row.benchmark,
        row.metric,
        tables.fields(row)["parameters"],
        covered.why.value
        if covered.why
        else " ".join([*covered.modes, *([SIMULATED] if covered.simulated else [])]),
    ]


def _judges(covered: Iterable[CoveredRow]) -> str:
    """Write each row, and below it the cases that it judges."""
    lines = []
    for each in covered:
        fields = tables.fields(each.row)
        words = [fields[name] for name in tables.SHORT_COLUMNS if fields[name]]
        lines.append(f"{each.row.system}:{each.row.partition} {' '.join(words)}")
        lines += [f"    {text}" for text in _case_lines(each.judged)]
        if each.why:
            lines.append(f"    none: {each.why.value}: {each.detail}")
    return "\n".join(lines)


def _case_lines(judged: Iterable[Judged]) -> list[str]:
    """Write cases, those that differ only in environment or mode on one line."""
    environments: dict[tuple[str, str], set[str]] = {}
    modes: dict[tuple[str, str], set[str]] = {}
    for each in judged:
        key = each.case.name, ", ".join(each.metrics)
        environments.setdefault(key, set()).add(each.case.environment)
        modes.setdefault(key, set()).update(each.case.modes)
    return [
        f"{key[0]}: {key[1]} ({', '.join(mode for mode in MODES if mode in modes[key])}; "
        f"{', '.join(sorted(environments[key]))})"
        for key in environments
    ]


def _summaries(rows: Sequence[CoveredRow], claims: Sequence[CoveredClaim]) -> list[str]:
    """Write a table of the rows, and one of the claims, by paper or site."""
    both = {
        "rows": [(each.row.origin, _runs(each), each.why) for each in rows],
        "claims": [(each.claim.paper, _runs(each), each.why) for each in claims],
    }
    return [_summary(kind, covered) for kind, covered in both.items() if covered]


def _runs(covered: CoveredRow | CoveredClaim) -> tuple[str, ...]:
    """Return the modes, and whether a simulated system is judged by it, too."""
    return (*covered.modes, *([SIMULATED] if covered.simulated else []))


_Covered = tuple[str, tuple[str, ...], Why | None]


def _summary(kind: str, covered: Sequence[_Covered]) -> str:
    """Write all, how many some case judges, those of each mode, and why the rest does not."""
    reasons = [why for why in Why if any(each[2] is why for each in covered)]
    origins = dict.fromkeys(origin for origin, _, _ in covered)
    groups = {origin: [each for each in covered if each[0] == origin] for origin in origins}
    if len(groups) > 1:
        groups["all"] = list(covered)
    header = (kind, "all", "judged", *MODES, SIMULATED, *(why.value for why in reasons))
    return table(header, [[name, *_counts(group, reasons)] for name, group in groups.items()])


def _counts(covered: Sequence[_Covered], reasons: Sequence[Why]) -> list[str]:
    run = Counter(mode for _, runs, _ in covered for mode in runs)
    whys = Counter(why for _, _, why in covered)
    judged = sum(bool(runs) for _, runs, _ in covered)
    counts = (*(run[mode] for mode in (*MODES, SIMULATED)), *(whys[why] for why in reasons))
    numbers = (len(covered), judged, *counts)
    return [str(number) for number in numbers]


def _row_data(covered: CoveredRow) -> dict[str, Any]:
    row = covered.row
    return {
        **tables.fields(row),
        "value": row.value,
        "source": row.source,
        "line": f"{row.path}:{row.line}",
        "check": covered.check or None,
        "modes": list(covered.modes),
        "simulated": covered.simulated,
        "judges": [_case_data(judged.case, judged.metrics) for judged in covered.judged],
        "why": covered.why.value if covered.why else None,
        "detail": covered.detail,
    }


def _case_data(case: ListedCase, metrics: Sequence[str]) -> dict[str, Any]:
    return {
        "case": case.name,
        "environment": case.environment,
        "modes": list(case.modes),
        "keys": case.keys,
        "metrics": list(metrics),
    }


def _claim_data(covered: CoveredClaim) -> dict[str, Any]:
    claim = covered.claim
    return {
        "paper": claim.paper,
        "where": claim.where,
        "line": f"{claim.path}:{claim.line}",
        "expected": claim.expected,
        "modes": list(covered.modes),
        "simulated": covered.simulated,
        "why": covered.why.value if covered.why else None,
        "detail": covered.detail,
    }
