"""Bandwidths of `reference/`, as shares of what the link of a node carries at most."""

from dataclasses import dataclass

from acceptance import suites
from acceptance.fabric.bandwidth_shares import METRICS, UNITS, factor
from acceptance.references import Library, Reference


@dataclass(frozen=True)
class Peak:
    """A bandwidth between nodes (MB/s), its citation, its share of the limit that applies to it."""

    value: float
    benchmark: str
    where: str
    ratio: float | None


def peaks(library: Library, partition: str, bound: float | None) -> list[Peak]:
    """Return all comparable values of a partition (`system:partition`), the nearest one first.

    Comparable is what was measured between nodes by a benchmark that `factor` knows. `bound` is the
    limit in one direction, MB/s; without one the ratios are None and the largest value is first.
    """
    comparable = []
    for row in (*library.values, *library.baselines):
        if f"{row.system}:{row.partition}" == partition and _between_nodes(row):
            keys = row.parameters
            pairs = int(keys.get("pairs", 0)) or int(keys.get("np", 0)) // 2 or None
            nodes, mapping = int(keys.get("nodes", 2)), keys.get("mapping", "block")
            links = factor(suites.find(row.benchmark), nodes, mapping, pairs)
            if links is not None:
                value = row.value * UNITS[row.unit]
                ratio = value / (links * bound) if bound else None
                comparable.append(Peak(value, row.benchmark, row.citation, ratio))
    return sorted(comparable, key=lambda peak: (peak.ratio or 0, peak.value), reverse=True)


def _between_nodes(row: Reference) -> bool:
    if row.metric not in METRICS or row.unit not in UNITS:
        return False
    # netperf is between two hosts by its nature; others can be inside one.
    netperf = row.benchmark.startswith("netperf.")
    return netperf or row.parameters.get("placement") == "inter-node"
