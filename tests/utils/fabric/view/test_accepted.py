"""The file of an accepted fabric: written and read back, and refused with the line."""

import textwrap

import pytest

from acceptance.core.errors import Fault, ParseError
from acceptance.fabric import view
from tests.places import ROOT
from tests.utils.fabric.view import faults as those

HEAD = "fabric 1\naccepted 2026-11-22T18:00:00+00:00 a test\n"
SWITCH = "switch 0x248a070300a00000 leaf01\n"
HOST = "host 0x98039b0300500000 node0001 mlx5_0\n"
NODE = "node node0001 0x98039b0300500000\n"
LINK = "link 0x248a070300a00000[1] 0x98039b0300500000[1] 4x HDR # node0001[1] - leaf01[1]\n"


def test_what_was_written_is_read_back(tmp_path):
    found, _ = those.made(those.small())
    path = view.accepted.path_of(tmp_path, "made")
    lines = view.accepted.body(found)
    assert view.accepted.take_over(path, lines, "2026-11-22T18:00:00+00:00", "a\ntest") == []
    known = view.accepted.read(path)
    assert known.history == (("2026-11-22T18:00:00+00:00", "a test"),)
    assert view.accepted.body(known.topology) == lines
    assert path.read_text() == HEAD + lines
    assert view.accepted.read(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 1, "the first line has to be 'fabric 1'"),
        ("fabric 2\n", 1, "the first line has to be"),
        (HEAD + SWITCH + "<<<<<<< HEAD\n", 4, "no line of a fabric"),
        (HEAD + SWITCH + SWITCH, 4, "stands twice"),
        (HEAD + "switch 0x248a leaf01\n", 3, "no line of a fabric"),
        (HEAD + SWITCH + LINK, 4, "0x98039b0300500000 has no line"),
        (HEAD + NODE, 3, "0x98039b0300500000 has no line"),
        (HEAD + SWITCH + HOST + LINK + LINK, 6, "has two links"),
        ("fabric 1\naccepted yesterday it was well\n", 2, "yesterday"),
        (HEAD + SWITCH + HOST + LINK.rstrip("\n"), 5, "middle of a line"),
        (HEAD, 0, "there is no device"),
        ("fabric 1\n" + SWITCH, 0, "no line says when it was accepted"),
    ],
)
def test_another_text_is_refused_with_its_line(text, line, why):
    with pytest.raises(ParseError, match=why) as caught:
        view.accepted.parse(text, "made.fabric")
    assert (caught.value.number, caught.value.where) == (line, "made.fabric")


@pytest.mark.parametrize("text", ["[]", "{}", "{", '{"version": 2}'])
def test_a_state_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "made.json").write_text(text)
    with pytest.raises(Fault, match="no state of a fabric"):
        view.errors.read_state(tmp_path / "made.json")


def test_the_example_of_the_readme_is_read():
    text = (ROOT / "reference/README.md").read_text()
    block = text.partition("    fabric 1\n")[2].partition("\n\n")[0]
    known = view.accepted.parse(textwrap.dedent(f"    fabric 1\n{block}\n"), "README.md")
    assert len(known.history) == 2
    assert view.accepted.body(known.topology) in textwrap.dedent(f"{block}\n")
