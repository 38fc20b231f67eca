"""A plot as script, table, CSV and JSON: all four have the same numbers, and none is code."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from random import Random

import pytest

from acceptance.core.errors import Fault
from acceptance.core.text import csv_text
from acceptance.report import figures, plot_model
from acceptance.report.plot_model import Axis, Page, Plot, Sample, Trace
from tests.utils.report import plots

PAGE = "curves/local-default.html"
ALL = [plots.curves(), plots.bars(), plots.polar(), plots.cells(), plots.nights()]


class Tables(HTMLParser):
    """Collects the cells of all rows that have cells, all links, and the tags that there are."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.links, self.tags = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        if tag == "a":
            self.links.append(dict(attributes)["href"])

    def handle_data(self, text):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += text.strip()


def handed(script):
    """Return what a script hands to the browser's part."""
    inside = re.fullmatch(r"acceptancePlot\((.*)\);\n", script, re.S)
    assert inside, script[:80]
    return json.loads(inside[1])


def lines(text):
    return list(csv.DictReader(io.StringIO(text)))


def csv_of(plot):
    return csv_text(plot_model.rows(plot))


@pytest.mark.parametrize("plot", ALL, ids=lambda plot: plot.id)
def test_all_forms_have_the_same_numbers(plot):
    name = (plot.z or plot.y).label
    in_csv = [line[name] for line in lines(csv_of(plot))]
    every = [sample for _, sample in plot_model.numbers(plot)]
    expected = ["" if one.y is None else repr(one.y) for one in every]
    assert in_csv == expected
    shown = Tables(plot_model.html(plot, PAGE)).rows
    at = 2 if plot.z else 1
    values = [row[at] for row in shown if len(row) > 1]
    assert values == [plot_model.number_text(one.y) for one in every]
    told = {trace["legendgroup"]: texts(trace) for trace in drawn(plot) if "text" in trace}
    said = [text for group in sorted(told, key=int) for text in told[group]]
    for row, text in zip(every, said, strict=True):
        axis = plot.z or plot.y
        number = f"{axis.title}: {plot_model.number_text(row.y)}"
        gap = "no number" if row.low is None else "from "
        assert (gap if row.y is None else number) in text


def drawn(plot):
    """Return the traces that the browser is handed."""
    return handed(plot_model.script(figures.figure(plot)))["data"]


def texts(trace):
    """Return what is said of each number of a trace."""
    matrix = trace["type"] == "heatmap"
    return [text for row in trace["text"] for text in row] if matrix else trace["text"]


def test_what_is_drawn_are_the_numbers_of_the_plot():
    own, *_, band, band_low, band_high, _, _, limit = sorted(
        drawn(plots.curves()), key=lambda trace: int(trace["legendgroup"])
    )
    first = plots.curves().traces[0]
    assert own["x"] == [None, *first.x[1:]]
    assert own["y"] == [*first.y]
    assert own["customdata"] == [sample.link for sample in first.samples]
    band_of = plots.curves().traces[2].samples
    assert band_low["y"] == [sample.low for sample in band_of]
    assert band_high["y"] == [sample.high for sample in band_of]
    assert band["line"]["color"] == own["line"]["color"] != limit["line"]["color"]
    (bars, others) = drawn(plots.bars())
    assert (bars["y"], others["y"]) == ([1.0, 1.0, 1.0], [0.8, None, 0.95])
    matrix, crosses = drawn(plots.cells())
    assert matrix["z"] == [[None, 900.0, 910.0], [905.0, None, None], [899.0, 700.0, None]]
    assert (crosses["x"], crosses["y"]) == (["n3"], ["n2"])


def test_ticks_of_bytes_are_powers_of_two_in_words():
    made = figures.figure(plots.curves())
    ticks = made["layout"]["xaxis"]
    assert ticks["ticktext"][:3] == ["1 B", "4 B", "16 B"]
    assert dict(zip(ticks["tickvals"], ticks["ticktext"], strict=True))[2**20] == "1 MiB"
    assert len(ticks["tickvals"]) == 11
    assert made["narrow"]["layout.xaxis.ticktext"] == ["1 B", "32 B", "1 KiB", "32 KiB", "1 MiB"]
    assert "tickvals" not in made["layout"]["yaxis"]
    assert "tickvals" not in figures.figure(plots.nights())["layout"]["xaxis"]


def test_the_json_has_the_rows_of_the_csv():
    for plot in ALL:
        told = json.loads(plot_model.as_json(plot))
        listed = lines(csv_of(plot))
        assert sum(len(trace[plot.x.label]) for trace in told["traces"]) == len(listed)
        at = 0
        for trace in told["traces"]:
            for place in range(len(trace[plot.x.label])):
                row = {name: values if isinstance(values, str) else values[place]
                       for name, values in trace.items()}  # fmt: skip
                cells = csv.reader(io.StringIO(csv_text([row.values()])))
                expected = dict(zip(row, next(cells), strict=True))
                assert {name: value for name, value in listed[at].items() if value} == {
                    name: value for name, value in expected.items() if value
                }  # fmt: skip
                at += 1


def test_marks_stand_where_they_belong():
    layout = figures.figure(plots.cells())["layout"]
    row, across, down = layout["shapes"]
    assert (row["yref"], row["y0"], row["y1"]) == ("y", 1.5, 2.5)
    assert (row["xref"], row["x0"], row["x1"]) == ("x domain", 0, 1)
    assert across["x0"] == across["x1"] == down["y0"] == down["y1"] == 1.5
    (one,) = figures.figure(plots.bars())["layout"]["shapes"]
    assert (one["yref"], one["y0"], one["y1"]) == ("y", 1.0, 1.0)


def test_no_text_leaves_its_place():
    plot = replace(plots.curves(), title=plots.HOSTILE, summary=plots.HOSTILE)
    script = plot_model.script(figures.figure(plot))
    assert "<" not in script
    assert script.isascii()
    names = [trace["name"] for trace in drawn(plot)]
    assert figures.escaped(plots.HOSTILE) in names
    assert not any("<" in name for name in names)
    tags = Tables(plot_model.html(plot, PAGE)).tags
    assert "img" not in tags
    assert "script" not in tags


def test_a_spreadsheet_computes_nothing():
    trace = Trace("=HYPERLINK(1)", [Sample(1.0, -2.0, "@now")])
    text = csv_of(Plot("a", "A", "", Axis("x"), Axis("y"), (trace,)))
    (line,) = lines(text)
    assert line["trace"] == "'=HYPERLINK(1)"
    assert line["note"] == "'@now"
    assert line["y"] == "-2.0"


@pytest.mark.parametrize(
    ("made", "ending"),
    [((), ""), ((0,), " (partly simulated)"), ((0, 1), " (simulated)")],
)
def test_what_was_simulated_is_in_every_title(made, ending):
    traces = tuple(plots.measured(str(at), simulated=at in made) for at in (0, 1))
    limit = plots.curves().traces[-1]
    plot = replace(plots.curves(), traces=(*traces, limit))
    assert plot_model.title(plot) == f"Latency{ending}"
    assert f">Latency{ending}</h3>" in plot_model.html(plot, PAGE)
    assert figures.figure(plot)["title"] == f"Latency{ending}"
    marked = [line["simulated"] == "yes" for line in lines(csv_of(plot))]
    assert any(marked) == bool(made)


def test_links_are_seen_from_the_page():
    links = Tables(plot_model.html(plots.curves(), PAGE)).links
    assert "../sessions/abc.html#case-0" in links
    assert "../data/curves/local-default/latency.csv" in links
    written = [address for address, _ in figures.files(plots.curves(), PAGE)]
    assert "data/curves/local-default/latency.csv" in written


def test_a_download_of_what_was_simulated_is_called_so():
    text = plot_model.html(plots.curves(simulated=True), PAGE)
    assert 'download="local-default-latency-simulated.csv"' in text
    assert 'download="local-default-latency.json"' in plot_model.html(plots.curves(), PAGE)


def test_what_has_no_place_on_a_logarithmic_axis_is_told():
    text = plot_model.html(plots.curves(), PAGE)
    assert "5 numbers (at 0 B) stand in the table only" in text
    assert "in the table only" not in plot_model.html(plots.nights(), PAGE)


def test_a_plot_of_nothing_says_so():
    empty = Plot("a", "A", "Nothing was measured.", plots.MESSAGE, plots.LATENCY, ())
    text = plot_model.html(empty, PAGE)
    assert "Nothing to draw" in text
    assert "plot-area" not in text


def test_no_page_has_two_plots_of_one_name():
    with pytest.raises(Fault, match="two plots are called latency"):
        Page(PAGE, "Twice", "curves.html.j2", plots=(plots.curves(), plots.curves()))


def test_a_long_table_says_what_it_leaves_out(monkeypatch):
    monkeypatch.setattr(plot_model, "MOST_ROWS", 10)
    text = plot_model.html(plots.nights(), PAGE)
    assert "40 more are in the CSV" in text
    assert len(lines(csv_of(plots.nights()))) == 50


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (1234.5678, "1,235"),
        (4240.3, "4,240"),
        (1e5 + 0.5, "100,000"),
        (999.96, "1,000"),
        (0.5, "0.5"),
        (12.3456, "12.35"),
        (0.00123, "0.00123"),
    ],
)
def test_numbers_have_the_digits_that_are_read(value, text):
    assert plot_model.number_text(value) == text


def test_places_are_written_as_people_do():
    assert plot_model.x_text(plots.MESSAGE, 4096.0) == "4 KiB"
    assert plot_model.x_text(plots.MESSAGE, 4096.0, exact=True) == "4096"
    assert plot_model.x_text(Axis("Night"), 1234.5) == "1,234"


def test_a_number_as_it_is_shown_is_the_number():
    random = Random(3)
    for _ in range(2000):
        value = random.choice([-1, 1]) * 10 ** random.uniform(-8, 12)
        assert float(plot_model.number_text(value).replace(",", "")) == pytest.approx(value, 1e-3)
