"""OSU Micro-Benchmarks (OMB) 5.3 to 7.5: a row for each program that is run, and its output.

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
is 20 up to 7.2, then 18). Sources: `-h` and the sources of the programs, outputs of releases from
5.3.2 to 7.5.2, and print_only_header and print_stats in c/util/osu_util_mpi.c.
"""

import re
from dataclasses import dataclass, field
from functools import partial

from acceptance.suites.output import Table, Tables
from acceptance.suites.records import Benchmark, Column, Suite

# `latency` is the time of a message between two processes, `time` that of any other operation:
# the average over the processes, as OMB prints it.
LATENCY = Column("latency", "latency", "us")
TIME = Column("latency", "time", "us")
BANDWIDTH = Column("bandwidth", "bandwidth", "MB/s")
RATE = Column("messages", "message_rate", "1/s")
INIT = Column("avg", "time", "us")
LAUNCH = Column("launch", "time", "s")
RATIO = Column("", "ratio", "1")


@dataclass(frozen=True)
class OsuProgram(Benchmark):
    """A program of OMB (`name` without `osu_`), with what its check and the parser ask for."""

    #: The title of its output.
    title: str
    #: `-c` verifies the data (5.9 and newer).
    verifies: bool = field(default=True, kw_only=True)
    #: `-b multiple` gives each message of a window buffers of its own (5.8 and newer).
    buffers: bool = field(default=False, kw_only=True)
    #: It knows options.
    options: bool = field(default=True, kw_only=True)
    #: Its name in the communication balance, if it is part of that.
    balance: str = field(default="", kw_only=True)


_messages = partial(OsuProgram, point_to_point=True, family="pt2pt")
#: One process reaches into the memory of the other.
_one_sided = partial(OsuProgram, point_to_point=True, processes="two", verifies=False,
                     family="one-sided")  # fmt: skip
_collective = partial(OsuProgram, columns=(TIME,), family="blocking")
_unsized = partial(OsuProgram, sized=False, verifies=False)

_ROWS = (
    _messages("latency", (LATENCY,), "OSU MPI Latency Test", processes="two", one_message=True,
              balance="latency", since_mode="smoke"),
    _messages("bw", (BANDWIDTH,), "OSU MPI Bandwidth Test", processes="two", buffers=True,
              link_factor=1, one_way=True, balance="bw", since_mode="smoke"),
    _messages("bibw", (BANDWIDTH,), "OSU MPI Bi-Directional Bandwidth Test", processes="two",
              buffers=True, link_factor=2, balance="bibw", since_mode="smoke"),
    # The first half of the processes sends to the second; mbw_mr waits for ever on an odd number.
    _messages("multi_lat", (LATENCY,), "OSU MPI Multi Latency Test", processes="even",
              one_message=True),
    _messages("mbw_mr", (BANDWIDTH, RATE), "OSU MPI Multiple Bandwidth / Message Rate Test",
              processes="even", buffers=True, link_factor=1, pair_sum="average", balance="mbw",
              since_mode="smoke"),
    _collective("allgather", title="OSU MPI Allgather Latency Test", operation="Allgather",
                part=True),
    _collective("allgatherv", title="OSU MPI Allgatherv Latency Test", part=True),
    # OMB up to 7.0 adds floats, newer ones bytes; from one float on all have the same sizes.
    _collective("allreduce", title="OSU MPI Allreduce Latency Test", operation="Allreduce",
                reduction=True, since_mode="smoke"),
    _collective("alltoall", title="OSU MPI All-to-All Personalized Exchange Latency Test",
                operation="Alltoall", part=True, since_mode="smoke"),
    _collective("alltoallv", title="OSU MPI All-to-Allv Personalized Exchange Latency Test",
                part=True),
    _unsized("barrier", (TIME,), "OSU MPI Barrier Latency Test", family="blocking",
             since_mode="smoke"),
    _collective("bcast", title="OSU MPI Broadcast Latency Test", operation="Bcast", rooted=True),
    _collective("gather", title="OSU MPI Gather Latency Test", operation="Gather", part=True,
                rooted=True),
    _collective("reduce", title="OSU MPI Reduce Latency Test", operation="Reduce", rooted=True,
                reduction=True),
    _collective("reduce_scatter", title="OSU MPI Reduce_scatter Latency Test",
                operation="Reduce_scatter", reduction=True),
    _collective("scatter", title="OSU MPI Scatter Latency Test", operation="Scatter", part=True,
                rooted=True),
    _one_sided("put_latency", (LATENCY,), "OSU MPI_Put Latency Test"),
    _one_sided("get_latency", (LATENCY,), "OSU MPI_Get latency Test"),
    _one_sided("put_bw", (BANDWIDTH,), "OSU MPI_Put Bandwidth Test", link_factor=1, one_way=True),
    _one_sided("get_bw", (BANDWIDTH,), "OSU MPI_Get Bandwidth Test", link_factor=1, one_way=True),
    _unsized("init", (INIT,), "OSU MPI Init Test", options=False, family="startup"),
    _unsized("hello", (LAUNCH,), "OSU MPI Hello World Test", options=False,
             family="startup"),
)  # fmt: skip

#: Name -> program.
BENCHMARKS = {row.name: row for row in _ROWS}
#: The ratios of `checks/balance.py`, by their names in `reference/`.
BALANCE = {
    f"cbr.{row.balance}": Benchmark(row.balance, (RATIO,), better="nearer to 1", since_mode="smoke")
    for row in _ROWS
    if row.balance
}

#: The suite.
SUITE = Suite(
    "osu",
    "OSU Micro-Benchmarks",
    tuple(f"osu_{name}" for name in BENCHMARKS),
    "",
    {f"osu.{name}": row for name, row in BENCHMARKS.items()},
    {"balance": BALANCE},
    averages=True,
    built_with=("mpi",),
)


def size_range(text: str) -> tuple[int, int]:
    """Read the smallest and the largest message size (bytes) from `low:high`.

    Raises ValueError unless these are two powers of two.
    """
    low, _, high = text.partition(":")
    if low.isdecimal() and high.isdecimal():
        bounds = int(low), int(high)
        if bounds[0] <= bounds[1] and all(size.bit_count() == 1 for size in bounds):
            return bounds
    raise ValueError(
        f"sizes is {text!r}; it must be low:high, powers of two, for example 1:4194304"
    )


def message_sizes(benchmark: str, processes: int, low: int, high: int) -> list[int]:
    """Return the message sizes (bytes) that a program prints for `-m low:high`, powers of two.

    Those that `Benchmark.fits` leaves out are not asked for. Raises ValueError when none is left.
    """
    sizes = (2**n for n in range(low.bit_length() - 1, high.bit_length()))
    fitting = [size for size in sizes if BENCHMARKS[benchmark].fits(size, processes)]
    if not fitting:
        raise ValueError(f"no message of {benchmark} fits into {low}:{high} bytes")
    return fitting


#: Title -> program, without its prefix `osu_`.
_PROGRAMS = {row.title: name for name, row in BENCHMARKS.items()}

#: Text in the header -> name of the column. Names stand two blanks or more apart.
_NAMES = {
    "# Size": "size",
    "# Avg Latency(us)": "latency",
    "Avg Latency(us)": "latency",
    "Latency (us)": "latency",
    "Min Latency(us)": "min",
    "Max Latency(us)": "max",
    "Iterations": "repetitions",
    "Bandwidth (MB/s)": "bandwidth",
    "MB/s": "bandwidth",
    "Messages/s": "messages",
    "Validation": "validation",
}

_TITLE = re.compile(r"# (?P<title>OSU .+) v(?P<version>\d\S*)\s*\Z")
_PAIRS = re.compile(r"# \[ pairs: (?P<n>\d+) \] \[ window size: \d+ \]\Z")
_COMMENT = re.compile(r"# (Datatype: \w+\.|(Window creation|Synchronization): \S+)\Z")
_INIT = re.compile(
    r"nprocs: (?P<n>\d+), min: (?P<min>\d+) ms, max: (?P<max>\d+) ms, avg: (?P<avg>\d+) ms\Z"
)
_HELLO = re.compile(r"This is a test with (?P<n>\d+) processes\Z")
_LAUNCH = re.compile(r"launched in (?P<us>\d+) us\Z")


def parse(text: str, source: str = "stdout", processes: int = 0) -> "Output":
    """Read the output of one run of an OMB program; `processes` is 0 where they are not known.

    Raises ParseError, with the line, for anything but a consistent output. That the last lines
    are missing shows only in the message sizes, which the caller knows.
    """
    output = Output(text, source)
    output.processes = processes
    for line in output.lines():
        output.read_line(line)
    output.check_whole()
    return output


class Output(Tables):
    """An output of OMB, which has one table."""

    suite = "OMB"
    name = re.compile(r"\S+(?: \S+)*")
    names = _NAMES
    # A message rate is 1e6 times the bandwidth over the size (osu_mbw_mr.c). The first process may
    # wait for no one.
    above_zero = ("latency", "max", "bandwidth", "messages", "avg", "launch")
    times = ("min", "latency", "max")

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        #: Those that were asked for, and those that the output tells.
        self.processes = self.told = 0
        self.comments: set[str] = set()

    def check_whole(self) -> None:
        """Refuse an output of which a part is missing."""
        if not self.tables:
            self.stand()
            raise self.error("this is no output of OMB: its title is missing")
        self.require_last_line()
        (table,) = self.tables
        # What hello prints is no row; its launch is.
        if not (table.rows or (table.benchmark == "hello" and self.told)):
            self.stand(table.number)
            raise self.error("a table without rows")

    def read_line(self, line: str) -> None:
        """Read a line of any kind."""
        if title := _TITLE.match(line):
            self._read_title(title["title"], title["version"])
        elif self.tables and line.strip():
            self._read_in_table(self.tables[0], line.strip())

    def _read_title(self, title: str, version: str) -> None:
        if title not in _PROGRAMS:
            raise self.error("the title of a program that is not known")
        new = Table(_PROGRAMS[title], self.number, self.processes)
        if not self.tables:
            self.tables, self.benchmark, self.version = [new], new.benchmark, version
        # mbw_mr of 6.0 to 7.2 prints its title twice.
        elif self.tables[0].columns or self.told or new.benchmark != "mbw_mr":
            raise self.error("a second title: two runs in one output")

    def _read_in_table(self, table: Table, stripped: str) -> None:
        program = table.benchmark
        if table.rows and stripped.startswith("#"):
            raise self.error("a header or a comment in the middle of the table")
        if program == "init" and (match := _INIT.match(stripped)):
            self._read_init(table, match)
        elif program == "hello" and (match := _HELLO.match(stripped)):
            self._read_processes(table, self.integer(match["n"]))
        elif program == "hello" and self.told and (match := _LAUNCH.match(stripped)):
            self.add_row(table, None, {"launch": self.integer(match["us"]) / 1e6})
        elif program == "mbw_mr" and (match := _PAIRS.match(stripped)):
            self._read_processes(table, 2 * self.integer(match["n"]))
        elif _COMMENT.match(stripped) and stripped not in self.comments:
            self.comments.add(stripped)
        # mbw_mr of 5.6 prints the header of another program before its own.
        elif stripped.startswith("#") and (program != "mbw_mr" or self.told):
            row = BENCHMARKS[program]  # without its columns a table says nothing
            names = ["size"] * row.sized + [column.name for column in row.columns]
            self.read_header(table, stripped, names)
            if "size" in table.columns:
                self.edges[0] = None
        elif table.columns:
            self.read_row(table, stripped.split())
        elif not stripped.startswith("#"):
            raise self.error("a line between the title and the header")

    def _read_processes(self, table: Table, processes: int) -> None:
        if self.told:
            raise self.error("the number of processes stands twice")
        if processes < 1:
            raise self.error("no processes")
        table.processes = self.told = processes

    def _read_init(self, table: Table, match: re.Match[str]) -> None:
        """Read the line of init: whole milliseconds, the average cut off to them (osu_init.c)."""
        low, average, high = (self.integer(match[name]) for name in ("min", "avg", "max"))
        self._read_processes(table, self.integer(match["n"]))
        self.check_average(low, average, high, self.told, slack=1)
        values = {"min": 1000.0 * low, "avg": 1000.0 * average, "max": 1000.0 * high}
        self.add_row(table, None, values)

    def value(self, name: str, token: str) -> float:
        """Read a value of a column; that of Validation is a word."""
        if name != "validation":
            return super().value(name, token)
        if token == "Fail":
            raise self.error("the data that arrived is not the data that was sent")
        if token != "Pass":
            raise self.error(f"{token!r} is neither Pass nor Fail")
        return 1.0
