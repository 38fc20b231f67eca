"""Sequential detection of lasting changes of level, each night from the past alone.

Each sample is judged when it arrives. Of every window of 3 to 60 last samples the mean is compared
with that of what is before it, 240 samples in all: a generalized likelihood ratio over the time of
the change (Lai, J. R. Stat. Soc. B 57, 1995, 613-658, "window-limited"). What makes it hold for
measurements of machines:

- values are logarithms, because noise is proportional to the level;
- level and spread are unknown: the statistic is Student's, ln(1 + t^2 / dof) * dof / 2, with the
  degrees of freedom that the kurtosis of the history leaves its variance, 2 n / (kurtosis - 1);
- samples are bounded (Huber's score) at a distance that the interdecile range sets, and nearer
  where the history has outliers (`detection/noise.py`): one sample, whatever its size, is no
  change;
- where the history is skewed towards the worse, the tail is that of a gamma distribution of the
  same skewness (Cramer-Chernoff) in place of the Gaussian one;
- where consecutive samples are correlated, the residuals of an AR(1) model are judged, the change
  being fitted by generalized least squares;
- of the first 40 samples nothing is known of the noise, and only their order and the gap between
  them and what is before them count (`detection/young_series.py`).

Scores are natural logarithms of average run lengths; `python -m tests.bench.detection --calibrate`
measures the line that turns evidence into scores (`SCORE_OFFSET` and `SCORE_SLOPE` in
`detection/constants.py`, where all numbers are).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import (
    BLOCK,
    DEFAULT_THRESHOLD,
    FEWEST,
    REMEMBERED,
    SMALLEST,
)
from acceptance.detection.detector import Watch
from acceptance.detection.state import HELD, Detected, State

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
    for begin in range(0, len(order), BLOCK):
        block = order[begin : begin + BLOCK]
        longest = int(lengths[block].max())
        for first in range(0, longest, HELD):
            rows = slice(first, min(first + HELD, longest))
            new = np.clip(lengths[block] - first, 0, rows.stop - first)
            part = state.part(block)
            watch = Watch(part, values[rows, block], new, smallest)
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
