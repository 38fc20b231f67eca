"""Suspects measured again, with partners that were good: what is confirmed, and what is not."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from acceptance.core.pairs import PairResult
from acceptance.nodes.findings import BETTER, GROUP, NODE, PAIR, ROUND, UNSTEADY, WAY, NodeFinding
from acceptance.nodes.results import Comparison, Values, values_of

#: The fewest good nodes that suspects are measured with: two of them make a pair to compare with,
#: and a suspect has a partner that it did not have before.
FEWEST = 3


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
                yield replace(old, again=value)
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
            yield replace(old, nodes=tuple(slow), again=self.best(values, slow))
        else:
            for node in slow:
                others = tuple(sorted(self.values.partners(node)))
                yield replace(old, kind=NODE, nodes=(node,), partners=others, again=values[node])
        if old.kind == PAIR:
            if len(fine) > 1:
                yield replace(old, kind=WAY, nodes=tuple(fine))
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
