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
from typing import Any

from acceptance.suites.output import HALF, SLACK, Table, Tables
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
#: An operation while the processes compute as long as it takes by itself (which is `time`), and
#: the share of it that the computation hides.
OVERLAPPED = (Column("overall", "overall", "us"), TIME, Column("overlap", "overlap", "%"))
#: Which percentiles of its repetitions are metrics, by the unit of what a program prints first:
#: they ascend, so that a low one is the slow tail of a bandwidth. Its lowest is 10: OMB reads in
#: front of its array where one in a hundred of 20 repetitions is none.
PERCENTILES = {"us": (50, 90, 99), "MB/s": (10, 50)}
#: Messages that are on their way at once in a test of a bandwidth (`WINDOW_SIZE_LARGE`).
WINDOW = 64


#: The families of programs that know `-d`; those of threads and neighbours do not (7.4).
_ON_GPUS = ("pt2pt", "persistent", "one-sided", "blocking", "nonblocking", "persistent-collective")
#: The programs whose titles do not tell where buffers are.
_SILENT = ("multi_lat", "mbw_mr", "get_acc_latency")


@dataclass(frozen=True)
class OsuProgram(Benchmark):
    """A program of OMB (`name` without `osu_`), with what its check and the parser ask for."""

    #: The title of its output, which some share.
    title: str
    #: `-c` verifies the data (5.9 and newer).
    verifies: bool = field(default=True, kw_only=True)
    #: `-b multiple` gives each message of a window buffers of its own (5.8 and newer).
    buffers: bool = field(default=False, kw_only=True)
    #: It knows options.
    options: bool = field(default=True, kw_only=True)
    #: `-z` prints percentiles (7.4 and newer).
    tails: bool = field(default=True, kw_only=True)
    #: What `-s` lets it synchronize by, the one that it takes by itself first.
    synchronizations: tuple[str, ...] = field(default=(), kw_only=True)
    #: SimGrid (3.32) runs it, and gives the same times again: not where processes compute, too, or
    #: are threads, and it has neither neighbourhoods nor persistent collectives.
    simulated: bool = field(default=False, kw_only=True)
    #: Its name in the communication balance, if it is part of that.
    balance: str = field(default="", kw_only=True)

    @property
    def gpu_buffers(self) -> tuple[str, ...]:
        """Return where `-d` lets buffers of sender and receiver be: D (a GPU), or H (the host)."""
        if not self.sized or self.family not in _ON_GPUS or self.name == "partitioned_latency":
            return ()
        return ("DD", "HD", "DH", "HH") if self.point_to_point else ("DD",)

    @property
    def percentiles(self) -> tuple[Column, ...]:
        """Return the percentiles of what it prints first, metrics of their own."""
        first = self.columns[0]
        return tuple(
            Column(f"p{n}", f"{first.stem}_p{n}", first.unit)
            for n in (PERCENTILES[first.unit] if self.tails else ())
        )


#: Word of `-s` -> how the output calls it.
SYNCHRONIZATIONS = {
    "flush": "MPI_Win_flush",
    "flush_local": "MPI_Win_flush_local",
    "lock": "MPI_Win_lock/unlock",
    "lock_all": "MPI_Win_lock_all/unlock_all",
    "pscw": "MPI_Win_post/start/complete/wait",
    "fence": "MPI_Win_fence",
}
#: Word of `-w` -> how the output calls it.
WINDOWS = {
    "create": "MPI_Win_create",
    "allocate": "MPI_Win_allocate",
    "dynamic": "MPI_Win_create_dynamic",
}

_messages = partial(OsuProgram, point_to_point=True, family="pt2pt")
_two = partial(_messages, processes="two")
_persistent = partial(_two, family="persistent", since="7.1", since_mode="acceptance",
                      simulated=True)  # fmt: skip
#: Processes of one node send to those of all others, or receive from them; `-z` lets the first
#: process wait for ever unless it stands on the first node by name.
_fan = partial(OsuProgram, columns=(BANDWIDTH,), title="OSU MPI Bandwidth Test", link_factor=1,
               processes="three", least_nodes=2, verifies=False, tails=False,
               family="congestion", since="7.4")  # fmt: skip
#: One process reaches into the memory of the other.
_one_sided = partial(_two, verifies=False, family="one-sided",
                     synchronizations=tuple(SYNCHRONIZATIONS))  # fmt: skip
_atomic = partial(_one_sided, columns=(LATENCY,), since_mode="acceptance")
_collective = partial(OsuProgram, columns=(TIME,), family="blocking", held=3)
_startup = partial(OsuProgram, sized=False, verifies=False, options=False, tails=False,
                   family="startup")  # fmt: skip
_beside = partial(OsuProgram, columns=OVERLAPPED, family="nonblocking", held=3,
                  since_mode="acceptance")  # fmt: skip


def _blocking(name: str, what: str, **known: Any) -> OsuProgram:
    """Return the row of a collective that the processes wait for."""
    title = f"OSU MPI {what} Latency Test"
    return _collective(name, title=title, simulated=True, **known)


def _nonblocking(name: str, what: str, **known: Any) -> OsuProgram:
    """Return the row of a collective that the processes compute beside."""
    return _beside(name, title=f"OSU MPI Non-blocking {what} Latency Test", **known)


def _started(name: str, what: str, **known: Any) -> OsuProgram:
    """Return the row of a collective that is set up once, and started again and again."""
    return _collective(
        f"{name}_persistent", title=f"OSU MPI {what} Persistent Latency Test",
        since="7.3 with MPI 4", family="persistent-collective", since_mode="acceptance", **known,
    )  # fmt: skip


#: Of those that are laid in a ring, each exchanges with two others: there are three at least.
_ring = partial(_collective, processes="three", since="7.1", since_mode="acceptance",
                family="neighbourhood")  # fmt: skip
_ring_beside = partial(_nonblocking, processes="three", since="7.1", family="neighbourhood")

_ROWS = (
    _two("latency", (LATENCY,), "OSU MPI Latency Test", one_message=True, balance="latency",
         since_mode="smoke", simulated=True),
    _two("bw", (BANDWIDTH,), "OSU MPI Bandwidth Test", buffers=True, link_factor=1, one_way=True,
         balance="bw", since_mode="smoke", simulated=True),
    _two("bibw", (BANDWIDTH,), "OSU MPI Bi-Directional Bandwidth Test", buffers=True,
         link_factor=2, balance="bibw", since_mode="smoke", simulated=True),
    # The first half of the processes sends to the second; mbw_mr waits for ever on an odd number.
    # multi_lat has percentiles in its header only (7.4).
    _messages("multi_lat", (LATENCY,), "OSU MPI Multi Latency Test", processes="even",
              one_message=True, tails=False, simulated=True),
    _messages("mbw_mr", (BANDWIDTH, RATE), "OSU MPI Multiple Bandwidth / Message Rate Test",
              processes="even", buffers=True, link_factor=1, pair_sum="average", balance="mbw",
              since_mode="smoke", simulated=True),
    _two("partitioned_latency", (LATENCY,), "OSU MPI Partitioned Latency Test",
         since="7.5 with MPI 4", since_mode="acceptance", family="persistent", verifies=False),
    _persistent("latency_persistent", (LATENCY,), "OSU MPI Latency Persistent Test",
                one_message=True),
    _persistent("bw_persistent", (BANDWIDTH,), "OSU MPI Bandwidth Persistent Test", buffers=True,
                link_factor=1, one_way=True),
    _persistent("bibw_persistent", (BANDWIDTH,), "OSU MPI Bi-Directional Bandwidth Persistent Test",
                buffers=True, link_factor=2),
    _fan("bw_fan_in"),
    _fan("bw_fan_out", since_mode="acceptance", simulated=True),
    # One thread sends, two receive: `-c` requires as many of each. Two processes of each send, and
    # receive, which were forked.
    _two("latency_mt", (LATENCY,), "OSU MPI Multi-threaded Latency Test", verifies=False,
         family="multithreaded", since_mode="acceptance"),
    _two("latency_mp", (LATENCY,), "OSU MPI Multi-process Latency Test", since="5.6.3",
         family="multithreaded", since_mode="acceptance"),
    _blocking("allgather", "Allgather", operation="Allgather", part=True),
    _blocking("allgatherv", "Allgatherv", part=True),
    # OMB up to 7.0 adds floats, newer ones bytes; from one float on all have the same sizes.
    _blocking("allreduce", "Allreduce", operation="Allreduce", reduction=True, since_mode="smoke"),
    _blocking("alltoall", "All-to-All Personalized Exchange", operation="Alltoall", part=True,
              since_mode="smoke"),
    _blocking("alltoallv", "All-to-Allv Personalized Exchange", part=True),
    _blocking("alltoallw", "All-to-Allw Personalized Exchange", part=True, since="6.2",
              since_mode="acceptance"),
    _blocking("barrier", "Barrier", sized=False, verifies=False, since_mode="smoke"),
    _blocking("bcast", "Broadcast", operation="Bcast", rooted=True),
    _blocking("gather", "Gather", operation="Gather", part=True, rooted=True),
    _blocking("gatherv", "Gatherv", part=True, rooted=True, since_mode="acceptance"),
    _blocking("reduce", "Reduce", operation="Reduce", rooted=True, reduction=True),
    _blocking("reduce_scatter", "Reduce_scatter", operation="Reduce_scatter", reduction=True),
    _blocking("reduce_scatter_block", "Reduce_scatter_block", reduction=True, since="7.4",
              since_mode="acceptance"),
    _blocking("scatter", "Scatter", operation="Scatter", part=True, rooted=True),
    _blocking("scatterv", "Scatterv", part=True, rooted=True, since_mode="acceptance"),
    _nonblocking("iallgather", "Allgather", part=True),
    _nonblocking("iallgatherv", "Allgatherv", part=True),
    _nonblocking("iallreduce", "Allreduce", reduction=True, since="5.5", since_mode="nightly"),
    _nonblocking("ialltoall", "All-to-All", part=True),
    _nonblocking("ialltoallv", "All-to-Allv Personalized Exchange", part=True),
    _nonblocking("ialltoallw", "All-to-Allw Personalized Exchange", part=True),
    _nonblocking("ibarrier", "Barrier", sized=False, verifies=False),
    _beside("ibcast", title="OSU MPI Non-Blocking Broadcast Latency Test", rooted=True),
    _nonblocking("igather", "Gather", part=True, rooted=True),
    _nonblocking("igatherv", "Gatherv", part=True, rooted=True),
    _nonblocking("ireduce", "Reduce", reduction=True, rooted=True, since="5.5"),
    _nonblocking("ireduce_scatter", "Reduce_scatter", reduction=True, since="7.0"),
    _nonblocking("ireduce_scatter_block", "Reduce_scatter_block", reduction=True, since="7.4"),
    _nonblocking("iscatter", "Scatter", part=True, rooted=True),
    _nonblocking("iscatterv", "Scatterv", part=True, rooted=True),
    _started("allgather", "Allgather", part=True),
    _started("allgatherv", "Allgatherv", part=True),
    _started("allreduce", "Allreduce", reduction=True),
    _started("alltoall", "All-to-All Personalized Exchange", part=True),
    _started("alltoallv", "All-to-Allv Personalized Exchange", part=True),
    _started("alltoallw", "All-to-Allw Personalized Exchange", part=True),
    _started("barrier", "Barrier", sized=False, verifies=False),
    _started("bcast", "Broadcast", rooted=True),
    _started("gather", "Gather", part=True, rooted=True),
    _started("gatherv", "Gatherv", part=True, rooted=True),
    _started("reduce", "Reduce", reduction=True, rooted=True),
    _started("reduce_scatter", "Reduce_scatter", reduction=True),
    _started("scatter", "Scatter", part=True, rooted=True),
    _started("scatterv", "Scatterv", part=True, rooted=True),
    _ring("neighbor_allgather", title="OSU MPI Neighborhood Allgather Latency Test"),
    _ring("neighbor_allgatherv", title="OSU MPI Neighborhood Allgatherv Latency Test"),
    _ring("neighbor_alltoall", title="OSU MPI Neighborhood Alltoall Latency Test"),
    _ring("neighbor_alltoallv", title="OSU MPI Neighborhood All-to-Allv Latency Test"),
    _ring("neighbor_alltoallw", title="OSU MPI All-to-Allw Personalized Exchange Latency Test"),
    _ring_beside("ineighbor_allgather", "Neighborhood Allgather"),
    _ring_beside("ineighbor_allgatherv", "Neighborhood Allgatherv"),
    _ring_beside("ineighbor_alltoall", "Neighborhood Alltoall"),
    _ring_beside("ineighbor_alltoallv", "Neighborhood Alltoallv"),
    _ring_beside("ineighbor_alltoallw", "Neighborhood Alltoallw"),
    _one_sided("put_latency", (LATENCY,), "OSU MPI_Put Latency Test", simulated=True),
    _one_sided("get_latency", (LATENCY,), "OSU MPI_Get latency Test", simulated=True),
    _one_sided("put_bw", (BANDWIDTH,), "OSU MPI_Put Bandwidth Test", link_factor=1, one_way=True,
               simulated=True),
    _one_sided("get_bw", (BANDWIDTH,), "OSU MPI_Get Bandwidth Test", link_factor=1, one_way=True,
               simulated=True),
    _one_sided("put_bibw", (BANDWIDTH,), "OSU MPI_Put Bi-directional Bandwidth Test",
               link_factor=2, since_mode="acceptance", synchronizations=("pscw", "fence")),
    _atomic("acc_latency", title="OSU MPI_Accumulate latency Test"),
    _atomic("get_acc_latency", title="OSU MPI_Get_accumulate latency Test",
            synchronizations=("lock", "flush", "flush_local", "lock_all", "pscw", "fence")),
    # Of one number of 8 bytes (up to 7.0), or one byte.
    _atomic("fop_latency", title="OSU MPI_Fetch_and_op latency Test", since_mode="nightly",
            sized=False),
    _atomic("cas_latency", title="OSU MPI_Compare_and_swap latency Test", sized=False),
    _startup("init", (INIT,), "OSU MPI Init Test"),
    _startup("hello", (LAUNCH,), "OSU MPI Hello World Test"),
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
    tuple(f"osu_{row.name}" for row in _ROWS if not row.since),
    "",
    {f"osu.{name}": row for name, row in BENCHMARKS.items()},
    {"balance": BALANCE},
    averages=True,
    built_with=("mpi",),
    version=rb"# OSU [^\0\n]+ v(\d+(?:\.\d+)*)",
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


def message_sizes(
    benchmark: str,
    processes: int,
    low: int,
    high: int,
    room: float | None = None,
    copies: int = 1,
) -> list[int]:
    """Return the message sizes (bytes) that a program prints for `-m low:high`, powers of two.

    Those that `Benchmark.fits` leaves out are not asked for; `room` and `copies` are as there.
    Raises ValueError when none is left.
    """
    sizes = (2**n for n in range(low.bit_length() - 1, high.bit_length()))
    row = BENCHMARKS[benchmark]
    fitting = [size for size in sizes if row.fits(size, processes, room, copies)]
    if not fitting:
        raise ValueError(f"no message of {benchmark} fits into {low}:{high} bytes")
    return fitting


#: Title -> the first program of it, without its prefix `osu_`.
_PROGRAMS = {row.title: name for name, row in reversed(BENCHMARKS.items())}

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
    "Overall(us)": "overall",
    "# Overall(us)": "overall",
    "Compute(us)": "compute",
    "Coll. Init(us)": "init",
    "MPI_Test(us)": "test",
    "MPI_Wait(us)": "wait",
    "Pure Comm.(us)": "latency",
    "Min Comm.(us)": "min",
    "Max Comm.(us)": "max",
    "Overlap(%)": "overlap",
    **{f"P{n} Tail {what}": f"p{n}" for n in range(101) for what in ("Lat(us)", "BW(MB/s)")},
}

_OVERLAP = ("overall", "compute", "latency", "overlap")

#: What `-d` adds to a title, and the line of one-sided programs, and before 7.0 of others.
_ON_GPU = re.compile(r"(?<=OSU MPI)(\w*)-(CUDA|ROCM)(?= )")
_PLACES = re.compile(
    r"# (?:Send Buffer|Rank 0 Memory) on (DEVICE \(D\)|HOST \(H\)) "
    r"and (?:Receive Buffer|Rank 1 Memory) on (DEVICE \(D\)|HOST \(H\))\Z"
)
_TITLE = re.compile(r"# (?P<title>OSU .+) v(?P<version>\d\S*)\s*\Z")
_PAIRS = re.compile(r"# \[ pairs: (?P<n>\d+) \] \[ window size: \d+ \]\Z")
_COMMENT = re.compile(
    r"# (Datatype: \w+\.|(Window creation|Synchronization): \S+"
    r"|Overall = Coll\. Init \+ Compute \+ MPI_Test \+ MPI_Wait)\Z"
)
_INIT = re.compile(
    r"nprocs: (?P<n>\d+), min: (?P<min>\d+) ms, max: (?P<max>\d+) ms, avg: (?P<avg>\d+) ms\Z"
)
_NARROW = re.compile(r"\d+ +\S+(?<=^.{20})(?!\S)")
_TAIL = re.compile(r"p(\d+)\Z")
_HELLO = re.compile(r"This is a test with (?P<n>\d+) processes\Z")
_LAUNCH = re.compile(r"launched in (?P<us>\d+) us\Z")


def version_in(program: bytes) -> tuple[int, ...]:
    """Return the version that a program prints, as its file has it; empty: it has none."""
    found = SUITE.version_in(program)
    return tuple(map(int, found.split("."))) if found else ()


def parse(
    text: str, source: str = "stdout", processes: int = 0, program: str = "", gpu: str = ""
) -> "Output":
    """Read the output of one run of an OMB program; `processes` is 0 where they are not known.

    `program` is the one that ran, where several have its title: else it is the first of them.
    `gpu` is what its buffers were asked to be of, `cuda-DD`; empty: of the host.
    Raises ParseError, with the line, for anything but a consistent output. That the last lines
    are missing shows only in the message sizes, which the caller knows.
    """
    output = Output(text, source)
    output.processes, output.program, output.gpu = processes, program, gpu
    for line in output.lines():
        output.read_line(line)
    output.check_whole()
    return output


class Output(Tables):
    """An output of OMB, which has one table."""

    suite = "OMB"
    # A wide one of a percentile has a single blank before it.
    name = re.compile(r"P\d+ Tail \S+|\S+(?: (?!P\d)\S+)*")
    names = _NAMES
    # A message rate is 1e6 times the bandwidth over the size (osu_mbw_mr.c). The first process may
    # wait for no one.
    above_zero = ("latency", "max", "bandwidth", "messages", "avg", "launch", "overall", "compute")
    times = ("min", "latency", "max")

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        #: Those that were asked for, and those that the output tells.
        self.processes = self.told = 0
        self.program, self.gpu, self.ended = "", "", False
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

    def require_comment(self, key: str, value: str) -> None:
        """Raise ParseError unless the output says that it ran as it was asked to."""
        if (wanted := f"# {key}: {value}") not in self.comments:
            self.stand(self.tables[0].number)
            raise self.error(f"no line {wanted!r}, which was asked for")

    def read_line(self, line: str) -> None:
        """Read a line of any kind."""
        if title := _TITLE.match(line):
            self._read_title(title["title"], title["version"])
        elif self.tables and line.strip():
            self._read_in_table(self.tables[0], line.strip())

    def _read_title(self, title: str, version: str) -> None:
        found = _ON_GPU.search(title)
        title = _ON_GPU.sub(r"\1", title)
        if title not in _PROGRAMS:
            raise self.error("the title of a program that is not known")
        told = BENCHMARKS.get(self.program)
        name = self.program if told and told.title == title else _PROGRAMS[title]
        new = Table(name, self.number, self.processes)
        kind = "" if name in _SILENT else self.gpu.partition("-")[0].upper()
        if (found[2] if found else "") != kind:
            raise self.error(f"not the title of buffers of {self.gpu or 'the host'}")
        if not self.tables:
            self.tables, self.benchmark, self.version = [new], new.benchmark, version
        # mbw_mr of 6.0 to 7.2 prints its title twice.
        elif self.tables[0].columns or self.told or new.benchmark != "mbw_mr":
            raise self.error("a second title: two runs in one output")

    def _read_in_table(self, table: Table, stripped: str) -> None:
        program = table.benchmark
        # It ends without MPI_Finalize (7.2), which MPICH's launcher tells below the table.
        self.ended |= program == "latency_mt" and bool(table.rows) and {*stripped} == {"="}
        if self.ended:
            return
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
        elif match := _PLACES.match(stripped):
            if (told := match[1][0] + match[2][0]) != self.gpu[-2:]:
                raise self.error(f"buffers of {told}, not of {self.gpu or 'the host'}")
        elif _COMMENT.match(stripped) and stripped not in self.comments:
            self.comments.add(stripped)
        # mbw_mr of 5.6 prints the header of another program before its own.
        # That of ibarrier up to 7.1 does not begin like one.
        elif stripped.startswith(("#", "Overall")) and (program != "mbw_mr" or self.told):
            row = BENCHMARKS[program]  # without its columns a table says nothing
            names = ["size"] * row.sized + [column.name for column in row.columns]
            # Those of bw_fan_in and bw_fan_out call their bandwidth a latency (7.4).
            called_latency = row.family == "congestion" and "Bandwidth" not in stripped
            self.read_header(table, stripped, ["size", "latency"] if called_latency else names)
            if called_latency:
                table.columns = tuple(c if c == "size" else "bandwidth" for c in table.columns)
            if "size" in table.columns:
                self.edges[0] = None
        elif table.columns:
            # latency_mp prints its time as if that column were narrower than its name (7.4).
            if program == "latency_mp" and not table.rows and _NARROW.match(self.line):
                self.edges = [edge and edge - (self.edges[1] or 0) + 20 for edge in self.edges]
            self.read_row(table, stripped.split())
        elif not stripped.startswith("#"):
            raise self.error("a line between the title and the header")

    def add_row(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Add the row on which the reader stands, unless its values cannot be.

        Of an atomic operation, which has one row, the size is no message's.
        """
        tails = {int(name[1]): values[name[0]] for name in map(_TAIL.match, values) if name}
        ascending = [tails[n] for n in sorted(tails)]
        if ascending != sorted(ascending):
            raise self.error("a percentile is less than a lower one")
        if "overlap" in values:
            self._check_overlap(**{name: values[name] for name in _OVERLAP})
        super().add_row(table, size if BENCHMARKS[table.benchmark].sized else None, values)

    def _check_overlap(
        self, overall: float, compute: float, latency: float, overlap: float
    ) -> None:
        """Compare the overlap (%) with the times (us) of its line (print_stats_nbc)."""
        left, alone = overall - compute, max(latency, HALF)
        shares = [
            (left + beside) / (alone + off)
            for beside in (-2 * HALF, 2 * HALF)
            for off in (-HALF * (1 - SLACK), HALF)
        ]
        least, most = (max(0.0, 100 - 100 * share) for share in (max(shares), min(shares)))
        if not least - 2 * HALF <= overlap <= most + 2 * HALF:
            raise self.error(
                f"the overlap {overlap:.2f} is not that of its line: {overall:.2f} us, of which "
                f"{compute:.2f} us compute, where {latency:.2f} us communicate alone"
            )

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
