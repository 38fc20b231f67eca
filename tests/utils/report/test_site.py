"""The site as a whole: written whole or not at all, and nothing of anybody else is deleted."""

import errno
import json
from pathlib import Path

import pytest

from acceptance.core.errors import Fault
from acceptance.report import site as sites
from acceptance.report import write
from tests import report_data
from tests.browser import DESK, PHONE, axe, browser, open_page, overflow, page  # noqa: F401


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return report_data.year(tmp_path_factory.mktemp("nights"), 9, 2)


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    return report_data.site(source, tmp_path_factory.mktemp("web") / "report")


def test_what_stood_there_is_replaced(source, tmp_path):
    folder = tmp_path / "report"
    write(source, folder)
    (folder / "static/report.css").write_text("old")
    index, pages, size = write(source, folder)
    assert index == folder / "index.html"
    assert pages == len([*folder.rglob("*.html")])
    assert size == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert (folder / "static/report.css").read_text() != "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".report.lock", "report"]


@pytest.mark.parametrize("name", ["mine.txt", "report.json", "index.html"])
def test_a_folder_of_something_else_is_refused_and_stays(source, tmp_path, name):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / name).write_text("[]")
    with pytest.raises(Fault, match="holds something that is no report"):
        write(source, tmp_path / "report")
    assert (tmp_path / "report" / name).read_text() == "[]"


def test_a_report_that_somebody_put_a_file_into_is_refused(source, tmp_path):
    write(source, tmp_path / "report")
    (tmp_path / "report/notes.txt").write_text("mine")
    with pytest.raises(Fault, match=r"holds notes\.txt, which is not of the report"):
        write(source, tmp_path / "report")
    assert (tmp_path / "report/notes.txt").read_text() == "mine"


def test_one_that_cannot_be_written_leaves_the_one_before(source, tmp_path, monkeypatch):
    write(source, tmp_path / "report")
    before = (tmp_path / "report/index.html").read_bytes()
    monkeypatch.setattr(sites.json, "dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(source, tmp_path / "report")
    assert (tmp_path / "report/index.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".report.lock", "report"]


@pytest.mark.parametrize("before", [True, False])
def test_one_that_cannot_be_put_in_place_says_why(source, tmp_path, monkeypatch, before):
    folder = tmp_path / "report"
    if before:
        write(source, folder)
    rename = Path.rename

    def refused(path, target):
        if path.name == "new":
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(Fault, match="cannot be written: No space left on device"):
        write(source, folder)
    assert folder.exists() == before
    assert sorted(path.name for path in tmp_path.iterdir())[:1] == [".report.lock"]


def test_the_folder_lists_what_is_in_it(site):
    listed = json.loads((site / "report.json").read_text())["entries"]
    assert listed == sorted(path.name for path in site.iterdir())


def test_every_page_opens_from_disk_and_is_accessible(site, page):  # noqa: F811
    for path in sorted(site.rglob("*.html")):
        open_page(page, site, str(path.relative_to(site)))
        assert page.locator("h1").count() == 1
        assert axe(page) == []
        assert overflow(page) <= 0


#: The lines that each mention of a name in a table takes: more than one where it is broken.
LINES = """name => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  for (let text; (text = texts.nextNode());) {
    const at = text.data.indexOf(name), range = document.createRange(), parent = text.parentElement;
    if (at < 0 || !parent.closest("td, th, dd, h1, h3") || !parent.checkVisibility()) continue;
    range.setStart(text, at);
    range.setEnd(text, at + name.length);
    found.push(new Set([...range.getClientRects()].map(each => each.top)).size);
  }
  return found;
}"""


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_no_name_of_a_partition_is_broken(tmp_path_factory, page, size):  # noqa: F811
    folder = tmp_path_factory.mktemp("names")
    made = report_data.year(folder, 3, 2, system="mycluster", partition="main")
    written = report_data.site(made, folder / "web")
    page.set_viewport_size(size)
    seen = 0
    for path in sorted(written.rglob("*.html")):
        open_page(page, written, str(path.relative_to(written)))
        lines = page.evaluate(LINES, "mycluster:main")
        assert {*lines} <= {1}, path
        seen += len(lines)
    assert seen > 5


def test_every_link_leads_somewhere(site):
    import re

    for path in site.rglob("*.html"):
        for address in re.findall(r'(?:href|src)="(?!data:)([^"#]*)', path.read_text()):
            assert not address or (path.parent / address).is_file(), f"{path}: {address}"
