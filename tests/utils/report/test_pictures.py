"""Pictures: the numbers of a figure stand in its SVG, where its axes say, and nothing else."""

import itertools
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from acceptance.report import figures, pictures, site
from acceptance.report.plot_model import Axis, Mark, Page, Plot, Sample, Trace
from tests.utils.report import plots

#: Of a box of 1000: a place is whole, and a tick has a per cent with three digits.
NEAR = 1.5


def drawn(plot):
    """Return the picture of a plot, read as XML."""
    return ElementTree.fromstring(pictures.picture(figures.figure(plot)))


def paths(picture, **attributes):
    """Return the points of all paths that have these attributes."""
    return [
        plots.points(path.get("d"))
        for path in picture.iter("path")
        if all(path.get(name) == value for name, value in attributes.items())
    ]


def ticks(picture, at):
    """Return the texts of an axis that a desk shows, each with its place in the box."""
    within = next(
        part for part in picture if part.get("class") == {"x": "plot-x", "y": "plot-ticks"}[at]
    )
    return {
        text.text: 10 * float(text.get(at).removesuffix("%"))
        for text in within
        if text.get("class") != "phone" and text.get("dy") is None
    }


def test_the_numbers_of_a_curve_are_found_again_by_its_axes():
    sizes = [2.0**power for power in range(23)]
    speeds = [2500 * size / (size + 8000) for size in sizes]
    trace = Trace("PingPong", [*map(Sample, sizes, speeds)])
    axis = Axis("Bandwidth", "MB/s", "log")
    picture = drawn(Plot("bandwidth", "Bandwidth", "", plots.MESSAGE, axis, (trace,)))
    (points,) = paths(picture, stroke="var(--plot-colour-1)")
    across, up = ticks(picture, "x"), ticks(picture, "y")
    assert {"1 B", "1 KiB", "1 MiB", "4 MiB"} <= across.keys()
    assert {*up} == {"1", "10", "100", "1,000"}
    of_byte = (across["1 MiB"] - across["1 B"]) / 20
    of_decade = (up["1,000"] - up["1"]) / 3
    for (x, y), size, speed in zip(points, sizes, speeds, strict=True):
        assert abs(across["1 B"] + of_byte * math.log2(size) - x) < NEAR
        assert abs(up["1"] + of_decade * math.log10(speed) - y) < NEAR
    assert [text.text for text in picture.iter("text") if text.get("class") == "plot-y"] == [
        "Bandwidth (MB/s)"
    ]


def test_a_gap_ends_a_line_and_a_band_is_around_its_numbers():
    plot = plots.curves()
    picture = drawn(plot)
    (first, *_) = [path for path in picture.iter("path") if path.get("fill")]
    assert first.get("d").endswith("Z")
    corners = plots.points(first.get("d"))
    # Zero bytes have no place; of each other size there is a low and a high number.
    count = len(plots.SIZES) - 1
    assert len(corners) == 2 * count
    lows, highs = corners[:count], corners[: count - 1 : -1]
    assert [x for x, _ in lows] == [x for x, _ in highs]
    assert all(low > high for (_, low), (_, high) in zip(lows, highs, strict=True))
    colour = "var(--plot-colour-1)"
    lines = [path.get("d") for path in picture.iter("path") if path.get("stroke") == colour]
    assert [line.count("M") for line in lines] == [1, 1, 2]


def test_what_is_hidden_at_first_is_not_in_the_picture():
    shown, *others = plots.curves().traces
    hidden = [replace(trace, shown=False) for trace in others]
    alone = drawn(replace(plots.curves(), traces=(shown, *hidden)))
    strokes = [path.get("stroke") for path in alone.iter("path") if path.get("stroke")]
    assert strokes == ["var(--plot-colour-1)"]


def test_bars_are_as_high_as_their_numbers():
    picture = drawn(plots.bars())
    zero, one = (ticks(picture, "y")[text] for text in ("0", "1"))
    first, second = paths(picture, **{"stroke-width": "1.5"})
    for points, values in ((first, (1.0, 1.0, 1.0)), (second, (0.8, 0.95))):
        tops = [y for _, y in points[1::4]]
        assert tops == pytest.approx([zero + (one - zero) * value for value in values], abs=NEAR)
        assert {y for _, y in points[::4]} == {round(zero)}
    # They stand beside each other.
    assert first[2][0] <= second[0][0]


def test_a_matrix_has_a_cell_of_each_number_and_a_cross_of_each_failure():
    picture = drawn(plots.cells())
    cells = next(part for part in picture if part.get("class") == "plot-cells")
    assert cells.get("viewBox") == "0 -.5 3 3"
    found = {
        (int(x) + step, int(y)): path.get("stroke")
        for path in cells
        for x, y, count in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d"))
        for step in range(int(count))
    }
    # The first row is at the top; the worst is the darkest.
    assert found.keys() == {(1, 0), (2, 0), (0, 1), (0, 2), (1, 2)}
    assert found[1, 2] == pictures.CIVIDIS[0]
    assert found[2, 0] == pictures.CIVIDIS[-1]
    (cross,) = [text for text in picture.iter("text") if text.text == "\N{MULTIPLICATION SIGN}"]
    assert (cross.get("x"), cross.get("y")) == ("83.3%", "50%")
    assert [text.text for text in picture.iter("text") if text.get("class") == "plot-scale"] == [
        "Bandwidth (MB/s): 700 "
    ]
    # The last row is framed over its whole length, and a border is before the third column.
    row, across, down = (points for points in paths(picture) if len(points) in (2, 5))
    assert row == [(0, 667), (1000, 667), (1000, 1000), (0, 1000), (0, 667)]
    assert (across, down) == ([(667, 1000), (667, 0)], [(0, 667), (1000, 667)])


def test_a_circle_has_a_corner_of_each_share():
    picture = drawn(plots.polar())
    polygons = [path.get("d") for path in picture.iter("path") if path.get("fill")]
    one, other = (
        [tuple(map(int, corner.split())) for corner in d[1:].split("L")] for d in polygons
    )
    assert one[0] == other[0] == (0, -pictures.RADIUS)
    assert [math.hypot(*corner) / pictures.RADIUS for corner in other] == pytest.approx(
        [1.0, 0.5, 0.7, 0.9, 1.0], abs=0.01
    )
    assert [span.text for span in picture.iter("tspan")] == ["G-HPL", "PTRANS", "FFTE", "STREAM"]


def test_a_long_line_keeps_what_stands_out_and_is_short():
    points = [(at / 9999, 0.5) for at in range(10_000)]
    points[4711] = (0.4711, 1.0)
    found = plots.points(pictures.path(points))
    assert len(found) <= pictures.POINTS
    assert (471, 0) in found
    assert found[0][0] == 0
    assert found == sorted(found, key=lambda point: point[0])


def test_very_many_dots_are_some():
    count = 20_000
    samples = [Sample(float(at), float(at * 7919 % count)) for at in range(count)]
    trace = Trace("dots", samples, form="points")
    picture = pictures.picture(figures.figure(Plot("a", "A", "", Axis("x"), Axis("y"), (trace,))))
    assert 100 < picture.count("l0 0") <= pictures.LINES
    assert len(picture) < 20_000


def test_a_page_of_very_many_plots_has_pictures_of_the_first(monkeypatch):
    monkeypatch.setattr(site, "PICTURES", 2)
    made = tuple(plots.nights(f"night-{at}") for at in range(4))
    context = {"text": "", "links": (), "failures": (), "sections": [("All", [p.id for p in made])]}
    html = site.html(Page("curves/x.html", "X", "curves.html.j2", "Curves", context, made))
    areas = [area.partition("</div>")[0] for area in html.split('<div class="plot-area">')[1:]]
    assert ["<svg" in area for area in areas] == [True, True, False, False]
    assert all("drawn when one scrolls to it" in area for area in areas[2:])


def test_text_of_a_picture_is_text():
    hostile = Axis(plots.HOSTILE, scale="category")
    samples = [Sample(plots.HOSTILE, 1.0), Sample("b", 2.0)]
    trace = Trace("a", samples, form="bar")
    picture = drawn(Plot("a", plots.HOSTILE, "", hostile, Axis("y"), (trace,)))
    assert {part.tag for part in picture.iter()} == {"svg", "path", "rect", "text"}
    texts = [text.text for text in picture.iter("text")]
    assert any(text.startswith("</script><img") for text in texts)
    assert all(text.isprintable() for text in texts)


@pytest.mark.parametrize(
    ("low", "high", "scale", "expected"),
    [
        (0.0, 100.0, "linear", ["0", "20", "40", "60", "80", "100"]),
        (1.0, 1.004, "linear", ["1", "1.001", "1.002", "1.003", "1.004"]),
        (0.3, 30.0, "log", ["0.5", "1", "2", "5", "10", "20"]),
        (1.0, 1e6, "log", ["1", "100", "10,000", "1,000,000"]),
        (1.01, 1.09, "log", ["1.02", "1.04", "1.06", "1.08"]),
        (7.0, 7.0, "linear", ["4", "6", "8", "10"]),
    ],
)
def test_ticks_are_round_numbers(low, high, scale, expected):
    axis = pictures.Scale({"type": scale}, [low, None, high])
    assert [text for _, text in axis.ticks()] == expected


NOTHING, NAN = [None, None], [math.nan, math.inf, 2.0]
ODD = [[], [5.0], [0.0, 0.0], [3.0] * 4, [0.0, -2.0, 7.0], [1e300, -1e300, 1.7e308], [5e-324] * 2]


@pytest.mark.parametrize("scale", ["linear", "log", "category"])
@pytest.mark.parametrize("form", ["line", "points", "band", "bar", "polar"])
@pytest.mark.parametrize("values", [NOTHING, NAN, *ODD], ids=str)
def test_whatever_the_numbers_are_there_is_a_picture(values, form, scale):
    if form in ("bar", "polar"):
        scale = "category"
    x = [str(at) if scale == "category" else float(at) for at in range(len(values))]
    samples = [Sample(*pair, low=pair[1], high=pair[1]) for pair in zip(x, values, strict=True)]
    marks = Mark("one", "as fast", y=0.0), Mark("leaf", "leaf", x=1.0)
    for y, shown in itertools.product((Axis("y"), Axis("y", scale="log")), (True, False)):
        trace = Trace("a", samples, form=form, shown=shown)
        picture = drawn(Plot("a", "A", "", Axis("x", scale=scale), y, (trace,), marks))
        assert not re.search(r"\b(nan|inf)\b", ElementTree.tostring(picture, "unicode"))
        assert all(re.match(r"(M-?\d|$)", path.get("d")) for path in picture.iter("path"))
