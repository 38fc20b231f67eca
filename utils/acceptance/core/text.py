"""Words for people: counts with their nouns, lines without codes, lists that end."""

import textwrap
from collections.abc import Iterable

#: Columns of a terminal that everybody has.
WIDTH = 100


def one_line(text: str) -> str:
    """Return text as one line: no line breaks, and no codes that a terminal obeys."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


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


def bytes_text(size: int) -> str:
    """Return a number of bytes as people write it: 512 B, 4 KiB."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024 or size % 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"
