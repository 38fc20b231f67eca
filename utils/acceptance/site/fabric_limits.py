"""What the fabrics of systems can do at most, each beside the nearest reference."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acceptance import suites
from acceptance.core.extras import PartitionExtras
from acceptance.core.text import there_are
from acceptance.fabric import FabricFault, Facts, Limit, facts_of, latency_floor, limit
from acceptance.fabric.plausibility import METRICS, UNITS, factor
from acceptance.references import Library, Reference


@dataclass(frozen=True)
class Peak:
    """A bandwidth between nodes (MB/s), its citation, its share of the limit that applies to it."""

    value: float
    benchmark: str
    where: str
    ratio: float | None


@dataclass(frozen=True)
class PartitionLimit:
    """A partition with its facts, their limit, and the reference that is nearest to it.

    `latency_floor` is the least time of 8 bytes (us), or None. `inferred` are names of facts that
    their source does not print (`extras["inferred"]`).
    """

    partition: str
    facts: Facts
    limit: Limit
    latency_floor: float | None
    peak: Peak | None
    inferred: tuple[str, ...] = ()


def partition_limits(
    systems: Iterable[Mapping[str, Any]],
    library: Library,
    only: str | None = None,
    place_of: Callable[[str, str], str] = "{}:{}".format,
) -> Iterator[PartitionLimit]:
    """Yield the partitions that state a fabric.

    `only` is a system, or `system:partition`; `place_of` names a partition in messages. Raises
    FabricFault for facts that cannot be, with the partition, and where nothing is left to yield.
    """
    extras = {
        f"{system['name']}:{partition['name']}": partition.get("extras", {})
        for system in systems
        for partition in system["partitions"]
    }
    chosen = [name for name in extras if only in (None, name, name.partition(":")[0])]
    if not chosen:
        raise FabricFault(f"no system or partition {only!r}; {there_are(only or '', extras)}")
    stated = False
    for name in chosen:
        system, _, partition = name.partition(":")
        place = place_of(system, partition)
        if facts := facts_of(extras[name], place):
            stated, bound = True, limit(facts)
            nearest = next(iter(peaks(library, name, bound.bandwidth)), None)
            inferred = PartitionExtras.read(extras[name], place).inferred
            yield PartitionLimit(name, facts, bound, latency_floor(facts), nearest, inferred)
    if not stated:
        raise FabricFault(f"{', '.join(chosen)}: no fabric is stated")


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
