"""What the model of a simulated system cannot say: the reason, by benchmark, metric and keys."""

import pytest

from acceptance.references import beyond, is_input, judged_as_published, load
from tests.places import ROOT

PAIR = {"np": "2", "nodes": "2", "placement": "inter-node"}


@pytest.mark.parametrize(
    ("benchmark", "metric", "keys", "reason"),
    [
        ("osu.bw", "bandwidth_peak", PAIR, None),
        ("osu.bibw", "bandwidth_peak", PAIR, None),
        ("imb.Exchange", "bandwidth_peak", PAIR, None),
        ("osu.latency", "latency", {**PAIR, "message_size": "8"}, None),
        ("osu.bw", "bandwidth", {**PAIR, "message_size": "1048576"}, None),
        ("osu.bw", "bandwidth", {**PAIR, "message_size": "2048"}, "message rate"),
        ("osu.bw", "bandwidth", {**PAIR, "sizes": "all"}, "message rate"),
        ("osu.mbw_mr", "message_rate", {**PAIR, "pairs": "1"}, "message rate"),
        ("osu.mbw_mr", "bandwidth_peak", {"np": "8", "pairs": "4"}, "several pairs at once"),
        ("osu.multi_lat", "latency", {"pairs": "1..4"}, "several pairs at once"),
        ("osu.latency", "latency", {**PAIR, "nodes": "1"}, "inside a node"),
        ("osu.bw", "bandwidth_peak", {"np": "2", "placement": "inter-socket"}, "inside a node"),
        ("cbr.bw", "ratio", {}, "inside a node"),
        ("osu.alltoall", "time", {"np": "8"}, "collective operation"),
        ("imb", "", {}, "collective operation"),
        ("npb.is", "time", {"np": "16", "intranode": "loopback"}, "computation"),
        ("hpcc", "RandomRing-bandwidth", {}, "several pairs at once"),
        ("hpcc", "EP-STREAM-Triad", {}, "memory"),
    ],
)
def test_each_kind_of_metric_that_the_model_lacks_has_its_reason(benchmark, metric, keys, reason):
    assert beyond(benchmark, metric, keys) == reason


def test_of_published_rows_only_peaks_between_two_nodes_judge_a_model():
    rows = [
        row
        for row in load(ROOT / "reference").values
        if judged_as_published(row.benchmark, row.metric, row.parameters)
    ]
    assert {row.metric for row in rows} == {"bandwidth_peak"}
    of_koop = [row for row in rows if row.system == "koop2008"]
    assert {row.benchmark for row in of_koop} == {"osu.bw", "osu.bibw"}
    assert {row.value for row in of_koop if row.relation == "="} == {
        *(1301.0, 2551.0, 1942.0, 3873.0, 2575.0, 5023.0),
    }


def test_no_other_metric_than_a_peak_is_judged_as_published():
    large = {**PAIR, "message_size": "4194304"}
    assert beyond("osu.bw", "bandwidth", large) is None
    assert not judged_as_published("osu.bw", "bandwidth", large)
    assert judged_as_published("osu.bw", "bandwidth_peak", PAIR)


def test_small_latencies_are_an_input_of_the_model():
    assert is_input("latency", {"sizes": "small"})
    assert is_input("latency", {"message_size": "1..63"})
    assert not is_input("latency", {"message_size": "256.."})
    assert not is_input("latency", {})
    assert not is_input("bandwidth_peak", {"message_size": "8"})
