"""Intel MPI Benchmarks (IMB-MPI1): a row for each benchmark that is run.

Sources: the IMB user guide 2021 ("Benchmark definitions", "Reported throughput", `-msglog`, `-mem`)
and runs of IMB 2021.
"""

from dataclasses import dataclass, field
from functools import partial

from acceptance.suites.records import BUFFERS, Benchmark, Column

# `latency` is the time of a message between two processes, `time` that of any other operation:
# t_max, since the operation is over when its last process is.
LATENCY = Column("t", "latency", "us")
TIME = Column("t_max", "time", "us")
BANDWIDTH = Column("mbytes", "bandwidth", "MB/s")
RATE = Column("messages", "message_rate", "1/s")


@dataclass(frozen=True)
class ImbBenchmark(Benchmark):
    """A benchmark of IMB-MPI1, with what its check and the parser of its output ask for."""

    #: Bytes that the printed bandwidth counts, as a multiple of the message size; 0: the bandwidth
    #: comes from the message rate, or there is none.
    counted: int = field(default=0, kw_only=True)
    #: Repetitions of small messages.
    repetitions: int = field(default=1000, kw_only=True)


_messages = partial(ImbBenchmark, point_to_point=True)
_collective = partial(ImbBenchmark, columns=(TIME,))
#: Repetitions that are a window of 64 messages each.
_WINDOWS = 100

_ROWS = (
    # One message at a time, of the size over its time.
    _messages("PingPong", (LATENCY, BANDWIDTH), processes="two", counted=1, link_factor=1,
              one_way=True, one_message=True),
    # Two messages cross each other; only one of them is counted.
    _messages("PingPing", (LATENCY, BANDWIDTH), processes="two", counted=1, link_factor=1),
    # 2X/t: each process sends one message and receives one. Each node at the edge of the chain
    # sends and receives a message over the link, wherever the other processes are.
    _messages("Sendrecv", (TIME, BANDWIDTH), counted=2, link_factor=2),
    # 4X/t: each process sends to both neighbours and receives from both. Each node sends two
    # messages and receives two over the link.
    _messages("Exchange", (TIME, BANDWIDTH), counted=4, link_factor=2),
    # The first half of the processes talks to the second.
    _messages("Uniband", (BANDWIDTH, RATE), repetitions=_WINDOWS, link_factor=1,
              pair_sum="longest"),
    _messages("Biband", (BANDWIDTH, RATE), repetitions=_WINDOWS, link_factor=2, pair_sum="longest"),
    _collective("Allreduce", operation="Allreduce", reduction=True),
    _collective("Reduce", operation="Reduce", reduction=True, rooted=True),
    # IMB up to "2019" spreads the bytes over the ranks; from "2019 Update 1" on each rank gets
    # them. Built with IMB2018 it spreads them, too, and calls itself "2018".
    _collective("Reduce_scatter", operation="Reduce_scatter", reduction=True, part=True,
                whole_in=r"IMB (201[0-8]\b.*|2019)"),
    _collective("Allgather", operation="Allgather", part=True),
    _collective("Allgatherv", part=True),
    _collective("Alltoall", operation="Alltoall", part=True),
    _collective("Bcast", operation="Bcast", rooted=True),
    _collective("Gather", operation="Gather", part=True, rooted=True),
    _collective("Scatter", operation="Scatter", part=True, rooted=True),
    _collective("Barrier", sized=False),
)  # fmt: skip

#: Name -> benchmark.
BENCHMARKS = {row.name: row for row in _ROWS}

#: The columns of all pairs together: the median of the pairs, and the worst one.
_OF_PAIRS = (
    LATENCY,
    Column("worst_t", "latency_max", "us"),
    BANDWIDTH,
    Column("worst_mbytes", "bandwidth_min", "MB/s"),
)
#: PingPong of many pairs at once, of two nodes each or inside of each node: name -> benchmark.
PAIRS = {
    "pairs-between": ImbBenchmark(
        "PingPong", _OF_PAIRS, point_to_point=True, sized=False, counted=1, link_factor=1,
        one_way=True, one_message=True, sizes=(8, 2**22),
    ),
    "pairs-inside": ImbBenchmark("PingPong", _OF_PAIRS, point_to_point=True, sized=False,
                                 counted=1, sizes=(8, 2**22)),
}  # fmt: skip


def message_sizes(
    benchmark: str, processes: int, low: int, high: int, buffers: int = BUFFERS
) -> list[int]:
    """Return the message sizes (bytes) that IMB prints for `-msglog low:high`; it adds the size 0.

    Those that `Benchmark.fits` leaves out are not asked for; `buffers` is as there.
    """
    sizes = (2**n for n in range(low, high + 1))
    return [0, *(size for size in sizes if BENCHMARKS[benchmark].fits(size, processes, buffers))]


def counts_size(benchmark: str, column: Column, size: int | None) -> bool:
    """Tell whether a row of this size (bytes; None: a table without sizes) is a metric.

    An empty message has no bandwidth, and an operation on no data has no time worth a name.
    """
    return size != 0 or (BENCHMARKS[benchmark].point_to_point and column != BANDWIDTH)
