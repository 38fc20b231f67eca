"""Python literals with comments, laid out as ruff formats them."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH = 100


@dataclass(frozen=True)
class Noted:
    """A value of a dictionary, or an item of a list, with comments above it."""

    value: object
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """An expression as it is."""

    text: str


def comment(text: str, indent: int = 0, lead: str = "# ") -> list[str]:
    """Return the lines of a comment, no longer than a line may be unless a word is."""
    lead = " " * indent + lead
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=lead,
        subsequent_indent=lead,
        break_long_words=False,
        break_on_hyphens=False,
    )


def literal(value: object, indent: int = 0, before: int = 0) -> str:
    """Return the text of a literal whose first line begins after `before` columns.

    Dictionaries have an entry a line; lists are one line if that fits.
    """
    if isinstance(value, Code):
        return value.text
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return _many("{", "}", [(_quoted(str(k)) + ": ", v) for k, v in value.items()], indent)
    if isinstance(value, Sequence):
        if not any(isinstance(item, Noted | Mapping) for item in value):
            line = "[" + ", ".join(literal(item) for item in value) + "]"
            # A comma may follow.
            if "\n" not in line and before + len(line) < WIDTH:
                return line
        return _many("[", "]", [("", item) for item in value], indent)
    return repr(value)


def _many(opening: str, closing: str, items: list[tuple[str, object]], indent: int) -> str:
    if not items:
        return opening + closing
    inner = indent + 4
    lines = [opening]
    for lead, item in items:
        value = item.value if isinstance(item, Noted) else item
        for note in item.notes if isinstance(item, Noted) else ():
            lines += comment(note, inner)
        lines.append(" " * inner + lead + literal(value, inner, inner + len(lead)) + ",")
    return "\n".join([*lines, " " * indent + closing])


def _quoted(text: str) -> str:
    if "\\" in text and text.isprintable() and not text.endswith("\\") and '"' not in text:
        return f'r"{text}"'
    plain = repr(text)
    if plain.startswith("'") and '"' not in text:
        return '"' + plain[1:-1].replace("\\'", "'") + '"'
    return plain
