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
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from acceptance.detection import evidence
from acceptance.detection.constants import (
    BLOCK,
    BRIEF,
    CENTRE_AFTER,
    DEFAULT_THRESHOLD,
    DOUBTFUL_T,
    FEWEST,
    FIRST_DECIDING,
    LEARN_EACH,
    LEARN_FIFTH,
    NOT_LEARNT,
    RELEARN_AFTER,
    REMEMBERED,
    SAME_LEVEL,
    SMALLEST,
    STEADIEST,
    WATCHED_FROM,
    WINDOWS,
    YOUNG_PAST,
    YOUNG_UNTIL,
    YOUNG_WINDOWS,
)
from acceptance.detection.evidence import BUFFER, Evidence, Noise, begin, learn, may_be_outliers
from acceptance.detection.state import HELD, Detected, State

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
        seen = Evidence(self)
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
        self.found[series].append(Detected(start, count - 1, before, after, score, worse, spread))
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

    def _restart(self, series: int, slot: int, seen: Evidence, score: float, rising: bool) -> None:
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
        self.found[series].append(Detected(start, detected, before, after, score, worse, usual))
        self.variance[series] = seen.variance[slot, series]
        self.known[series] = min(REMEMBERED, max(self.known[series], row - old))
        self.window[series], self.noise.centre[series] = 0, after
        self._begin(series, row)


def _columns(values: Floats, those: Ints | slice) -> Floats:
    """Return columns in the layout of all of them, in which numpy adds up rows."""
    return values if isinstance(those, slice) else np.take(values, those, axis=1)


@dataclass(frozen=True)
class LevelChange:
    """A lasting change of level, decided at sample `detected` from the samples up to it.

    Indices count the usable samples of the series from its first one. `start` is the estimated
    first sample after the change, `start <= detected`. `before` and `after` are levels in the
    metric's unit (geometric mean, and median), `spread` is what was known of that of one sample.
    `score` is the natural logarithm of the average number of samples between false alarms at this
    evidence. `worse` says that this is a regression: the change is in the bad direction, and not
    merely the end of an improvement of fewer than `BRIEF` samples.
    """

    start: int
    detected: int
    before: float
    after: float
    score: float
    worse: bool
    spread: float


@dataclass(frozen=True)
class Scan:
    """What a series shows after its last sample.

    `level` is in the metric's unit, `spread` the relative standard deviation of one sample; NaN
    where there is too little to tell. `enough` says that decisions are possible, else `needed` more
    samples are. `suspicion` is the score of the strongest change for the worse that ends with the
    last sample and is not decided, 0 for none. Windows of 1 and 2 samples count for it, so that a
    caller may measure again in the same night when it exceeds `SUSPICIOUS`, and scan the series
    with the repeated samples appended: each is a sample like any other.
    """

    changes: tuple[LevelChange, ...]
    level: float
    spread: float
    enough: bool
    needed: int
    suspicion: float


def scan(
    samples: Floats,
    higher_is_better: Flags,
    threshold: float | Floats = DEFAULT_THRESHOLD,
    smallest: float = SMALLEST,
    state: State | None = None,
) -> tuple[list[Scan], State]:
    """Return what each of m series shows, given as the columns of `samples`, oldest row first.

    `samples` is (n, m), `higher_is_better` (m,). NaN, infinity, zero and negative values are
    missing samples: a series may start late, end early or have gaps, and its decisions are the same
    as without them. Changes of a score of at least `threshold` and a size of at least `smallest`
    are reported; for m series that together are as quiet as one is at `DEFAULT_THRESHOLD`, ask for
    `DEFAULT_THRESHOLD + ln(m)`. It may be (m,) or (n, m): what was asked for at each sample.

    With the state that an earlier scan of the same series returned, `samples` are those since, and
    the results are those of a scan of all, to the last bit: a scan goes on from the state of no
    samples, or from a later one, in the same way. Raises ValueError for other shapes.
    """
    higher = np.asarray(higher_is_better, dtype=np.bool_)
    state = State.empty(len(higher)) if state is None else state.copy()
    advance(state, samples, higher, threshold, smallest)
    return [
        told(state, series, higher_is_better=bool(up)) for series, up in enumerate(higher)
    ], state


def advance(
    state: State,
    samples: Floats,
    higher_is_better: Flags,
    threshold: float | Floats = DEFAULT_THRESHOLD,
    smallest: float = SMALLEST,
) -> None:
    """Take new samples into a state, in place; see `scan`."""
    samples = np.asarray(samples, dtype=np.float64)
    higher = np.asarray(higher_is_better, dtype=np.bool_)
    if samples.ndim != 2 or higher.shape != samples.shape[1:] or len(state) != len(higher):
        shapes = f"samples are {samples.shape}, higher_is_better {higher.shape}"
        raise ValueError(f"{shapes}, the state has {len(state)}; expected (n, m), (m,) and m")
    thresholds = np.broadcast_to(threshold, samples.shape)
    usable = np.isfinite(samples) & (samples > 0)
    lengths = usable.sum(axis=0)
    # A stable sort moves the usable samples of each series to its front, in their order.
    rows = np.argsort(~usable, axis=0, kind="stable")[: lengths.max(initial=0)]
    present = np.arange(len(rows))[:, None] < lengths
    values = np.where(present, np.take_along_axis(samples, rows, axis=0), 1.0)
    limits = np.take_along_axis(thresholds, rows, axis=0)
    go_on(state, np.log(values) * np.where(higher, -1.0, 1.0), lengths, limits, smallest)


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


def told(state: State, series: int, *, higher_is_better: bool) -> Scan:
    """Return what a series of a state shows after its last sample."""
    record, bad = state.records[series], -1.0 if higher_is_better else 1.0
    count = int(record["count"])
    recent = record["values"][-min(REMEMBERED, count - int(record["first"])) :]
    return Scan(
        changes=level_changes(state.found[series], higher_is_better=higher_is_better),
        level=math.exp(bad * float(np.median(recent))) if count else math.nan,
        spread=float(record["spread"]),
        enough=count >= FEWEST,
        needed=max(0, FEWEST - count),
        suspicion=float(record["suspicion"]),
    )


def level_changes(found: Iterable[Detected], *, higher_is_better: bool) -> tuple[LevelChange, ...]:
    """Return what was found in a series in its unit."""
    bad = -1.0 if higher_is_better else 1.0
    return tuple(
        LevelChange(
            start=one.start,
            detected=one.detected,
            before=math.exp(bad * one.before),
            after=math.exp(bad * one.after),
            score=one.score,
            worse=one.worse,
            spread=one.spread,
        )
        for one in found
    )
