"""How much evidence a change needs among so many series.

The whole site is watched for about one false alarm a year. A threshold of `changepoint` is the
natural logarithm of the mean number of samples between two false alarms of one series; its default
serves `SERIES` series that are sampled every night. With m of them the union would raise m / SERIES
times as many, so ln(m / SERIES) is added. m is rounded up to a power of two.
"""

import math

from acceptance.detection.constants import DEFAULT_THRESHOLD, SERIES


def threshold(count: int) -> float:
    """Return the evidence that a change needs among so many series."""
    rounded = 2 ** math.ceil(math.log2(max(count, 1)))
    return float(DEFAULT_THRESHOLD) + max(0.0, math.log(rounded / SERIES))
