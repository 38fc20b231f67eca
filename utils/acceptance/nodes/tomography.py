"""The cable behind slow pairs: the link that their routes share, and the routes of good ones avoid.

Each pair is worth what its slowest link lets through, times noise. A link that is slow makes all
pairs slow whose routes take it; one that good pairs take is good. So for each direction of a link
the values of its pairs are compared under two assumptions, that it is slow and that it is not; the
link that explains most is named, what it explains is taken away, and the rest is compared again.

The noise of a pair, as logarithm of its value over the median of its like, has Student's
distribution, with spread and tails as the values above the median show them: on that side no fault
is. One pair in `STRAY` may be anything.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acceptance.fabric.topology.routes import NONE

#: One pair in so many is slow, or fast, for no reason that a link has: a burst of other traffic.
STRAY = 100
#: A stray value lies within this factor, up or down (its logarithm is uniform).
STRAY_FACTOR = 20.0
#: Tails that noise may have: degrees of freedom of Student's distribution; the last is near normal.
TAILS = (2.0, 3.0, 4.0, 6.0, 10.0, 30.0, 300.0)
#: The upper quartile of each (any table of it).
_QUARTILES = (0.8165, 0.7649, 0.7407, 0.7176, 0.6998, 0.6828, 0.6753)
#: The least loss that is looked for: links of one kind differ by less in a healthy fabric.
LEAST = 0.05
#: False names per fabric: with so many directions as there are, one in this many fabrics has one.
FABRICS = 1000
#: How much more likely (natural logarithm) the best link has to be than another one to be it alone.
ALONE = 3.0
#: Links that are named at most; where more are slow, no cable is the reason.
MOST = 16


@dataclass(frozen=True)
class Evidence:
    """Values of pairs and the directions that their routes take.

    `value` (P,) is the logarithm of each pair's value over that of its like, `again` (P,) the same
    of its value when it was measured alone, NaN where it was not; `steps` (P, H) are the directions
    of `Routes`, NONE after the last one.
    """

    value: NDArray[np.float64]
    again: NDArray[np.float64]
    steps: NDArray[np.int32]


@dataclass(frozen=True)
class Slow:
    """A link that is slow: directions of `Routes`, `ratio` of what it lets through to its like.

    `slow` of the `of` pairs on it are slow; `elsewhere` slow pairs that it does not explain, of
    `others` pairs not on it. `instead`: links (numbers) that explain it as well.
    """

    link: int
    directions: tuple[int, ...]
    ratio: float
    slow: int
    of: int
    elsewhere: int
    others: int
    instead: tuple[int, ...] = ()


def slow_links(evidence: Evidence, directions: int) -> list[Slow]:
    """Return the slow links, those that explain most first; none where nothing can be told."""
    return list(_Search(evidence, directions).found())


@dataclass(frozen=True)
class Noise:
    """Student's distribution: `spread` of the logarithms, and degrees of freedom."""

    spread: float
    tails: float

    @classmethod
    def of(cls, value: NDArray[np.float64]) -> "Noise":
        """Take the likeliest of `TAILS` for the values above the median."""
        above = np.sort(value[value > np.median(value)] - np.median(value)) if value.size else value
        if above.size < 2:
            return cls(1.0, TAILS[-1])
        middle = max(float(np.median(above)), 1e-4)
        # Of the upper half the median is the upper quartile of the whole.
        fits = [
            cls(middle / quartile, tails) for tails, quartile in zip(TAILS, _QUARTILES, strict=True)
        ]
        return max(fits, key=lambda fit: float(fit.density(above).sum()))

    def density(self, off: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density of values that are off so much."""
        n = self.tails
        scale = math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2)) / math.sqrt(n * math.pi)
        core = scale / self.spread * (1 + (off / self.spread) ** 2 / n) ** (-(n + 1) / 2)
        stray = 1 / STRAY / (2 * math.log(STRAY_FACTOR))
        return np.asarray(np.log((1 - 1 / STRAY) * core + stray))

    def gain(
        self, value: NDArray[np.float64], base: NDArray[np.float64], at: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return how much more likely values are around `at` than around `base`."""
        return self.density(value - at) - self.density(value - base)


class _Search:
    def __init__(self, evidence: Evidence, directions: int) -> None:
        self.value, self.again, self.count = evidence.value, evidence.again, directions
        pair, step = np.nonzero(evidence.steps != NONE)
        self.pair, self.direction = pair, evidence.steps[pair, step]
        # By direction, and by value within each, so that medians are looked up.
        order = np.lexsort((self.value[self.pair], self.direction))
        self.pair, self.direction = self.pair[order], self.direction[order]
        self.number = np.bincount(self.direction, minlength=directions)
        self.begin = np.concatenate(([0], np.cumsum(self.number)[:-1]))
        self.noise = Noise.of(self.value)
        self.least = np.log(self.number.astype(bool).sum() * FABRICS + 1.0)

    def levels(self) -> NDArray[np.float64]:
        """Return the median value of each direction; 0 where no pair takes it."""
        used = self.number > 0
        ordered = self.value[self.pair]
        low = np.where(used, self.begin + (self.number - 1) // 2, 0)
        high = np.where(used, self.begin + self.number // 2, 0)
        return np.where(used, (ordered[low] + ordered[high]) / 2, 0.0)

    def gains(self, base: NDArray[np.float64], level: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much more likely all values are if a direction has its level."""
        slow = level < np.log(1 - LEAST)
        rows = np.nonzero(slow[self.direction])[0]
        pair, direction = self.pair[rows], self.direction[rows]
        at = np.minimum(base[pair], level[direction])
        gain = self.noise.gain(self.value[pair], base[pair], at)
        again = np.isfinite(self.again[pair])
        alone = pair[again]
        gain[again] += self.noise.gain(self.again[alone], base[alone], at[again])
        return np.bincount(direction, weights=gain, minlength=self.count).astype(np.float64)

    def found(self) -> Iterator[Slow]:
        if not self.value.size:
            return
        base = np.zeros_like(self.value)
        level = self.levels()
        for _ in range(MOST):
            gain = np.maximum(self.gains(base, level), 0).reshape(-1, 2)
            score = gain.sum(axis=1)
            best = int(score.argmax())
            if score[best] < self.least:
                return
            ways = tuple(2 * best + way for way in (0, 1) if gain[best, way] > ALONE)
            rows = np.nonzero(np.isin(self.direction, ways))[0]
            before = base.copy()
            base[self.pair[rows]] = np.minimum(base[self.pair[rows]], level[self.direction[rows]])
            # Another link that explains as much, of which nothing is left to explain then.
            rivals = np.nonzero(score > score[best] - ALONE)[0]
            left = np.maximum(self.gains(base, level), 0).reshape(-1, 2).sum(axis=1)
            instead = tuple(int(n) for n in rivals if n != best and left[n] < ALONE)
            yield self.described(best, ways, base, before, instead)

    def described(
        self,
        link: int,
        ways: tuple[int, ...],
        base: NDArray[np.float64],
        before: NDArray[np.float64],
        instead: tuple[int, ...],
    ) -> Slow:
        on = np.zeros(self.value.shape, dtype=bool)
        on[self.pair[np.isin(self.direction, ways)]] = True
        ratio = float(np.exp(np.median(self.value[on])))
        slow = self.value < np.log(ratio) / 2
        rest = ~on & (before == 0)
        return Slow(
            link,
            ways,
            ratio,
            int((slow & on).sum()),
            int(on.sum()),
            int((slow & rest).sum()),
            int(rest.sum()),
            instead,
        )
