"""How far two sides of a metric may be apart by chance, learnt from the past of each.

Values are logarithms, because noise is proportional to the level. What is learnt is that of
`detection.evidence`: samples are bounded (Huber) where outliers would carry the spread away, the
kurtosis takes degrees of freedom off, and consecutive samples may be correlated.

How probable a difference is by chance, and how large it may be, Student's t distribution tells.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acceptance.core.robust import middle_and_spread
from acceptance.detection import evidence as shapes
from acceptance.detection.constants import BOUND_ROUGH, FEWEST, STEADIEST

#: Of Gauss's quadrature: enough for five digits of any t, whatever its degrees of freedom.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)


def two_sided(t: float, dof: float) -> float:
    """Return the probability of a Student's t at least as far from 0 as `t`, either way.

    With t = sqrt(dof) tan(a) its density is proportional to cos(a)^(dof - 1), whose integral is
    taken from there to where nothing is left of it; `dof` is at least 1.
    """
    if t == 0:
        return 1.0
    low = math.atan(t / math.sqrt(dof))
    high = min(math.hypot(low, math.sqrt(80 / dof)), math.pi / 2)
    angles = low + (high - low) * (1 + _NODES) / 2
    scale = math.exp(math.lgamma((dof + 1) / 2) - math.lgamma(dof / 2)) / math.sqrt(math.pi)
    return float(scale * (high - low) * (_WEIGHTS * np.cos(angles) ** (dof - 1)).sum())


def quantile(probability: float, dof: float) -> float:
    """Return the t that is exceeded, either way, with a probability above 0 and at most 1."""
    low, high = 0.0, 1.0
    while two_sided(high, dof) > probability and high < 1e12:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, dof) > probability else (low, middle)
    return high


Floats = NDArray[np.float64]

#: Samples of the past that teach the noise of a side: half of what detection remembers, so that
#: they are of the same season.
PAST = 90
#: Of a side of fewer samples a single outlier looks like a change. It takes a difference of so many
#: times the farthest sample of the past then: noise with outliers has farther ones to come, and
#: Gaussian noise loses nothing by it.
FEW, FARTHER = 3, 2.0
#: Samples of each side from which on their ranks have to differ, too. [derived] of fewer the normal
#: approximation refuses what is told at the level of hundreds of metrics.
RANKED = 15


@dataclass(frozen=True)
class Noise:
    """The noise of one sample: relative standard deviation, and the rest that its use needs.

    `dof` are the degrees of freedom of `spread`, `correlation` is that of consecutive samples,
    `farthest` the largest distance of a sample from its level (logarithm), `samples` how many
    taught it. `lean` is how far their mean lies above their median (logarithm), each bounded:
    noise that is longer on one side has its mean there.
    """

    spread: float
    dof: float
    correlation: float
    farthest: float
    samples: int
    lean: float = 0.0


def learn(
    values: Floats, sides: Sequence[Collection[int]], starts: Collection[int]
) -> Noise | None:
    """Return the noise of a series, or None where fewer than `FEWEST` samples tell of it.

    `values` are all samples, `sides` the numbers of those that are compared: each side is taken to
    have a level of its own, and so has each stretch of the past between them, and after each change
    of level that was found (`starts`). The past are the `PAST` samples nearest to the sides.
    """
    logs = np.log(np.asarray(values, dtype=np.float64))
    owner = np.full(len(logs), -1)
    for number, side in enumerate(sides):
        owner[[*side]] = number
    own = np.flatnonzero(owner >= 0)
    past = np.flatnonzero(owner < 0)
    distance = np.minimum(np.abs(past - own.min()), np.abs(past - own.max()))
    chosen = np.sort(np.concatenate([own, past[np.argsort(distance, kind="stable")[:PAST]]]))
    parts = _levels(logs[chosen], chosen, owner, starts)
    residuals = np.concatenate([np.zeros(0), *(part - np.median(part) for part in parts)])
    count, levels = len(residuals), len(parts)
    if count - levels < FEWEST - 1:
        return None
    kept = np.ones((count, 1), np.bool_)
    shape, _ = shapes.learn(residuals[:, None], kept, kept[1:])
    half, dof, phi = (float(one[0]) for one in (shape.half, shape.dof, shape.phi))
    bounded = np.clip(residuals, -half, half)
    free = count - levels
    spread = math.sqrt(float((bounded**2).sum()) / free)
    # Where most values are equal by rounding, or a few carry it away, the middle half tells more.
    robust = float(middle_and_spread(residuals)[1]) * math.sqrt(count / free)
    spread = max(spread, robust, STEADIEST)
    return Noise(
        spread,
        max(dof * free, 1.0),
        min(max(phi, 0.0), 0.9),
        float(np.abs(residuals).max()),
        count,
        float(np.clip(residuals, -BOUND_ROUGH * spread, BOUND_ROUGH * spread).mean()),
    )


def _levels(
    logs: Floats, chosen: NDArray[np.intp], owner: NDArray[np.intp], starts: Collection[int]
) -> list[Floats]:
    """Return the chosen samples of each level, of those with two or more: one alone tells nothing.

    A side is one level, whatever lies between its samples.
    """
    sides, passed = owner[chosen], np.searchsorted(np.sort([*starts]), chosen, side="right")
    begins = (np.diff(sides, prepend=sides[0]) != 0) | (np.diff(passed, prepend=passed[0]) != 0)
    level = np.where(sides >= 0, sides, owner.max() + 1 + np.cumsum(begins))
    parts = [logs[level == number] for number in dict.fromkeys(level.tolist())]
    return [part for part in parts if len(part) > 1]


#: Of the difference of two sides: its standard error, the degrees of freedom of that, and the
#: smallest difference that counts, however sure it is.
Scatter = tuple[float, float, float]


def difference(
    size: float, counts: tuple[int, int], noises: tuple[Noise, Noise]
) -> tuple[float, Scatter]:
    """Return Student's t of the difference of two sides of so many samples, and its scatter.

    `size` is the logarithm of their ratio; t is 0 where that is not large enough to count.
    The variance of the mean of n correlated samples is that of one, over n, times (1 + c)/(1 - c)
    (AR(1), for many samples), that of a median pi / 2 times as much, and none is more than that of
    one. The degrees of freedom of a sum of
    two variances are Satterthwaite's (Biometrics Bulletin 2, 1946, 110-114); two sides of one
    series have one noise. Of sides of a few samples see `FEW`.
    """
    first, second = noises
    variances = [
        one.spread**2 * min(1.0, _of_median(count) * (1 + one.correlation) / (1 - one.correlation))
        for one, count in zip(noises, counts, strict=True)
    ]
    total = sum(variances)
    if first is second:
        dof = first.dof
    else:
        parts = zip(variances, noises, strict=True)
        dof = total**2 / sum(variance**2 / one.dof for variance, one in parts)
    few = min(counts) < FEW
    least = FARTHER * max(first.farthest, second.farthest) if few else 0.0
    error = math.sqrt(total)
    return 0.0 if abs(size) <= least else abs(size) / error, (error, dof, least)


def ranked(a: Floats, b: Floats, correlation: float) -> float:
    """Return how probably two sides are of one distribution, by the ranks of their samples.

    Of a metric with two states the median jumps from one to the other, which its spread does not
    show: where the sides have `RANKED` samples each they must differ by this, too. It is Mann and
    Whitney's test (Ann. Math. Stat. 18, 1947, 50-60) in its normal approximation, with ties; the
    variance is larger by the correlation of consecutive samples, as that of means. Fewer samples
    say nothing against a difference: 0.
    """
    n, m = len(a), len(b)
    if min(n, m) < RANKED:
        return 0.0
    _, which, ties = np.unique(np.concatenate([a, b]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[which]
    of_ties = (ties**3 - ties).sum() / ((n + m) * (n + m - 1))
    variance = n * m / 12 * (n + m + 1 - of_ties) * (1 + correlation) / (1 - correlation)
    apart = abs(ranks[:n].sum() - n * (n + m + 1) / 2)
    return math.erfc(apart / math.sqrt(2 * variance)) if variance else 1.0


def _of_median(count: int) -> float:
    """Return the variance of a median of so many independent samples, over that of one."""
    return 1 / count if count < 3 else math.pi / 2 / count
