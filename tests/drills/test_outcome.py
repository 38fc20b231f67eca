"""What came of a fault: who saw it, what was named, and what plain references would have said."""

from dataclasses import replace

import pytest
from msgspec import structs

from acceptance.core.findings import Finding
from acceptance.ledger import Case, Metric
from acceptance.nodes import Culprit
from acceptance.simulation import Injected
from acceptance.verdict import PartitionNodes, Status, Verdict
from acceptance.verdict.nodes import Paired
from tests import made_nodes
from tests.drills.outcome import NONE, RIGHT, UNTOLD, WRONG, outcomes
from tests.drills.runs import Report, Selection

PLACE = "simulated-made:batch"


def case(name, values, *, findings=(), suite="patterns", failed=(), fault="n1", passed=True):
    """Return a case on the one partition; `fault` is where the fault is."""
    metrics = tuple(
        Metric(metric, value, "us" if "latency" in metric else "MB/s", value, None, None,
               "recorded SimGrid 3.32, patterns 1.0", metric not in failed)
        for metric, value in values.items()
    )  # fmt: skip
    provenance = {"fault": "it", "fault_at": fault} if fault is not None else {}
    return Case(
        name, "simulated-made", "batch", "smpi", "", suite, 0, "pass" if passed else "fail", "", "",
        (), False, f"{suite}.it", {}, {}, provenance, tuple(findings), metrics,
    )  # fmt: skip


GOOD = [case("pairs", {"latency_8": 1.0, "bandwidth_262144": 2600.0})]


def verdict(*culprits, too_few=False):
    left = (Culprit("not-judged", ("n0", "n1")),) * too_few
    measured = structs.replace(made_nodes.measured(), culprits=culprits + left)
    pairs = Paired(**structs.asdict(measured), environment="smpi")
    return Verdict(nodes={PLACE: PartitionNodes(PLACE, all_pairs=(pairs,))})


def culprit(kind, nodes, others=()):
    return Culprit(kind, nodes, others, "bandwidth", "MB/s", 1300.0, 2600.0, 0.5, 3, 3)


def outcome(name, cases, given=None, healthy=GOOD):
    (found,) = outcomes(Injected.of(name), healthy, cases, given or verdict())
    return found


def slow(value=1300.0, **others):
    values = {"latency_8": 1.0, "bandwidth_262144": value}
    return case("pairs", values, failed=["bandwidth_262144"], passed=False, **others)


def links(kind, node, fails=True):
    return case("links", {}, suite="fabric", passed=not fails,
                findings=[Finding(kind, "text", fails=fails, nodes=(*node.split(),))])  # fmt: skip


@pytest.mark.parametrize(
    ("name", "cases", "given", "by", "cause"),
    [
        ("port-sdr", [links("link-rate", "n1"), slow()], None, ["link check", "recorded"], RIGHT),
        ("port-sdr", [links("pcie-speed", "n1"), slow()], None, ["link check", "recorded"], NONE),
        ("port-sdr", [links("link-rate", "n2"), slow()], None, ["link check", "recorded"], WRONG),
        ("node-half", [slow()], verdict(culprit("node-slow", ("n1",))), ["recorded", "culprit"],
         RIGHT),
        ("node-half", [slow()], verdict(culprit("node-slow", ("n1",)),
                                        culprit("way-slow", ("n2",), ("n3",))),
         ["recorded", "culprit"], WRONG),
        ("node-half", [slow()], verdict(too_few=True), ["recorded"], UNTOLD),
        ("node-half", [slow()], verdict(), ["recorded"], NONE),
        ("uplink-half", [slow(fault="n8,n9,leaf1,spine1")],
         verdict(culprit("uplink-slow", ("n8", "n9"), ("n1", "n17"))), ["recorded", "culprit"],
         RIGHT),
        ("uplink-half", [slow(fault="n8,n9,leaf1,spine1")],
         verdict(culprit("cable-slow", ("leaf1[9]",), ("spine1[2]",))), ["recorded", "culprit"],
         RIGHT),
        ("uplink-half", [slow(fault="n8,n9,leaf1,spine1")],
         verdict(culprit("cable-slow", ("leaf2[9]",), ("spine1[2]",))), ["recorded", "culprit"],
         WRONG),
        ("cable-loss", [links("link-counters", "n1", fails=False)], None, [], RIGHT),
    ],
)  # fmt: skip
def test_a_cause_is_right_when_its_kind_and_place_are_named_and_no_others(
    name, cases, given, by, cause
):
    found = outcome(name, cases, given)
    assert ([*found.by], found.cause) == (by, cause)


def test_a_latency_is_known_by_what_moved_most():
    values = {"latency_8": 1.099, "bandwidth_262144": 2590.0}
    found = outcome("latency-10", [case("pairs", values, failed=values, fault="", passed=False)])
    assert (found.cause, found.metric, found.plain) == (RIGHT, "pairs: latency_8", ())
    assert found.loss == pytest.approx(0.099)
    slower = {"latency_8": 1.5, "bandwidth_262144": 1300.0}
    found = outcome("latency-50", [case("pairs", slower, failed=slower, fault="", passed=False)])
    assert (found.cause, len(found.plain)) == (NONE, 2)


def test_what_costs_enough_and_nobody_sees_is_missed():
    silent = case("pairs", {"latency_8": 1.0, "bandwidth_262144": 2400.0})
    found = outcome("node-half", [silent])
    assert (found.seen, found.missed, found.plain) == (False, True, ())
    barely = case("pairs", {"latency_8": 1.0, "bandwidth_262144": 2500.0})
    assert not outcome("node-half", [barely]).missed


def test_what_is_told_of_a_healthy_system_too_names_nothing():
    aside = links("fabric-not-judged", "n0", fails=False)
    found = outcome("port-sdr", [aside, links("link-rate", "n1"), slow()])
    assert (found.cause, found.noted, [each.kind for each in found.named]) == (
        RIGHT, (), ["link-rate"],
    )  # fmt: skip


def test_a_gain_is_told_as_one():
    shared = case("pairs", {"latency_8": 0.5, "bandwidth_262144": 5000.0})
    found = outcome("ranks-misplaced", [shared])
    assert (found.loss < -0.4, found.missed, len(found.plain)) == (True, False, 2)


def test_where_there_is_no_such_fault_nothing_is_judged():
    other = replace(GOOD[0], provenance={"no_fault": "port-sdr:n1: its rate is SDR"})
    found = outcome("port-sdr", [other])
    assert (found.why_not, found.missed, found.by) == ("its rate is SDR", False, {})


def report(*found):
    return Report(Selection("simulated-made"), verdict(), [*found], {})


def seen_fault():
    return outcome("port-sdr", [links("link-rate", "n1"), slow()])


@pytest.mark.parametrize(
    ("cases", "why"),
    [
        # Its place is not in the system: the cases of it fail before the fault is there.
        (
            [replace(slow(fault=None), fail_reason="port-sdr:n99: there is no\nnode 'n99'")],
            "no case ran with it: port-sdr:n99: there is no node 'n99'",
        ),
        ([replace(GOOD[0], provenance={})], "no case ran with it"),
        ([], "no case ran with it"),
        # It ran, and nothing that it gave was ever measured without it.
        ([case("other", {"latency_8": 1.0})],
         "no metric can be compared with one of the healthy system"),
    ],
)  # fmt: skip
def test_a_fault_that_was_not_run_is_not_green(cases, why):
    found = outcome("port-sdr:n99", cases)
    assert (found.not_run, found.applied, found.why_not, found.missed) == (why, False, "", False)
    whole = report(seen_fault(), found)
    assert whole.status == Status.CANNOT_JUDGE
    assert whole.not_run == [f"port-sdr:n99 on {PLACE}: {why}"]


def test_a_partition_that_is_lost_with_a_fault_was_not_run():
    other = replace(slow(), partition="other")
    lost, ran = outcomes(Injected.of("port-sdr"), [GOOD[0], other], [other], verdict())
    assert (lost.partition, lost.not_run) == (PLACE, "no case ran with it")
    assert ran.applied


def test_drills_without_any_fault_cannot_judge():
    there_is_none = replace(GOOD[0], provenance={"no_fault": "port-sdr:n1: its rate is SDR"})
    aside = outcome("port-sdr", [there_is_none])
    for whole in (report(), report(aside)):
        assert whole.status == Status.CANNOT_JUDGE
        assert whole.not_run == ["no fault was injected anywhere: the checks were not tried"]
    assert (report(aside, seen_fault()).status, report(aside, seen_fault()).not_run) == (0, [])
    missed = outcome("node-half", [case("pairs", {"bandwidth_262144": 2400.0})])
    assert report(missed).status == Status.FAILED
