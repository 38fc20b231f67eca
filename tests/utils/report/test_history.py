"""The page of histories: all series, what changed first, each with its samples on demand."""

import csv
import json
import re
from datetime import date, datetime, timedelta, timezone
from statistics import median

import pytest
from playwright.sync_api import expect

from acceptance.alerts import acknowledgements
from acceptance.regressions.changes import SlowNight
from acceptance.report import addresses
from acceptance.report.pages import history
from acceptance.report.source import Source
from tests import report_data
from tests.browser import axe, browser, fits, new_page, open_page, page  # noqa: F401
from tests.made import SOFTWARE, Database, nights
from tests.utils.report import plots

GIVEN = datetime(2026, 2, 20, 8, tzinfo=timezone.utc)

NIGHTS, WORSE = 60, 40


def factor(night, case, size):
    return 1.25 if case == 1 and night >= WORSE else 1.0


def change(night, number, case):
    """Build one case anew in the middle, let one stand on two sets of nodes, simulate one."""
    if number == 2 and night >= 30:
        case.provenance = {**SOFTWARE, "spec": "osu-micro-benchmarks@7.6"}
    if number == 3:
        case.nodes = (f"node0{1 + night % 2}", "node09")
    if number == 4:
        case.partition, case.system = "other", "simulated-made"
    return case


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    made = report_data.workspace(folder)
    nights(made.results, NIGHTS, factor, 5, change, sizes=(8,))
    return report_data.source(folder)


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    return report_data.site(source, tmp_path_factory.mktemp("web") / "report")


def file_data(folder, address):
    """Return what a file hands to the page's script."""
    text = (folder / address).read_text()
    assert text.startswith("acceptancePlot({")
    assert text.endswith("});\n")
    return json.loads(text[len("acceptancePlot(") : -3])


def all_data(folder):
    files = sorted((folder / "data/history/index").glob("*.js"))
    return [file_data(folder, path.relative_to(folder)) for path in files]


def rows(data):
    """Return anchor -> times, values and sessions of each series in files."""
    found = {}
    for each in data:
        for case in each["cases"]:
            times, now = [], 0
            for step in case["times"]:
                times.append(now := now + step)
            for one in case["series"]:
                found[one["id"]] = [
                    (time, value, each["sessions"][session][0])
                    for time, session, value in zip(
                        times, case["sessions"], one["values"], strict=True
                    )
                    if value is not None
                ]
    return found


def test_every_sample_stands_in_a_file_with_its_session(source, site):
    found = rows(all_data(site))
    assert len(found) == len(source.history.series) == 10
    for series in source.history.series:
        assert found[history.anchor(series)] == [
            (round(sample.time), pytest.approx(value, rel=1e-4), sample.session.uuid)
            for sample, value in zip(series.samples, series.values, strict=True)
        ]


def test_changes_and_alerts_are_those_of_the_gate(source, site):
    judgement = source.judgements[False]
    alarming = {history.anchor(change.series) for incident in judgement.incidents
                for change in incident.changes}  # fmt: skip
    assert alarming
    known = {one["id"]: one for data in all_data(site) for case in data["cases"]
             for one in case["series"]}  # fmt: skip
    assert {name for name, one in known.items() if "alerts" in one} == alarming
    (index,) = history.pages(source)
    first = [one.anchor for one in index.context["changed"]]
    assert {*first[: len(alarming)]} == alarming
    start = known[first[0]]["changes"][-1][0]
    series = next(one for one in source.history.series if history.anchor(one) == first[0])
    assert abs(start - series.samples[WORSE].time) < 2 * 86400


def test_the_page_says_how_many_false_alarms_its_nights_have(site):
    text = (site / addresses.HISTORY).read_text()
    said = re.findall(r'<p class="history-false">(.*)</p>', text)
    assert said[0].startswith("False alarms: promised at most 1 a year of 100 metrics, seen ")
    assert said[1].startswith("False words: promised at most 5 % of comparisons, seen ")
    assert said[2].startswith("False alarms: not counted of simulated systems")
    assert len(said) == 3


def test_each_series_has_a_curve_of_its_newest_samples(source, site):
    html = (site / addresses.HISTORY).read_text()
    curves = re.findall(r'<svg class="curve" .*?aria-label="(.*?)"><path d="(.*?)"', html)
    changed = len(history.pages(source)[0].context["changed"])
    assert len(curves) == len(source.history.series) + changed
    said, path = curves[0]
    first = history.pages(source)[0].context["changed"][0].series
    assert said.startswith(f"newest {NIGHTS} of {NIGHTS}: ")
    heights = [y for _, y in plots.points(path)]
    assert len(heights) == NIGHTS
    assert 0 <= min(heights) < max(heights) <= history.HEIGHT
    # What is higher stands higher, and so above.
    order = sorted(range(NIGHTS), key=lambda number: first.values[number])
    assert [heights[number] for number in order] == sorted(heights, reverse=True)


def test_noise_does_not_look_like_a_change(source):
    steady = [one for part in history.pages(source)[0].context["partitions"]
              for one in part.known if not one.steps]  # fmt: skip
    assert steady
    for one in steady:
        heights = [y for _, y in plots.points(one.curve)]
        spread = (max(one.series.values) - min(one.series.values)) / median(one.series.values)
        assert max(heights) - min(heights) <= history.HEIGHT * spread / history.FLAT + 1


def test_a_gap_has_no_sample_and_later_ones_keep_their_times(tmp_path):
    made = report_data.workspace(tmp_path)

    def gap(night, number, case):
        if night == 3:
            del case.metrics["latency_8"]
        return case

    nights(made.results, 6, None, 1, gap, sizes=(8,))
    source = report_data.source(tmp_path)
    found = rows(all_data(report_data.site(source, tmp_path / "web")))
    assert sorted(map(len, found.values())) == [5, 6]
    for series in source.history.series:
        assert [time for time, _, _ in found[history.anchor(series)]] == [
            round(time) for time in (one.time for one in series.samples)
        ]


def test_series_are_found_and_opened_by_keys(site, page):  # noqa: F811
    open_page(page, site, addresses.HISTORY)
    assert page.locator("#history-count").inner_text() == "All 10 series are shown."
    page.get_by_label("Find series").fill("LATENCY b2")
    page.get_by_text("1 of 10 series fit.").wait_for()
    link = page.locator("table.history-series tr[data-file]:visible th a")
    expect(link).to_have_count(1)
    link.focus()
    page.keyboard.press("Enter")
    figure = page.locator("figure.plot[data-state=drawn]")
    figure.wait_for()
    assert "software" in figure.locator(".plot-marks").inner_text()
    expect(link).to_have_attribute("aria-expanded", "true")
    figure.locator("details summary").click()
    expect(figure.locator("tbody tr")).to_have_count(NIGHTS)
    assert axe(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)
    page.get_by_label("Find series").fill("")
    page.get_by_label("only those in an open alert").check()
    page.get_by_text("2 of 10 series fit.").wait_for()


def test_a_sample_leads_to_its_case_where_the_session_has_a_page(source, site, page):  # noqa: F811
    series = next(one for one in source.history.series if "b2" in one.name)
    open_page(page, site, f"{addresses.HISTORY}#{history.anchor(series)}")
    figure = page.locator("figure.plot[data-state=drawn]")
    figure.wait_for()
    figure.locator("details summary").click()
    links = figure.locator("tbody a")
    expect(links).to_have_count(len(source.sessions))
    links.first.click()
    opened = page.locator("details.case", has=page.locator(":target"))
    expect(opened.locator("summary")).to_contain_text(series.case.key.check)
    row = opened.locator("tbody tr", has=page.get_by_text(series.metric, exact=True))
    shown = float(row.locator("td").first.inner_text())
    assert shown == pytest.approx(series.values[-1], rel=1e-6)


def test_an_address_opens_its_series_and_offers_its_samples(source, site, page, tmp_path):  # noqa: F811
    series = next(one for one in source.history.series if "b3" in one.name)
    open_page(page, site, f"{addresses.HISTORY}#{history.anchor(series)}")
    figure = page.locator("figure.plot[data-state=drawn]")
    figure.wait_for()
    assert "2 sets of nodes" in figure.inner_text()
    with page.expect_download() as download:
        figure.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "series.csv")
    lines = [*csv.DictReader((tmp_path / "series.csv").open())]
    assert [line["session"] for line in lines] == [one.session.uuid for one in series.samples]
    values = [float(line[f"{series.metric} ({series.unit})"]) for line in lines]
    assert values == pytest.approx([*series.values], rel=1e-4)
    with page.expect_download() as download:
        figure.get_by_role("button", name="JSON").click()
    download.value.save_as(tmp_path / "series.json")
    assert len(json.loads((tmp_path / "series.json").read_text())["samples"]) == NIGHTS


def test_simulated_series_are_marked_in_table_plot_and_download(source, site, page, tmp_path):  # noqa: F811
    series = next(one for one in source.history.series if "simulated-made" in one.name)
    open_page(page, site, f"{addresses.HISTORY}#{history.anchor(series)}")
    figure = page.locator("figure.plot[data-state=drawn]")
    figure.wait_for()
    assert "(simulated)" in figure.locator(".plot-title").inner_text()
    assert "(simulated)" in page.locator("caption", has_text="simulated-made").inner_text()
    with page.expect_download() as download:
        figure.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "series.csv")
    assert {line["simulated"] for line in csv.DictReader((tmp_path / "series.csv").open())} == {
        "yes"
    }


def test_without_javascript_the_table_has_all_series(site, browser):  # noqa: F811
    opened = new_page(browser, java_script_enabled=False)
    opened.goto((site / addresses.HISTORY).as_uri())
    assert opened.locator("table.history-series tr[data-file]").count() == 10
    assert not opened.locator("#history-search").is_visible()
    assert "acceptance history METRIC" in opened.locator("noscript").inner_text()
    opened.context.close()


def test_many_series_have_a_page_for_each_partition_and_say_what_is_left_out(
    source, tmp_path, monkeypatch
):
    monkeypatch.setattr(history, "MOST", 5)
    monkeypatch.setattr(history, "OF_ALL", 100)
    monkeypatch.setattr(history, "FEWEST", 7)
    # What was read stays read: the same source, for a page that is made anew.
    index, *parts = history.pages(source)
    assert [each.title for each in parts] == [
        "History of made:compute", "History of simulated-made:other",
    ]  # fmt: skip
    assert not index.files
    (text,) = parts[1].files.values()
    assert [len(one["values"]) for case in json.loads(text[15:-3])["cases"]
            for one in case["series"]] == [10, 10]  # fmt: skip
    folder = report_data.site(source, tmp_path / "web")
    html = (folder / index.path).read_text()
    assert "the newest 10 samples" in html
    assert parts[0].path.split("/")[-1] in html


def test_slow_nights_and_acknowledgements_stand_in_the_plot(source, page, tmp_path, monkeypatch):  # noqa: F811
    series = next(one for one in source.history.series if "b0" in one.name)
    ack = acknowledgements.Ack("*b0*", "cable ordered", date(2026, 4, 1), "operator", GIVEN)
    monkeypatch.setattr(acknowledgements, "load", lambda folder: [ack])
    night = series.samples[20].session
    slow = SlowNight(("made", "compute"), 20, night, ())
    monkeypatch.setattr(source.judgements[False], "slow", (slow,))
    folder = report_data.site(source, tmp_path / "web")
    open_page(page, folder, f"{addresses.HISTORY}#{history.anchor(series)}")
    page.locator("figure.plot[data-state=drawn]").wait_for()
    told = page.locator("figure.plot .plot-marks").inner_text()
    assert "the whole partition was slow" in told
    assert "acknowledged until" in told
    assert "cable ordered" in told


def test_acknowledgements_stand_at_their_series(source, monkeypatch):
    judgement = source.judgements[False]
    incident = judgement.incidents[0]
    ack = acknowledgements.Ack(incident.id, "cable ordered", date(2026, 4, 1), "operator", GIVEN)
    other = acknowledgements.Ack(
        "*b3*latency_8", "known", date(2026, 4, 1), "operator", GIVEN + timedelta(days=1)
    )
    monkeypatch.setattr(acknowledgements, "load", lambda folder: [ack, other])
    (index,) = history.pages(source)
    known = {one.series.name: one for part in index.context["partitions"] for one in part.known}
    assert [name for name, one in known.items() if other in one.acks] == [
        name for name in known if "b3" in name and name.endswith("latency_8")
    ]
    marked = [one for one in known.values() if ack in one.acks]
    assert marked
    assert all(one.alarms for one in marked)


def test_hostile_names_are_text_alone(tmp_path, page):  # noqa: F811
    source = report_data.source(tmp_path)
    database = Database(source.workspace.results)
    for _ in range(3):
        database.add([report_data.hostile_case()])
    folder = report_data.site(source, tmp_path / "web")
    assert "<script>alert" not in (folder / addresses.HISTORY).read_text()
    assert b"<script" not in b"".join(
        path.read_bytes() for path in (folder / "data/history").rglob("*.js")
    )
    open_page(page, folder, addresses.HISTORY)
    page.locator("table.history-series tr[data-file] th a").click()
    page.locator("figure.plot[data-state=drawn]").wait_for()
    assert "alert('x')" in page.locator(".plot-title").inner_text()


def test_no_history_is_said(tmp_path):
    source = report_data.source(tmp_path)
    Database(source.workspace.results).add([])
    assert isinstance(source, Source)
    (index,) = history.pages(source)
    assert index.context["count"] == 0
    html = (report_data.site(source, tmp_path / "web") / addresses.HISTORY).read_text()
    assert "There is no history yet" in html
