"""Samples of different sets of nodes, made comparable: set effects are random effects, predicted.

In logarithms a sample is level + effect of its set + noise. Effects have the variance `between`,
noise has `within`; both are estimated from the past of the series (analysis of variance, method of
moments), and with them the effect of each set (best linear unbiased prediction, Henderson,
Biometrics 31, 1975, 423-447): the fewer samples of a set there are, the nearer to 0. It is taken
off. What remains unknown of it has a variance of its own, and the sample is drawn towards the level
until it scatters no more than noise does: where sets differ, a set that is new says little; where
they do not, it says all.

Each sample is made comparable from those before it, so that decisions of the past stay; from the
newest `SET_PAST` of them, so that what is held is bounded. More tell hardly more: where each of 50
sets takes its turn, these are five samples of a set, and no set of a year ago is what it was. The
level may change: a set is compared with the mean over the sets that were measured around the same
time (`set_effects.py`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import (
    LEARN_EACH,
    LEARN_FIFTH,
    SET_FEWEST,
    SET_PAST,
    SET_WINDOW,
)
from acceptance.detection.set_effects import Codes, Effects, Floats

#: Samples that are held: those that effects are learnt from, and those since.
HELD_OF_SETS = SET_PAST + 9


@dataclass(frozen=True)
class Before:
    """What was measured before: `count` samples of m series, of which the newest are held.

    `logs` (up to `HELD_OF_SETS`, m) are as measured, of single precision, `sets` (as many,) name
    their sets, `same` (up to `SET_WINDOW`, m) are the newest ones made comparable. Of g groups of
    series they are (..., g, m), (..., g) and (..., g, m).
    """

    count: int
    logs: NDArray[np.float32]
    sets: Codes
    same: Floats


def comparable(logs: Floats, sets: Codes, before: Before | None = None) -> Floats:
    """Return samples as if all were of one set of nodes; `logs` is (n, m), `sets` (n,) names.

    The m series were measured by the same n cases, the oldest first, after those of `before`. Where
    the sets of a series show no differences, none repeats, or there is but one, its samples are
    what they were. Each series counts alone, to the last bit.
    """
    if before is not None:
        before = Before(
            before.count, before.logs[:, None], before.sets[:, None], before.same[:, None]
        )
    return comparable_groups(logs[:, None], sets[:, None], before)[:, 0]


def comparable_groups(logs: Floats, sets: Codes, before: Before | None = None) -> Floats:
    """Return samples as `comparable` does, of g groups of as many series: (n, g, m) and (n, g).

    The series of a group were measured by the same cases.
    """
    if before is None:
        none = np.empty((0, *logs.shape[1:]))
        before = Before(0, none.astype(np.float32), none[:, :, 0].astype(sets.dtype), none)
    names = np.concatenate([before.sets, sets])
    if not len(names) or (names == names[0]).all():
        return np.array(logs)
    held = _rows(before.logs, logs.astype(np.float32))
    same = _rows(before.same, logs)
    effects: Effects | None = None
    learnt = -1
    for row in range(len(logs)):
        now = before.count + row
        if now < SET_FEWEST:
            continue
        each = 1 if now <= LEARN_EACH else 5 if now <= LEARN_FIFTH else 10
        if learnt != now - now % each:
            learnt = now - now % each
            end = len(before.logs) + row - now % each
            part = slice(max(0, end - SET_PAST), end)
            effects = Effects.learnt(held[part], names[part])
        if effects is not None:
            at = len(before.same) + row
            level = same[max(0, at - SET_WINDOW) : at].mean(axis=0)
            effects.take_off(same[at], names[len(before.logs) + row], level)
    return np.asarray(same[len(before.same) :, :, :-1].copy(), np.float64)


def _rows(before: NDArray[np.floating], new: NDArray[np.floating]) -> Floats:
    """Return all rows, with a column more, in the order of C.

    In another order, or of a single column, numpy would not add up one row after the other.
    """
    rows = np.zeros((len(before) + len(new), new.shape[1], new.shape[2] + 1))
    rows[: len(before), :, :-1], rows[len(before) :, :, :-1] = before, new
    return rows
