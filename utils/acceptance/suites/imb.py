"""Intel MPI Benchmarks (IMB) 2018 to 2021: a row for each benchmark that is run, and its output.

Each component of IMB is a program, which is the family of its benchmarks here: `IMB-NBC` those of
`nbc`. The form, of which each run of a benchmark prints one table::

    #    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
    # Benchmarking Sendrecv
    # #processes = 2
    # ( 2 additional processes waiting in MPI_Barrier)
           #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
                0           50         0.29         0.29         0.29         0.00
                1           50         0.18         0.19         0.18        10.73

    # All processes entering MPI_Finalize

Where an operation can be completed at once or many together, there is a table of each, called
`#    MODE: NON-AGGREGATE` and `#    MODE: AGGREGATE`. IMB-MT prints no last line and tells
`(threads: 1)` with the processes. IMB-HALO has no first line either, and no tables::

    # Benchmarking simple_halo (processes: 2; threads: 1; dimensions: 1)
    4(x4)(bytes) 0.58435(usec) 27.3809(Mb/s)

Times are in us; Mbytes are 10^6 bytes since IMB 2018 (2^20 up to IMB 4, which this parser
refuses). Numbers are printed with `%13d`, `%13.2f` and the message rate with `%13.0f`, names in the
header with `%13s`, and all of IMB-HALO with `%g`.

Sources: the IMB user guide 2021 ("Benchmark definitions", "Reported throughput", `-msglog`,
`-mem`), outputs of IMB 2021.7 and 2021.11, of 2018.0 to 2021.11 the functions IMB_edit_format,
IMB_display_times and IMB_calculate_times (IMB_output.c), and of 2021.11 IMB_bnames_*.h,
IMB_parse_name_*.c, helper_IMB_functions.h (which sizes, on how many processes), MT_benchmark.h,
imb_p2p_*.c and halo_benchmark.h.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from acceptance.suites.output import HALF, SLACK, Range, Table, Tables
from acceptance.suites.records import SIZE_OF_FLOAT, WHEELS, Benchmark, Column, Suite

# `latency` is the time of a message between two processes, `time` that of any other operation:
# t_max, since the operation is over when its last process is.
LATENCY = Column("t", "latency", "us")
TIME = Column("t_max", "time", "us")
BANDWIDTH = Column("bandwidth", "bandwidth", "MB/s")
RATE = Column("messages", "message_rate", "1/s")
#: Of an operation that computation goes on beside: its time alone, that of both, and how much is
#: hidden.
PURE = Column("t_pure", "time", "us")
OVERALL = Column("t_ovrl", "overall", "us")
OVERLAP = Column("overlap", "overlap", "%")

#: What IMB calls its two modes, and how the columns of the second one begin in a joined table.
SINGLE, MANY, PREFIX = "NON-AGGREGATE", "AGGREGATE", "aggregate_"


@dataclass(frozen=True)
class ImbBenchmark(Benchmark):
    """A benchmark of IMB; its family is the component, a program of its own."""

    #: Bytes that the printed bandwidth counts for its time, as a multiple of the message size; 0:
    #: it follows from the message rate, or there is none.
    counted: int = field(default=0, kw_only=True)
    #: The modes of its tables.
    modes: tuple[str, ...] = field(default=(), kw_only=True)
    #: One process works, the others wait.
    alone: bool = field(default=False, kw_only=True)
    #: The number of processes is a multiple of this.
    multiple: int = field(default=1, kw_only=True)

    @property
    def program(self) -> str:
        """Return the program that has it."""
        return f"IMB-{self.family.upper()}"

    def runs_with(self, processes: int) -> bool:
        """Tell whether it runs, and ends, with this number of processes."""
        return super().runs_with(processes) and processes % self.multiple == 0


def _both(*columns: Column) -> tuple[Column, ...]:
    """Return the columns of a benchmark with two modes, those of many at once as well."""
    many = (Column(PREFIX + each.name, PREFIX + each.stem, each.unit) for each in columns)
    return (*columns, *many)


_messages = partial(ImbBenchmark, point_to_point=True, family="mpi1")
_collective = partial(ImbBenchmark, columns=(TIME,), family="mpi1")

# One message at a time, of the size over its time.
_PINGPONG = _messages("PingPong", (LATENCY, BANDWIDTH), processes="two", link_factor=1, counted=1,
                      one_way=True, one_message=True, since_mode="smoke")  # fmt: skip
# Two messages cross each other; only one of them is counted.
_PINGPING = _messages("PingPing", (LATENCY, BANDWIDTH), processes="two", link_factor=1, counted=1)

_MPI1 = (
    _PINGPONG,
    _PINGPING,
    # The receiver names the sender, which is what both do without a word, or takes any.
    *(
        replace(row, name=row.name + source, since_mode="acceptance")
        for row in (_PINGPONG, _PINGPING)
        for source in ("SpecificSource", "AnySource")
    ),
    # 2X/t: each process sends one message and receives one. Each node at the edge of the chain
    # sends and receives a message over the link, wherever the other processes are.
    _messages("Sendrecv", (TIME, BANDWIDTH), link_factor=2, counted=2, since_mode="smoke"),
    # 4X/t: each process sends to both neighbours and receives from both. Each node sends two
    # messages and receives two over the link.
    _messages("Exchange", (TIME, BANDWIDTH), link_factor=2, counted=4),
    # The first half of the processes talks to the second.
    _messages("Uniband", (BANDWIDTH, RATE), link_factor=1, pair_sum="longest"),
    _messages("Biband", (BANDWIDTH, RATE), link_factor=2, pair_sum="longest"),
    _collective("Allreduce", operation="Allreduce", reduction=True, since_mode="smoke"),
    _collective("Reduce", operation="Reduce", reduction=True, rooted=True),
    # Nothing is sent.
    _collective("Reduce_local", reduction=True, since_mode="acceptance"),
    # IMB up to "2019" spreads the bytes over the ranks; from "2019 Update 1" on each rank gets
    # them. Built with IMB2018 it spreads them, too, and calls itself "2018".
    _collective("Reduce_scatter", operation="Reduce_scatter", reduction=True, part=True,
                whole_in=r"IMB (201[0-8]\b.*|2019)"),
    _collective("Reduce_scatter_block", reduction=True, part=True, since_mode="acceptance"),
    _collective("Allgather", operation="Allgather", part=True),
    _collective("Allgatherv", part=True),
    _collective("Alltoall", operation="Alltoall", part=True, since_mode="smoke"),
    _collective("Alltoallv", part=True, since_mode="acceptance"),
    _collective("Bcast", operation="Bcast", rooted=True),
    _collective("Gather", operation="Gather", part=True, rooted=True),
    _collective("Gatherv", part=True, rooted=True, since_mode="acceptance"),
    _collective("Scatter", operation="Scatter", part=True, rooted=True),
    _collective("Scatterv", part=True, rooted=True, since_mode="acceptance"),
    _collective("Barrier", sized=False, since_mode="smoke"),
)  # fmt: skip


def _beside_computation(family: str, form: str) -> Iterator[ImbBenchmark]:
    """Yield what is made of the collective operations: beside computation, and alone (`_pure`)."""
    for row in _MPI1:
        if row.point_to_point or row.name in ("Reduce_local", "Reduce_scatter_block"):
            continue
        name = form.format(row.name, row.name.lower())
        made = replace(row, name=name, family=family, operation="", since_mode="acceptance")
        beside = replace(made, columns=(PURE, OVERALL, OVERLAP))
        yield replace(beside, since_mode="nightly") if name == "Iallreduce" else beside
        yield replace(made, name=f"{name}_pure")


_once = partial(ImbBenchmark, since_mode="acceptance")
_RMA = partial(_once, columns=_both(LATENCY, BANDWIDTH), family="rma", point_to_point=True,
               processes="two", link_factor=1, counted=1, modes=(SINGLE, MANY))  # fmt: skip
_rma_all = partial(_once, columns=(TIME,), family="rma")
_ONE_SIDED = (
    _RMA("Unidir_put", since_mode="nightly"),
    _RMA("Unidir_get"),
    _RMA("Bidir_put"),
    _RMA("Bidir_get"),
    _RMA("Put_local"),
    _RMA("Get_local"),
    _RMA("Accumulate", reduction=True),
    _RMA("Get_accumulate", reduction=True),
    # Of one element.
    _RMA("Fetch_and_op", sizes=(SIZE_OF_FLOAT,)),
    _RMA("Compare_and_swap", sizes=(SIZE_OF_FLOAT,)),
    # The target waits in MPI, or computes first.
    _RMA("Truly_passive_put", columns=(PURE, OVERALL), link_factor=None, counted=0, modes=()),
    # One process reaches into the memory of all others; the bytes of one of them are counted.
    *(
        _rma_all(name, columns=(Column("t", "time", "us"), BANDWIDTH), counted=1)
        for name in ("One_put_all", "One_get_all", "Put_all_local", "Get_all_local")
    ),
    *map(_rma_all, ("All_put_all", "All_get_all", "Exchange_put", "Exchange_get")),
)

# Sizes begin with one float, whatever moves.
_EXT = partial(_RMA, family="ext", reduction=True, modes=(MANY, SINGLE))
_EXTENDED = (
    _once("Window", (TIME,), family="ext", reduction=True),
    *map(_EXT, ("Unidir_Get", "Unidir_Put", "Bidir_Get", "Bidir_Put")),
    _once("Accumulate", _both(TIME), family="ext", reduction=True, modes=(MANY, SINGLE)),
)

# Sums of all processes: of messages both ways, and of pairs that chance chooses.
_P2P = partial(_once, columns=(LATENCY, BANDWIDTH, RATE), family="p2p", point_to_point=True)
_BETWEEN = (
    _P2P("PingPong", processes="even", link_factor=2, pair_sum="longest"),
    _P2P("PingPing", processes="even", link_factor=2, pair_sum="longest"),
    _P2P("Unirandom"),
    _P2P("Birandom"),
    _P2P("Corandom"),
    _P2P("Stencil2D", multiple=4),
    _P2P("Stencil3D", multiple=8),
    _P2P("SendRecv_Replace"),
)

# Of each pair; the first half of the processes talks to the second.
_MT = partial(_once, family="mt", point_to_point=True, processes="even", link_factor=1, counted=1)
_ALL_THREADS = partial(_once, columns=(TIME,), family="mt")
_THREADS = (
    _MT("PingPongMT", (Column("t_max", "latency", "us"), BANDWIDTH)),
    _MT("PingPingMT", (Column("t_max", "latency", "us"), BANDWIDTH)),
    _MT("SendRecvMT", (TIME, BANDWIDTH), link_factor=2, counted=2),
    _MT("ExchangeMT", (TIME, BANDWIDTH), link_factor=2, counted=4),
    _MT("UniBandMT", (BANDWIDTH, RATE), pair_sum="longest", counted=0),
    _MT("BiBandMT", (BANDWIDTH, RATE), link_factor=2, pair_sum="longest", counted=0),
    _ALL_THREADS("AllReduceMT", reduction=True),
    _ALL_THREADS("BcastMT", rooted=True),
    _ALL_THREADS("ReduceMT", reduction=True, rooted=True),
    _ALL_THREADS("BarrierMT", sized=False),
)


def _files() -> Iterator[ImbBenchmark]:
    """Yield what reads and writes files: one process (S), each for itself (P), or all (C)."""
    _io = partial(_once, family="io")
    rate = Column("bandwidth", "io_bandwidth", "MB/s")
    for who, pointers in (("S", "Indv Expl"), ("P", "Indv Expl Shared Priv"),
                          ("C", "Indv Expl Shared")):  # fmt: skip
        time = Column("t" if who == "S" else "t_max", "io_time", "us")
        beside = (Column("t_pure", "io_time", "us"), Column("t_ovrl", "io_overall", "us"))
        row = _io("", (), alone=who == "S", processes="two" if who == "S" else "any", counted=1)
        for pointer in pointers.split():
            for verb in ("Write", "Read"):
                modes = (MANY, SINGLE) if verb == "Write" else (MANY,)
                columns = _both(time, rate) if verb == "Write" else (time, rate)
                name = f"{who}_{verb}_{pointer}"
                yield replace(row, name=name, columns=columns, modes=modes)
                name = f"{who}_I{verb}_{pointer}"
                shown = (*beside, OVERLAP)
                yield replace(row, name=name, columns=shown, modes=(MANY,), counted=0)
    yield _io("Open_Close", (Column("t_max", "io_time", "us"),), sized=False)


_ROWS = (
    *_MPI1,
    *_beside_computation("nbc", "I{1}"),
    *_beside_computation("mpi4", "{0}_persist"),
    *_ONE_SIDED,
    *_EXTENDED,
    *_BETWEEN,
    *_THREADS,
    *_files(),
    # Each process sends to its neighbours in a grid, and receives from them.
    _once("simple_halo", (Column("t", "time", "us"), BANDWIDTH), family="halo"),
)


def key_of(family: str, name: str) -> str:
    """Return how a benchmark of a component is called; those of IMB-MPI1 by their names alone."""
    return name if family == "mpi1" else f"{family}.{name}"


#: Key -> benchmark.
BENCHMARKS = {key_of(row.family, row.name): row for row in _ROWS}

#: The suite.
SUITE = Suite(
    "imb",
    "Intel MPI Benchmarks",
    ("IMB-MPI1",),
    WHEELS,
    {f"imb.{key}": row for key, row in BENCHMARKS.items()},
)


def asked_sizes(benchmark: str, low: int, high: int) -> list[int]:
    """Return the message sizes (bytes above zero) that 2^low to 2^high ask for."""
    row = BENCHMARKS[benchmark]
    if row.sizes:
        return [*row.sizes]
    # IMB-EXT begins with one float where others would with more bytes.
    first = min(low, 2) if row.family == "ext" else low
    # Large messages are repeated as often as small ones.
    last = min(high, _LARGE) if row.family in ("mt", "halo") else high
    return [2**n for n in range(first, last + 1)]


def message_sizes(
    benchmark: str, processes: int, low: int, high: int, room: float | None = None
) -> list[int]:
    """Return the message sizes (bytes) that IMB prints for 2^low to 2^high; most add the size 0.

    Those that `Benchmark.fits` leaves out are not asked for; `room` is as there.
    """
    row = BENCHMARKS[benchmark]
    asked = asked_sizes(benchmark, low, high)
    fitting = [size for size in asked if row.fits(size, processes, room)]
    return fitting if row.sizes or row.family in _NOT_EMPTY else [0, *fitting]


#: Exponent of two of the largest message (bytes) of IMB-MT and IMB-HALO.
_LARGE = 20
#: Families that send no empty message unless they are asked for it.
_NOT_EMPTY = ("p2p", "mt", "halo")


def options(
    benchmark: str, processes: int, count: int, low: int, sizes: Sequence[int], threads: int = 1
) -> list[str]:
    """Return how a program is asked for one benchmark, `count` repetitions, and no other processes.

    `sizes` are its message sizes (bytes; empty: it has none), the first one above zero 2^`low`; of
    IMB-MT what all threads of a process send.
    """
    row = BENCHMARKS[benchmark]
    if row.family in ("mt", "halo"):
        # Small messages end what they warm up long before 100 of them.
        found = [row.name, f"-repeat {count}", "-warmup 10"]
        found += ["-thread_level multiple"] if row.family == "mt" else []
        unit, kind = (SIZE_OF_FLOAT, "int") if row.reduction else (1, "char")
        counts = ",".join(str(size // unit // threads) for size in sizes)
        return [*found, f"-datatype {kind} -count {counts}"] if sizes else found
    found = [row.name, f"-iter {count}"]
    found += [f"-npmin {processes}"] if row.family != "p2p" else []
    return [*found, f"-msglog {low}:{sizes[-1].bit_length() - 1}"] if sizes else found


def in_grid(grid: str, processes: int) -> int:
    """Return how many of the processes, or more than there are, IMB-HALO takes for a grid.

    Source: fill_in of halo_suite.cpp. Raises ValueError unless a grid is like 2.2.1.
    """
    if not re.fullmatch(r"[1-9]\d*(\.[1-9]\d*)*", grid, re.ASCII):
        raise ValueError(f"grid is {grid!r}; it must be whole numbers, for example 2.2.1")
    sides = [*map(int, grid.split("."))]
    needed = math.prod(side // math.gcd(*sides) for side in sides)
    if processes // needed >= 2 ** len(sides):
        needed *= int(processes ** (1 / len(sides))) ** len(sides)
    return needed


def repetitions(benchmark: str) -> int:
    """Return how often IMB repeats small messages; with rates each is a window of 64 messages.

    IMB-MT and IMB-HALO repeat large ones as often, and files are slow.
    """
    row = BENCHMARKS[benchmark]
    few = row.family in ("mt", "halo", "io") or (RATE in row.columns and row.family != "p2p")
    return 100 if few else 1000


def counts_size(benchmark: str, column: Column, size: int | None) -> bool:
    """Tell whether a row of this size (bytes; None: a table without sizes) is a metric.

    An empty message has no bandwidth, and an operation on no data has no time worth a name.
    """
    row = BENCHMARKS[benchmark]
    is_message = row.family == "mpi1" and row.point_to_point
    return size != 0 or (is_message and column != BANDWIDTH)


#: What the first line calls a component -> its family.
_FAMILIES = {
    "MPI-1": "mpi1", "MPI-2": "ext", "MPI-NBC": "nbc", "MPI-RMA": "rma", "MPI-IO": "io",
    "MPI-4": "mpi4", "IMB-P2P": "p2p", "MT": "mt",
}  # fmt: skip
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

_VERSION = re.compile(
    r"#\s+Intel ?\(R\) MPI Benchmarks? (?:Suite )?V?(?P<version>[\w. ]+?), (?P<part>\S+) part"
)
_BENCHMARK = re.compile(r"# Benchmarking (?P<name>\S+)(?: \(\d+( x \d+)+\))?\s*\Z")
_MODE = re.compile(rf"#\s+MODE: (?P<mode>{SINGLE}|{MANY})\s*\Z")
_PROCESSES = re.compile(r"# #processes = (?P<n>\d+)(?: \(threads: (?P<threads>\d+)\))?\s*\Z")
_HALO = re.compile(
    r"# Benchmarking simple_halo "
    r"\(processes: (?P<n>\d+); threads: (?P<threads>\d+); dimensions: \d+\)\Z"
)
_HALO_ROW = re.compile(
    r"(?P<size>[^( ]+)\(x(?P<messages>[^) ]+)\)\(bytes\) "
    r"(?P<time>\S+)\(usec\) (?P<rate>\S+)\(Mb/s\)\Z"
)
_GENERAL = re.compile(r"\d+(\.\d+)?(e[-+]\d\d)?\Z", re.ASCII)
_MPI = re.compile(r"# MPI Version\s+: (?P<version>\S+)")
#: What IMB writes instead of a row's values where it gives a message size up -> what that means.
#: Source: IMB 2021.7 and 2021.11, src_c/IMB_output.c, the cases of `sample_failure`.
_GIVEN_UP = {
    "time-out.;": "IMB gave this size up: its time limit (-time) was over",
    "out-of-mem.;": "IMB gave this size up: it needs more memory than its limit (-mem)",
    "int-overflow.;": "IMB gave this size up: the bytes of all ranks are more than an int holds",
}
# Since 2021.8.
_GIVEN_UP["int-overflow;"] = _GIVEN_UP["int-overflow.;"]
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
    above_zero = ("t", "t_max", "t_avg", "t_pure", "t_ovrl")
    times = ("t_min", "t_avg", "t_max")
    half_rate = 0.5

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.finished = False
        #: The component, and how many threads each process has.
        self.family = ""
        self.threads = 1

    @property
    def row(self) -> ImbBenchmark:
        """Return the row of the benchmark that the reader stands in."""
        return BENCHMARKS[key_of(self.family, self.benchmark)]

    def only_table(self, benchmark: str, processes: int) -> Table:
        """Return the one table of a run, or its two joined: see `Tables.only_table`."""
        row = BENCHMARKS[benchmark]
        self.stand()
        if self.family != row.family:
            self.benchmark = row.name
            raise self.error(
                f"the output is that of IMB-{self.family.upper()}, not of {row.program}"
            )
        count, processes = max(1, len(row.modes)), 1 if row.alone else processes
        tables = self.only_tables(row.name, processes, count)
        modes = sorted(table.mode for table in tables if table.mode)
        if modes != sorted(row.modes):
            raise self.error(f"tables of the modes {modes} instead of {sorted(row.modes)}")
        return self._joined(*sorted(tables, key=lambda table: table.mode != SINGLE))

    def _joined(self, first: Table, second: Table | None = None) -> Table:
        """Return a table with the columns of a second one, of the other mode, as well."""
        if second is None:
            return first
        many = {each.size: each for each in second.rows}
        if [*many] != [each.size for each in first.rows]:
            self.stand(second.number)
            raise self.error("the tables of both modes have other message sizes")
        return replace(
            first,
            columns=(*first.columns, *(PREFIX + name for name in second.columns[1:])),
            rows=[
                replace(
                    each,
                    values=each.values
                    | {PREFIX + name: value for name, value in many[each.size].values.items()},
                )
                for each in first.rows
            ],
        )

    def check_whole(self) -> None:
        """Refuse an output of which a part is missing."""
        if not self.family:
            first = next(line for line in self.text.splitlines() if line.strip())
            self.benchmark = ""
            self.stand(0, first)
            raise self.error("this is no output of IMB, or not its beginning")
        if self.family in ("mt", "halo"):
            self.require_last_line()
        elif not self.finished:
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
        if (match := _VERSION.match(line) or _HALO.match(line)) and self.family:
            raise self.error("the output of a second run")
        if match := _VERSION.match(line):
            self.version = match["version"]
            self.check_version(self.version)
            self.family = _FAMILIES.get(match["part"], "")
            if not self.family:
                raise self.error(f"a component of IMB that is not known: {match['part']}")
        elif match := _HALO.match(line):
            self.family, self.threads = "halo", int(match["threads"])
            self.begin(Table("simple_halo", self.number, int(match["n"])))
        elif match := _MPI.match(line):
            self.mpi_standard = match["version"]
        elif match := _BENCHMARK.match(line):
            self.begin(Table(match["name"], self.number))
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

    def begin(self, table: Table) -> None:
        """Begin with a table."""
        self.benchmark = table.benchmark
        if not self.family:
            return  # an output without its beginning, which is refused at its end
        if key_of(self.family, table.benchmark) not in BENCHMARKS:
            raise self.error(f"a benchmark of IMB-{self.family.upper()} that is not known")
        self.tables.append(table)

    def read_in_table(self, table: Table, stripped: str) -> None:
        """Read a line between two titles."""
        if match := _PROCESSES.match(self.line):
            table.processes = int(match["n"])
            self.threads = int(match["threads"] or 1)
        elif match := _MODE.match(self.line):
            if table.mode:
                raise self.error("a second mode of one table")
            table.mode = match["mode"]
        elif self.family == "halo" and stripped:
            self.read_halo(table, stripped)
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

    def read_halo(self, table: Table, stripped: str) -> None:
        """Read a line of IMB-HALO, in which all of the messages of a process are counted."""
        self.require_whole_line()
        if not (match := _HALO_ROW.match(stripped)):
            raise self.error("that is no line as IMB-HALO prints them")
        size, messages = self.integer(match["size"]), self.integer(match["messages"])
        time, rate = (self.general(match[name]) for name in ("time", "rate"))
        if not time.under(size * messages).agrees(rate, slack=SLACK):
            raise self.error(
                f"the bandwidth {rate.value:g} is not that of its line, {size * messages} bytes in "
                f"{time.value:g} us: {size * messages / time.value:g}"
            )
        table.columns = ("size", "t", "bandwidth")
        self.add_row(table, size, {"t": time.value, "bandwidth": rate.value})

    def general(self, token: str) -> Range:
        """Read a number above zero as C++ prints it: `%g`, of six digits."""
        if not _GENERAL.match(token) or token != f"{float(token):g}" or not float(token):
            raise self.error(f"{token!r} is no number as IMB-HALO prints it")
        value = float(token)
        return Range.rounded(value, 0.5 * 10.0 ** (math.floor(math.log10(value)) - 5))

    def value(self, name: str, token: str) -> float:
        """Read a value of a column; defects are none."""
        value = super().value(name, token)
        if name == "defects" and value:
            raise self.error("the benchmark found defects in the data it received")
        return value

    def add_row(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Add a row as `Tables` does; what computation hides has to follow from its times."""
        if "overlap" in values:
            self.check_overlap(*(values[name] for name in ("t_ovrl", "t_pure", "t_cpu", "overlap")))
        super().add_row(table, size, values)

    def check_overlap(self, both: float, pure: float, computing: float, overlap: float) -> None:
        """Compare a share with its times: hidden is what both take less one after the other."""
        shared = min(pure, computing) if self.family == "io" else max(pure, computing)
        hidden = pure + computing - both
        # Within what printing has rounded off, and from nothing to all.
        ends = [
            100 * min(1.0, max(0.0, (hidden + off) / max(shared + by, HALF)))
            for off in (-3 * HALF, 3 * HALF)
            for by in (-HALF, HALF)
        ]
        if not min(ends) - 2 * HALF <= overlap <= max(ends) + 2 * HALF:
            raise self.error(
                f"the overlap {overlap:.2f} % is not that of its line: {hidden:.2f} of "
                f"{shared:.2f} us are hidden"
            )

    def check_average(
        self, low: float, average: float, high: float, processes: int, slack: float = 2 * HALF
    ) -> None:
        """Compare the times of all threads of all processes."""
        super().check_average(low, average, high, processes * self.threads, slack)

    def check_rate(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Compare what a line says twice.

        IMB-MT counts messages by the average of the times, and bytes by the longest one, which is
        at most the sum of all. IMB-P2P counts both by the longest one, and its time is the sum of
        all over the messages, halved for a PingPong.
        """
        if self.family != "mt" or "messages" not in values:
            super().check_rate(table, size, values)
            if self.family == "p2p":
                ways = 2 if table.benchmark == "PingPong" else 1
                times = Range.rounded(values["t"]).times(ways * values["messages"] / 1e6)
                if times.high * (1 + 1e-3) < 1 or times.low * (1 - 1e-3) > table.processes:
                    raise self.error(
                        f"{values['messages']:.0f} messages a second of {values['t']:.2f} us are "
                        f"those of {times.value:.2f} processes"
                    )
            return
        pairs = table.processes * self.threads // 2
        rate = Range(values["messages"], values["messages"], values["messages"] + 1)
        if not Range.rounded(values["t_avg"]).under(1e6 * pairs).agrees(rate, slack=SLACK):
            raise self.error(
                f"{rate.value:.0f} messages a second of {pairs} pairs are not one in "
                f"{values['t_avg']:.2f} us of each"
            )
        most, bandwidth = rate.high * (size or 0) / 1e6, values["bandwidth"]
        least = rate.low * (size or 0) / 1e6 / (table.processes * self.threads)
        if not least * (1 - SLACK) - HALF <= bandwidth <= most * (1 + SLACK) + HALF:
            raise self.error(
                f"the bandwidth {bandwidth:.2f} is not that of its line, {rate.value:.0f} messages "
                f"of {size} bytes a second: {most:.2f} at most"
            )
        values["bandwidth"] = bandwidth or most

    def moved(self, table: Table, size: int) -> int | None:
        """Return the bytes that a bandwidth counts."""
        return size * self.row.counted if self.row.counted else None

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
