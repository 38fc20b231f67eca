"""Output of the program `patterns`, whose sources are in `checks/src/patterns`.

The form, of which each run prints one::

    # version: 1.0
    # pattern: aapc
    # mpi: Open MPI v4.1.4
    # mpi_standard: 3.1
    # ranks: 2
    # time: 5                        (and the other options in force)
    # table: phases
    # columns: size[B] phase[1] ... mean[MB/s]
    8 1 ... 31.0895
    # end

What stands before `# version` and after `# end` is not of the program. Numbers are printed with
`%d`, `%.3f` or `%g`, and none is negative. MB are 10^6 bytes.
"""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from acceptance.core.errors import ParseError
from acceptance.suites.output import LineReader

#: The version of the program's output that is read here.
VERSION = "1.0"
#: Table -> the columns that tell its rows apart: each combination of their values is a row.
KEYS: Mapping[str, tuple[str, ...]] = {
    "phases": ("size", "phase"),
    "distance": ("size", "distance"),
    "rates": ("pattern", "size", "method"),
    "summary": ("processes",),
    "pairs": ("rounds",),
}
#: The table of a run with `--schedule`: who sends to whom. No row stands there twice.
SCHEDULE = "schedule"
#: No loop is timed that is shorter, us, unless shorter ones were asked for (of a simulation).
SHORTEST_LOOP = 1000.0
#: What rounding to six digits, and a loop to 1 ns, make of a value at most.
ROUNDED = 1 + 1e-5

_HEADER = re.compile(r"# (?P<key>[a-z_-]+): (?P<value>.*)\Z", re.ASCII)
_COLUMN = re.compile(r"(?P<name>[a-z_]+)\[(?P<unit>[^\]\s]+)\]\Z", re.ASCII)
_NUMBER = re.compile(r"(0|[1-9]\d*)(\.\d+)?(e[+-]\d\d+)?\Z", re.ASCII)


@dataclass(frozen=True)
class Table:
    """A table by name; `units` has column -> unit (`1`: a number), each row a value a column."""

    name: str
    units: Mapping[str, str]
    rows: tuple[Mapping[str, float], ...]


@dataclass(frozen=True)
class Output:
    """A whole run: the lines of its header, and its tables by name."""

    header: Mapping[str, str]
    tables: Mapping[str, Table]


def parse(
    text: str, source: str = "stdout", *, pattern: str | None = None, ranks: int | None = None
) -> Output:
    """Read the complete output of one run; `pattern` and `ranks` are what was asked for, if known.

    Raises ParseError, with the line, for anything but a complete and consistent output.
    """
    return Reader(text, source, pattern, ranks).read()


class Reader(LineReader):
    """One reading of an output, and what of it was read so far."""

    suite = "patterns"
    decimal = _NUMBER

    def __init__(self, text: str, source: str, pattern: str | None, ranks: int | None) -> None:
        super().__init__(text, source)
        self.pattern, self.ranks = pattern, ranks
        self.benchmark = pattern or ""
        self.header_lines: dict[str, str] = {}
        self.tables: dict[str, Table] = {}
        self.table = ""  # of the table in which the reader is
        self.units: dict[str, str] = {}
        self.rows: list[Mapping[str, float]] = []
        self.keys: set[tuple[float, ...]] = set()
        self.ended = False

    def read(self) -> Output:
        """Read the whole text."""
        for line in self.lines():
            if line.startswith("# version: "):
                if self.header_lines:
                    raise self.error("a second output begins")
            elif self.ended or not self.header_lines:
                continue
            self.require_whole_line()
            self._read_line(line)
        if not self.header_lines:
            self.stand()
            raise self.error("this is no output of patterns: no line `# version: `")
        if not self.ended:
            raise self.error("the output ends without `# end`: the program did not finish")
        return Output(MappingProxyType(self.header_lines), MappingProxyType(self.tables))

    def _read_line(self, line: str) -> None:
        if line == "# end":
            self._end_table()
            if not self.tables:
                raise self.error("the output has no table")
            self.ended = True
        elif match := _HEADER.match(line):
            self._read_header(match["key"], match["value"])
        elif line.startswith("#"):
            raise self.error("no line of a header")
        else:
            self._read_row(line.split())

    def _read_header(self, key: str, value: str) -> None:
        if key == "table":
            self._end_table()
            self._begin_table(value)
        elif key == "columns" and self.table and not self.units:
            self.units = self._columns(value.split())
        elif self.table or self.tables:
            raise self.error("a line of the header within the tables")
        elif key in self.header_lines:
            raise self.error(f"{key} stands twice in the header")
        else:
            self._check_header(key, value)
            self.header_lines[key] = value

    def _check_header(self, key: str, value: str) -> None:
        if key == "version" and value != VERSION:
            raise self.error(f"an output of version {value}; {VERSION} is read")
        if key == "pattern" and self.pattern not in (None, value):
            raise self.error(f"ran the pattern {value} instead of {self.pattern}")
        if key == "ranks":
            ranks = self.integer(value)
            if self.ranks not in (None, ranks):
                raise self.error(f"ran with {ranks} ranks instead of {self.ranks}")

    def _begin_table(self, name: str) -> None:
        for key in ("version", "pattern", "ranks"):
            if key not in self.header_lines:
                raise self.error(f"the header has no {key}")
        if name in self.tables:
            raise self.error(f"the table {name} stands twice in the output")
        if name not in KEYS and name != SCHEDULE:
            raise self.error(f"an unknown table {name}")
        self.table = name

    def _columns(self, words: list[str]) -> dict[str, str]:
        units = {}
        for word in words:
            match = _COLUMN.match(word)
            if not match:
                raise self.error(f"{word!r} is no column with its unit in []")
            units[match["name"]] = match["unit"]
        self.header([*units], {name: name for name in units}, KEYS.get(self.table, ()))
        if len(units) != len(words):
            raise self.error("a column stands twice in the header")
        return units

    def _read_row(self, tokens: list[str]) -> None:
        if not self.units:
            raise self.error("a row without a table")
        fields = self.fields([*self.units], tokens)
        row = {column: self.real(token) for column, token in fields.items()}
        key = tuple(row[name] for name in KEYS.get(self.table, self.units))
        if key in self.keys:
            raise self.error("a second row of the same " + self._text(key))
        self._check_row(row)
        self.keys.add(key)
        self.rows.append(MappingProxyType(row))

    def _check_row(self, row: Mapping[str, float]) -> None:
        """Compare the values of a row with each other, as far as one follows from another."""
        shortest = min(SHORTEST_LOOP, 1000 * self.real(self.header_lines.get("time", "1")))
        if row.get("loop", shortest) < shortest:
            raise self.error(f"a timed loop of {row['loop']:g} us, under {shortest / 1000:g} ms")
        if "mean" in row and not row["min"] <= row["mean"] * ROUNDED:
            raise self.error("the mean is below the smallest value")
        if "mean" in row and not row["mean"] <= row["max"] * ROUNDED:
            raise self.error("the mean is above the largest value")
        if self.table == "distance":
            bandwidth = row["size"] / row["latency"] if row["latency"] else 0.0
            self._check_bounds("bandwidth", row["bandwidth"], bandwidth, bandwidth)
        if "loop" in row:
            # Both messages of each rank, or the one of a stream, in the shortest loop of any rank.
            messages = 2 * int(self.header_lines["ranks"]) if self.table == "rates" else 1
            name = {"rates": "rate", "distance": "bandwidth"}.get(self.table, "max")
            most = messages * row["size"] * row["repetitions"] / row["loop"]
            self._check_bounds(name, row[name], 0.0, most * (2 if name == "bandwidth" else 1))

    def _check_bounds(self, name: str, value: float, low: float, high: float) -> None:
        if not low / ROUNDED <= value <= high * ROUNDED:
            raise self.error(
                f"{name} {value:.10g} is not that of its line: {low:.10g} to {high:.10g}"
            )

    def _text(self, key: tuple[float, ...]) -> str:
        names = KEYS.get(self.table, self.units)
        return ", ".join(f"{name} {value:.10g}" for name, value in zip(names, key, strict=True))

    def _end_table(self) -> None:
        if not self.table:
            return
        if not self.rows:
            raise self.error(f"the table {self.table} has no rows")
        self._check_complete()
        units = MappingProxyType(self.units)
        self.tables[self.table] = Table(self.table, units, tuple(self.rows))
        self.table, self.units, self.rows, self.keys = "", {}, [], set()

    def _check_complete(self) -> None:
        if self.table not in KEYS:
            return
        values = (sorted(set(column)) for column in zip(*self.keys, strict=True))
        for key in itertools.product(*values):
            if key not in self.keys:
                raise self.error(f"the table {self.table} has no row of {self._text(key)}")


__all__ = ["KEYS", "SCHEDULE", "VERSION", "Output", "ParseError", "Table", "parse"]
