"""Each node of a run compared with the median of its kind, by its best result over its partners.

The best one is what a node can do: with one good partner it shows that the fault of a slow pair is
not its own. So of a pair that is slow the node is named that is slow with everybody. A pair that is
slow while both of its nodes are good with others blames the way between the two. No reference is
needed, and none is used.

In the round `halves` the partners are far from each other, and in a healthy fat tree pairs of it
may share a link of the upper switches. So it shows what a node can do; but what is slow in it
blames neither node nor way, only the round.

Suspects are measured again with partners that were good: that confirms them, or does not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from msgspec import structs

from acceptance.core.pairs import PairResult
from acceptance.core.words import direction
from acceptance.machine.rounds import HALVES
from acceptance.nodes.findings import (
    BETTER,
    FAILING,
    GROUP,
    NODE,
    PAIR,
    ROUND,
    UNSTEADY,
    WAY,
    NodeFinding,
)

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


#: The fewest good pairs of a round that are compared with each other, not with those of all rounds:
#: partners of one round are at one distance.
FEWEST = 3

#: Where pairs stood, and unit -> the fraction by which a node may be worse.
Tolerance = Callable[[str, str], float]


def compare(results: Mapping[Kind, Sequence[PairResult]], tolerance: Tolerance) -> list[Comparison]:
    """Compare the nodes of each kind, in each quantity that their pairs measured."""
    return [
        _Judge(kind, values, tolerance(kind.where, values.unit)).comparison()
        for kind, pairs in sorted(results.items())
        for values in values_of(pairs)
    ]


@dataclass(frozen=True)
class _Judge:
    """Compares the nodes of a kind in one quantity."""

    kind: Kind
    values: Values
    tolerance: float

    def comparison(self) -> Comparison:
        nodes = self.values.nodes
        about = self.kind, self.values.size, self.values.unit, self.tolerance
        if reason := self.too_few():
            return Comparison(*about, None, nodes, reason=reason)
        reference = self.reference()
        slow = {node for node in nodes if self.is_slow(nodes[node], reference)}
        if 2 * len(slow) >= len(nodes):
            best = self.values.sorted(nodes[node] for node in slow)[0]
            findings = [self.finding(GROUP, slow, best, reference)]
        else:
            judge = self.without_far() if self.is_far_slow(slow, reference) else self
            findings = [
                judge.finding(
                    what, names, self.values.sorted(nodes[n] for n in names)[0], reference
                )
                for what, names in judge.blamed(slow)
            ]
        if better := {node for node in nodes if self.is_slow(reference, nodes[node])}:
            worst = self.values.sorted(nodes[node] for node in better)[-1]
            findings.append(self.finding(BETTER, better, worst, reference))
        findings += [*self.without_far().ways(slow), *self.far_ways(slow, reference)]
        return Comparison(*about, reference, nodes, tuple(findings))

    def is_slow(self, value: float, reference: float) -> bool:
        return self.values.loss(value, reference) > self.tolerance

    def too_few(self) -> str:
        """Say why these nodes cannot be compared with each other; empty where they can."""
        if len(self.values.nodes) == 1:
            return "one node: there is none to compare it with"
        if self.kind.where == "between" and len(self.values.pairs) == 1:
            return "two nodes, one pair: there is no other to compare it with"
        return ""

    def reference(self) -> float:
        """Return the median of the nodes; where they are two groups, that of the better one.

        They are when the lower half is worse than the better quarter (of up to seven nodes: the
        second best, of up to three the best) by more than the tolerance: a median of all would lie
        in between, or among the slow ones, and name nobody.
        """
        best_first = self.values.sorted(self.values.nodes.values())
        count = len(best_first)
        anchor = best_first[max((count + 3) // 4 - 1, int(count > 3))]
        if self.is_slow(best_first[count // 2], anchor):
            best_first = [value for value in best_first if not self.is_slow(value, anchor)]
        return median(best_first)

    def without_far(self) -> "_Judge":
        """Return the judge of the same nodes without the pairs that are far from each other."""
        near = {name: pairs for name, pairs in self.values.rounds.items() if name != HALVES}
        return replace(self, values=replace(self.values, rounds=near))

    def good_pairs(self, slow: set[str]) -> dict[str, dict[Pair, float]]:
        """Return the pairs of two good nodes in each round."""
        return {
            name: {pair: pairs[pair] for pair in pairs if len(pair) > 1 and not slow & {*pair}}
            for name, pairs in self.values.rounds.items()
        }

    def is_far_slow(self, slow: set[str], reference: float) -> bool:
        """Tell whether partners that are far prove nothing: good ones are slow, or there are none.

        A node may then be slow with a good one because that is far.
        """
        far = self.good_pairs(slow).get(HALVES, {}).values()
        return not far or self.is_slow(median(far), reference)

    def far_ways(self, slow: set[str], reference: float) -> Iterator[NodeFinding]:
        """Yield what is slow between good nodes that are far from each other: all, or some."""
        far = self.good_pairs(slow).get(HALVES, {})
        near = self.values.best(self.without_far().good_pairs(slow).values()).values()
        reference = median(near) if near else reference
        if not far:
            return
        if self.is_slow(median(far.values()), reference):
            yield self.finding(ROUND, (), median(far.values()), reference, HALVES)
            return
        low = {pair: value for pair, value in far.items() if self.is_slow(value, reference)}
        if low:
            best = self.values.sorted(low.values())[0]
            names = {node for pair in low for node in pair}
            yield self.finding(ROUND, names, best, reference, HALVES)

    def blamed(self, slow: set[str]) -> Iterator[tuple[str, set[str]]]:
        """Yield who is to blame for what is slow, as a kind of finding and its nodes."""
        partners = {node: self.values.partners(node) for node in slow}
        proven = {node for node in slow if partners[node] - slow or not partners[node]}
        yield from ((NODE, {node}) for node in sorted(proven))
        left = slow - proven
        while left:
            together, found = set[str](), {min(left)}
            while found - together:
                together |= found
                found = {other for node in together for other in partners[node]} & left
            left -= together
            yield PAIR, together

    def ways(self, slow: set[str]) -> Iterator[NodeFinding]:
        """Yield the slow pairs of two good nodes, and the rounds of which all pairs are slow."""
        good = self.good_pairs(slow)
        large = {name: pairs for name, pairs in good.items() if len(pairs) >= FEWEST}
        small = [pairs for name, pairs in good.items() if name not in large]
        yield from self.rounds({name: median(pairs.values()) for name, pairs in large.items()})
        best = self.values.best(good.values())
        for group, of in (
            *((pairs, pairs) for pairs in large.values()),
            *((pairs, best) for pairs in small),
        ):
            reference = median(of.values()) if of else 0.0
            for pair, value in group.items():
                # Measured in several rounds, a way is what the best of them shows.
                if value == best[pair] and self.is_slow(value, reference):
                    yield self.finding(WAY, pair, value, reference)

    def rounds(self, medians: Mapping[str, float]) -> Iterator[NodeFinding]:
        """Yield the rounds whose median is worse than that of the best round."""
        best = self.values.sorted(medians.values())[:1]
        for name, value in sorted(medians.items()):
            if self.is_slow(value, best[0]):
                yield self.finding(ROUND, (), value, best[0], name)

    def finding(
        self, what: str, names: Iterable[str], value: float, reference: float, name: str = ""
    ) -> NodeFinding:
        nodes = tuple(sorted(names))
        partners = self.values.partners(nodes[0]) if len(nodes) == 1 else ()
        return NodeFinding(
            kind=what,
            nodes=nodes,
            place=self.kind.place,
            environment=self.kind.environment,
            where=self.kind.where,
            size=self.values.size,
            unit=self.values.unit,
            value=value,
            median=reference,
            loss=self.values.loss(value, reference),
            tolerance=self.tolerance,
            partners=tuple(sorted(partners)),
            round=name,
        )


def partners(comparisons: Sequence[Comparison]) -> tuple[list[str], list[str]]:
    """Return the suspects of the comparisons of one partition, and the good nodes to try them with.

    These are as many, and those come first that were no partners of a suspect.
    """
    suspects = {node for comparison in comparisons for node in comparison.suspects}
    findings = [finding for comparison in comparisons for finding in comparison.findings]
    known = {node for comparison in comparisons for node in comparison.nodes}
    before = {node for finding in findings for node in finding.partners}
    good = sorted(known - suspects, key=lambda node: (node in before, node))
    return sorted(suspects), good[: max(FEWEST, len(suspects))]


def review(first: Comparison, again: Sequence[PairResult]) -> Comparison:
    """Return a comparison whose findings are those that a second measurement confirms.

    What was slow in one of the two only is unsteady. What was not measured again stays as it was.
    """
    repeated = [values for values in values_of(again) if values.size == first.size]
    if not repeated or first.median is None:
        return first
    return _Review(first, repeated[0]).comparison()


class _Review:
    """Judges the findings of a comparison by the values of a second measurement."""

    def __init__(self, first: Comparison, values: Values) -> None:
        self.first, self.values = first, values
        self.good = set(values.nodes) - first.suspects
        among = values.only(self.good)
        #: Good nodes that were measured with each other.
        self.steady = among.nodes
        self.reference = median(self.steady.values()) if self.steady else first.median or 0.0

    def comparison(self) -> Comparison:
        findings = [new for old in self.first.findings for new in self.reviewed(old)]
        blamed = {node for finding in findings for node in finding.nodes}
        for node, value in sorted(self.steady.items()):
            if self.is_slow(value) and node not in blamed:
                findings.append(self.unsteady((node,), self.first.nodes[node], value))
        again = {node: self.with_good(node).nodes.get(node) for node in self.values.nodes}
        return replace(
            self.first,
            findings=tuple(findings),
            again={node: value for node, value in again.items() if value is not None},
            again_median=self.reference if self.steady else None,
        )

    def with_good(self, node: str) -> Values:
        """Return what a node measured with good partners: beside a slow one nobody is fast."""
        return self.values.only({node} | self.good)

    def again(self, node: str) -> float | None:
        """Return the best value of a node over good partners, where it had any, else over all."""
        return self.with_good(node).nodes.get(node, self.values.nodes.get(node))

    def is_slow(self, value: float) -> bool:
        return self.values.loss(value, self.reference) > self.first.tolerance

    def reviewed(self, old: NodeFinding) -> Iterator[NodeFinding]:
        """Yield what becomes of a finding."""
        if old.kind in (BETTER, ROUND):
            yield old
        elif old.kind == WAY:
            value = self.values.pairs.get(old.nodes)
            if value is None or self.is_slow(value):
                yield structs.replace(old, again=value)
            else:
                yield self.unsteady(old.nodes, old.value, value)
        else:
            yield from self.of_nodes(old)

    def of_nodes(self, old: NodeFinding) -> Iterator[NodeFinding]:
        """Yield what becomes of a finding that blames nodes."""
        again = {node: self.again(node) for node in old.nodes}
        if None in again.values():
            yield old
            return
        values = {node: value for node, value in again.items() if value is not None}
        slow = sorted(node for node, value in values.items() if self.is_slow(value))
        fine = sorted(set(values) - set(slow))
        if old.kind == GROUP and 2 * len(slow) >= len(self.first.nodes):
            yield structs.replace(old, nodes=tuple(slow), again=self.best(values, slow))
        else:
            for node in slow:
                others = tuple(sorted(self.values.partners(node)))
                yield structs.replace(
                    old, kind=NODE, nodes=(node,), partners=others, again=values[node]
                )
        if old.kind == PAIR:
            if len(fine) > 1:
                yield structs.replace(old, kind=WAY, nodes=tuple(fine))
        elif fine:
            yield self.unsteady(fine, old.value, self.best(values, fine))

    def best(self, values: dict[str, float], nodes: Sequence[str]) -> float:
        return self.values.sorted(values[node] for node in nodes)[0]

    def unsteady(self, nodes: Sequence[str], before: float, after: float) -> NodeFinding:
        first = self.first
        reference = first.median or 0.0
        worst = self.values.sorted((before, after))[-1]
        return NodeFinding(
            kind=UNSTEADY,
            nodes=tuple(nodes),
            place=first.kind.place,
            environment=first.kind.environment,
            where=first.kind.where,
            size=first.size,
            unit=first.unit,
            value=before,
            median=reference,
            loss=self.values.loss(worst, reference),
            tolerance=first.tolerance,
            again=after,
        )
