"""Intel MPI Benchmarks (IMB) 2018 to 2021: a row for each benchmark that is run, and its output.

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
header with `%13s`.

Sources: the IMB user guide 2021 ("Benchmark definitions", "Reported throughput", `-msglog`,
`-mem`), outputs of IMB 2021.7 and 2021.11, and of 2018.0 to 2021.11 the functions IMB_edit_format,
IMB_display_times and IMB_calculate_times (IMB_output.c).
"""

import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from acceptance.suites.output import Table, Tables
from acceptance.suites.records import (
    WHEELS,
    Benchmark,
    Column,
    Suite,
)

# `latency` is the time of a message between two processes, `time` that of any other operation:
# t_max, since the operation is over when its last process is.
LATENCY = Column("t", "latency", "us")
TIME = Column("t_max", "time", "us")
BANDWIDTH = Column("bandwidth", "bandwidth", "MB/s")
RATE = Column("messages", "message_rate", "1/s")


_messages = partial(Benchmark, point_to_point=True, family="mpi1")
_collective = partial(Benchmark, columns=(TIME,), family="mpi1")

_ROWS = (
    # One message at a time, of the size over its time.
    _messages("PingPong", (LATENCY, BANDWIDTH), processes="two", link_factor=1,
              one_way=True, one_message=True, since_mode="smoke"),
    # Two messages cross each other; only one of them is counted.
    _messages("PingPing", (LATENCY, BANDWIDTH), processes="two", link_factor=1),
    # 2X/t: each process sends one message and receives one. Each node at the edge of the chain
    # sends and receives a message over the link, wherever the other processes are.
    _messages("Sendrecv", (TIME, BANDWIDTH), link_factor=2, since_mode="smoke"),
    # 4X/t: each process sends to both neighbours and receives from both. Each node sends two
    # messages and receives two over the link.
    _messages("Exchange", (TIME, BANDWIDTH), link_factor=2),
    # The first half of the processes talks to the second.
    _messages("Uniband", (BANDWIDTH, RATE), link_factor=1, pair_sum="longest"),
    _messages("Biband", (BANDWIDTH, RATE), link_factor=2, pair_sum="longest"),
    _collective("Allreduce", operation="Allreduce", reduction=True, since_mode="smoke"),
    _collective("Reduce", operation="Reduce", reduction=True, rooted=True),
    # IMB up to "2019" spreads the bytes over the ranks; from "2019 Update 1" on each rank gets
    # them. Built with IMB2018 it spreads them, too, and calls itself "2018".
    _collective("Reduce_scatter", operation="Reduce_scatter", reduction=True, part=True,
                whole_in=r"IMB (201[0-8]\b.*|2019)"),
    _collective("Allgather", operation="Allgather", part=True),
    _collective("Allgatherv", part=True),
    _collective("Alltoall", operation="Alltoall", part=True, since_mode="smoke"),
    _collective("Bcast", operation="Bcast", rooted=True),
    _collective("Gather", operation="Gather", part=True, rooted=True),
    _collective("Scatter", operation="Scatter", part=True, rooted=True),
    _collective("Barrier", sized=False, since_mode="smoke"),
)  # fmt: skip

#: Name -> benchmark.
BENCHMARKS = {row.name: row for row in _ROWS}
#: Name -> bytes that the printed bandwidth counts, as a multiple of the message size. That of
#: others comes from the message rate, or they have none.
COUNTED = {"PingPong": 1, "PingPing": 1, "Sendrecv": 2, "Exchange": 4}

#: The suite.
SUITE = Suite(
    "imb",
    "Intel MPI Benchmarks",
    ("IMB-MPI1",),
    WHEELS,
    {f"imb.{name}": row for name, row in BENCHMARKS.items()},
)


def message_sizes(
    benchmark: str, processes: int, low: int, high: int, room: float | None = None
) -> list[int]:
    """Return the message sizes (bytes) that IMB prints for `-msglog low:high`; it adds the size 0.

    Those that `Benchmark.fits` leaves out are not asked for; `room` is as there.
    """
    sizes = (2**n for n in range(low, high + 1))
    return [0, *(size for size in sizes if BENCHMARKS[benchmark].fits(size, processes, room))]


def repetitions(benchmark: str) -> int:
    """Return how often IMB repeats small messages; with rates each is a window of 64 messages."""
    return 100 if RATE in BENCHMARKS[benchmark].columns else 1000


def counts_size(benchmark: str, column: Column, size: int | None) -> bool:
    """Tell whether a row of this size (bytes; None: a table without sizes) is a metric.

    An empty message has no bandwidth, and an operation on no data has no time worth a name.
    """
    return size != 0 or (BENCHMARKS[benchmark].point_to_point and column != BANDWIDTH)


#: Header token -> name of the column. Barrier has no `#bytes`.
_NAMES = {
    "#bytes": "size",
    "#repetitions": "repetitions",
    "t[usec]": "t",
    "t_min[usec]": "t_min",
    "t_max[usec]": "t_max",
    "t_avg[usec]": "t_avg",
    "Mbytes/sec": "bandwidth",
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
_MPI = re.compile(r"# MPI Version\s+: (?P<version>\S+)")
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


def parse(text: str, source: str = "stdout") -> "Output":
    """Read the complete output of one run of an IMB program.

    Raises ParseError, with the line, for anything but a complete and consistent output.
    """
    output = Output(text, source)
    for line in output.lines():
        output.read_line(line, line.strip())
    output.check_whole()
    return output


class Output(Tables):
    """An output of IMB, with a table for each benchmark."""

    suite = "IMB"
    names = _NAMES
    whole = ("repetitions", "messages")
    above_zero = ("t", "t_max", "t_avg")
    times = ("t_min", "t_avg", "t_max")
    half_rate = 0.5

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.finished = False

    def check_whole(self) -> None:
        """Refuse an output of which a part is missing."""
        if not self.version:
            first = next(line for line in self.text.splitlines() if line.strip())
            self.benchmark = ""
            self.stand(0, first)
            raise self.error("this is no output of IMB, or not its beginning")
        if not self.finished:
            raise self.error(f"the output ends in the middle, without {_FINISHED!r}")
        if not self.tables:
            self.stand()
            raise self.error("the program ran no benchmark at all")
        for table in self.tables:
            self.benchmark = table.benchmark
            self.check_order(table)
            if not table.rows:
                self.stand(table.number)
                raise self.error("a table without rows")

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
            self.mpi_standard = match["version"]
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
        elif stripped.startswith(("#bytes", "#repetitions")):
            self.read_header(table, stripped, ["repetitions"])
            order = [name for name in _NAMES.values() if name in table.columns]
            # Of the two times of an overlap IMB-RMA prints the other one first.
            if order != [*table.columns] and "t_pure" not in order:
                raise self.error("the columns stand in another order than IMB prints them")
        elif not stripped or stripped.startswith("#"):
            return
        elif table.columns:
            self.read_row(table, stripped.split())
        else:
            raise self.error("a line between a benchmark's title and its header")

    def read_row(self, table: Table, tokens: Sequence[str]) -> None:
        """Read a row of a table, if it has values."""
        for token in tokens:
            if token in _GIVEN_UP:
                raise self.error(_GIVEN_UP[token])
        super().read_row(table, tokens)

    def value(self, name: str, token: str) -> float:
        """Read a value of a column; defects are none."""
        value = super().value(name, token)
        if name == "defects" and value:
            raise self.error("the benchmark found defects in the data it received")
        return value

    def moved(self, table: Table, size: int) -> int | None:
        """Return the bytes that a bandwidth counts."""
        counted = COUNTED.get(table.benchmark)
        return size * counted if counted else None

    def check_order(self, table: Table) -> None:
        """Refuse a row whose time and bandwidth stand in each other's place.

        Their product is right all the same. But the time is far below those of the sizes beside it,
        which are in order, and the number in the place of the bandwidth is near to them. A time far
        above them is no proof: a busy machine has been seen to print one with just that bandwidth.
        """
        rows = [row for row in table.rows if row.size and {"t", "bandwidth"} <= row.values.keys()]
        for number, row in enumerate(rows[1:-1], 1):
            others = [(one.size or 1, one.values["t"]) for one in rows if one is not row]
            low, high = others[number - 1][1], others[number][1]
            time, bandwidth = row.values["t"], row.values["bandwidth"]
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
