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
time.

Effects are learnt for many groups of series at once. A set is named by the row of its first sample,
so that no sum depends on names. What a group has none of counts as 0 in its sums, which changes no
bit of them: each series counts alone.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.core.robust import MAD_TO_STD
from acceptance.detection.constants import (
    BOUND,
    LEARN_EACH,
    LEARN_FIFTH,
    SET_FEWEST,
    SET_PAST,
    SET_WINDOW,
    SETS_AT_ONCE,
    STEADIEST,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Codes = NDArray[np.integer]


@dataclass(frozen=True)
class _Effects:
    """What is known of the effects of sets in g groups of m series.

    `names` (n, g) are those of past samples, `first` (n, g) the row at which each set began.
    `means` (n, k, m) and `counts` (n, k) are of the sets, `between` and `within` (k, m) the
    variances, all of the k groups `groups` that show enough.
    """

    names: Codes
    first: Ints
    groups: Ints
    means: Floats
    counts: Floats
    between: Floats
    within: Floats

    @classmethod
    def learnt(cls, logs: Floats, names: Codes) -> "_Effects | None":
        """Learn from past samples, (n, g, m), and their sets, (n, g).

        None where there are too few for two variances, in all groups. A set that was measured on
        end and never again may as well have been another time.
        """
        first = _first(names)
        begun = np.ones(names.shape, np.bool_)
        begun[1:] = first[1:] != first[:-1]
        again = np.take_along_axis(_counts(first, begun), first, axis=0) > 1
        counts = _counts(first, again)
        seen = (counts > 0).sum(axis=0)
        freedom = again.sum(axis=0) - seen
        (groups,) = np.nonzero((seen >= 2) & (freedom >= SET_FEWEST // 2))
        if not len(groups):
            return None
        names, first, again = names[:, groups], first[:, groups], again[:, groups]
        number_of = counts[:, groups].astype(np.float64)
        seen, freedom = seen[groups, None], freedom[groups, None]
        logs = logs[:, groups]
        # The samples of a group one after the other.
        group, row = np.nonzero(again.T)
        past = logs[row, group] - _centres(logs, first, row, group)
        sets = first[row, group]
        means = _means(past, sets, group, number_of)
        rest = past - means[sets, group]
        # One outlier is no effect of its set.
        number = again.sum(axis=0)[:, None]
        middle = _medians(np.abs(rest), group, number[:, 0])
        bound = BOUND * MAD_TO_STD * middle * np.sqrt(number / freedom)
        bounded = means[sets, group] + np.clip(rest, -bound[group], bound[group])
        means = _means(bounded, sets, group, number_of)
        within = _added((bounded - means[sets, group]) ** 2, group, len(groups)) / freedom
        within = np.maximum(within, STEADIEST**2)
        means = means - _added(bounded, group, len(groups)) / number
        squares = (number_of[:, :, None] * means**2).sum(axis=0)
        # What chance alone may show between sets that do not differ is none of theirs.
        chance = (seen - 1) * within * (1 + np.sqrt(2 / (seen - 1) + 2 / freedom))
        several = number - (number_of**2).sum(axis=0)[:, None] / number
        between = np.maximum(squares - chance, 0) / several
        return cls(names, first, groups, means, number_of, between, within)

    def take_off(self, logs: Floats, names: Codes, level: Floats) -> None:
        """Take the effects of sets, (g,), off their samples, (g, m), in place.

        What is left lies no farther from `level` (g, m) than noise.
        """
        groups = np.arange(len(self.groups))
        known = self.names == names[self.groups]
        at = self.first[known.argmax(axis=0), groups]
        count = np.where(known.any(axis=0), self.counts[at, groups], 0.0)[:, None]
        mean = np.where(count > 0, self.means[at, groups], 0.0)
        known_variance = count * self.between + self.within
        effect = count * self.between / known_variance * mean
        unknown = self.between * self.within / known_variance
        drawn = np.sqrt(self.within / (self.within + unknown))
        own, middle = logs[self.groups], level[self.groups]
        same = middle + drawn * (own - effect - middle)
        logs[self.groups] = np.where(self.between > 0, same, own)


def _means(values: Floats, sets: Ints, group: Ints, counts: Floats) -> Floats:
    """Return the mean over the samples (k, m) of each of the `sets`, by the rows they began at."""
    sums = _added(values, sets * counts.shape[1] + group, counts.size)
    means = sums.reshape(*counts.shape, -1)
    means /= np.maximum(counts, 1)[:, :, None]
    return means


def _added(values: Floats, place: Ints, count: int) -> Floats:
    """Return the sums of rows at each of `count` places, in the order of the rows."""
    width = values.shape[1]
    index = (place[:, None] * width + np.arange(width)).ravel()
    sums = np.bincount(index, values.ravel(), count * width).astype(np.float64, copy=False)
    return sums.reshape(count, width)


def _first(names: Codes) -> Ints:
    """Return for each sample the row of the first one of its set; (n, g)."""
    order = np.argsort(names, axis=0, kind="stable")
    ordered = np.take_along_axis(names, order, axis=0)
    new = np.ones(names.shape, np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    begin = np.maximum.accumulate(np.where(new, np.arange(len(names))[:, None], 0), axis=0)
    first = np.empty(names.shape, np.intp)
    np.put_along_axis(first, order, np.take_along_axis(order, begin, axis=0), axis=0)
    return first


def _counts(first: Ints, some: NDArray[np.bool_]) -> Ints:
    """Return how many of some samples each set has, at the row of its first one; (n, g)."""
    groups = first.shape[1]
    place = (first * groups + np.arange(groups))[some]
    return np.bincount(place, minlength=first.size).reshape(first.shape)


def _centres(logs: Floats, sets: Ints, row: Ints, group: Ints) -> Floats:
    """Return the mean over the sets that were measured around each of some samples, (k, m)."""
    wide, width = ((SET_WINDOW, SET_WINDOW), (0, 0)), 2 * SET_WINDOW + 1
    around, padded = np.pad(sets, wide, constant_values=-1), np.pad(logs, (*wide, (0, 0)))
    centres = np.zeros((len(row), logs.shape[2]))
    for begin in range(0, len(row), SETS_AT_ONCE):
        some = slice(begin, begin + SETS_AT_ONCE)
        near = around[row[some, None] + np.arange(width), group[some, None]]
        # Each set counts once, however often it was measured.
        equal = (near[:, :, None] == near[:, None, :]).sum(axis=2)
        weights = np.where(near >= 0, 1 / equal, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        for number in range(width):
            centres[some] += weights[:, number, None] * padded[row[some] + number, group[some]]
    return centres


def _medians(values: Floats, group: Ints, number: Ints) -> Floats:
    """Return the medians of the samples of each group, which has this number of them; (g, m)."""
    place = np.arange(len(group)) - np.repeat(np.cumsum(number) - number, number)
    table = np.full((number.max(), len(number), values.shape[1]), np.inf)
    table[place, group] = values
    table.sort(axis=0)
    groups = np.arange(len(number))
    return np.asarray((table[(number - 1) // 2, groups] + table[number // 2, groups]) / 2)


#: Samples that are held: those that effects are learnt from, and those since.
HELD_OF_SETS = SET_PAST + 9


class Before(NamedTuple):
    """What was measured before of m series: `count` (m,) samples, of which the newest are held.

    Of these `logs` (up to `HELD_OF_SETS`, m) are as measured, of single precision, `sets` (as many,
    m) name their sets, `same` (up to `SET_WINDOW`, m) are the newest ones made comparable. The
    newest is the last row.
    """

    counts: Ints
    logs: NDArray[np.float32]
    sets: Codes
    same: Floats


def comparable(logs: Floats, sets: Codes, lengths: Ints, before: Before | None = None) -> Floats:
    """Return samples as if all were of one set of nodes, of m series.

    `logs` and `sets`, names, are (n, m): of each series its `lengths` (m,) samples, the oldest
    first, after those of `before`. Where the sets of a series show no differences, none repeats, or
    there is but one, its samples are what they were. Each series counts alone, to the last bit.
    """
    if before is None:
        none = np.empty((0, len(lengths)))
        counts = np.zeros(len(lengths), np.intp)
        before = Before(counts, none.astype(np.float32), none.astype(sets.dtype), none)
    same = np.array(logs)
    # The metrics of a case were measured by the same jobs, most of them: they stand together.
    groups: dict[tuple[int, int, bytes, bytes], list[int]] = {}
    for column in np.flatnonzero(lengths).tolist():
        length, count = int(lengths[column]), int(before.counts[column])
        old, new = _newest(before.sets, count)[:, column], sets[:length, column]
        if (old != new[0]).any() or (new != new[0]).any():
            groups.setdefault((count, length, old.tobytes(), new.tobytes()), []).append(column)
    # Groups of as many samples and series go through their steps together.
    alike: dict[tuple[int, int, int], list[list[int]]] = {}
    for (count, length, _, _), members in groups.items():
        alike.setdefault((count, length, len(members)), []).append(members)
    for (count, length, _), several in alike.items():
        columns, first = np.array(several), np.array([members[0] for members in several])
        past = _newest(before.logs, count)[:, columns]
        names = np.concatenate([_newest(before.sets, count)[:, first], sets[:length, first]])
        newest = _newest(before.same, count)[:, columns]
        same[:length, columns] = _of_groups(logs[:length, columns], names, count, past, newest)
    return same


def _newest(held: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the rows that are of samples, where there were so many."""
    return held[len(held) - min(count, len(held)) :]


def _of_groups(
    logs: Floats, names: Codes, count: int, past: NDArray[np.float32], newest: Floats
) -> Floats:
    """Return samples (n, g, m) of g groups of m series, each of the same sets, as if of one set.

    There were `count` before them, of which `past` and `newest` are held; `names` (past ones and n,
    g) are of the sets.
    """
    held = _rows(past, logs.astype(np.float32))
    same = _rows(newest, logs)
    effects: _Effects | None = None
    learnt = -1
    for row in range(len(logs)):
        now = count + row
        if now < SET_FEWEST:
            continue
        each = 1 if now <= LEARN_EACH else 5 if now <= LEARN_FIFTH else 10
        if learnt != now - now % each:
            learnt = now - now % each
            end = len(past) + row - now % each
            part = slice(max(0, end - SET_PAST), end)
            effects = _Effects.learnt(held[part], names[part])
        if effects is not None:
            at = len(newest) + row
            level = same[max(0, at - SET_WINDOW) : at].mean(axis=0)
            effects.take_off(same[at], names[len(past) + row], level)
    return np.asarray(same[len(newest) :, :, :-1], np.float64)


def _rows(before: NDArray[np.floating], new: NDArray[np.floating]) -> Floats:
    """Return all rows, with a column more, in the order of C.

    In another order, or of a single column, numpy would not add up one row after the other.
    """
    rows = np.zeros((len(before) + len(new), new.shape[1], new.shape[2] + 1))
    rows[: len(before), :, :-1], rows[len(before) :, :, :-1] = before, new
    return rows
