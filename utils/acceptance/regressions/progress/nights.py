"""The nights of a partition: how far most of its cases moved on each."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from acceptance.detection import common_mode
from acceptance.regressions.history.nights import Nights
from acceptance.regressions.progress.records import Floats, NightLevels, Off, Partition


def with_nights(
    kept: dict[Partition, NightLevels],
    new: Iterable[tuple[Partition, Off, NDArray[np.uint64]]],
    nights: Nights,
) -> dict[Partition, NightLevels]:
    """Return the nights of all partitions with more samples, in the order of their sessions."""
    all_nights = dict(kept)
    for name, off, cases in new:
        night_of = nights.by_session(name)
        night = np.array([night_of[each] for each in off.session.tolist()], np.int64)
        both = np.column_stack([off.spreads, off.relative])
        all_nights[name] = _closed(kept.get(name, NightLevels()), night, cases, both)
    return all_nights


def _closed(
    kept: NightLevels, night: NDArray[np.int64], cases: NDArray[np.uint64], off: Floats
) -> NightLevels:
    """Close the nights that are over; what is stored of one of them later comes too late."""
    night = np.concatenate([np.full(len(kept.cases), kept.night, np.int64), night])
    cases, off = np.concatenate([kept.cases, cases]), np.vstack([kept.off, off])
    late = night < np.maximum.accumulate(night)
    night, cases, off = night[~late], cases[~late], off[~late]
    last = night == night[-1]
    over = _table(night[~last], cases[~last], off[~last])
    return NightLevels(np.vstack([kept.table, over]), int(night[-1]), cases[last], off[last])


def levels(kept: NightLevels) -> common_mode.Levels:
    """Return the levels of all nights of a partition, the last one included."""
    night = np.full(len(kept.cases), kept.night, np.int64)
    table = np.vstack([kept.table, _table(night, kept.cases, kept.off)])
    return common_mode.Levels(table[:, 0].astype(np.int64), table[:, 1], table[:, 2])


def _table(night: NDArray[np.int64], cases: NDArray[np.uint64], off: Floats) -> Floats:
    """Return night, spreads and relative change of the nights on which there was enough."""
    numbers = np.unique(cases, return_inverse=True)[1].astype(np.int64)
    found = common_mode.levels(night, numbers, off[:, 0], off[:, 1])
    return np.column_stack([found.nights.astype(np.float64), found.out, found.moved])
