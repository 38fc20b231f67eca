"""Curves of a terminal: where they are drawn, what their axes say, and without UTF-8."""

import pytest

from acceptance.cli.curves import HEIGHT, PLAIN, UTF8, Curve, draw
from tests.made import nights
from tests.terminal import on_terminal

RISING = Curve("latency (us) over days", [0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], "a", "b")


def test_a_curve_rises_from_the_lower_left_and_its_axes_say_what_it_spans():
    title, *lines, floor, ends = draw(RISING, 40, PLAIN)
    assert title == RISING.title
    assert len(lines) == HEIGHT
    assert (lines[0].split("|")[0].strip(), lines[-1].split("|")[0].strip()) == ("4", "1")
    assert lines[0].endswith("*")
    assert "|*" in lines[-1]
    assert floor.strip() == "+" + "-" * 29
    assert (ends.split(), len(ends)) == (["a", "b"], 40)
    assert all(line.isascii() for line in lines)


def test_braille_has_eight_dots_a_cell():
    _, *lines, _, _ = draw(RISING, 40, UTF8)
    shown = [char for line in lines for char in line.split("│")[1] if char != " "]
    assert all(0x2800 < ord(char) < 0x2900 for char in shown)
    assert len(shown) > HEIGHT


@pytest.mark.parametrize("sign", [UTF8, PLAIN])
def test_a_band_lies_around_its_line_and_what_is_outside_is_beside_it(sign):
    curve = Curve("B/A", [0.0, 1.0], [1.3, 1.3], "8 B", "4 MiB", [0.95, 0.95], [1.05, 1.05], 1.0)
    _, *lines, _, _ = draw(curve, 40, sign)
    assert lines[0].strip().startswith("1.3")
    assert sign.band not in lines[0]
    assert any("1 " in line and sign.line * 20 in line for line in lines)
    assert any(sign.band * 20 in line for line in lines[HEIGHT // 2 :])


@pytest.mark.parametrize("values", [[2.5], [2.5, 2.5, 2.5]])
def test_one_value_and_equal_values_are_drawn(values):
    curve = Curve("x", [*map(float, range(len(values)))], values, "a", "b")
    assert sum("*" in line for line in draw(curve, 30, PLAIN)) == 1


def shown(site, path, *words, **variables):
    command = ["acceptance", *words, "--db", str(path)]
    return on_terminal(command, site.variables(COLUMNS="80", TERM="xterm", **variables))


def test_they_are_drawn_on_a_terminal_and_elsewhere_where_asked(site, tmp_path):
    path = tmp_path / "results.db"
    nights(path, 20, lambda night, case, _: 1.3 if (night, case) == (19, 1) else 1.0, cases=3)
    _, output = shown(site, path, "history", "b1/latency_8", LC_ALL="C.UTF-8")
    assert "latency_8 (us) over time" in output
    assert "└──" in output
    status, output = shown(site, path, "compare", "last-1", "last", PYTHONIOENCODING="ascii")
    assert status == 1
    # Two metrics of the one case that is worse, out of two of each of three.
    assert output.count("B/A over message size") == 2
    assert "... 4 more curves: --plot draws them" in output
    assert output.isascii()
    assert max(map(len, output.splitlines())) <= 100
    for words, count in (((), 0), (("--plot",), 6)):
        result = site.acceptance("compare", "last-1", "last", *words, "--db", path)
        assert result.output.count("B/A over message size") == count
