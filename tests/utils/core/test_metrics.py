"""`core/words.py`: names of metrics."""

import pytest

from acceptance.core.words import sized, split_metric


def test_a_size_is_appended_in_bytes():
    assert sized("bandwidth", 1024) == "bandwidth_1024"


@pytest.mark.parametrize("stem", ["latency", "bandwidth_peak", "message_rate", "G-FFTE", "t_2"])
@pytest.mark.parametrize("size", [0, 1, 4194304])
def test_a_sized_name_splits_into_its_parts(stem, size):
    assert split_metric(sized(stem, size)) == (stem, size)


@pytest.mark.parametrize(
    "name",
    ["time", "bandwidth_peak", "RandomRing-bandwidth/G-HPL", "cpus_per_node", "rate_1k", "_5", "5"],
)
def test_a_name_without_size_stays_whole(name):
    assert split_metric(name) == (name, None)
