"""Output of the OSU Micro-Benchmarks (OMB) 5.3 to 7.5.

The form, of which each run of a program prints one table and no closing line::

    # OSU MPI Multiple Bandwidth / Message Rate Test v7.4
    # [ pairs: 1 ] [ window size: 64 ]
    # Datatype: MPI_CHAR.
    # Size                  MB/s        Messages/s        Validation
    1                      24.38       24382717.23              Pass
    2                      42.31       21154017.78              Pass

Barrier prints one number without a size, and the start-up programs a sentence; hello measures
nothing, so that its job adds how long the launch took::

    nprocs: 2, min: 225 ms, max: 225 ms, avg: 225 ms

    This is a test with 2 processes
    launched in 431209 us

Times are in us, that of a launch in s; MB are 10^6 bytes. `# Datatype:` exists since 7.1,
Validation (`-c`) since 5.9. A size is printed with `%-10d`, times and rates with `%*.2f`
(FLOAT_PRECISION is 2), iterations with `%12lu`, each as wide as its name in the header (FIELD_WIDTH
is 20 up to 7.2, then 18). Sources: outputs of releases from 5.3.2 to 7.5.2, and print_only_header
and print_stats in c/util/osu_util_mpi.c.
"""

import re
from dataclasses import dataclass, field

from acceptance.core.errors import ParseError
from acceptance.suites.osu.benchmarks import BENCHMARKS
from acceptance.suites.output import HALF, TWO_DECIMALS, LineReader

#: Title -> program, without its prefix `osu_`.
PROGRAMS = {row.title: name for name, row in BENCHMARKS.items()}

#: Text in the header -> name of the column. Names stand two blanks or more apart.
COLUMNS = {
    "# Size": "size",
    "# Avg Latency(us)": "latency",
    "Avg Latency(us)": "latency",
    "Latency (us)": "latency",
    "Min Latency(us)": "min",
    "Max Latency(us)": "max",
    "Iterations": "iterations",
    "Bandwidth (MB/s)": "bandwidth",
    "MB/s": "bandwidth",
    "Messages/s": "messages",
    "Validation": "validation",
}

_TITLE = re.compile(r"# (?P<title>OSU .+) v(?P<version>\d\S*)\s*\Z")
_PAIRS = re.compile(r"# \[ pairs: (?P<n>\d+) \] \[ window size: \d+ \]\Z")
_DATATYPE = re.compile(r"# Datatype: (?P<name>\w+)\.\Z")
_WINDOW = re.compile(r"# (Window creation|Synchronization): \S+\Z")
_INIT = re.compile(
    r"nprocs: (?P<n>\d+), min: (?P<min>\d+) ms, max: (?P<max>\d+) ms, avg: (?P<avg>\d+) ms\Z"
)
_HELLO = re.compile(r"This is a test with (?P<n>\d+) processes\Z")
_LAUNCH = re.compile(r"launched in (?P<us>\d+) us\Z")


@dataclass(frozen=True)
class TableRow:
    """One line of a table: the message size in bytes (None if it has none) and its values."""

    size: int | None
    values: dict[str, float]
    number: int


@dataclass
class Table:
    """All that one run of a program printed; `processes` is 0 where it does not tell."""

    program: str
    version: str
    number: int
    processes: int = 0
    datatype: str = ""
    columns: tuple[str, ...] = ()
    rows: list[TableRow] = field(default_factory=list)


def parse(text: str, source: str = "stdout", processes: int = 0) -> Table:
    """Read the output of one run of an OMB program; `processes` is 0 where they are not known.

    Raises ParseError, with the line, for anything but a consistent output. That the last lines
    are missing shows only in the message sizes, which the caller knows.
    """
    return _Reader(text, source, processes).read()


def only_table(text: str, program: str, processes: int, source: str = "stdout") -> Table:
    """Read the output of one program at one number of processes.

    Raises ParseError as `parse` does, and when another program ran, or other processes did.
    """
    table = parse(text, source, processes)
    if table.program != program:
        message = f"the output is that of osu_{table.program}, which was not asked for"
    elif table.processes not in (0, processes):
        message = f"ran with {table.processes} processes instead of {processes}"
    else:
        return table
    raise ParseError(source, message, benchmark=program, number=table.number)


def _required(program: str) -> list[str]:
    """Return the columns without which a table of this program says nothing."""
    row = BENCHMARKS[program]
    return ["size"] * row.sized + [column.name for column in row.columns]


class _Reader(LineReader):
    """One reading of an output of OMB, and the table so far."""

    suite = "OMB"
    decimal = TWO_DECIMALS
    name = re.compile(r"\S+(?: \S+)*")

    def __init__(self, text: str, source: str, processes: int) -> None:
        super().__init__(text, source)
        self.processes = processes
        self.table: Table | None = None

    def read(self) -> Table:
        for line in self.lines():
            if title := _TITLE.match(line):
                self.read_title(title["title"], title["version"])
            elif self.table and line.strip():
                self.read_in_table(self.table, line.strip())
        if self.table is None:
            self.stand()
            raise self.error("this is no output of OMB: its title is missing")
        self.require_last_line()
        # What hello prints is no row; its launch is.
        if not (self.table.rows or (self.table.program == "hello" and self.table.processes)):
            self.stand(self.table.number)
            raise self.error("a table without rows")
        return self.table

    def read_title(self, title: str, version: str) -> None:
        if title not in PROGRAMS:
            raise self.error("the title of a program that is not known")
        new = Table(PROGRAMS[title], version, self.number)
        if self.table is None:
            self.table, self.benchmark = new, new.program
        # mbw_mr of 6.0 to 7.2 prints its title twice.
        elif self.table.columns or self.table.processes or new.program != "mbw_mr":
            raise self.error("a second title: two runs in one output")

    def read_in_table(self, table: Table, stripped: str) -> None:
        if table.rows and stripped.startswith("#"):
            raise self.error("a header or a comment in the middle of the table")
        if table.program == "init" and (match := _INIT.match(stripped)):
            self.read_init(table, match)
        elif table.program == "hello" and (match := _HELLO.match(stripped)):
            self.read_processes(table, self.integer(match["n"]))
        elif table.program == "hello" and table.processes and (match := _LAUNCH.match(stripped)):
            self.add_row(table, None, {"launch": self.integer(match["us"]) / 1e6})
        elif table.program == "mbw_mr" and (match := _PAIRS.match(stripped)):
            self.read_processes(table, 2 * self.integer(match["n"]))
        elif not table.datatype and (match := _DATATYPE.match(stripped)):
            table.datatype = match["name"]
        elif _WINDOW.match(stripped):
            return
        elif stripped.startswith("#"):
            self.read_header(table, stripped)
        elif table.columns:
            self.read_row(table, stripped.split())
        else:
            raise self.error("a line between the title and the header")

    def read_processes(self, table: Table, processes: int) -> None:
        if table.processes:
            raise self.error("the number of processes stands twice")
        if processes < 1:
            raise self.error("no processes")
        table.processes = processes

    def read_init(self, table: Table, match: re.Match[str]) -> None:
        """Read the line of init: whole milliseconds, the average cut off to them (osu_init.c)."""
        times = {name: self.integer(match[name]) for name in ("min", "avg", "max")}
        self.read_processes(table, self.integer(match["n"]))
        self.check_average(times["min"], times["avg"], times["max"], table.processes, slack=1)
        self.add_row(table, None, {name: 1000.0 * time for name, time in times.items()})

    def read_header(self, table: Table, header: str) -> None:
        # mbw_mr of 5.6 prints the header of another program before its own.
        if table.program == "mbw_mr" and not table.processes:
            return
        columns = self.header(self.name.findall(header), COLUMNS, _required(table.program))
        if table.columns:
            raise self.error("a second header in one table")
        table.columns = columns
        if "size" in columns:
            self.edges[0] = None

    def read_row(self, table: Table, tokens: list[str]) -> None:
        self.require_whole_line()
        fields = self.fields(table.columns, tokens)
        validation = fields.pop("validation", "Pass")
        if validation == "Fail":
            raise self.error("the data that arrived is not the data that was sent")
        if validation != "Pass":
            raise self.error(f"{validation!r} is neither Pass nor Fail")
        size = self.integer(fields.pop("size")) if "size" in fields else None
        values = {
            name: self.integer(text) if name == "iterations" else self.real(text)
            for name, text in fields.items()
        }
        self.check_edges(table.columns)
        if "min" in values:
            # Of all processes (osu_bcast.c and the other collectives: a sum over `numprocs`).
            self.check_average(values["min"], values["latency"], values["max"], self.processes)
        if table.rows and "iterations" in values:
            # `options.iterations_large` of large messages are fewer.
            self.check_repetitions(table.rows[-1].values["iterations"], values["iterations"])
        self.add_row(table, size, values)

    def add_row(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        self.check_size([row.size for row in table.rows], size)
        self.check_rate(size, values)
        for name, value in values.items():
            # The first process may wait for no one; no data may take no time, any other takes some.
            if value == 0 and name != "min" and size != 0:
                raise self.error(f"{name} is zero")
        table.rows.append(TableRow(size, values, self.number))

    def check_rate(self, size: int | None, values: dict[str, float]) -> None:
        """Compare MB/s with messages a second times their size, within the printed digits.

        Source: osu_mbw_mr.c, rate = 1e6 bw / size. A bandwidth below the two decimals (some
        thousand bytes a second, on a busy machine) is computed.
        """
        if size is not None and "messages" in values:
            low, high = (size * (values["messages"] + d) / 1e6 for d in (-HALF, HALF))
            self.check_bandwidth(values["bandwidth"], low, high, f"{size} bytes a message")
            values["bandwidth"] = values["bandwidth"] or size * values["messages"] / 1e6
