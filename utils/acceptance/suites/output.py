"""What the parsers of all suites share: the line that is read, and errors that name it."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar

from acceptance.core.errors import ParseError

_INTEGER = re.compile(r"\d+\Z", re.ASCII)


class LineReader:
    """Reads a text line by line; `number` (from 1) and `line` are where it stands.

    A parser derives from it and names in `benchmark` what the line belongs to. It raises each fault
    as `self.error(...)`: nothing is measured by an output that is not consistent.
    """

    #: The suite, as its errors call it, and how it prints numbers.
    suite: ClassVar[str]
    decimal: ClassVar[re.Pattern[str]]

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.number, self.line = 0, ""
        self.benchmark = ""
        if not text.strip():
            raise self.error("the output is empty")

    def error(self, message: str) -> ParseError:
        """Return the fault of the line on which the reader stands."""
        return ParseError(
            self.source, message, benchmark=self.benchmark, number=self.number, line=self.line
        )

    def stand(self, number: int = 0, line: str = "") -> None:
        """Go to another line, 0: to none, so that an error names it."""
        self.number, self.line = number, line

    def lines(self) -> Iterator[str]:
        """Yield each line, and stand on it."""
        for number, line in enumerate(self.text.splitlines(), 1):
            self.stand(number, line)
            yield line

    def require_last_line(self) -> None:
        """Raise ParseError when the last line is cut."""
        if not self.text.endswith("\n"):
            raise self.error("the output ends in the middle of a line")

    def integer(self, token: str) -> int:
        """Read a whole number from zero on."""
        if not _INTEGER.match(token):
            self.real(token)  # has its own words for what is no number at all
            raise self.error(f"{token} is no whole number")
        return int(token)

    def real(self, token: str, *, negative: bool = False) -> float:
        """Read a finite number in the form in which the suite prints it, `negative` ones or not."""
        try:
            value = float(token)
        except ValueError:
            raise self.error(f"{token!r} is no number") from None
        if not math.isfinite(value):
            raise self.error(f"{token} is no finite number")
        if value < 0 and not negative:
            raise self.error(f"{token} is negative")
        if not self.decimal.match(token):
            raise self.error(f"{token!r} is no number as {self.suite} prints it")
        return value

    def header(
        self, names: Sequence[str], known: Mapping[str, str], required: Collection[str]
    ) -> tuple[str, ...]:
        """Return the columns that a header names; `known` is name -> column."""
        if unknown := [name for name in names if name not in known]:
            raise self.error(f"unknown column {unknown[0]!r} in the header")
        columns = tuple(known[name] for name in names)
        if len(set(columns)) != len(columns):
            raise self.error("a column stands twice in the header")
        if missing := [name for name in required if name not in columns]:
            raise self.error(f"the header has no column {', '.join(sorted(missing))}")
        return columns

    def fields(self, columns: Sequence[str], tokens: Sequence[str]) -> dict[str, str]:
        """Return column -> token of a row."""
        if len(tokens) != len(columns):
            raise self.error(f"{len(tokens)} fields where the header has {len(columns)}")
        return dict(zip(columns, tokens, strict=True))

    def check_size(self, sizes: Sequence[int | None], size: int | None) -> None:
        """Raise ParseError unless a row of this message size may follow those of `sizes`."""
        if sizes and size is None:
            raise self.error("a second row in a table without message sizes")
        if sizes and size is not None and size <= (sizes[-1] or 0):
            raise self.error("message sizes do not grow")
