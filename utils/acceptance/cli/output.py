"""What subcommands share in what they print, and exit statuses beside those of a verdict."""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TextIO

import msgspec

from acceptance.core.text import printable
from acceptance.verdict import Status

#: Exit statuses beside those of `verdict.Status`: another campaign runs; 128 + the number of the
#: signal that stopped the command. What cannot be judged has the status of wrong arguments, 2.
BUSY, SIGNALLED = 3, 128
#: Bold green, red and yellow (ECMA-48, SGR).
_COLOURS = {Status.PASSED: "1;32", Status.FAILED: "1;31", Status.CANNOT_JUDGE: "1;33"}
_COLOURED = re.compile(rf"(\x1b\[(?:0|{'|'.join(_COLOURS.values())})m)")


class Shown:
    """A stream on which nothing is left that a terminal obeys, but for our own colours."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text with what names, reasons and outputs have of codes spelt out."""
        parts = _COLOURED.split(text) if self.stream.isatty() else [text]
        # Each second part is a code of `painter`.
        shown = (part if number % 2 else printable(part) for number, part in enumerate(parts))
        self.stream.write("".join(shown))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Return what else the stream can do."""
        return getattr(self.stream, name)


def emit(form: str, data: Callable[[], object], text: Callable[[], str]) -> None:
    """Print data, of records too, as JSON where `form` is `json`, else text for people."""
    print(json.dumps(msgspec.to_builtins(data()), indent=2) if form == "json" else text())


def painter() -> Callable[[Status, str], str]:
    """Return what colours the word of a status where the standard output is a terminal.

    Not where NO_COLOR is set to anything (https://no-color.org), nor on a terminal that is `dumb`.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return lambda _, word: word
    return lambda status, word: f"\x1b[{_COLOURS[status]}m{word}\x1b[0m"


def warn(options: argparse.Namespace, message: object) -> None:
    """Show a line on the standard error, with the name of the subcommand."""
    print(f"acceptance {options.command}: {message}", file=sys.stderr)
