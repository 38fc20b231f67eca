"""Series as matrices of samples, scanned for changes many at once."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from acceptance.detection import changepoint
from acceptance.detection.common_mode import Floats
from acceptance.detection.constants import BATCH, SMALLEST, SMALLEST_SEEN
from acceptance.regressions.history.series import Series
from acceptance.regressions.node_sets import make_comparable


def scan_series(series: Sequence[Series], level: float) -> list[changepoint.Scan]:
    """Scan series for changes, as if on the same nodes; those of similar lengths together."""
    make_comparable(series)
    found: dict[int, changepoint.Scan] = {}
    for batch in batches(series):
        samples = matrix([series[number] for number in batch])
        higher = np.array([series[number].direction != "lower" for number in batch])
        scans = changepoint.scan(samples, higher, level, SMALLEST_SEEN)
        found.update(zip(batch, map(_large, scans), strict=True))
    return [found[number] for number in range(len(series))]


def _large(scan: changepoint.Scan) -> changepoint.Scan:
    """Leave out the changes that are too small to be of interest."""
    changes = tuple(
        one for one in scan.changes if abs(math.log(one.after / one.before)) >= math.log1p(SMALLEST)
    )
    return replace(scan, changes=changes)


def batches(series: Sequence[Series]) -> Iterator[list[int]]:
    """Yield the numbers of series in batches that are no more than `BATCH` samples large."""
    batch: list[int] = []
    for number in sorted(range(len(series)), key=lambda number: len(series[number].values)):
        # The last one of a batch is the longest.
        if batch and (len(batch) + 1) * len(series[number].values) > BATCH:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def matrix(series: Sequence[Series]) -> Floats:
    """Return the samples of series, shape (longest, number), NaN after the end of shorter ones."""
    longest = max(len(one.values) for one in series)
    samples = np.full((longest, len(series)), np.nan)
    for column, one in enumerate(series):
        samples[: len(one.values), column] = one.compared
    return samples
