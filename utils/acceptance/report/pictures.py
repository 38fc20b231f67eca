"""A figure as a picture of its page: an SVG of what plotly.js draws later, and it is there at once.

plotly.js takes a second to load; until it has drawn a figure its picture is seen, and without
scripts and on paper it is all that is seen. It has axes, lines, bars, cells and marks, not each
symbol. Text keeps its size at every width: the places of texts are per cents of the axes, around
which `static/plot.css` leaves room, and lines are in a box that is stretched to the axes.
"""

import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import Any

from markupsafe import Markup

from acceptance.core.text import printable
from acceptance.report.plot_model import number_text

Figure = Mapping[str, Any]
#: A place between the ends of both axes, from 0 to 1.
Point = tuple[float, float]

#: Width and height of the box of lines, and of what is around a circle of radius `RADIUS`.
BOX, ROUND, RADIUS = 1000, (640, 400), 150
#: Points of a line at most, and the lines, dots and texts of a trace: more would be a grey area.
POINTS, LINES, TEXTS = 200, 1000, 200
#: Room of labels across and up on a desk and on a phone, px; of a character, and around a label.
ROOM, CHARACTER, AROUND = {"x": (900, 270), "y": (340, 250)}, 7, 14
#: Characters of the name of a category at most, and of one beside which little room is needed.
LONGEST, SHORT = 14, 6
#: Part of a numeric axis that is free at its ends, of a category that has bars, of these a bar.
SPARE, BARS, BESIDE = 0.06, 0.75, 0.94
#: From bad to good: what plotly.js calls Cividis.
CIVIDIS = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369",
           "#e1cc55", "#fee838")  # fmt: skip
#: No number from here on has a place, nor has on an axis of powers what is as small.
MOST = 1e99
#: How plotly calls a cross, and the width of a dot that says none, px.
CROSS, DOT = "x-thin", 7
#: Dashes whose ends are round, as those of plotly look.
DASHES = {"dot": "0 5", "dash": "5 6", "dashdot": "5 6 0 5", "longdash": "10 7"}


def path(points: Iterable[Point | None], width: int = BOX, height: int = BOX) -> str:
    """Return the path of an SVG through points: M and where it begins, l and steps, all whole.

    None is a gap. What stands alone has a step of zero: a dot, where ends are round. Of very many
    points those that stand out are kept, of very many lines some.
    """
    parts = []
    for gap, run in groupby(points, key=lambda point: point is None):
        if gap:
            continue
        places = [(round(x * width), round((1 - y) * height)) for x, y in _thinned([*run])]
        steps = [
            f"{x - before_x} {y - before_y}" for (before_x, before_y), (x, y) in pairwise(places)
        ]
        (x, y), drawn = places[0], " ".join(steps).replace(" -", "-")
        parts.append(f"M{x} {y}l{drawn or '0 0'}")
    return "".join(dict.fromkeys(parts[:: math.ceil(len(parts) / LINES) or 1]))


def _thinned(points: Sequence[Any]) -> Sequence[Any]:
    """Return the lowest and the highest of each few points, where there are too many."""
    few = math.ceil(len(points) * 2 / POINTS)
    if len(points) <= POINTS:
        return points
    kept: set[int] = set()
    for begin in range(0, len(points), few):
        part = range(begin, min(begin + few, len(points)))
        kept |= {choose(part, key=lambda at: points[at][1]) for choose in (min, max)}
    return [points[at] for at in sorted(kept)]


class Scale:
    """An axis of a figure: what stands at its ends, and the numbers of its categories."""

    def __init__(self, axis: Figure, values: Iterable[Any]) -> None:
        """Make the axis on which these values stand; None is none."""
        there = [value for value in values if value is not None]
        names = dict.fromkeys(value for value in there if isinstance(value, str))
        self.axis, self.names = axis, {name: at for at, name in enumerate(names)}
        if axis["type"] == "category":
            self.low, self.high = -0.5, max(len(names), 1) - 0.5
        else:
            numbers = [at for value in there if (at := self.number(value)) is not None] or [0.0]
            from_zero = axis.get("rangemode") == "tozero"
            low, high = min(numbers + [0.0] * from_zero), max(numbers + [0.0] * from_zero)
            spare = SPARE * (high - low) or (0.3 if axis["type"] == "log" else abs(high) / 2 or 0.5)
            self.low, self.high = low - spare * (low != 0 or not from_zero), high + spare
        if axis.get("autorange") == "reversed":
            self.low, self.high = self.high, self.low
        self.low, self.high = axis.get("range", (self.low, self.high))

    def number(self, value: Any) -> Any:
        """Return what counts of a value along the axis; None: it has no place."""
        at = self.names.get(value, value)
        if at is None or not abs(at) < MOST:
            return None
        if self.axis["type"] == "log":
            return math.log10(at) if at > 1 / MOST else None
        return at

    def place(self, value: Any) -> float | None:
        """Return the place of a value; None where it has none."""
        at = self.number(value)
        return None if at is None else float((at - self.low) / (self.high - self.low))

    def ticks(self) -> list[tuple[Any, str]]:
        """Return the values that have a tick, each with its text."""
        if "tickvals" in self.axis:
            return [*zip(self.axis["tickvals"], self.axis["ticktext"], strict=True)]
        if self.names:
            return [(name, name) for name in self.names]
        low, high = sorted((self.low, self.high))
        if self.axis["type"] == "log":
            decades = range(math.floor(low), math.ceil(high) + 1)
            every = math.ceil((high - low) / 6)
            factors = (1,) if high - low > 3 else (1, 2, 5)
            values = [f * 10.0**at for at in decades if at % every == 0 for f in factors]
            listed = [value for value in values if low <= math.log10(value) <= high]
            if len(listed) > 1:
                return [(value, number_text(value)) for value in listed]
            low, high = 10**low, 10**high
        rough = (high - low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough * 0.999)
        first = math.ceil(low / step)
        return [(at * step, f"{at * step:,.6g}") for at in range(first, int(high / step) + 1)]


def picture(figure: Figure) -> Markup:
    """Return the picture of a figure (`report/figures.py`)."""
    data = [part for part in figure["data"] if part["visible"]]
    layout, kind = figure["layout"], ""
    if "xaxis" not in layout:
        within, kind = _circle(data), " plot-round"
    else:
        x, y = (Scale(layout[f"{at}axis"], _values(data, layout["shapes"], at)) for at in "xy")
        (grid, across), (more, up) = _axis(x, "x"), _axis(y, "y")
        lines, texts = _drawn(data, layout["shapes"], x, y)
        cells = (cell for part in data if "z" in part for cell in _cells(part, x, y))
        frame = '<rect class="plot-frame" width="100%" height="100%"/>' if across and up else ""
        box = _box(f'<path class="plot-grid" d="{grid}{more}"/>{lines}', f"0 0 {BOX} {BOX}")
        within = "".join((across, up, *cells, box, frame, texts))
        if max(map(len, y.names), default=0) > SHORT:
            kind = " plot-named"
    waters = (_text("plot-water", (0.5, 0.5), one["text"]) for one in layout["annotations"])
    return Markup(
        f'<svg class="plot-picture{kind}" role="img" aria-labelledby="{figure["id"]}-title">'
        f"{within}{''.join(waters)}</svg>"
    )


def legend(figure: Figure) -> list[Markup]:
    """Return how each trace is drawn in a picture, small; nothing of a matrix."""
    told = [part for part in figure["data"] if "text" in part and "z" not in part]
    told.sort(key=lambda part: int(part["legendgroup"]))
    lines = (part.get("line") or {"color": part["marker"]["color"], "width": 12} for part in told)
    return [
        Markup(f'<svg aria-hidden="true"><path d="M0 7h36"{pen(line)}/></svg>') for line in lines
    ]


def _values(data: Iterable[Figure], shapes: Iterable[Figure], at: str) -> list[Any]:
    """Return all that has a place on an axis: marks over the whole of it have none."""
    own = [each for each in shapes if each[f"{at}ref"] == at]
    ends = (each[f"{at}{end}"] for each in own for end in "01")
    return [*chain.from_iterable(part[at] for part in data), *ends]


def _percent(at: float) -> str:
    return f"{100 * at:.3g}%"


def _said(text: str, most: int = 999) -> str:
    """Return text of a figure, which is escaped, as one line of at most so many characters."""
    plain = printable(html.unescape(text.replace("<br>", " ")), keep="")
    return html.escape(plain if len(plain) <= most else f"{plain[:most]}…", False)


def _text(kind: str, at: Point, text: str, colour: str = "") -> str:
    """Return a text at a place; its kind says how it stands there."""
    x, y = _percent(at[0]), _percent(1 - at[1])
    return f'<text class="{kind}"{colour} x="{x}" y="{y}">{_said(text)}</text>'


def paint(what: str, colour: str) -> str:
    """Return the attribute of a colour, which may say how opaque it is."""
    name, opaque = colour[: colour.index(")") + 1], colour[colour.index(")") + 1 :]
    said = f' {what}="{name}"'
    return f'{said} {what}-opacity="{int(opaque, 16) / 255:.2g}"' if opaque else said


def pen(line: Figure) -> str:
    """Return the attributes of a line of plotly: its colour, dash and width, as far as stated."""
    told = paint("stroke", line["color"])
    if line.get("dash") in DASHES:
        told += f' stroke-dasharray="{DASHES[line["dash"]]}"'
    return told + (f' stroke-width="{line["width"]}"' if "width" in line else "")


def _axis(scale: Scale, at: str) -> tuple[str, str]:
    """Return the path of the grid across an axis, and its texts: on a phone it has fewer ticks."""
    if scale.axis.get("visible") is False:
        return "", ""
    desk_room, phone_room = ROOM[at]
    told = _fitting(scale.ticks(), at, desk_room)
    on_phone = _fitting(told, at, phone_room)
    lines, texts = [], []
    for value, text in told:
        place = scale.place(value)
        if place is not None and 0 <= place <= 1:
            stands = place if at == "x" else 1 - place
            steps = (f"{stands * BOX:.0f} 0v{BOX}", f"0 {stands * BOX:.0f}h{BOX}")[at == "y"]
            lines += [f"M{steps}"] * scale.axis.get("showgrid", True)
            named = "" if (value, text) in on_phone else ' class="desk"'
            said = _said(text, LONGEST if scale.names else 99)
            texts.append(f'<text {at}="{_percent(stands)}"{named}>{said}</text>')
    title, ticks = _said(scale.axis["title"]["text"]), "".join(texts)
    within = f'<svg class="plot-x" y="100%">{ticks}<text x="50%" dy="1.6em">{title}</text></svg>'
    if at == "y":
        within = f'<text class="plot-y">{title}</text><svg class="plot-ticks">{ticks}</svg>'
    return "".join(lines), within


def _fitting(ticks: Sequence[tuple[Any, str]], at: str, room: int) -> Sequence[tuple[Any, str]]:
    """Return as many of some ticks, evenly, as have room for their texts."""
    longest = max((min(len(text), LONGEST) for _, text in ticks), default=0)
    each = CHARACTER * longest + AROUND if at == "x" else 1.4 * AROUND
    return ticks[:: math.ceil(len(ticks) * each / room) or 1]


def _box(within: str, view: str, more: str = "") -> str:
    return f'<svg viewBox="{view}" preserveAspectRatio="none"{more}>{within}</svg>'


def _drawn(data: Sequence[Figure], shapes: Iterable[Figure], x: Scale, y: Scale) -> tuple[str, str]:
    """Return what traces and marks are drawn with, and their texts: a `zorder` brings above."""
    bars = [part for part in data if part["type"] == "bar"]
    lines, texts = [], []
    before: list[Any] = []
    for part in sorted(data, key=lambda part: part.get("zorder", 0)):
        if "z" in part:
            continue
        pairs = ((x.place(at), y.place(up)) for at, up in zip(part["x"], part["y"], strict=True))
        places: list[Any] = [None if None in pair else pair for pair in pairs]
        if part in bars:
            width = BARS / len(bars) / (x.high - x.low)
            shift = (bars.index(part) - len(bars) / 2) * width
            lines.append(_bars(part, places, y.place(0) or 0.0, shift, BESIDE * width))
        else:
            lines += _lines(part, places, before)
            texts += _texts(part, places)
        before = places
    for shape in shapes:
        left, right, low, high = (
            (scale.place(shape[end]) or 0.0) if shape[f"{end[0]}ref"] == end[0] else shape[end]
            for end, scale in (("x0", x), ("x1", x), ("y0", y), ("y1", y))
        )
        around = [(left, low), (right, low), (right, high), (left, high), (left, low)]
        corners = around if shape["type"] == "rect" else around[:3:2]
        lines.append(f'<path{pen(shape["line"])} d="{path(corners)}"/>')
        if "label" in shape:
            texts.append(_text("plot-label", (1, high), shape["label"]["text"]))
    return "".join(lines), "".join(texts)


def _lines(
    part: Figure, places: Sequence[Point | None], before: Sequence[Point | None]
) -> Iterator[str]:
    """Yield a line, or dots, and what is between a line and the one before it."""
    there, line, marker = [*filter(None, places)], part.get("line", {}), part.get("marker")
    if "fill" in part and there:
        around = path([*filter(None, before), *reversed(there)])
        yield f'<path{paint("fill", part["fillcolor"])} d="{around}Z"/>'
    if "lines" in part["mode"]:
        if there and line.get("width", 1):
            yield f'<path{pen(line)} d="{path(places)}"/>'
    elif marker and marker["symbol"] != CROSS:
        sizes = marker.get("size", DOT)
        each = sizes if isinstance(sizes, list) else [sizes] * len(places)
        ends = ' stroke-linecap="square"' * marker["symbol"].startswith("square")
        for size in sorted({*each}):
            dots = (at for at, own in zip(places, each, strict=True) if own == size)
            drawn = pen({"color": marker["color"], "width": size})
            yield f'<path{ends}{drawn} d="{path(one for at in dots for one in (at, None))}"/>'


def _texts(part: Figure, places: Sequence[Point | None]) -> list[str]:
    """Return the texts of a trace, at most so many; a cross is one."""
    crossed = part.get("marker", {}).get("symbol") == CROSS
    texts = ["\N{MULTIPLICATION SIGN}"] * len(places) if crossed else part.get("texttemplate", ())
    where = part.get("textposition", "middle center").replace(" ", "-")
    named = [(at, text) for at, text in zip(places, texts, strict=False) if at and text]
    if not named:
        return []
    colour = paint("fill", part.get("textfont", part["marker"])["color"])
    return [_text(where, at, text, colour) for at, text in named[:TEXTS]]


def _bars(
    part: Figure, places: Iterable[Point | None], zero: float, shift: float, width: float
) -> str:  # fmt: skip
    """Return the bars of a trace, from zero to its numbers; `shift` is how far they are beside."""
    own = part["marker"]
    corners = (
        path([(left, zero), (left, up), (left + width, up), (left + width, zero)]) + "Z"
        for left, up in ((at + shift, up) for at, up in filter(None, places))
    )
    drawn = paint("fill", own["color"]) + pen(own["line"] | {"width": 1.5})
    return f'<path{drawn} d="{"".join(corners)}"/>'


def _cells(part: Figure, x: Scale, y: Scale) -> Iterator[str]:
    """Yield the cells of a heat map, those of a colour together, and what the colours mean."""
    low, high = part["zmin"], part["zmax"]
    colours = CIVIDIS[::-1] if part["reversescale"] else CIVIDIS
    lines: dict[str, list[str]] = {}
    a_unit, last = len(colours) / ((high - low) or 1), len(colours) - 1
    for name, cells in zip(part["y"], part["z"], strict=True):
        row = round((1 - (y.place(name) or 0)) * len(y.names) - 0.5)
        levels = (None if cell is None else min(int((cell - low) * a_unit), last) for cell in cells)
        column = 0
        for level, run in groupby(levels):
            across = len([*run])
            if level is not None:
                lines.setdefault(colours[level], []).append(f"M{column} {row}h{across}")
            column += across
    drawn = (f'<path stroke="{name}" d="{"".join(runs)}"/>' for name, runs in lines.items())
    view = f"0 -.5 {len(x.names)} {len(y.names)}"
    yield _box("".join(drawn), view, ' class="plot-cells"')
    scale = "".join(f'<tspan fill="{name}">■</tspan>' for name in colours)
    title = _said(part["colorbar"]["title"]["text"])
    said = f"{title}: {number_text(low)} {scale} {number_text(high)}"
    yield f'<text class="plot-scale" x="100%">{said}</text>'


def _circle(data: Sequence[Figure]) -> str:
    """Return a Kiviat diagram: shares of the best, around a circle."""
    width, height = ROUND
    names = [*dict.fromkeys(name for part in data for name in part["theta"])]
    most = max((share for part in data for share in part["r"] if share), default=1.0)

    def at(name: str, share: float) -> tuple[int, int]:
        angle = 2 * math.pi * names.index(name) / len(names)
        return round(share * RADIUS * math.sin(angle)), round(-share * RADIUS * math.cos(angle))

    rings = "".join(f'<circle class="plot-grid" r="{RADIUS * part // 4}"/>' for part in range(1, 5))
    spokes = "".join("M0 0L{} {}".format(*at(name, 1)) for name in names)
    drawn = [f'{rings}<path class="plot-grid" d="{spokes}"/>']
    for part in data:
        there = zip(part["theta"], part["r"], strict=True)
        corners = [at(name, share / most) for name, share in there if share is not None]
        d = "L".join(f"{x} {y}" for x, y in corners)
        look = pen(part["line"]) + paint("fill", part["fillcolor"])
        drawn += [f'<path{look} d="M{d}"/>'] * bool(corners)
    for name in names:
        x, y = at(name, 1.12)
        where = (
            "middle-center" if abs(x) < RADIUS / 8 else "middle-right" if x > 0 else "middle-left"
        )
        lines = "".join(
            f'<tspan x="{x}" dy="{1.05 * bool(number):g}em">{_said(line)}</tspan>'
            for number, line in enumerate(name.split("<br>"))
        )
        drawn.append(f'<text class="{where}" y="{y}">{lines}</text>')
    drawn.append(f'<text class="middle-right" y="{15 - RADIUS}">{number_text(most)}</text>')
    box = f"{-width // 2} {-height // 2} {width} {height}"
    return f'<svg viewBox="{box}">{"".join(drawn)}</svg>'
