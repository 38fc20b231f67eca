"""Pages made of hostile texts (`tests/hostile.py`): no tag, attribute or address is one of them."""

import html.parser
import json
import re
from datetime import datetime, timezone

import pytest
from msgspec.structs import replace

from acceptance.alerts import Alert, acknowledgements, notify
from acceptance.core.findings import Finding
from acceptance.core.text import printable
from acceptance.report import addresses
from acceptance.report.source import Source
from acceptance.verdict import Status, Verdict, stored
from tests import report_data
from tests.browser import browser, open_page, page  # noqa: F401
from tests.hostile import TEXTS
from tests.made import FIRST, NIGHT, Case, Database

NOW = datetime.fromtimestamp(FIRST + 3 * NIGHT, timezone.utc)
#: What JSON can hold.
HELD = {name: text for name, text in TEXTS.items() if name != "surrogate"}
#: Those that name a partition, each of which has pages of its own.
PLACES = ("attribute", "traversal")


def cases(fails):
    """Yield a case for each text, which is in all of its names; every second one may fail."""
    for number, (name, text) in enumerate(HELD.items()):
        finding = {"kind": "link-rate", "text": text, "nodes": text, "device": text, "found": text}
        yield Case(
            name=f"{number} {text}", system="made", partition=text if name in PLACES else "compute",
            environment=text, nodes=(text,), keys={"np": text}, benchmark=f"osu.{text}",
            suite="osu", provenance={"spec": text, "suite": text, "mpi": text},
            findings=(finding,), result="fail" if fails and number % 2 else "pass",
            metrics={f"latency_{2 ** number}": (1.5, text), text: (1.0, "us")},
            more={"fail_reason": text} if fails and number % 2 else {},
        )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = report_data.source(tmp_path_factory.mktemp("hostile"), now=NOW)
    database = Database(made.database)
    for night in range(2):
        uuid = database.add(cases(night), label=f"night {HELD['script']}")
    findings = [
        Finding("case-failed", text, True, (text,), text, text, text, text, (text,), text,
                remedy=text, where=text, since=NOW.isoformat())
        for text in HELD.values()
    ]  # fmt: skip
    joined = " ".join(HELD.values())
    verdict = Verdict(
        status=Status.FAILED, session=uuid, system=joined, host=joined, failed=1,
        judged={joined: 1},
        problems=findings, findings=[replace(each, kind="not-provided") for each in findings],
        notes=[*HELD.values()], not_selected={text: text for text in HELD.values()},
    )  # fmt: skip
    stored.keep(made.workspace, uuid, verdict)
    alerts = [Alert(f"{at:012x}", each) for at, each in enumerate(findings)]
    notify.update(alerts, NOW, made.workspace.alerts, judged=lambda _: True)
    acknowledgements.add("0" * 12, joined, "2026-02-01", alerts, NOW, made.workspace.alerts)
    assert isinstance(made, Source)
    return report_data.site(made, tmp_path_factory.mktemp("web") / "report")


class Tags(html.parser.HTMLParser):
    """Collects what a page could run or load."""

    def __init__(self):
        super().__init__()
        self.wrong, self.links, self.ids = [], [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in ("img", "iframe", "object", "embed", "base", "form", "style"):
            self.wrong.append(tag)
        if tag == "script" and not (given.get("src") or "").endswith(".js"):
            self.wrong.append("script")
        self.wrong += [
            name for name in given if name.startswith("on") or name in ("style", "srcdoc")
        ]
        self.links += [given[name] for name in ("href", "src") if given.get(name)]
        self.ids += [given["id"]] if "id" in given else []


def test_no_page_has_a_tag_an_attribute_or_an_address_of_a_name(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 8
    for path in pages:
        text = path.read_text()
        assert not [c for c in text if not c.isprintable() and c not in "\n\t"], path
        tags = Tags()
        tags.feed(text)
        assert not tags.wrong, path
        assert len(tags.ids) == len({*tags.ids}), path
        assert not [each for each in tags.ids if any(c.isspace() for c in each)]
        for link in tags.links:
            if link == "data:,":
                continue
            target = (path.parent / link.partition("#")[0]).resolve() if link[0] != "#" else path
            assert target.is_relative_to(site.resolve()), (path, link)
            assert target.exists(), (path, link)
    for path in site.rglob("*"):
        assert re.fullmatch(r"[a-zA-Z0-9._~-]+", path.name), path


def test_no_file_of_data_ends_its_script_or_has_a_formula(site):
    for path in site.rglob("data/**/*.js"):
        text = path.read_text()
        assert "<" not in text
        assert json.loads(text.removeprefix("acceptancePlot(").removesuffix(");\n"))
    rows = [line for path in site.rglob("*.csv") for line in path.read_text().splitlines()]
    assert rows
    assert not [line for line in rows if line.startswith(("=", "+", "@"))]


def test_a_browser_shows_the_texts_and_runs_none(site, page):  # noqa: F811
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    newest = max((site / "sessions").glob("0*.html"))
    for address in ("index.html", f"sessions/{newest.name}", addresses.HISTORY):
        shown = open_page(page, site, address).locator("main").inner_text()
        for name in ("script", "markdown", "template", "sql"):
            assert printable(HELD[name]) in " ".join(shown.split()), (address, name)
        assert (
            page.locator("main script, main img, main [onerror], main [onmouseover]").count() == 0
        )
    # A series, whose plot and table the script of the page makes of its data.
    page.locator("table.history-series th a").first.click()
    page.locator("figure.plot[data-state=drawn]").wait_for()
    page.locator("figure.plot details summary").first.click()
    assert page.locator("figure img, figure script").count() == 0
    assert dialogs == []
