"""HPC Challenge (HPCC): the metrics of one run, and the ratios of Saini et al. 2006.

HPCC names a test by how it runs: G (global, over all processes), EP (embarrassingly parallel, each
process for itself at the same time; the value is the average of one process) and Single (one
process, the others wait). Single-STREAM is never below the EP-STREAM of the same run, because HPCC
keeps the best times of that (STREAM/stream.c). Sources: HPCC 1.5.0, src/io.c, for the summary;
Saini et al. 2006, Section 4.1 and Table 2, for the ratios.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from acceptance.suites.records import Benchmark, Column


@dataclass(frozen=True)
class SummaryKey:
    """A key of HPCC's summary, what its value is to be multiplied with, and the unit of that."""

    key: str
    factor: float
    unit: str


@dataclass(frozen=True)
class Ratio:
    """A metric, or 1 where its name is empty, divided by another.

    `summed`: the value of one process times the number of processes. `factor` leads to the unit.
    """

    over: str
    under: str
    unit: str
    summed: bool = False
    factor: float = 1.0


KERNELS = ("Copy", "Scale", "Add", "Triad")
#: The two ways in which a test without communication runs -> HPCC's word for it.
LOCAL = {"EP": "Star", "Single": "Single"}


def _stream(kind: str) -> Iterator[tuple[str, SummaryKey]]:
    for kernel in KERNELS:
        yield f"{kind}-STREAM-{kernel}", SummaryKey(f"{LOCAL[kind]}STREAM_{kernel}", 1, "GB/s")


METRICS: dict[str, SummaryKey] = {
    "G-HPL": SummaryKey("HPL_Tflops", 1000, "Gflop/s"),
    "G-PTRANS": SummaryKey("PTRANS_GBs", 1, "GB/s"),
    "G-RandomAccess": SummaryKey("MPIRandomAccess_GUPs", 1, "GUP/s"),
    "G-RandomAccess-LCG": SummaryKey("MPIRandomAccess_LCG_GUPs", 1, "GUP/s"),
    "EP-RandomAccess": SummaryKey("StarRandomAccess_GUPs", 1, "GUP/s"),
    "EP-RandomAccess-LCG": SummaryKey("StarRandomAccess_LCG_GUPs", 1, "GUP/s"),
    "Single-RandomAccess": SummaryKey("SingleRandomAccess_GUPs", 1, "GUP/s"),
    "Single-RandomAccess-LCG": SummaryKey("SingleRandomAccess_LCG_GUPs", 1, "GUP/s"),
    **dict(_stream("EP")),
    **dict(_stream("Single")),
    "G-FFTE": SummaryKey("MPIFFT_Gflops", 1, "Gflop/s"),
    "EP-FFTE": SummaryKey("StarFFT_Gflops", 1, "Gflop/s"),
    "Single-FFTE": SummaryKey("SingleFFT_Gflops", 1, "Gflop/s"),
    "EP-DGEMM": SummaryKey("StarDGEMM_Gflops", 1, "Gflop/s"),
    "Single-DGEMM": SummaryKey("SingleDGEMM_Gflops", 1, "Gflop/s"),
    "PingPong-latency-min": SummaryKey("MinPingPongLatency_usec", 1, "us"),
    "PingPong-latency-avg": SummaryKey("AvgPingPongLatency_usec", 1, "us"),
    "PingPong-latency-max": SummaryKey("MaxPingPongLatency_usec", 1, "us"),
    "PingPong-bandwidth-min": SummaryKey("MinPingPongBandwidth_GBytes", 1, "GB/s"),
    "PingPong-bandwidth-avg": SummaryKey("AvgPingPongBandwidth_GBytes", 1, "GB/s"),
    "PingPong-bandwidth-max": SummaryKey("MaxPingPongBandwidth_GBytes", 1, "GB/s"),
    "NaturalRing-latency": SummaryKey("NaturallyOrderedRingLatency_usec", 1, "us"),
    "RandomRing-latency": SummaryKey("RandomlyOrderedRingLatency_usec", 1, "us"),
    "NaturalRing-bandwidth": SummaryKey("NaturallyOrderedRingBandwidth_GBytes", 1, "GB/s"),
    "RandomRing-bandwidth": SummaryKey("RandomlyOrderedRingBandwidth_GBytes", 1, "GB/s"),
}

#: Ratio -> how it is made. A ring's bandwidth is that of one process.
RATIOS: dict[str, Ratio] = {
    "RandomRing-bandwidth/G-HPL": Ratio("RandomRing-bandwidth", "G-HPL", "B/kflop", True, 1000),
    "EP-STREAM-Copy/G-HPL": Ratio("EP-STREAM-Copy", "G-HPL", "B/flop", True),
    "EP-DGEMM/G-HPL": Ratio("EP-DGEMM", "G-HPL", "1", True),
    "G-FFTE/G-HPL": Ratio("G-FFTE", "G-HPL", "1"),
    "G-PTRANS/G-HPL": Ratio("G-PTRANS", "G-HPL", "B/flop"),
    "G-RandomAccess/G-HPL": Ratio("G-RandomAccess", "G-HPL", "update/flop"),
    "1/RandomRing-latency": Ratio("", "RandomRing-latency", "1/us"),
}

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

    `summary` is one that `acceptance.suites.hpcc.output.check` let pass: a missing key is a
    KeyError, a result
    of zero a ZeroDivisionError. STREAM in the cache, by `in_memory`, gets names of its own, so that
    it can never be taken for the bandwidth of the memory.
    """
    metrics = {
        name: (float(summary[metric.key]) * metric.factor, metric.unit)
        for name, metric in METRICS.items()
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
    for name, ratio in RATIOS.items():
        if {ratio.over, ratio.under} <= {"", *metrics}:
            over = metrics[ratio.over] if ratio.over else 1.0
            count = processes if ratio.summed else 1
            found[name] = (over * count * ratio.factor / metrics[ratio.under], ratio.unit)
    return found


def depends_on_size(metric: str) -> bool:
    """Tell whether a metric depends on the order of the matrix, and with it on the memory.

    The ratios to G-HPL do. Raises ValueError for a metric that is none of HPCC's.
    """
    if metric not in BENCHMARK.stems:
        raise ValueError(f"HPCC has no metric {metric!r}")
    return metric not in _FIXED


def _label(name: str, in_cache: Collection[str]) -> str:
    """Name a metric or ratio when STREAM of these kinds (EP, Single) runs in the cache."""
    over, slash, under = name.partition("/")
    if any(over.startswith(f"{kind}-STREAM-") for kind in in_cache):
        over += IN_CACHE
    return over + slash + under


def _columns() -> Iterator[Column]:
    """Yield a column for each metric and ratio, in the cache and not."""
    units = {name: row.unit for name, row in (METRICS | RATIOS).items()} | {EFFICIENCY: "%"}
    for in_cache in ((), LOCAL):
        for name, unit in units.items():
            if not in_cache or _label(name, in_cache) != name:
                yield Column("", _label(name, in_cache), unit)


#: Of plain numbers, which are tests per flop of HPL, the more the better.
BENCHMARK = Benchmark(
    "hpcc", tuple(_columns()), sized=False, better="higher",
    pair_bandwidth="PingPong-bandwidth", pair_latency="PingPong-latency", pair_size=8,
)  # fmt: skip
