"""The page of figures is what the kept figures make of it."""

import re

from acceptance.core import machine
from tests import tested
from tests.places import ROOT
from tests.tested import lines


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


def test_lines_are_counted_by_room_and_one_that_is_missing_is_not_rounded_away():
    def file(run, every):
        return {"summary": {"covered_lines": run, "num_statements": every}}

    report = {
        "files": {
            "utils/acceptance/core/text.py": file(9999, 10000),
            "utils/acceptance/report/pages/pairs.py": file(1, 4),
            "utils/acceptance/report/site.py": file(2, 4),
            "utils/acceptance/checks.py": file(1, 1),
            "checks/imb.py": file(3, 3),
        }
    }
    found = lines.rooms(report)
    assert found == {
        "(root)": (1, 1), "checks": (3, 3), "core": (9999, 10000), "report": (3, 8)
    }  # fmt: skip
    assert lines.share(*found["core"]) == "99.9 % of 10,000"
    assert lines.share(*found["checks"]) == "100.0 % of 3"
