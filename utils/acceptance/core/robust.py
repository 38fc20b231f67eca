"""Middle and spread of samples that a few outliers do not move."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Of normal noise the standard deviation is this times the median absolute deviation:
#: 1 / Phi^-1(3/4).
MAD_TO_STD = 1.4826


def middle_and_spread(samples: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return median and spread (of normal noise its standard deviation) over the last axis."""
    values = np.asarray(samples, dtype=float)
    middle = np.median(values, axis=-1)
    return middle, MAD_TO_STD * np.median(np.abs(values - middle[..., None]), axis=-1)
