"""`regressions/judge.py`: series that are alone on their partitions wait for no other one."""

import numpy as np
import pytest

from acceptance.detection.constants import SMALLEST_SEEN
from acceptance.regressions.families import threshold
from tests.bench import alone
from tests.scanned import scan

#: Nights, and the one from which on half of the partitions are slower.
NIGHTS, BAD = 40, 30


@pytest.fixture(scope="module")
def values():
    made = alone.healthy(0.02, 1)[:NIGHTS]
    made[BAD:, ::2] *= 1.3
    return made


@pytest.mark.parametrize("apart", [False, True])
def test_only_the_number_of_series_counts(values, apart):
    lower = np.zeros(alone.PARTITIONS, np.bool_)
    by_itself, _ = scan(values, lower, threshold(alone.PARTITIONS), SMALLEST_SEEN)
    found = alone.changes(values, apart=apart)
    assert found == [list(one.changes) for one in by_itself]
    assert all(some and some[0].worse for some in found[::2])
    assert not any(found[1::2])
