"""Plots made for tests: of each form one, with hostile names, gaps and simulated numbers."""

from acceptance.report.plot_model import Axis, Form, Mark, Origin, Plot, Scale, Trace

SIZES = (0.0, 1.0, 4.0, 1024.0, 65536.0, 1048576.0)
HOSTILE = '</script><img src=x onerror="document.title=1"> %{x} & \u2028 \'=1+1'
MESSAGE = Axis("Message size", "B", Scale.LOG)
LATENCY = Axis("Latency", "us", Scale.LOG)


def curve(name, factor=1.0, **fields):
    """Return a trace over message sizes, with a gap at 1 KiB."""
    y = tuple(None if size == 1024 else factor * (1 + size / 1000) for size in SIZES)
    return Trace(name, SIZES, y, **fields)


def measured(name="inter-node", **fields):
    """Return a measured curve whose numbers can be followed."""
    count = len(SIZES)
    links = tuple(f"sessions/abc.html#case-{at}" for at in range(count))
    return curve(name, links=links, notes=("session abc, not judged",) * count, **fields)


def curves(*, simulated=False, plot="latency", **fields):
    """Return curves with a band, published points, a baseline and a limit."""
    low = tuple(1.0 + size / 2000 for size in SIZES)
    high = tuple(2.0 + size / 900 for size in SIZES)
    traces = (
        measured(group="inter-node", simulated=simulated),
        measured(HOSTILE, factor=2.0, group="hostile"),
        Trace("nights", SIZES, (), Origin.PAST, Form.BAND, low=low, high=high, group="inter-node"),
        curve("koop2008", 1.1, origin=Origin.PUBLISHED, notes=("koop2008, Fig. 4(a)",) * 6),
        curve("baseline", 1.2, origin=Origin.BASELINE),
        Trace("limit", SIZES[1:], tuple(0.3 + s / 2000 for s in SIZES[1:]), Origin.LIMIT),
    )
    return Plot(plot, "Latency", "Time of a message.", MESSAGE, LATENCY, traces, **fields)


def bars(plot="npb"):
    """Return bars of two systems, with a line at 1."""
    names = ("BT", "CG", "EP")
    traces = (
        Trace("SDR", names, (1.0, 1.0, 1.0), form=Form.BAR),
        Trace("DDR", names, (0.8, None, 0.95), Origin.PUBLISHED, Form.BAR),
    )
    x = Axis("Benchmark", scale=Scale.CATEGORY)
    marks = (Mark("one", "as fast as SDR", y=1.0),)
    return Plot(plot, "NPB", "Times.", x, Axis("Time over SDR"), traces, marks)


def polar(plot="kiviat"):
    """Return a Kiviat diagram of two systems."""
    names = ("G-HPL", "PTRANS", "FFTE", "STREAM")
    traces = tuple(
        Trace(name, names, (1.0, 0.5, 0.7, level), form=Form.POLAR)
        for name, level in (("one", 0.2), ("two", 0.9))
    )
    x = Axis("Ratio", scale=Scale.CATEGORY)
    return Plot(plot, "HPCC", "Ratios.", x, Axis("Share of the best"), traces)


def cells(plot="pairs"):
    """Return a matrix of three nodes, one pair of which gave no answer."""
    names = ("n1", "n2", "n3")
    trace = Trace(
        "bandwidth",
        names,
        (),
        form=Form.CELLS,
        rows=names,
        cells=((None, 900.0, 910.0), (905.0, None, None), (899.0, 700.0, None)),
        notes=("", "", "", "", "", "failed: no answer", "", "", ""),
        links=tuple(f"sessions/abc.html#case-{at}" for at in range(9)),
    )
    axis = Axis("from", scale=Scale.CATEGORY)
    marks = (Mark("culprit", "n3", y=2.0), Mark("leaf", "leaf 2", x=2.0))
    other = Axis("to", scale=Scale.CATEGORY)
    return Plot(plot, "Pairs", "All.", axis, other, (trace,), marks, z=Axis("Bandwidth", "MB/s"))


def nights(plot="history", count=50, **fields):
    """Return a series of nights, with a change in it."""
    x = tuple(1_760_000_000.0 + 86400 * night for night in range(count))
    y = tuple(2.0 + (night > count // 2) for night in range(count))
    marks = (Mark("change", "slower by 50 %", x=x[count // 2]),)
    axes = Axis("Night", scale=Scale.DATE), Axis("Latency", "us")
    points = Trace("latency_8", x, y, form=Form.POINTS)
    return Plot(plot, "History", "Nights.", *axes, (points,), marks, **fields)
