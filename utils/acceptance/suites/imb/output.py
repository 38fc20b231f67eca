"""Output of the Intel MPI Benchmarks (IMB) 2018 to 2021.

The form, of which each run of a benchmark prints one table::

    #    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
    # Benchmarking Sendrecv
    # #processes = 2
    # ( 2 additional processes waiting in MPI_Barrier)
           #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
                0           50         0.29         0.29         0.29         0.00
                1           50         0.18         0.19         0.18        10.73

    # All processes entering MPI_Finalize

Times are in us; Mbytes are 10^6 bytes since IMB 2018 (2^20 up to IMB 4, which this parser
refuses). Numbers are printed with `%13d`, `%13.2f` and the message rate with `%13.0f`, names in the
header with `%13s`. Sources: outputs of IMB 2021.7 and 2021.11, the IMB user guide, and of 2018.0 to
2021.11 the functions IMB_edit_format, IMB_display_times and IMB_calculate_times (IMB_output.c).
"""

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise

from acceptance.core.errors import ParseError
from acceptance.suites.imb.benchmarks import BENCHMARKS
from acceptance.suites.output import HALF, INTEGER, TWO_DECIMALS, LineReader

#: Header token -> name of the column. Barrier has no `#bytes`.
COLUMNS = {
    "#bytes": "bytes",
    "#repetitions": "repetitions",
    "t[usec]": "t",
    "t_min[usec]": "t_min",
    "t_max[usec]": "t_max",
    "t_avg[usec]": "t_avg",
    "Mbytes/sec": "mbytes",
    "Msg/sec": "messages",
    "t_ovrl[usec]": "t_ovrl",
    "t_pure[usec]": "t_pure",
    "t_CPU[usec]": "t_cpu",
    "overlap[%]": "overlap",
    "defects": "defects",
}

_VERSION = re.compile(r"#\s+Intel ?\(R\) MPI Benchmarks? (?:Suite )?V?(?P<version>[\w. ]+?), ")
_BENCHMARK = re.compile(r"# Benchmarking (?P<name>\S+)\s*\Z")
_PROCESSES = re.compile(r"# #processes = (?P<n>\d+)")
_MODE = re.compile(r"#\s+MODE: (?P<mode>\S+)")
_MPI = re.compile(r"# MPI Version\s+: (?P<version>\S+)")
#: They come together or not at all.
_TIMES = {"t_min", "t_avg", "t_max"}
#: What IMB writes instead of a row's values where it gives a message size up -> what that means.
#: Source: IMB 2021.7, src_c/IMB_output.c, the cases of `sample_failure`.
_GIVEN_UP = {
    "time-out.;": "IMB gave this size up: its time limit (-time) was over",
    "out-of-mem.;": "IMB gave this size up: it needs more memory than its limit (-mem)",
    "int-overflow.;": "IMB gave this size up: the bytes of all ranks are more than an int holds",
}
#: A time is far off another one from this factor on, and near to it up to that one.
_FAR, _NEAR = 4.0, 1.25
_FINISHED = "# All processes entering MPI_Finalize"
_FIRST_DECIMAL_YEAR = 2018


@dataclass(frozen=True)
class TableRow:
    """One line of a table: the message size in bytes (None for Barrier) and its values."""

    size: int | None
    repetitions: int
    values: dict[str, float]
    number: int


@dataclass
class Table:
    """The table of one benchmark at one number of processes."""

    benchmark: str
    number: int
    processes: int = 0
    mode: str = ""
    columns: tuple[str, ...] = ()
    rows: list[TableRow] = field(default_factory=list)


@dataclass(frozen=True)
class Output:
    """A whole run: IMB's version, the version of the MPI standard, and the tables."""

    version: str
    mpi_standard: str
    tables: tuple[Table, ...]


def parse(text: str, source: str = "stdout") -> Output:
    """Read the complete output of one run of an IMB program.

    Raises ParseError, with the line, for anything but a complete and consistent output.
    """
    return Reader(text, source).read()


def only_table(output: Output, benchmark: str, processes: int, source: str = "stdout") -> Table:
    """Return the one table of a run of one benchmark at one number of processes.

    Raises ParseError when the program ran something else, or more, than it was asked for.
    """
    for table in output.tables:
        if table.benchmark != benchmark:
            message = f"the output holds the benchmark {table.benchmark}, which was not asked for"
        elif table.processes != processes:
            message = f"ran with {table.processes} processes instead of {processes}"
        else:
            continue
        raise ParseError(source, message, benchmark=benchmark, number=table.number)
    if len(output.tables) != 1:
        raise ParseError(source, f"{len(output.tables)} tables instead of one", benchmark=benchmark)
    return output.tables[0]


class Reader(LineReader):
    """One reading of an output of IMB, and the tables so far."""

    suite = "IMB"
    decimal = TWO_DECIMALS

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.tables: list[Table] = []
        self.version = self.mpi = ""
        self.finished = False

    def read(self) -> Output:
        """Read the whole text."""
        for line in self.lines():
            self.read_line(line, line.strip())
        last = self.number, self.line
        if not self.version:
            first = next(line for line in self.text.splitlines() if line.strip())
            self.benchmark = ""
            self.stand(0, first)
            raise self.error("this is no output of IMB, or not its beginning")
        for table in self.tables:
            self.benchmark = table.benchmark
            self.check_order(table)
            if not table.rows:
                self.stand(table.number)
                raise self.error("a table without rows")
        self.stand(*last)
        if not self.finished:
            raise self.error(f"the output ends in the middle, without {_FINISHED!r}")
        if not self.tables:
            self.stand()
            raise self.error("the program ran no benchmark at all")
        return Output(self.version, self.mpi, tuple(self.tables))

    def read_line(self, line: str, stripped: str) -> None:
        """Read a line of any kind."""
        if stripped.startswith("Invalid "):
            raise self.error("the program did not understand its arguments")
        if match := _VERSION.match(line):
            if self.version:
                raise self.error("the output of a second run")
            self.version = match["version"]
            self.check_version(self.version)
        elif match := _MPI.match(line):
            self.mpi = match["version"]
        elif match := _BENCHMARK.match(line):
            self.benchmark = match["name"]
            self.tables.append(Table(self.benchmark, self.number))
        elif stripped.startswith(_FINISHED):
            self.finished = True
        elif self.finished and re.match(r"\d", stripped):
            raise self.error("a row after the end of the output")
        elif self.tables and not self.finished:
            self.read_in_table(self.tables[-1], stripped)

    def check_version(self, version: str) -> None:
        """Refuse an IMB of another megabyte."""
        year = re.match(r"\d{4}", version)
        if not year or int(year[0]) < _FIRST_DECIMAL_YEAR:
            raise self.error(
                f"IMB {version} counts a megabyte as 2^20 bytes; use IMB 2018 or newer"
            )

    def read_in_table(self, table: Table, stripped: str) -> None:
        """Read a line between two titles."""
        if match := _PROCESSES.match(self.line):
            table.processes = int(match["n"])
        elif match := _MODE.match(self.line):
            table.mode = match["mode"]
        elif stripped.startswith(("#bytes", "#repetitions")):
            self.read_header(table, stripped)
        elif not stripped or stripped.startswith("#"):
            return
        elif table.columns:
            table.rows.append(self.read_row(table, stripped.split()))
        else:
            raise self.error("a line between a benchmark's title and its header")

    def read_header(self, table: Table, header: str) -> None:
        """Take the columns of a table."""
        if table.columns:
            raise self.error("a second header in one table")
        names = header.split()
        times = _TIMES if _TIMES & {COLUMNS.get(name) for name in names} else set()
        table.columns = self.header(names, COLUMNS, {"repetitions", *times})
        order = [name for name in COLUMNS.values() if name in table.columns]
        # Of the two times of an overlap IMB-RMA prints the other one first.
        if order != [*table.columns] and "t_pure" not in order:
            raise self.error("the columns stand in another order than IMB prints them")

    def read_row(self, table: Table, tokens: list[str]) -> TableRow:
        """Read a row of a table, which it may follow."""
        for token in tokens:
            if token in _GIVEN_UP:
                raise self.error(_GIVEN_UP[token])
        fields = self.fields(table.columns, tokens)
        size = self.integer(fields.pop("bytes")) if "bytes" in fields else None
        repetitions = self.integer(fields.pop("repetitions"))
        values = {
            name: self.real(token, form=INTEGER if name == "messages" else None)
            for name, token in fields.items()
        }
        self.check_edges(table.columns)
        self.check_size([row.size for row in table.rows], size)
        if repetitions < 1:
            raise self.error("no repetitions")
        if table.rows:
            # `n_sample` is never above that of the size before (helper_IMB_functions.h).
            self.check_repetitions(table.rows[-1].repetitions, repetitions)
        if values.get("defects"):
            raise self.error("the benchmark found defects in the data it received")
        self.check_times(table, size, values)
        self.check_rate(table, size, values)
        return TableRow(size, repetitions, values, self.number)

    def check_times(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Refuse times that no operation takes, and an average that these extremes cannot have."""
        for name in ("t", "t_max", "t_avg"):
            # An operation on no data may take no time; any other one takes some.
            if name in values and values[name] == 0 and size != 0:
                raise self.error(f"{name} is zero")
        if "t_min" in values:
            # A process that has no time is left out, which makes the bounds narrower, never wider.
            self.check_average(values["t_min"], values["t_avg"], values["t_max"], table.processes)

    def check_rate(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Compare the printed bandwidth with bytes over time, within the printed digits.

        A bandwidth below the two decimals that IMB prints (a byte in a millisecond, on a busy
        machine) is printed as zero: it is computed from the other columns then.
        """
        if size is None or "mbytes" not in values:
            return
        if "messages" in values:
            exact = size * values["messages"] / 1e6
            low, high = (size * (values["messages"] + d) / 1e6 for d in (-0.5, 0.5))
            what = f"{size} bytes a message"
        elif (row := BENCHMARKS.get(table.benchmark)) and row.counted:
            moved = size * row.counted
            time = values["t_max" if "t_max" in values else "t"]
            exact = moved / time if time else 0.0
            low = moved / (time + HALF)
            high = moved / (time - HALF) if time > HALF else math.inf if moved else 0.0
            what = f"{moved} bytes in {time:.2f} us"
        else:
            return
        self.check_bandwidth(values["mbytes"], low, high, what)
        if values["mbytes"] == 0:
            values["mbytes"] = exact

    def check_order(self, table: Table) -> None:
        """Refuse a row whose time and bandwidth stand in each other's place.

        Their product is right all the same. But the time is far below those of the sizes beside it,
        which are in order, and the number in the place of the bandwidth is near to them. A time far
        above them is no proof: a busy machine has been seen to print one with just that bandwidth.
        """
        rows = [row for row in table.rows if row.size and {"t", "mbytes"} <= row.values.keys()]
        for number, row in enumerate(rows[1:-1], 1):
            others = [(one.size or 1, one.values["t"]) for one in rows if one is not row]
            low, high = others[number - 1][1], others[number][1]
            time, bandwidth = row.values["t"], row.values["mbytes"]
            if (
                time * _FAR < low <= bandwidth * _NEAR
                and bandwidth <= high * _NEAR
                and all(
                    before / _NEAR <= after <= before * _NEAR * larger / smaller
                    for (smaller, before), (larger, after) in pairwise(others)
                )
            ):
                self.stand(row.number, self.text.splitlines()[row.number - 1])
                what = f"the time {time:.2f} and the bandwidth {bandwidth:.2f} are exchanged"
                raise self.error(f"{what}: the sizes beside it took {low:.2f} and {high:.2f} us")
