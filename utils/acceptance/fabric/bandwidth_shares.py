"""How many link bandwidths a benchmark's bandwidth between nodes may add up to."""

#: Benchmark -> how many one-way link bandwidths its bandwidth can add up to, between two nodes.
#: What is not here cannot be compared: collectives, rings of HPCC and b_eff whose processes also
#: talk inside a node, and netperf's UDP_STREAM: less headers than TCP, and the sender's count has
#: datagrams that were lost. Sources: the IMB user guide 2021 ("Reported throughput" of each
#: benchmark) and the sources of OMB.
FACTORS = {
    # One message at a time, of the size over its time.
    "imb.PingPong": 1,
    # Two messages cross each other; only one of them is counted.
    "imb.PingPing": 1,
    # 2X/t: each process sends one message and receives one. Each node at the edge of the chain
    # sends and receives a message over the link, wherever the other processes are.
    "imb.Sendrecv": 2,
    # 4X/t: each process sends to both neighbours and receives from both. Each node sends two
    # messages and receives two over the link.
    "imb.Exchange": 2,
    "imb.Uniband": 1,
    "imb.Biband": 2,
    "osu.bw": 1,
    "osu.bibw": 2,
    "osu.mbw_mr": 1,
    "osu.put_bw": 1,
    "osu.get_bw": 1,
    "osu.put_bibw": 2,
    "netperf.TCP_STREAM": 1,
}
#: Those that add up all pairs: the first half of the processes talks to the second. IMB divides by
#: the longest time of a process, OMB by the average of the pairs' times.
SUMS = ("imb.Uniband", "imb.Biband", "osu.mbw_mr")
#: The metrics that are bandwidths, and what their units are in MB/s.
METRICS = ("bandwidth", "bandwidth_peak", "throughput")
UNITS = {"MB/s": 1.0, "GB/s": 1000.0, "Mbit/s": 1 / 8}


def factor(
    benchmark: str, nodes: int = 2, mapping: str = "block", pairs: int | None = None
) -> float | None:
    """Return how many one-way bandwidths of a node's link a benchmark's bandwidth may reach.

    None: not comparable. Of sums over pairs, more nodes have more links, and processes that are
    laid cyclically over the nodes send in both directions. The average time of p pairs (None: not
    known) that get the link one after the other is (p + 1) / 2p of the longest one, so that a sum
    by it may be 2p / (p + 1) of what the link carries.
    """
    single = FACTORS.get(benchmark)
    if single is None or benchmark not in SUMS:
        return single
    links = (nodes + 1) // 2 if single == 1 and mapping == "block" else nodes
    if not benchmark.startswith("osu."):
        return links
    return links * (2 * pairs / (pairs + 1) if pairs else 2)
