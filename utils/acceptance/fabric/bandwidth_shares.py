"""How many link bandwidths a benchmark's bandwidth between nodes may add up to."""

from typing import Literal, Protocol

#: The metrics that are bandwidths, and what their units are in MB/s.
METRICS = ("bandwidth", "bandwidth_peak", "throughput")
UNITS = {"MB/s": 1.0, "GB/s": 1000.0, "Mbit/s": 1 / 8}


class Benchmark(Protocol):
    """What has to be known of a benchmark: a record of `acceptance.suites` has it."""

    @property
    def link_factor(self) -> int | None:
        """One-way bandwidths of a link that its bandwidth adds up to; None: not comparable."""

    @property
    def pair_sum(self) -> Literal["", "longest", "average"]:
        """By which time of the pairs it sums them up; empty: there is one pair."""

    @property
    def one_way(self) -> bool:
        """Tell whether a fraction of the limit can judge its best bandwidth."""

    @property
    def one_message(self) -> bool:
        """Tell whether its time is that of one message on its way."""

    @property
    def pair_bandwidth(self) -> str:
        """Return how its metrics begin that are bandwidths of one pair of processes; or empty."""

    @property
    def pair_latency(self) -> str:
        """Return how its metrics begin that are times of a message between a pair; or empty."""

    @property
    def pair_size(self) -> int:
        """Return the bytes of that message."""


def factor(
    benchmark: Benchmark, nodes: int = 2, mapping: str = "block", pairs: int | None = None
) -> float | None:
    """Return how many one-way bandwidths of a node's link a benchmark's bandwidth may reach.

    None: not comparable. Of sums over pairs, more nodes have more links, and processes that are
    laid cyclically over the nodes send in both directions. The average time of p pairs (None: not
    known) that get the link one after the other is (p + 1) / 2p of the longest one, so that a sum
    by it may be 2p / (p + 1) of what the link carries.
    """
    single = benchmark.link_factor
    if single is None or not benchmark.pair_sum:
        return single
    links = (nodes + 1) // 2 if single == 1 and mapping == "block" else nodes
    if benchmark.pair_sum == "longest":
        return links
    return links * (2 * pairs / (pairs + 1) if pairs else 2)
