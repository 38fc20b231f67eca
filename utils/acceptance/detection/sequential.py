"""Does a level lie beyond its limit? Judged after each run, until an error is improbable enough.

A group sequential test with a look after each run (Pocock, Biometrika 64, 1977, 191-199). After n
runs, which lay x beyond the limit (logarithms, positive is worse), with their standard deviation s:

    z = W(mean(x - edge) / (s sqrt(v))),  v = (1 + 2 sum over k < n of (1 - k / n) phi^k) / n
    fail: z >= c(alpha) at the near edge of the limit;  pass: z <= -c(beta) at the far edge

c is what the sums of a Gaussian random walk exceed, in their standard deviations, at any of all
looks with the stated probability (Armitage, McPherson, Rowe, J. R. Stat. Soc. A 132, 1969,
235-244). So the risk to fail a level that is not beyond the near edge is alpha at most, and that to
pass one that is not inside the far edge beta, however many of the looks are taken. Between both
edges either word may be right. What neither is told of cannot be told at this cost. Wald's test of
two simple hypotheses takes fewer runs only where the level is one of these two: here it may be any.

What makes it hold for measurements of machines:

- the spread is that of the metric's past, of so many degrees of freedom, and that of the runs
  together. Then mean / (s / sqrt(n)) is Student's t, and W turns it into what is as improbable of a
  Gaussian (Wallace, Ann. Math. Stat. 30, 1959, 1121-1130). Each run is bounded (Huber's score) in
  spreads of the past: one slow run, however slow, fails nothing. One that is far inside is enough,
  though: else every case would be repeated. What a limit is about is the typical run, the median:
  by how far bounded runs of the past had their mean elsewhere is taken off;
- without a past the runs themselves tell, by their mean without the fifth that lies farthest on
  either side, and their winsorized spread (Yuen, Biometrika 61, 1974, 165-170);
- runs that are correlated, by phi as consecutive samples of the past were (AR(1)), tell less;
  without a past they are taken for correlated.

Arrays have a column for each metric.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import (
    BOUND,
    BOUND_ROUGH,
    ERROR,
    LOOKS,
    PHI_ALONE,
    STEADIEST,
    TRIMMED,
    ZONE,
)

Floats = NDArray[np.float64]

#: Of Gauss's quadrature: a kernel of width 1 is integrated over 30 to five digits and more.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(120)


def crossing(bound: float, looks: int) -> float:
    """Return how probably sums of k Gaussian steps exceed `bound` sqrt(k) at any of the looks."""
    places, mass = np.zeros(1), np.ones(1)
    for look in range(1, looks + 1):
        low, high = -8 * math.sqrt(look), bound * math.sqrt(look)
        points = low + (high - low) * (1 + _NODES) / 2
        density = np.exp(-((points[:, None] - places) ** 2) / 2) @ mass / math.sqrt(2 * math.pi)
        places, mass = points, density * _WEIGHTS * (high - low) / 2
    return float(1 - mass.sum())


@cache
def bound(error: float, looks: int = LOOKS) -> float:
    """Return the bound that is exceeded at any of the looks with this probability."""
    low, high = 0.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if crossing(middle, looks) > error else (low, middle)
    return high


def _as_gaussian(t: Floats, dof: Floats) -> Floats:
    """Return what is as improbable of a Gaussian as `t` is of Student's; `dof` is at least 1."""
    size = np.sqrt(dof * np.log1p(t**2 / dof)) * (8 * dof + 1) / (8 * dof + 3)
    return np.asarray(np.copysign(size, t))


#: How far the level lies beyond each edge (2, m); the spread of a run; degrees of freedom; of how
#: many runs the level is the mean, and how they are correlated.
_Seen = tuple[Floats, Floats, Floats, int, Floats]


def _by_past(beyond: Floats, edges: Floats, past: Floats) -> _Seen:
    spread, dof, phi, lean = past
    own = beyond - np.median(beyond, axis=0)
    own = np.clip(own, -BOUND * spread, BOUND * spread)
    freedom = dof + len(beyond) - 1
    together = np.sqrt((dof * spread**2 + (own**2).sum(axis=0)) / freedom)
    low = -BOUND * spread if len(beyond) > 1 else -np.inf
    bounded = np.clip(beyond - edges[:, None, None], low, BOUND_ROUGH * spread)
    return bounded.mean(axis=1) - lean, together, freedom, len(beyond), phi


def _alone(beyond: Floats, edges: Floats) -> _Seen:
    n, metrics = beyond.shape
    cut = int(TRIMMED * n)
    kept = n - 2 * cut
    ordered = np.sort(beyond, axis=0)
    own = np.clip(beyond, ordered[cut], ordered[n - 1 - cut])
    squares = ((own - own.mean(axis=0)) ** 2).sum(axis=0)
    level = ordered[cut : n - cut].mean(axis=0)
    spread = np.sqrt(squares / max(kept - 1, 1))
    freedom = np.full(metrics, kept - 1.0)
    return level - edges[:, None], spread, freedom, kept, np.full(metrics, PHI_ALONE)


def decide(
    beyond: Floats,
    past: Floats | None = None,
    *,
    alpha: float = ERROR,
    beta: float = ERROR,
    zone: float = ZONE,
    looks: int = LOOKS,
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return of m metrics 1 for fail, -1 for pass, 0 for neither; their medians, and spreads.

    `beyond` (n, m) is how far each run lies beyond the limit, of which the first ones count, one a
    look. `past` (4, m) is what the past tells of one run: spread, its degrees of freedom,
    correlation, and how far its mean lies beyond its median. The limit has edges half a `zone` to
    either side. All are logarithms.
    """
    beyond, edges = beyond[:looks], np.array([-zone / 2, zone / 2])
    seen = _alone(beyond, edges) if past is None else _by_past(beyond, edges, past)
    (near, far), spread, freedom, kept, phi = seen
    n, spread, level = len(beyond), np.maximum(spread, STEADIEST), np.median(beyond, axis=0)
    powers = np.arange(1, n)[:, None]
    correlated = 1 + 2 * ((1 - powers / n) * phi**powers).sum(axis=0)
    error, known = spread * np.sqrt(correlated / kept), np.maximum(freedom, 1)
    fails = (_as_gaussian(near / error, known) >= bound(alpha, looks)) & (freedom >= 1)
    passes = (_as_gaussian(far / error, known) <= -bound(beta, looks)) & (freedom >= 1)
    word = np.where(fails & passes, np.where(level > 0, 1, -1), fails.astype(int) - passes)
    return word, level, spread
