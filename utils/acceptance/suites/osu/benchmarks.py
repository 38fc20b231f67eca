"""OSU Micro-Benchmarks (OMB): a row for each program that is run.

Sources: `-h` and the sources of the programs, and runs of OMB 5.3 to 7.4.
"""

from dataclasses import dataclass, field
from functools import partial

from acceptance.suites.records import Benchmark, Column

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


_messages = partial(OsuProgram, point_to_point=True)
#: One process reaches into the memory of the other.
_one_sided = partial(OsuProgram, point_to_point=True, processes="two", verifies=False)
_collective = partial(OsuProgram, columns=(TIME,))
_unsized = partial(OsuProgram, sized=False, verifies=False)

_ROWS = (
    _messages("latency", (LATENCY,), "OSU MPI Latency Test", processes="two", one_message=True,
              balance="latency"),
    _messages("bw", (BANDWIDTH,), "OSU MPI Bandwidth Test", processes="two", buffers=True,
              link_factor=1, one_way=True, balance="bw"),
    _messages("bibw", (BANDWIDTH,), "OSU MPI Bi-Directional Bandwidth Test", processes="two",
              buffers=True, link_factor=2, balance="bibw"),
    # The first half of the processes sends to the second; mbw_mr waits for ever on an odd number.
    _messages("multi_lat", (LATENCY,), "OSU MPI Multi Latency Test", processes="even",
              one_message=True),
    _messages("mbw_mr", (BANDWIDTH, RATE), "OSU MPI Multiple Bandwidth / Message Rate Test",
              processes="even", buffers=True, link_factor=1, pair_sum="average", balance="mbw"),
    _collective("allgather", title="OSU MPI Allgather Latency Test", operation="Allgather",
                part=True),
    _collective("allgatherv", title="OSU MPI Allgatherv Latency Test", part=True),
    # OMB up to 7.0 adds floats, newer ones bytes; from one float on all have the same sizes.
    _collective("allreduce", title="OSU MPI Allreduce Latency Test", operation="Allreduce",
                reduction=True),
    _collective("alltoall", title="OSU MPI All-to-All Personalized Exchange Latency Test",
                operation="Alltoall", part=True),
    _collective("alltoallv", title="OSU MPI All-to-Allv Personalized Exchange Latency Test",
                part=True),
    _unsized("barrier", (TIME,), "OSU MPI Barrier Latency Test"),
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
    _unsized("init", (INIT,), "OSU MPI Init Test", options=False),
    _unsized("hello", (LAUNCH,), "OSU MPI Hello World Test", options=False),
)  # fmt: skip

#: Name -> program.
BENCHMARKS = {row.name: row for row in _ROWS}
#: The ratios of `checks/balance.py`, by their names in `reference/`.
BALANCE = {
    f"cbr.{row.balance}": Benchmark(row.balance, (RATIO,), better="nearer to 1")
    for row in _ROWS
    if row.balance
}


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
