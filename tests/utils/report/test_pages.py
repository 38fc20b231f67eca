"""What the pages say: the numbers of the database, the stored verdict, and no script of a name."""

import csv
import dataclasses
import json
from datetime import datetime, timezone

import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from acceptance.alerts import Alert, acknowledgements, notify
from acceptance.core.findings import Finding
from acceptance.report import addresses
from acceptance.report.pages.sessions import copied
from acceptance.report.plot_model import number_text
from acceptance.report.runs import Outcome, Run, outcome, told
from acceptance.report.source import Source
from acceptance.verdict import Status, Verdict, result_of, stored, text_of
from tests import report_data
from tests import stored as database
from tests.browser import PHONE, axe, browser, open_page, overflow, page  # noqa: F401
from tests.made import FIRST, NIGHT, Case, Database

NOW = datetime.fromtimestamp(FIRST + 3 * NIGHT, timezone.utc)
#: Within 10 % of 100 MB/s.
JUDGED = {"bandwidth_8": (101.0, "MB/s", 100.0, -0.1, None), "latency_8": (1.25, "us")}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Two nights: on the second one a case fails, one is new, and an alert is open."""
    folder = tmp_path_factory.mktemp("pages")
    made = report_data.source(folder)
    made.now = NOW
    stored_in = Database(made.database)
    names = [f"OsuMpi %benchmark={name}" for name in ("bw", "latency", "bibw")]
    good = [Case(name=name, metrics=dict(JUDGED)) for name in names]
    stored_in.add([*good[:2], Case(name="Plain", metrics={"time": (2.0, "s")})])
    last = [good[0], Case(name=names[1], result="fail"), good[2], report_data.hostile_case()]
    uuid = stored_in.add([*last, Case(name="Left", partition="other", result="fail_deps")])
    verdict = Verdict(
        status=Status.FAILED, session=uuid, system="made", host=report_data.HOSTILE, passed=3,
        failed=1, judged={"limit": 2}, recorded=3,
        problems=[Finding("case-failed", f"{names[1]} failed: {report_data.HOSTILE}")],
    )  # fmt: skip
    stored.keep(made.workspace, uuid, verdict)
    alerts = [
        Alert(f"{number}" * 12, Finding(
            "case-failed", f"a cable {report_data.HOSTILE}", device=f"check {number}",
            where="made:compute", since=NOW.isoformat(),
        ))
        for number in (1, 2)
    ]  # fmt: skip
    notify.update(alerts, NOW, made.workspace.alerts, judged=lambda _: True)
    acknowledgements.add("2" * 12, "known <b>", "2026-02-01", alerts, NOW, made.workspace.alerts)
    return made


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    return report_data.site(source, tmp_path_factory.mktemp("web") / "report")


@pytest.fixture(scope="module")
def newest(source):
    return source.sessions[0]


def row(page, name):  # noqa: F811
    """Return the cells of a row of the table of partitions."""
    found = page.locator("#partitions ~ .wide tbody tr").filter(has_text=name).first
    return [cell.strip() for cell in found.locator("th, td").all_inner_texts()]


def test_each_partition_has_its_counts(site, page):  # noqa: F811
    open_page(page, site)
    assert row(page, "made:compute")[:6] == ["made:compute", "red", "2", "1", "1", "0"]
    assert row(page, "made:other")[:6] == ["made:other", "not measured", "0", "0", "0", "1"]


def test_it_tells_what_changed_since_the_run_before(site, page):  # noqa: F811
    text = open_page(page, site).locator("main").inner_text()
    assert "1 red now, not before" in text
    assert "1 no longer measured" in text
    assert "2 measured now, not before" in text


def test_the_verdict_is_the_stored_one(site, page):  # noqa: F811
    assert open_page(page, site).locator(".said").inner_text() == "FAIL"


def test_the_overview_counts_each_case_as_the_verdict_does(site):
    said = "4 cases: 3 passed, 1 failed, 0 skipped, 0 not run"
    assert f"{said};" in (site / "index.html").read_text()


def test_alerts_have_their_sentence_and_who_acknowledged_them(site, page):  # noqa: F811
    open_page(page, site)
    first, second = page.locator("#alerts + ul li").all_inner_texts()
    assert "failure new made:compute check 1: a cable <script>" in " ".join(first.split())
    assert "nobody has acknowledged it" in first
    assert "known <b>" in second


def test_names_stay_text(site, page, newest):  # noqa: F811
    for address in ("index.html", addresses.session(newest.uuid), addresses.SESSIONS):
        open_page(page, site, address)
        assert page.locator("main script").count() == 0
        assert "\u202e" not in page.content()
    open_page(page, site, addresses.session(newest.uuid))
    assert "<script>alert('x')</script>" in page.locator("main").inner_text()


def test_no_page_runs_a_name(site, page):  # noqa: F811
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 8
    for path in pages:
        open_page(page, site, str(path.relative_to(site)))
        assert page.locator("main script").count() == 0
        # What a plot consists of, once it is drawn, has styles of the library.
        ours = "main [onclick], main [onerror], main [style]:not(figure.plot *)"
        assert not page.locator(ours).count(), path
    assert dialogs == []


def test_numbers_are_those_of_the_database(site, page, source):  # noqa: F811
    session = database.session(source.database)
    open_page(page, site, addresses.session(session.uuid))
    for number, case in enumerate(session.cases):
        opened = page.locator(f"details.case:has(#case-{number})")
        opened.evaluate("each => each.open = true")
        cells = opened.locator("tbody tr").all()
        assert len(cells) == len(case.metrics)
        for line, metric in zip(cells, case.metrics, strict=True):
            name, value, unit, *_ = line.locator("th, td").all_inner_texts()
            assert (name, float(value), unit) == (metric.name, metric.value, metric.unit)
    least = (
        page.locator("details.case:has(#case-0) tbody tr").first.locator("td.n").all_inner_texts()
    )
    assert [text.strip() for text in least[1:]] == ["90", number_text(None)]


def test_files_to_download_have_the_same_numbers(site, newest):
    text = (site / addresses.of_session(newest.uuid, "csv")).read_text()
    rows = list(csv.DictReader(text.splitlines()))
    metrics = [metric for case in newest.cases for metric in case.metrics]
    assert [float(row["value"]) for row in rows] == [metric.value for metric in metrics]
    data = json.loads((site / addresses.of_session(newest.uuid, "json")).read_text())
    assert [m["value"] for c in data["cases"] for m in c["metrics"]] == [m.value for m in metrics]
    assert data["verdict"] == "FAIL"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_they_are_accessible_and_fit_on_a_phone(site, page, newest, scheme):  # noqa: F811
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme=scheme)
    for address in ("index.html", addresses.session(newest.uuid), addresses.SESSIONS):
        open_page(page, site, address)
        assert axe(page) == []
        assert overflow(page) <= 0


def test_the_keyboard_reaches_the_content_and_all_that_opens(site, page, newest):  # noqa: F811
    open_page(page, site, addresses.session(newest.uuid))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
    case = page.locator("details.case:has(#case-3)")
    case.locator("summary").focus()
    was = case.evaluate("each => each.open")
    page.keyboard.press("Enter")
    assert case.evaluate("each => each.open") != was


def test_the_address_of_a_case_opens_it(site, page, newest):  # noqa: F811
    open_page(page, site, addresses.session(newest.uuid))
    page.evaluate("document.querySelectorAll('details.case').forEach(each => each.open = false)")
    page.evaluate("location.hash = 'case-3'")
    expect(page.locator("details.case[open]")).to_have_count(1)
    expect(page.locator("#case-3")).to_be_visible()


def test_what_cannot_be_read_is_told_on_the_first_page(source, tmp_path, page):  # noqa: F811
    made = report_data.source(tmp_path)
    Database(made.database).add([Case(metrics=dict(JUDGED))])
    broken = Database.__new__(Database)
    broken.connection = __import__("sqlite3").connect(made.database)
    broken.store("feedbeef-0000-4000-8000-000000000000", FIRST, FIRST + 1, "{}")
    folder = report_data.site(made, tmp_path / "report")
    assert "feedbeef" in open_page(page, folder).locator(".fault").first.inner_text()


def test_a_database_without_sessions_says_so(tmp_path, page):  # noqa: F811
    made = report_data.source(tmp_path)
    Database(made.database)
    folder = report_data.site(made, tmp_path / "report")
    text = open_page(page, folder).locator("main").inner_text()
    assert "holds no session" in text
    assert page.locator(".good").count() == 0


@pytest.mark.parametrize("nights", [0, 2])
def test_a_run_that_left_no_session_is_what_the_first_page_is_about(tmp_path, page, nights):  # noqa: F811
    made = report_data.year(tmp_path, nights, 1)
    made.current = Verdict(system="made")
    made.current.fail("last-run", "ended before it left a mark", "reframe")
    open_page(page, report_data.site(made, tmp_path / "report"))
    assert page.locator(".said").inner_text() == "FAIL"
    assert page.locator(".sentence").inner_text() == "Not to be signed: 1 major finding."
    assert "ended before it left a mark" in page.locator(".finding").inner_text()
    assert axe(page) == []


def test_sessions_without_a_page_are_counted(tmp_path):
    made = report_data.year(tmp_path, 5, 1)
    made.since = FIRST + 3 * NIGHT
    assert (len(made.sessions), made.left_out) == (2, 3)


@pytest.mark.parametrize(
    ("results", "metrics", "word"),
    [
        (["pass"], JUDGED, Outcome.GREEN),
        (["pass"], {"latency_8": (1.0, "us")}, Outcome.NOT_JUDGED),
        (["pass"], {}, Outcome.NOT_JUDGED),
        (["fail", "pass"], JUDGED, Outcome.RED),
        (["fail_deps"], {}, Outcome.NOT_MEASURED),
        (["skip"], {}, Outcome.NOT_MEASURED),
        (["abort"], {}, Outcome.NOT_MEASURED),
        (["xfail"], {}, Outcome.NOT_JUDGED),
        ([""], {}, Outcome.NOT_MEASURED),
    ],
)
def test_only_what_was_judged_and_passed_is_green(tmp_path, results, metrics, word):
    made = Database(tmp_path / "results.db")
    made.add([
        Case(metrics=dict(metrics), result=each, run_index=number)
        for number, each in enumerate(results)
    ])  # fmt: skip
    assert outcome(database.session(made.path).cases) is word


@pytest.mark.parametrize(
    ("own", "together", "word"), [("fail", "pass", Outcome.GREEN), ("pass", "fail", Outcome.RED)]
)
def test_a_case_near_a_limit_became_what_all_of_its_runs_decided(tmp_path, own, together, word):
    made = Database(tmp_path / "results.db")
    made.add([Case(metrics=dict(JUDGED))])
    session = database.session(made.path)
    case = dataclasses.replace(session.cases[0], result=own)
    session = replace(session, cases=[case])
    verdict = Verdict(cases=[replace(result_of(case), result=together)])
    assert Run((session,), verdict).cases[0].outcome is not word
    verdict.findings = [Finding("near-limit", "", what=text_of(case))]
    assert Run((session,), verdict).cases[0].outcome is word


def test_a_pass_that_nothing_judged_is_not_green():
    assert told(None)[1] == "open"
    assert told(Verdict())[1] == "open"
    assert told(Verdict(judged={"limit": 1}))[1] == "good"
    assert told(Verdict(status=Status.FAILED))[1] == "bad"
    assert told(Verdict(status=Status.CANNOT_JUDGE))[1] == "open"


@pytest.mark.parametrize("data", [{"victims": ["node1"]}, {"victims": 3, "later": None}])
def test_what_is_stored_of_load_and_cannot_be_read_is_told(tmp_path, data):
    made = report_data.source(tmp_path)
    uuid = Database(made.workspace.results).add([Case(more={"loaded": data})])
    folder = report_data.site(made, tmp_path / "web")
    html = (folder / addresses.session(uuid)).read_text()
    assert "what is stored of the measurement under load is malformed: " in html


def test_an_output_elsewhere_is_not_copied(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "var").mkdir()
    (tmp_path / "var/link").symlink_to(tmp_path)
    files = {}
    (case,) = _one_case(tmp_path)
    for folder in (tmp_path, tmp_path / "var/..", tmp_path / "var/link"):
        other = type(case)(**{**vars(case), "folder": str(folder), "output": "secret.txt"})
        address, why = copied(tmp_path / "var", files, "uuid", 0, other)
        assert (address, why) == ("", "it is not in var/ of this report")
    assert files == {}


def _one_case(folder):
    made = Database(folder / "results.db")
    made.add([Case(metrics=dict(JUDGED))])
    return database.session(made.path).cases


def test_a_source_is_of_its_own_database_or_says_nothing_of_alerts(source, tmp_path):
    other = Source(source.workspace, tmp_path / "other.db", NOW)
    assert other.alerts is None
