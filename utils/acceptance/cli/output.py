"""What subcommands share in what they print, and exit statuses beside those of a verdict."""

import argparse
import csv
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from acceptance.core.paths import named
from acceptance.core.text import printable, table
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


#: Columns of a table: the name of a field for each heading, or what makes a cell of a record.
Columns = Mapping[str, str | Callable[[Any], object]]


def emit(
    options: argparse.Namespace,
    records: Sequence[object],
    columns: Columns,
    lines: Iterable[str] = (),
    data: object = None,
    above: Iterable[str] = (),
    page: bool = False,
) -> None:
    """Print records as `--format` says: a table between lines, CSV of its columns, or JSON.

    Records are Structs, dataclasses or mappings. JSON has all of their fields, or `data`, where
    that is more than a list of records. Of a `page` people see the lines alone. Commands in what
    they see name the configuration that this one was told.
    """
    if options.format == "json":
        # A path is its text, and a number that there is not is null.
        text = msgspec.json.encode(records if data is None else data, enc_hook=str)
        print(json.dumps(msgspec.json.decode(text), indent=2))
        return
    rows = [[_value(record, column) for column in columns.values()] for record in records]
    if options.format == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([[*columns], *rows])
        return
    cells = [["-" if value in (None, "") else value for value in row] for row in rows]
    shown = [table([*columns], cells, width=columns_of_terminal())] if rows and not page else []
    print(named("\n".join([*above, *shown, *lines]), options.workspace.named_by))


def columns_of_terminal() -> int:
    """Return how wide a table may be: as COLUMNS says, or the terminal; of a file any width."""
    return shutil.get_terminal_size((sys.maxsize, 24)).columns


def _value(record: object, column: str | Callable[[Any], object]) -> object:
    if callable(column):
        return column(record)
    value = record[column] if isinstance(record, Mapping) else getattr(record, column)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def near(path: Path) -> str:
    """Return a path as seen from here, where it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def painter() -> Callable[[Status, str], str]:
    """Return what colours the word of a status where the standard output is a terminal.

    Not where NO_COLOR is set to anything (https://no-color.org), nor on a terminal that is `dumb`.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return lambda _, word: word
    return lambda status, word: f"\x1b[{_COLOURS[status]}m{word}\x1b[0m"


def warn(options: argparse.Namespace, message: object) -> None:
    """Show a line on the standard error, with the words of the subcommand."""
    text = named(str(message), options.workspace.named_by) if "workspace" in options else message
    print(f"acceptance {words(options)}: {text}", file=sys.stderr)


def words(options: argparse.Namespace) -> str:
    """Return the words of the subcommand: `gate`, `alerts ack`."""
    return " ".join(filter(None, (options.command, getattr(options, "verb", None))))
