"""What papers have measured with programs that no check runs: metrics and units of each.

A paper with another such program adds its row here; until then its file is refused.
"""

from acceptance.suites.records import Benchmark, Column


def _row(name: str, unit: str, *stems: str) -> Benchmark:
    return Benchmark(name, tuple(Column(stem, stem, unit) for stem in stems))


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
