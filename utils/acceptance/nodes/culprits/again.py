"""Pairs that were measured again with nothing else busy, compared with good ones measured so."""

import numpy as np

from acceptance.core.pair_matrix import UNITS, Pair, PairMatrix
from acceptance.nodes.culprits.constants import CONFIRMED_FROM, SMALLEST
from acceptance.nodes.culprits.fit import Bools, Fit, log_loss


class Again:
    """The losses of the pairs of one quantity that were measured again.

    They are compared with the median of the controls; where there are none, with the levels of
    their rounds.
    """

    def __init__(self, matrix: PairMatrix, quantity: str, fitted: Fit) -> None:
        self.smallest = SMALLEST[quantity]
        repeated = matrix.again.get(quantity, {})
        logs = {
            pair: float(log_loss(np.float64(value), UNITS[quantity]))
            for pair, value in repeated.items()
        }
        good = [logs[pair] for pair in sorted(matrix.controls & logs.keys())]
        middle = float(np.median(good)) if good else None
        #: Pair -> its loss; of the suspects only.
        self.losses: dict[Pair, float] = {
            pair: value - (middle if middle is not None else float(fitted.level[pair]))
            for pair, value in logs.items()
            if pair not in matrix.controls
        }

    def of(self, pairs: Bools) -> float | None:
        """Return the median loss of these pairs; None where none of them was measured again."""
        losses = [loss for pair, loss in self.losses.items() if pairs[pair]]
        return float(np.median(losses)) if losses else None

    def confirms(self, again: float, before: float) -> bool:
        """Tell whether a loss is still there when nothing else is busy."""
        return again >= max(self.smallest / 2, CONFIRMED_FROM * before)
