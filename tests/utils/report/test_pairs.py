"""The pages of all pairs: heat maps, culprits, what was not measured, and many nodes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from acceptance.nodes import Culprit
from acceptance.report import addresses, figures
from acceptance.report.pages import pairs
from acceptance.report.pages.pairs import MOST, Pairs
from acceptance.report.site import html as site_html
from tests import made_matrices, report_data, report_fabrics
from tests.browser import axe, browser, fits, open_page, page  # noqa: F401
from tests.made import Case, Database

PAGE = addresses.of_partition("pairs", "made", "compute")
HOSTILE = report_data.HOSTILE.replace("\u2028", "")


def made(folder, *cases):
    """Return the source of one session of these cases, and its UUID."""
    source = report_data.source(folder)
    uuid = Database(source.workspace.results).add(list(cases))
    return source, uuid


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the site of 16 nodes: one is slow, pairs failed, and a fabric knows their leaves."""
    folder = tmp_path_factory.mktemp("pairs")
    source = report_data.source(folder)
    matrix, _ = report_fabrics.slow_node(16, spread=0.01)
    # No line of the file has a sign that ends it.
    matrix = report_fabrics.failing(matrix, [(3, 5), (7, 2)], f"no answer {HOSTILE}")
    _before, now = report_fabrics.spoilt()
    cases = [report_fabrics.pairs_case(folder / "out", matrix),
             report_fabrics.fabric_case(source.workspace, None, now)]  # fmt: skip
    Database(source.workspace.results).add(cases)
    return report_data.site(source, folder / "web"), matrix


def test_the_culprit_is_named_first_and_marked_at_its_row_and_column(site):
    folder, _matrix = site
    html = (folder / PAGE).read_text()
    plot = report_data.plot_data(folder, PAGE, "pairs-bandwidth")
    slow = next(mark for mark in plot["marks"] if "slow in both directions" in mark["text"])
    (trace,) = plot["traces"]
    names = [*dict.fromkeys(trace["receiver"])]
    name = names[int(slow["y"] if slow["y"] is not None else slow["x"])]
    assert slow["text"].startswith(name)
    assert 0 < html.index(name) < html.index('class="plot"')
    both = [(m["x"] is None, m["y"] is None) for m in plot["marks"] if m["text"] == slow["text"]]
    assert sorted(both) == [(False, True), (True, False)]


def test_each_value_stands_in_its_direction_and_none_is_made_up(site):
    folder, matrix = site
    plot = report_data.plot_data(folder, PAGE, "pairs-bandwidth")
    (trace,) = plot["traces"]
    columns = (trace[name] for name in ("sender", "receiver", "bandwidth (MB/s)", "note"))
    cells = {(row, column): told for row, column, *told in zip(*columns, strict=True)}
    for sender in (0, 3, 7):
        for receiver in (1, 5, 2):
            value, note = cells[matrix.nodes[sender], matrix.nodes[receiver]]
            truth = matrix.values["bandwidth"][sender, receiver]
            if (sender, receiver) in matrix.failed:
                assert value is None
                assert note.startswith("failed: no answer")
            else:
                assert value == pytest.approx(truth, rel=1e-4)
    assert all(cells[name, name] == [None, ""] for name in matrix.nodes)


def test_nodes_of_a_leaf_stand_together(site):
    folder, _ = site
    plot = report_data.plot_data(folder, PAGE, "pairs-bandwidth")
    borders = [(mark["x"], mark["y"]) for mark in plot["marks"] if mark["kind"] == "leaf"]
    assert borders == [at for place in (3, 7, 11, 15) for at in ((place, None), (None, place))]


def test_where_most_leaves_are_unknown_none_is_drawn():
    matrix, _ = report_fabrics.slow_node(4)
    known = Pairs(matrix, dict.fromkeys(matrix.nodes[1:], "leaf01"))
    assert known.names == [*matrix.nodes[1:], matrix.nodes[0]]
    assert known.borders == [3]
    assert not Pairs(matrix, {matrix.nodes[0]: "leaf01"}).of_leaves


def test_the_page_is_drawn_accessible_and_escaped(site, page):  # noqa: F811
    folder, _ = site
    open_page(page, folder, PAGE)
    page.locator("figure#pairs-bandwidth[data-state=drawn]").wait_for()
    assert page.locator("figure#pairs-bandwidth .heatmaplayer image").count()
    assert page.evaluate("window.x") is None
    page.get_by_text("both directions busy", exact=False).first.click()
    page.locator("figure#pairs-both[data-state=drawn]").wait_for()
    assert axe(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)


def test_the_group_of_an_unknown_leaf_is_called_so():
    matrix, _ = report_fabrics.slow_node(MOST + 2)
    known = Pairs(matrix, dict.fromkeys(matrix.nodes[:-2], "leaf01"))
    assert [*zip(known.names, map(len, known.groups), strict=True)] == [
        ("leaf01", MOST), ("leaf not known", 2),
    ]  # fmt: skip
    (trace,) = next(known.plots()).traces
    assert trace.samples[-1].note.startswith("median ")
    assert trace.samples[-1].note.endswith("2 pairs")


def test_many_nodes_are_grouped_with_the_worst_of_each_two(tmp_path):
    matrix, truth = report_fabrics.slow_node(256, spread=0.01)
    assert len(matrix.nodes) > MOST
    leaves = {name: f"leaf{number // 16:02}" for number, name in enumerate(matrix.nodes)}
    source, uuid = made(tmp_path, report_fabrics.pairs_case(tmp_path / "out", matrix))
    drawn = Pairs(matrix, leaves, source.ledger.session(uuid).cases[0].all_pairs and ())
    plot = next(drawn.plots())
    (trace,) = plot.traces
    rows = [*dict.fromkeys(sample.row for sample in trace.samples)]
    assert rows == [*dict.fromkeys(trace.x)]
    assert len(rows) == 16
    block = matrix.values["bandwidth"][:16, 16:32]
    cells = np.array(trace.y, float).reshape(16, 16)
    assert cells[0, 1] == pytest.approx(np.nanmin(block), rel=1e-4)
    (slow,) = truth.nodes
    row = rows.index(leaves[slow])
    others = np.delete(np.delete(cells, row, 0), row, 1)
    assert cells[row].max() < others.min()


def test_a_thousand_nodes_stay_small_and_name_their_culprit():
    matrix, truth = made_matrices.made(1024, 3, "node", spread=0.01)
    slow = Culprit("node-slow", truth.nodes, (), "bandwidth", "MB/s", 7e3, 1e4, 0.7, 1023, 1023)
    plots = [*Pairs(matrix, {}, [slow]).plots()]
    first = plots[0]
    assert len({*first.traces[0].x}) == 64
    assert "1,047,552 of 1,047,552 pairs have a value" in first.summary
    assert truth.nodes[0] in first.summary
    group = matrix.nodes.index(truth.nodes[0]) // 16
    assert {(mark.x, mark.y) for mark in first.marks} == {(group, None), (None, group)}
    texts = [text for plot in plots for _, text in figures.files(plot, "pairs/x.html")]
    assert sum(map(len, texts)) < 5e6


def test_what_is_not_there_is_said(tmp_path):
    matrix, _ = report_fabrics.slow_node(8)
    case = report_fabrics.pairs_case(tmp_path / "out", matrix)
    (tmp_path / "out/all-pairs.txt").unlink()
    other = Case(partition="other")
    source, _uuid = made(tmp_path, case, other)
    index, told = pairs.pages(source)
    assert "there is no value of each pair any more" in told.context["faults"][0]
    assert told.context["culprits"]
    assert not told.plots
    html = site_html(index)
    assert html.count("never measured") == 1
    assert html.index("never measured") > html.index("made:other")
    assert told.context["summary"].startswith("1 culprit: ")
    assert f"<td>{told.context['summary']}</td>" in html


def test_of_several_passes_the_page_has_the_median_as_the_culprits_have(tmp_path):
    matrix, _ = report_fabrics.slow_node(8)
    case = report_fabrics.pairs_case(tmp_path / "out", matrix)
    for number, times in ((2, 2), (3, 3)):
        values = {name: of * times for name, of in matrix.values.items()}
        text = report_fabrics.pairs_text(replace(matrix, values=values))
        (tmp_path / f"out/all-pairs-{number}.txt").write_text(text)
    source, _ = made(tmp_path, case)
    page_made = pairs.pages(source)[1]
    assert page_made.context["faults"] == []
    shown = page_made.context["pairs"].matrix.values["bandwidth"]
    np.testing.assert_allclose(shown, 2 * matrix.values["bandwidth"], rtol=1e-3)


def test_a_file_that_ends_early_and_one_that_is_none_are_told(tmp_path):
    matrix, _ = report_fabrics.slow_node(8)
    case = report_fabrics.pairs_case(tmp_path / "out", matrix)
    file = tmp_path / "out/all-pairs.txt"
    whole = file.read_text()
    source, _ = made(tmp_path, case)
    file.write_text(whole[: whole.index("again")])
    made_page = pairs.pages(source)[1]
    assert "the file is not whole" in made_page.context["faults"][0]
    assert made_page.plots
    file.write_text("<html>")
    made_page = pairs.pages(source)[1]
    assert made_page.context["faults"]
    assert not made_page.plots


def test_simulated_pairs_are_marked_wherever_they_stand(tmp_path):
    matrix, _ = report_fabrics.slow_node(8)
    case = report_fabrics.pairs_case(
        tmp_path / "out", matrix, system="simulated-made", provenance={"simulated": "SimGrid 3.32"}
    )
    source, _uuid = made(tmp_path, case)
    folder = report_data.site(source, tmp_path / "web")
    page = addresses.of_partition("pairs", "simulated-made", "compute")  # noqa: F811
    assert "Simulated</strong> by SimGrid 3.32" in (folder / page).read_text()
    plot = json.loads((folder / addresses.data(page, "pairs-bandwidth", "json")).read_text())
    assert plot["title"].endswith("(simulated)")
