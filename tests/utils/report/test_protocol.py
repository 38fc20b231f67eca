"""The protocol of an acceptance as a page: signed, unless it was simulated, or is not valid."""

import copy
import json
import re
from pathlib import Path

import pytest

from acceptance.campaigns import protocol
from acceptance.report import addresses
from tests import report_data
from tests.browser import axe, browser, open_page, overflow, page  # noqa: F401
from tests.made import Case, Database
from tests.utils.campaigns.test_protocol import failed, make, with_nodes
from tests.utils.campaigns.test_simulated import simulated

PEOPLE = {"vendor": "Maker <b>& Sons", "customer": "University"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the folder of a site with protocols, and the address of each page."""
    folder = tmp_path_factory.mktemp("protocols")
    bad = {"kind": "case-failed", "text": "m"}
    rejected = make(
        failed(), verdict={**make()["verdict"], "verdict": "fail", "problems": [bad]}, **PEOPLE
    )
    forged = copy.deepcopy(rejected) | {"outcome": "accepted"}
    given = {
        "accepted": make(**PEOPLE),
        "compared": with_nodes(),
        "rejected": rejected,
        "simulated": simulated(),
        "forged": forged,
        "unmarked": {k: v for k, v in simulated().items() if k not in ("simulated", "of_model")},
    }
    made = report_data.source(folder)
    Database(made.database).add([Case(metrics={"latency_8": (1.0, "us")})])
    for name, data in given.items():
        path = folder / name / "protocol.json"
        path.parent.mkdir()
        data = {**data, "campaign": f"accept-{name}"}
        path.write_text(json.dumps(data))
        data, lines = protocol.verify(path)
        # A changed campaign is one difference of each: those of interest come from `given`.
        lines = [line for line in lines if "sha256" not in line.lower()]
        lines = lines if name in ("forged", "unmarked") else []
        made.protocols = [*made.protocols, (path, data, lines)]
    return report_data.site(made, folder / "report")


def shown(page, site, name):  # noqa: F811
    open_page(page, site, addresses.page("protocol", f"accept-{name}"))
    return page.locator(".said").inner_text(), page.locator(".signature").count()


def test_one_of_a_machine_has_lines_for_both_to_sign(written, page):  # noqa: F811
    assert shown(page, written, "accepted") == ("Accepted", 2)
    assert "Maker <b>& Sons" in page.locator(".signatures").inner_text()
    assert page.locator(".verdict.good").count() == 1
    assert axe(page) == []
    assert overflow(page) <= 0


def test_what_it_could_have_seen_stands_there_as_in_the_markdown(written):
    html = (written / addresses.page("protocol", "accept-compared")).read_text()
    seen = html.partition('id="seen"')[2].partition('id="asked"')[0]
    assert "<h3>made:qdr+first</h3>" in seen
    assert "One slow node: a loss of " in seen
    assert '<th scope="col" class="n">loses 15.0%</th>' in seen
    row = seen.partition('<th scope="row">1 of the nodes</th>')[2].partition("</tr>")[0]
    assert re.findall(r'<td class="n">(.*?)</td>', row) == ["100.0%", "100.0%", "0.0%", "0.0%"]
    alone = (written / addresses.page("protocol", "accept-accepted")).read_text()
    assert "only references and limits judge them" in alone


def test_one_that_is_rejected_says_why(written, page):  # noqa: F811
    assert shown(page, written, "rejected") == ("Rejected", 2)
    assert page.locator(".verdict.bad").count() == 1
    assert "BELOW-LIMIT:made:qdr+first" in page.locator("table").first.inner_text()


def test_nobody_signs_what_was_simulated(written, page):  # noqa: F811
    said, lines = shown(page, written, "simulated")
    assert (said, lines) == ("No acceptance: simulated", 0)
    assert "no machine was measured" in page.locator(".verdict").inner_text()
    assert page.locator("h1 .mark-simulated").count() == 1


@pytest.mark.parametrize("name", ["forged", "unmarked"])
def test_nobody_signs_what_does_not_agree_with_itself(written, page, name):  # noqa: F811
    assert shown(page, written, name) == ("Not valid: it does not agree with itself", 0)
    assert page.locator(".verdict.bad").count() == 1


def test_it_prints_on_paper(written, page, tmp_path):  # noqa: F811
    open_page(page, written, addresses.page("protocol", "accept-accepted"))
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator(".signature").first.is_visible()
    page.pdf(path=tmp_path / "protocol.pdf", prefer_css_page_size=True)
    assert (tmp_path / "protocol.pdf").read_bytes().startswith(b"%PDF")


def test_the_data_are_offered_as_they_were_stored(written):
    stored = Path(written).parent / "rejected/protocol.json"
    assert (written / addresses.of_protocol("accept-rejected")).read_text() == stored.read_text()
