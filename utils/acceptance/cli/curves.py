"""A curve on some lines of a terminal, with its axes; in braille, or plain without UTF-8."""

import argparse
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acceptance.core.text import WIDTH

#: Lines of a curve, the columns that its numbers have, and the fewest of the curve itself.
HEIGHT, _LABEL, _FEWEST = 7, 9, 16
#: Dots of a braille cell (Unicode 2800): bit of column and row.
_BRAILLE = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


@dataclass(frozen=True)
class Signs:
    """What a terminal shows: dots of a cell across and down, the band, a line, and the axes."""

    across: int
    down: int
    band: str
    line: str
    corner: str
    side: str
    floor: str


UTF8 = Signs(2, 4, "░", "╌", "└", "│", "─")
PLAIN = Signs(1, 1, ":", "-", "+", "|", "-")


@dataclass(frozen=True)
class Curve:
    """Numbers to be drawn: `x` are places, of which `left` and `right` name the ends.

    `low` and `high` are a band around `line`, or empty.
    """

    title: str
    x: Sequence[float]
    y: Sequence[float]
    left: str
    right: str
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    line: float | None = None


def wanted(options: argparse.Namespace) -> bool:
    """Tell whether curves are drawn: on a terminal, and where they are asked for."""
    return bool(options.plot) or sys.stdout.isatty()


def signs() -> Signs:
    """Return what the standard output can show."""
    return UTF8 if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else PLAIN


def columns() -> int:
    """Return the columns that a curve may take."""
    return min(shutil.get_terminal_size().columns, WIDTH)


def draw(curve: Curve, width: int, sign: Signs, height: int = HEIGHT) -> list[str]:
    """Return the lines of a curve: its title, `height` lines, the axis and its ends."""
    inner = max(width - _LABEL - 2, _FEWEST)
    values = [*curve.y, *curve.low, *curve.high, *([] if curve.line is None else [curve.line])]
    least, most = min(values), max(values)
    if least == most:
        least, most = least - abs(least or 1) / 100, most + abs(most or 1) / 100
    first, last = min(curve.x), max(curve.x)

    def across(x: float) -> float:
        return 0.5 if first == last else (x - first) / (last - first)

    def down(y: float) -> float:
        return (most - y) / (most - least)

    cells = _background(curve, [across(x) for x in curve.x], down, (inner, height), sign)
    dots = _dots(
        [(across(x), down(y)) for x, y in zip(curve.x, curve.y, strict=True)],
        inner * sign.across,
        height * sign.down,
    )
    for (column, row), bits in _cells(dots, sign).items():
        cells[row][column] = chr(0x2800 + bits) if sign.across > 1 else "*"
    labels = {0: f"{most:.4g}", height - 1: f"{least:.4g}"}
    if curve.line is not None and (row := round(down(curve.line) * (height - 1))) not in labels:
        labels[row] = f"{curve.line:.4g}"
    lines = [curve.title]
    for row, line in enumerate(cells):
        lines.append(f"{labels.get(row, ''):>{_LABEL}} {sign.side}{''.join(line)}".rstrip())
    lines.append(f"{'':{_LABEL}} {sign.corner}{sign.floor * inner}")
    room = max(inner - len(curve.left) - len(curve.right), 1)
    lines.append(f"{'':{_LABEL}}  {curve.left}{'' if first == last else ' ' * room + curve.right}")
    return lines


def _background(
    curve: Curve,
    places: list[float],
    down: Callable[[float], float],
    shape: tuple[int, int],
    sign: Signs,
) -> list[list[str]]:
    """Return the cells with the band and the line, before the curve is drawn."""
    inner, height = shape
    cells = [[" "] * inner for _ in range(height)]
    for column in range(inner):
        at = column / max(inner - 1, 1)
        if curve.low and curve.high:
            top = round(down(_between(places, curve.high, at)) * (height - 1))
            bottom = round(down(_between(places, curve.low, at)) * (height - 1))
            for row in range(top, bottom + 1):
                cells[row][column] = sign.band
        if curve.line is not None:
            cells[round(down(curve.line) * (height - 1))][column] = sign.line
    return cells


def _between(places: list[float], values: Sequence[float], at: float) -> float:
    """Return the value at a place, by the line between the two values beside it."""
    for number in range(1, len(places)):
        if at <= places[number]:
            span = places[number] - places[number - 1]
            part = (at - places[number - 1]) / span if span else 1.0
            return values[number - 1] + part * (values[number] - values[number - 1])
    return values[-1]


def _dots(points: list[tuple[float, float]], width: int, height: int) -> set[tuple[int, int]]:
    """Return the dots of lines between points, each from 0 to 1."""
    dots: set[tuple[int, int]] = set()
    before = points[0]
    for point in points:
        steps = max(
            math.ceil(abs(point[0] - before[0]) * width),
            math.ceil(abs(point[1] - before[1]) * height),
            1,
        )
        for step in range(steps + 1):
            x, y = (a + (b - a) * step / steps for a, b in zip(before, point, strict=True))
            dots.add((round(x * (width - 1)), round(y * (height - 1))))
        before = point
    return dots


def _cells(dots: set[tuple[int, int]], sign: Signs) -> dict[tuple[int, int], int]:
    """Return the cells that have dots, and which of theirs these are."""
    found: dict[tuple[int, int], int] = {}
    for x, y in dots:
        cell = x // sign.across, y // sign.down
        bit = _BRAILLE[x % sign.across][y % sign.down]
        found[cell] = found.get(cell, 0) | bit
    return found
