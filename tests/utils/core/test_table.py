"""`core/text.py`: a table is never wider than a terminal that everybody has."""

import pytest

from acceptance.core.text import WIDTH, table, there_are


def test_a_table_that_fits_has_a_line_for_each_row():
    text = table(("name", "value"), [("a", 1), ("b" * 90, None)])
    assert text.splitlines()[2:] == [f"a{' ' * 91}1", f"{'b' * 90}  None"]


def test_the_widest_columns_give_way_and_nothing_is_cut():
    rows = [("x", "y" * 200, "z" * 20), ("x", "y", "")]
    lines = table(("a", "b", "c"), rows).splitlines()
    assert max(map(len, lines)) == WIDTH
    assert lines[2] == f"x  {'y' * 75}  {'z' * 20}"
    assert lines[3:5] == [f"   {'y' * 75}", f"   {'y' * 50}"]
    assert lines[5].split() == ["x", "y"]


def test_a_cell_of_several_lines_is_parted_between_words():
    lines = table(("a", "b"), [("x", "one-word " * 20)], width=32).splitlines()
    assert lines[2:4] == ["x  one-word one-word one-word", "   one-word one-word one-word"]


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("np=2;nodes=2;placement=inter-node", ["np=2;nodes=2;", "placement=inter-", "node"]),
        ("/a/folder/and/a_name", ["/a/folder/and/a_", "name"]),
    ],
)
def test_a_long_word_is_parted_where_it_has_parts(cell, parts):
    lines = table(("a", "b"), [("x", cell)], width=19).splitlines()[2:]
    assert [line[3:] for line in lines] == parts


def test_of_two_columns_that_are_as_wide_the_last_one_gives_way_first():
    lines = table(("a", "b", "c"), [("x", "y" * 50, "z" * 50)]).splitlines()
    assert lines[2:] == [f"x  {'y' * 48}  {'z' * 47}", f"   {'y' * 2}{' ' * 48}{'z' * 3}"]


def test_the_first_column_names_the_lines_and_gives_way_last():
    lines = table(("a", "b"), [("x" * 30, "y" * 90)]).splitlines()
    assert lines[2:] == [f"{'x' * 30}  {'y' * 68}", f"{' ' * 32}{'y' * 22}"]
    lines = table(("a", "b"), [("x" * 90, "y" * 90)]).splitlines()
    assert lines[2] == f"{'x' * 39}  {'y' * 59}"


def test_where_too_little_of_a_column_would_be_left_each_row_has_lines_of_its_own():
    header = tuple(f"column {number}" for number in range(10))
    text = table(header, [["long enough to be parted"] * 10, ["another one like it"] * 10])
    first, second = text.split("\n\n")
    assert first.splitlines() == [
        f"column {number}  long enough to be parted" for number in range(10)
    ]
    assert "another one like it" in second


def test_many_columns_and_no_row():
    assert max(map(len, table(["column"] * 40, []).splitlines())) > WIDTH
    assert table(("a", "b"), []).splitlines()[0].split() == ["a", "b"]


def test_a_cell_is_one_line_without_codes():
    assert table(("a", "b"), [("1\n2\x1b[2J", "x")]).splitlines()[2] == r"1\n2\x1b[2J  x"


def test_a_name_that_is_near_is_suggested():
    assert there_are("mien", ["their", "mine"]) == "there are their, mine; did you mean mine?"
    assert there_are("xyzzy", ["mine"]) == "there are mine"
    assert there_are("xyzzy", []) == "there are none"
