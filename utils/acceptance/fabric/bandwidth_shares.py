"""How many link bandwidths a benchmark's bandwidth between nodes may add up to."""

from acceptance.suites import Benchmark

#: The metrics that are bandwidths, and what their units are in MB/s.
METRICS = ("bandwidth", "bandwidth_peak", "throughput")
UNITS = {"MB/s": 1.0, "GB/s": 1000.0, "Mbit/s": 1 / 8}


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
