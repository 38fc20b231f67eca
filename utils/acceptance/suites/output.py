"""What the parsers of the suites share: a line, a record of JSON or a row of a table is read.

A parser derives from one of the readers; their errors name the line. Nothing is measured by an
output that is not consistent.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, ClassVar

import msgspec

from acceptance.core.errors import ParseError
from acceptance.core.findings import Finding
from acceptance.core.records import Measured as Positive
from acceptance.core.records import Text, Whole

#: C's `%d` and `%.2f` of what is not negative: no zero in front, no other number of decimals.
INTEGER = re.compile(r"(0|[1-9]\d*)\Z", re.ASCII)
TWO_DECIMALS = re.compile(r"(0|[1-9]\d*)\.\d\d\Z", re.ASCII)
#: How far such a number may be off the value that was printed with so many decimals.
HALF = 0.005
#: The slack of floating point, as a share.
SLACK = 1e-6
_TOKEN = re.compile(r"\S+")
#: How far the clocks of two nodes of a job may differ: munge, by which nodes of a cluster know each
#: other, refuses what is older (its MUNGE_DEFAULT_TTL).
CLOCKS = timedelta(minutes=5)
#: When a job began and ended, by the clock and in the zone of its first node.
JobTime = tuple[datetime, datetime]
#: The version of the outputs of `patterns` that are read.
VERSION = "1.0"
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
#: In JSON: a text, a number, and one without decimals.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NUMBER = re.compile(r"[-+.\deE]*\d[-+.\deE]*")
_WHOLE = re.compile(r"-?\d+\Z", re.ASCII)


@dataclass(frozen=True)
class Range:
    """A number as it is printed, and the bounds between which that lies which it stands for."""

    value: float
    low: float
    high: float

    @classmethod
    def rounded(cls, value: float, half: float = HALF) -> "Range":
        """Return the range of a number that is off by half of its last digit at most."""
        return cls(value, value - half, value + half)

    def times(self, factor: float) -> "Range":
        """Return a multiple of this."""
        return Range(self.value * factor, self.low * factor, self.high * factor)

    def under(self, work: float) -> "Range":
        """Return work over this: no finite number over what is not above zero, but for no work."""
        bounds = (self.value, self.high, self.low)
        return Range(*(work / each if each > 0 else math.inf if work else 0.0 for each in bounds))

    def agrees(self, other: "Range", *, slack: float = 1e-9, same: bool = False) -> bool:
        """Tell whether both can stand for one number; `slack` (share) is that of floating point.

        `same`: both print the one number. Bounds of decimals are decimals: two of one number share
        half of the finer one's range at least, never only a bound. In another unit it may have been
        rounded before.
        """
        share = min(self.high, other.high) - max(self.low, other.low)
        if same:
            return share >= 0.25 * min(self.high - self.low, other.high - other.low)
        return share >= -slack * min(abs(self.low), abs(other.low))


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
        self.whole_lines = text.count("\n")
        self.benchmark = ""
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

    def contradiction(self, what: str, found: str, expected: str) -> Finding:
        """Return that the line on which the reader stands is of another job than the one that ran.

        It is no fault of the form: whoever knows the job says what it had asked for.
        """
        text = str(self.error(f"{what}: {found} instead of {expected}"))
        return Finding("of-another-job", text, what=what, found=found, expected=expected)

    def outside(self, told: datetime, job: JobTime) -> Iterator[Finding]:
        """Yield that a time, without a zone a local one, is not within that of the job.

        Local is the zone of the job's node, or UTC, as in a container without one.
        """
        begin, end = job
        zones = (told.tzinfo,) if told.tzinfo else (begin.tzinfo, timezone.utc)
        times = [told.replace(tzinfo=zone) for zone in zones]
        if not any(begin - CLOCKS <= time <= end + CLOCKS for time in times):
            expected = f"{begin:%F %T} to {end:%F %T}"
            yield self.contradiction("time", f"{times[0]:%F %T}", expected)

    def integer(self, token: str) -> int:
        """Read a whole number from zero on."""
        self._number(token, INTEGER, "whole number")
        return int(token)

    def real(self, token: str, *, negative: bool = False) -> float:
        """Read a finite number in the form in which the suite prints it, `negative` ones or not."""
        return self._number(token, self.decimal, "number", negative)

    def _number(
        self, token: str, form: re.Pattern[str], what: str, negative: bool = False
    ) -> float:
        try:
            value = float(token)
        except ValueError:
            raise self.error(f"{token!r} is no number") from None
        if not math.isfinite(value):
            raise self.error(f"{token} is no finite number")
        if value < 0 and not negative:
            raise self.error(f"{token} is negative")
        if not form.match(token):
            raise self.error(f"{token!r} is no {what} as {self.suite} prints it")
        return value

    def check_size(self, sizes: Sequence[int | None], size: int | None) -> None:
        """Raise ParseError unless a row of this message size may follow those of `sizes`."""
        if sizes and size is None:
            raise self.error("a second row in a table without message sizes")
        if sizes and size is not None and size <= (sizes[-1] or 0):
            raise self.error("message sizes do not grow")

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
        if not processes:
            return
        step = (high - low) / processes
        least, most = (low + step, high - step) if processes > 1 else (high, low)
        too_low = least - slack > average * (1 + SLACK)
        if too_low or average * (1 - SLACK) > most + slack:
            raise self.error(
                f"the average {average:.10g} is none of {processes} times of which the smallest is "
                f"{low:.10g} and the largest {high:.10g}: that is "
                + (f"not below {least:.2f}" if too_low else f"not above {most:.2f}")
            )

    def record(self, decoder: msgspec.json.Decoder[Any]) -> Any:
        """Return the record of the line on which the reader stands; raises ParseError."""
        self.require_whole_line()
        try:
            return decoder.decode(self.line)
        except msgspec.MsgspecError as err:
            raise self.error(f"no record of {self.suite}: {err}") from None

    def check_version(self, version: str) -> None:
        """Raise ParseError for an output of `patterns` in a version that nothing reads."""
        if version != VERSION:
            raise self.error(f"an output of version {version}; {VERSION} is read")

    def check_run(self, run: "Run", ranks: int | None) -> None:
        """Raise ParseError unless the pattern of `benchmark` ran on so many ranks; 0, None: any."""
        self.check_version(run.version)
        if run.pattern != (self.benchmark or run.pattern):
            raise self.error(f"ran the pattern {run.pattern} instead of {self.benchmark}")
        if run.ranks != (ranks or run.ranks):
            raise self.error(f"ran with {run.ranks} ranks instead of {ranks}")

    def check_numbers(self) -> None:
        """Raise ParseError unless C's `%ld` or `%.9g` prints each number of the line like this."""
        for token in _NUMBER.findall(_STRING.sub("", self.line)):
            if not _WHOLE.match(token) and token != f"{float(token):.9g}":
                raise self.error(f"{token!r} is no number as {self.suite} prints it")


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """A line of JSON; its kind is what it says under `type`.

    No field may be missing or unknown. Where a value has a unit, the name of its field ends in it:
    `_B`, `_us`, `_s`, and `_MBps` for 10^6 bytes a second. `KEYS` are the fields that tell it from
    others of its kind; without any there is one.
    """

    KEYS: ClassVar[tuple[str, ...]] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """Return the values of these fields."""
        return tuple(getattr(self, name) for name in self.KEYS)


#: How the first line of our own program begins.
BEGIN = '{"type":"run"'


class Run(Record, tag="run", frozen=True):
    """The first line of our own program, `patterns`."""

    version: Text
    pattern: Text
    ranks: Whole
    mpi: str
    mpi_standard: str


class Plan(Record, tag="plan", frozen=True):
    """What a rank takes of the memory, and how long the loops take."""

    memory_B: Count
    expected_s: Positive


class End(Record, tag="end", frozen=True):
    """The last line."""


@dataclass(frozen=True)
class TableRow:
    """A line of a table: the message size in bytes (None if it has none) and its values."""

    size: int | None
    values: dict[str, float]
    number: int


@dataclass
class Table:
    """The table of a benchmark; `processes` is 0 where the output does not tell them.

    `mode` is how it was run, where that is told and a benchmark has several.
    """

    benchmark: str
    number: int
    processes: int = 0
    mode: str = ""
    columns: tuple[str, ...] = ()
    rows: list[TableRow] = field(default_factory=list)


class Tables(LineReader):
    """A whole run, read: a header, then a row for each message size, in columns that C pads.

    A parser reads titles and what stands between them, and hands the others to `read_header` and
    `read_row`. `version` is that of the suite, `mpi_standard` empty where it is not told.
    """

    decimal = TWO_DECIMALS
    #: A name in a header, and name -> column. `size` and `repetitions` are called so in each suite.
    name: ClassVar[re.Pattern[str]] = _TOKEN
    names: ClassVar[Mapping[str, str]]
    #: Columns of whole numbers, and those in which some data cannot be zero.
    whole: ClassVar[Collection[str]] = ("repetitions",)
    above_zero: ClassVar[Collection[str]]
    #: How far a message rate may be off the value that was printed.
    half_rate: ClassVar[float] = HALF
    #: The columns of the least, the average and the largest time of the processes.
    times: ClassVar[tuple[str, str, str]]

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.tables: list[Table] = []
        self.version = self.mpi_standard = ""
        #: Where the columns end in the header; None: the column is one that begins the line.
        self.edges: list[int | None] = []

    def only_table(self, benchmark: str, processes: int) -> Table:
        """Return the one table of a run of one benchmark at one number of processes.

        Raises ParseError when the program ran something else, or more, than it was asked for.
        """
        return self.only_tables(benchmark, processes, 1)[0]

    def only_tables(self, benchmark: str, processes: int, count: int) -> list[Table]:
        """Return the tables of such a run, if they are so many."""
        self.benchmark = benchmark
        for table in self.tables:
            self.stand(table.number)
            if table.benchmark != benchmark:
                raise self.error(
                    f"the output is that of {table.benchmark}, which was not asked for"
                )
            if table.processes != processes:
                raise self.error(f"ran with {table.processes} processes instead of {processes}")
        self.stand()
        if len(self.tables) != count:
            wanted = "one" if count == 1 else str(count)
            raise self.error(f"{len(self.tables)} tables instead of {wanted}")
        return self.tables

    def require_columns(self, table: Table, names: Collection[str]) -> None:
        """Raise ParseError unless each row has a value in each of these columns."""
        for row in table.rows:
            if missing := [name for name in names if name not in row.values]:
                self.stand(row.number)
                raise self.error(f"no column for {', '.join(missing)}, which was asked for")

    def read_header(self, table: Table, header: str, required: Collection[str] = ()) -> None:
        """Take the columns of a table."""
        names = self.name.findall(header)
        if unknown := [name for name in names if name not in self.names]:
            raise self.error(f"unknown column {unknown[0]!r} in the header")
        if table.columns:
            raise self.error("a second header in one table")
        columns = tuple(self.names[name] for name in names)
        if len(set(columns)) != len(columns):
            raise self.error("a column stands twice in the header")
        if {self.times[0], self.times[2]} & {*columns}:
            required = {*required, *self.times}
        if missing := [name for name in required if name not in columns]:
            raise self.error(f"the header has no column {', '.join(sorted(missing))}")
        ends = [match.end() for match in self.name.finditer(self.line)]
        self.edges = [*ends[len(ends) - len(columns) :]]
        table.columns = columns

    def read_row(self, table: Table, tokens: Sequence[str]) -> None:
        """Read a row of a table, which it may follow."""
        self.require_whole_line()
        if len(tokens) != len(table.columns):
            raise self.error(f"{len(tokens)} fields where the header has {len(table.columns)}")
        fields = dict(zip(table.columns, tokens, strict=True))
        size = self.integer(fields.pop("size")) if "size" in fields else None
        values = {name: self.value(name, token) for name, token in fields.items()}
        self._check_edges(table.columns)
        self.add_row(table, size, values)

    def value(self, name: str, token: str) -> float:
        """Read a value of a column."""
        return self.integer(token) if name in self.whole else self.real(token)

    def add_row(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Add the row on which the reader stands, unless its values cannot be."""
        self.check_size([row.size for row in table.rows], size)
        low, average, high = (values.get(name) for name in self.times)
        if low is not None and average is not None and high is not None:
            # A process that has no time is left out, which makes the bounds narrower, never wider.
            self.check_average(low, average, high, table.processes)
        if (repetitions := values.get("repetitions")) is not None:
            if repetitions < 1:
                raise self.error("no repetitions")
            most = table.rows[-1].values["repetitions"] if table.rows else repetitions
            if repetitions > most:
                raise self.error(
                    f"{repetitions:g} repetitions, after {most:g} of a smaller message"
                )
        self.check_rate(table, size, values)
        for name, value in values.items():
            # An operation on no data may take no time; any other one takes some.
            if value == 0 and name in self.above_zero and size != 0:
                raise self.error(f"{name} is zero")
        table.rows.append(TableRow(size, values, self.number))

    def check_rate(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Compare the bandwidth with what other columns say of it, within the printed digits.

        A bandwidth below the two decimals (a byte in a millisecond, on a busy machine) is printed
        as zero: it is computed from the other columns then.
        """
        if size is None or "bandwidth" not in values:
            return
        if (rate := values.get("messages")) is not None:
            made = Range.rounded(rate, self.half_rate).times(size / 1e6)
            what = f"{size} bytes a message"
        elif (moved := self.moved(table, size)) is not None:
            time = values["t_max" if "t_max" in values else "t"]
            if moved and not time:
                return  # no time for some data, which is refused for itself
            made = Range.rounded(time).under(moved)
            what = f"{moved} bytes in {time:.2f} us"
        else:
            return
        bandwidth = values["bandwidth"]
        if not made.agrees(Range.rounded(bandwidth), slack=SLACK):
            raise self.error(
                f"the bandwidth {bandwidth:.2f} is not that of its line, {what}: {made.value:.2f}"
            )
        values["bandwidth"] = bandwidth or made.value

    def moved(self, table: Table, size: int) -> int | None:
        """Return the bytes that a bandwidth counts for each time; None: its line has no such."""
        return None

    def _check_edges(self, columns: Sequence[str]) -> None:
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
