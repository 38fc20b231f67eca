"""What pairs of nodes measured: a matrix, and what each node measured inside.

Numpy itself is not needed: each start of ReFrame comes by here, and few have a matrix.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Quantity -> its unit: the time of a small message on its way, the rate of large ones in one
#: direction, and in each direction when both send at once.
UNITS = {"latency": "us", "bandwidth": "MB/s", "both": "MB/s"}
#: The same of two processes inside of a node: quantity between nodes -> how it is called inside.
INSIDE = {quantity: f"{quantity} inside" for quantity in UNITS}
#: Quantity -> its unit, between nodes and inside.
ALL_UNITS = UNITS | {inside: UNITS[quantity] for quantity, inside in INSIDE.items()}

#: Sender and receiver, as places in `PairMatrix.nodes`.
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Inside:
    """What each of N nodes measured between two processes of its own.

    `values`: name in `INSIDE` -> (N,) of floats, NaN where nothing was measured. `again`: the same
    -> node -> its value when it was measured once more. `failed`: node -> why it has no value.
    """

    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    again: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PairMatrix:
    """What N nodes measured between each two of them, one process a node, and inside of each.

    `nodes`: their names by rank. `values`: quantity -> (N, N) of floats in the unit of `UNITS`;
    [i, j] is from node i to node j, NaN where nothing was measured, as on the diagonal. `rounds`:
    (N, N) of integers, the round in which i -> j was measured; 0: in none. All pairs of a round are
    busy at once. `again`: quantity -> pair -> its value when it was measured once more with no
    other pair busy. `controls`: those pairs of `again` that nobody suspected, which show what a
    good pair measures alone. `failed`: pair -> why a value of it is missing. `not_again`: number of
    suspects for which there was no time to measure them again. `inside`: empty where that was not
    measured.

    Raises ValueError for what cannot have been measured.
    """

    nodes: tuple[str, ...]
    values: Mapping[str, NDArray[np.float64]]
    rounds: NDArray[np.int32]
    again: Mapping[str, Mapping[Pair, float]] = field(default_factory=dict)
    controls: frozenset[Pair] = frozenset()
    failed: Mapping[Pair, str] = field(default_factory=dict)
    not_again: int = 0
    inside: Inside = field(default_factory=Inside)

    def __post_init__(self) -> None:
        """Check it as a whole."""
        self._check_nodes()
        rounds = self._of_pairs("the rounds", self.rounds)
        if rounds.dtype.kind not in "iu" or rounds.min() < 0:
            raise ValueError("the rounds are no counts from 0")
        for quantity, values in self.values.items():
            self._check_values(quantity, values)
        for quantity, values in self.inside.values.items():
            if quantity not in INSIDE.values() or values.shape != (len(self.nodes),):
                raise ValueError(f"{quantity} of {values.shape}: not what nodes measure inside")
        for quantity, again in self.again.items():
            if quantity not in self.values:
                raise ValueError(f"{quantity} was measured again, but not measured before")
            self._check_pairs(f"{quantity} measured again", again)
            bad = [pair for pair, value in again.items() if not 0 < value < math.inf]
            if bad:
                raise ValueError(f"{quantity} of {self.way(bad[0])} again: {again[bad[0]]}")
        self._check_pairs("the failed pairs", self.failed)
        repeated = {pair for again in self.again.values() for pair in again}
        if unknown := self.controls - repeated:
            raise ValueError(f"{self.way(min(unknown))} is a control that was not measured again")
        if self.not_again < 0:
            raise ValueError(f"{self.not_again} suspects not measured again")

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Tell of each pair, (N, N), whether it has a value of any quantity."""
        has = (abs(values) < math.inf for values in self.values.values())
        # No round is below 0: that is so of no pair.
        return functools.reduce(operator.or_, has, self.rounds < 0)

    def way(self, pair: Pair) -> str:
        """Name a pair: `node12 -> node31`."""
        return f"{self.nodes[pair[0]]} -> {self.nodes[pair[1]]}"

    def _check_nodes(self) -> None:
        if len(self.nodes) < 2:
            raise ValueError(f"no pairs of {len(self.nodes)} nodes")
        if not all(self.nodes):
            raise ValueError("a node has no name")
        if len({*self.nodes}) < len(self.nodes):
            twice = next(name for name in self.nodes if self.nodes.count(name) > 1)
            raise ValueError(f"the node {twice} has several ranks; one rank a node")

    def _of_pairs(self, what: str, array: NDArray[np.generic]) -> NDArray[np.generic]:
        count = len(self.nodes)
        if array.shape != (count, count):
            raise ValueError(f"{what} are {array.shape}, not of {count} x {count} pairs")
        return array

    def _check_values(self, quantity: str, values: NDArray[np.float64]) -> None:
        if quantity not in UNITS:
            raise ValueError(f"unknown quantity {quantity!r}; known: {', '.join(UNITS)}")
        self._of_pairs(f"the values of {quantity}", values)
        has = values == values  # of NaN it is not so
        if has.diagonal().any():
            raise ValueError(f"{quantity} of a node with itself")
        wrong = has & ~((values > 0) & (values < math.inf))
        if wrong.any():
            pair = self._first(wrong)
            raise ValueError(f"{quantity} of {self.way(pair)}: {values[pair]} was not measured")
        if (has & (self.rounds == 0)).any():
            pair = self._first(has & (self.rounds == 0))
            raise ValueError(f"{quantity} of {self.way(pair)} was measured in no round")

    def _check_pairs(self, what: str, pairs: Iterable[Pair]) -> None:
        nodes = range(len(self.nodes))
        for left, right in pairs:
            if left not in nodes or right not in nodes or left == right:
                raise ValueError(f"{what}: ({left}, {right}) is no pair of {len(nodes)} nodes")

    def _first(self, where: NDArray[np.bool_]) -> Pair:
        rows, columns = where.nonzero()
        return int(rows[0]), int(columns[0])
