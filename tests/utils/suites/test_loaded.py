"""What `patterns loaded` writes: read whole, and refused where it is not consistent."""

import numpy as np
import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import loaded
from acceptance.suites.loaded import WINDOWS, Measured
from tests import made_loaded

TEXT = made_loaded.text(nodes=6, cycles=2, count=3, names=["a", "a", "b", "c", "d", "e"])


def test_a_whole_output_is_read():
    measured = Measured(f"said before\n{TEXT}said after\n", ranks=6)
    assert measured.nodes == ("a", "a#1", "b", "c", "d", "e")
    assert (measured.victims, measured.aggressors) == ((0, 2, 4), (1, 3, 5))
    assert {*measured.histograms} == {(w, q) for w in WINDOWS for q in loaded.QUANTITIES}
    # Three times in each half of two cycles, of which two of three victims have a partner.
    assert measured.histograms["get", "latency"].counts.sum() == 3 * 2 * 2 * 2
    assert np.nanmax(measured.means("exchange", "incast")) == 20
    assert measured.load_rate("get") == 1000


def test_of_an_odd_ring_one_is_idle_in_each_half():
    measured = Measured(TEXT)
    assert [measured.pairs((4, 0, 2), half) for half in (0, 1)] == [[(4, 0)], [(0, 2)]]
    halves = [measured.pairs((4, 0, 2, 5), half) for half in (0, 1)]
    assert halves == [[(4, 0), (2, 5)], [(0, 2), (5, 4)]]
    means = measured.means("latency", "incast")
    assert means.shape == (2, 2, 3)
    assert np.isnan(means).sum(axis=(1, 2)).tolist() == [2, 2]
    assert np.isfinite(measured.means("allreduce", "incast")).all()


def test_a_bin_is_as_wide_as_a_64th_of_its_power_of_two():
    bins = np.arange(36 * 64)
    low, high = loaded.edges(bins)
    assert (low[1:] == high[:-1]).all()
    assert ((high - low)[128:] / high[128:] <= 1 / 64).all()
    for ns in (0, 1, 63, 64, 127, 128, 129, 255, 256, 2500, 10**6, 10**9):
        number = made_loaded.bin_of(ns / 1000)
        assert low[number] <= ns / 1000 < high[number]


def test_names_of_metrics():
    assert loaded.metric("latency", "P99", "incast") == "latency_p99.pattern.incast_8"
    assert loaded.metric("exchange", "P99.9", "isolated") == "bandwidth_p01.pattern.isolated_131072"
    name = loaded.metric("allreduce", "mean", "nothing", factor=True)
    assert name == "allreduce_factor.pattern.nothing_8"


LINES = TEXT.splitlines(keepends=True)
SIX = f'"allreduce_us":[{",".join(["6.0"] * 6)}]'
FAULTS = [
    ("the output is empty", TEXT, ""),
    ("no output of patterns", LINES[0], ""),
    ("without its end", LINES[-1], ""),
    ("middle of a line", LINES[-1], LINES[-1][:-4]),
    ("options in the place of plan", LINES[2], LINES[1]),
    ("window in the place of ring", LINES[4], ""),
    ("ran with 6 ranks instead of 8", "", ""),
    ("messages of 4096 bytes instead of 131072", '"bytes":131072', '"bytes":4096'),
    ("ran the pattern aapc", '"pattern":"loaded"', '"pattern":"aapc"'),
    ("6 nodes of 2 are not 6 ranks", '"ranks":1', '"ranks":2'),
    ("no two victims or more", '"victims":[0,2,4]', '"victims":[0]'),
    ("7 is none of 6 nodes", '"victims":[0,2,4]', '"victims":[0,2,7]'),
    ("loads isolated, nothing instead", '"loads":["isolated","nothing","incast","alltoall","get"]',
     '"loads":["isolated","nothing"]'),
    ("no ring of all ranks", '"cycle":1,"ranks":[', '"cycle":1,"ranks":[0,'),
    ("no window 2 of cycle 1: nothing", '"load":"nothing"', '"load":"isolated"'),
    ("not a value of each of 3 victims", SIX, SIX.replace('6.0,', '', 1)),
    ("an exponent", SIX, SIX.replace('6.0', '6e0', 1)),
    ("a load that moved nothing", '"load_MBps":1000', '"load_MBps":0'),
    ("the load ended after 0.6 s", '"cut":0,"load_MBps":1000', '"cut":1,"load_MBps":1000'),
    ("malformed|Expected", SIX, SIX.replace('6.0', '0', 1)),
    ("malformed|Expected", SIX, SIX.replace('6.0', 'NaN', 1)),
    ("not a count for each bin", '"counts":[6]', '"counts":[6,1]'),
    ("5 times in the bins instead of 6", '"counts":[6]', '"counts":[5]'),
    ("is not that of these bins", '"sum_us":12', '"sum_us":13'),
    ("a mean of 6 us, and windows with 7 to 7", SIX, SIX.replace('6.0', '7')),
    ("times that were there before", '"times","load":"nothing"', '"times","load":"isolated"'),
    ("unknown field", '"cut":0', '"cuts":0'),
    ("a second output begins", LINES[5], LINES[0]),
    ("1.1; 1.0 is read", '"version":"1.0"', '"version":"1.1"'),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "old", "new"), FAULTS, ids=[row[0] for row in FAULTS])
def test_what_is_not_consistent_is_refused(fault, old, new):
    assert old in TEXT
    text = TEXT.replace(old, new, -1 if new == SIX.replace("6.0", "7") else 1)
    with pytest.raises(ParseError, match=fault):
        Measured(text, ranks=6 if old else 8, size=131072)


SHORT = made_loaded.text(nodes=4, cycles=2, count=2).splitlines(keepends=True)


@pytest.mark.parametrize("number", range(len(SHORT)))
def test_an_output_without_one_of_its_lines_or_that_ends_before_it_is_refused(number):
    for lines in ([*SHORT[:number], *SHORT[number + 1 :]], SHORT[:number]):
        with pytest.raises(ParseError):
            Measured("".join(lines), ranks=4)


def test_a_run_without_the_last_load_is_whole():
    measured = Measured(made_loaded.text(nodes=4, cycles=1, count=2, loads=WINDOWS[:-1]))
    assert measured.loads == WINDOWS[:-1]
    assert ("get", "latency") not in measured.histograms
