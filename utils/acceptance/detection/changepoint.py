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

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class LevelChange:
    """A lasting change of level, decided at sample `detected` from the samples up to it.

    Indices count the rows of what `scan` was given. `start` is the estimated first sample after
    the change, `start <= detected`. `before` and `after` are levels in the metric's unit (geometric
    mean, and median). `score` is the natural logarithm of the average number of samples between
    false alarms at this evidence. `worse` says that this is a regression: the change is in the bad
    direction, and not merely the end of an improvement of fewer than `BRIEF` samples.
    """

    start: int
    detected: int
    before: float
    after: float
    score: float
    worse: bool


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
    threshold: float = DEFAULT_THRESHOLD,
    smallest: float = SMALLEST,
) -> list[Scan]:
    """Return what each of m series shows, given as the columns of `samples`, oldest row first.

    `samples` is (n, m), `higher_is_better` (m,). NaN, infinity, zero and negative values are
    missing samples: a series may start late, end early or have gaps, and its decisions are the same
    as without them. Changes of a score of at least `threshold` and a size of at least `smallest`
    are reported; for m series that together are as quiet as one is at `DEFAULT_THRESHOLD`, ask for
    `DEFAULT_THRESHOLD + ln(m)`. Raises ValueError for other shapes.
    """
    samples = np.asarray(samples, dtype=np.float64)
    better_up = np.asarray(higher_is_better, dtype=np.bool_)
    if samples.ndim != 2 or better_up.shape != samples.shape[1:]:
        shapes = f"samples are {samples.shape}, higher_is_better {better_up.shape}"
        raise ValueError(f"{shapes}; expected (n, m) and (m,)")
    usable = np.isfinite(samples) & (samples > 0)
    lengths = usable.sum(axis=0)
    # A stable sort moves the usable samples of each series to its front, in their order.
    rows = np.argsort(~usable, axis=0, kind="stable")
    values = np.take_along_axis(np.where(usable, samples, 1.0), rows, axis=0)
    bad = np.where(better_up, -1.0, 1.0)
    scans: list[Scan] = []
    for begin in range(0, len(bad), BLOCK):
        block = slice(begin, begin + BLOCK)
        watch = Watch(np.log(values[:, block]) * bad[block], lengths[block], smallest)
        for _ in range(int(watch.lengths.max(initial=0))):
            watch.step(threshold)
        for series in range(len(watch.lengths)):
            scans.append(_told(watch, series, rows[:, begin + series], bad[begin + series]))
    return scans


def _told(watch: Watch, series: int, rows: Ints, bad: float) -> Scan:
    length = int(watch.lengths[series])
    changes = tuple(
        LevelChange(
            start=int(rows[found.start]),
            detected=int(rows[found.detected]),
            before=math.exp(bad * found.before),
            after=math.exp(bad * found.after),
            score=found.score,
            worse=found.worse,
        )
        for found in watch.found[series]
    )
    recent = watch.values[max(int(watch.first[series]), length - REMEMBERED) : length, series]
    return Scan(
        changes=changes,
        level=math.exp(bad * float(np.median(recent))) if length else math.nan,
        spread=float(watch.spread[series]),
        enough=length >= FEWEST,
        needed=max(0, FEWEST - length),
        suspicion=float(watch.suspicion[series]),
    )
