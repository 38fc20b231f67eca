"""Recorded outputs of OMB in one file, one after the other: `==> iallgather <==` before each."""

import re
from collections.abc import Iterator

_MARK = re.compile(r"^==> (\w+) <==\n", re.MULTILINE)


def mark(program: str) -> str:
    """Return the line before the output of a program."""
    return f"==> {program} <==\n"


def runs(text: str) -> Iterator[tuple[str, str]]:
    """Yield program and output; a file without marks is one output, of which no program is told."""
    before, *parts = _MARK.split(text)
    if not parts:
        yield "", before
    yield from zip(parts[::2], parts[1::2], strict=True)
