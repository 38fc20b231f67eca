"""Communication balance over message size: the path inside a node over that between nodes.

Source: Subramoni, Koop and Panda 2009, slides "CBR": a ratio of 1 is balanced, and drawn as a line.
"""

from collections.abc import Sequence

from acceptance.core.text import bytes_text, plural
from acceptance.report import addresses, curve_traces
from acceptance.report.plot_model import Axis, Mark, Plot, Scale, number_text
from acceptance.report.plot_pages import Drawn, Kind
from acceptance.report.results import Results, Sweep
from acceptance.report.source import Source

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


def _draw(source: Source, found: Sequence[Results]) -> Drawn:
    plots = [
        _plot(source, benchmark, title, sweeps, several=len(found) > 1)
        for benchmark, title in RATIOS.items()
        if (sweeps := [sweep for each in found for sweep in each.sweeps.values()
                       if sweep.benchmark == benchmark and sweep.sizes])
    ]  # fmt: skip
    text = (
        f"{plural(len(plots), 'plot')} of the communication balance ratio, inside over between. "
        "Near 1 it does not matter where the partner of a process stands."
    )
    return text if plots else "", [("Over message size", plots)]


pages = Kind("balance", "Balance", "Balance of {}", EMPTY, _draw).pages


def _plot(
    source: Source, benchmark: str, title: str, sweeps: Sequence[Sweep], *, several: bool
) -> Plot:
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
        curve_traces.of_results(source, curve_traces.in_order(sweeps), several=several),
        marks=(Mark("one", "1: as good inside as between", y=1.0),),
        caption="A latency ratio below 1 and a bandwidth ratio above 1 mean that the path inside "
        f"the node is the better one. All of them: {curve_traces.shared_text(sweeps)}.",
    )
