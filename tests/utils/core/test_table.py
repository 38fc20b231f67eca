"""`core/text.py`: a table is never wider than a terminal that everybody has."""

from acceptance.core.text import WIDTH, table


def test_a_table_that_fits_is_not_cut():
    text = table(("name", "value"), [("a", 1), ("b" * 90, None)])
    assert text.splitlines()[2:] == [f"a{' ' * 91}1", f"{'b' * 90}  None"]


def test_the_widest_columns_are_cut_and_a_line_says_how_to_see_all():
    rows = [("x", "y" * 200, "z" * 20), ("x", "y", "")]
    lines = table(("a", "b", "c"), rows, remedy="ask").splitlines()
    assert lines[-1] == f"cut to {WIDTH} columns: ask"
    assert max(map(len, lines)) == WIDTH
    assert lines[2] == f"x  {'y' * 72}...  {'z' * 20}"
    assert lines[3].split() == ["x", "y"]


def test_of_two_columns_that_are_as_wide_the_last_one_is_cut_first():
    lines = table(("a", "b", "c"), [("x", "y" * 50, "z" * 50)]).splitlines()
    assert lines[2] == f"x  {'y' * 45}...  {'z' * 44}..."


def test_the_first_column_names_the_lines_and_gives_way_last():
    lines = table(("a", "b"), [("x" * 30, "y" * 90)]).splitlines()
    assert lines[2] == f"{'x' * 30}  {'y' * 65}..."
    lines = table(("a", "b"), [("x" * 90, "y" * 90)]).splitlines()
    assert lines[2] == f"{'x' * 36}...  {'y' * 56}..."


def test_where_too_little_of_a_column_would_be_left_each_row_has_lines_of_its_own():
    header = tuple(f"column {number}" for number in range(10))
    text = table(header, [["long enough to be cut"] * 10, ["another one that is cut"] * 10])
    first, second = text.split("\n\n")
    assert first.splitlines() == [f"column {number}  long enough to be cut" for number in range(10)]
    assert "another one that is cut" in second


def test_many_columns_and_no_row():
    assert max(map(len, table(["column"] * 40, []).splitlines())) > WIDTH
    assert table(("a", "b"), []).splitlines()[0].split() == ["a", "b"]


def test_a_cell_is_one_line_without_codes():
    assert table(("a", "b"), [("1\n2\x1b[2J", "x")]).splitlines()[2] == r"1\n2\x1b[2J  x"
