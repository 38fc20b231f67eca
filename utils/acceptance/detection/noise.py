"""The shape of the noise of series, learnt robustly from their histories."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Least standard deviation of a logarithm: what is steadier than 0.25 % is steady by rounding.
FLOOR = 0.0025
#: Bounds of a sample, in standard deviations: of a history without outliers, and of one with them;
#: and from where on a sample is an outlier.
_BOUND, _NARROW, _OUTLIER = 3.75, 2.5, 4.2
#: Where the history has outliers: what part of the degrees of freedom is believed.
_ROUGH = 0.5
#: Correlation: by how many standard errors it is taken for larger than it is seen, and what is
#: assumed of it before there are samples.
_MORE, _UNKNOWN = 1.0, 0.45
#: Standard errors of no correlation up to which none is reckoned with.
_DOUBTED = 0.25
#: From how many samples on the estimated correlation begins to be trusted, and is.
_YOUNG, _GROWN = 60, 105


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

    @classmethod
    def unknown(cls, count: int) -> "Noise":
        """Return the noise of series of which nothing is known."""
        return cls(*(np.ones(count) for _ in fields(cls)))


def learn(values: Floats, kept: Flags) -> tuple[Noise, NDArray[np.intp]]:
    """Return the noise of the samples `kept` of `values`, both (n, m), and their numbers.

    The oldest sample is the first row. Where none is kept, the result means nothing.
    """
    count = kept.sum(axis=0)
    ranked = np.sort(np.where(kept, values, np.inf), axis=0)
    last, columns = np.maximum(count - 1, 0), np.arange(len(count))
    centre = (ranked[last // 2, columns] + ranked[(last + 1) // 2, columns]) / 2
    centre[count == 0] = 0.0
    low, high = (ranked[np.rint(share * last).astype(np.intp), columns] for share in (0.1, 0.9))
    with np.errstate(invalid="ignore"):
        # 2.563 standard deviations lie between the deciles of a Gaussian.
        wide = np.fmax((high - low) / 2.563 * (1 + 1 / np.maximum(count, 1)), FLOOR)
    values = np.where(kept, values - centre, 0.0)
    rough = np.abs(values).max(axis=0) > _OUTLIER * wide
    half = wide * np.where(rough, _NARROW, _BOUND)

    total, pairs = np.maximum(count, 2), kept[1:]
    bounded = np.clip(values, -half, half)
    bounded = np.where(kept, bounded - bounded.sum(axis=0) / total, 0.0)
    variance = np.maximum((bounded**2).sum(axis=0) / (total - 1), FLOOR**2)
    phi = _cautious((bounded[1:] * bounded[:-1]).sum(axis=0) / (total - 1) / variance, total)
    residual = np.where(pairs, bounded[1:] - phi * bounded[:-1], 0.0)
    bound = _BOUND * np.sqrt(np.maximum((residual**2).sum(axis=0) / total, FLOOR**2))
    residual = np.clip(residual, -bound, bound)
    residual = np.where(pairs, residual - residual.sum(axis=0) / total, 0.0)
    squares = residual**2
    spread = np.maximum(squares.sum(axis=0) / total, FLOOR**2)
    skew = (squares * residual).sum(axis=0) / total / spread**1.5
    # Shrunk by what a Gaussian's estimate, of variance 6 / n, may have by chance.
    chance = 6 / total
    skew *= np.maximum(0, 1 - chance / np.maximum(skew**2, chance))
    # Less what it exceeds 3 by in a Gaussian by chance, of variance 24 / n.
    kurtosis = (squares**2).sum(axis=0) / total / spread**2 - np.sqrt(24 / total)
    dof = 2 / np.maximum(kurtosis - 1, 2) * np.where(rough, _ROUGH, 1.0)
    return Noise(centre, half, phi, bound, skew, dof), count


def _cautious(phi: Floats, count: NDArray[np.intp]) -> Floats:
    """Return the correlation to reckon with when `phi` was estimated from `count` samples.

    One that is taken for too low makes false alarms, one that is too high late alarms.
    """
    # The estimate's bias: Kendall, Biometrika 41 (1954), 403-404.
    phi = np.asarray(phi + (1 + 3 * np.maximum(phi, 0)) / count, np.float64)
    error = np.sqrt(np.maximum(1 - phi**2, 0.05) / count)
    grown = np.clip((count - _YOUNG) / (_GROWN - _YOUNG), 0, 1)
    # A correlation that a series without one may show by chance counts in part.
    full = 1.5 + grown / 2
    part = np.clip((phi * np.sqrt(count) - _DOUBTED) / (full - _DOUBTED), 0, 1)
    cautious = part * np.minimum(phi + _MORE * error, 0.9)
    return np.asarray(np.maximum(cautious, _UNKNOWN * np.maximum(0, 1 - count / _YOUNG)))
