"""What is slow inside of nodes, and among three of them: a few numbers, no matrix to fit."""

import operator
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np
from msgspec.structs import replace

from acceptance.core.pairs import ALL_UNITS, INSIDE, PairMatrix
from acceptance.nodes.culprits.explanations import Explanation
from acceptance.nodes.culprits.fit import (
    CONFIRMED_FROM,
    PRIOR_NOISE,
    PRIOR_WORTH,
    SLOW_FROM,
    SMALLEST,
    SMALLEST_INSIDE,
    Bools,
    Floats,
    beyond_chance,
    log_loss,
    spread,
)
from acceptance.nodes.culprits.model import (
    FAILED,
    GROUP,
    NODE,
    NOT_JUDGED,
    ONE_WAY,
    RECEIVES,
    SENDS,
    UNSTEADY,
    WAY,
    WITHIN,
    Culprit,
    NodeValues,
    ratio_of_loss,
)


def slow_inside(matrix: PairMatrix) -> tuple[list[Culprit], list[NodeValues]]:
    """Return the nodes that are slow inside, each once for what the same faults slow, and values.

    No node disturbs another one there, and each has a value of its own: so of two the slower one is
    known, though not whether the other one is as it should be.
    """
    inside = matrix.inside
    found = [
        Culprit(
            FAILED,
            (matrix.nodes[node],),
            (),
            INSIDE["latency"],
            pairs=1,
            of=1,
            why=f"inside of the node: {why}",
        )
        for node, why in sorted(inside.failed.items())
    ]
    values = []
    for family in (("bandwidth", "both"), ("latency",)):
        named: set[str] = set()
        for quantity in map(INSIDE.get, family):
            if quantity is None or not np.isfinite(inside.values.get(quantity, np.nan)).any():
                continue
            one = _Inside(matrix, quantity)
            values.append(one.node_values())
            for culprit in one.culprits():
                if not named.issuperset(culprit.nodes):
                    found.append(culprit)
                    named |= {*culprit.nodes}
    return found, values


class _Inside:
    """One quantity inside of the nodes."""

    def __init__(self, matrix: PairMatrix, quantity: str) -> None:
        self.matrix, self.quantity, self.unit = matrix, quantity, ALL_UNITS[quantity]
        self.smallest = SMALLEST_INSIDE[self.unit]
        self.logs = log_loss(matrix.inside.values[quantity], self.unit)
        self.middle = self.level()
        self.loss = np.nan_to_num(self.logs - self.middle)

    def level(self) -> float:
        """Return the median; where the nodes are two groups, that of the better one."""
        known = np.sort(self.logs[np.isfinite(self.logs)])
        anchor = known[max((known.size + 3) // 4 - 1, int(known.size > 3))]
        if known[known.size // 2] - anchor > self.smallest:
            known = known[known - anchor <= self.smallest]
        return float(np.median(known))

    def slow(self) -> Bools:
        """Tell which nodes are worse than good ones are among each other."""
        has = np.isfinite(self.logs)
        good = self.loss[has & (self.loss <= self.smallest)]
        noise = _noise(spread(good) ** 2 * good.size, good.size)
        wide = beyond_chance(len(self.logs), good.size + PRIOR_WORTH) * noise
        slow: Bools = has & (self.loss > max(self.smallest, wide))
        return slow

    def culprits(self) -> Iterator[Culprit]:
        slow = self.slow()
        if 2 * slow.sum() >= np.isfinite(self.logs).sum():
            yield from [self.culprit(GROUP, slow)] if slow.any() else []
            return
        for node in np.flatnonzero(slow):
            yield self.culprit(WITHIN, np.arange(len(slow)) == node)

    def culprit(self, kind: str, nodes: Bools) -> Culprit:
        loss = float(np.median(self.loss[nodes]))
        values = self.matrix.inside.again.get(self.quantity, {})
        again = [
            float(log_loss(np.float64(values[node]), self.unit)) - self.middle
            for node in np.flatnonzero(nodes).tolist()
            if node in values
        ]
        repeated = float(np.median(again)) if again else None
        culprit = Culprit(
            kind=kind,
            nodes=tuple(np.array(self.matrix.nodes)[nodes].tolist()),
            quantity=self.quantity,
            unit=self.unit,
            value=self.value(loss),
            median=self.value(0.0),
            ratio=ratio_of_loss(loss, self.unit),
            pairs=int(nodes.sum()),
            of=1 if kind == WITHIN else int(nodes.sum()),
            again=None if repeated is None else ratio_of_loss(repeated, self.unit),
        )
        if repeated is not None and repeated < max(self.smallest / 2, CONFIRMED_FROM * loss):
            return replace(culprit, kind=UNSTEADY)
        return culprit

    def value(self, loss: float) -> float:
        """Return the value of a loss."""
        return float(np.exp((self.middle + loss) * (1 if self.unit == "us" else -1)))

    def node_values(self) -> NodeValues:
        values = self.matrix.inside.values[self.quantity]
        return NodeValues.of(self.quantity, self.value(0.0), values)


def _noise(squares: float, number: int, lost: int = 1) -> float:
    """Return the standard deviation behind so many squares, of which `lost` are fitted."""
    of = max(number - lost, 1) + PRIOR_WORTH
    return float(np.sqrt((squares + PRIOR_WORTH * PRIOR_NOISE**2) / of))


def _shapes() -> Iterator[Explanation]:
    """Yield what can be slow among three nodes such that another pair is not."""
    for one in range(3):
        yield from (Explanation(kind, (one,)) for kind in (NODE, SENDS, RECEIVES))
    for one, other in permutations(range(3), 2):
        yield Explanation(ONE_WAY, (one,), (other,))
    for one, other in combinations(range(3), 2):
        yield Explanation(WAY, (one,), (other,))


def slow_of_three(logs: Sequence[Floats], quantity: str) -> Explanation | None:
    """Return what explains the slow pairs of three nodes, by quantities with the same faults.

    The one of all shapes whose slow pairs are farthest from the others, if that is farther than the
    pairs within each part are from each other, in each quantity, and all slow ones are worse than
    all others. None: nothing explains them, or there is nothing to explain.
    """
    mean = np.mean([each - np.nanmedian(each) for each in logs], axis=0)
    has = ~np.eye(3, dtype=bool)
    if not np.isfinite(mean[has]).all():
        return None
    best: tuple[float, Explanation | None] = (0.0, None)
    shapes = [*_shapes()]
    for shape in shapes:
        slow = shape.pairs(3)
        bad, good = mean[slow], mean[has & ~slow]
        effect = float(np.median(bad) - np.median(good))
        # In each quantity most of its pairs are slow: of a mean two moments may make a node.
        better_half = (np.sort(each[slow])[(bad.size - 1) // 2] for each in logs)
        others = (np.median(each[has & ~slow]) for each in logs)
        least = min(map(operator.sub, better_half, others))
        squares = float(((bad - bad.mean()) ** 2).sum() + ((good - good.mean()) ** 2).sum())
        noise = _noise(squares, 6, 2) * np.sqrt(1 / bad.size + 1 / good.size)
        apart = float(bad.min() - good.max())
        wide = beyond_chance(len(shapes), 4 + PRIOR_WORTH) * noise
        is_slow = least >= SMALLEST[quantity] and effect >= wide and apart > SLOW_FROM * effect
        if is_slow and apart > best[0]:
            best = apart, shape
    return best[1]


def two_nodes(matrix: PairMatrix) -> Culprit:
    """Return that nobody can judge the one pair of two nodes, and what can."""
    why = (
        "two nodes are one pair: only a reference, the fabric's limit or their past can tell that "
        "they are slow with each other, and nothing tells which of them it is"
    )
    return Culprit(NOT_JUDGED, matrix.nodes, why=why)
