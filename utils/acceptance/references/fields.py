"""Rows of a CSV file of `reference/`: read, their fields typed, or the fault with its line."""

import codecs
import csv
import io
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from acceptance.references.records import ReferenceFault, read_parameters, write_parameters

Record = TypeVar("Record")
#: Byte-order marks that editors write, of UTF-8 and UTF-16.
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
Row = dict[str, str]


def rows(
    path: Path,
    columns: tuple[str, ...],
    make: Callable[[Row, int], Record],
    optional: tuple[str, ...] = (),
) -> list[Record]:
    """Return what `make` makes of each row of a CSV file with exactly these columns.

    Those that are `optional` may follow. `make` takes the fields by column, and the line of the
    row; its ValueErrors become ReferenceFaults.
    """
    reader = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    records = []
    line = 1
    try:
        header = next(reader, None)
        if header == [*columns, *optional]:
            columns += optional
        refuse(header != [*columns], f"the header is not {','.join(columns)}")
        line = reader.line_num + 1
        for fields in reader:
            if len(fields) != len(columns):
                raise ValueError(f"{len(fields)} fields where the header has {len(columns)}")
            records.append(make(dict(zip(columns, fields, strict=True)), line))
            line = reader.line_num + 1
    except (csv.Error, ValueError) as err:
        raise ReferenceFault(str(err), where=str(path), number=line) from None
    return records


def text_of(path: Path) -> str:
    """Return the text of a file of `reference/`, which is UTF-8 without a byte-order mark.

    Raises ReferenceFault, with the line, for another encoding.
    """
    try:
        data = path.read_bytes()
    except OSError as err:
        raise ReferenceFault(f"cannot be read: {err}", where=str(path)) from None
    if data.startswith(_MARKS):
        message = "begins with a byte-order mark; save it as UTF-8 without one"
        raise ReferenceFault(message, where=str(path), number=1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        message = f"is not UTF-8: the byte 0x{data[err.start]:02x}; save it as UTF-8"
        raise ReferenceFault(message, where=str(path), number=line) from None


def refuse(wrong: bool, message: str) -> None:
    """Raise ValueError with this message where something is wrong."""
    if wrong:
        raise ValueError(message)


def known(what: str, word: str, words: Iterable[str]) -> None:
    """Raise ValueError for a word that is none of these."""
    refuse(word not in words, f"unknown {what} {word!r}; known: {', '.join(words)}")


def parameters(text: str, ranges: bool = False) -> dict[str, str]:
    """Return parameters, `ranges` among them; raise ValueError where their order is another one."""
    pairs = read_parameters(text, ranges)
    ordered = write_parameters(pairs)
    refuse(ordered != text, f"the parameters are not in order; write {ordered}")
    return pairs


def number(text: str) -> float:
    """Return a finite number, or raise ValueError."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"the value {text!r} is no number") from None
    refuse(not math.isfinite(value), f"the value {text!r} is not finite")
    return value
