"""New samples of a block of series, taken into what is held of these."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.detection import changepoint, common_mode
from acceptance.detection.constants import NIGHT_WINDOW, SET_WINDOW, SMALLEST_SEEN
from acceptance.detection.node_sets import HELD_OF_SETS, Before, comparable_groups
from acceptance.detection.state import HELD, Detected, State
from acceptance.regressions.progress.records import Floats, Ints, Off, Records


class New(NamedTuple):
    """New samples, those of a series (`slot`) together, in the order of their sessions.

    `renewed` tells which have other software than the
    one before, `limit` is the threshold of each, `counted` says which tell how slow a night was.
    """

    slot: Ints
    session: Ints
    time: Floats
    value: Floats
    sets: NDArray[np.uint32]
    renewed: NDArray[np.bool_]
    limit: Floats
    counted: NDArray[np.bool_]

    def part(self, begin: int, first: int, last: int) -> "New":
        """Return some of them, of series that are counted from `begin` on."""
        some = slice(first, last)
        return New(
            self.slot[some] - begin, self.session[some], self.time[some], self.value[some],
            self.sets[some], self.renewed[some], self.limit[some], self.counted[some],
        )  # fmt: skip


def step(
    records: Records, own: Records, found: list[list[Detected]], new: New
) -> tuple[Off, Floats]:
    """Take in new samples; return how far those that are counted lie off, and what all count as.

    That is their logarithms as if on the same nodes, up is worse.

    `records` and `own` (of `SERIES`) are changed in place, and `found` gets what is found.
    """
    lengths = np.bincount(new.slot, minlength=len(records))
    row = np.arange(len(new.slot)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    where, shape = (row, new.slot), (int(lengths.max()), len(records))

    def packed(values: Floats, fill: float) -> Floats:
        columns = np.full(shape, fill)
        columns[where] = values
        return columns

    sets, sessions = np.zeros(shape, np.uint32), np.zeros(shape, np.int32)
    sets[where], sessions[where] = new.sets, new.session
    state = State(records["state"].copy(), found)
    bad = np.where(own["way"] < 0, 1.0, -1.0)
    before = state.records["values"][:, -NIGHT_WINDOW:].T.copy()
    counts = state.records["count"].copy()
    logs = np.log(packed(new.value, 1.0))
    values = _comparable(logs, sets, lengths, records, bad) * bad
    some = np.unique(new.slot[new.counted])
    off = common_mode.deviations(values[:, some], before[:, some], counts[some])
    changepoint.go_on(state, values, lengths, packed(new.limit, math.inf), SMALLEST_SEEN)
    records["state"] = state.records
    _shift(records["sessions"], sessions, lengths)
    _shift(records["raw"], logs.astype(np.float32), lengths)
    _shift(records["sets"], sets, lengths)
    _shift(own["times"], packed(new.time, 0.0), lengths)
    own["suspicion"], own["spread"] = state.records["suspicion"], state.records["spread"]
    at = (row[new.counted], np.searchsorted(some, new.slot[new.counted]))
    counted = Off(new.slot[new.counted], new.session[new.counted], off[0][at], off[1][at])
    return counted, values[where]


def _shift(held: Records, new: NDArray[np.generic], lengths: Ints) -> None:
    """Append new samples, (n, m), to those that are held, (m, ...), in place."""
    both = np.hstack([held, new.T])
    held[:] = np.take_along_axis(both, np.arange(held.shape[1]) + lengths[:, None], axis=1)


def _comparable(
    logs: Floats, sets: NDArray[np.uint32], lengths: Ints, records: Records, bad: Floats
) -> Floats:
    """Return samples as if on the same nodes; series that had the same sets stand together."""
    same, counts = logs.copy(), records["state"]["count"]
    groups: dict[tuple[int, int, bytes, bytes], list[int]] = {}
    for column in np.flatnonzero(lengths).tolist():
        length, held = int(lengths[column]), min(int(counts[column]), HELD_OF_SETS)
        old, new = records["sets"][column, HELD_OF_SETS - held :], sets[:length, column]
        if (old != new[0]).any() or (new != new[0]).any():
            key = (int(counts[column]), length, old.tobytes(), new.tobytes())
            groups.setdefault(key, []).append(column)
    # Groups of as many samples and series go through their steps together.
    alike: dict[tuple[int, int, int], list[list[int]]] = {}
    for (count, length, _, _), members in groups.items():
        alike.setdefault((count, length, len(members)), []).append(members)
    for (count, length, _), several in alike.items():
        columns, first = np.array(several), [members[0] for members in several]
        held, newest = min(count, HELD_OF_SETS), min(count, SET_WINDOW)
        values = records["state"]["values"][columns, HELD - newest :] * bad[columns, None]
        raw, names = records["raw"][columns, HELD_OF_SETS - held :], records["sets"][first]
        before = Before(
            count, np.moveaxis(raw, 2, 0), names[:, HELD_OF_SETS - held :].T,
            np.moveaxis(values, 2, 0),
        )  # fmt: skip
        same[:length, columns] = comparable_groups(
            logs[:length, columns], sets[:length, first], before
        )
    return np.asarray(same, np.float64)
