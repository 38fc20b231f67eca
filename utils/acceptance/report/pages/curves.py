"""Latency, bandwidth and their ratios over message size, log-log, as the papers draw them.

A page for each partition, with a plot for each family of benchmarks, placements and environments
over each other; and one for each system of several partitions, these over each other: SDR, DDR, QDR
as in Figures 2 and 3 of koop2008.
"""

from collections.abc import Iterable, Iterator, Sequence

from acceptance.core.text import bytes_text, plural
from acceptance.relations import grouped
from acceptance.report import addresses, curve_traces
from acceptance.report.curve_traces import BALANCE, SECTIONS, Family, family_of, shared_text
from acceptance.report.plot_model import Axis, Mark, Origin, Plot, Scale, number_text
from acceptance.report.plot_pages import Drawn, Kind
from acceptance.report.rendering import time_text
from acceptance.report.results import Results, Sweep
from acceptance.report.source import Source

#: More curves of results than this in one plot are told apart by nobody: it becomes several.
MOST = 8
#: By what a plot of too many curves is split, the first that helps.
SPLIT = ("np", "benchmark", "placement", "environment")
#: Units that no name of a plot needs to say.
UNITS = {"Latency": "us", "Time": "us", "Bandwidth": "MB/s", "Ratio": "1"}
#: What is said of ratios, and of the line at 1.
BALANCED = "1: as good inside as between"
BALANCES = (
    "A latency ratio below 1 and a bandwidth ratio above 1 mean that the path inside the node is "
    "the better one."
)


def _draw(source: Source, found: Sequence[Results]) -> Drawn:
    several = len(found) > 1
    every = [sweep for each in found for sweep in each.sweeps.values()]
    plots = []
    for family, listed in families(every):
        between = [sweep for sweep in listed if sweep.keys.get("placement") == "inter-node"]
        for suffix, part in _split((several and between) or listed):
            if not several or len({sweep.place.partition for sweep in part}) > 1:
                plots.append((family, _plot(source, family, part, suffix, several=several)))
    text = _of_partitions(found, plots) if several else _of_partition(found[0], plots)
    return text, [
        (name, [plot for family, plot in plots if family.section == name]) for name in SECTIONS
    ]


pages = Kind("curves", "Curves", "Curves of {}", _draw).pages


def _of_partition(found: Results, plots: Sequence[object]) -> str:
    when = f" The newest session is of {time_text(found.newest.start)}." if found.newest else ""
    text = f"{plural(len(plots), 'plot')} of what the sessions of this report have.{when}"
    sweeps = found.sweeps.values()
    if single := sum(len(each.sizes) == 1 and not family_of(each) for each in sweeps):
        text += (
            f" {plural(single, 'metric')} of one message size stand in the history and on the "
            "pages of sessions."
        )
    return text if plots else ""


def _of_partitions(found: Sequence[Results], plots: Sequence[object]) -> str:
    if not plots:
        return "No two partitions of this system have results of the same family."
    names = ", ".join(each.place.partition for each in found)
    return (
        f"The partitions {names} over each other; of each the newest results between nodes, or, "
        "where there are none, all of them."
    )


def families(sweeps: Iterable[Sweep]) -> list[tuple[Family, list[Sweep]]]:
    """Return sweeps that are drawn over each other, in the order of a page; units do not mix."""
    drawn = ((family, sweep) for sweep in sweeps if (family := family_of(sweep)))
    found = grouped(drawn, lambda entry: (entry[0], entry[1].unit))
    order = sorted(
        found, key=lambda of: (SECTIONS.index(of[0].section), of[0].rank, of[0].title, of[1])
    )
    return [(of[0], [sweep for _, sweep in found[of]]) for of in order]


def _split(sweeps: list[Sweep], by: Sequence[str] = SPLIT) -> Iterator[tuple[str, list[Sweep]]]:
    """Yield groups of at most `MOST` curves, as far as the keys tell them apart."""
    if len(sweeps) <= MOST or not by:
        yield "", sweeps
        return
    groups = grouped(sweeps, lambda sweep: curve_traces.aspects(sweep).get(by[0], ""))
    for value, group in sorted(groups.items(), key=lambda item: (len(item[0]), item[0])):
        for suffix, part in _split(group, by[1:]):
            own = (f"{value} processes" if by[0] == "np" else value) if len(groups) > 1 else ""
            yield ", ".join(filter(None, (own, suffix))), part


def _plot(
    source: Source, family: Family, sweeps: Sequence[Sweep], suffix: str, *, several: bool
) -> Plot:
    """Return the plot of some curves, with what papers print and the limits of their fabrics."""
    sweeps, unit = curve_traces.in_order(sweeps), sweeps[0].unit
    traces = [*curve_traces.of_results(source, sweeps, several=several)]
    sizes = [size for sweep in sweeps for size in sweep.sizes if size] or [1]
    span = float(min(sizes)), float(max(sizes))
    places = {sweep.place.name: sweep.place for sweep in sweeps}.values()
    printed = list(curve_traces.published(source.library, places, family, unit, span))
    ratio, baselines = family.section == BALANCE, [t for t in traces if t.origin is Origin.BASELINE]
    limits, of_limits = ([], BALANCES) if ratio else curve_traces.limits(sweeps, grouped=several)
    said = [
        f"All of them: {common}." if (common := shared_text(sweeps)) else "",
        "" if printed else "No paper prints a number of these that could be drawn.",
        "" if baselines else "There is no baseline (acceptance baseline makes one).",
        of_limits,
    ]
    usual = UNITS.get(family.quantity) == unit
    ident = "-".join(filter(None, (family.id, suffix, "" if usual else unit)))
    return Plot(
        addresses.legal(ident),
        family.title + (f": {suffix}" if suffix else ""),
        _summary(sweeps),
        Axis("Message size", "B", Scale.LOG),
        Axis(family.quantity, "" if unit == "1" else unit, Scale.LOG),
        (*traces, *printed, *limits),
        (Mark("one", BALANCED, y=1.0),) if ratio else (),
        caption=" ".join(filter(None, said)),
    )


def _summary(sweeps: Sequence[Sweep]) -> str:
    """Say what can be seen: the least and the largest number, and where they are."""
    points = [(metric.value, size, at) for at, sweep in enumerate(sweeps)
              for size, metric in sweep.values.items() if size is not None]  # fmt: skip

    def said(point: tuple[float, int, int]) -> str:
        value, size, sweep = point[0], point[1], sweeps[point[2]]
        unit = "" if sweep.unit == "1" else f" {sweep.unit}"
        where = f"{sweep.benchmark} {sweep.keys.get('placement', '')} with {sweep.environment}"
        return f"{number_text(value)}{unit} at {bytes_text(size)} ({where})"

    return (
        f"{plural(len(sweeps), 'curve')} of {plural(len(points), 'number')}, from "
        f"{said(min(points))} to {said(max(points))}."
    )
