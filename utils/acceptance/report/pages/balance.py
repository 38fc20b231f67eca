"""Communication balance over message size: the path inside a node over that between nodes.

Source: Subramoni, Koop and Panda 2009, slides "CBR": a ratio of 1 is balanced, and drawn as a line.
"""

from collections.abc import Sequence

from acceptance.core.text import bytes_text, plural
from acceptance.report import addresses, curve_traces
from acceptance.report.plot_model import Axis, Mark, Page, Plot, Scale, number_text
from acceptance.report.plot_pages import failed, page, speed
from acceptance.report.results import Results, Sweep, results
from acceptance.report.source import Source

GROUP, SECTION = "Balance", "Over message size"
#: Name of the ratio -> title, in the order of the paper.
RATIOS = {
    "cbr.latency": "Latency inside a node over that between nodes",
    "cbr.bw": "Bandwidth inside a node over that between nodes",
    "cbr.bibw": "Bandwidth both ways inside a node over that between nodes",
    "cbr.mbw": "Bandwidth of several pairs inside a node over that between nodes",
}
EMPTY = (
    "No session of this report has the balance of this partition. It is made of two results of OSU "
    "of one session: `reframe -c checks/osu.py -c checks/balance.py -r` measures them where an "
    "environment has the OSU Micro-Benchmarks."
)
_ONE = Mark("one", "1: as good inside as between", y=1.0)


def pages(source: Source) -> list[Page]:
    """Return a page for each partition, and one for each system that has several with results."""
    found = results(source)
    if not found:
        return [page("balance/index.html", GROUP, GROUP, EMPTY)]
    made = []
    for each in found:
        place = each.place
        path = addresses.of_partition("balance", place.system, place.partition)
        plots = _plots(source, [each])
        text = _text(plots) if plots else EMPTY
        title, sections = f"Balance of {place.name}", [(SECTION, plots)]
        failures = failed(source, each, "balance")
        made.append(page(path, title, GROUP, text, sections, failures=failures,
                         simulated=place.simulated))  # fmt: skip
    for system in dict.fromkeys(each.place.system for each in found):
        with_results = [each for each in found if each.place.system == system and _sweeps(each)]
        if len(with_results) > 1:
            plots = _plots(source, with_results)
            made.append(
                page(
                    addresses.of_system("balance", system),
                    f"Balance of {system}: its partitions",
                    GROUP,
                    _text(plots),
                    [(SECTION, plots)],
                    simulated=with_results[0].place.simulated,
                )
            )
    return made


def _text(plots: Sequence[Plot]) -> str:
    return (
        f"{plural(len(plots), 'plot')} of the communication balance ratio, inside over between. "
        "Near 1 it does not matter where the partner of a process stands."
    )


def _sweeps(found: Results) -> list[Sweep]:
    return [sweep for sweep in found.sweeps.values() if sweep.benchmark in RATIOS and sweep.sizes]


def _plots(source: Source, found: Sequence[Results]) -> list[Plot]:
    made = []
    sweeps = [sweep for each in found for sweep in _sweeps(each)]
    for benchmark, title in RATIOS.items():
        own = [sweep for sweep in sweeps if sweep.benchmark == benchmark]
        own.sort(key=lambda sweep: (*speed(sweep.place), sweep.environment, str(sweep.keys)))
        if own:
            made.append(_plot(source, benchmark, title, own))
    return made


def _plot(source: Source, benchmark: str, title: str, sweeps: Sequence[Sweep]) -> Plot:
    traces = []
    several = len({sweep.place.name for sweep in sweeps}) > 1
    for sweep, name in zip(sweeps, curve_traces.labels(sweeps), strict=True):
        group = sweep.place.partition if several else name
        traces.append(curve_traces.measured(source, sweep, name, group))
        shown = len(sweeps) <= curve_traces.BANDS and not several
        if not several and (band := curve_traces.band(sweep, name, group, shown=shown)):
            traces.append(band)
    points = [(metric.value, size) for sweep in sweeps
              for size, metric in sweep.values.items() if size is not None]  # fmt: skip
    (low, at_low), (high, at_high) = min(points), max(points)
    summary = (
        f"The ratio lies between {number_text(low)} at {bytes_text(at_low)} and "
        f"{number_text(high)} at {bytes_text(at_high)}."
    )
    return Plot(
        addresses.legal(benchmark),
        title,
        summary,
        Axis("Message size", "B", Scale.LOG),
        Axis("Ratio", scale=Scale.LOG),
        tuple(traces),
        marks=(_ONE,),
        caption="A latency ratio below 1 and a bandwidth ratio above 1 mean that the path inside "
        f"the node is the better one. All of them: {curve_traces.shared_text(sweeps)}.",
    )
