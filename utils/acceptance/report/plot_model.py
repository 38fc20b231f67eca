"""What pages are made of: plots as data, each with the table behind it, and text as people read it.

A `Plot` is all that a page says of a picture. It is written as a figure for the browser
(`report/figures.py`), as a table, as CSV and as JSON, which all are made of its `numbers`, so that
the four always show the same.

In the page stands its picture (`report/pictures.py`). The browser's part is `static/plots.js`,
which asks for the figure when a plot comes near the window.

It draws with plotly.js 4.1, chosen by trying it and BokehJS 3.9, the other library whose script
comes in a wheel, in Chromium under the policy of the pages. plotly.js: 4.8 MB, no error of the
policy, SVG, polar axes for Kiviat diagrams. BokehJS: 1.4 MB, 649 errors of the policy in one plot
of two traces. Both have logarithmic axes, draw 10,000 points with symbols in about the same time,
and leave the keyboard to us.
"""

import json
import math
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from markupsafe import Markup

from acceptance.core.errors import Fault
from acceptance.core.text import bytes_text, plural, printable, shortened
from acceptance.core.text import time_text as seconds_text
from acceptance.core.words import SIMULATED
from acceptance.report import addresses

if TYPE_CHECKING:
    import jinja2

#: How an axis is drawn; dates by `static/history.js` alone.
Scale = Literal["linear", "log", "category", "date"]
#: Where the numbers of a trace are from, as people read it; each has a dash of its own.
Origin = Literal["measured", "earlier sessions", "published", "baseline", "physical limit"]
#: How a trace is drawn.
Form = Literal["line", "points", "bar", "band", "polar"]


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, in which unit (as `core.words` writes it; "" where it has none).

    A linear one for `y` begins at zero, unless it is `free`.
    """

    title: str
    unit: str = ""
    scale: Scale = "linear"
    free: bool = False

    @property
    def label(self) -> str:
        """Return the title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


class Sample(NamedTuple):
    """A number of a trace, a word on it, and the address in the site where it can be followed.

    A `y` of None is a gap, told in the table. A band is from `low` to `high`. In a matrix `row` is
    the name of the row, `x` that of the column, and a gap with a note failed (`failed: no answer`);
    one without was not measured: it is no zero, and is not good.
    """

    x: float | str
    y: float | None
    note: str = ""
    link: str = ""
    low: float | None = None
    high: float | None = None
    row: str = ""


@dataclass(frozen=True)
class Trace:
    """Numbers that belong together, in the order of `x`; those of a matrix go row by row.

    `simulated` numbers are marked wherever they stand. Traces of one `group` share a colour;
    without one each trace has a colour of its own.
    """

    name: str
    samples: Sequence[Sample]
    origin: Origin = "measured"
    form: Form = "line"
    simulated: bool = False
    group: str = ""
    #: False: the legend lists it, and a click shows it.
    shown: bool = True
    #: How it is drawn where no form says it: traces of plotly, the first with all samples.
    drawn: Sequence[dict[str, Any]] = ()

    @cached_property
    def finite(self) -> list[Sample]:
        """Return its samples, of which a number that is none is a gap."""
        return [
            one._replace(y=finite(one.y), low=finite(one.low), high=finite(one.high))
            for one in self.samples
        ]

    @property
    def label(self) -> str:
        """Return its name, which says whether it was simulated."""
        told = not self.simulated or SIMULATED in self.name
        return self.name if told else f"{self.name} ({SIMULATED})"

    @property
    def x(self) -> tuple[float | str, ...]:
        """Return where its numbers stand."""
        return tuple(sample.x for sample in self.samples)

    @property
    def y(self) -> tuple[float | None, ...]:
        """Return its numbers."""
        return tuple(sample.y for sample in self.samples)


@dataclass(frozen=True)
class Mark:
    """A line or frame across the plot at a place of one axis, or of a cell, with its text.

    `kind` is one of: one (the line at a ratio of 1); of a matrix culprit (the row `y` or the column
    `x` of one, from 0; with both a cell) and leaf (the border before that row or column).
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
    `layout` is what plotly is told of its `xaxis` and `yaxis` beside that.
    """

    id: str
    title: str
    summary: str
    x: Axis
    y: Axis
    traces: Sequence[Trace]
    marks: Sequence[Mark] = ()
    caption: str = ""
    on_demand: bool = False
    z: Axis | None = None
    layout: Mapping[str, Any] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        """Tell whether any of it was simulated."""
        return any(trace.simulated for trace in self.traces)


@dataclass(frozen=True)
class Page:
    """A page of the site: its address in the folder, its template and what that is filled with.

    `group` is the entry of the navigation that it stands under, `plots` are written beside it, and
    so are `files`: other things to download, by their addresses in the folder. `simulated` marks
    the page as a whole. A page that `draws` has plots that its own script makes of its files; one
    that is `empty` says only what would fill it.
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
    empty: bool = False

    def __post_init__(self) -> None:
        """Refuse two plots of one name, of which one would overwrite the other's files."""
        names = [addresses.legal(plot.id) for plot in self.plots]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise Fault(f"{self.path}: two plots are called {twice}")


#: Rows of a table in a page; the CSV has all of them.
MOST_ROWS = 1000


def numbers(plot: Plot) -> list[tuple[Trace, Sample]]:
    """Return all numbers of a plot, trace by trace, in the order in which they are drawn."""
    return [(trace, sample) for trace in plot.traces for sample in trace.finite]


def finite(value: float | None) -> float | None:
    """Return a number, or None for one that is none."""
    return value if value is not None and math.isfinite(value) else None


def title(plot: Plot) -> str:
    """Return the title of a plot, which says whether its numbers, or some, were simulated."""
    if not plot.simulated:
        return plot.title
    # Limits and published points say nothing of how the rest came about.
    others = ("physical limit", "published")
    whole = all(trace.simulated for trace in plot.traces if trace.origin not in others)
    return f"{plot.title} ({'' if whole else 'partly '}{SIMULATED})"


def script(data: Mapping[str, Any]) -> str:
    """Return the script that hands data to `plots.js`, and does nothing else.

    No text in it ends the script or a line: `<` and all that is not ASCII is written as a code.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"acceptancePlot({text});\n"


#: Columns that are the same in all rows of a trace.
_OF_TRACE = 3


def rows(plot: Plot) -> list[list[Any]]:
    """Return the names of columns, and below them a row of each number; a gap is None.

    Links are addresses in the folder of the site.
    """
    matrix = plot.z is not None
    header: list[Any] = ["trace", "origin", SIMULATED, plot.x.label, *[plot.y.label] * matrix]
    header += [(plot.z or plot.y).label, "low", "high", "note", "link"]
    return [header] + [
        [trace.name, trace.origin, "yes" if trace.simulated else "no",
         x_text(plot.x, one.x, exact=True), *[one.row] * matrix,
         one.y, one.low, one.high, one.note, one.link]
        for trace, one in numbers(plot)
    ]  # fmt: skip


def as_json(plot: Plot) -> str:
    """Return a plot as JSON to download: what is said of it, and the columns of each trace.

    A column that is empty is left out.
    """
    names, *listed = rows(plot)
    traces = []
    for of, own in groupby(listed, key=lambda row: row[:_OF_TRACE]):
        columns = zip(names, zip(*own, strict=True), strict=True)
        there = {name: values for name, values in columns if {*values} - {None, ""}}
        traces.append(there | dict(zip(names, of, strict=False)))
    told = {name: getattr(plot, name) for name in ("id", "summary", "caption", SIMULATED)}
    told |= {"title": title(plot), "marks": [asdict(mark) for mark in plot.marks]}
    return json.dumps(told | {"traces": traces}, separators=(",", ":")) + "\n"


def x_text(axis: Axis, value: float | str, *, exact: bool = False) -> str:
    """Return a place on an axis as people write it: 4 KiB; `exact`: for a program."""
    if isinstance(value, str):
        return value
    if exact:
        return str(value).removesuffix(".0")
    return bytes_text(int(value)) if axis.unit == "B" else number_text(value)


def number_text(value: float | None) -> str:
    """Return a number with the digits that a person reads: 1,234.5; a gap is a dash."""
    if value is None:
        return "-"
    return f"{value:,.{'0f' if 1000 <= abs(value) < 1e9 else '4g'}}"


def time_text(when: float | datetime | str) -> str:
    """Return a time (s since the epoch, or ISO 8601) as people write it, in the local zone."""
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            return str(when)
    elif not isinstance(when, datetime):
        when = datetime.fromtimestamp(when)
    return when.astimezone().strftime("%Y-%m-%d %H:%M")


def _exact_text(value: Any) -> str:
    """Return a number with all of the digits that a benchmark prints; a gap is a dash."""
    if value is None:
        return number_text(None)
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def html(plot: Plot, page: str, picture: str = "", legend: Sequence[str] = ()) -> Markup:
    """Return the figure of a plot for a page: title, summary, picture, table and downloads.

    Without a `picture` it says that the plot is drawn when one scrolls to it; of the `legend` of a
    picture each trace has one. The table of a plot `on_demand` comes with what the browser draws.
    """
    every, name = numbers(plot), posixpath.splitext(posixpath.basename(page))[0]
    return _filled(
        "plot.html.j2",
        plot=plot,
        title=title(plot),
        picture=picture,
        legend=[*zip(legend, plot.traces, strict=bool(legend))],
        numbers=plural(len(every), "number"),
        drawn=any(one.y is not None or one.low is not None for _, one in every),
        off_axis=_off_axis(plot),
        table="" if plot.on_demand else table(plot, page),
        data=lambda ending: addresses.relative(addresses.data(page, plot.id, ending), page),
        # That it was simulated is part of the name under which it is downloaded.
        file=f"{name}-{addresses.legal(plot.id)}{f'-{SIMULATED}' * plot.simulated}",
        top=addresses.relative("x", page)[:-1],
    )


def table(plot: Plot, page: str) -> Markup:
    """Return the table of a plot for a page; the CSV has what is too much for it."""
    every = numbers(plot)
    return _filled(
        "plot_table.html.j2",
        plot=plot,
        traces=groupby(every[:MOST_ROWS], key=lambda entry: entry[0]),
        left_out=max(len(every) - MOST_ROWS, 0),
        matrix=plot.z is not None,
        ranged=any(sample.low is not None for _, sample in every),
        relative=lambda to: addresses.relative(to, page),
        x_text=x_text,
    )


def _filled(template: str, **context: Any) -> Markup:
    return Markup(environment().get_template(template).render(context))


def _off_axis(plot: Plot) -> str:
    """Say which numbers a logarithmic axis has no place for; empty: all have one."""

    def is_off(axis: Axis, at: float | str | None) -> bool:
        return axis.scale == "log" and isinstance(at, int | float) and at <= 0

    lost = [one for _, one in numbers(plot) if is_off(plot.x, one.x) or is_off(plot.y, one.y)]
    places = shortened(dict.fromkeys(x_text(plot.x, one.x) for one in lost))
    return (
        f"{plural(len(lost), 'number')} (at {places}) stand in the table only: a logarithmic axis "
        "has no zero."
    ) if lost else ""  # fmt: skip


@cache
def environment() -> "jinja2.Environment":
    """Return what fills in the templates of the report."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.globals["address"] = addresses
    made.filters |= {
        "number": number_text,
        "exact": _exact_text,
        "time": time_text,
        "day": lambda when: time_text(when)[:10],
        "seconds": lambda seconds: number_text(None) if seconds is None else seconds_text(seconds),
    }
    return made


def _shown(value: Any) -> Any:
    """Return text without codes, such as those that turn the direction of writing."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return printable(value) if is_text else value
