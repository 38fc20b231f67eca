"""IMB-MPI1: what its benchmarks print that is a metric, and for which sizes.

Sources: the IMB user guide ("Benchmark definitions", `-msglog`, `-mem`) and runs of IMB 2021.
"""

from acceptance.core.metrics import Column

# `latency` is the time of a message between two processes, `time` that of any other operation:
# t_max, since the operation is over when its last process is.
LATENCY = Column("t", "latency", "us")
TIME = Column("t_max", "time", "us")
BANDWIDTH = Column("mbytes", "bandwidth", "MB/s")
RATE = Column("messages", "message_rate", "1/s")

BENCHMARKS: dict[str, tuple[Column, ...]] = {
    "PingPong": (LATENCY, BANDWIDTH),
    "PingPing": (LATENCY, BANDWIDTH),
    "Sendrecv": (TIME, BANDWIDTH),
    "Exchange": (TIME, BANDWIDTH),
    "Uniband": (BANDWIDTH, RATE),
    "Biband": (BANDWIDTH, RATE),
    "Allreduce": (TIME,),
    "Reduce": (TIME,),
    "Reduce_scatter": (TIME,),
    "Allgather": (TIME,),
    "Allgatherv": (TIME,),
    "Alltoall": (TIME,),
    "Bcast": (TIME,),
    "Gather": (TIME,),
    "Scatter": (TIME,),
    "Barrier": (TIME,),
}

#: They use two processes, whatever number there is.
TWO_PROCESSES = ("PingPong", "PingPing")
#: Each repetition is a window of 64 messages.
WINDOWED = ("Uniband", "Biband")
#: An empty message is a message here; the other benchmarks do nothing on no data.
POINT_TO_POINT = (*TWO_PROCESSES, *WINDOWED, "Sendrecv", "Exchange")
#: Their smallest message is one float.
REDUCTIONS = ("Allreduce", "Reduce", "Reduce_scatter")
#: Their buffers hold a message for each process.
GROWING = ("Allgather", "Allgatherv", "Alltoall", "Gather", "Reduce_scatter", "Scatter")
#: Bytes that the buffers of one process may take; IMB itself stops at 1 GiB.
BUFFERS = 2**28
SIZE_OF_FLOAT = 4


def stems(benchmark: str) -> tuple[str, ...]:
    """Return the stems of a benchmark's metrics."""
    own = tuple(column.stem for column in BENCHMARKS[benchmark])
    return (*own, "bandwidth_peak") if "bandwidth" in own else own


def message_sizes(benchmark: str, processes: int, low: int, high: int) -> list[int]:
    """Return the message sizes (bytes) that IMB prints for `-msglog low:high`.

    IMB adds the size 0; reductions have no message below one float. Buffers that grow with the
    number of processes bound the largest message, so that no run is stopped for its memory.
    """
    sizes = [0, *(2**n for n in range(low, high + 1))]
    if benchmark in REDUCTIONS:
        sizes = [size for size in sizes if size == 0 or size >= SIZE_OF_FLOAT]
    if benchmark in GROWING:
        sizes = [size for size in sizes if 2 * processes * size <= BUFFERS]
    return sizes


def counts_size(benchmark: str, column: Column, size: int | None) -> bool:
    """Tell whether a row of this size (bytes; None: a table without sizes) is a metric.

    An empty message has no bandwidth, and an operation on no data has no time worth a name.
    """
    return size != 0 or (benchmark in POINT_TO_POINT and column != BANDWIDTH)
