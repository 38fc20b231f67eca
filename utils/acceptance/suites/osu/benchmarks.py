"""OSU Micro-Benchmarks (OMB): what its programs print that is a metric, and for which sizes.

Sources: `-h` of the programs and runs of OMB 5.3 to 7.4.
"""

from acceptance.core.metrics import Column

# `latency` is the time of a message between two processes, `time` that of any other operation:
# the average over the processes, as OMB prints it.
LATENCY = Column("latency", "latency", "us")
TIME = Column("latency", "time", "us")
BANDWIDTH = Column("bandwidth", "bandwidth", "MB/s")
RATE = Column("messages", "message_rate", "1/s")
INIT = Column("avg", "time", "us")
LAUNCH = Column("launch", "time", "s")

#: Program, without its prefix `osu_` -> its metrics.
BENCHMARKS: dict[str, tuple[Column, ...]] = {
    "latency": (LATENCY,),
    "bw": (BANDWIDTH,),
    "bibw": (BANDWIDTH,),
    "multi_lat": (LATENCY,),
    "mbw_mr": (BANDWIDTH, RATE),
    "allgather": (TIME,),
    "allgatherv": (TIME,),
    "allreduce": (TIME,),
    "alltoall": (TIME,),
    "alltoallv": (TIME,),
    "barrier": (TIME,),
    "bcast": (TIME,),
    "gather": (TIME,),
    "reduce": (TIME,),
    "reduce_scatter": (TIME,),
    "scatter": (TIME,),
    "put_latency": (LATENCY,),
    "get_latency": (LATENCY,),
    "put_bw": (BANDWIDTH,),
    "get_bw": (BANDWIDTH,),
    "init": (INIT,),
    "hello": (LAUNCH,),
}

#: One process reaches into the memory of the other.
ONE_SIDED = ("put_latency", "get_latency", "put_bw", "get_bw")
#: They refuse any other number of processes.
TWO_PROCESSES = ("latency", "bw", "bibw", *ONE_SIDED)
#: The first half of the processes sends to the second; mbw_mr waits for ever on an odd number.
PAIRED = ("multi_lat", "mbw_mr")
#: Those of which the communication balance is made -> its name in `reference/`.
BALANCED = {"latency": "latency", "bw": "bw", "bibw": "bibw", "mbw_mr": "mbw"}
#: `-b multiple` gives each message of a window buffers of its own (5.8 and newer).
BUFFERED = ("bw", "bibw", "mbw_mr")
#: They know no options.
START_UP = ("init", "hello")
#: Their output has no message sizes.
UNSIZED = ("barrier", *START_UP)
#: Programs whose `-c` verifies the data (5.9 and newer).
VALIDATED = tuple(name for name in BENCHMARKS if name not in (*ONE_SIDED, *UNSIZED))
#: OMB up to 7.0 adds floats, newer ones bytes; from one float on all have the same sizes.
REDUCTIONS = ("allreduce", "reduce", "reduce_scatter")
#: Their buffers hold a message for each process.
GROWING = ("allgather", "allgatherv", "alltoall", "alltoallv", "gather", "scatter")
#: Bytes that the buffers of one process may take; OMB itself stops at 512 MiB a buffer (`-M`).
BUFFERS = 2**28
SIZE_OF_FLOAT = 4


def stems(benchmark: str) -> tuple[str, ...]:
    """Return the stems of a benchmark's metrics."""
    own = tuple(column.stem for column in BENCHMARKS[benchmark])
    return (*own, "bandwidth_peak") if "bandwidth" in own else own


def takes(benchmark: str, processes: int) -> bool:
    """Tell whether a program runs, and ends, with this number of processes."""
    if benchmark in TWO_PROCESSES:
        return processes == 2
    return processes >= 2 and (benchmark not in PAIRED or processes % 2 == 0)


def size_range(text: str) -> tuple[int, int]:
    """Read the smallest and the largest message size (bytes) from `low:high`.

    Raises ValueError unless these are two powers of two.
    """
    low, _, high = text.partition(":")
    if low.isdecimal() and high.isdecimal():
        bounds = int(low), int(high)
        if bounds[0] <= bounds[1] and all(size.bit_count() == 1 for size in bounds):
            return bounds
    raise ValueError(f"sizes is {text!r}; it wants low:high, powers of two, for example 1:4194304")


def message_sizes(benchmark: str, processes: int, low: int, high: int) -> list[int]:
    """Return the message sizes (bytes) that a program prints for `-m low:high`, powers of two.

    Reductions have no message below one float. Buffers that grow with the number of processes
    bound the largest message, so that no run is stopped for its memory. Raises ValueError when
    nothing is left.
    """
    sizes = [2**n for n in range(low.bit_length() - 1, high.bit_length())]
    if benchmark in REDUCTIONS:
        sizes = [size for size in sizes if size >= SIZE_OF_FLOAT]
    if benchmark in GROWING:
        sizes = [size for size in sizes if 2 * processes * size <= BUFFERS]
    if not sizes:
        raise ValueError(f"no message of {benchmark} fits into {low}:{high} bytes")
    return sizes
