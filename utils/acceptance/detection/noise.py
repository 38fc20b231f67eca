"""The shape of the noise of series, learnt robustly from their histories."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import (
    BOUND,
    BOUND_ROUGH,
    DECILES,
    DOF_ROUGH,
    OUTLIER,
    PHI_DOUBTED,
    PHI_FULL,
    PHI_FULL_LATER,
    PHI_GROWN,
    PHI_MORE,
    PHI_MOST,
    PHI_UNKNOWN,
    PHI_YOUNG,
    STEADIEST,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass
class Noise:
    """The noise of m series, arrays of shape (m,); values are logarithms.

    A sample counts as no farther than `half` from `centre`. Of the rest a part `phi` is that of the
    sample before it (AR(1)); what is left, the residual, is bounded by `bound`, has the skewness
    `skew` and gives an estimate of its variance `dof` degrees of freedom a sample.
    """

    centre: Floats
    half: Floats
    phi: Floats
    bound: Floats
    skew: Floats
    dof: Floats

    def take(self, other: "Noise", those: slice) -> None:
        """Replace the noise of some series by that of `other`."""
        for part in fields(self):
            getattr(self, part.name)[those] = getattr(other, part.name)


def learn(
    values: Floats, kept: Flags, pairs: Flags, bounds: tuple[float, float] = (BOUND, BOUND_ROUGH)
) -> tuple[Noise, NDArray[np.intp]]:
    """Return the noise of the samples `kept` of `values`, both (n, m), and their numbers.

    The oldest sample is the first row; `pairs` (n - 1, m) are those kept that have one before them.
    Where none is kept, the result means nothing. `bounds` are those of a sample, in standard
    deviations: of a history without outliers, and of one with them.
    """
    count = kept.sum(axis=0)
    ranked = np.sort(np.where(kept, values, np.inf), axis=0)
    last, columns = np.maximum(count - 1, 0), np.arange(len(count))
    centre = (ranked[last // 2, columns] + ranked[(last + 1) // 2, columns]) / 2
    centre[count == 0] = 0.0
    low, high = (ranked[np.rint(share * last).astype(np.intp), columns] for share in (0.1, 0.9))
    with np.errstate(invalid="ignore"):
        wide = np.fmax((high - low) / DECILES * (1 + 1 / np.maximum(count, 1)), STEADIEST)
    values = np.where(kept, values - centre, 0.0)
    rough = np.abs(values).max(axis=0) > OUTLIER * wide
    half = wide * np.where(rough, bounds[1], bounds[0])

    total = np.maximum(count, 2)
    bounded = np.clip(values, -half, half)
    bounded = np.where(kept, bounded - bounded.sum(axis=0) / total, 0.0)
    variance = np.maximum((bounded**2).sum(axis=0) / (total - 1), STEADIEST**2)
    phi = _cautious((bounded[1:] * bounded[:-1]).sum(axis=0) / (total - 1) / variance, total)
    residual = np.where(pairs, bounded[1:] - phi * bounded[:-1], 0.0)
    bound = BOUND * np.sqrt(np.maximum((residual**2).sum(axis=0) / total, STEADIEST**2))
    residual = np.clip(residual, -bound, bound)
    residual = np.where(pairs, residual - residual.sum(axis=0) / total, 0.0)
    squares = residual**2
    spread = np.maximum(squares.sum(axis=0) / total, STEADIEST**2)
    skew = (squares * residual).sum(axis=0) / total / spread**1.5
    # Shrunk by what a Gaussian's estimate, of variance 6 / n, may have by chance.
    chance = 6 / total
    skew *= np.maximum(0, 1 - chance / np.maximum(skew**2, chance))
    # Less what it exceeds 3 by in a Gaussian by chance, of variance 24 / n.
    kurtosis = (squares**2).sum(axis=0) / total / spread**2 - np.sqrt(24 / total)
    dof = 2 / np.maximum(kurtosis - 1, 2) * np.where(rough, DOF_ROUGH, 1.0)
    return Noise(centre, half, phi, bound, skew, dof), count


def _cautious(phi: Floats, count: NDArray[np.intp]) -> Floats:
    """Return the correlation to reckon with when `phi` was estimated from `count` samples.

    One that is taken for too low makes false alarms, one that is too high late alarms.
    """
    # The estimate's bias: Kendall, Biometrika 41 (1954), 403-404.
    phi = np.asarray(phi + (1 + 3 * np.maximum(phi, 0)) / count, np.float64)
    error = np.sqrt(np.maximum(1 - phi**2, 0.05) / count)
    grown = np.clip((count - PHI_YOUNG) / (PHI_GROWN - PHI_YOUNG), 0, 1)
    # A correlation that a series without one may show by chance counts in part.
    full = PHI_FULL + PHI_FULL_LATER * grown
    part = np.clip((phi * np.sqrt(count) - PHI_DOUBTED) / (full - PHI_DOUBTED), 0, 1)
    cautious = part * np.minimum(phi + PHI_MORE * error, PHI_MOST)
    return np.asarray(np.maximum(cautious, PHI_UNKNOWN * np.maximum(0, 1 - count / PHI_YOUNG)))
