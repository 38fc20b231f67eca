"""What pairs of nodes measured: a matrix, and what each node measured inside.

Numpy itself is not needed: each start of ReFrame comes by here, and few have a matrix.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct

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
#: Seconds of a round, about: three loops of 5 ms in each turn of each quantity.
ROUND_S = 0.15

#: Sender and receiver, as places in `PairMatrix.nodes`.
Pair = tuple[int, int]


class Curve(Struct, frozen=True):
    """What a pair measured: `times` of messages of `sizes`, ascending, one way.

    `late` is the 99th percentile of each. `overheads`: o at the sender and at the receiver, None
    where it is not known; empty: it was not looked at. `per_message`: the time for each of many
    messages in a row, which has g in place of L+2o.
    """

    sizes: tuple[int, ...]
    times: tuple[float, ...]
    late: tuple[float, ...] = ()
    overheads: tuple[float | None, ...] = ()
    per_message: bool = False


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
    measured. `curves`: those of some suspects and controls, each measured alone several times. What
    cannot have been measured `suites/all_pairs.py` refuses, with its line.
    """

    nodes: tuple[str, ...]
    values: Mapping[str, NDArray[np.float64]]
    rounds: NDArray[np.int32]
    again: Mapping[str, Mapping[Pair, float]] = field(default_factory=dict)
    controls: frozenset[Pair] = frozenset()
    failed: Mapping[Pair, str] = field(default_factory=dict)
    not_again: int = 0
    inside: Inside = field(default_factory=Inside)
    curves: Mapping[Pair, tuple[Curve, ...]] = field(default_factory=dict)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Tell of each pair, (N, N), whether it has a value of any quantity."""
        has = (abs(values) < float("inf") for values in self.values.values())
        # No round is below 0: that is so of no pair.
        return functools.reduce(operator.or_, has, self.rounds < 0)

    def way(self, pair: Pair) -> str:
        """Name a pair: `node12 -> node31`."""
        return f"{self.nodes[pair[0]]} -> {self.nodes[pair[1]]}"
