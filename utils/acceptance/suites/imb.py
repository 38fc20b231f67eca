"""Intel MPI Benchmarks (IMB) 2018 to 2021: a row for each benchmark, and how it is asked for.

Each component of IMB is a program, which is the family of its benchmarks here: `IMB-NBC` those of
`nbc`. Sources: the IMB user guide 2021 ("Benchmark definitions", `-msglog`, `-mem`), and of 2021.11
IMB_bnames_*.h, IMB_parse_name_*.c, helper_IMB_functions.h (which sizes, on how many processes),
MT_suite.cpp, imb_p2p_*.c and halo_suite.cpp.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

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
    #: The version that it came with, where that is later than 2018's first.
    since: str = field(default="", kw_only=True)
    #: The number of processes is a multiple of this.
    multiple: int = field(default=1, kw_only=True)

    @property
    def program(self) -> str:
        """Return the program that has it."""
        return "IMB-MPI1-GPU" if self.family == "gpu" else f"IMB-{self.family.upper()}"

    @property
    def messages(self) -> int:
        """Return half of what is counted, where it is sent and received."""
        return max(1, self.counted // 2)

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
    _collective("Reduce_local", reduction=True, since_mode="acceptance", since="2019 Update 2"),
    # IMB up to "2019" spreads the bytes over the ranks; from "2019 Update 1" on each rank gets
    # them. Built with IMB2018 it spreads them, too, and calls itself "2018".
    _collective("Reduce_scatter", operation="Reduce_scatter", reduction=True, part=True,
                whole_in=r"IMB (201[0-8]\b.*|2019)"),
    _collective("Reduce_scatter_block", reduction=True, part=True, since_mode="acceptance",
                since="2019 Update 1"),
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


def _on_gpus() -> Iterator[ImbBenchmark]:
    """Yield what is as in IMB-MPI1, with all buffers on GPUs (CUDA)."""
    for row in _MPI1:
        if row.sized and row.name != "Reduce_local":
            made = replace(row, family="gpu", operation="", since_mode="acceptance")
            yield replace(made, since_mode="nightly") if row.since_mode == "smoke" else made


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
    _P2P("Stencil2D", multiple=4, since="2019 Update 6"),
    _P2P("Stencil3D", multiple=8, since="2019 Update 6"),
    _P2P("SendRecv_Replace", since="2021.1"),
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
    *_on_gpus(),
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
    version=rb"Intel ?\(R\) MPI Benchmarks (?:Suite V)?(\d(?:[.\d]| Update )*)",
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
    benchmark: str, processes: int, count: int, low: int, sizes: Sequence[int]
) -> list[str]:
    """Return how a program is asked for one benchmark, `count` repetitions, and no other processes.

    `sizes` are its message sizes (bytes; empty: it has none), the first one above zero 2^`low`.
    """
    row = BENCHMARKS[benchmark]
    if row.family in ("mt", "halo"):
        # Small messages end what they warm up long before 100 of them.
        found = [row.name, f"-repeat {count}", "-warmup 10"]
        found += ["-thread_level multiple"] if row.family == "mt" else []
        unit, kind = (SIZE_OF_FLOAT, "int") if row.reduction else (1, "char")
        counts = ",".join(str(size // unit) for size in sizes)
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


#: Bytes of the messages of a size at most, and of those of IMB-P2P; and how often at most each
#: operation is completed for itself (OVERALL_VOL, iter.numerator, MSGS_NONAGGR).
_VOLUME, _VOLUME_P2P, _ONE_BY_ONE = 40 * 2**20, 800 * 2**20, 100
#: Seconds that a size takes at most, by a first try of at most one (SECS_PER_SAMPLE).
SECONDS = 10.0


def repeated(benchmark: str, mode: str, size: int | None, count: int) -> int:
    """Return how often a message of a size is repeated at most, where `count` was asked for.

    `mode` is that of its table. Sources: IMB 2019.0 to 2021.11, IMB_init_buffers_iter
    (helper_IMB_functions.h), get_iters (imb_p2p.h) and MT_benchmark.h.
    """
    row = BENCHMARKS[benchmark]
    if not size or row.family in ("mt", "halo"):
        bound = count
    else:
        bound = max(1, (_VOLUME_P2P if row.family == "p2p" else _VOLUME) // size)
    one_by_one = mode == SINGLE or row.name in ("Window", "Open_Close")
    return min(count, bound, _ONE_BY_ONE) if one_by_one else min(count, bound)


def counts_size(benchmark: str, column: Column, size: int | None) -> bool:
    """Tell whether a row of this size (bytes; None: a table without sizes) is a metric.

    An empty message has no bandwidth, and an operation on no data has no time worth a name.
    """
    row = BENCHMARKS[benchmark]
    is_message = row.family in ("mpi1", "gpu") and row.point_to_point
    return size != 0 or (is_message and column != BANDWIDTH)
