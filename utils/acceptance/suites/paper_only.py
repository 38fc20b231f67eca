"""What papers have measured with programs that no check runs: metrics and units of each.

A paper with another such program adds its row here; until then its file is refused.
"""

from acceptance.suites.records import Benchmark, Column


def _row(name: str, unit: str, *stems: str, link_factor: int | None = None) -> Benchmark:
    columns = tuple(Column(stem, stem, unit) for stem in stems)
    return Benchmark(name, columns, link_factor=link_factor)


#: Name in `reference/` -> its metrics. Bandwidths with a link factor can be compared with a link's;
#: not netperf's UDP_STREAM: the sender's count has datagrams that were lost.
PUBLISHED = {
    "netperf.TCP_STREAM": _row("TCP_STREAM", "Mbit/s", "throughput", link_factor=1),
    "netperf.UDP_STREAM": _row("UDP_STREAM", "Mbit/s", "throughput"),
    "netperf.TCP_RR": _row("TCP_RR", "1/s", "transactions"),
    "netperf.UDP_RR": _row("UDP_RR", "1/s", "transactions"),
    "hardware": Benchmark(
        "hardware",
        (
            Column("cpus_per_node", "cpus_per_node", "1"),
            Column("clock", "clock", "GHz"),
            Column("peak_per_node", "peak_per_node", "Gflop/s"),
        ),
    ),
}
