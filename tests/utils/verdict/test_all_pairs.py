"""What becomes of the culprits of all pairs, in text, problems, alerts and protocol."""

from dataclasses import replace

import msgspec
import pytest
from msgspec import structs

from acceptance.core.findings import Finding
from acceptance.core.kinds import OF_PAIRS
from acceptance.nodes import FAILING, AllPairs, Culprit
from acceptance.nodes import culprit as model
from acceptance.verdict import CaseResult, Status, Verdict
from acceptance.verdict.cases import judge_cases
from acceptance.verdict.stored import announce, looked_at
from tests import made_nodes
from tests.made_nodes import NAMES, measured
from tests.utils.verdict.test_nodes import PLACE, case, judged, line, session


def stored(found, **changes):
    """Return the case of a measurement."""
    return case(found.nodes, **{**made_nodes.stored(found), **changes})


def verdict_of(*cases, **known):
    verdict = judged(session(*cases), **known)
    whole = Verdict(system="made", time="2026-11-22T01:00:00")
    judge_cases(whole, session(*cases))
    whole.nodes, whole.notes = verdict.nodes, verdict.notes
    whole.problems += verdict.problems
    return whole


def alerts_of(verdict, known=()):
    announce(verdict, known)
    return verdict.alerts


def test_healthy_nodes_are_said_in_a_line_and_counted_as_compared():
    verdict = verdict_of(stored(measured()))
    assert verdict.status == Status.PASSED
    assert line(verdict) == (
        "made:qdr: benchmarked 8 nodes; how many there are is not known; all pairs of 8 nodes "
        "measured, and inside of each, in 7 rounds, each judged by the median of its round and "
        "distance"
    )
    assert msgspec.json.decode(msgspec.json.encode(measured()), type=AllPairs) == measured()


def test_a_slow_node_and_a_slow_path_are_a_problem_and_an_alert_each():
    verdict = verdict_of(stored(measured(["node3"], ["node5", "node7"])))
    kinds = [problem.kind for problem in verdict.problems]
    assert kinds == ["case-failed", "node-slow", "way-slow"]
    assert verdict.problems[1].text.startswith("made:qdr: node3 is slow in both directions")
    node, way = alerts_of(verdict)
    assert (node.finding.nodes, way.finding.nodes) == (("node3",), ("node5", "node7"))
    # The case fails for nothing else.
    assert verdict.problems[0].alerts == (node.id, way.id)
    again = alerts_of(verdict_of(stored(measured(["node3"]))))
    assert [each.id for each in again] == [node.id]


def test_an_alert_ends_when_the_same_was_measured_again_and_only_then():
    node, way = alerts_of(verdict_of(stored(measured(["node3"], ["node5", "node7"]))))
    looked = looked_at(verdict_of(stored(measured())), {"made"})
    assert (looked(node), looked(way)) == (True, True)
    # A short run sees each node, but not each pair.
    looked = looked_at(verdict_of(stored(measured(shifts=(1, 3, 5, 7)))), {"made"})
    assert (looked(node), looked(way)) == (True, False)
    fewer = measured(names=tuple(name for name in NAMES if name != "node3"))
    looked = looked_at(verdict_of(stored(fewer)), {"made"})
    assert (looked(node), looked(way)) == (False, True)
    # Of two nodes nobody can tell which one is slow.
    looked = looked_at(verdict_of(stored(measured(names=NAMES[2:4]))), {"made"})
    assert (looked(node), looked(way)) == (False, False)
    other = stored(measured(), environment="other")
    assert not looked_at(verdict_of(other), {"made"})(node)


@pytest.mark.parametrize(("loss", "ended"), [(0.08, False), (0.05, False), (0.02, True)])
def test_an_alert_of_a_node_goes_on_until_the_node_is_well(loss, ended):
    """A loss near the smallest one that is named is seen on some nights, and there on all."""
    (node,) = alerts_of(verdict_of(stored(measured(["node3"]))))
    found = measured()
    values = [
        structs.replace(each, values=tuple(
            value * (1 - loss * (each.quantity == "both" and name == "node3"))
            for name, value in zip(found.nodes, each.values, strict=True)
        ))
        for each in found.values
    ]  # fmt: skip
    assert {each.quantity for each in values} > {"both"}
    now = structs.replace(found, values=tuple(values))
    looked = looked_at(verdict_of(stored(now)), {"made"})
    assert node.compared == (f"{case(NAMES).environment} all-pairs bandwidth",)
    environment = case(NAMES).environment
    of_both = structs.replace(node, compared=(f"{environment} all-pairs both",))
    assert (looked(node), looked(of_both)) == (True, ended)


def test_two_nodes_are_measured_and_what_they_do_with_each_other_is_not_judged():
    verdict = verdict_of(stored(measured(names=NAMES[:2])))
    assert verdict.problems == []
    assert "all pairs of 2 nodes measured, and inside of each, in 1 round, not judged: node1, " in (
        line(verdict)
    )
    assert "two nodes are one pair: only a reference" in line(verdict)


def test_a_node_that_is_slow_inside_is_told_as_that_and_its_alert_ends_with_that():
    found = measured(inside=["node3"])
    verdict = verdict_of(stored(found))
    assert [problem.kind for problem in verdict.problems] == ["case-failed", "node-slow-inside"]
    assert "node3 is slow inside, between its own cores" in verdict.problems[1].text
    (told,) = alerts_of(verdict)
    assert looked_at(verdict_of(stored(measured())), {"made"})(told)
    between = structs.replace(measured(), values=measured().values[:3])
    assert not looked_at(verdict_of(stored(between)), {"made"})(told)
    # Two nodes have a value each, though but one between them.
    assert looked_at(verdict_of(stored(measured(names=NAMES[2:4]))), {"made"})(told)


def test_pairs_that_failed_are_told_and_those_that_were_not_measured_counted():
    found = measured(shifts=(1, 2, 6, 7), failed=[(0, 1)])
    verdict = verdict_of(stored(found))
    assert [problem.kind for problem in verdict.problems] == ["case-failed", "pair-failed"]
    assert "node1 -> node2" in verdict.problems[1].text
    assert (
        "31 of 56 pairs of 8 nodes measured, and inside of each, in 4 rounds of 7: no time was left"
        in line(verdict)
    )


@pytest.mark.parametrize(
    ("cases", "known", "reason"),
    [
        ([case(NAMES)], {}, "no case measured all of its pairs"),
        ([case(NAMES)], {"unpaired": "nothing provides it"}, "nothing provides it"),
        ([stored(measured(), all_pairs={}, result="fail")], {}, "its case measured none"),
    ],
)
def test_a_partition_whose_nodes_were_not_compared_is_never_silently_green(cases, known, reason):
    verdict = judged(session(*cases), **known)
    assert f"not compared with each other: {reason}" in line(verdict)
    assert any(each.id == f"PAIRS-NOT-MEASURED:{PLACE}" for each in verdict.nodes[PLACE].findings)
    assert "not compared" not in line(judged(session(*cases), stated={PLACE: 1}))


def test_what_is_stored_of_all_pairs_and_is_none_fails():
    verdict = judged(session(stored(measured(), all_pairs={"nodes": ["node1"]}, findings=())))
    (problem,) = verdict.problems
    assert "what is stored of all pairs is malformed" in problem.text


def test_a_protocol_names_them_by_ids_without_numbers():
    cases = [stored(measured(["node3"], ["node5", "node7"]))]
    ids = [each.id for each in verdict_of(*cases).nodes[PLACE].findings]
    assert ids == [
        f"NODE-SLOW:{PLACE}:node3:gcc:bandwidth",
        f"WAY-SLOW:{PLACE}:node5:node7:gcc:bandwidth",
    ]
    many = Culprit(model.UPLINK, NAMES * 4, NAMES[::-1] * 4, "both", "MB/s", 1.0, 2.0, 0.5, 9, 9)
    found = structs.replace(measured(), culprits=(many,))
    (uplink,) = verdict_of(stored(found)).nodes[PLACE].findings
    assert uplink.id.startswith(f"UPLINK-SLOW:{PLACE}:node1+31-")
    assert len(uplink.id) < 120
    cable = structs.replace(many, kind=model.CABLE, nodes=("leaf2[4]",), others=("spine1[2]",))
    verdict = verdict_of(stored(structs.replace(measured(), culprits=(cable,))))
    (finding,) = verdict.nodes[PLACE].findings
    assert finding.id == f"CABLE-SLOW:{PLACE}:leaf2[4]:spine1[2]:gcc:both"
    assert finding.nodes == ()
    (told,) = alerts_of(verdict)
    # It ends when a pair went over it again, and was fine.
    routed = structs.replace(measured(), links=9)
    others = structs.replace(routed, uncrossed=("leaf2[4] - spine1[2]",))
    ends = [
        looked_at(verdict_of(stored(each)), {"made"})(told) for each in (routed, others, measured())
    ]
    assert ends == [True, False, False]


def test_each_kind_of_culprit_has_a_row():
    kinds = {*model.FAILING, model.UNSTEADY, model.NOT_JUDGED}
    assert {*OF_PAIRS} == kinds
    assert {*FAILING} >= {*model.FAILING}


def test_a_case_that_failed_for_something_else_too_has_an_alert_of_its_own():
    link = Finding("link-rate", "node2 mlx5_0/1: 40 Gb/s", True, ("node2",))
    found = stored(measured(["node3"]))
    verdict = verdict_of(replace(found, findings=(*found.findings, link)))
    assert isinstance(verdict.cases[0], CaseResult)
    assert [each.finding.nodes for each in alerts_of(verdict)] == [("node2",), ("node3",)]
