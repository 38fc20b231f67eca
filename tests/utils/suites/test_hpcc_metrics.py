"""`suites/hpcc.py` against recorded runs and the paper whose ratios it computes."""

import csv

import pytest

from acceptance import references
from acceptance.core.paths import ROOT
from acceptance.core.words import UNITS, is_measured, split_metric
from acceptance.suites import hpcc
from acceptance.suites import hpcc_output as parse

MIB = 2**20
SAMPLE = "hpcc/hpccoutf.openmpi.txt"

#: Metric -> value and unit, copied by hand from the summary of the sample.
VALUES = {
    "G-HPL": (17.9497, "Gflop/s"),
    "G-PTRANS": (5.11517, "GB/s"),
    "G-RandomAccess": (0.0375927, "GUP/s"),
    "G-RandomAccess-LCG": (0.0200114, "GUP/s"),
    "EP-RandomAccess": (1.08868, "GUP/s"),
    "EP-RandomAccess-LCG": (1.31929, "GUP/s"),
    "Single-RandomAccess": (1.06913, "GUP/s"),
    "Single-RandomAccess-LCG": (1.42035, "GUP/s"),
    "EP-STREAM-Copy": (106.169, "GB/s"),
    "EP-STREAM-Scale": (93.6918, "GB/s"),
    "EP-STREAM-Add": (92.6051, "GB/s"),
    "EP-STREAM-Triad": (91.6482, "GB/s"),
    "Single-STREAM-Copy": (114.277, "GB/s"),
    "Single-STREAM-Scale": (108.37, "GB/s"),
    "Single-STREAM-Add": (105.632, "GB/s"),
    "Single-STREAM-Triad": (105.385, "GB/s"),
    "G-FFTE": (8.51256, "Gflop/s"),
    "EP-FFTE": (10.7151, "Gflop/s"),
    "Single-FFTE": (10.7144, "Gflop/s"),
    "EP-DGEMM": (30.7955, "Gflop/s"),
    "Single-DGEMM": (52.5438, "Gflop/s"),
    # From the sections.
    "EP-RandomAccess-min": (1.085088, "GUP/s"),
    "EP-RandomAccess-LCG-min": (1.318688, "GUP/s"),
    "EP-FFTE-min": (10.277315, "Gflop/s"),
    "EP-DGEMM-min": (12.49657, "Gflop/s"),
    "PingPong-latency-min": (0.1009, "us"),
    "PingPong-latency-avg": (0.101654, "us"),
    "PingPong-latency-max": (0.102408, "us"),
    "PingPong-bandwidth-min": (11.2657, "GB/s"),
    "PingPong-bandwidth-avg": (12.1945, "GB/s"),
    "PingPong-bandwidth-max": (13.1232, "GB/s"),
    "NaturalRing-latency": (0.0900306, "us"),
    "RandomRing-latency": (0.0896432, "us"),
    "NaturalRing-bandwidth": (13.1951, "GB/s"),
    "RandomRing-bandwidth": (12.4825, "GB/s"),
    # Two processes; by hand, for example 2 x 12.4825 GB/s / 17.9497 Gflop/s = 1.39083 B/flop.
    "RandomRing-bandwidth/G-HPL": (1390.831, "B/kflop"),
    "EP-STREAM-Copy/G-HPL": (11.82961, "B/flop"),
    "EP-DGEMM/G-HPL": (3.431311, "1"),
    "G-FFTE/G-HPL": (0.4742453, "1"),
    "G-PTRANS/G-HPL": (0.2849724, "B/flop"),
    "G-RandomAccess/G-HPL": (0.002094336, "update/flop"),
    "1/RandomRing-latency": (11.15534, "1/us"),
}
EP_STREAM = {name for name in VALUES if name.startswith("EP-STREAM-")}
SINGLE_STREAM = {name for name in VALUES if name.startswith("Single-STREAM-")}
#: What the size of the matrix does not change.
FIXED = {
    *(f"PingPong-{what}-{bound}" for what in ("latency", "bandwidth") for bound in ("min", "avg")),
    *("PingPong-latency-max", "PingPong-bandwidth-max"),
    *("NaturalRing-latency", "NaturalRing-bandwidth"),
    *("RandomRing-latency", "RandomRing-bandwidth", "1/RandomRing-latency"),
}


@pytest.fixture
def summary(recorded):
    return parse.parse(recorded(SAMPLE)).summary


def in_cache(name):
    over, slash, under = name.partition("/")
    return f"{over}-in-cache{slash}{under}"


def test_values_of_the_sample(summary):
    found = hpcc.values(summary, 2, ep_in_cache=False, single_in_cache=False)
    assert list(found) == [*hpcc.METRICS, *hpcc.RATIOS]
    assert set(found) == set(VALUES)
    for name, (value, unit) in VALUES.items():
        assert found[name] == (pytest.approx(value, rel=1e-6), unit), name
        assert is_measured(found[name][0])


def test_what_is_summed_grows_with_the_processes(summary):
    one, four = (hpcc.values(summary, n, ep_in_cache=False, single_in_cache=False) for n in (1, 4))
    grown = {name for name in one if four[name] != one[name]}
    assert grown == {f"{m}/G-HPL" for m in ("RandomRing-bandwidth", "EP-STREAM-Copy", "EP-DGEMM")}
    for name in grown:
        assert four[name][0] == pytest.approx(4 * one[name][0])


def test_the_efficiency_needs_a_peak(summary):
    found = hpcc.values(summary, 2, ep_in_cache=False, single_in_cache=False, peak=40.0)
    # 17.9497 Gflop/s of the sample.
    assert found[hpcc.EFFICIENCY] == (pytest.approx(100 * 17.9497 / 40, rel=1e-6), "%")


@pytest.mark.parametrize("ep", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_stream_in_the_cache_has_names_of_its_own(summary, ep, single):
    found = hpcc.values(summary, 2, ep_in_cache=ep, single_in_cache=single)
    renamed = (EP_STREAM if ep else set()) | (SINGLE_STREAM if single else set())
    expected = {in_cache(name) if name in renamed else name for name in VALUES}
    assert set(found) == expected
    for name in renamed:
        assert found[in_cache(name)][0] == pytest.approx(VALUES[name][0], rel=1e-6)
        assert name not in found


def test_stream_in_the_cache_is_named_as_agreed():
    assert {"EP-STREAM-Copy-in-cache", "EP-STREAM-Copy-in-cache/G-HPL"} <= set(hpcc.BENCHMARK.stems)
    assert "Single-STREAM-Triad-in-cache" in hpcc.BENCHMARK.stems


def test_the_caller_must_tell_where_the_arrays_lie(summary):
    with pytest.raises(TypeError):
        hpcc.values(summary, 2)


def test_a_summary_without_a_result_is_refused(summary):
    with pytest.raises(KeyError, match="PTRANS_GBs"):
        hpcc.values(
            {key: value for key, value in summary.items() if key != "PTRANS_GBs"},
            2,
            ep_in_cache=False,
            single_in_cache=False,
        )


def test_stems_are_all_names_once():
    names = hpcc.BENCHMARK.stems
    assert len(names) == len(set(names))
    assert set(names) == {
        *VALUES,
        *map(in_cache, EP_STREAM | SINGLE_STREAM),
        hpcc.EFFICIENCY,
    }


def test_no_name_looks_like_one_with_a_message_size():
    assert all(split_metric(name) == (name, None) for name in hpcc.BENCHMARK.stems)


def test_every_unit_is_known():
    units = {row.unit for row in (*hpcc.METRICS.values(), *hpcc.RATIOS.values())}
    assert units <= set(UNITS)


def test_metrics_are_all_results_of_hpcc():
    results = [key for keys in parse.TESTS.values() for key in keys]
    assert sorted(metric.name for metric in hpcc.METRICS.values()) == sorted(results)


def test_a_ratio_is_named_after_what_it_divides():
    for name in hpcc.RATIOS:
        over, under = name.split("/")
        assert {over, under} <= {"1", *hpcc.METRICS}
        assert under != "1"


def test_the_size_of_the_matrix_matters_to_all_but_the_network():
    found = {name for name in hpcc.BENCHMARK.stems if not hpcc.depends_on_size(name)}
    assert found == FIXED


@pytest.mark.parametrize(
    ("vector", "processes", "cache", "memory"),
    [
        # 4 x 32 MiB are 16 Mi doubles: in one process, or in all of a node together.
        (16 * MIB, 1, 32 * MIB, True),
        (16 * MIB - 1, 1, 32 * MIB, False),
        (8 * MIB, 2, 32 * MIB, True),
        (8 * MIB - 1, 2, 32 * MIB, False),
        (8 * MIB, 1, 32 * MIB, False),
        (128 * 1024, 128, 32 * MIB, True),
        # The sample: 1.3 MB in an array, two of them, against 32 MiB.
        (166666, 2, 32 * MIB, False),
        # A million elements, whatever the cache.
        (10**6, 1, 256 * 1024, True),
        (10**6 - 1, 1, 256 * 1024, False),
        (500_000, 2, 1, True),
    ],
)
def test_arrays_are_in_memory_by_the_rule_of_stream(vector, processes, cache, memory):
    assert hpcc.in_memory(vector, processes, cache) is memory


@pytest.mark.parametrize(
    ("vector", "processes", "cache"), [(0, 1, 1), (10**9, 0, 1), (10**9, 2, 0), (-1, 2, 1)]
)
def test_an_unknown_cache_is_refused(vector, processes, cache):
    with pytest.raises(ValueError, match="all must be at least 1"):
        hpcc.in_memory(vector, processes, cache)


@pytest.mark.parametrize("paper", ["saini2006", "kandadai2009"])
def test_published_values_have_these_names_and_units(paper):
    with (ROOT / f"reference/{paper}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["benchmark"] == "hpcc"]
    units = {name: entry.unit for name, entry in {**hpcc.METRICS, **hpcc.RATIOS}.items()}
    assert rows
    for row in rows:
        assert units[row["metric"]] == row["unit"]


def test_a_range_that_a_paper_states_judges_from_its_worse_side():
    """Section 4.1.1: the Cray Opteron is between 0.84 and 1.07."""
    library = references.load(ROOT / "reference")
    found = library.look_up(
        *("saini2006", "cray-opteron", "hpcc", "EP-STREAM-Copy/G-HPL"),
        {"np": "64", "nodes": "32", "order": "50000"},
        "B/flop",
    )
    assert (found.relation, found.value) == (">=", 0.84)


def test_ratios_are_those_of_the_paper():
    """Table 2 prints 0.094 B/F for what Section 4.1.1 prints as 93.81 B/KFlop."""
    summary = {metric.name: 1.0 for metric in hpcc.METRICS.values()}
    # 440 processes of 1 GB/s each, and as many Gflop/s as make 93.81 bytes in 1000 of them.
    summary |= {"HPL_Tflops": 440 / 0.09381 / 1000, "RandomlyOrderedRingLatency_usec": 5.08}
    found = hpcc.values(summary, 440, ep_in_cache=False, single_in_cache=False)
    assert found["RandomRing-bandwidth/G-HPL"] == (pytest.approx(93.81), "B/kflop")
    assert found["EP-STREAM-Copy/G-HPL"] == (pytest.approx(0.09381), "B/flop")
    assert found["1/RandomRing-latency"] == (pytest.approx(0.197, abs=5e-4), "1/us")
