"""What the parsers of all suites share: the line that is read, and errors that name it."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar

from acceptance.core.errors import ParseError

#: C's `%d` and `%.2f` of what is not negative: no zero in front, no other number of decimals.
INTEGER = re.compile(r"(0|[1-9]\d*)\Z", re.ASCII)
TWO_DECIMALS = re.compile(r"(0|[1-9]\d*)\.\d\d\Z", re.ASCII)
#: How far such a number may be off the value that was printed with so many decimals.
HALF = 0.005
#: The slack of floating point, as a share.
SLACK = 1e-6
_TOKEN = re.compile(r"\S+")


class LineReader:
    """Reads a text line by line; `number` (from 1) and `line` are where it stands.

    A parser derives from it and names in `benchmark` what the line belongs to. It raises each fault
    as `self.error(...)`: nothing is measured by an output that is not consistent.
    """

    #: The suite, as its errors call it, how it prints numbers, and a name in its headers.
    suite: ClassVar[str]
    decimal: ClassVar[re.Pattern[str]]
    name: ClassVar[re.Pattern[str]] = _TOKEN

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.number, self.line = 0, ""
        self.whole_lines = text.count("\n")
        self.benchmark = ""
        #: Where the columns end in the header; None: the column is one that begins the line.
        self.edges: list[int | None] = []
        if not text.strip():
            raise self.error("the output is empty")
        # What stands for it once the file was read (`core.text.read_bounded`).
        before, byte, after = text.partition("\ufffd")
        if byte:
            line = before.rpartition("\n")[2] + byte + after.partition("\n")[0]
            self.stand(before.count("\n") + 1, line)
            raise self.error("a byte that is no UTF-8")

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

    def require_whole_line(self) -> None:
        """Raise ParseError when the reader stands on a last line that is cut."""
        if self.number > self.whole_lines:
            self.require_last_line()

    def integer(self, token: str) -> int:
        """Read a whole number from zero on."""
        value = self._finite(token, negative=False)
        if not INTEGER.match(token):
            what = f"whole number as {self.suite} prints it" if value % 1 == 0 else "whole number"
            raise self.error(f"{token!r} is no {what}")
        return int(token)

    def real(
        self, token: str, *, negative: bool = False, form: re.Pattern[str] | None = None
    ) -> float:
        """Read a finite number in the form in which the suite prints it, `negative` ones or not."""
        value = self._finite(token, negative)
        if not (form or self.decimal).match(token):
            raise self.error(f"{token!r} is no number as {self.suite} prints it")
        return value

    def _finite(self, token: str, negative: bool) -> float:
        try:
            value = float(token)
        except ValueError:
            raise self.error(f"{token!r} is no number") from None
        if not math.isfinite(value):
            raise self.error(f"{token} is no finite number")
        if value < 0 and not negative:
            raise self.error(f"{token} is negative")
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
        ends = [match.end() for match in self.name.finditer(self.line)]
        self.edges = [*ends[len(ends) - len(columns) :]]
        return columns

    def fields(self, columns: Sequence[str], tokens: Sequence[str]) -> dict[str, str]:
        """Return column -> token of a row."""
        if len(tokens) != len(columns):
            raise self.error(f"{len(tokens)} fields where the header has {len(columns)}")
        return dict(zip(columns, tokens, strict=True))

    def check_edges(self, columns: Sequence[str]) -> None:
        """Raise ParseError unless each number of a row ends where its column does in the header.

        C's `%13.2f` fills the field from the right. A number that is too wide for its field leaves
        no blank before itself, so that the row has too few fields and does not come here.
        """
        tokens = [*_TOKEN.finditer(self.line)]
        of_columns = tokens[len(tokens) - len(columns) :]
        for column, token, edge in zip(columns, of_columns, self.edges, strict=True):
            if edge is None:
                if token.start():
                    raise self.error(f"{column} {token[0]} does not begin its line")
            elif token.end() != edge:
                raise self.error(
                    f"{column} {token[0]} ends {token.end()} characters from the left, its column "
                    f"{edge}: a character was lost or added"
                )

    def check_average(
        self, low: float, average: float, high: float, processes: int, slack: float = 2 * HALF
    ) -> None:
        """Raise ParseError unless this is an average of times from `low` to `high`, one each.

        Of P values one is the smallest and one the largest. The others are all as small or all as
        large at most, so that the average lies between ((P-1) low + high)/P and
        (low + (P-1) high)/P, which of two is the same. `processes` is 0 where P is not known;
        `slack` is what printing has rounded off, of the average and of these bounds.
        """
        if not low <= average <= high:
            raise self.error(
                f"min {low:.10g} <= average {average:.10g} <= max {high:.10g} does not hold"
            )
        step = (high - low) / processes if processes else 0.0
        ends = (low + step, high - step) if processes > 1 else (high, low)
        if processes and not ends[0] - slack <= average * (1 + SLACK):
            raise self._no_average(average, processes, low, high, f"not below {ends[0]:.2f}")
        if processes and not average * (1 - SLACK) <= ends[1] + slack:
            raise self._no_average(average, processes, low, high, f"not above {ends[1]:.2f}")

    def _no_average(
        self, average: float, processes: int, low: float, high: float, bound: str
    ) -> ParseError:
        return self.error(
            f"the average {average:.10g} is none of {processes} times of which the smallest is "
            f"{low:.10g} and the largest {high:.10g}: that is {bound}"
        )

    def check_bandwidth(self, bandwidth: float, low: float, high: float, what: str) -> None:
        """Compare a printed bandwidth with what other columns say of it, from `low` to `high`."""
        if not (low - HALF) * (1 - SLACK) <= bandwidth <= (high + HALF) * (1 + SLACK):
            middle = low if math.isinf(high) else (low + high) / 2
            raise self.error(
                f"the bandwidth {bandwidth:.2f} is not that of its line, {what}: {middle:.2f}"
            )

    def check_repetitions(self, before: float, repetitions: float) -> None:
        """Raise ParseError unless at most as many repetitions follow those of a smaller size."""
        if repetitions > before:
            raise self.error(f"{repetitions:g} repetitions, after {before:g} of a smaller message")

    def check_size(self, sizes: Sequence[int | None], size: int | None) -> None:
        """Raise ParseError unless a row of this message size may follow those of `sizes`."""
        if sizes and size is None:
            raise self.error("a second row in a table without message sizes")
        if sizes and size is not None and size <= (sizes[-1] or 0):
            raise self.error("message sizes do not grow")
