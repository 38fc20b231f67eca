"""The page of figures is what the kept figures make of it."""

import re

from acceptance.core import machine
from tests import tested
from tests.places import ROOT


def test_the_page_shows_the_kept_figures():
    page = tested.PAGE.read_text(encoding="utf-8")
    assert page.count(tested.START) == page.count(tested.END) == 1
    assert tested.written(page) == page, "write it again: python -m tests.tested"


def test_each_command_of_the_page_is_there():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"^\| `(.+?)` \|", tested.table(), re.MULTILINE):
        kind, name = command.split()[:2]
        assert kind == "make", command
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), command


def test_figures_are_kept_with_their_commit_and_shown_in_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tested, "HERE", tmp_path)
    tested.record("cables", "make cables", {"cables pulled": "3 of 4", "found": "3"})
    tested.record("faults", "make faults", {"faults": "20"})
    (tmp_path / "faults.json").read_text().index(machine.commit(ROOT))
    _, _, *rows = tested.table().splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == ["`make cables`", "", "`make faults`"]
    assert [row[2:] for row in cells] == [
        ["cables pulled", "3 of 4"],
        ["found", "3"],
        ["faults", "20"],
    ]
