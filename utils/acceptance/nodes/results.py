"""What the pairs of a run measured, as a value of each pair, and the best one of each node."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from acceptance.core.pairs import PairResult
from acceptance.core.units import direction
from acceptance.nodes.findings import FAILING, NodeFinding

#: Bytes from which the bandwidth of a message says more than its time.
LARGE = 2**16

Pair = tuple[str, ...]


@dataclass(frozen=True, order=True)
class Kind:
    """What is compared with each other: `place` is system:partition, `where` between or inside."""

    place: str
    environment: str
    where: str

    @classmethod
    def of(cls, place: str, environment: str, result: PairResult) -> "Kind":
        """Return the kind of a pair's result."""
        return cls(place, environment, "inside" if result.inside else "between")


@dataclass(frozen=True)
class Values:
    """One quantity of a kind: the best value of each pair in each round, in `unit`."""

    size: int
    unit: str
    rounds: Mapping[str, Mapping[Pair, float]]

    @property
    def pairs(self) -> dict[Pair, float]:
        """Return the best value of each pair."""
        return self.best(self.rounds.values())

    @property
    def nodes(self) -> dict[str, float]:
        """Return the best value of each node over its partners."""
        best: dict[str, float] = {}
        for pair, value in self.pairs.items():
            for node in pair:
                best[node] = self.better(value, best.get(node, value))
        return best

    def only(self, nodes: set[str]) -> "Values":
        """Return the values of pairs of these nodes."""
        rounds = {
            name: {pair: value for pair, value in pairs.items() if nodes.issuperset(pair)}
            for name, pairs in self.rounds.items()
        }
        return Values(self.size, self.unit, rounds)

    def best(self, rounds: Iterable[Mapping[Pair, float]]) -> dict[Pair, float]:
        """Return the best value that each pair has in any of these rounds."""
        best: dict[Pair, float] = {}
        for pairs in rounds:
            for pair, value in pairs.items():
                best[pair] = self.better(value, best.get(pair, value))
        return best

    def better(self, left: float, right: float) -> float:
        """Return the better one of two values."""
        return min(left, right) if direction(self.unit) == "lower" else max(left, right)

    def loss(self, value: float, reference: float) -> float:
        """Return by what fraction of a reference a value is worse; below 0 where it is better."""
        change = value / reference - 1
        return change if direction(self.unit) == "lower" else -change

    def sorted(self, values: Iterable[float]) -> list[float]:
        """Return values, the best one first."""
        return sorted(values, reverse=direction(self.unit) != "lower")

    def partners(self, node: str) -> set[str]:
        """Return the nodes that one was measured with."""
        return {other for pair in self.pairs if node in pair for other in pair if other != node}


@dataclass(frozen=True)
class Comparison:
    """What came of one quantity of a kind.

    `median` is that of the nodes' values, of the better group where they are two; None where
    nothing could be compared, of which `reason` says why. `again` has the values of the nodes that
    were measured again with a good partner, `again_median` that of the good ones among them, with
    each other: what was measured together is compared.
    """

    kind: Kind
    size: int
    unit: str
    tolerance: float
    median: float | None
    nodes: Mapping[str, float]
    findings: tuple[NodeFinding, ...] = ()
    reason: str = ""
    again: Mapping[str, float] = field(default_factory=dict)
    again_median: float | None = None

    @property
    def suspects(self) -> set[str]:
        """Return the nodes that a finding calls slow, or those at both ends of a slow way."""
        return {
            node for finding in self.findings if finding.kind in FAILING for node in finding.nodes
        }

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "environment": self.kind.environment,
            "where": self.kind.where,
            "size": self.size,
            "unit": self.unit,
            "tolerance": self.tolerance,
            "median": self.median,
            "nodes": dict(sorted(self.nodes.items())),
            "again": dict(sorted(self.again.items())),
            "again_median": self.again_median,
            "reason": self.reason,
        }


def values_of(results: Iterable[PairResult]) -> list[Values]:
    """Return the quantities that pairs of one kind measured: one for each message size."""
    by_size: dict[int, dict[str, dict[Pair, float]]] = {}
    for result in results:
        pair = tuple(sorted(result.nodes))
        pairs = by_size.setdefault(result.size, {}).setdefault(result.round, {})
        is_large = result.size >= LARGE
        value = result.bandwidth if is_large else result.time
        pairs[pair] = (max if is_large else min)(value, pairs.get(pair, value))
    return [
        Values(size, "MB/s" if size >= LARGE else "us", rounds)
        for size, rounds in sorted(by_size.items())
    ]
