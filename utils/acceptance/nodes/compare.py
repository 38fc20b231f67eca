"""Each node of a run compared with the median of its kind, by its best result over its partners.

The best one is what a node can do: with one good partner it shows that the fault of a slow pair is
not its own. So of a pair that is slow the node is named that is slow with everybody. A pair that is
slow while both of its nodes are good with others blames the way between the two. No reference is
needed, and none is used.

In the round `halves` the partners are far from each other, and in a healthy fat tree pairs of it
may share a link of the upper switches. So it shows what a node can do; but what is slow in it
blames neither node nor way, only the round.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from acceptance.core.pairs import PairResult
from acceptance.launch.rounds import HALVES
from acceptance.nodes.findings import BETTER, GROUP, NODE, PAIR, ROUND, WAY, NodeFinding
from acceptance.nodes.results import Comparison, Kind, Pair, Values, values_of

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
