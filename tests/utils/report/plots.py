"""Plots made for tests: of each form one, with hostile names, gaps and simulated numbers."""

import re

from acceptance.report.pages.pairs import LAYOUT, heat_map
from acceptance.report.plot_model import Axis, Mark, Plot, Sample, Trace

SIZES = (0.0, 1.0, 4.0, 1024.0, 65536.0, 1048576.0)
HOSTILE = '</script><img src=x onerror="document.title=1"> %{x} & \u2028 \'=1+1'
MESSAGE = Axis("Message size", "B", "log")
LATENCY = Axis("Latency", "us", "log")


def points(path):
    """Return the points of the path of a picture, all of its lines after each other."""
    found = []
    for begin, steps in re.findall(r"M([-\d ]+)l([-\d ]+)", path):
        x, y = map(int, begin.split())
        found.append((x, y))
        numbers = [int(number) for number in re.findall(r"-?\d+", steps)]
        for across, down in zip(numbers[::2], numbers[1::2], strict=True):
            x, y = x + across, y + down
            found.append((x, y))
    return found


def curve(name, factor=1.0, note="", linked=False, **fields):
    """Return a trace over message sizes, with a gap at 1 KiB."""
    samples = [
        Sample(size, None if size == 1024 else factor * (1 + size / 1000), note,
               f"sessions/abc.html#case-{at}" if linked else "")
        for at, size in enumerate(SIZES)
    ]  # fmt: skip
    return Trace(name, samples, **fields)


def measured(name="inter-node", **fields):
    """Return a measured curve whose numbers can be followed."""
    return curve(name, note="session abc, not judged", linked=True, **fields)


def curves(*, simulated=False, plot="latency", **fields):
    """Return curves with a band, published points, a baseline and a limit."""
    band = [Sample(size, None, low=1.0 + size / 2000, high=2.0 + size / 900) for size in SIZES]
    traces = (
        measured(group="inter-node", simulated=simulated),
        measured(HOSTILE, factor=2.0, group="hostile"),
        Trace("nights", band, "earlier sessions", "band", group="inter-node"),
        curve("koop2008", 1.1, "koop2008, Fig. 4(a)", origin="published"),
        curve("baseline", 1.2, origin="baseline"),
        Trace("limit", [Sample(size, 0.3 + size / 2000) for size in SIZES[1:]], "physical limit"),
    )
    return Plot(plot, "Latency", "Time of a message.", MESSAGE, LATENCY, traces, **fields)


def bars(plot="npb"):
    """Return bars of two systems, with a line at 1."""
    names = ("BT", "CG", "EP")
    traces = (
        Trace("SDR", [Sample(name, 1.0) for name in names], form="bar"),
        Trace("DDR", [*map(Sample, names, (0.8, None, 0.95))], "published", "bar"),
    )
    x = Axis("Benchmark", scale="category")
    marks = (Mark("one", "as fast as SDR", y=1.0),)
    return Plot(plot, "NPB", "Times.", x, Axis("Time over SDR"), traces, marks)


def polar(plot="kiviat"):
    """Return a Kiviat diagram of two systems."""
    names = ("G-HPL", "PTRANS", "FFTE", "STREAM")
    traces = tuple(
        Trace(name, [*map(Sample, names, (1.0, 0.5, 0.7, level))], form="polar")
        for name, level in (("one", 0.2), ("two", 0.9))
    )
    x = Axis("Ratio", scale="category")
    return Plot(plot, "HPCC", "Ratios.", x, Axis("Share of the best"), traces)


def cells(plot="pairs"):
    """Return a matrix of three nodes, one pair of which gave no answer."""
    names = ("n1", "n2", "n3")
    cells = ((None, 900.0, 910.0), (905.0, None, None), (899.0, 700.0, None))
    samples = [
        Sample(column, value, "failed: no answer" if (row, column) == ("n2", "n3") else "",
               f"sessions/abc.html#case-{row}", row=row)
        for row, values in zip(names, cells, strict=True)
        for column, value in zip(names, values, strict=True)
    ]  # fmt: skip
    drawn = heat_map(samples, "Bandwidth (MB/s)", 700, 910)
    trace = Trace("bandwidth", samples, form="points", drawn=drawn)
    axis = Axis("from", scale="category")
    marks = (Mark("culprit", "n3", y=2.0), Mark("leaf", "leaf 2", x=2.0), Mark("leaf", "", y=2.0))
    other = Axis("to", scale="category")
    return Plot(plot, "Pairs", "All.", axis, other, (trace,), marks,
                z=Axis("Bandwidth", "MB/s"), layout=LAYOUT)  # fmt: skip


def nights(plot="history", count=50, **fields):
    """Return a series of nights, with a change in it."""
    samples = [Sample(float(night), 2.0 + (night > count // 2)) for night in range(count)]
    axes = Axis("Night"), Axis("Latency", "us")
    points = Trace("latency_8", samples, form="points")
    return Plot(plot, "History", "Nights.", *axes, (points,), **fields)
