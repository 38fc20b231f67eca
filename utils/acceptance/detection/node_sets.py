"""Samples of different sets of nodes, made comparable: set effects are random effects, predicted.

In logarithms a sample is level + effect of its set + noise. Effects have the variance `between`,
noise has `within`; both are estimated from the past of the series (analysis of variance, method of
moments), and with them the effect of each set (best linear unbiased prediction, Henderson,
Biometrics 31, 1975, 423-447): the fewer samples of a set there are, the nearer to 0. It is taken
off. What remains unknown of it has a variance of its own, and the sample is drawn towards the level
until it scatters no more than noise does: where sets differ, a set that is new says little; where
they do not, it says all.

Each sample is made comparable from those before it, so that decisions of the past stay. The level
may change: a set is compared with the mean over the sets that were measured around the same time.
"""

import numpy as np
from numpy.typing import NDArray

from acceptance.core.robust import MAD_TO_STD
from acceptance.detection.constants import (
    BOUND,
    LEARN_EACH,
    LEARN_FIFTH,
    SET_FEWEST,
    SET_WINDOW,
    STEADIEST,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def comparable(logs: Floats, sets: Ints) -> Floats:
    """Return samples as if all were of one set of nodes; `logs` is (n, m), `sets` (n,) from 0 on.

    The m series were measured by the same n cases, the oldest first. Where the sets of a series
    show no differences, none repeats, or there is but one, its samples are what they were.
    """
    same: Floats = logs.copy()
    if len(set(sets.tolist())) < 2:
        return same
    centres = _centres(logs, sets, 0)
    effects: _Effects | None = None
    for now in range(SET_FEWEST, len(logs)):
        if now <= LEARN_EACH or now % (5 if now <= LEARN_FIFTH else 10) == 0:
            tail = max(0, now - SET_WINDOW)
            past = logs[:now] - np.vstack([centres[:tail], _centres(logs[:now], sets, tail)])
            effects = _Effects.learnt(past, sets[:now])
        if effects is not None:
            level = same[max(0, now - SET_WINDOW) : now].mean(axis=0)
            same[now] = effects.taken_off(logs[now], int(sets[now]), level)
    return same


def _centres(logs: Floats, sets: Ints, first: int) -> Floats:
    """Return the mean over the sets that were measured around each sample from `first` on."""
    oldest = max(0, first - SET_WINDOW)
    columns = np.arange(oldest, len(logs))
    near = np.abs(np.arange(first, len(logs))[:, None] - columns) <= SET_WINDOW
    equal = (sets[columns, None] == sets[columns]).astype(np.float64)
    # Each set counts once, however often it was measured.
    weights = near / np.maximum(near @ equal, 1)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(weights @ logs[oldest:], np.float64)


class _Effects:
    """What is known of the effects of sets: `means` and counts of each, and two variances."""

    def __init__(self, means: Floats, counts: Ints, between: Floats, within: Floats) -> None:
        self.means, self.counts, self.between, self.within = means, counts, between, within

    @classmethod
    def learnt(cls, past: Floats, sets: Ints) -> "_Effects | None":
        """Learn from deviations of past samples; None where there are too few for two variances.

        A set that was measured on end and never again may as well have been another time.
        """
        begun = sets[np.flatnonzero(np.append(True, sets[1:] != sets[:-1]))]
        again = (np.bincount(begun, minlength=int(sets.max()) + 1) > 1)[sets]
        past, sets = past[again], sets[again]
        if not len(sets):
            return None
        member = (sets == np.arange(sets.max() + 1)[:, None]).astype(np.float64)
        counts = member.sum(axis=1)
        seen = int((counts > 0).sum())
        freedom = len(sets) - seen
        if seen < 2 or freedom < SET_FEWEST // 2:
            return None
        share = member / np.maximum(counts, 1)[:, None]
        means = share @ past
        rest = past - means[sets]
        # One outlier is no effect of its set.
        bound = BOUND * MAD_TO_STD * np.median(np.abs(rest), axis=0) * np.sqrt(len(sets) / freedom)
        bounded = means[sets] + np.clip(rest, -bound, bound)
        means = share @ bounded
        within = ((bounded - means[sets]) ** 2).sum(axis=0) / freedom
        within = np.maximum(within, STEADIEST**2)
        means = means - bounded.mean(axis=0)
        squares = (counts[:, None] * means**2).sum(axis=0)
        # What chance alone may show between sets that do not differ is none of theirs.
        chance = (seen - 1) * within * (1 + np.sqrt(2 / (seen - 1) + 2 / freedom))
        between = np.maximum(squares - chance, 0) / (len(sets) - (counts**2).sum() / len(sets))
        return cls(means, counts, between, within)

    def taken_off(self, logs: Floats, which: int, level: Floats) -> Floats:
        """Return samples of a set without its effect, and no farther from `level` than noise."""
        count = self.counts[which] if which < len(self.counts) else 0
        mean = self.means[which] if count else np.zeros(len(logs))
        known = count * self.between + self.within
        effect = count * self.between / known * mean
        unknown = self.between * self.within / known
        drawn = np.sqrt(self.within / (self.within + unknown))
        same = level + drawn * (logs - effect - level)
        return np.where(self.between > 0, same, logs)
