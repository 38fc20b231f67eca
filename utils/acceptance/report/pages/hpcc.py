"""HPCC as saini2006 draws it: the Kiviat diagram of its ratios, and ring bandwidth over HPL.

Source: Saini et al. 2006, Section 4.1. Figure 5 and Table 2: each result over G-HPL, then over the
largest one among the systems compared, so that the best has 1; of the latency the reciprocal.
Figure 1: random ring bandwidth times the number of processes, over G-HPL; Figure 2: their ratio.
The first four figures show ratios over G-HPL, which is therefore among the metrics.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import groupby
from typing import NamedTuple

from acceptance.core.text import plural
from acceptance.ledger import Session
from acceptance.references import Library, Reference
from acceptance.report import addresses
from acceptance.report.plot_model import (
    Axis,
    Form,
    Origin,
    Plot,
    Sample,
    Scale,
    Trace,
    number_text,
)
from acceptance.report.plot_pages import Drawn, Kind
from acceptance.report.results import Results, count_of
from acceptance.report.source import Source
from acceptance.suites.hpcc import COMPARABLE, RATIOS, depends_on_size, ratios_of

#: What is compared.
METRICS = ("G-HPL", *RATIOS)
RING, HPL = "RandomRing-bandwidth/G-HPL", "G-HPL"
#: Spokes that a run needs to be drawn in a Kiviat diagram.
SPOKES = 3
EMPTY = (
    "No session of this report has a result of HPCC on this partition. `reframe -c checks/hpcc.py "
    "-r` measures it where an environment has HPCC, or where Spack can build it."
)
#: What is said of runs whose ratios to HPL are too large.
SMALL = "their matrices are too small for the memory, so that papers are not drawn beside them."
#: B/kflop times Gflop/s is MB/s; in GB/s.
_MB = 1e-3


@dataclass(frozen=True)
class Point:
    """A metric of one system: `value` in `unit`, `normalised` 1 for the best of those compared.

    `filled` is the share of the memory that HPL's matrix took. A problem that is small makes HPL
    slow, and with it every ratio large: it is compared with nothing, `normalised` is None.
    `partition` is empty for the largest value over all systems of a paper.
    """

    system: str
    partition: str
    metric: str
    value: float
    unit: str
    source: str
    np: str
    nodes: str = ""
    order: str = ""
    environment: str = ""
    filled: str = ""
    normalised: float | None = None
    #: UUID of its session, and number of its case in there; empty, None: published.
    session: str = ""
    number: int | None = None


def comparable(point: Point) -> bool:
    """Tell whether the problem filled the memory, as those of papers did, or does not matter."""
    if not point.environment or not depends_on_size(point.metric):
        return True
    return float(point.filled or 0) >= COMPARABLE


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
    """Yield the ratios of the newest runs of each kind that passed, not normalised.

    The newest session comes first. A ratio made of a STREAM in the cache is none of the memory and
    left out.
    """
    seen = set()
    for session in sessions:
        day = datetime.fromtimestamp(session.start, timezone.utc).strftime("%Y-%m-%d")
        for number, case in enumerate(session.cases):
            np, nodes, order = (case.keys.get(key, "") for key in ("np", "nodes", "order"))
            identity = case.where, np, nodes, order
            if case.benchmark != "hpcc" or not case.passed or identity in seen:
                continue
            seen.add(identity)
            for metric in case.metrics:
                if metric.name in METRICS:
                    yield Point(
                        case.system, case.partition, metric.name, metric.value, metric.unit,
                        f"session {session.uuid} of {day}", np, nodes, order, case.environment,
                        case.provenance.get("filled", ""), None, session.uuid, number,
                    )  # fmt: skip


def published(library: Library) -> Iterator[Point]:
    """Yield what papers print, and the ratios that follow from it."""
    runs: defaultdict[tuple[str, str, str], dict[str, Reference]] = defaultdict(dict)
    for row in library.values:
        if row.benchmark == "hpcc" and row.relation in ("=", "~"):
            np = row.parameters.get("np", "")
            where = row.system, row.partition
            if row.metric in METRICS:
                yield Point(*where, row.metric, row.value, row.unit, row.citation, np)
            if np and row.partition:
                key = *where, np
                runs[key][row.metric] = row
    for (system, partition, np), rows in runs.items():
        values = {name: row.value for name, row in rows.items()}
        for name, (value, unit) in ratios_of(values, int(np)).items():
            if name not in rows:
                source = f"computed from {rows[RATIOS[name].under].citation}"
                yield Point(system, partition, name, value, unit, source, np)


class Run(NamedTuple):
    """A run of HPCC: where, on how many processes and nodes, of which order."""

    environment: str
    np: str
    nodes: str
    order: str

    @property
    def name(self) -> str:
        """Name it as people do."""
        return f"{self.environment}, {self.np} processes, order {self.order}"


#: The points of each run, those of few processes first.
Runs = dict[Run, list[Point]]
#: G-HPL and the ratio of the ring to it, of several runs.
Pairs = list[tuple[Point, Point]]


def _draw(source: Source, found: Sequence[Results]) -> Drawn:
    place = found[0].place.system, found[0].place.partition
    own = [point for point in measured(source.sessions)
           if (point.system, point.partition) == place]  # fmt: skip
    if not own:
        return "", ()
    runs, simulated = _runs(own), found[0].place.simulated
    small = [run for run, points in runs.items() if not all(map(comparable, points))]
    text = f"{plural(len(runs), 'run')} of HPCC: the newest of each size and environment."
    if small:
        text += (
            f" {len(small)} of them with a matrix that fills less than {COMPARABLE:.0%} of the "
            "memory, which makes HPL slow and all that is counted per flop of it large: they are "
            "not compared with papers. `reframe -c checks/hpcc.py -r --mode=acceptance` fills it."
        )
    printed = list(published(source.library)) if source.library else []
    kiviats = _kiviats(source, runs, printed, simulated=simulated)
    rings = _rings(source, runs, printed, simulated=simulated)
    return text, [
        ("All tests per flop of HPL", [*kiviats]),
        ("Accumulated random ring bandwidth", [*rings]),
    ]


pages = Kind("hpcc", "HPCC", "HPCC on {}", EMPTY, _draw, compares=False).pages


def _runs(points: Iterable[Point]) -> Runs:
    runs: Runs = {}
    for point in points:
        run = Run(point.environment, point.np, point.nodes, point.order)
        runs.setdefault(run, []).append(point)
    return dict(sorted(runs.items(), key=lambda item: (count_of(item[0]._asdict(), "np"), item[0])))


def _address(source: Source, point: Point) -> str:
    return "" if point.number is None else source.address(point.session, point.number)


def _spokes(
    source: Source, name: str, points: Iterable[Point], origin: Origin = Origin.MEASURED,
    *, simulated: bool = False,
) -> Iterator[Trace]:  # fmt: skip
    """Yield a polygon; none where it has too few spokes."""
    known = {point.metric: point for point in points if point.normalised is not None}
    samples = []
    for metric in METRICS:
        value, note, link = None, "not known", ""
        if point := known.get(metric):
            unit = point.unit if point.unit != "1" else ""
            note = f"{f'{number_text(point.value)} {unit}'.strip()}; {point.source}"
            value, link = point.normalised, _address(source, point)
        samples.append(Sample(metric, value, note, link))
    if len(known) >= SPOKES:
        yield Trace(name, samples, origin, Form.POLAR, simulated=simulated)


def _kiviat(id: str, title: str, traces: Sequence[Trace], caption: str) -> Plot:
    first = traces[0]
    known = [(value, name) for name, value in zip(first.x, first.y, strict=True) if value]
    return Plot(
        id,
        title,
        f"{first.name}: the least of its shares is {number_text(min(known)[0])} of the best "
        f"({min(known)[1]}), the largest {number_text(max(known)[0])} ({max(known)[1]}).",
        Axis("Test over G-HPL", scale=Scale.CATEGORY),
        Axis("Share of the best"),
        tuple(traces),
        caption=caption,
    )


def _kiviats(
    source: Source, runs: Runs, printed: Sequence[Point], *, simulated: bool
) -> Iterator[Plot]:
    """Yield a diagram with papers, and one for each size that several environments have run."""

    def spokes(points: Iterable[Point]) -> list[Trace]:
        return [
            trace
            for run, some in _runs(points).items()
            for trace in _spokes(source, run.name, some, simulated=simulated)
        ]

    own = [point for points in runs.values() for point in points]
    over_all = normalised([*own, *printed])
    if traces := spokes(point for point in over_all if point.environment):
        largest = [point for point in over_all if not point.environment and not point.partition]
        for system, rows in groupby(largest, key=lambda point: point.system):
            traces += _spokes(source, f"largest of {system}", rows, Origin.PUBLISHED)
        yield _kiviat(
            "kiviat",
            "Kiviat diagram, compared with papers",
            traces,
            "Each test over G-HPL, then over the largest one among these runs and all published "
            "systems, so that the best has 1; of the latency the reciprocal (saini2006, Section "
            "4.1, Figure 5 and Table 2). A polygon of a paper joins the largest values over its "
            "systems.",
        )
    for size, group in groupby(sorted(runs, key=lambda run: run[1:]), key=lambda run: run[1:]):
        of_size = list(group)
        points = [point for run in of_size for point in runs[run]]
        traces = spokes(normalised(points, lambda _: True))
        if len(of_size) > 1 and traces:
            np, nodes, order = size
            yield _kiviat(
                addresses.legal(f"kiviat-{np}-{nodes}-{order}"),
                f"Kiviat diagram of the environments: {np} processes, order {order}",
                traces,
                "Each test over G-HPL, then over the largest one among these runs, which are of "
                "one size (after saini2006, Section 4.1, Figure 5).",
            )


def _curves(
    source: Source, runs: Mapping[str, Pairs], factor: float = 0, *, simulated: bool = False
) -> list[Trace]:
    """Return the ring over HPL, a curve for each environment.

    It is what `factor` times HPL's flops give by the ratio; 0: the ratio itself.
    """
    made = []
    for name, pairs in runs.items():
        samples = [
            Sample(
                hpl.value,
                ring.value * (hpl.value * factor if factor else 1),
                f"{hpl.np} processes on {hpl.nodes or '?'} nodes, order {hpl.order}, "
                f"{number_text(ring.value)} {ring.unit}; {hpl.source}",
                _address(source, hpl),
            )
            for hpl, ring in sorted(pairs, key=lambda pair: pair[0].value)
        ]
        made.append(Trace(name, samples, simulated=simulated, group=name))
    return made


def _balances(printed: Iterable[Point], span: tuple[float, float]) -> list[Trace]:
    """Return the lines on which systems of papers lie, over a span of G-HPL (Gflop/s)."""
    made = []
    for point in printed:
        if point.metric == RING and point.partition:
            np = f", {point.np} processes" if point.np else ""
            ratio = f"{number_text(point.value)} {point.unit}"
            samples = [Sample(flops, point.value * flops * _MB, point.source) for flops in span]
            name = f"{point.system} {point.partition}{np}: {ratio}"
            made.append(Trace(name, samples, Origin.PUBLISHED))
    return made


def _rings(
    source: Source, runs: Runs, printed: Sequence[Point], *, simulated: bool
) -> Iterator[Plot]:
    """Yield the bandwidth of the ring over HPL, and where there are several runs their ratio."""
    found: dict[str, Pairs] = {}
    for run, points in runs.items():
        known = {point.metric: point for point in points}
        if {RING, HPL} <= known.keys():
            found.setdefault(run.environment, []).append((known[HPL], known[RING]))
    every = [pair for pairs in found.values() for pair in pairs]
    if not every:
        return
    flops, ratios = [hpl.value for hpl, _ in every], [ring.value for _, ring in every]
    fair = any(comparable(ring) for _, ring in every)
    lines = _balances(printed, (min(flops) / 2, max(flops) * 2)) if fair else []
    axis = Axis("G-HPL", "Gflop/s", Scale.LOG)
    told = "the lines are of equal balance, as papers print it." if fair else SMALL
    caption = "After saini2006, Section 4.1.1, Figure 1."
    if lines:
        caption += (
            " Papers print the ratios, not the points of the figure: each is drawn as the line on "
            "which a system of this balance lies."
        )
    yield Plot(
        "ring-over-hpl",
        "Accumulated random ring bandwidth over HPL",
        f"{plural(len(every), 'run')}; {told}",
        axis,
        Axis("Ring bandwidth x processes", "GB/s", Scale.LOG),
        (*_curves(source, found, _MB, simulated=simulated), *lines),
        caption=caption,
    )
    if len(every) > 1:
        yield Plot(
            "ring-ratio",
            "Random ring bandwidth per flop of HPL",
            f"Between {number_text(min(ratios))} and {number_text(max(ratios))} B/kflop; the less "
            "it falls with the size of the system, the better it scales.",
            axis,
            Axis("Ring bandwidth over G-HPL", "B/kflop", Scale.LOG),
            tuple(_curves(source, found, simulated=simulated)),
            caption="After saini2006, Section 4.1.1, Figure 2.",
        )
