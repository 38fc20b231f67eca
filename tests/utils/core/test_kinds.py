"""The table of kinds: all that the sources name have a row, and all rows are named there."""

import re

import pytest

from acceptance.core import kinds
from acceptance.core.findings import RECORDED_OTHERWISE, SHARED
from acceptance.references import SOURCES
from tests.places import ROOT

PATHS = [
    path
    for folder in ("utils/acceptance", "checks")
    for path in (ROOT / folder).rglob("*.py")
    if path != ROOT / "utils/acceptance/core/kinds.py"
]
TEXT = "".join(path.read_text(encoding="utf-8") for path in PATHS)
#: Where a kind is named: what fails a verdict, what is observed, what a protocol says.
NAMED = re.compile(r"""(?:\.(?:fail|cannot_judge)|\bFinding)\(\s*"([a-z-]+)\"""")


def test_each_kind_that_the_sources_name_has_a_row():
    named = {
        *NAMED.findall(TEXT),
        *kinds.HISTORY,
        SHARED,
        RECORDED_OTHERWISE,
        *(f"below-{source}" for source in SOURCES),
    }
    assert len(named) > 50
    assert named <= {*kinds.TABLE}


def test_each_row_is_named_somewhere():
    words = {*re.findall(r'"([a-z-]+)"', TEXT), *(f"below-{source}" for source in SOURCES)}
    assert {*kinds.TABLE} - words == set()


@pytest.mark.parametrize("kind", kinds.TABLE)
def test_each_row_says_how_bad_it_is_what_to_do_and_what_it_answers(kind):
    row = kinds.TABLE[kind]
    assert row.severity in kinds.SEVERITIES
    assert row.question in kinds.QUESTIONS
    assert 20 < len(row.remedy) < 400


def test_no_kind_is_in_two_parts_of_the_table():
    parts = [part for name, part in vars(kinds).items() if name.startswith("OF_")]
    assert sum(map(len, parts)) == len(kinds.TABLE)


def test_a_kind_of_a_later_release_is_a_case_that_failed():
    assert kinds.of("of-a-later-release") is kinds.TABLE["case-failed"]
