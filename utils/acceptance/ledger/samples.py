"""Samples as columns: what detection steps on, many series at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, eq=False)
class Runs:
    """Passing executions of cases, an element each.

    `session` is the number of its session in the history (`PastSession.number`), `time` when its
    job was over (s since the epoch). `nodes` stands for the set of nodes that it ran on, in every
    history, and `named` has the names of each; `software` for the software, 0 where none is known.
    """

    session: Ints
    time: Floats
    nodes: NDArray[np.uint32]
    software: NDArray[np.uint32]
    named: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of some series: those of a series together, in the order of their sessions.

    `series` is the number of the series in its history (`Series.number`), `run` the element of
    `runs` that measured it: metrics of one case have it in common. `value` is in the series' unit.
    """

    series: Ints
    run: Ints
    value: Floats
    runs: Runs

    @property
    def session(self) -> Ints:
        """Return the number of the session of each sample."""
        return self.runs.session[self.run]

    @property
    def time(self) -> Floats:
        """Return when each sample was measured, in s since the epoch."""
        return self.runs.time[self.run]

    @property
    def nodes(self) -> NDArray[np.uint32]:
        """Return the number of the set of nodes of each sample."""
        return self.runs.nodes[self.run]

    @property
    def software(self) -> NDArray[np.uint32]:
        """Return the number of the software of each sample."""
        return self.runs.software[self.run]

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.value)
