"""What papers have measured with programs that no check runs: metrics and units of each.

A paper with another such program adds its row here; until then its file is refused.
"""

from acceptance.suites.records import Benchmark, Column

#: Name in `reference/` -> its metrics.
PUBLISHED = {
    "hardware": Benchmark(
        "hardware",
        (
            Column("cpus_per_node", "cpus_per_node", "1"),
            Column("clock", "clock", "GHz"),
            Column("peak_per_node", "peak_per_node", "Gflop/s"),
        ),
    ),
}
