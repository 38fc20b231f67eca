"""`rows.py`: what a row judges of made cases, and why it judges nothing."""

import pytest

from acceptance.references import load
from acceptance.suites import Benchmark, Column, registry
from tests.reference_coverage.listing import ListedCase
from tests.reference_coverage.rows import Why, cover_rows
from tests.utils.references.made import PEAK, add, make


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = Benchmark("stream", (Column("throughput", "throughput", "Mbit/s"),))
    monkeypatch.setitem(registry._BENCHMARKS, "made.stream", made)
    return make(tmp_path)


def case(folder, judged=(), **other):
    """Return a case of PingPong between the two processes of koop:qdr."""
    place = {name: (str(folder / "koop.csv"), line) for name, line in judged}
    return ListedCase(
        **{
            "name": "Made",
            "system": "koop",
            "partition": "qdr",
            "environment": "made",
            "benchmark": "imb.PingPong",
            "modes": ("nightly", "acceptance"),
            "keys": {"np": "2", "nodes": "2", "placement": "inter-node"},
            "metrics": {"latency_0": "us", "latency_8": "us", "bandwidth_peak": "MB/s"},
            "judged": place,
            **other,
        }
    )


def reason(folder, row, **other):
    """Return why the last row of a paper judges nothing, beside a case that it could."""
    add(folder, row)
    library = load(folder)
    covered = cover_rows(library.values, library, [case(folder, **other)])
    (found,) = [each for each in covered if each.row.line == 4 and each.row.origin == "koop"]
    assert not found.judged
    return found.why, found.detail


def test_a_row_has_the_cases_that_it_judges_with_their_metrics_and_modes(folder):
    library = load(folder)
    judged = case(folder, [("latency_0", 2), ("bandwidth_peak", 3)])
    latency, peak, hpl = cover_rows(library.values, library, [judged])
    assert [each.metrics for each in latency.judged] == [("latency_0",)]
    assert (latency.modes, latency.check) == (("nightly", "acceptance"), "checks/imb.py")
    assert [each.metrics for each in peak.judged] == [("bandwidth_peak",)]
    assert (hpl.judged, hpl.why) == ((), Why.PARTITION)


@pytest.mark.parametrize(
    ("changes", "why", "words"),
    [
        (
            {"imb.PingPong,bandwidth_peak": "made.stream,throughput", "MB/s": "Mbit/s"},
            Why.PROGRAM,
            "no check runs made.stream",
        ),
        ({"np=2": "sizes=large"}, Why.WORDS, "a word"),
        ({"np=2": "distance=1"}, Why.KEY, "no case has the key distance"),
        ({"np=2": "np=576"}, Why.KEY, "np=576 is not run, but 2"),
        ({"bandwidth_peak,np=2": "latency,np=2", "MB/s": "us"}, Why.KEY, "no message size"),
        ({"qdr": "ddr", "np=2": ""}, Why.CASE, "no case of imb.PingPong runs on koop:ddr"),
        ({"np=2": "nodes=2", "=,1000": "<=,1000"}, Why.BOUND, "nothing is worse"),
        ({"np=2": "nodes=2", "=,1000": "~,1000"}, Why.STRICTER, "line 3 judges the same results"),
    ],
)
def test_a_row_that_judges_nothing_says_why(folder, changes, why, words):
    row = PEAK
    for old, new in changes.items():
        row = row.replace(old, new)
    found, detail = reason(folder, row, judged=[("bandwidth_peak", 3)])
    assert found is why
    assert words in detail


def test_a_case_that_could_not_be_cut_says_what_is_missing(folder):
    fault = "koop:qdr does not say how much memory a node has"
    lacking = {"metrics": {}, "keys": {}, "fault": fault}
    assert reason(folder, PEAK.replace("np=2", "np=4"), **lacking) == (Why.CASE, fault)


def test_a_baseline_of_a_metric_that_its_benchmark_lacks_says_so(folder):
    row = PEAK.replace("koop", "mine").replace("bandwidth_peak", "bandwidth_top")
    add(folder, row, name="sites/mine.csv")
    library = load(folder)
    _, covered = cover_rows(library.baselines, library, [])
    assert (covered.why, covered.detail) == (
        Why.METRIC,
        "imb.PingPong has no metric bandwidth_top",
    )


def test_a_row_judges_the_model_of_its_system_where_the_model_can_say_it(folder):
    library = load(folder)
    judged = case(folder, [("latency_0", 2), ("bandwidth_peak", 3)])
    latency, peak, _ = cover_rows(library.values, library, [judged], {"koop"})
    assert (latency.simulated, peak.simulated) == (False, True)
    assert not any(each.simulated for each in cover_rows(library.values, library, [judged]))
