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


#: Technology and rate of a port -> the best bandwidth between two nodes (MB/s) that somebody has
#: published, the program, and where. It is of another machine, and judges nothing. Of FDR, HDR and
#: faster ones of InfiniBand, of CN5000 and of RoCE at other rates no measured one was found.
_ELSEWHERE = {
    ("infiniband", "EDR"): (
        # Printed as 11728.47 MB/sec, of 2^20 bytes.
        *(12298.2, "ib_write_bw"),
        "github.com/linux-rdma/perftest/issues/225 (an adapter of 100 Gb/s)",
    ),
    ("omni-path", "100"): (
        *(12380.57, "osu_mbw_mr of one pair"),
        "gist.github.com/hppritcha/8da4436a216c9d96bf10ad9d403da03f (Open MPI 1.10 at LANL)",
    ),
    ("slingshot", "200"): (
        *(22587.12, "osu_bw"),
        "github.com/ofiwg/libfabric/issues/11392 (Open MPI, libfabric 2.0)",
    ),
    # 196.08 Gb/s, over one cable and both halves of an adapter.
    ("roce", "200"): (
        *(24510.0, "ib_write_bw"),
        "github.com/capetron/gb10-cluster-guide, data/gb10-cluster-bandwidth-2026.csv",
    ),
}


@dataclass(frozen=True)
class PartitionLimit:
    """A partition with its facts, their limit, and the reference that is nearest to it.

    Without a reference of its own `peak` is that of another machine, if one is published.

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
            own = peaks(library, name, bound.bandwidth)
            nearest = own[0] if own else _elsewhere(facts, bound)
            inferred = PartitionExtras.read(extras[name], place).inferred
            yield PartitionLimit(name, facts, bound, latency_floor(facts), nearest, inferred)
    if not stated:
        raise FabricFault(f"{', '.join(chosen)}: no fabric is stated")


def _elsewhere(facts: Facts, bound: Limit) -> Peak | None:
    """Return what another machine with such a port has reached; its slot may be another one."""
    found = _ELSEWHERE.get((facts.technology, facts.rate or ""))
    if found is None or facts.ports > 1 or facts.lanes not in (None, 4):
        return None
    value, program, where = found
    ratio = value / bound.link.value if bound.link else None
    return Peak(value, program, f"another machine: {where}", ratio)


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
