"""All pairs of nodes, a process on each: which rounds a mode takes, and the metrics of a matrix.

Numpy is imported where there is a matrix, not by each start of ReFrame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acceptance.core.metrics import sized
from acceptance.core.pair_matrix import UNITS, PairMatrix
from acceptance.suites.records import Benchmark, Column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Bytes of the message whose time is the latency, and of that whose bandwidth is told.
SMALL, LARGE = 8, 2**22
#: The latter of a simulation: it has the same bandwidth there, and copies what is sent.
SIMULATED_LARGE = 2**18
#: Quantity -> how its median over all pairs, and the median of the worst node, are called.
STEMS = {
    "latency": ("latency", "latency_node_max"),
    "bandwidth": ("bandwidth", "bandwidth_node_min"),
    "both": ("bandwidth_both", "bandwidth_both_node_min"),
}
#: Milliseconds of a loop in simulated time, which has no noise.
SIMULATED = 0.02
COUNTS = ("pairs", "rounds")
#: Mode -> the rounds that are measured at most, and the seconds that they may take.
MOST_ROUNDS = {"smoke": 4, "nightly": 16, "acceptance": 0}
LIMITS = {"smoke": 60, "nightly": 600, "acceptance": 7200}

_COLUMNS = tuple(
    Column(stem, stem, UNITS[quantity]) for quantity, stems in STEMS.items() for stem in stems
)
#: Name -> benchmark.
BENCHMARKS = {
    "all-pairs": Benchmark(
        "all-pairs", (*_COLUMNS, *(Column(name, name, "1") for name in COUNTS)),
        point_to_point=True, sized=False, link_factor=1, one_way=True, one_message=True,
        several_nodes=True, sizes=(SMALL, SIMULATED_LARGE, LARGE),
    )
}  # fmt: skip


def shifts(nodes: int, most: int) -> list[int]:
    """Return the rounds that are measured, by the distance from sender to receiver; none for all.

    Of more than `most` (0: all) those are taken that are spread evenly, each with its way back.
    """
    half = (nodes - 1) // 2
    if not most or nodes - 1 <= most:
        return []
    number = most // 2
    there = {1 + k * (half - 1) // max(number - 1, 1) for k in range(number)}
    return sorted(there | {nodes - k for k in there})


def metrics(
    matrix: PairMatrix | None = None, large: int = LARGE
) -> dict[str, tuple[float | None, str]]:
    """Return metric -> (value, unit); without a matrix the values are None: what will be measured.

    `large` are the bytes of the message whose bandwidth is told. Raises ValueError where a quantity
    was measured of no pair.
    """
    if matrix is not None:
        import numpy as np

    found: dict[str, tuple[float | None, str]] = {}
    for quantity, stems in STEMS.items():
        values: tuple[float | None, ...] = (None, None)
        if matrix is not None:
            of_nodes = medians(matrix.values[quantity])
            worst = max if quantity == "latency" else min
            if not of_nodes.size:
                raise ValueError(f"no pair has a value: {quantity}")
            values = float(np.nanmedian(matrix.values[quantity])), float(worst(of_nodes))
        size = SMALL if quantity == "latency" else large
        for stem, value in zip(stems, values, strict=True):
            found[sized(stem, size)] = value, UNITS[quantity]
    counts: tuple[float | None, ...] = (None, None)
    if matrix is not None:
        measured = matrix.measured
        counts = float(measured.sum()), float(np.unique(matrix.rounds[measured]).size)
    return found | {name: (count, "1") for name, count in zip(COUNTS, counts, strict=True)}


def medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of what each node sends and receives, of those that have a value."""
    import numpy as np

    both = np.concatenate([values, values.T], axis=1)
    of_nodes: NDArray[np.float64] = np.nanmedian(both[np.isfinite(both).any(axis=1)], axis=1)
    return of_nodes


def best(matrix: PairMatrix, quantity: str) -> tuple[str, float]:
    """Return the best pair of a quantity, and its value; ValueError where none has one."""
    import numpy as np

    values = matrix.values[quantity]
    place = np.nanargmin(values) if quantity == "latency" else np.nanargmax(values)
    row, column = np.unravel_index(place, values.shape)
    return matrix.way((int(row), int(column))), float(values[row, column])
