"""What pages are made of: plots as data, each with the table behind it.

A `Plot` is all that a page says of a picture. It is written as a figure for the browser
(`report/figures.py`), as a table, as CSV and as JSON, which all are made of its `rows`, so that the
four always show the same numbers.

The browser's part is `static/plots.js`, which asks for the figure when a plot comes into view.

It draws with plotly.js 4.1, chosen by trying it and BokehJS 3.9, the other library whose script
comes in a wheel, in Chromium under the policy of the pages. plotly.js: 4.8 MB, no error of the
policy, SVG, polar axes for Kiviat diagrams. BokehJS: 1.4 MB, 649 errors of the policy in one plot
of two traces. Both have logarithmic axes, draw 10,000 points with symbols in about the same time,
and leave the keyboard to us.
"""

import csv
import io
import json
import math
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from enum import Enum
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from acceptance.core.errors import Fault
from acceptance.core.text import bytes_text, plural
from acceptance.core.words import SIMULATED
from acceptance.report import addresses


class Scale(str, Enum):
    """How an axis is drawn. Dates are seconds since 1970."""

    LINEAR = "linear"
    LOG = "log"
    CATEGORY = "category"
    DATE = "date"


class Origin(str, Enum):
    """Where the numbers of a trace are from; each has a colour, a dash and a symbol of its own."""

    MEASURED = "measured"
    PAST = "past"
    PUBLISHED = "published"
    BASELINE = "baseline"
    LIMIT = "limit"


class Form(str, Enum):
    """How a trace is drawn. A band is between `low` and `high`, cells are a matrix in `cells`."""

    LINE = "line"
    POINTS = "points"
    BAR = "bar"
    BAND = "band"
    POLAR = "polar"
    CELLS = "cells"


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, in which unit (as `core.words` writes it; "" where it has none).

    A linear one for `y` begins at zero, unless it is `free`. `span` are the numbers that the
    colours of a matrix go from and to (None: those that it has), where `falling` from bright to
    dark.
    """

    title: str
    unit: str = ""
    scale: Scale = Scale.LINEAR
    free: bool = False
    span: tuple[float, float] | None = None
    falling: bool = False

    @property
    def label(self) -> str:
        """Return the title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True)
class Trace:
    """Numbers that belong together, in the order of `x`; None in `y` is a gap, told in the table.

    `links` are addresses in the site where each number can be followed, `notes` a word on each
    number; both are empty or as long as `x`. `simulated` numbers are marked wherever they stand.
    Traces of one `group` share a colour; without one each trace has a colour of its own.
    """

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    origin: Origin = Origin.MEASURED
    form: Form = Form.LINE
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    links: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    #: Rows of a matrix: `rows` names them, `x` the columns; `links` and `notes` go row by row.
    rows: tuple[str, ...] = ()
    cells: tuple[tuple[float | None, ...], ...] = ()
    #: A cell that is None and has a note failed (`failed: no answer`); without one it was not
    #: measured. It is no zero, and is not good.
    simulated: bool = False
    group: str = ""
    #: False: the legend lists it, and a click shows it.
    shown: bool = True


class Sample(NamedTuple):
    """A number of a trace, a word on it, and the address where it can be followed."""

    x: float | str
    y: float | None
    note: str = ""
    link: str = ""


def trace_of(
    name: str,
    samples: Sequence[Sample],
    origin: Origin = Origin.MEASURED,
    form: Form = Form.LINE,
    **fields: Any,
) -> Trace:
    """Return the trace of some samples; `fields` are others of `Trace`."""
    notes = tuple(sample.note for sample in samples)
    links = tuple(sample.link for sample in samples)
    return Trace(
        name, tuple(sample.x for sample in samples), tuple(sample.y for sample in samples),
        origin, form, links=links if any(links) else (), notes=notes if any(notes) else (),
        **fields,
    )  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A line across the plot at a place of one axis, with its text.

    `kind` is one of: limit, change, software, slow-night, acknowledged, one; of a matrix culprit
    (the row `y` or the column `x` of one, from 0; with both a cell) and leaf (the border before
    that row and column).
    """

    kind: str
    text: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Plot:
    """A picture: its axes, traces and marks; `summary` says in a sentence what can be seen.

    `id` is unique on its page, and legal in an address. A plot `on_demand` is loaded when it is
    opened. `caption` says where the numbers are from. `z` is what the cells of a matrix show.
    """

    id: str
    title: str
    summary: str
    x: Axis
    y: Axis
    traces: tuple[Trace, ...]
    marks: tuple[Mark, ...] = ()
    caption: str = ""
    on_demand: bool = False
    z: Axis | None = None

    @property
    def simulated(self) -> bool:
        """Tell whether any of it was simulated."""
        return any(trace.simulated for trace in self.traces)


@dataclass(frozen=True)
class Page:
    """A page of the site: its address in the folder, its template and what that is filled with.

    `group` is the entry of the navigation that it stands under, `plots` are written beside it, and
    so are `files`: other things to download, by their addresses in the folder. `simulated` marks
    the page as a whole. A page that `draws` has plots that its own script makes of its files.
    """

    path: str
    title: str
    template: str
    group: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    plots: tuple[Plot, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = False
    draws: bool = False

    def __post_init__(self) -> None:
        """Refuse two plots of one name, of which one would overwrite the other's files."""
        names = [addresses.legal(plot.id) for plot in self.plots]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise Fault(f"{self.path}: two plots are called {twice}")


#: What people read of the origin of a trace.
ORIGINS = {
    Origin.MEASURED: "measured",
    Origin.PAST: "earlier sessions",
    Origin.PUBLISHED: "published",
    Origin.BASELINE: "baseline",
    Origin.LIMIT: "physical limit",
}
#: Rows of a table in a page; the CSV has all of them.
MOST_ROWS = 1000
#: Characters by which spreadsheets take a text for a formula.
_FORMULA = "=+-@\t\r"


@dataclass(frozen=True)
class Row:
    """One number of a plot, with what is said of it. `row` is that of a matrix; None: a gap."""

    trace: Trace
    x: float | str
    y: float | None
    row: str = ""
    low: float | None = None
    high: float | None = None
    note: str = ""
    link: str = ""


def rows(plot: Plot) -> Iterator[Row]:
    """Return all numbers of a plot, trace by trace, in the order in which they are drawn."""
    for trace in plot.traces:
        values = trace.y or (None,) * len(trace.x)
        numbers = [(x, "", y) for x, y in zip(trace.x, values, strict=True)]
        if trace.form is Form.CELLS:
            numbers = [(x, name, value) for name, cells in zip(trace.rows, trace.cells, strict=True)
                       for x, value in zip(trace.x, cells, strict=True)]  # fmt: skip
        for at, (x, name, value) in enumerate(numbers):
            low, high = (finite(each[at]) if each else None for each in (trace.low, trace.high))
            note, link = (each[at] if each else "" for each in (trace.notes, trace.links))
            yield Row(trace, x, finite(value), name, low, high, note, link)


def finite(value: float | None) -> float | None:
    """Return a number, or None for one that is none."""
    return value if value is not None and math.isfinite(value) else None


def title(plot: Plot) -> str:
    """Return the title of a plot, which says whether its numbers, or some, were simulated."""
    if not plot.simulated:
        return plot.title
    # Limits and published points say nothing of how the rest came about.
    others = (Origin.LIMIT, Origin.PUBLISHED)
    whole = all(trace.simulated for trace in plot.traces if trace.origin not in others)
    return f"{plot.title} ({'' if whole else 'partly '}{SIMULATED})"


def data(plot: Plot) -> dict[str, Any]:
    """Return a plot as data: its fields, with the title as it is shown and gaps as None."""
    fields = asdict(plot)
    fields["title"], fields[SIMULATED] = title(plot), plot.simulated
    for trace, given in zip(fields["traces"], plot.traces, strict=True):
        trace["label"] = label_of(given)
        trace["y"] = [finite(value) for value in given.y]
        trace["cells"] = [[finite(value) for value in cells] for cells in given.cells]
    for mark in fields["marks"]:
        mark |= {"x": finite(mark["x"]), "y": finite(mark["y"])}
    return fields


def label_of(trace: Trace) -> str:
    """Return the name of a trace, which says whether it was simulated."""
    name = trace.name
    if trace.simulated and SIMULATED not in name:
        name += f" ({SIMULATED})"
    return name


def script(data: Mapping[str, Any]) -> str:
    """Return the script that hands data to `plots.js`, and does nothing else.

    No text in it ends the script or a line: `<` and all that is not ASCII is written as a code.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"acceptancePlot({text});\n"


def as_json(plot: Plot) -> str:
    """Return a plot as JSON to download; its links are addresses in the folder of the site."""
    return json.dumps(data(plot), allow_nan=False, separators=(",", ":")) + "\n"


def as_csv(plot: Plot) -> str:
    """Return all numbers of a plot, a line each; a gap is empty.

    Text by which a spreadsheet would compute begins with an apostrophe.
    """
    matrix = any(trace.form is Form.CELLS for trace in plot.traces)
    value = plot.z or plot.y
    header = ["trace", "origin", SIMULATED, plot.x.label]
    header += [plot.y.label] * matrix + [value.label, "low", "high", "note", "link"]
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(map(cell_text, header))
    for row in rows(plot):
        cells: list[Any] = [
            row.trace.name,
            ORIGINS[row.trace.origin],
            "yes" if row.trace.simulated else "no",
        ]
        cells += [x_text(plot.x, row.x, exact=True), *([row.row] * matrix)]
        cells += [row.y, row.low, row.high, row.note, row.link]
        lines.writerow(map(cell_text, cells))
    return file.getvalue()


def cell_text(value: Any) -> Any:
    """Return what a cell of a CSV may hold: no text by which a spreadsheet would compute."""
    return f"'{value}" if isinstance(value, str) and value.startswith(tuple(_FORMULA)) else value


def x_text(axis: Axis, value: float | str, *, exact: bool = False) -> str:
    """Return a place on an axis as people write it: 4 KiB, a date; `exact`: for a program."""
    if isinstance(value, str):
        return value
    if axis.scale is Scale.DATE:
        when = datetime.fromtimestamp(value, timezone.utc)
        return when.isoformat() if exact else when.strftime("%Y-%m-%d %H:%M UTC")
    if exact:
        return repr(int(value)) if value == int(value) else repr(value)
    return bytes_text(int(value)) if axis.unit == "B" else number_text(value)


def number_text(value: float | None) -> str:
    """Return a number with the digits that a person reads: 1,234.5; a gap is a dash."""
    if value is None:
        return "-"
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.4g}"
    if value % 1 == 0:
        return f"{value:,.0f}"
    text = f"{value:,.{max(0, 4 - _digits(value))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _digits(value: float) -> int:
    return math.floor(math.log10(abs(value))) + 1


def _file_name(plot: Plot, page: str) -> str:
    """Return how the files of a plot are called where they are downloaded, without their ending.

    That it was simulated is part of the name.
    """
    words = [posixpath.splitext(posixpath.basename(page))[0], addresses.legal(plot.id)]
    return "-".join([*words, *([SIMULATED] if plot.simulated else [])])


def html(plot: Plot, page: str) -> Markup:
    """Return the figure of a plot for a page: title, summary, place to draw, table and downloads.

    The table of a plot `on_demand` comes with what the browser draws.
    """
    every = list(rows(plot))
    return Markup(
        _template("plot.html.j2").render(
            plot=plot,
            title=title(plot),
            numbers=plural(len(every), "number"),
            drawn=any(row.y is not None or row.low is not None for row in every),
            off_axis=_off_axis(plot),
            table="" if plot.on_demand else table(plot, page),
            source=addresses.relative(addresses.data(page, plot.id, "js"), page),
            csv=addresses.relative(addresses.data(page, plot.id, "csv"), page),
            json=addresses.relative(addresses.data(page, plot.id, "json"), page),
            file=_file_name(plot, page),
            top=addresses.relative("x", page)[:-1],
        )
    )


def table(plot: Plot, page: str) -> Markup:
    """Return the table of a plot for a page; the CSV has what is too much for it."""
    every = list(rows(plot))
    traces = [
        {"label": label_of(trace), "origin": ORIGINS[trace.origin], "rows": list(entries)}
        for trace, entries in groupby(every[:MOST_ROWS], key=lambda row: row.trace)
    ]
    return Markup(
        _template("plot_table.html.j2").render(
            plot=plot,
            traces=traces,
            left_out=max(len(every) - MOST_ROWS, 0),
            matrix=any(trace.form is Form.CELLS for trace in plot.traces),
            ranged=any(trace.low for trace in plot.traces),
            relative=lambda to: addresses.relative(to, page),
            x_text=x_text,
            number_text=number_text,
        )
    )


def _off_axis(plot: Plot) -> str:
    """Say which numbers a logarithmic axis has no place for; empty: all have one."""
    x = {row.x for row in rows(plot) if isinstance(row.x, int | float) and row.x <= 0}
    below = x if plot.x.scale is Scale.LOG else set()
    lost = sum(1 for row in rows(plot) if row.x in below)
    if plot.y.scale is Scale.LOG:
        lost += sum(1 for row in rows(plot) if row.x not in below and (row.y or 1) <= 0)
    if not lost:
        return ""
    places = ", ".join(x_text(plot.x, value) for value in sorted(below, key=float))
    where = f" (at {places})" if places else ""
    return (
        f"{plural(lost, 'number')}{where} stand in the table only: a logarithmic axis has no zero."
    )


@cache
def _template(name: str) -> jinja2.Template:
    return environment().get_template(name)


def environment(**options: Any) -> jinja2.Environment:
    """Return what fills in the templates of the report, with `options` of its own."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
