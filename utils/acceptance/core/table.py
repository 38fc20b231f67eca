"""Tables of plain text."""

from collections.abc import Iterable, Sequence

from acceptance.core.text import WIDTH, printable

#: Columns between two cells of a line, and what ends a cell that is cut.
_GAP, _CUT = 2, "..."


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    width: int = WIDTH,
    remedy: str = "--format json shows all",
) -> str:
    """Return a plain table of at most `width` columns.

    Where that does not suffice the widest columns are cut, and a line below the table says how to
    see all of it: `remedy`.
    """
    lines = [list(header), *([printable(str(cell), keep="") for cell in row] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    room = width - _GAP * (len(widths) - 1)
    limits = _limits(widths, room) if sum(widths) > room else widths
    cut = [
        [_shortened(cell, most) for cell, most in zip(line, limits, strict=True)] for line in lines
    ]
    cut.insert(1, ["-" * most for most in limits])
    text = "\n".join((" " * _GAP).join(map(str.ljust, line, limits)).rstrip() for line in cut)
    return text if limits == widths else f"{text}\ncut to {width} columns: {remedy}"


def _limits(widths: Sequence[int], room: int) -> list[int]:
    """Return how wide each column may be; the widest ones give way first, the last one of two.

    The first column names the lines: it gives way only where it takes more than a third.
    """
    first = min(widths[0], max(room // 3, len(_CUT)))
    limits = [first, *widths[1:]]
    while sum(limits) > room and max(limits[1:], default=0) > len(_CUT):
        widest = max(range(1, len(limits)), key=lambda number: (limits[number], number))
        limits[widest] -= 1
    return limits


def _shortened(cell: str, most: int) -> str:
    return cell if len(cell) <= most else cell[: most - len(_CUT)] + _CUT
