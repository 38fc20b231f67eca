"""HPC Challenge (HPCC): the metrics of one run, and the ratios of Saini et al. 2006.

HPCC names a test by how it runs: G (global, over all processes), EP (embarrassingly parallel, each
process for itself at the same time; the value is the average of one process) and Single (one
process, the others wait). What the slowest process of an EP test had ends with `-min`. STREAM has
none: the processes give themselves one result, from the shortest times of any of them. And
Single-STREAM is never below the EP-STREAM of the same run, because HPCC keeps the best times of
that (STREAM/stream.c). Sources: HPCC 1.5.0, src/io.c, for the summary; Saini et al. 2006, Section
4.1 and Table 2, for the ratios.

And the input file, `hpccinf.txt`, with the matrix from which all its tests take their size. HPCC
finds values by the position of their line and reads the first word of it::

     1,  2  free text                         18, 19  NDIV: panels that it splits into
     3,  4  output file, device: ignored      20, 21  RFACT: recursive factorisation
     5,  6  N: order of the matrix            22, 23  BCAST: broadcast of a panel
     7,  8  NB: block                         24, 25  DEPTH: look-ahead
     9      PMAP: ranks in the grid           26, 27  SWAP: of rows, and its threshold
    10      number of grids                   28, 29  L1, U: form in which they are stored
    11, 12  P, Q: rows and columns of it      30      equilibration
    13      threshold of the residuals        31      alignment (doubles)
    14, 15  PFACT: panel factorisation        32      ignored
    16, 17  NBMIN: width where it stops       33, 34  further N of PTRANS
                                              35, 36  further NB of PTRANS

Of two lines the first is the number of values on the second, except in 1 to 4, 11, 12 and 26 to
29. A line longer than 81 bytes counts as two. Without a file, or with a value that it cannot use,
HPCC ends well all the same, on defaults of its own (64 MiB a process).

Source: HPCC 1.5.0, src/io.c, hpl/testing/ptest/HPL_pdinfo.c and the source of each test; the
parameters are those that hpl/TUNING recommends.
"""

import math
from collections.abc import Collection, Iterator, Mapping

from acceptance.suites.records import Benchmark, Column, Suite

KERNELS = ("Copy", "Scale", "Add", "Triad")
#: The two ways in which a test without communication runs -> HPCC's word for it.
LOCAL = {"EP": "Star", "Single": "Single"}


#: Metric -> its key in HPCC's summary, and its unit.
METRICS = {
    column.stem: column
    for column in (
        Column("HPL_Tflops", "G-HPL", "Gflop/s"),
        Column("PTRANS_GBs", "G-PTRANS", "GB/s"),
        Column("MPIRandomAccess_GUPs", "G-RandomAccess", "GUP/s"),
        Column("MPIRandomAccess_LCG_GUPs", "G-RandomAccess-LCG", "GUP/s"),
        Column("StarRandomAccess_GUPs", "EP-RandomAccess", "GUP/s"),
        Column("StarRandomAccess_LCG_GUPs", "EP-RandomAccess-LCG", "GUP/s"),
        Column("SingleRandomAccess_GUPs", "Single-RandomAccess", "GUP/s"),
        Column("SingleRandomAccess_LCG_GUPs", "Single-RandomAccess-LCG", "GUP/s"),
        *(
            Column(f"{word}STREAM_{kernel}", f"{kind}-STREAM-{kernel}", "GB/s")
            for kind, word in LOCAL.items()
            for kernel in KERNELS
        ),
        Column("MPIFFT_Gflops", "G-FFTE", "Gflop/s"),
        Column("StarFFT_Gflops", "EP-FFTE", "Gflop/s"),
        Column("SingleFFT_Gflops", "Single-FFTE", "Gflop/s"),
        Column("StarDGEMM_Gflops", "EP-DGEMM", "Gflop/s"),
        Column("SingleDGEMM_Gflops", "Single-DGEMM", "Gflop/s"),
        # Not in the summary.
        Column("StarRandomAccess_min", "EP-RandomAccess-min", "GUP/s"),
        Column("StarRandomAccess_LCG_min", "EP-RandomAccess-LCG-min", "GUP/s"),
        Column("StarFFT_min", "EP-FFTE-min", "Gflop/s"),
        Column("StarDGEMM_min", "EP-DGEMM-min", "Gflop/s"),
        Column("MinPingPongLatency_usec", "PingPong-latency-min", "us"),
        Column("AvgPingPongLatency_usec", "PingPong-latency-avg", "us"),
        Column("MaxPingPongLatency_usec", "PingPong-latency-max", "us"),
        Column("MinPingPongBandwidth_GBytes", "PingPong-bandwidth-min", "GB/s"),
        Column("AvgPingPongBandwidth_GBytes", "PingPong-bandwidth-avg", "GB/s"),
        Column("MaxPingPongBandwidth_GBytes", "PingPong-bandwidth-max", "GB/s"),
        Column("NaturallyOrderedRingLatency_usec", "NaturalRing-latency", "us"),
        Column("RandomlyOrderedRingLatency_usec", "RandomRing-latency", "us"),
        Column("NaturallyOrderedRingBandwidth_GBytes", "NaturalRing-bandwidth", "GB/s"),
        Column("RandomlyOrderedRingBandwidth_GBytes", "RandomRing-bandwidth", "GB/s"),
    )
}
#: Ratio -> its column. It is named after the metric above, or 1, and the one below the line.
RATIOS = {
    name: Column("", name, unit)
    for name, unit in {
        "RandomRing-bandwidth/G-HPL": "B/kflop",
        "EP-STREAM-Copy/G-HPL": "B/flop",
        "EP-DGEMM/G-HPL": "1",
        "G-FFTE/G-HPL": "1",
        "G-PTRANS/G-HPL": "B/flop",
        "G-RandomAccess/G-HPL": "update/flop",
        "1/RandomRing-latency": "1/us",
    }.items()
}
#: Metrics of one process, of which a ratio has as many as there are; a ring's bandwidth is one.
_OF_ONE = ("RandomRing-bandwidth", "EP-STREAM-Copy", "EP-DGEMM")
#: Metric or ratio -> the factor that leads to its unit: from Tflop/s, from B/flop.
_FACTORS = {"G-HPL": 1000.0, "RandomRing-bandwidth/G-HPL": 1000.0}

#: G-HPL in per cent of the peak of the processors, where a partition states that.
EFFICIENCY = "G-HPL-efficiency"
#: Share of the memory from which on a run is comparable with published ones, which filled it.
COMPARABLE = 0.5
#: What stands behind the name of a STREAM kernel whose arrays lie in the cache.
IN_CACHE = "-in-cache"
#: Their messages have 8 or 2 000 000 bytes, whatever the size of the matrix.
_FIXED = (
    *(name for name in METRICS if name.startswith(("PingPong-", "NaturalRing-", "RandomRing-"))),
    "1/RandomRing-latency",
)
_DOUBLE = 8
#: STREAM's run rule: the size of an array in sums of the caches, and in elements.
_CACHES = 4
_ELEMENTS = 10**6


def in_memory(vector: int, processes: int, cache: int) -> bool:
    """Tell whether a result of STREAM is one of the memory.

    STREAM's run rule (J. McCalpin, www.cs.virginia.edu/stream/ref.html) is that each array has at
    least four times the size of all last-level caches used in the run, and at least a million
    elements. `vector` is HPCC's `STREAM_VectorSize`, the length (doubles) of an array of one
    process; `processes` are those that run it at the same time on a node, whose arrays together
    are the array of the rule; `cache` is the size (bytes) of the caches that these can use.

    EP: the processes of a node (of the emptiest, if they differ) and all last-level caches of it.
    Single: one process. It uses the cache that its core reaches, but which core that is, and
    whether the process stays there, HPCC does not tell; the caches of the whole node are a safe
    bound, which may call a result one of the cache that is not, and never the other way round.
    What is out of the cache for Single then is so for EP, whose times it keeps. Raises ValueError
    for anything below 1: a cache that is not known is not none.
    """
    if min(vector, processes, cache) < 1:
        raise ValueError(
            f"a vector of {vector} in {processes} processes and a cache of {cache} bytes; "
            "all must be at least 1"
        )
    elements = vector * processes
    return elements >= _ELEMENTS and elements * _DOUBLE >= _CACHES * cache


def values(
    summary: Mapping[str, str | float],
    processes: int,
    *,
    ep_in_cache: bool,
    single_in_cache: bool,
    peak: float | None = None,
) -> dict[str, tuple[float, str]]:
    """Return all metrics and ratios of a run: name -> value and unit.

    `peak` is that of the processors used, in Gflop/s; with it the efficiency of HPL is among them.

    `summary` is one that `hpcc_output.Output.check` let pass: a missing key is a
    KeyError, a result of zero a ZeroDivisionError. STREAM in the cache, by `in_memory`, gets names
    of its own, so that it can never be taken for the bandwidth of the memory.
    """
    metrics = {
        name: (float(summary[column.name]) * _FACTORS.get(name, 1.0), column.unit)
        for name, column in METRICS.items()
    }
    ratios = ratios_of({name: value for name, (value, _) in metrics.items()}, processes)
    if peak:
        ratios[EFFICIENCY] = (100 * metrics["G-HPL"][0] / peak, "%")
    kinds = [kind for kind, yes in (("EP", ep_in_cache), ("Single", single_in_cache)) if yes]
    return {_label(name, kinds): value for name, value in (metrics | ratios).items()}


def ratios_of(metrics: Mapping[str, float], processes: int) -> dict[str, tuple[float, str]]:
    """Return the ratios that can be made of these metrics: name -> value and unit.

    Raises ZeroDivisionError for a metric of zero that others are divided by.
    """
    found = {}
    for name, column in RATIOS.items():
        over, under = name.split("/")
        if {over, under} <= {"1", *metrics}:
            value = metrics.get(over, 1.0) * (processes if over in _OF_ONE else 1)
            found[name] = (value * _FACTORS.get(name, 1.0) / metrics[under], column.unit)
    return found


def depends_on_size(metric: str) -> bool:
    """Tell whether a metric depends on the order of the matrix, and with it on the memory.

    The ratios to G-HPL do.
    """
    return metric not in _FIXED


def _label(name: str, in_cache: Collection[str]) -> str:
    """Name a metric or ratio when STREAM of these kinds (EP, Single) runs in the cache."""
    over, slash, under = name.partition("/")
    if any(over.startswith(f"{kind}-STREAM-") for kind in in_cache):
        over += IN_CACHE
    return over + slash + under


def _columns() -> Iterator[Column]:
    """Yield a column for each metric and ratio, in the cache and not."""
    units = {name: column.unit for name, column in (METRICS | RATIOS).items()}
    units[EFFICIENCY] = "%"
    for in_cache in ((), LOCAL):
        for name, unit in units.items():
            if not in_cache or _label(name, in_cache) != name:
                yield Column("", _label(name, in_cache), unit)


#: Of plain numbers, which are tests per flop of HPL, the more the better.
BENCHMARK = Benchmark(
    "hpcc", tuple(_columns()), sized=False, better="higher", since_mode="smoke",
    pair_bandwidth="PingPong-bandwidth", pair_latency="PingPong-latency", pair_size=8,
)  # fmt: skip
#: The suite.
SUITE = Suite(
    "hpcc",
    "HPC Challenge",
    ("hpcc",),
    "Debian: hpcc openmpi-bin",
    {"hpcc": BENCHMARK},
    built_with=("mpi", "blas"),
)

#: HPCC keeps N in a C int.
_LARGEST = 2**31 - 1
#: HPCC bounds the length of a vector that a C int cannot hold.
_LONGEST_VECTOR = 2**30
#: Doubles of the matrix for each process: arrays of 160 kB, so that no kernel of STREAM takes less
#: than a tick of a clock of 1 us (HPCC prints -1 then).
_DOUBLES_PER_PROCESS = 250**2
#: From this number of processes on, MPIRandomAccess loses updates at its end.
_LOSSY = 5
#: And it forgives them in 1 % of its table, which has 2^20 words from this order on.
_ORDER_WHEN_LOSSY = 2**10


def grid(processes: int) -> tuple[int, int]:
    """Return the grid P x Q of all processes that is nearest to a square, with P <= Q."""
    rows = next(n for n in range(math.isqrt(processes), 0, -1) if processes % n == 0)
    return rows, processes // rows


def problem_size(memory: int, share: float, block: int) -> int:
    """Return the order of the matrix of doubles that takes a share of `memory` (bytes, all nodes).

    It is a multiple of the block, rounded down. HPCC's other tests take no more than the matrix,
    but for the verification of MPIRandomAccess: 16 KiB for each process in each process. Raises
    ValueError for a share outside (0, 1], a block below 1, and when not one block fits.
    """
    if not 0 < share <= 1:
        raise ValueError(f"a share of {share} of the memory; it must be above 0 and at most 1")
    if block < 1:
        raise ValueError(f"a block of {block}; it must be at least 1")
    order = math.isqrt(int(max(memory, 0) * share) // _DOUBLE) // block * block
    if order < 1:
        raise ValueError(f"{share:g} of {memory} bytes hold no matrix of one block of {block}")
    return order


def smallest(processes: int) -> int:
    """Return the smallest order at which every test of HPCC gives a number that can be trusted.

    With N^2 / processes doubles for each process:

    - MPIRandomAccess has a table of the power of two at or below N^2 words. It crashes, or never
      ends, when a process holds fewer than 25 of them, because 1 % of its updates is none then.
    - RandomAccess updates 128 words at a time, so that its table must have 32.
    - STREAM gives -1 when a kernel takes less than a tick of the clock. This bound is the largest.
    - With five processes or more MPIRandomAccess may end before it has read its last messages. By
      the size of its buffers some 7000 updates can be lost, all processes together. It counts them
      as errors and forgives them in 1 % of its table.
    - The FFT over all processes has at least processes^2 points whatever N is, and no test needs a
      block for each process.
    """
    order = math.isqrt(_DOUBLES_PER_PROCESS * processes - 1) + 1
    return max(order, _ORDER_WHEN_LOSSY) if processes >= _LOSSY else order


def stream_vector(order: int, processes: int) -> int:
    """Return the length (doubles) of each of the three arrays of STREAM in one process.

    It is HPCC's `STREAM_VectorSize` for a grid of all processes.
    """
    # HPCC computes the bytes in double precision, and it is its number that is wanted.
    memory = int(float(order) * float(order) * _DOUBLE / processes)
    length = memory // _DOUBLE // 3
    return length if length < 2 * _LONGEST_VECTOR else _LONGEST_VECTOR


def input_file(order: int, block: int, rows: int, columns: int) -> str:
    """Return `hpccinf.txt` for a matrix of this order on a grid of rows x columns processes.

    Raises ValueError for a block below 1, and for an order that is below `smallest` of the grid,
    below the block, or more than a C int holds.
    """
    least = smallest(rows * columns)
    if not least <= order <= _LARGEST:
        raise ValueError(
            f"an order of {order} on a grid of {rows} x {columns}; HPCC takes {least} to {_LARGEST}"
        )
    if not 1 <= block <= order:
        raise ValueError(f"a block of {block}; it must be 1 to the order, {order}")
    lines = (
        "Input of HPCC; values are found by the number of their line",
        "HPL: lines 5 to 31; PTRANS: lines 33 to 36",
        "none  output file (ignored)",
        "8  device (ignored)",
        *_one("orders N", f"{order}  N"),
        *_one("blocks NB", f"{block}  NB"),
        # By rows, because neighbouring ranks share a node.
        "0  PMAP: by rows",
        *_one("grids", f"{rows}  P", f"{columns}  Q"),
        "16.0  threshold of the residuals",
        *_one("panel factorisations", "1  PFACT: Crout"),
        *_one("widths where the recursion stops", "4  NBMIN"),
        *_one("panels in the recursion", "2  NDIV"),
        *_one("recursive factorisations", "2  RFACT: right-looking"),
        *_one("broadcasts", "1  BCAST: modified ring"),
        *_one("look-ahead", "1  DEPTH"),
        *("2  SWAP: mix", f"{block}  threshold of the swap"),
        *("0  L1: transposed", "0  U: transposed"),
        *("1  equilibration", "8  alignment in doubles"),
        *("----", "0  further N of PTRANS", "0", "0  further NB of PTRANS", "0"),
    )
    return "".join(f"{line}\n" for line in lines)


def _one(what: str, *values: str) -> tuple[str, ...]:
    """Return the lines of a single value: how many there are, and that one."""
    return f"1  {what}", *values
