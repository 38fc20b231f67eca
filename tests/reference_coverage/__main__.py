"""The cases that rows and claims of `reference/` judge: `make coverage`, or with `JUDGES=1`.

No scheduler is asked and nothing is run; one system takes some ten seconds, one benchmark less.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from acceptance import references
from acceptance.core.errors import Fault
from acceptance.core.extras import MODES
from acceptance.core.text import table
from acceptance.core.words import SIMULATED, is_simulated, model_of
from acceptance.references import tables
from acceptance.rfm import configuration, in_force
from tests.reference_coverage.claims import CoveredClaim, cover_claims
from tests.reference_coverage.listing import list_cases
from tests.reference_coverage.rows import CoveredRow, Judged, Why, cover_rows

_SHORT = ("row", "benchmark", "metric", "parameters", "judges in")
_HEADER = ("partition", *tables.SHORT_COLUMNS, "check", "modes", SIMULATED, "why not", "detail")


def main(words: Sequence[str]) -> None:
    """Print what the listings of the systems of rows say of them, and of the claims."""
    parser = argparse.ArgumentParser("make coverage", description=__doc__)
    parser.add_argument("--judges", action="store_true", help="the cases that each row judges")
    parser.add_argument("--paper", help="only the rows of a paper, by its key")
    parser.add_argument("--partition", help="only those of a partition, system:partition")
    parser.add_argument("--benchmark", help="only those of suite.program, or of a whole suite")
    parser.add_argument("--format", choices=("table", "csv"), default="table")
    options = parser.parse_args(words)
    workspace = in_force.workspace()
    library = references.load(workspace.reference)
    rows = tables.select(library, options.paper, options.partition, options.benchmark)
    claims = [claim for claim in library.claims if options.paper in (None, claim.paper)]
    whole = options.partition is None and options.benchmark is None
    systems = {row.system for row in rows}
    if whole:
        systems |= {side.system for claim in claims for side in claim.sides}
    known = {system["name"] for system in configuration.load(workspace.config_files).systems}
    # A simulated system runs the cases of the one that it models: they are listed once.
    models = {model_of(name) for name in known if is_simulated(name)}
    cases = list_cases(workspace, systems & known, options.benchmark)
    covered = cover_rows(rows, library, cases, models)
    if options.format == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([_HEADER, *map(_cells, covered)])
        return
    covered_claims = cover_claims(claims, library, cases, models) if whole else []
    shown = _judges(covered) if options.judges else table(_SHORT, map(_short, covered))
    print("\n\n".join([shown, *_summaries(covered, covered_claims)]))


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


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Fault as err:
        print(f"make coverage: {err}", file=sys.stderr)
        sys.exit(2)
