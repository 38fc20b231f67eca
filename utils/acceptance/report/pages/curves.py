"""Latency and bandwidth over message size, log-log, as the papers draw them.

A page for each partition, with a plot for each family of benchmarks, placements and environments
over each other; and one for each system of several partitions, these over each other: SDR, DDR, QDR
as in Figures 2 and 3 of koop2008.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from acceptance.core.text import bytes_text, plural
from acceptance.report import addresses, curve_traces
from acceptance.report.curve_traces import BANDS, SECTIONS, Family, family_of, labels, shared_text
from acceptance.report.plot_model import Axis, Page, Plot, Scale, Trace, number_text
from acceptance.report.plot_pages import failed, page, speed
from acceptance.report.rendering import time_text
from acceptance.report.results import Results, Sweep, count_of, results
from acceptance.report.source import Source

GROUP = "Curves"
#: More curves of results than this in one plot are told apart by nobody: it becomes several.
MOST = 8
#: By what a plot of too many curves is split, the first that helps.
SPLIT = ("np", "benchmark", "placement", "environment")
#: What fills a page without curves.
EMPTY = (
    "No session of this report has a result over message sizes here. `reframe -c checks/imb.py -r` "
    "or `-c checks/osu.py -r` measures some; the next report has them."
)


def pages(source: Source) -> list[Page]:
    """Return a page for each partition, and for each system that has several of them."""
    found = results(source)
    made = [_partition(source, each) for each in found]
    systems = groupby(found, key=lambda each: each.place.system)
    for system, of_system in ((name, list(group)) for name, group in systems):
        if len(of_system) > 1:
            made.append(_system(source, system, of_system))
    return made or [page("curves/index.html", GROUP, GROUP, EMPTY)]


def _partition(source: Source, found: Results) -> Page:
    place = found.place
    plots = [
        plot
        for family, sweeps in families(found.sweeps.values())
        for plot in _plots(source, family, sweeps)
    ]
    when = f" The newest session is of {time_text(found.newest.start)}." if found.newest else ""
    text = f"{plural(len(plots), 'plot')} of what the sessions of this report have.{when}"
    if single := sum(
        len(each.sizes) == 1 and not family_of(each) for each in found.sweeps.values()
    ):
        text += (
            f" {plural(single, 'metric')} of one message size stand in the history and on the "
            "pages of sessions."
        )
    links = [("All partitions of this system over each other", of_system(place.system))]
    several = sum(1 for each in source.measured if each.system == place.system) > 1
    path = addresses.of_partition("curves", place.system, place.partition)
    return page(
        path,
        f"Curves of {place.name}",
        GROUP,
        text if plots else EMPTY,
        _sections(plots),
        failures=failed(source, found, "curves"),
        links=links if several else (),
        simulated=place.simulated,
    )


def of_system(system: str) -> str:
    """Return the address of the page that compares the partitions of a system."""
    return addresses.of_system("curves", system)


def _sections(plots: Sequence[tuple[Family, Plot]]) -> list[tuple[str, list[Plot]]]:
    return [(name, [plot for family, plot in plots if family.section == name]) for name in SECTIONS]


def families(sweeps: Iterable[Sweep]) -> list[tuple[Family, list[Sweep]]]:
    """Return sweeps that are drawn over each other, in the order of a page; units do not mix."""
    found: dict[tuple[Family, str], list[Sweep]] = {}
    for sweep in sweeps:
        if family := family_of(sweep):
            found.setdefault((family, sweep.unit), []).append(sweep)

    def order(entry: tuple[tuple[Family, str], list[Sweep]]) -> tuple[object, ...]:
        (family, unit), _ = entry
        return SECTIONS.index(family.section), family.rank, family.title, unit

    return [(family, listed) for (family, _), listed in sorted(found.items(), key=order)]


def _plots(
    source: Source, family: Family, sweeps: Sequence[Sweep]
) -> Iterator[tuple[Family, Plot]]:
    for suffix, part in _split(list(sweeps)):
        yield family, _plot(source, family, part, suffix)


def _split(sweeps: list[Sweep], by: Sequence[str] = SPLIT) -> Iterator[tuple[str, list[Sweep]]]:
    """Yield groups of at most `MOST` curves, as far as the keys tell them apart."""
    if len(sweeps) <= MOST or not by:
        yield "", sweeps
        return
    groups: dict[str, list[Sweep]] = {}
    for sweep in sweeps:
        groups.setdefault(curve_traces.aspects(sweep).get(by[0], ""), []).append(sweep)
    for value, group in sorted(groups.items(), key=lambda item: (len(item[0]), item[0])):
        for suffix, part in _split(group, by[1:]):
            own = (f"{value} processes" if by[0] == "np" else value) if len(groups) > 1 else ""
            yield ", ".join(filter(None, (own, suffix))), part


def _plot(source: Source, family: Family, sweeps: Sequence[Sweep], suffix: str) -> Plot:
    names = labels(sweeps)
    order = sorted(range(len(sweeps)), key=lambda at: _rank(sweeps[at], names[at]))
    sweeps, names = [sweeps[at] for at in order], [names[at] for at in order]
    traces: list[Trace] = []
    for sweep, name in zip(sweeps, names, strict=True):
        own = (
            curve_traces.measured(source, sweep, name, name),
            curve_traces.band(sweep, name, name, shown=len(sweeps) <= BANDS),
            curve_traces.baseline(source.library, sweep, name, name),
        )
        traces += [trace for trace in own if trace]
    return _with_context(source, family, sweeps, traces, suffix)


def _rank(sweep: Sweep, name: str) -> tuple[object, ...]:
    """Between nodes first: that is what the library is for."""
    return sweep.keys.get("placement") != "inter-node", count_of(sweep.keys, "np"), name


def _with_context(
    source: Source,
    family: Family,
    sweeps: Sequence[Sweep],
    traces: list[Trace],
    suffix: str,
    *,
    grouped: bool = False,
) -> Plot:
    """Return the plot of some curves, with what papers print and the limits of their fabrics."""
    unit = sweeps[0].unit
    sizes = [size for sweep in sweeps for size in sweep.sizes if size] or [1]
    span = float(min(sizes)), float(max(sizes))
    places = {sweep.place.name: sweep.place for sweep in sweeps}.values()
    printed = list(curve_traces.published(source.library, places, family, unit, span))
    bounds = curve_traces.limits(sweeps, grouped=grouped)
    said = [f"All of them: {common}." if (common := shared_text(sweeps)) else ""]
    said.append("" if printed else "No paper prints a number of these that could be drawn.")
    if not any(trace.origin.value == "baseline" for trace in traces):
        said.append("There is no baseline (acceptance baseline makes one).")
    said.append(bounds.text)
    ident = "-".join(filter(None, (family.id, suffix, "" if unit in ("us", "MB/s") else unit)))
    return Plot(
        addresses.legal(ident),
        family.title + (f": {suffix}" if suffix else ""),
        _summary(sweeps),
        Axis("Message size", "B", Scale.LOG),
        Axis(family.quantity, unit, Scale.LOG),
        (*traces, *printed, *bounds.traces),
        caption=" ".join(filter(None, said)),
    )


def _summary(sweeps: Sequence[Sweep]) -> str:
    """Say what can be seen: the smallest message's time, or the best bandwidth, of the best one."""
    lower = sweeps[0].unit in ("us", "s")
    points = [(metric.value, size, sweep) for sweep in sweeps
              for size, metric in sweep.values.items() if size is not None]  # fmt: skip
    value, size, sweep = (min if lower else max)(points, key=lambda point: point[0])
    best = "shortest" if lower else "largest"
    where = f"{sweep.benchmark} {sweep.keys.get('placement', '')} with {sweep.environment}"
    return (
        f"{plural(len(sweeps), 'curve')} of {plural(len(points), 'number')}; the {best} is "
        f"{number_text(value)} {sweep.unit} at {bytes_text(size)} ({where})."
    )


def _system(source: Source, system: str, found: Sequence[Results]) -> Page:
    plots = []
    sweeps = [sweep for each in found for sweep in each.sweeps.values()]
    for family, listed in families(sweeps):
        between = [sweep for sweep in listed if sweep.keys.get("placement") == "inter-node"]
        chosen = between or listed
        if len({sweep.place.partition for sweep in chosen}) < 2:
            continue
        for suffix, part in _split(chosen):
            if len({sweep.place.partition for sweep in part}) < 2:
                continue
            plots.append((family, _over_each_other(source, family, part, suffix)))
    names = ", ".join(each.place.partition for each in found)
    text = (
        f"The partitions {names} over each other; of each the newest results between nodes, or, "
        "where there are none, all of them."
    )
    links = [
        (
            f"All curves of {each.place.name}",
            addresses.of_partition("curves", system, each.place.partition),
        )
        for each in found
    ]
    return page(
        of_system(system),
        f"Curves of {system}: its partitions",
        GROUP,
        text if plots else "No two partitions of this system have results of the same family.",
        _sections(plots),
        links=links,
        simulated=found[0].place.simulated,
    )


def _over_each_other(source: Source, family: Family, sweeps: Sequence[Sweep], suffix: str) -> Plot:
    ordered = sorted(sweeps, key=lambda sweep: (*speed(sweep.place), *_rank(sweep, "")))
    traces = [
        curve_traces.measured(source, sweep, name, sweep.place.partition)
        for sweep, name in zip(ordered, labels(ordered), strict=True)
    ]
    return _with_context(source, family, ordered, traces, suffix, grouped=True)
