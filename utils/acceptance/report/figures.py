"""A plot as a figure of plotly.js: traces, layout, and what of it is other on a phone.

The browser's part (`static/plots.js`) draws it as it is; it only fills in the colours of the theme
(`var(--plot-ink)`, with two hexadecimal digits behind it for how opaque), which are those of
`plot.css`. A trace of ours is one or several of plotly's of one `legendgroup`. One of these has the
numbers: in `text` what is said of each, behind what `meta` says of all, and in `customdata` its
link. Text is escaped here: plotly takes some HTML.

Figures are plain dicts: `plotly.graph_objects` takes 0.1 s to import, and 3.5 ms for each figure.
"""

import html
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from acceptance.core.text import bytes_text, csv_text
from acceptance.core.words import SIMULATED
from acceptance.report import addresses
from acceptance.report.plot_model import (
    Axis,
    Mark,
    Origin,
    Plot,
    Sample,
    Trace,
    as_json,
    number_text,
    rows,
    script,
    table,
    title,
    x_text,
)

Figure = dict[str, Any]

DASHES: dict[Origin, str] = {
    "measured": "solid",
    "earlier sessions": "dot",
    "published": "dash",
    "baseline": "dashdot",
    "physical limit": "longdash",
}
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "pentagon",
           "star", "hexagon")  # fmt: skip
PATTERNS = ("", "/", "x", "-", ".", "\\", "|", "+")
COLOURS = 6
#: More points than this have no symbol each: they would hide the line, and take seconds.
SYMBOLS_UP_TO = 400
#: Characters of an axis title in a line: on a desk, on a phone.
WIDE, NARROW = 44, 30
#: Ticks of an axis of bytes on a desk and on a phone, and the powers of two that are between two.
TICKS, STEPS = (14, 6), (1, 2, 5, 10)


def colour(name: str, opaque: str = "") -> str:
    """Return a colour of the theme."""
    return f"var(--plot-{name}){opaque}"


WARN, LIMIT = colour("warn"), colour("limit")
#: How a mark is drawn, by its kind.
_MARKS: dict[str, Figure] = {
    "culprit": {"line": {"color": WARN, "width": 2}},
    "leaf": {"type": "line", "line": {"color": colour("ink"), "width": 1.5, "dash": "dot"}},
    "one": {"type": "line", "layer": "below", "line": {"color": LIMIT, "width": 1.75}},
}


def figure(plot: Plot) -> Figure:
    """Return a plot as the browser draws it; `narrow` are its paths that differ on a phone."""
    annotations: list[Figure] = []
    narrow: Figure = {}
    if plot.simulated:
        narrow["layout.annotations.0.font.size"] = 34
        font = {"size": 56, "color": colour("ink", "1a")}
        annotations.append({"text": SIMULATED, "xref": "paper", "yref": "paper", "x": 0.5,
                            "y": 0.5, "font": font})  # fmt: skip
    layout: Figure = {"shapes": [*map(_shape, plot.marks)], "annotations": annotations}
    forms = {trace.form for trace in plot.traces}
    if "polar" in forms:
        layout["margin"] = {"l": 150, "r": 150, "t": 40, "b": 40}
        narrow |= {"layout.margin.l": 102, "layout.margin.r": 102}
        narrow["layout.polar.angularaxis.tickfont.size"] = 10
    else:
        for name, axis in (("xaxis", plot.x), ("yaxis", plot.y)):
            layout[name] = _axis(axis, tozero=name == "yaxis") | plot.layout.get(name, {})
            narrow[f"layout.{name}.title.text"] = _broken(_title(axis), NARROW)
    if sizes := [one.x for trace in plot.traces for one in trace.finite if _is_bytes(plot.x)]:
        wide, phone = (_ticks(sizes, most) for most in TICKS)
        layout["xaxis"] |= wide
        narrow |= {f"layout.xaxis.{key}": value for key, value in phone.items()}
    return {
        "id": plot.id, "title": title(plot), SIMULATED: plot.simulated, "data": _traces(plot),
        "layout": layout, "narrow": narrow,
    }  # fmt: skip


def files(plot: Plot, page: str) -> Iterator[tuple[str, str]]:
    """Return the files of a plot, each with its address in the folder of the site."""
    made = figure(plot) | ({"table": table(plot, page)} if plot.on_demand else {})
    yield addresses.data(page, plot.id, "js"), script(made)
    yield addresses.data(page, plot.id, "json"), as_json(plot)
    yield addresses.data(page, plot.id, "csv"), csv_text(rows(plot))


def _traces(plot: Plot) -> list[Figure]:
    """Return the traces of plotly; bands are behind all others."""
    made = []
    for at, (trace, name) in enumerate(zip(plot.traces, _colours(plot.traces), strict=True)):
        samples = trace.finite
        told: Figure = {
            "text": [_said(plot, trace, sample) for sample in samples],
            "meta": escaped(f"{trace.label}, {trace.origin}"),
            "hovertemplate": "%{meta}<br>%{text}<extra></extra>",
        }
        if any(sample.link for sample in samples):
            told["customdata"] = [sample.link for sample in samples]
        # The first one has the numbers.
        own, *others = trace.drawn or _FORMS[trace.form](plot, trace, samples, name, at)
        if own["type"] == "heatmap":
            told |= {name: by_row(told[name], len(own["x"])) for name in ("text", "customdata")
                     if name in told}  # fmt: skip
        shared = {"name": escaped(trace.label), "legendgroup": str(at),
                  "visible": trace.shown}  # fmt: skip
        parts = [shared | {"hoverinfo": "skip"} | part for part in others if part["x"]]
        made += [(trace.form != "band", part) for part in (shared | own | told, *parts)]
    return [part for _, part in sorted(made, key=lambda entry: entry[0])]


def by_row(values: Sequence[Any], across: int) -> list[list[Any]]:
    """Return the values of a matrix, a list for each row."""
    return [[*values[begin : begin + across]] for begin in range(0, len(values), across)]


def _colours(traces: Sequence[Trace]) -> Iterator[str]:
    """Yield the name of each trace's colour: a group shares one."""
    groups: dict[str, int] = {}
    for at, trace in enumerate(traces):
        bound = trace.origin == "physical limit" and not trace.group
        group = 0 if bound else groups.setdefault(trace.group or f"trace {at}", len(groups))
        yield "limit" if bound else f"colour-{group % COLOURS + 1}"


def escaped(text: str) -> str:
    """Return a text that plotly shows as it is."""
    return html.escape(text, quote=False)


def _said(plot: Plot, trace: Trace, sample: Sample) -> str:
    """Return what is said of a number, at the pointer and to who uses the keyboard."""
    axis, place = plot.z or plot.y, x_text(plot.x, sample.x)
    lines = [f"{plot.y.title} {sample.row}, {plot.x.title} {place}" if sample.row
             else f"{plot.x.title}: {place}"]  # fmt: skip
    if sample.y is not None:
        unit = axis.unit if axis.unit != "B" else ""
        lines.append(f"{axis.title}: {x_text(axis, sample.y)} {unit}".strip())
    elif trace.form != "band":
        lines.append(f"{axis.title}: no number")
    if sample.low is not None:
        ends = f"from {number_text(sample.low)} to {number_text(sample.high)}"
        lines.append(f"{ends} {plot.y.unit}".strip())
    return "<br>".join(map(escaped, filter(None, (*lines, sample.note))))


def _places(axis: Axis, values: Sequence[Any]) -> list[Any]:
    """Return numbers as plotly has them on an axis; those that it has no place for are None."""
    if axis.scale == "category":
        return [escaped(value) for value in values]
    if axis.scale == "log":
        return [value if value is not None and value > 0 else None for value in values]
    return [*values]


def _xy(plot: Plot, samples: Sequence[Sample]) -> Figure:
    return {"x": _places(plot.x, [one.x for one in samples]),
            "y": _places(plot.y, [one.y for one in samples])}  # fmt: skip


def _line(plot: Plot, trace: Trace, samples: Sequence[Sample], name: str, at: int) -> list[Figure]:
    long, own = len(samples) > SYMBOLS_UP_TO, colour(name)
    made = {"type": "scatter", **_xy(plot, samples), **_drawn(trace, own, at)}
    if trace.form == "points":
        made |= {"mode": "markers"} | ({"marker": made["marker"] | {"size": 3}} if long else {})
    elif long or trace.origin == "physical limit":
        made["mode"] = "lines"
    return [made]


def _drawn(trace: Trace, own: str, at: int) -> Figure:
    closed = trace.origin == "measured"
    symbol = SYMBOLS[at % len(SYMBOLS)] + ("" if closed else "-open")
    edge = {"width": 0 if closed else 1.75, "color": own}
    return {"mode": "lines+markers", "line": {"color": own, "dash": DASHES[trace.origin]},
            "marker": {"color": own, "symbol": symbol, "line": edge}}  # fmt: skip


def _band(plot: Plot, trace: Trace, samples: Sequence[Sample], name: str, at: int) -> list[Figure]:
    """Return a line in the middle, and the edges with what is between them."""
    own, x = colour(name), _places(plot.x, [one.x for one in samples])
    middle, low, high = (
        _places(plot.y, [getattr(one, of) for one in samples]) for of in ("y", "low", "high")
    )
    drawn = any(value is not None for value in middle)

    def line(y: Sequence[Any], width: float) -> Figure:
        return {"type": "scatter", "mode": "lines", "x": x, "y": y,
                "line": {"color": own, "width": width, "dash": "dot"}}  # fmt: skip

    between = {"fill": "tonexty", "fillcolor": colour(name, "2e")}
    return [
        line(middle if drawn else low, 1.5 if drawn else 0),
        line(low, 0.75),
        line(high, 0.75) | between,
    ]


def _bar(plot: Plot, trace: Trace, samples: Sequence[Sample], name: str, at: int) -> list[Figure]:
    opaque = "" if trace.origin == "measured" else "73"
    marker = {"color": colour(name, opaque), "line": {"color": colour(name)},
              "pattern": {"shape": PATTERNS[at % len(PATTERNS)]}}  # fmt: skip
    return [{"type": "bar", **_xy(plot, samples), "marker": marker}]


def _polar(plot: Plot, trace: Trace, samples: Sequence[Sample], name: str, at: int) -> list[Figure]:
    # Names around a circle have little room: they are broken at `/` and behind long words.
    words = (escaped(str(one.x)).replace("/", "/<br>") for one in samples)
    names = [re.sub(r"([A-Za-z]{4,})-", r"\1-<br>", word) for word in words]
    shares = [one.y for one in samples]
    return [{
        "type": "scatterpolar", "theta": names + names[:1], "r": shares + shares[:1],
        "fill": "toself", "fillcolor": colour(name, "14"),
        **_drawn(trace, colour(name), at),
    }]  # fmt: skip


_FORMS = {
    "line": _line,
    "points": _line,
    "bar": _bar,
    "band": _band,
    "polar": _polar,
}


def _is_bytes(axis: Axis) -> bool:
    return axis.unit == "B" and axis.scale == "log"


def _title(axis: Axis) -> str:
    # Ticks of bytes have their unit.
    return axis.title if _is_bytes(axis) else axis.label


def _broken(text: str, most: int) -> str:
    """Break a title that is longer than its axis, between words."""
    return "<br>".join(map(escaped, textwrap.wrap(text, most)))


def _axis(axis: Axis, *, tozero: bool) -> Figure:
    made: Figure = {"title": {"text": _broken(_title(axis), WIDE)}, "type": axis.scale}
    if axis.scale == "category":
        return made | {"showgrid": False, "tickangle": "auto"}
    if axis.scale == "linear":
        return made | {"rangemode": "tozero" if tozero and not axis.free else "normal"}
    # Without a format plotly writes 2 for 2,000; more ticks would hide each other below a power.
    log = {"tickformat": ",~r", "nticks": 6, "tickfont": {"size": 11}}
    return made | (log if axis.scale == "log" else {})


def _ticks(sizes: Sequence[Any], most: int) -> Figure:
    """Return ticks of message sizes: powers of two in words, at most so many."""
    there = [size for size in sizes if size > 0] or [1]
    powers = range(math.floor(math.log2(min(there))), math.ceil(math.log2(max(there))) + 1)
    step = next((step for step in STEPS if len(powers) <= step * most), STEPS[-1])
    values = [2**power for power in powers if power % step == 0]
    return {"tickvals": values, "ticktext": [*map(bytes_text, values)]}


def _shape(mark: Mark) -> Figure:
    """Return a mark as plotly draws it: over the whole of an axis on which it has no place."""
    box: Figure = {"type": "rect", **_MARKS[mark.kind]}
    before, behind = {"culprit": (0.5, 0.5), "leaf": (0.5, -0.5), "one": (0, 0)}[mark.kind]
    for axis, at in (("x", mark.x), ("y", mark.y)):
        paper, begin, end = (" domain", 0, 1) if at is None else ("", at - before, at + behind)
        box |= {f"{axis}ref": axis + paper, f"{axis}0": begin, f"{axis}1": end}
    if mark.kind == "one":
        font = {"size": 11, "color": LIMIT}
        box["label"] = {"text": escaped(mark.text), "textposition": "end", "yanchor": "bottom",
                        "font": font}  # fmt: skip
    return box
