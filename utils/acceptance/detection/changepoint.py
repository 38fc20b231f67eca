"""Sequential detection of lasting changes of level, each night from the past alone.

Each sample is judged when it arrives. Of every window of 3 to 60 last samples the mean is compared
with that of what is before it, 240 samples in all: a generalized likelihood ratio over the time of
the change (Lai, J. R. Stat. Soc. B 57, 1995, 613-658, "window-limited"). What makes it hold for
measurements of machines:

- values are logarithms, because noise is proportional to the level;
- level and spread are unknown: the statistic is Student's, ln(1 + t^2 / dof) * dof / 2, with the
  degrees of freedom that the kurtosis of the history leaves its variance, 2 n / (kurtosis - 1);
- samples are bounded (Huber's score) at a distance that the interdecile range sets, and nearer
  where the history has outliers (`detection/evidence.py`): one sample, whatever its size, is no
  change;
- where the history is skewed towards the worse, the tail is that of a gamma distribution of the
  same skewness (Cramer-Chernoff) in place of the Gaussian one;
- where consecutive samples are correlated, the residuals of an AR(1) model are judged, the change
  being fitted by generalized least squares;
- of the first 40 samples nothing is known of the noise, and only their order and the gap between
  them and what is before them count (`detection/evidence.py`).

Scores are natural logarithms of average run lengths; `python -m tests.bench.detection --calibrate`
measures the line that turns evidence into scores (`SCORE_OFFSET` and `SCORE_SLOPE` in
`detection/constants.py`, where all numbers are).

Many series are watched at once. Sums are over the rows of arrays whose columns are
series, at least two of them, for numpy adds up a single one in another order: so the results of a
series depend on its own samples alone, to the last bit.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from acceptance.detection import evidence
from acceptance.detection.constants import (
    BLOCK,
    BRIEF,
    CENTRE_AFTER,
    DOUBTFUL_T,
    FEWEST,
    FIRST_DECIDING,
    LEARN_EACH,
    LEARN_FIFTH,
    LEVEL_FEWEST,
    NOT_LEARNT,
    OWN_VARIANCE_FROM,
    RELEARN_AFTER,
    REMEMBERED,
    SAME_LEVEL,
    SCORE_OFFSET,
    SCORE_SLOPE,
    STEADIEST,
    TAUGHT_LEVEL_FEWEST,
    WATCHED_FROM,
    WINDOW_PENALTIES,
    WINDOWS,
    YOUNG_PAST,
    YOUNG_UNTIL,
    YOUNG_WINDOWS,
)
from acceptance.detection.evidence import BUFFER, Noise, begin, learn, may_be_outliers
from acceptance.detection.state import HELD, LevelChange, State

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]

_DECIDING = slice(FIRST_DECIDING, None)
#: What of a record of the state is kept here under the same name, as an array over the series.
_PLAIN = ("window", "suspicion", "spread", "variance", "known", "base", "based", "young")
_SHAPE = tuple(part.name for part in fields(Noise))


class _Watch:
    """The state of m series while some samples arrive; up is worse, values are logarithms.

    Rows of the arrays are samples: `HELD` that were there, then the new ones. A last column is of
    no series, that there are always two. Row `now` is that of the next sample; the present levels
    began in the rows `first`, the residuals since the rows `anchor` are summed up.
    """

    def __init__(self, state: State, values: Floats, lengths: Ints, smallest: float) -> None:
        """Take up a state, and (rows, m) new samples, of which each series has its `lengths`."""
        self.state, self.lengths, self.smallest = state, lengths, math.log1p(smallest)
        records = np.concatenate([state.records, State.empty(1).records])
        self.values = np.zeros((HELD + len(values), len(records)))
        self.values[:HELD] = records["values"].T
        self.values[HELD:, :-1] = values
        self.now, self.found = HELD, [*state.found, []]
        # The number of a row's sample is that of the row and this.
        self.offset: Ints = records["count"] - HELD
        self.first: Ints = records["first"] - self.offset
        self.anchor: Ints = records["anchor"] - self.offset
        self.window: Ints = records["window"].copy()
        self.suspicion, self.spread, self.variance, self.known, self.base, self.based = (
            records[name].copy() for name in _PLAIN[1:-1]
        )
        self.young: Flags = records["young"].copy()
        self.level: Flags = records["level"].T.copy()
        self.former: Flags = records["former"].T.copy()
        self.noise = Noise(*(records[name].copy() for name in _SHAPE))
        # Residuals, and the sums of samples, of residuals and of their squares before each row.
        self.residual = np.zeros_like(self.values)
        self.totals, self.sums, self.squares = np.zeros((3, len(self.values) + 1, len(records)))
        self._sum_up(slice(None))

    def keep(self) -> None:
        """Put what is known after the last sample of each series into its record."""
        records, own = self.state.records, slice(0, -1)
        rows = np.arange(HELD)[:, None] + self.lengths
        records["values"] = np.take_along_axis(self.values[:, own], rows, axis=0).T
        records["count"] += self.lengths
        records["first"] = (self.first + self.offset)[own]
        records["anchor"] = (self.anchor + self.offset)[own]
        records["level"], records["former"] = self.level[:, own].T, self.former[:, own].T
        for name in _PLAIN:
            records[name] = getattr(self, name)[own]
        for name in _SHAPE:
            records[name] = getattr(self.noise, name)[own]

    def step(self, threshold: Floats) -> None:
        """Take the next sample of every series that has one, and decide by thresholds (m,)."""
        live = np.append(self.lengths > self.now - HELD, False)
        self.now += 1
        threshold = np.append(threshold, math.inf)
        count = self.offset + self.now
        watched = live & (count >= WATCHED_FROM)
        self._judge()
        if watched.any():
            self._watch(watched, count, threshold)
        for young in np.unique(count[live & (count > YOUNG_PAST) & (count <= YOUNG_UNTIL)]):
            self._gross(np.flatnonzero(live & (count == young)), int(young), threshold)

    def _watch(self, live: Flags, count: Ints, threshold: Floats) -> None:
        each = np.where(count <= LEARN_EACH, 1, np.where(count <= LEARN_FIFTH, 5, 10))
        due = live & (count % each == 0)
        if due.any():
            due[-1] = True
            self._learn(slice(None) if due[:-1].all() else np.flatnonzero(due))
        seen = _Evidence(self)
        worse, better = seen.scores(1.0), seen.scores(-1.0)
        up, down = worse[_DECIDING].max(axis=0), better[_DECIDING].max(axis=0)
        rising = up >= down
        score = np.where(rising, up, down)
        best = np.where(rising, worse, better)[_DECIDING].argmax(axis=0)
        strength = np.abs(np.where(seen.possible, seen.t, 0.0))[_DECIDING]
        doubtful = WINDOWS[_DECIDING][strength.argmax(axis=0)]
        doubtful = np.where(strength.max(axis=0) >= DOUBTFUL_T, doubtful, 0)
        self.window[live] = doubtful[live]
        decided = live & (score >= threshold)
        suspicion = np.where(decided, 0.0, worse.max(axis=0))
        self.suspicion[live], self.spread[live] = suspicion[live], seen.deviation[0, live]
        for series in np.flatnonzero(decided):
            slot = int(best[series]) + FIRST_DECIDING
            self._restart(int(series), slot, seen, float(score[series]), bool(rising[series]))

    def _gross(self, those: Ints, count: int, threshold: Floats) -> None:
        """Decide on gross changes of series whose noise is not known, and on the ends of them.

        `those` have `count` samples.
        """
        those = those[self.young[those]]
        oldest = self.now - count
        values = np.take(self.values[oldest : self.now], those, axis=1)
        scores = evidence.scores(values, np.take(self.level[:count], those, axis=1))
        decided = scores[:, 1:].max(axis=(0, 1)) >= threshold[those]
        usual = self.suspicion[those] if count >= WATCHED_FROM else 0.0
        self.suspicion[those] = np.where(decided, 0.0, np.maximum(scores[0].max(axis=0), usual))
        for at in np.flatnonzero(decided):
            slot = int(scores[:, 1:, at].max(axis=0).argmax()) + 1
            up, down = map(float, scores[:, slot, at])
            self._mark(int(those[at]), YOUNG_WINDOWS[slot], max(up, down), up > down)
        for series in those[~decided & (self.first[those] < self.now - 1)].tolist():
            newest = self.values[self.now - 2 : self.now, series]
            for last in self.found[series][-1:]:
                if evidence.is_back(newest, last.before, last.after):
                    self._mark(series, 2, last.score, last.after < last.before)

    def _mark(self, series: int, window: int, score: float, rising: bool) -> None:
        """Record a gross change at the beginning of a window, and begin a new level there."""
        offset = int(self.offset[series])
        count = self.now + offset
        start, own = count - window, slice(series, series + 1)
        values = self.values[-offset : self.now, series].copy()
        level, former = self.level[:start, series].copy(), self.former[:start, series].copy()
        before = float(np.median(values[:start][level]))
        after = float(np.median(values[start:]))
        last = self.found[series][-1:]
        back = bool(last) and evidence.is_back(np.array([after]), last[0].before, last[0].after)
        # The end of a brief better level is no regression.
        worse = rising and not (back and start - last[0].start < BRIEF)
        if not last:
            noise, _ = learn(values[:start, None], level[:, None], level[1:, None])
            self.noise.take(noise, own)
            self._begin(series, -offset)
            residual = self.residual[-offset : start - offset, series]
            self.variance[series] = max(float(residual.copy().var(ddof=1)), STEADIEST**2)
        known = int((former if back else level).sum())
        self.known[series] = max(self.known[series], known)
        self.base[series], self.based[series] = last[0].before if back else 0.0, back * known
        self.level[:start, series] = former if back else False
        self.former[:start, series], self.former[start:, series] = level, False
        self.window[series], self.noise.centre[series] = 0, after
        self.spread[series] = np.sqrt(self.variance[series] / (1 - self.noise.phi[series] ** 2))
        spread = float(self.spread[series])
        self.found[series].append(
            LevelChange(start, count - 1, before, after, score, worse, spread)
        )
        self._begin(series, start - offset)

    def _learn(self, those: Ints | slice) -> None:
        """Learn the noise of the present levels from the samples that are not in doubt."""
        known, first = self.known[those], self.first[those]
        begun = -self.offset[those]
        # The sums of what comes before the first sample of all are 0.
        oldest = max(self.now - BUFFER, int(begun[:-1].min()))
        index = np.arange(oldest, self.now)[:, None]
        age = self.now - np.maximum(first, self.now - BUFFER)
        end = self.now - np.maximum(self.window[those], np.minimum(NOT_LEARNT, age // 4))
        kept = (index >= first) & (index < end)
        noise, count = learn(
            _columns(self.values[oldest : self.now], those), kept, (kept & (index > begun))[1:]
        )
        fresh = (known == 0) | (count >= RELEARN_AFTER)
        # A new level has the shape of noise of the one before it until it shows its own; only a
        # wider one is believed at once.
        young = (count >= CENTRE_AFTER) & ~fresh
        noise.half = np.where(young, np.maximum(self.noise.half[those], noise.half), noise.half)
        for name in _SHAPE:
            new, old = getattr(noise, name), getattr(self.noise, name)[those]
            believed = fresh | young if name in ("centre", "half") else fresh
            getattr(self.noise, name)[those] = np.where(believed, new, old)
        self.anchor[those] = np.maximum(first, self.now - BUFFER)
        self._sum_up(those)

    def _begin(self, series: int, row: int) -> None:
        """Begin a new level of a series in a row."""
        self.first[series] = self.anchor[series] = row
        self._sum_up(np.array([series, len(self.first) - 1]))

    def _sum_up(self, those: Ints | slice) -> None:
        """Sum up the residuals since the anchor, by the noise that is known now."""
        anchor = self.anchor[those]
        oldest = max(int(anchor.min()), 0)
        index = np.arange(oldest, self.now)[:, None]
        before = _columns(self.values[max(oldest - 1, 0) : self.now], those)
        values = before[len(before) - len(index) :]
        # Before the first sample a level is taken to have stood there.
        before = np.where(index == self.first[those], values, before[: len(index)])
        counted = index >= anchor
        residual = np.where(counted, self._residual(values, before, those), 0.0)
        self.residual[oldest : self.now, those] = residual
        rows = slice(oldest + 1, self.now + 1)
        self.totals[oldest, those] = self.sums[oldest, those] = self.squares[oldest, those] = 0.0
        self.totals[rows, those] = np.where(counted, values, 0.0).cumsum(axis=0)
        self.sums[rows, those] = residual.cumsum(axis=0)
        self.squares[rows, those] = (residual**2).cumsum(axis=0)

    def _judge(self) -> None:
        """Bound the newest samples, and add their residuals to the sums."""
        now = self.now
        values = self.values[now - 1]
        before = np.where(self.first == now - 1, values, self.values[now - 2])
        residual = self.residual[now - 1] = self._residual(values, before, slice(None))
        self.totals[now] = self.totals[now - 1] + values
        self.sums[now] = self.sums[now - 1] + residual
        self.squares[now] = self.squares[now - 1] + residual**2

    def _residual(self, values: Floats, before: Floats, those: Ints | slice) -> Floats:
        """Return what is left of bounded samples less what those before them let expect."""
        noise = self.noise
        centre, half, bound = noise.centre[those], noise.half[those], noise.bound[those]
        expected = noise.phi[those] * np.clip(before - centre, -half, half)
        return np.clip(np.clip(values - centre, -half, half) - expected, -bound, bound)

    def _restart(
        self, series: int, slot: int, seen: "_Evidence", score: float, rising: bool
    ) -> None:
        """Record a change of evidence in the window `slot`, and begin a new level at its start."""
        before = float(seen.before[slot, series] + self.noise.centre[series])
        spread, old = float(seen.deviation[slot, series]), int(self.first[series])
        oldest = max(old + 1, self.now - 2 * int(WINDOWS[slot]))
        row = oldest + begin(self.values[oldest : self.now, series], before, spread)
        values, start = self.values[row : self.now, series], row + int(self.offset[series])
        after = float(np.median(values))
        doubtful = may_be_outliers(values, before, after, spread)
        if doubtful or abs(after - before) < self.smallest:
            return
        worse, self.based[series] = rising, 0.0
        near = max(self.smallest, SAME_LEVEL * spread / math.sqrt(len(values)))
        for last in reversed(self.found[series]):
            if start - last.start >= BRIEF:
                break
            if after - last.before < near:
                worse = False
            if abs(after - last.before) < near:
                # Back from an excursion, to the level before it and what is known of it.
                self.base[series], self.based[series] = last.before, RELEARN_AFTER
        self.young[series] = False
        detected = start + len(values) - 1
        usual = float(self.spread[series])
        self.found[series].append(LevelChange(start, detected, before, after, score, worse, usual))
        self.variance[series] = seen.variance[slot, series]
        self.known[series] = min(REMEMBERED, max(self.known[series], row - old))
        self.window[series], self.noise.centre[series] = 0, after
        self._begin(series, row)


def _columns(values: Floats, those: Ints | slice) -> Floats:
    """Return columns in the layout of all of them, in which numpy adds up rows."""
    return values if isinstance(those, slice) else np.take(values, those, axis=1)


class _Evidence:
    """What the last samples of each series say for a change at the beginning of each window."""

    def __init__(self, watch: _Watch) -> None:
        now, windows, noise = watch.now, WINDOWS[:, None], watch.noise
        starts = np.maximum(now - WINDOWS, 0)
        first = np.maximum(watch.first, now - BUFFER)
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
        self.variance = np.where(past >= OWN_VARIANCE_FROM, np.maximum(pooled, own / free), pooled)
        self.variance = np.maximum(self.variance, (STEADIEST * one) ** 2)
        self.t = size / np.sqrt(self.variance * (weight + (1 + later * one) ** 2 / count))
        # Correlated samples are worth fewer.
        self.dof = (known + free) * noise.dof * one
        self.before = mean / one
        self.skew = noise.skew / np.sqrt(windows)
        enough = np.where(watch.known > 0, TAUGHT_LEVEL_FEWEST, LEVEL_FEWEST)
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
        evidence = 4 / skew**2 * (skew * t / 2 - np.log1p(skew * t / 2)) - WINDOW_PENALTIES[:, None]
        return np.where(self.possible, np.maximum(SCORE_OFFSET + SCORE_SLOPE * evidence, 0.0), 0.0)


@dataclass(frozen=True)
class Scan:
    """What a series shows after its last sample.

    `level` is in the metric's unit, `spread` the relative standard deviation of one sample; NaN
    where there is too little to tell. `needed` more samples are, until decisions are possible.
    `suspicion` is the score of the strongest change for the worse that ends with the
    last sample and is not decided, 0 for none. Windows of 1 and 2 samples count for it, so that a
    caller may measure again in the same night when it exceeds `SUSPICIOUS`, and scan the series
    with the repeated samples appended: each is a sample like any other.
    """

    changes: tuple[LevelChange, ...]
    level: float
    spread: float
    needed: int
    suspicion: float


def go_on(
    state: State, values: Floats, lengths: NDArray[np.intp], thresholds: Floats, smallest: float
) -> None:
    """Take (n, m) new logarithms, up is worse, into a state, in place.

    Those of a series are the first `lengths` (m,) rows. `thresholds` are (n, m).
    """
    # Series of as many samples go through their steps together.
    order = np.argsort(lengths, kind="stable")
    for at in range(0, len(order), BLOCK):
        block = order[at : at + BLOCK]
        longest = int(lengths[block].max())
        for first in range(0, longest, HELD):
            rows = slice(first, min(first + HELD, longest))
            new = np.clip(lengths[block] - first, 0, rows.stop - first)
            part = state.part(block)
            watch = _Watch(part, values[rows, block], new, smallest)
            for limits in thresholds[rows, block]:
                watch.step(limits)
            watch.keep()
            state.records[block] = part.records


def told(record: np.void, changes: tuple[LevelChange, ...], *, higher_is_better: bool) -> Scan:
    """Return what a series shows after its last sample, by its record and its changes."""
    bad, count = -1.0 if higher_is_better else 1.0, int(record["count"])
    recent = record["values"][-min(REMEMBERED, count - int(record["first"])) :]
    level = math.exp(bad * float(np.median(recent))) if count else math.nan
    needed, suspicion = max(0, FEWEST - count), float(record["suspicion"])
    return Scan(changes, level, float(record["spread"]), needed, suspicion)
