"""What a search leaves: slow pairs that no culprit explains, and what could not be judged.

By chance a pair is slow both times, while all are busy and alone, with the share of all pairs that
are that slow. More such pairs than that share of those measured again (a Poisson count) are no
chance, whatever they have in common: nothing that slow may pass in silence. Pairs that a culprit
explains count nowhere: they would make those of chance beside them certain.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from acceptance.core.pair_matrix import UNITS, PairMatrix
from acceptance.nodes.culprits.again import Again
from acceptance.nodes.culprits.constants import FALSE_RATE, LEFT_SCORE, NOISIEST, SMALLEST
from acceptance.nodes.culprits.fit import Bools, Fit
from acceptance.nodes.culprits.model import NOT_JUDGED, Culprit


def left_over(
    matrix: PairMatrix, quantity: str, fitted: Fit, again: Again, found: Iterable[Culprit]
) -> Bools:
    """Return which pairs are slow twice and not explained; none where chance explains them."""
    unexplained = matrix.measured & ~_explained(matrix, found)
    slow = unexplained & (fitted.loss >= SMALLEST[quantity])
    slow &= fitted.loss >= LEFT_SCORE * fitted.scale
    repeated = {pair: loss for pair, loss in again.losses.items() if unexplained[pair]}
    twice = [
        pair
        for pair, loss in repeated.items()
        if slow[pair] and again.confirms(loss, float(fitted.loss[pair]))
    ]
    left: Bools = matrix.measured & False
    chance = len(repeated) * float(slow.sum()) / max(int(unexplained.sum()), 1)
    if twice and _tail(len(twice), chance) < FALSE_RATE:
        for pair in twice:
            left[pair] = True
    return left


def _explained(matrix: PairMatrix, found: Iterable[Culprit]) -> Bools:
    """Tell of each pair whether a culprit has it, in one direction or the other."""
    place = {name: number for number, name in enumerate(matrix.nodes)}
    explained: Bools = matrix.measured & False
    for culprit in found:
        nodes = [place[name] for name in culprit.nodes]
        others = [place[name] for name in culprit.others] or list(range(len(matrix.nodes)))
        for node in nodes:
            explained[node, others] = explained[others, node] = True
    return explained


def _tail(count: int, mean: float) -> float:
    """Return the probability of so many or more events of a Poisson distribution."""
    below = sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(min(count, 150)))
    return max(1 - below, 0.0)


def not_judged(
    matrix: PairMatrix, present: Iterable[str], judged: Mapping[str, tuple[Bools, float]]
) -> list[Culprit]:
    """Return what has too few values to be judged, or too much noise.

    `judged`: quantity -> which nodes were judged, and the spread of good pairs (logarithm).
    """
    found = []
    for quantity in present:
        names: tuple[str, ...] = ()
        nodes, noise = judged.get(quantity, (None, 0.0))
        if nodes is None:
            why = "too few pairs were measured to compare nodes with each other"
        elif noise > NOISIEST:
            why = f"good pairs differ by {noise:.0%}: too much to tell a slow one"
        elif not nodes.all():
            names = tuple(matrix.nodes[index] for index in np.flatnonzero(~nodes))
            why = "too few of its pairs have a value"
        else:
            continue
        found.append(Culprit(NOT_JUDGED, names, (), quantity, UNITS[quantity], why=why))
    return found
