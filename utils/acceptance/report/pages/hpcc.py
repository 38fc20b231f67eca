"""HPCC as saini2006 draws it: the Kiviat diagram of its ratios, and ring bandwidth over HPL.

Source: Saini et al. 2006, Section 4.1. Figure 5 and Table 2: each result over G-HPL, then over the
largest one among the systems compared, so that the best has 1; of the latency the reciprocal.
Figure 1: random ring bandwidth times the number of processes, over G-HPL; Figure 2: their ratio.
The first four figures show ratios over G-HPL, which is therefore among the metrics.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from acceptance.core.groups import grouped
from acceptance.core.text import plural
from acceptance.references import Library, Reference
from acceptance.report import addresses
from acceptance.report.plot_model import (
    Axis,
    Origin,
    Plot,
    Sample,
    Trace,
    number_text,
)
from acceptance.report.results import Drawn, Kind, Results, Sweep, count_of
from acceptance.report.source import Source
from acceptance.suites.hpcc import COMPARABLE, RATIOS, depends_on_size, ratios_of

#: What is compared.
METRICS = ("G-HPL", *RATIOS)
RING, HPL = "RandomRing-bandwidth/G-HPL", "G-HPL"
#: Spokes that a run needs to be drawn in a Kiviat diagram.
SPOKES = 3
#: What is said of runs whose ratios to HPL are too large.
SMALL = "their matrices are too small for the memory, so that papers are not drawn beside them."
#: What is said of the lines of papers.
_LINES = (
    " Papers print the ratios, not the points of the figure: each is drawn as the line on which a "
    "system of this balance lies."
)
#: B/kflop times Gflop/s is MB/s; in GB/s.
_MB = 1e-3


#: What a run has in common: its environment; its size: processes, nodes and order.
Run = tuple[str, tuple[str, str, str]]


def run_of(sweep: Sweep) -> Run:
    """Return the run that a result is of."""
    np, nodes, order = (sweep.keys.get(key, "") for key in ("np", "nodes", "order"))
    return sweep.environment, (np, nodes, order)


@dataclass(frozen=True)
class Point:
    """A metric of one system: `value` in `unit`.

    `sweep` is the result that it is, None: it is published, with `np` processes; then `partition`
    is empty for the largest value over all systems of a paper.
    """

    system: str
    partition: str
    metric: str
    value: float
    unit: str
    source: str
    np: str = ""
    sweep: Sweep | None = None

    @property
    def owner(self) -> str:
        """Name what it is drawn with: its run, or the paper."""
        if self.sweep is None:
            return f"largest of {self.system}"
        environment, (np, _, order) = run_of(self.sweep)
        return f"{environment}, {np} processes, order {order}"

    @property
    def comparable(self) -> bool:
        """Tell whether the problem filled the memory, as those of papers did, or does not matter.

        A problem that is small makes HPL slow, and with it every ratio large.
        """
        if self.sweep is None or not depends_on_size(self.metric):
            return True
        return float(self.sweep.by.case.provenance.get("filled") or 0) >= COMPARABLE

    def link(self, source: Source) -> str:
        """Return the address of its case; empty: it is published, or its session has no page."""
        return self.sweep.link(source) if self.sweep else ""

    @property
    def text(self) -> str:
        """Return its number as it was measured or printed, with its unit."""
        return f"{number_text(self.value)} {self.unit if self.unit != '1' else ''}".strip()


def normalised(points: Iterable[Point]) -> list[tuple[Point, float]]:
    """Return points with their share of the largest one of each metric, as Figure 5 has them."""
    compared = [*points]
    best: dict[str, float] = {}
    for point in compared:
        best[point.metric] = max(best.get(point.metric, 0.0), point.value)
    return [(point, point.value / best[point.metric]) for point in compared]


def measured(found: Results) -> dict[Run, dict[str, Point]]:
    """Return the ratios of the newest run of each kind that passed, by metric.

    Those of few processes come first. A ratio made of a STREAM in the cache is none of the memory
    and left out.
    """
    own = (one for one in found.sweeps.values() if one.benchmark == "hpcc" and one.stem in METRICS)
    where = found.place.system, found.place.partition
    runs = grouped(own, run_of)
    # The newest results come first.
    return {
        run: {
            one.stem: Point(*where, one.stem, one.values[None].value, one.unit, one.note(None),
                            sweep=one)
            for one in sweeps if one.by is sweeps[0].by
        }
        for run, sweeps in sorted(
            runs.items(), key=lambda item: (count_of(item[1][0].keys, "np"), item[0])
        )
    }  # fmt: skip


def published(library: Library | None) -> Iterator[Point]:
    """Yield what papers print, and the ratios that follow from it."""
    runs: dict[tuple[str, str, str], dict[str, Reference]] = {}
    for row in library.values if library else ():
        if row.benchmark == "hpcc" and row.relation in ("=", "~"):
            np = row.parameters.get("np", "")
            where = row.system, row.partition
            if row.metric in METRICS:
                yield Point(*where, row.metric, row.value, row.unit, row.citation, np)
            if np and row.partition:
                runs.setdefault((*where, np), {})[row.metric] = row
    for (system, partition, np), rows in runs.items():
        values = {name: row.value for name, row in rows.items()}
        for name, (value, unit) in ratios_of(values, int(np)).items():
            if name not in rows:
                source = f"computed from {rows[name.partition('/')[2]].citation}"
                yield Point(system, partition, name, value, unit, source, np)


def _draw(source: Source, found: Sequence[Results]) -> Drawn:
    runs = measured(found[0])
    if not runs:
        return "", ()
    small = sum(not all(one.comparable for one in points.values()) for points in runs.values())
    text = f"{plural(len(runs), 'run')} of HPCC: the newest of each size and environment."
    if small:
        text += (
            f" {small} of them with a matrix that fills less than {COMPARABLE:.0%} of the "
            "memory, which makes HPL slow and all that is counted per flop of it large: they are "
            "not compared with papers. `reframe -c checks/hpcc.py -r --mode=acceptance` fills it."
        )
    printed = list(published(source.library))
    return text, [
        ("All tests per flop of HPL", [*_kiviats(source, runs, printed)]),
        ("Accumulated random ring bandwidth", [*_rings(source, runs, printed)]),
    ]


pages = Kind(
    "hpcc", "HPCC", "HPCC on {}", _draw, lambda case: case.suite == "hpcc", compares=False
).pages


def _polygons(source: Source, points: Iterable[tuple[Point, float]]) -> Iterator[Trace]:
    """Yield a polygon of each run, and of what papers have; none of too few spokes."""
    for name, group in groupby(points, key=lambda entry: entry[0].owner):
        known: dict[str, Sample] = {}
        sweep: Sweep | None = None
        for point, share in group:
            sweep, note = point.sweep, f"{point.text}; {point.source}"
            known[point.metric] = Sample(point.metric, share, note, point.link(source))
        if len(known) >= SPOKES:
            samples = [known.get(each, Sample(each, None, "not known")) for each in METRICS]
            origin: Origin = "measured" if sweep else "published"
            simulated = sweep is not None and sweep.simulated
            yield Trace(name, samples, origin, "polar", simulated=simulated)


def _kiviats(
    source: Source, runs: dict[Run, dict[str, Point]], printed: Sequence[Point]
) -> Iterator[Plot]:
    """Yield a diagram with papers, and one for each size that several environments have run."""
    own = [point for points in runs.values() for point in points.values()]
    compared = normalised(point for point in [*own, *printed] if point.comparable)
    # Of papers the largest values are drawn.
    drawn = [
        (
            "kiviat",
            "Kiviat diagram, compared with papers",
            [entry for entry in compared if entry[0].sweep or not entry[0].partition],
            " and all published systems, so that the best has 1; of the latency the reciprocal "
            "(saini2006, Section 4.1, Figure 5 and Table 2). A polygon of a paper joins the "
            "largest values over its systems.",
        )
    ]
    for (np, nodes, order), of_size in sorted(grouped(runs, lambda run: run[1]).items()):
        if len(of_size) > 1:
            drawn.append((
                addresses.legal(f"kiviat-{np}-{nodes}-{order}"),
                f"Kiviat diagram of the environments: {np} processes, order {order}",
                normalised(one for run in of_size for one in runs[run].values()),
                ", which are of one size (after saini2006, Section 4.1, Figure 5).",
            ))  # fmt: skip
    for id, title, points, caption in drawn:
        traces = [*_polygons(source, points)]
        first = next((trace for trace in traces if trace.origin == "measured"), None)
        if first is None:
            continue
        known = [(value, name) for name, value in zip(first.x, first.y, strict=True) if value]
        yield Plot(
            id, title,
            f"{first.name}: the least of its shares is {number_text(min(known)[0])} of the best "
            f"({min(known)[1]}), the largest {number_text(max(known)[0])} ({max(known)[1]}).",
            Axis("Test over G-HPL", scale="category"), Axis("Share of the best"),
            traces,
            caption=f"Each test over G-HPL, then over the largest one among these runs{caption}",
        )  # fmt: skip


def _rings(
    source: Source, runs: dict[Run, dict[str, Point]], printed: Sequence[Point]
) -> Iterator[Plot]:
    """Yield the bandwidth of the ring over HPL, and where there are several runs their ratio."""
    found = [(run, of[HPL], of[RING]) for run, of in runs.items() if {RING, HPL} <= of.keys()]
    if not found:
        return
    found.sort(key=lambda entry: entry[1].value)
    fair = any(ring.comparable for _, _, ring in found)
    ends = found[0][1].value / 2, found[-1][1].value * 2
    lines = [
        Trace(f"{one.system} {one.partition}{f', {one.np} processes' * bool(one.np)}: {one.text}",
              [Sample(at, one.value * at * _MB, one.source) for at in ends], "published")
        for one in printed if fair and one.metric == RING and one.partition
    ]  # fmt: skip
    over: dict[str, list[Sample]] = {}
    ratios: dict[str, list[Sample]] = {}
    for (environment, (np, nodes, order)), hpl, ring in found:
        note = (f"{np} processes on {nodes or '?'} nodes, order {order}, "
                f"{ring.text}; {hpl.source}")  # fmt: skip
        sample = Sample(hpl.value, ring.value, note, hpl.link(source))
        ratios.setdefault(environment, []).append(sample)
        total = sample._replace(y=ring.value * hpl.value * _MB)
        over.setdefault(environment, []).append(total)
    simulated = any(hpl.sweep and hpl.sweep.simulated for _, hpl, _ in found)
    totals, shares = (
        [Trace(name, samples, simulated=simulated, group=name)
         for name, samples in curves.items()]
        for curves in (over, ratios)
    )  # fmt: skip
    x, told = Axis("G-HPL", "Gflop/s", "log"), "After saini2006, Section 4.1.1, Figure"
    balance = "the lines are of equal balance, as papers print it." if fair else SMALL
    yield Plot(
        "ring-over-hpl", "Accumulated random ring bandwidth over HPL",
        f"{plural(len(found), 'run')}; {balance}",
        x, Axis("Ring bandwidth x processes", "GB/s", "log"), (*totals, *lines),
        caption=f"{told} 1." + (_LINES if lines else ""),
    )  # fmt: skip
    if len(found) > 1:
        least, most = (number_text(of(ring.value for *_, ring in found)) for of in (min, max))
        yield Plot(
            "ring-ratio", "Random ring bandwidth per flop of HPL",
            f"Between {least} and {most} B/kflop; the less it falls with the size of the system, "
            "the better it scales.",
            x, Axis("Ring bandwidth over G-HPL", "B/kflop", "log"), shares,
            caption=f"{told} 2.",
        )  # fmt: skip
