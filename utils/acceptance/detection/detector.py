"""The watch over many series at once: what each new sample says for a change of level.

How it judges is told in `detection/changepoint.py`.
"""

import math
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.detection import young_series
from acceptance.detection.noise import FLOOR, Noise, learn

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: A level of fewer samples than this is an excursion: the return from it is no regression.
BRIEF = 7

#: Windows of samples after a supposed change, and what their evidence is reduced by: the search
#: over long windows must not cost what the short ones need.
_WINDOWS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 60])
_PENALTY = np.array([0, 0, 0.3, 0, 0, -0.1, 0.2, 0.6, 1.2, 1.7, 2.2, 2.7, 2.7, 2.7, 2.7, 2.7])
#: Windows of 1 and 2 samples may arouse a suspicion, they decide nothing.
_FIRST = 2
_DECIDING = slice(_FIRST, None)
#: Samples of a level that anything is compared with, where nothing is known from an earlier one.
_PAST = 7
#: Samples of a series before its noise can be told.
LEAST = _PAST + 3
#: Samples that are remembered beside those of the longest window.
HISTORY = 180
_LONGEST = int(_WINDOWS[-1])
_BUFFER = HISTORY + _LONGEST
#: The newest samples do not teach the shape of the noise: a change would pass for correlation.
_GAP = 8
#: Samples of a new level before the shape of the noise is learnt from them alone.
_RELEARN = 60
#: Student's t from which on the samples of a supposed change do not teach the noise.
_DOUBT = 3.0
#: In standard deviations: what may be outliers until so many samples are all of the new level.
_GROSS, _LASTING = 4.2, 5
#: The line from evidence to scores: no noise of the bench has more false alarms than its score
#: says.
_OFFSET, _SLOPE = 1.4, 1.0


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
        self.level = np.ones((min(n, young_series.YOUNG), m), np.bool_)
        self.former = np.zeros_like(self.level)
        # Residuals of the samples, and the sums of them and of their squares before each sample.
        self.residual = np.zeros((n, m))
        self.totals = np.vstack([np.zeros((1, m)), values.cumsum(axis=0)])
        self.sums, self.squares = np.zeros((n + 1, m)), np.zeros((n + 1, m))

    def step(self, threshold: float) -> None:
        """Take the next sample of every series, and decide."""
        self.now += 1
        if self.now >= LEAST:
            self._watch(threshold)
        if young_series.PAST < self.now <= young_series.YOUNG:
            self._gross(threshold)

    def _watch(self, threshold: float) -> None:
        now, every = self.now, slice(None)
        if now <= 20 or now % (5 if now <= 60 else 10) == 0:
            self._learn(max(0, now - _BUFFER))
            self._judge(max(0, now - _BUFFER - 1), every)
        else:
            self._judge(now - 1, every)
        seen = _Evidence(self)
        live = self.lengths >= now
        worse, better = seen.scores(1.0), seen.scores(-1.0)
        up, down = worse[_DECIDING].max(axis=0), better[_DECIDING].max(axis=0)
        rising = up >= down
        score = np.where(rising, up, down)
        best = np.where(rising, worse, better)[_DECIDING].argmax(axis=0)
        strength = np.abs(np.where(seen.possible, seen.t, 0.0))[_DECIDING]
        doubtful = _WINDOWS[_DECIDING][strength.argmax(axis=0)]
        self.window = np.where(strength.max(axis=0) >= _DOUBT, doubtful, 0).astype(np.intp)
        decided = live & (score >= threshold)
        suspicion = np.where(decided, 0.0, worse.max(axis=0))
        self.suspicion[live], self.spread[live] = suspicion[live], seen.deviation[0, live]
        for series in np.flatnonzero(decided):
            slot = int(best[series]) + _FIRST
            self._restart(int(series), slot, seen, float(score[series]), bool(rising[series]))

    def _gross(self, threshold: float) -> None:
        """Decide on gross changes of series whose noise is not known, and on the ends of them."""
        now = self.now
        live = self.young & (self.lengths >= now)
        scores = np.where(live, young_series.scores(self.values[:now], self.level[:now]), 0.0)
        decided = scores[:, 1:].max(axis=(0, 1)) >= threshold
        usual = self.suspicion if now >= LEAST else 0.0
        suspicion = np.where(decided, 0.0, np.maximum(scores[0].max(axis=0), usual))
        self.suspicion[live] = suspicion[live]
        for series in np.flatnonzero(decided):
            slot = int(scores[:, 1:, series].max(axis=0).argmax()) + 1
            up, down = map(float, scores[:, slot, series])
            self._mark(int(series), young_series.WINDOWS[slot], max(up, down), up > down)
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
            self.variance[series] = max(variance, FLOOR**2)
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
        end = self.now - np.maximum(self.window, np.minimum(_GAP, age // 4))
        kept = (index >= self.first) & (index < end)
        noise, count = learn(self.values[oldest : self.now], kept)
        fresh = (self.known == 0) | (count >= _RELEARN)
        # A new level has the shape of noise of the one before it until it shows its own; only a
        # wider one is believed at once.
        young = (count >= 4) & ~fresh
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

    def _restart(
        self, series: int, slot: int, seen: "_Evidence", score: float, rising: bool
    ) -> None:
        """Record a change of evidence in the window `slot`, and begin a new level at its start."""
        before = float(seen.before[slot, series] + self.noise.centre[series])
        spread, old = float(seen.deviation[slot, series]), int(self.first[series])
        start = self._start(series, int(_WINDOWS[slot]), before, spread)
        after = float(np.median(self.values[start : self.now, series]))
        if abs(after - before) < self.smallest or self._may_be_outliers(
            self.values[start : self.now, series], before, after, spread
        ):
            return
        worse, self.based[series] = rising, 0.0
        near = max(self.smallest, 3 * spread / math.sqrt(self.now - start))
        for last in reversed(self.found[series]):
            if start - last.start >= BRIEF:
                break
            if after - last.before < near:
                worse = False
            if abs(after - last.before) < near:
                # Back from an excursion, to the level before it and what is known of it.
                self.base[series], self.based[series] = last.before, _RELEARN
        self.young[series] = False
        self.found[series].append(Detected(start, self.now - 1, before, after, score, worse))
        self.variance[series] = seen.variance[slot, series]
        self.known[series] = min(HISTORY, max(self.known[series], start - old))
        self.first[series], self.window[series], self.noise.centre[series] = start, 0, after
        self._judge(start, slice(series, series + 1))

    def _may_be_outliers(self, values: Floats, before: float, after: float, spread: float) -> bool:
        """Tell whether it is too early to call so large a change a lasting one.

        Two outliers and a sample of the old level have as much evidence as three of a small change.
        """
        if len(values) >= _LASTING or abs(after - before) < _GROSS * spread:
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


class _Evidence:
    """What the last samples of each series say for a change at the beginning of each window."""

    def __init__(self, watch: Watch) -> None:
        now, windows, noise = watch.now, _WINDOWS[:, None], watch.noise
        starts = np.maximum(now - _WINDOWS, 0)
        first = np.maximum(watch.first, now - _BUFFER)
        columns = np.arange(len(first))
        one, based = 1 - noise.phi, watch.based
        past = now - windows - first
        count = np.maximum(past + based, 1.0)
        sums = watch.sums[now] - watch.sums[starts]
        mean = watch.sums[starts] - watch.sums[first, columns]
        mean = (mean + based * one * (watch.base - noise.centre)) / count
        # Generalized least squares: the first residual has all of the change, the next a part.
        jump, later = watch.residual[starts], windows - 1
        size = jump - mean + one * (sums - jump - later * mean)
        weight = 1 + later * one**2
        # Squares about both levels; what earlier ones taught counts less as these grow.
        all_squares = watch.squares[now] - watch.squares[first, columns]
        own = all_squares - np.maximum(past, 0) * mean**2
        own += windows * mean**2 - 2 * mean * sums - size**2 / weight
        own, free = np.maximum(own, 0.0), np.maximum(past - 1.0, 1.0) + later
        known = np.maximum(watch.known - np.maximum(past, 0), 0.0)
        pooled = (known * watch.variance + own) / (known + free)
        self.variance = np.where(past >= 8, np.maximum(pooled, own / free), pooled)
        self.variance = np.maximum(self.variance, (FLOOR * one) ** 2)
        self.t = size / np.sqrt(self.variance * (weight + (1 + later * one) ** 2 / count))
        # Correlated samples are worth fewer.
        self.dof = (known + free) * noise.dof * one
        self.before = mean / one
        self.skew = noise.skew / np.sqrt(windows)
        enough = np.where(watch.known > 0, 3, _PAST)
        self.possible = (past >= 0) & (past + based >= np.maximum(enough, windows // 2))
        # A bounded change would look too small; the size is that of the samples themselves.
        after = (watch.totals[now] - watch.totals[starts]) / windows
        self.possible &= np.abs(after - noise.centre - self.before) >= watch.smallest
        self.deviation = np.sqrt(self.variance / (1 - noise.phi**2))

    def scores(self, sign: float) -> Floats:
        """Return the score of a change in the direction of `sign`, for each window and series."""
        t = np.maximum(sign * self.t, 0.0)
        t = np.sqrt(self.dof * np.log1p(t**2 / self.dof))
        skew = np.maximum(sign * self.skew, 1e-3)
        evidence = 4 / skew**2 * (skew * t / 2 - np.log1p(skew * t / 2)) - _PENALTY[:, None]
        return np.where(self.possible, np.maximum(_OFFSET + _SLOPE * evidence, 0.0), 0.0)
