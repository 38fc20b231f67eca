"""Words for people: counts with their nouns, lines without codes, lists that end, tables.

Names, reasons and outputs are of anybody. What makes them safe is here, a function an exit:
`printable` for terminals, XML and labels, `csv_text`, `markdown` and `code`; jinja2 escapes pages.
"""

import csv
import difflib
import io
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

#: Columns of a terminal that everybody has.
WIDTH = 100


def one_line(text: str) -> str:
    """Return text as one line: no line breaks, and no codes that a terminal obeys."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def printable(text: str, keep: str = "\n\t") -> str:
    """Return text in which nothing is left that a terminal obeys: `\\x1b`, `\\r`, `\\u202e`.

    What is to `keep` stays: by default it is a text of several lines.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode()
        for char in text
    )


def read_bounded(path: Path, limit: int, end: int = 0) -> tuple[str, str]:
    """Return the first `limit` bytes of a file as text, and what was left out, empty: nothing.

    Of a longer file the last `end` bytes follow, on lines of their own. Bytes that are no text are
    replaced: they are for a parser to refuse, with their line. Raises OSError.
    """
    with path.open("rb") as file:
        content, size = file.read(limit), os.fstat(file.fileno()).st_size
        size = max(size, len(content) + len(file.read(1)))
        if size > limit and end:
            file.seek(max(limit, size - end))
            content += b"\n" + file.read(end)
    text = content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return text, f"cut at {bytes_text(limit)} of {size} B" if size > limit else ""


def clipped(text: str, most: int) -> str:
    """Return text of at most some characters; what is longer ends with where it was cut."""
    if len(text) <= most:
        return text
    return f"{text[:most]}... (cut at {most} of {len(text)} characters)"


def wrapped(label: str, text: str, indent: int, most: int = 0, rest: str = " ...") -> list[str]:
    """Return lines of at most `WIDTH` columns: a label, and text that begins at column `indent`.

    Of more than `most` lines (0: any number) the last one ends with `rest`. A word that is longer
    than a line, a path most likely, stays whole.
    """
    lines = textwrap.wrap(
        one_line(text),
        WIDTH,
        initial_indent=f"{label:{indent}}",
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        max_lines=most or None,
        placeholder=rest,
    )
    return lines or [label]


def number_text(value: float) -> str:
    """Write a value with the digits that count, a large one without an exponent."""
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def natural(name: str) -> list[int | str]:
    """Return what sorts names as people count: n2 before n10."""
    # Digits and others take turns, so that equal places hold the same type.
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def plural(number: int, noun: str) -> str:
    """Count things: `1 case`, `3 cases`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def shortened(names: Iterable[str], most: int = 5) -> str:
    """List names, with how many were left out: `a, b, ... (7 more)`."""
    listed = list(names)
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f", ... ({rest} more)" if rest > 0 else "")


def legal_name(text: str) -> str:
    """Return text as a name that ReFrame takes: letters, digits, `-` and `_`."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in text)


def time_text(seconds: float) -> str:
    """Return a time (s) to two digits or so, in the unit that people would take."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


_UNITS = ("B", "KiB", "MiB", "GiB")


def bytes_text(size: int) -> str:
    """Return a number of bytes as people write it: 512 B, 4 KiB."""
    for unit in _UNITS[:-1]:
        if size < 1024 or size % 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} {_UNITS[-1]}"


def rounded_bytes(size: float) -> str:
    """Return a number of bytes with four digits: 3.906 GiB."""
    power = min((max(int(size), 1).bit_length() - 1) // 10, 3)
    return f"{size / 1024**power:.4g} {_UNITS[power]}"


#: Where a cell is parted: between words, and paths, names and lists of parameters between theirs.
_PARTS = re.compile(r"(\s+)|(?<=\w[;/,_=-])")
#: Columns between two cells of a line, and those that a cell has at least.
_GAP, _LEAST = 2, 8


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, width: int = WIDTH) -> str:
    """Return a plain table of at most `width` columns, in which nothing is cut.

    Where that does not suffice the widest columns give way, and their cells take several lines.
    Where too little would be left of a column each row has lines of its own, one a cell.
    """
    lines = [list(header), *([printable(str(cell), keep="") for cell in row] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    room = width - _GAP * (len(widths) - 1)
    limits = _limits(widths, room) if sum(widths) > room else widths
    if lines[1:] and any(most < min(of, _LEAST) for of, most in zip(widths, limits, strict=True)):
        names = max(map(len, header))
        blocks = [zip(lines[0], line, strict=True) for line in lines[1:]]
        texts = ["\n".join(f"{name:{names}}  {cell}" for name, cell in each) for each in blocks]
        return "\n\n".join(texts)
    lines.insert(1, ["-" * most for most in limits])
    shown = []
    for line in lines:
        cells = [_folded(cell, most) for cell, most in zip(line, limits, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            shown.append((" " * _GAP).join(map(str.ljust, parts, limits)).rstrip())
    return "\n".join(shown)


def bare_url(url: str) -> str:
    """Return a URL without what may be secret in it: user, password, query and fragment."""
    scheme, colon, rest = url.partition("://")
    place, slash, path = re.split(r"[?#]", rest)[0].partition("/")
    return f"{scheme}{colon}{place.rpartition('@')[2]}{slash}{path}"


#: What a spreadsheet takes for a formula at the beginning of a cell, and what keeps it from that
#: (https://owasp.org/www-community/attacks/CSV_Injection).
_FORMULA, _PLAIN = ("=", "+", "-", "@", "\t", "\r", *"\uff1d\uff0b\uff0d\uff20"), "'"


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV without codes, in which no text is one that a spreadsheet computes."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(map(_csv_cell, row) for row in rows)
    return file.getvalue()


def _csv_cell(value: object) -> object:
    if value is None or isinstance(value, int | float):
        return value
    text = printable(str(value))
    return _PLAIN + text if text.startswith(_FORMULA) else text


class Marked(str):
    """Text that is Markdown already, such as that of `code`."""

    __slots__ = ()


#: What Markdown (CommonMark 0.31, GitHub's tables) does not take for text, where it does not. Names
#: with `_` inside and cables, `leaf1[40]`, stay as they are.
_MARKS = re.compile(
    r"""[`*] | <(?=[A-Za-z/!?]) | &(?=\#?\w+;) | \](?=[(\[]) | ^\[ | ~(?=~) | (?<!\w)_ | _(?!\w)
    | ^(?:\#|>(?!=)|[+-](?=\s)) | \\(?=[!-/:-@\[-`{-~]|\Z)""",
    re.VERBOSE,
)
_TICKS = re.compile("`+")


def markdown(text: object) -> Marked:
    """Return any text as a line of Markdown that shows it: no mark, link or tag in it is one."""
    if isinstance(text, Marked):
        return text
    return Marked(_MARKS.sub(r"\\\g<0>", printable(" ".join(str(text).split()), keep="")))


def code(text: object) -> Marked:
    """Return any text as code in a line of Markdown, also in a table; what cannot be is text."""
    plain = printable(" ".join(str(text).split()), keep="")
    if not plain or "\\|" in plain:  # no table has that in code
        return markdown(plain)
    ticks = "`" * (max(map(len, _TICKS.findall(plain)), default=0) + 1)
    space = " " * (len(ticks) > 1)
    return Marked(f"{ticks}{space}{plain}{space}{ticks}")


def markdown_table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of Markdown, as GitHub and GitLab read it; a cell is one line of text."""
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join(f"| {' | '.join(map(_marked_cell, line))} |" for line in lines)


def _marked_cell(cell: object) -> str:
    return markdown(cell).replace("|", "\\|")


def _limits(widths: Sequence[int], room: int) -> list[int]:
    """Return how wide each column may be; the widest ones give way first, the last one of two.

    The first column names the lines: it gives way only where it takes more than two fifths.
    """
    first = min(widths[0], max(2 * room // 5, 1))
    limits = [first, *widths[1:]]
    while sum(limits) > room and max(limits[1:], default=0) > 1:
        widest = max(range(1, len(limits)), key=lambda number: (limits[number], number))
        limits[widest] -= 1
    return limits


def _folded(cell: str, most: int) -> list[str]:
    if len(cell) <= most:
        return [cell]
    folded = textwrap.TextWrapper(most, break_on_hyphens=False)
    folded.wordsep_simple_re = _PARTS
    return folded.wrap(cell) or [""]


def there_are(name: str, names: Iterable[str]) -> str:
    """Say what there is in place of a name that there is not, and which of it is like that name."""
    there = list(names)
    near = difflib.get_close_matches(name, there, n=2)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there are {', '.join(there) or 'none'}{meant}"
