"""The pages of comparisons, in a browser."""

import json

import pytest

from acceptance.report import addresses
from acceptance.report.pages import compare
from tests import report_data
from tests.browser import PHONE, axe, browser, open_page, overflow, page
from tests.made import FIRST, NIGHT, STEPS, Database, campaigns, nights, one_night

__all__ = ["browser", "page"]

SIZES = (8, 512, 65536, 4194304)
OTHER = ("2026-01-01..2026-01-09", "2026-01-10..")


def slower(night, case, _):
    return 1.3 if (night, case) == (19, 1) else 1.0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a source of twenty nights with the comparisons that are asked for, and its site."""
    folder = tmp_path_factory.mktemp("compare")
    source = report_data.year(folder, 20, 3, slower, sizes=SIZES)
    source.comparisons = (OTHER, ("nowhere", "last"))
    return source, report_data.site(source, folder / "site")


def test_the_newest_run_is_compared_with_the_one_before(made):
    source, site = made
    of_system = compare.pages(source)[-1]
    assert of_system.path == addresses.page("compare", "made")
    assert of_system.context["said"] == "8 metrics worse"
    html = (site / of_system.path).read_text()
    assert html.count(">worse</span>") == 8
    assert html.count(">same</span>") == 16
    told, *others = of_system.plots
    assert [plot.on_demand for plot in of_system.plots] == [False] * 2 + [True] * 4
    assert told.summary.startswith("Of 4 sizes 4 worse; the farthest is ")
    band, ratio = told.traces
    outside = [
        not noise.low <= y <= noise.high for noise, y in zip(band.samples, ratio.y, strict=True)
    ]
    assert all(outside)
    assert len(others) == 5


def test_the_data_are_all_of_it(made):
    _, site = made
    path = addresses.page("compare", "made")
    data = json.loads((site / addresses.data(path, "all", "json")).read_text())
    assert len(data["rows"]) == 24
    assert data["counts"]["worse"] == 8


def test_sides_that_are_asked_for_have_a_page_and_those_that_are_not_there_say_so(made):
    source, site = made
    asked = (site / addresses.page("compare", " and ".join(OTHER))).read_text()
    assert "2026-01-10" in asked
    lost = (site / addresses.page("compare", "nowhere and last")).read_text()
    assert "Not compared: nowhere: is no system and no session" in lost
    assert any(fault.startswith("compare nowhere last: ") for fault in source.faults)


def test_one_run_says_what_is_missing(tmp_path):
    (only,) = compare.pages(report_data.year(tmp_path, 1, 1))
    assert "has one run only" in only.context["nothing"]


def test_a_night_is_compared_whole_with_the_night_before(tmp_path):
    workspace = report_data.workspace(tmp_path)
    database = campaigns(workspace.results, 2)
    database.add([one_night(0, 9)], FIRST + 2 * NIGHT - 7200, command="reframe -n b9")
    for number, step in enumerate(STEPS):
        start, label = FIRST + 2 * NIGHT + 60 * number, f"nightly-2026-01-03T220000.{step}.3f2a9c"
        command = f"/opt/clone/.venv/bin/reframe -c /opt/clone/checks/{step}.py -r"
        database.add([one_night(2, number)], start, command=command, label=label)
    (only,) = compare.pages(report_data.source(tmp_path))
    found = only.context["found"]
    assert [len(side.sessions) for side in (found.a, found.b)] == [len(STEPS)] * 2
    assert len(found.rows) == 6 * len(STEPS)
    # What somebody measured since, and nobody before, hides no night.
    database.add([one_night(0, 8)], FIRST + 2 * NIGHT + 7200, command="reframe -n b8")
    (after,) = compare.pages(report_data.source(tmp_path))
    assert after.context["found"].b.sessions == found.b.sessions


def test_without_a_past_nothing_is_green(tmp_path):
    (only,) = compare.pages(report_data.year(tmp_path, 2, 1))
    assert only.context["look"] == "open"
    assert only.context["said"].startswith("cannot judge")


def test_runs_that_have_nothing_in_common_are_told_so_and_nothing_else(tmp_path):
    workspace = report_data.workspace(tmp_path)
    database = Database(workspace.results)
    for number in range(2):
        database.add([one_night(number, number)])
    source = report_data.source(tmp_path)
    (only,) = compare.pages(source)
    assert only.context["said"] == "cannot judge: A and B have no metric in common"
    html = (report_data.site(source, tmp_path / "site") / only.path).read_text()
    assert "nothing: A and B have no metric in common" in html
    assert "metric that was judged" not in html


def test_a_simulated_side_is_marked(tmp_path):
    workspace = report_data.workspace(tmp_path)
    database = Database(workspace.results)
    for night in range(3):
        database.add([one_night(night, 0), one_night(night, 0, system="simulated-made")])
    source = report_data.source(tmp_path)
    source.comparisons = (("made", "simulated-made"),)
    asked, measured, simulated = compare.pages(source)
    assert [each.simulated for each in (asked, measured, simulated)] == [True, False, True]
    assert all(plot.simulated for plot in asked.plots)


def test_a_hostile_name_stays_text(tmp_path):
    workspace = report_data.workspace(tmp_path)
    database = nights(workspace.results, 2, cases=1)
    for _ in range(2):
        database.add([report_data.hostile_case()])
    source = report_data.source(tmp_path)
    html = (
        report_data.site(source, tmp_path / "site") / addresses.page("compare", "made")
    ).read_text()
    assert "<script>alert" not in html


def test_the_page_in_a_browser(made, page):
    _, site = made
    page.set_viewport_size(PHONE)
    open_page(page, site, addresses.page("compare", "made"))
    page.locator("figure.plot").first.scroll_into_view_if_needed()
    page.wait_for_selector("figure.plot .main-svg")
    assert page.locator(".verdict .said").inner_text() == "8 metrics worse"
    page.locator("#same summary").first.click()
    assert page.get_by_text("same", exact=True).first.is_visible()
    assert axe(page) == []
    assert overflow(page) <= 0
