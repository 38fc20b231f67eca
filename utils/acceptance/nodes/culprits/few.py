"""What is slow inside of nodes, and among three of them: a few numbers, no matrix to fit."""

import operator
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np

from acceptance.core.pairs import ALL_UNITS, INSIDE, PairMatrix
from acceptance.nodes.culprits.explanations import Explanation
from acceptance.nodes.culprits.fit import (
    CONFIRMED_FROM,
    PRIOR_NOISE,
    PRIOR_WORTH,
    SLOW_FROM,
    SMALLEST,
    SMALLEST_INSIDE,
    Floats,
    Ints,
    better_quarter,
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
    value_of,
)


def slow_inside(matrix: PairMatrix) -> tuple[list[Culprit], list[NodeValues]]:
    """Return the nodes that are slow inside, each once for what the same faults slow, and values.

    No node disturbs another one there, and each has a value of its own: so of two the slower one is
    known, though not whether the other one is as it should be.
    """
    found = []
    for node, why in sorted(matrix.inside.failed.items()):
        names, why = (matrix.nodes[node],), f"inside of the node: {why}"
        found.append(Culprit(FAILED, names, (), INSIDE["latency"], pairs=1, of=1, why=why))
    values = []
    for family in ((INSIDE["bandwidth"], INSIDE["both"]), (INSIDE["latency"],)):
        named: set[str] = set()
        for quantity in family:
            of_nodes = matrix.inside.values.get(quantity)
            if of_nodes is None or not np.isfinite(of_nodes).any():
                continue
            unit = ALL_UNITS[quantity]
            logs = log_loss(of_nodes, unit)
            middle = _middle(logs, SMALLEST_INSIDE[unit])
            values.append(NodeValues.of(quantity, value_of(middle, unit), of_nodes))
            for kind, nodes in _slow(logs - middle, SMALLEST_INSIDE[unit]):
                if not named.issuperset(np.array(matrix.nodes)[nodes]):
                    found.append(_culprit(matrix, quantity, middle, kind, nodes))
                    named |= {*found[-1].nodes}
    return found, values


def _middle(logs: Floats, smallest: float) -> float:
    """Return the median; where the nodes are two groups, that of the better one."""
    known = np.sort(logs[np.isfinite(logs)])
    anchor = better_quarter(known)
    if known[known.size // 2] - anchor > smallest:
        known = known[known - anchor <= smallest]
    return float(np.median(known))


def _slow(loss: Floats, smallest: float) -> list[tuple[str, Ints]]:
    """Return the nodes that are worse than good ones are among each other: half of all as one."""
    good = loss[loss <= smallest]
    noise = _noise(spread(good) ** 2 * good.size, good.size)
    wide = beyond_chance(loss.size, good.size + PRIOR_WORTH) * noise
    slow = np.flatnonzero(loss > max(smallest, wide))
    if slow.size and 2 * slow.size >= np.isfinite(loss).sum():
        return [(GROUP, slow)]
    return [(WITHIN, slow[slow == node]) for node in slow]


def _culprit(matrix: PairMatrix, quantity: str, middle: float, kind: str, nodes: Ints) -> Culprit:
    unit, again = ALL_UNITS[quantity], matrix.inside.again.get(quantity, {})
    names = tuple(matrix.nodes[node] for node in nodes)
    level = float(np.median(log_loss(matrix.inside.values[quantity][nodes], unit)))
    repeated = [again[node] for node in nodes.tolist() if node in again]
    alone = float(np.median(log_loss(np.array(repeated), unit))) - middle if repeated else None
    loss = level - middle
    if alone is not None and alone < max(SMALLEST_INSIDE[unit] / 2, CONFIRMED_FROM * loss):
        kind = UNSTEADY
    return Culprit(
        kind, names, (), quantity, unit, value_of(level, unit), value_of(middle, unit),
        value_of(loss, unit), len(names), len(names),
        None if alone is None else value_of(alone, unit),
    )  # fmt: skip


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
