"""The balance of machines: what each test of HPCC gives for each flop of HPL, side by side.

Source: Saini et al. 2006, Section 4.1, Table 2 and Figure 5. There each ratio is divided by the
largest over the systems compared, so that the best one has 1.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timezone

from utils.references import Library
from utils.results import Session
from utils.suites.hpcc import RATIOS


@dataclass(frozen=True)
class Point:
    """A ratio of one system: `value` in `unit`, `normalised` 1 for the best of those compared."""

    system: str
    partition: str
    environment: str
    np: str
    order: str
    metric: str
    value: float
    unit: str
    normalised: float
    source: str


COLUMNS = tuple(field.name for field in fields(Point))


def points(sessions: Iterable[Session], library: Library, system: str | None = None) -> list[Point]:
    """Return all ratios: of measured results the newest ones that passed, and published ones.

    `sessions` are in the order of `results.sessions`, the newest first. A ratio made of a STREAM
    in the cache is none of the memory and left out. `system` leaves out all others.
    """
    found = [
        point
        for point in (*_measured(sessions), *_published(library))
        if system in (None, point.system)
    ]
    best: dict[str, float] = {}
    for point in found:
        best[point.metric] = max(best.get(point.metric, 0.0), point.value)
    return [replace(point, normalised=point.value / best[point.metric]) for point in found]


def _measured(sessions: Iterable[Session]) -> Iterator[Point]:
    seen = set()
    for session in sessions:
        day = datetime.fromtimestamp(session.start, timezone.utc).strftime("%Y-%m-%d")
        for case in session.cases:
            identity = (case.where, case.keys.get("np"), case.keys.get("order"))
            if case.benchmark != "hpcc" or not case.passed or identity in seen:
                continue
            seen.add(identity)
            for metric in case.metrics:
                if metric.name in RATIOS:
                    yield Point(
                        case.system,
                        case.partition,
                        case.environment,
                        case.keys.get("np", ""),
                        case.keys.get("order", ""),
                        metric.name,
                        metric.value,
                        metric.unit,
                        1.0,
                        f"session {session.uuid} of {day}",
                    )


def _published(library: Library) -> Iterator[Point]:
    for row in library.values:
        if row.benchmark != "hpcc" or row.metric not in RATIOS or not row.partition:
            continue
        if row.relation not in ("=", "~"):
            continue
        yield Point(
            row.system,
            row.partition,
            "",
            row.parameters.get("np", ""),
            "",
            row.metric,
            row.value,
            row.unit,
            1.0,
            row.citation,
        )


def as_data(found: Iterable[Point]) -> list[dict[str, object]]:
    """Return points as plain data."""
    return [asdict(point) for point in found]


def as_csv(found: Iterable[Point]) -> str:
    """Return points as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_data(found))
    return text.getvalue()
