"""How fast processes of one node can exchange messages that do not fit into its caches.

A message is read from the buffer of one process and written to that of another; more copies, and
reading what will be written, only add to it. Benchmarks use the same buffers in each repetition, so
that caches of C bytes save at most C of the W bytes of all buffers a time, whatever they keep:
W - C go through the memory. Sizes of which nothing is left are not compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from acceptance.core.words import read_metric, split_metric
from acceptance.fabric.bandwidth_shares import METRICS, UNITS
from acceptance.fabric.limits import exceeds
from acceptance.machine import Layout
from acceptance.suites import Benchmark

#: All caches of a node in those of the last level: private ones may hold twice as much again (64
#: cores with 1 MiB each beside 32 MiB on Graviton 2 and 3), few hold more than the same again.
CACHES = 3


@dataclass(frozen=True)
class Memory:
    """What a partition states of a node: MB/s of its memory, bytes of its last caches; 0: not."""

    bandwidth: float
    cache: int

    def missing(self) -> str:
        """Return what is not stated, empty: nothing."""
        names = {"memory_bandwidth": self.bandwidth, "cache": self.cache}
        absent = [name for name, value in names.items() if not value]
        return f"the partition states no {' and no '.join(absent)}" if absent else ""

    def limit(self, benchmark: Benchmark, size: int, layout: Layout) -> float | None:
        """Return the most MB/s that a benchmark may report; None where caches may hold it all.

        Of a pair the buffers are those of what it sends and receives: two of one message, four of
        two ways; what is said of each pair (`pair_bandwidth`) is one way. Of two ways a benchmark
        may send twice from one buffer and receive twice in one (IMB's Exchange), so that memory
        moves no more bytes than it reports.
        """
        ways = benchmark.link_factor or 1
        pairs = layout.processes // 2 if benchmark.pair_sum else 1
        buffers, caches = 2 * ways * size * pairs, CACHES * self.cache
        if buffers <= caches:
            return None
        # By the average of the pairs' times it may be more (`bandwidth_shares.factor`).
        share = 2 * pairs / (pairs + 1) if benchmark.pair_sum == "average" else 1
        return share * ways / 2 * self.bandwidth * buffers / (buffers - caches)


def beyond(
    benchmark: Benchmark,
    measurements: Mapping[str, tuple[float, str]],
    memory: Memory,
    layout: Layout,
) -> tuple[list[str], str]:
    """Return what inside a node cannot be true, and what was compared; empty: it has no bandwidth.

    A line with the worst metric, or none.
    """
    sizes = {
        name: size
        for name, (_, unit) in measurements.items()
        if (size := split_metric(name)[1]) and read_metric(name)[0] in METRICS and unit in UNITS
    }
    if not (benchmark.link_factor or benchmark.pair_bandwidth) or not sizes:
        return [], ""
    if missing := memory.missing():
        return [], f"not compared: {missing}"
    over, compared = {}, []
    for name, size in sizes.items():
        bound = memory.limit(benchmark, size, layout)
        if bound is not None:
            compared.append(size)
            value, unit = measurements[name]
            if exceeds(value, most := bound / UNITS[unit]):
                over[name] = (value / most, value, most, unit)
    if not compared:
        return [], "not compared: the messages fit into the caches"
    told = f"compared from {min(compared)} bytes on, smaller messages fit into the caches"
    if not over:
        return [], told
    name, (_, value, most, unit) = max(over.items(), key=lambda item: item[1])
    return [
        f"implausible: {name} is {value:g} {unit}, memory of {memory.bandwidth:g} MB/s and caches "
        f"of {memory.cache} bytes let processes of a node exchange at most {most:.5g}: these "
        "bytes were not moved"
    ], told
