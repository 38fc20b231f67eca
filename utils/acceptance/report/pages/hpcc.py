"""HPCC as saini2006 draws it: the Kiviat diagram of its ratios, and ring bandwidth over HPL.

Source: Saini et al. 2006, Section 4.1. Figure 5 and Table 2: each result over G-HPL, then over the
largest one among the systems compared, so that the best has 1; of the latency the reciprocal.
Figure 1: random ring bandwidth times the number of processes, over G-HPL; Figure 2: their ratio.
The ratios are those of `claims.hpcc_ratios`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from acceptance.claims import hpcc_ratios
from acceptance.core.text import plural
from acceptance.report import addresses
from acceptance.report.plot_model import Axis, Form, Origin, Page, Plot, Scale, Trace, number_text
from acceptance.report.plot_pages import case_address, failed, page
from acceptance.report.results import Results, count_of, results
from acceptance.report.source import Place, Source
from acceptance.suites.hpcc import COMPARABLE

GROUP = "HPCC"
RING, HPL = "RandomRing-bandwidth/G-HPL", "G-HPL"
#: Spokes that a run needs to be drawn in a Kiviat diagram.
SPOKES = 3
EMPTY = (
    "No session of this report has a result of HPCC on this partition. `reframe -c checks/hpcc.py "
    "-r` measures it where an environment has HPCC, or where Spack can build it."
)
#: What is said of runs whose ratios to HPL are too large.
SMALL = "their matrices are too small for the memory, so that papers are not drawn beside them."
Point = hpcc_ratios.Point


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


def pages(source: Source) -> list[Page]:
    """Return a page for each partition."""
    if not source.measured:
        return [page("hpcc/index.html", GROUP, GROUP, EMPTY)]
    printed = list(hpcc_ratios.published(source.library)) if source.library else []
    measured = list(hpcc_ratios.measured(source.sessions))
    return [_page(source, each, measured, printed) for each in results(source)]


def _page(
    source: Source, found: Results, measured: Iterable[Point], printed: Sequence[Point]
) -> Page:
    place = found.place
    own = [point for point in measured
           if (point.system, point.partition) == (place.system, place.partition)]  # fmt: skip
    path = addresses.of_partition("hpcc", place.system, place.partition)
    title = f"HPCC on {place.name}"
    failures = failed(source, found, "hpcc")
    if not own:
        return page(path, title, GROUP, EMPTY, failures=failures, simulated=place.simulated)
    runs = _runs(own)
    small = [run for run, points in runs.items() if not all(map(hpcc_ratios.comparable, points))]
    text = f"{plural(len(runs), 'run')} of HPCC: the newest of each size and environment."
    if small:
        text += (
            f" {len(small)} of them with a matrix that fills less than {COMPARABLE:.0%} of the "
            "memory, which makes HPL slow and all that is counted per flop of it large: they are "
            "not compared with papers. `reframe -c checks/hpcc.py -r --mode=acceptance` fills it."
        )
    kiviats = [
        plot
        for plot in (_with_papers(source, place, own, printed), *_of_one_size(source, place, runs))
        if plot
    ]
    rings = [_accumulated(source, place, runs, printed), _ratio(source, place, runs)]
    sections = [
        ("All tests per flop of HPL", kiviats),
        ("Accumulated random ring bandwidth", [plot for plot in rings if plot]),
    ]
    return page(path, title, GROUP, text, sections, failures=failures, simulated=place.simulated)


def _runs(points: Iterable[Point]) -> dict[Run, list[Point]]:
    runs: dict[Run, list[Point]] = {}
    for point in points:
        run = Run(point.environment, point.np, point.nodes, point.order)
        runs.setdefault(run, []).append(point)
    return dict(sorted(runs.items(), key=lambda item: (count_of(item[0]._asdict(), "np"), item[0])))


def _note(point: Point) -> str:
    return f"{number_text(point.value)} {point.unit if point.unit != '1' else ''}".strip() + (
        f"; {point.source}"
    )


def _spokes(
    source: Source, name: str, points: Iterable[Point], origin: Origin, *, simulated: bool
) -> Trace | None:
    """Return a polygon; None where it has too few spokes."""
    known = {point.metric: point for point in points if point.normalised is not None}
    if len(known) < SPOKES:
        return None
    chosen = [known.get(metric) for metric in hpcc_ratios.METRICS]
    links = tuple(
        case_address(source, point.session, point.number)
        if point and point.number is not None else ""
        for point in chosen
    )  # fmt: skip
    return Trace(
        name,
        hpcc_ratios.METRICS,
        tuple(point.normalised if point else None for point in chosen),
        origin,
        Form.POLAR,
        links=links if any(links) else (),
        notes=tuple(_note(point) if point else "not known" for point in chosen),
        simulated=simulated,
    )


def _kiviat(ident: str, title: str, traces: Sequence[Trace], caption: str) -> Plot:
    first = traces[0]
    known = [(value, name) for name, value in zip(first.x, first.y, strict=True) if value]
    return Plot(
        ident,
        title,
        f"{first.name}: the least of its shares is {number_text(min(known)[0])} of the best "
        f"({min(known)[1]}), the largest {number_text(max(known)[0])} ({max(known)[1]}).",
        Axis("Test over G-HPL", scale=Scale.CATEGORY),
        Axis("Share of the best"),
        tuple(traces),
        caption=caption,
    )


def _with_papers(
    source: Source, place: Place, own: Sequence[Point], printed: Sequence[Point]
) -> Plot | None:
    points = hpcc_ratios.normalised([*own, *printed])
    made = [
        _spokes(source, run.name, some, Origin.MEASURED, simulated=place.simulated)
        for run, some in _runs(point for point in points if point.environment).items()
    ]
    traces = [trace for trace in made if trace]
    if not traces:
        return None
    largest = [point for point in points if not point.environment and not point.partition]
    for _, group in groupby(largest, key=lambda point: point.system):
        rows = list(group)
        name = f"largest of {rows[0].system}"
        if trace := _spokes(source, name, rows, Origin.PUBLISHED, simulated=False):
            traces.append(trace)
    return _kiviat(
        "kiviat",
        "Kiviat diagram, compared with papers",
        traces,
        "Each test over G-HPL, then over the largest one among these runs and all published "
        "systems, so that the best has 1; of the latency the reciprocal (saini2006, Section 4.1, "
        "Figure 5 and Table 2). A polygon of a paper joins the largest values over its systems.",
    )


def _of_one_size(source: Source, place: Place, runs: dict[Run, list[Point]]) -> Iterable[Plot]:
    """Yield a diagram for each size of which several environments have a run."""
    for size, group in groupby(sorted(runs, key=lambda run: run[1:]), key=lambda run: run[1:]):
        of_size = list(group)
        if len(of_size) < 2:
            continue
        best: dict[str, float] = {}
        for run in of_size:
            for point in runs[run]:
                best[point.metric] = max(best.get(point.metric, 0.0), point.value)
        made = (
            _spokes(
                source,
                run.name,
                [
                    replace(point, normalised=point.value / best[point.metric])
                    for point in runs[run]
                ],
                Origin.MEASURED,
                simulated=place.simulated,
            )
            for run in of_size
        )
        if traces := [trace for trace in made if trace]:
            np, nodes, order = size
            yield _kiviat(
                addresses.legal(f"kiviat-{np}-{nodes}-{order}"),
                f"Kiviat diagram of the environments: {np} processes, order {order}",
                traces,
                "Each test over G-HPL, then over the largest one among these runs, which are of "
                "one size (after saini2006, Section 4.1, Figure 5).",
            )


def _rings(runs: dict[Run, list[Point]]) -> dict[str, list[tuple[Point, Point]]]:
    """Return, of each environment, G-HPL and the ratio of the ring of its runs, by G-HPL."""
    found: dict[str, list[tuple[Point, Point]]] = {}
    for run, points in runs.items():
        known = {point.metric: point for point in points}
        if {RING, HPL} <= known.keys():
            found.setdefault(run.environment, []).append((known[HPL], known[RING]))
    return {name: sorted(pairs, key=lambda pair: pair[0].value) for name, pairs in found.items()}


def _curve(
    source: Source, place: Place, name: str, pairs: Sequence[tuple[Point, Point]], factor: float
) -> Trace:
    """Return the ring over HPL; `factor` 0: the ratio itself, else what a Gflop/s of it gives."""
    links = tuple(case_address(source, hpl.session, hpl.number or 0) for hpl, _ in pairs)
    return Trace(
        name,
        tuple(hpl.value for hpl, _ in pairs),
        tuple(ring.value * (hpl.value * factor if factor else 1) for hpl, ring in pairs),
        links=links if any(links) else (),
        notes=tuple(
            f"{hpl.np} processes on {hpl.nodes or '?'} nodes, order {hpl.order}, "
            f"{number_text(ring.value)} {ring.unit}; {hpl.source}"
            for hpl, ring in pairs
        ),
        simulated=place.simulated,
        group=name,
    )


def _accumulated(
    source: Source, place: Place, runs: dict[Run, list[Point]], printed: Sequence[Point]
) -> Plot | None:
    found = _rings(runs)
    if not found:
        return None
    # B/kflop times Gflop/s is MB/s.
    traces = [_curve(source, place, name, pairs, 1e-3) for name, pairs in found.items()]
    values = [hpl.value for pairs in found.values() for hpl, _ in pairs]
    span = min(values) / 2, max(values) * 2
    fair = any(hpcc_ratios.comparable(ring) for pairs in found.values() for _, ring in pairs)
    ratios = [each for each in printed if each.metric == RING and each.partition and fair]
    lines = [
        Trace(
            f"{point.system} {point.partition}"
            + (f", {point.np} processes" if point.np else "")
            + f": {number_text(point.value)} {point.unit}",
            span,
            tuple(point.value * value * 1e-3 for value in span),
            Origin.PUBLISHED,
            notes=(point.source,) * 2,
        )
        for point in ratios
    ]
    return Plot(
        "ring-over-hpl",
        "Accumulated random ring bandwidth over HPL",
        f"{plural(len(values), 'run')}; "
        + ("the lines are of equal balance, as papers print it." if fair else SMALL),
        Axis("G-HPL", "Gflop/s", Scale.LOG),
        Axis("Ring bandwidth x processes", "GB/s", Scale.LOG),
        (*traces, *lines),
        caption="After saini2006, Section 4.1.1, Figure 1."
        + (
            " Papers print the ratios, not the points of the figure: each is drawn as the line on "
            "which a system of this balance lies."
            if ratios
            else ""
        ),
    )


def _ratio(source: Source, place: Place, runs: dict[Run, list[Point]]) -> Plot | None:
    found = _rings(runs)
    if sum(map(len, found.values())) < 2:
        return None
    traces = [_curve(source, place, name, pairs, 0) for name, pairs in found.items()]
    values = [ring.value for pairs in found.values() for _, ring in pairs]
    return Plot(
        "ring-ratio",
        "Random ring bandwidth per flop of HPL",
        f"Between {number_text(min(values))} and {number_text(max(values))} B/kflop; the less it "
        "falls with the size of the system, the better it scales.",
        Axis("G-HPL", "Gflop/s", Scale.LOG),
        Axis("Ring bandwidth over G-HPL", "B/kflop", Scale.LOG),
        tuple(traces),
        caption="After saini2006, Section 4.1.1, Figure 2.",
    )
