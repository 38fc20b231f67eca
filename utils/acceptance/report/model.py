"""What pages are made of: plots as data, each with the table behind it.

A `Plot` is all that a page says of a picture. `plot_files` writes it as data for the browser, as
a table, as CSV and as JSON, so that the four always show the same numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


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
    """An axis: what it shows, in which unit (as `core.units` writes it; "" where it has none).

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
    cells: tuple[tuple[float | None, ...], ...] = ()
    rows: tuple[str, ...] = ()
    #: Of each cell why it has no number (`failed: no answer`), or a word on it; empty: nothing.
    #: A cell that is None and has no word was not measured; it is no zero, and is not good.
    cell_notes: tuple[tuple[str, ...], ...] = ()
    simulated: bool = False
    group: str = ""
    #: False: the legend lists it, and a click shows it.
    shown: bool = True


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
