"""`acceptance hpcc-balance`: what each test of HPCC gives for each flop of HPL, side by side.

Source: Saini et al. 2006, Section 4.1, Table 2 and Figures 1 to 5. The first four show ratios over
G-HPL, which is therefore among the metrics. In Figure 5 each one is divided by the largest over the
systems compared, so that the best has 1.
"""

import argparse
import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timezone
from pathlib import Path

from acceptance import references
from acceptance.cli.arguments import Commands, add_command, add_database, add_format
from acceptance.cli.output import emit, warn
from acceptance.core.table import table
from acceptance.references import Library, Reference
from acceptance.rfm import Case, Session, database
from acceptance.suites.hpcc import benchmarks as hpcc
from acceptance.verdict import Status

#: What is compared.
METRICS = ("G-HPL", *hpcc.RATIOS)


@dataclass(frozen=True)
class Point:
    """A metric of one system: `value` in `unit`, `normalised` 1 for the best of those compared.

    `filled` is the share of the memory that HPL's matrix took. A problem that is small makes HPL
    slow, and with it every ratio large: it is compared with nothing, `normalised` is None.
    `partition` is empty for the largest value over all systems of a paper.
    """

    system: str
    partition: str
    environment: str
    np: str
    nodes: str
    order: str
    filled: str
    metric: str
    value: float
    unit: str
    normalised: float | None
    source: str


COLUMNS = tuple(field.name for field in fields(Point))


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "hpcc-balance",
        "HPCC's tests per flop of HPL, for plots",
        "Show the results of HPCC for each flop of HPL, one line for each session and partition.",
    )
    command.add_argument("--system", help="only this system")
    add_database(command)
    add_format(command, "table", "csv", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the ratios of what was measured and of what is published."""
    db = options.db or options.workspace.results
    library = references.load(options.workspace.reference)
    sessions = list(database.sessions(db)) if db.exists() else []
    ratios = points(sessions, library, options.system)
    for problem in problems(ratios, db, options.system):
        warn(options, problem)
    if options.format == "csv":
        print(as_csv(ratios), end="")
    else:
        emit(options.format, lambda: as_data(ratios), lambda: _text(ratios))
    return Status.PASSED


def _text(ratios: Iterable[Point]) -> str:
    rows = [
        [
            format(value, ".4g") if isinstance(value, float) else "" if value is None else value
            for value in row.values()
        ]
        for row in as_data(ratios)
    ]
    return table(COLUMNS, rows, remedy="--format csv shows all")


def points(sessions: Iterable[Session], library: Library, system: str | None = None) -> list[Point]:
    """Return all ratios: of measured results the newest ones that passed, and published ones.

    `sessions` are in the order of `results.sessions`, the newest first. A ratio made of a STREAM
    in the cache is none of the memory and left out. `system` leaves out all others.
    """
    ratios = [
        point
        for point in (*_measured(sessions), *_published(library))
        if system in (None, point.system)
    ]
    best: dict[str, float] = {}
    for point in filter(_comparable, ratios):
        best[point.metric] = max(best.get(point.metric, 0.0), point.value)
    return [
        replace(point, normalised=point.value / best[point.metric]) if _comparable(point) else point
        for point in ratios
    ]


def _comparable(point: Point) -> bool:
    """Tell whether the problem filled the memory, as those of papers did, or does not matter."""
    if not point.environment or not hpcc.depends_on_size(point.metric):
        return True
    return float(point.filled or 0) >= hpcc.COMPARABLE


def _measured(sessions: Iterable[Session]) -> Iterator[Point]:
    seen = set()
    for session in sessions:
        day = datetime.fromtimestamp(session.start, timezone.utc).strftime("%Y-%m-%d")
        for case in session.cases:
            identity = (case.where, *map(case.keys.get, ("np", "nodes", "order")))
            if case.benchmark != "hpcc" or not case.passed or identity in seen:
                continue
            seen.add(identity)
            source = f"session {session.uuid} of {day}"
            for metric in case.metrics:
                if metric.name in METRICS:
                    yield _point(case, metric.name, metric.value, metric.unit, source)


def _point(case: Case, metric: str, value: float, unit: str, source: str) -> Point:
    np, nodes, order = (case.keys.get(key, "") for key in ("np", "nodes", "order"))
    filled = case.provenance.get("filled", "")
    where = (case.system, case.partition, case.environment)
    return Point(*where, np, nodes, order, filled, metric, value, unit, None, source)


def _published(library: Library) -> Iterator[Point]:
    """Yield what papers print, and the ratios that follow from it."""
    runs: defaultdict[tuple[str, str, str], dict[str, Reference]] = defaultdict(dict)
    for row in library.values:
        if row.benchmark == "hpcc" and row.relation in ("=", "~"):
            np = row.parameters.get("np", "")
            if row.metric in METRICS:
                yield _stated(row, np, row.metric, row.value, row.unit, row.citation)
            if np and row.partition:
                runs[row.system, row.partition, np][row.metric] = row
    for (_, _, np), rows in runs.items():
        values = {name: row.value for name, row in rows.items()}
        for name, (value, unit) in hpcc.ratios_of(values, int(np)).items():
            if name not in rows:
                under = rows[hpcc.RATIOS[name].under]
                yield _stated(under, np, name, value, unit, f"computed from {under.citation}")


def _stated(row: Reference, np: str, metric: str, value: float, unit: str, source: str) -> Point:
    where = (row.system, row.partition, "")
    return Point(*where, np, "", "", "", metric, value, unit, None, source)


def problems(ratios: Iterable[Point], db: Path, system: str | None) -> list[str]:
    """Return what a reader of these points should know that they do not tell."""
    ratios = list(ratios)
    whose = f" of {system}" if system is not None else ""
    if not ratios:
        return [f"no result of HPCC{whose} is known"]
    said = []
    if not any(point.environment for point in ratios):
        said.append(f"{db} has no result of HPCC{whose} that passed: published values only")
    if not all(map(_comparable, ratios)):
        said.append(
            f"not normalised: problems that fill less than {hpcc.COMPARABLE:.0%} of the memory; "
            "the mode acceptance fills it"
        )
    return said


def as_data(ratios: Iterable[Point]) -> list[dict[str, object]]:
    """Return points as plain data."""
    return [asdict(point) for point in ratios]


def as_csv(ratios: Iterable[Point]) -> str:
    """Return points as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_data(ratios))
    return text.getvalue()
