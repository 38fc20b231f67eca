"""The page of a fabric: what deviates as a table, the tree with its marks, and a thousand nodes."""

import re
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from acceptance.fabric import kinds, stored, view
from acceptance.report import addresses
from acceptance.report.pages import fabric
from acceptance.report.pages.fabric import NODES, SWITCHES, Tree, Trouble, rows_of
from acceptance.report.site import html as site_html
from tests import report_data, report_fabrics
from tests.browser import axe, browser, open_page, overflow, page  # noqa: F401
from tests.ibsim import fat_tree, topology_of
from tests.made import Case, Database
from tests.report_fabrics import named

PAGE = addresses.of_partition("fabric", "made", "compute")


def source_of(folder, nodes=16, leaves=4, spines=2, accepted=True, **fields):
    source = report_data.source(folder, reference=True)
    before, now = report_fabrics.spoilt(nodes, leaves, spines)
    case = report_fabrics.fabric_case(source.workspace, before if accepted else None, now, **fields)
    Database(source.workspace.results).add([case, Case(partition="other")])
    return source


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fabric")
    return report_data.site(source_of(folder), folder / "web")


def judged(before, now):
    accepted = stored.AcceptedFabric(
        {datetime(2026, 1, 1, tzinfo=timezone.utc): "first"}, stored.Kept.of(before)
    )
    seen, state = view.judge(
        now,
        None,
        hosts=view.Hosts({}),
        accepted=accepted,
        before=stored.State(0.0, None),
        now=1.79e9,
    )
    return Tree(now, before, rows_of(seen, state.since), PAGE)


def texts(drawn, trouble):
    return sorted(
        drawn.topology.link_text(link)
        for link, rows in drawn.links.items()
        if any(row.trouble is trouble for row in rows)
    )


def test_each_trouble_marks_its_own_link():
    tree = judged(*report_fabrics.spoilt())
    assert texts(tree, Trouble.LOST) == ["leaf02[6] - spine02[2]", "node0002[1] - leaf01[2]"]
    assert texts(tree, Trouble.NARROW) == ["leaf01[5] - spine01[1]"]
    assert texts(tree, Trouble.SLOW) == ["leaf04[6] - spine02[4]"]
    assert letters(tree) == ["L", "L", "N", "S"]
    assert [bool(each.path) for each in tree.things[Trouble.LOST]] == [False, True]
    assert len(tree.things[NODES]) == 16
    # The node that lost its cable has the mark, where it stands.
    ((place, *_),) = [each for each in tree.things[NODES] if each.sample.x == "node0002"]
    assert place in [each.place for each in tree.things[Trouble.LOST]]


def letters(tree):
    return sorted(filter(None, (each.text for kind in Trouble for each in tree.things[kind])))


def test_swapped_and_moved_cables_are_marked_where_they_are_now():
    tree = fat_tree(16, 4, 2)
    before = named(topology_of(tree))
    tree.swap(("leaf02", 1), ("leaf02", 2))
    tree.move(("leaf03", 1), ("leaf03", 8))
    drawn = judged(before, named(topology_of(tree)))
    assert {"node0005[1] - leaf02[2]", "node0006[1] - leaf02[1]", "node0009[1] - leaf03[8]"} <= {
        *texts(drawn, Trouble.CHANGED)
    }


def test_a_switch_that_is_gone_has_one_mark_and_no_letter_at_each_cable():
    tree = judged(*report_fabrics.spoilt(64, 16, 4))
    (lost,) = [each for each in tree.things[Trouble.LOST] if "[" not in each.sample.x]
    assert (lost.sample.x, lost.text) == ("spine03", "L")
    assert sum(bool(each.path) for each in tree.things[Trouble.LOST]) == 16 + 1
    assert letters(tree) == ["L", "L", "L", "N", "S"]
    assert [each.place for each in tree.things[SWITCHES]].count(lost.place) == 1


def test_the_plot_of_the_tree_says_where_each_thing_leads():
    plot = judged(*report_fabrics.spoilt()).plot("", simulated=True)
    assert plot.simulated
    assert [trace.name[0] for trace in plot.traces[:3]] == ["L", "N", "S"]
    for trace in plot.traces:
        marks, lines = trace.drawn
        assert len(marks["x"]) == len(marks["y"]) == len(trace.samples)
        assert len(lines["x"]) == len(lines["y"])
    links = {trace.name: [sample.link for sample in trace.samples] for trace in plot.traces}
    assert {*links[SWITCHES]} == {f"{PAGE}#switch-{number}" for number in range(1, 7)}
    assert {*links["L: lost"]} == {f"{PAGE}#deviation-1", f"{PAGE}#deviation-2"}
    assert plot.layout["yaxis"]["ticktext"] == ["leaf", "spine"]


def test_a_table_comes_before_the_tree_and_both_lead_to_each_other(site):
    html = (site / PAGE).read_text()
    assert html.index("<table") < html.index('<figure class="plot" id="tree"')
    rows = re.findall(r'id="deviation-(\d+)"', html)
    assert rows == [str(number + 1) for number in range(len(rows))]
    assert {*re.findall(r'href="#deviation-(\d+)"', html)} <= {*rows}
    assert {*re.findall(r'href="#(switch-\d+)"', html)} == {*re.findall(r'id="(switch-\d+)"', html)}
    assert "2 spines, 4 leaves, 16 nodes" in html
    assert "2 lost, 1 narrow, 1 slow, 1 with errors that rise" in html


def test_the_page_works_with_keys_and_for_screen_readers(site, page):  # noqa: F811
    open_page(page, site, PAGE)
    assert axe(page) == []
    assert overflow(page) <= 0
    figure = page.locator("figure#tree")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector('#tree[data-state="drawn"]')
    figure.locator(".plot-area").focus()
    page.keyboard.press("ArrowRight")
    assert "lost" in figure.locator(".plot-readout").inner_text()
    page.keyboard.press("Enter")
    assert page.url.endswith(("#deviation-1", "#deviation-2"))
    for width, scheme in ((390, "dark"), (1280, "dark")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 844})
        assert axe(page) == []
        assert overflow(page) <= 0


def test_a_thousand_nodes_are_each_in_the_drawing(tmp_path):
    source = source_of(tmp_path, 1024, 64, 16)
    made = next(one for one in fabric.pages(source) if one.path == PAGE)
    (plot,) = made.plots
    (nodes,) = [trace for trace in plot.traces if trace.name == NODES]
    assert len({*zip(nodes.drawn[0]["x"], nodes.drawn[0]["y"], strict=True)}) == 1024
    assert len(site_html(made)) < 1e6


def test_what_it_can_carry_is_that_of_the_links_that_are_there(tmp_path):
    made = next(one for one in fabric.pages(source_of(tmp_path)) if one.path == PAGE)
    carried = " ".join(made.context["structure"])
    assert "one uplink only: leaf02" in carried
    assert "all pairs at most" in carried


def test_nobody_looked_is_said_with_the_command_that_looks(site):
    other = (site / addresses.of_partition("fabric", "made", "other")).read_text()
    # `made:compute` looked, for all of the system.
    assert "Another partition looks at the fabric" in other


def test_no_look_at_all(tmp_path):
    source = report_data.year(tmp_path, 1, 1)
    (made,) = fabric.pages(source)
    assert made.context["read"] is None
    html = report_data.site(source, tmp_path / "web") / made.path
    assert "Nobody has looked at the whole fabric" in html.read_text()


def test_a_look_that_failed_is_not_good(tmp_path):
    why = kinds.observation(kinds.NOT_LOOKED, "made", found="no umad")
    source = source_of(
        tmp_path, findings=(why.as_data(),), provenance={}, metrics={}, result="fail"
    )
    made = next(one for one in fabric.pages(source) if one.path == PAGE)
    assert "The newest look at this fabric failed" in made.context["summary"]
    assert "Nothing deviates" not in made.context["summary"]
    assert made.context["summary"] in site_html(made)


def test_never_accepted_and_read_again_are_said(tmp_path):
    source = source_of(tmp_path, accepted=False)
    made = next(one for one in fabric.pages(source) if one.path == PAGE)
    assert made.context["read"].accepted is None
    assert "Never accepted" in site_html(made)
    lines = stored.state_path(source.workspace.var, "made")
    lines.write_text(lines.read_text().replace("4x EDR", "4x HDR"))
    made = next(one for one in fabric.pages(replace(source)) if one.path == PAGE)
    assert "of a later reading" in made.context["read"].faults[0]
    lines.write_text("no line of a fabric\n")
    made = next(one for one in fabric.pages(replace(source)) if one.path == PAGE)
    assert made.context["read"].topology is None
    assert made.context["read"].faults
