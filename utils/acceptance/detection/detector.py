"""The watch over many series at once: what each new sample says for a change of level.

How it judges: see `detection/changepoint.py`.
"""

import math
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.detection import young_series
from acceptance.detection.constants import (
    BRIEF,
    CENTRE_AFTER,
    DOUBTFUL_T,
    FIRST_DECIDING,
    LASTING,
    LEARN_EACH,
    LEARN_FIFTH,
    MAYBE_OUTLIERS,
    NOT_LEARNT,
    RELEARN_AFTER,
    REMEMBERED,
    SAME_LEVEL,
    STEADIEST,
    WATCHED_FROM,
    WINDOWS,
    YOUNG_PAST,
    YOUNG_UNTIL,
    YOUNG_WINDOWS,
)
from acceptance.detection.evidence import BUFFER, Evidence
from acceptance.detection.noise import Noise, learn

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


_DECIDING = slice(FIRST_DECIDING, None)


class Detected(NamedTuple):
    """A change as it is found: samples of the series itself, levels as logarithms, up is worse."""

    start: int
    detected: int
    before: float
    after: float
    score: float
    worse: bool


class Watch:
    """The state of m series while their samples arrive; up is worse, values are logarithms."""

    def __init__(self, values: Floats, lengths: Ints, smallest: float) -> None:
        n, m = values.shape
        self.values, self.lengths, self.smallest = values, lengths, math.log1p(smallest)
        self.now = 0
        self.found: list[list[Detected]] = [[] for _ in range(m)]
        self.suspicion, self.spread = np.zeros(m), np.full(m, math.nan)
        # Where the present level began, and of how many samples the strongest supposed change is.
        self.first: Ints = np.zeros(m, np.intp)
        self.window: Ints = np.zeros(m, np.intp)
        self.noise = Noise.unknown(m)
        # What earlier levels taught: the variance of residuals, from how many samples.
        self.variance, self.known = np.zeros(m), np.zeros(m)
        # After an excursion the level before it, and from how many samples it is known.
        self.base, self.based = np.zeros(m), np.zeros(m)
        # Which series had no changes but gross ones; which of the first samples are of the present
        # level, and of the one before it.
        self.young = np.ones(m, np.bool_)
        self.level = np.ones((min(n, YOUNG_UNTIL), m), np.bool_)
        self.former = np.zeros_like(self.level)
        # Residuals of the samples, and the sums of them and of their squares before each sample.
        self.residual = np.zeros((n, m))
        self.totals = np.vstack([np.zeros((1, m)), values.cumsum(axis=0)])
        self.sums, self.squares = np.zeros((n + 1, m)), np.zeros((n + 1, m))

    def step(self, threshold: float) -> None:
        """Take the next sample of every series, and decide."""
        self.now += 1
        if self.now >= WATCHED_FROM:
            self._watch(threshold)
        if YOUNG_PAST < self.now <= YOUNG_UNTIL:
            self._gross(threshold)

    def _watch(self, threshold: float) -> None:
        now, every = self.now, slice(None)
        if now <= LEARN_EACH or now % (5 if now <= LEARN_FIFTH else 10) == 0:
            self._learn(max(0, now - BUFFER))
            self._judge(max(0, now - BUFFER - 1), every)
        else:
            self._judge(now - 1, every)
        seen = Evidence(self)
        live = self.lengths >= now
        worse, better = seen.scores(1.0), seen.scores(-1.0)
        up, down = worse[_DECIDING].max(axis=0), better[_DECIDING].max(axis=0)
        rising = up >= down
        score = np.where(rising, up, down)
        best = np.where(rising, worse, better)[_DECIDING].argmax(axis=0)
        strength = np.abs(np.where(seen.possible, seen.t, 0.0))[_DECIDING]
        doubtful = WINDOWS[_DECIDING][strength.argmax(axis=0)]
        self.window = np.where(strength.max(axis=0) >= DOUBTFUL_T, doubtful, 0).astype(np.intp)
        decided = live & (score >= threshold)
        suspicion = np.where(decided, 0.0, worse.max(axis=0))
        self.suspicion[live], self.spread[live] = suspicion[live], seen.deviation[0, live]
        for series in np.flatnonzero(decided):
            slot = int(best[series]) + FIRST_DECIDING
            self._restart(int(series), slot, seen, float(score[series]), bool(rising[series]))

    def _gross(self, threshold: float) -> None:
        """Decide on gross changes of series whose noise is not known, and on the ends of them."""
        now = self.now
        live = self.young & (self.lengths >= now)
        scores = np.where(live, young_series.scores(self.values[:now], self.level[:now]), 0.0)
        decided = scores[:, 1:].max(axis=(0, 1)) >= threshold
        usual = self.suspicion if now >= WATCHED_FROM else 0.0
        suspicion = np.where(decided, 0.0, np.maximum(scores[0].max(axis=0), usual))
        self.suspicion[live] = suspicion[live]
        for series in np.flatnonzero(decided):
            slot = int(scores[:, 1:, series].max(axis=0).argmax()) + 1
            up, down = map(float, scores[:, slot, series])
            self._mark(int(series), YOUNG_WINDOWS[slot], max(up, down), up > down)
        for series in np.flatnonzero(live & ~decided & (self.first < now - 1)):
            newest = self.values[now - 2 : now, series]
            for last in self.found[series][-1:]:
                if young_series.is_back(newest, last.before, last.after):
                    self._mark(int(series), 2, last.score, last.after < last.before)

    def _mark(self, series: int, window: int, score: float, rising: bool) -> None:
        """Record a gross change at the beginning of a window, and begin a new level there."""
        start, own = self.now - window, slice(series, series + 1)
        level, former = self.level[:start, series].copy(), self.former[:start, series].copy()
        before = float(np.median(self.values[:start, series][level]))
        after = float(np.median(self.values[start : self.now, series]))
        last = self.found[series][-1:]
        back = bool(last) and young_series.is_back(np.array([after]), last[0].before, last[0].after)
        # The end of a brief better level is no regression.
        worse = rising and not (back and start - last[0].start < BRIEF)
        self.found[series].append(Detected(start, self.now - 1, before, after, score, worse))
        if not last:
            noise, _ = learn(self.values[:start, own], level[:, None])
            for part in fields(Noise):
                getattr(self.noise, part.name)[own] = getattr(noise, part.name)
            self._judge(0, own)
            variance = float(self.residual[:start, series].var(ddof=1))
            self.variance[series] = max(variance, STEADIEST**2)
        count = int((former if back else level).sum())
        self.known[series] = max(self.known[series], count)
        self.base[series], self.based[series] = last[0].before if back else 0.0, back * count
        self.level[:start, series] = former if back else False
        self.former[:start, series], self.former[start:, series] = level, False
        self.first[series], self.window[series], self.noise.centre[series] = start, 0, after
        self.spread[series] = np.sqrt(self.variance[series] / (1 - self.noise.phi[series] ** 2))
        self._judge(start, own)

    def _learn(self, oldest: int) -> None:
        """Learn the noise of the present levels from the samples that are not in doubt."""
        index = np.arange(oldest, self.now)[:, None]
        age = self.now - np.maximum(self.first, oldest)
        end = self.now - np.maximum(self.window, np.minimum(NOT_LEARNT, age // 4))
        kept = (index >= self.first) & (index < end)
        noise, count = learn(self.values[oldest : self.now], kept)
        fresh = (self.known == 0) | (count >= RELEARN_AFTER)
        # A new level has the shape of noise of the one before it until it shows its own; only a
        # wider one is believed at once.
        young = (count >= CENTRE_AFTER) & ~fresh
        noise.half = np.where(young, np.maximum(self.noise.half, noise.half), noise.half)
        for part in fields(Noise):
            new, old = getattr(noise, part.name), getattr(self.noise, part.name)
            believed = fresh | young if part.name in ("centre", "half") else fresh
            setattr(self.noise, part.name, np.where(believed, new, old))

    def _judge(self, oldest: int, series: slice) -> None:
        """Bound the samples from `oldest` on, and sum up their residuals."""
        rows, noise = slice(oldest, self.now), self.noise
        centre, half, bound = noise.centre[series], noise.half[series], noise.bound[series]
        bounded = np.clip(self.values[rows, series] - centre, -half, half)
        # Before the first sample a level is taken to have stood there.
        last = self.values[max(oldest - 1, 0), series] - centre
        before = np.vstack([np.clip(last, -half, half), bounded[:-1]])
        index = np.arange(oldest, self.now)[:, None]
        before = np.where(index == self.first[series], bounded, before)
        residual = np.clip(bounded - noise.phi[series] * before, -bound, bound)
        self.residual[rows, series] = residual
        after = slice(oldest + 1, self.now + 1)
        self.sums[after, series] = self.sums[oldest, series] + residual.cumsum(axis=0)
        self.squares[after, series] = self.squares[oldest, series] + (residual**2).cumsum(axis=0)

    def _restart(self, series: int, slot: int, seen: Evidence, score: float, rising: bool) -> None:
        """Record a change of evidence in the window `slot`, and begin a new level at its start."""
        before = float(seen.before[slot, series] + self.noise.centre[series])
        spread, old = float(seen.deviation[slot, series]), int(self.first[series])
        start = self._start(series, int(WINDOWS[slot]), before, spread)
        after = float(np.median(self.values[start : self.now, series]))
        if abs(after - before) < self.smallest or self._may_be_outliers(
            self.values[start : self.now, series], before, after, spread
        ):
            return
        worse, self.based[series] = rising, 0.0
        near = max(self.smallest, SAME_LEVEL * spread / math.sqrt(self.now - start))
        for last in reversed(self.found[series]):
            if start - last.start >= BRIEF:
                break
            if after - last.before < near:
                worse = False
            if abs(after - last.before) < near:
                # Back from an excursion, to the level before it and what is known of it.
                self.base[series], self.based[series] = last.before, RELEARN_AFTER
        self.young[series] = False
        self.found[series].append(Detected(start, self.now - 1, before, after, score, worse))
        self.variance[series] = seen.variance[slot, series]
        self.known[series] = min(REMEMBERED, max(self.known[series], start - old))
        self.first[series], self.window[series], self.noise.centre[series] = start, 0, after
        self._judge(start, slice(series, series + 1))

    def _may_be_outliers(self, values: Floats, before: float, after: float, spread: float) -> bool:
        """Tell whether it is too early to call so large a change a lasting one.

        Two outliers and a sample of the old level have as much evidence as three of a small change.
        """
        if len(values) >= LASTING or abs(after - before) < MAYBE_OUTLIERS * spread:
            return False
        return len(values) < 3 or bool((abs(values - before) < abs(values - after)).any())

    def _start(self, series: int, window: int, before: float, spread: float) -> int:
        """Return the first sample of a change: where two levels leave the least (bounded) rest.

        The window with most evidence may begin too early: bounded samples of a large change carry
        some others with them.
        """
        oldest = max(int(self.first[series]) + 1, self.now - 2 * window)
        values = self.values[oldest : self.now, series]

        def rest(level: float, some: Floats) -> float:
            return float(np.minimum((some - level) ** 2, 9 * spread**2).sum())

        rests = [
            rest(before, values[:first]) + rest(float(np.median(values[first:])), values[first:])
            for first in range(len(values) - 1)
        ]
        return oldest + int(np.argmin(rests))
