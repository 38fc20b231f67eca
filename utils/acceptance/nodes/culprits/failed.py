"""Pairs that have no value because they failed or hung: the node that they share, or each pair."""

from collections import Counter
from collections.abc import Iterable

from acceptance.core.pair_matrix import Pair, PairMatrix
from acceptance.nodes.culprits.constants import NAMED_FAILED
from acceptance.nodes.culprits.model import FAILED, Culprit


def failed_pairs(matrix: PairMatrix) -> list[Culprit]:
    """Return a culprit for each node of which half of the pairs failed, and for what is left."""
    left = dict(matrix.failed)
    tried = matrix.measured
    for pair in left:
        tried[pair] = True
    found = []
    while left:
        node, number = _most_common(left)
        own = int(tried[node].sum() + tried[:, node].sum())
        partners = {other for pair in left if node in pair for other in pair} - {node}
        if len(partners) < 2 or 2 * number < own:
            break
        whys = [left.pop(pair) for pair in list(left) if node in pair]
        found.append(_culprit(matrix, (node,), (), number, own, whys))
    ways: dict[Pair, list[str]] = {}
    for (sender, receiver), why in sorted(left.items()):
        ways.setdefault((min(sender, receiver), max(sender, receiver)), []).append(why)
    for (one, other), whys in list(ways.items())[:NAMED_FAILED]:
        found.append(_culprit(matrix, (one,), (other,), len(whys), 2, whys))
    if rest := list(ways.items())[NAMED_FAILED:]:
        names = tuple(sorted({node for pair, _ in rest for node in pair}))
        whys = [why for _, each in rest for why in each]
        found.append(_culprit(matrix, names, (), len(whys), 0, whys))
    return found


def _most_common(pairs: Iterable[Pair]) -> tuple[int, int]:
    """Return the node that is in most pairs, the first of several, and in how many."""
    counts = Counter(node for pair in pairs for node in pair)
    node = min(counts, key=lambda name: (-counts[name], name))
    return node, counts[node]


def _culprit(
    matrix: PairMatrix,
    nodes: tuple[int, ...],
    others: tuple[int, ...],
    number: int,
    of: int,
    whys: list[str],
) -> Culprit:
    why = Counter(whys).most_common(1)[0][0]
    return Culprit(
        FAILED,
        tuple(matrix.nodes[node] for node in nodes),
        tuple(matrix.nodes[node] for node in others),
        pairs=number,
        of=of,
        why=why,
    )
