"""What each test of HPCC gives for each flop of HPL, of what was measured and what papers print.

Source: Saini et al. 2006, Section 4.1, Table 2 and Figures 1 to 5. The first four show ratios over
G-HPL, which is therefore among the metrics. In Figure 5 each one is divided by the largest over the
systems compared, so that the best has 1.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from acceptance.references import Library, Reference
from acceptance.rfm import Case, Session
from acceptance.suites import hpcc

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
    #: UUID of its session, and number of its case in there; empty, None: published.
    session: str = ""
    number: int | None = None


def points(sessions: Iterable[Session], library: Library, system: str | None = None) -> list[Point]:
    """Return all ratios: of measured results the newest ones that passed, and published ones.

    `sessions` are in the order of `results.sessions`, the newest first. A ratio made of a STREAM
    in the cache is none of the memory and left out. `system` leaves out all others.
    """
    return normalised(
        point
        for point in (*measured(sessions), *published(library))
        if system in (None, point.system)
    )


def comparable(point: Point) -> bool:
    """Tell whether the problem filled the memory, as those of papers did, or does not matter."""
    if not point.environment or not hpcc.depends_on_size(point.metric):
        return True
    return float(point.filled or 0) >= hpcc.COMPARABLE


def normalised(points: Iterable[Point], takes: Callable[[Point], bool] = comparable) -> list[Point]:
    """Return points over the largest one of each metric that it `takes`, as Figure 5 has them."""
    ratios = list(points)
    best: dict[str, float] = {}
    for point in filter(takes, ratios):
        best[point.metric] = max(best.get(point.metric, 0.0), point.value)
    return [
        replace(point, normalised=point.value / best[point.metric]) if takes(point) else point
        for point in ratios
    ]


def measured(sessions: Iterable[Session]) -> Iterator[Point]:
    """Yield the ratios of the newest runs of each kind that passed, not normalised."""
    seen = set()
    for session in sessions:
        day = datetime.fromtimestamp(session.start, timezone.utc).strftime("%Y-%m-%d")
        for number, case in enumerate(session.cases):
            identity = (case.where, *map(case.keys.get, ("np", "nodes", "order")))
            if case.benchmark != "hpcc" or not case.passed or identity in seen:
                continue
            seen.add(identity)
            source = f"session {session.uuid} of {day}"
            for metric in case.metrics:
                if metric.name in METRICS:
                    point = _point(case, metric.name, metric.value, metric.unit, source)
                    yield replace(point, session=session.uuid, number=number)


def _point(case: Case, metric: str, value: float, unit: str, source: str) -> Point:
    np, nodes, order = (case.keys.get(key, "") for key in ("np", "nodes", "order"))
    filled = case.provenance.get("filled", "")
    where = (case.system, case.partition, case.environment)
    return Point(*where, np, nodes, order, filled, metric, value, unit, None, source)


def published(library: Library) -> Iterator[Point]:
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
