"""Findings of cases: ids that stay the same, what failed them, and what they observed."""

import json

import pytest
from msgspec.structs import replace

from acceptance.core.findings import Finding, merged, observations
from acceptance.core.kinds import OF_LINKS
from acceptance.fabric.counters import ERRORS
from acceptance.fabric.node import deviation
from acceptance.ledger import Case, Metric
from acceptance.machine import without_case
from acceptance.references import outside
from acceptance.verdict.cases import of_case
from acceptance.verdict.model import CaseResult, Verdict


def case(reason="", result="fail", metrics=(), **more):
    fields = {
        "name": "OsuMpi %benchmark=bw %np=2",
        "system": "made",
        "partition": "qdr",
        "environment": "first",
        "filename": "/checks/osu.py",
        "suite": "osu",
        "run_index": 0,
        "result": result,
        "fail_phase": "performance" if result == "fail" else "",
        "fail_reason": reason,
        "nodes": ("node1", "node2"),
        "fixture": False,
        "benchmark": "osu.bw",
        "keys": {"np": "2", "nodes": "2", "placement": "inter-node"},
        "declared": {},
        "provenance": {},
        "findings": (),
        "metrics": tuple(metrics),
    }
    return Case(**{**fields, **more})


def metric(name, value, judged_by, reference=100.0, lower=-0.1, upper=None, unit="MB/s"):
    return Metric(name, value, unit, reference, lower, upper, judged_by, False)


# Links

DEVIATIONS = [
    deviation("n1", "mlx5_0/1", "", "10 Gb/sec (4X SDR)", "40 Gb/sec (4X QDR)", "link-rate"),
    deviation("n1", "mlx5_0/1", "", "no rate", "40 Gb/sec (4X QDR)", "link-rate"),
    deviation("n1", "mlx5_0/1", "", "DOWN (Disabled)", "ACTIVE (LinkUp)", "link-state"),
    deviation(
        "n1", "mlx5_0/1", "", "no state (physical state not known)", "ACTIVE (LinkUp)", "link-state"
    ),
    deviation(
        "n1", "mlx5_0/1", "", "link layer Ethernet", "link layer InfiniBand", "link-state"
    ),
    deviation("n1", "eth2", "", "down", "10000 Mb/s full", "link-state"),
    deviation("n1", "eth2", "", "no state", "full duplex", "link-state"),
    deviation("n1", "", "", "no InfiniBand adapter", "40 Gb/sec (4X QDR)", "link-missing"),
    deviation("n1", "", "", "no InfiniBand port", "an active port", "link-missing"),
    deviation("n1", "eth9", "", "no such interface", "10000 Mb/s full", "link-missing"),
    deviation("n1", "", "", "no Ethernet adapter", "full duplex", "link-missing"),
    deviation("n1", "mlx5_0", "PCIe", "2.5 GT/s x8 (1.1)", "5 GT/s x8 (2.0)", "pcie-speed"),
    deviation("n1", "mlx5_0", "PCIe", "2.5 GT/s x4 (1.1)", "5 GT/s x8 (2.0)", "pcie-speed"),
    deviation("n1", "mlx5_0", "PCIe", "5 GT/s x4 (2.0)", "5 GT/s x8 (2.0)", "pcie-width"),
    deviation("n1", "mlx5_0", "PCIe", "5 GT/s x4 (2.0)", "x8", "pcie-width"),
    deviation("n1", "eth2", "", "1000 Mb/s full", "10000 Mb/s full", "eth-speed"),
    deviation("n1", "eth2", "", "unknown speed full", "10000 Mb/s full", "eth-speed"),
    deviation("n1", "eth2", "", "10000 Mb/s half", "10000 Mb/s full", "eth-duplex"),
    deviation("n1", "eth2", "", "1000 Mb/s unknown duplex", "full duplex", "eth-duplex"),
    deviation("n1", "eth2", "MTU", "1500", "9000", "mtu"),
    deviation("n1", "eth2", "MTU", "not known", "9000", "mtu"),
    deviation("n1", "mlx5_0/1", "symbol_error", "7 more (0 to 7)", "no more", "link-errors"),
    deviation(
        "n1", "mlx5_0/1", "symbol_error", "stands at 65535, where it stops counting",
        "a counter with room", "link-errors",
    ),
    deviation(
        "n1", "eth2", "counters", "went back (rx_errors 5 to 0): reset in between",
        "counters that only grow", "link-reset",
    ),
    deviation("n1", "eth2", "rx_errors", "is no longer told", "a number", "link-missing"),
    deviation("n1", "eth2", "", "has vanished", "what was there before", "link-missing"),
    deviation(
        "n1", "", "", "the later reading is of n2", "a reading of the same node", "link-missing"
    ),
    deviation(
        "n1", "mlx5_0/1", "", "/sys/class/infiniband/mlx5_0/ports/1/rate cannot be read",
        "a file that can be read", "link-unreadable",
    ),
    deviation(
        "n1", "mlx5_0/1", "", "link layer InfiniBand", "link layer Ethernet", "link-state"
    ),
    deviation("n1", "mlx5_0/1", "", "40 Gb/sec (4X QDR)", "100 Gb/sec", "link-rate"),
    deviation("n1", "", "GPUs", "3 of cuda", "4", "gpu-missing"),
    deviation("n1", "eth3", "", "carried nothing (down)", "that 2 rails carry it", "rail-down"),
    deviation("n1", "eth3", "", "carried nothing", "that 2 rails carry it", "rail-idle"),
    deviation("n1", "eth3", "share", "70 % of the bytes", "50 %", "rail-uneven"),
    deviation("n1", "eth3", "share", "70 %", "50 % as before", "rail-moved"),
    deviation("n1", "bnxt_re0/1", "", "no counters", "counters of errors", "link-uncounted"),
    deviation("n1", "mlx5_1/1", "", "rank 0 sends over it", "mlx5_0/1", "adapter-other"),
]  # fmt: skip


@pytest.mark.parametrize("seen", DEVIATIONS, ids=lambda each: each.text)
def test_a_deviation_is_stored_with_its_case_and_read_back(seen):
    where = " ".join(filter(None, (seen.node, seen.device, seen.what)))
    assert seen.text == f"{where}: {seen.found}, expected {seen.expected}"
    stored = json.loads(json.dumps([seen.as_data()]))
    assert all(isinstance(text, str) for text in stored[0].values())
    assert observations(stored) == (seen,)
    failing = replace(seen, fails=True)
    assert observations([failing.as_data()]) == (failing,)


def test_what_is_no_list_of_observations_has_none():
    assert observations("<undefined>") == observations(None) == observations(["a line"]) == ()


def test_every_kind_of_deviation_is_tried_here():
    kinds = {*OF_LINKS} - {"link-failed", "link-counters"}
    assert kinds == {one.kind for one in DEVIATIONS}
    assert "symbol_error" in ERRORS


@pytest.mark.parametrize("seen", DEVIATIONS, ids=lambda each: each.text)
def test_a_deviation_is_a_finding_of_its_node(seen):
    (found,) = of_case(case(result="pass", findings=(seen,)))
    assert found.kind == seen.kind
    assert found.nodes == ("n1",)
    assert (found.found, found.expected) == (seen.found, seen.expected)
    assert "n1" in found.id.split(":")
    assert seen.device in found.id
    assert " " not in found.id
    # What it says is what differs from night to night; the id does not.
    assert "7" not in found.id


def test_a_remedy_names_the_device():
    (down,) = (one for one in DEVIATIONS if one.found == "1000 Mb/s full")
    (found,) = of_case(case(result="pass", findings=(down,)))
    assert "ethtool eth2" in found.remedy


def test_a_case_of_the_link_check_gives_a_finding_for_each_deviation():
    seen = [replace(DEVIATIONS[n], fails=True) for n in (0, 13)]
    reason = f"performance error: {'; '.join(each.text for each in seen)}"
    found = of_case(case(reason, suite="fabric", benchmark="fabric.link", findings=tuple(seen)))
    assert [one.id for one in found] == [
        "LINK-RATE:n1:mlx5_0/1",
        "PCIE-WIDTH:n1:mlx5_0",
    ]


def test_what_a_passed_case_saw_of_its_links_is_told_once():
    seen = DEVIATIONS[21]
    found = [of_case(case(result="pass", findings=(seen,)))] * 2
    (finding,) = merged(one for several in found for one in several)
    assert (finding.kind, finding.severity) == ("link-errors", "minor")


# Cases

FAULTS = {
    "misplaced": "misplaced: asked for 1 ranks on each of 2 nodes, had 2",
    "implausible": "bandwidth_4 is 9 MB/s, infiniband QDR carries at most 3",
    "no-bytes": "only 400 bytes went over fast0 of node1",
    "link-failed": "n1 mlx5_0/1 link_downed: 3 more (0 to 3), expected no more",
    "time-limit": "the job 7 on node1 was CANCELLED DUE TO TIME LIMIT",
    "job-ended": "the job 7 on node1 was CANCELLED DUE TO NODE FAILURE",
    "not-started": "its job waited for 400 s and did not start",
    "of-a-later-release": "something new",
}


@pytest.mark.parametrize(("kind", "text"), FAULTS.items())
def test_the_kind_of_what_failed_a_case_is_that_of_its_finding(kind, text):
    link = (("n1",), "mlx5_0/1", "link_downed") if kind == "link-failed" else ()
    seen = Finding(kind, text, True, *link)
    # Whatever the words of the reason are: the kind counts.
    (found,) = of_case(case("performance error: job timed out", findings=(seen,)))
    assert (found.kind, found.text) == ("case-failed" if "later" in kind else kind, text)
    assert found.fails
    assert found.nodes == (("n1",) if link else ("node1", "node2"))
    # The same case that fails in other words is the same finding.
    other = replace(seen, text=text.replace("400", "500").replace("7", "8"))
    (again,) = of_case(case("performance error", findings=(other,)))
    assert again.id == found.id


def test_a_node_over_which_no_bytes_went_is_named():
    seen = Finding("no-bytes", FAULTS["no-bytes"], True, ("node1",))
    (found,) = of_case(case("performance error", findings=(seen,)))
    assert found.nodes == ("node1",)


def test_a_deviation_that_explains_a_failure_does_not_hide_its_metrics():
    own = [metric("bandwidth_8", 50.0, "limit of x")]
    seen = (DEVIATIONS[21],)
    found = of_case(case("performance error: x", metrics=own, findings=seen))
    assert [one.kind for one in found] == ["link-errors", "below-limit"]


REASONS = [
    ("job error: [jobid=7] job timed out", "time-limit"),
    (
        "job blocked error: [jobid=7] job cancelled because it was blocked due to reason: "
        "ReqNodeNotAvail, UnavailableNodes:node2",
        "job-blocked",
    ),
    (
        "job blocked error: [jobid=7] job cancelled because it was blocked due to reason: "
        "PartitionTimeLimit",
        "job-blocked",
    ),
    ("sanity error: exited with status 1: assertion failed", "case-failed"),
    ("", "case-failed"),
]


@pytest.mark.parametrize(("reason", "kind"), REASONS, ids=[kind for _, kind in REASONS])
def test_what_reframe_gave_up_a_job_for_is_the_kind_of_its_finding(reason, kind):
    (found,) = of_case(case(reason))
    assert found.kind == kind
    assert found.nodes == ("node1", "node2")
    # The same case that fails in other words is the same finding.
    (again,) = of_case(case(reason.replace("400", "500").replace("7", "8")))
    assert again.id == found.id


@pytest.mark.parametrize(
    ("judged_by", "code"),
    [
        ("baseline made, session of 2026-11-20", "BELOW-BASELINE"),
        ("published koop2008, Table 1", "BELOW-PUBLISHED"),
        ("limit of infiniband QDR 4x, 8 lanes", "BELOW-LIMIT"),
        ("a reference of the check", "BELOW-REFERENCE"),
    ],
)
def test_what_judged_a_metric_gives_its_kind(judged_by, code):
    own = [metric("bandwidth_8", 50.0, judged_by), metric("bandwidth_16", 20.0, judged_by)]
    (found,) = of_case(case("performance error: failed to meet reference", "fail", own))
    assert found.id == (f"{code}:made:qdr+first:osu.bw:np=2;placement=inter-node:bandwidth")
    assert found.text == "bandwidth_16 20 MB/s, and at 1 more size"
    assert found.expected == f">= 90 MB/s ({judged_by})"


def test_better_than_the_reference_allows_is_another_thing():
    one = metric("latency_8", 0.1, "baseline made", 1.0, -0.5, 0.1, "us")
    (found,) = of_case(case("performance error: x", "fail", [one]))
    assert (found.kind, found.row.severity) == ("above-reference", "minor")
    assert found.expected == ">= 0.5 and <= 1.1 us (baseline made)"


@pytest.mark.parametrize(
    ("value", "reference", "lower", "upper", "side"),
    [
        (89.9, 100.0, -0.1, None, -1),
        (90.0, 100.0, -0.1, None, 0),
        (1e9, 100.0, -0.1, None, 0),
        (110.1, 100.0, None, 0.1, 1),
        (-111.0, -100.0, -0.1, 0.1, -1),
        (0.2, 0.0, -0.1, 0.1, 1),
        (5.0, None, None, None, 0),
    ],
)
def test_a_value_lies_within_its_thresholds_or_outside(value, reference, lower, upper, side):
    assert outside(value, reference, lower, upper) == side


def test_a_build_that_failed_and_a_case_that_never_ran():
    (built,) = of_case(case("sanity error: no compiler", fixture=True))
    assert built.kind == "build-failed"
    left = [of_case(case(result="fail_deps", name=f"OsuMpi {n}", keys={}))[0] for n in "ab"]
    assert [one.id for one in left] == ["LEFT-OUT:made:qdr+first:osu"] * 2
    (aborted,) = of_case(case(result="abort"))
    assert (aborted.kind, aborted.text) == ("not-measured", "abort")
    assert of_case(case(result="pass")) == ()


# Verdicts


def test_a_problem_has_the_same_id_on_the_next_run():
    def of(number):
        verdict = Verdict(system="made")
        verdict.fail("fewer-cases", f"only {number} of 17 selected cases were run")
        (found,) = verdict.everything
        return found

    first, second = of(3), of(4)
    assert first.id == second.id == "FEWER-CASES"
    assert first.severity == "major"


def test_a_problem_of_a_kind_that_only_a_later_release_knows_is_told_too():
    later = Finding("of-a-later-release", "something is wrong", fails=True, place=("made",))
    verdict = Verdict()
    verdict.add(later)
    (found,) = verdict.everything
    assert (found.id, found.severity) == ("OF-A-LATER-RELEASE:made", "major")
    assert found.found == "something is wrong"


def test_what_the_cases_tell_is_not_told_twice():
    verdict = Verdict()
    verdict.cases = [CaseResult("made:qdr+first", "A", "fail", findings=of_case(case("x")))]
    verdict.fail("case-failed", "A @made:qdr+first: x", "A @made:qdr+first")
    assert [each.kind for each in verdict.everything] == ["case-failed"]
    assert verdict.everything[0].place[0] == "made:qdr+first"


def test_a_counter_that_stands_is_told_by_the_verdict_alone():
    seen = Finding("link-counters", "", nodes=("node1",), device="mlx5_0/1", what="x", found="7")
    assert of_case(case(result="pass", findings=(seen,))) == ()


def test_suites_that_are_missing_are_findings():
    missing = [without_case("npb.py", "made", "nothing provides it", "make spack")]
    (found,) = Verdict(system="made", findings=missing).everything
    assert (found.id, found.severity) == ("NOT-PROVIDED:made:npb.py", "minor")
    assert (found.found, found.remedy) == ("nothing provides it", "make spack")


def test_a_finding_says_its_device_once_however_often_it_is_merged():
    seen = Finding("link-errors", "t", device="mlx5_0/1", what="symbol_error", place=("n1",))
    (once,) = merged([seen])
    assert once.what == "mlx5_0/1 symbol_error"
    assert merged([once]) == [once]


def test_merged_are_the_worst_first_with_all_nodes():
    one = Finding("time-limit", "t", nodes=("n1",), place=("x",))
    two = Finding("time-limit", "t", nodes=("n2",), place=("x",))
    info = Finding("recorded", "t", place=("y",))
    critical = Finding("link-rate", "t", place=("z",))
    assert [(f.kind, f.nodes) for f in merged([info, one, two, critical])] == [
        ("link-rate", ()),
        ("time-limit", ("n1", "n2")),
        ("recorded", ()),
    ]
