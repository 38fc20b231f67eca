"""`verdict/stored.py`: what a red run is told by, and when that has ended."""

import msgspec
import pytest
from msgspec.structs import replace

from acceptance.alerts import AWAY, MANY
from acceptance.core.findings import Finding
from acceptance.fabric.kinds import BENCHMARK as VIEW
from acceptance.nodes import Culprit
from acceptance.verdict import CaseResult, Status, Verdict
from acceptance.verdict.nodes import Paired, PartitionNodes
from acceptance.verdict.stored import MOST, announce, looked_at
from tests import made_nodes

WHERE = "made:batch+openmpi"


def links(node, fault="port down", **changes):
    seen = Finding("link-rate", f"{node}: {fault}", fails=True, nodes=(node,))
    fields = {"result": "fail", "findings": (seen,), "measured": True}
    return CaseResult(
        WHERE,
        suite="fabric",
        nodes=(node,),
        **{"name": f"LinkCheck %nid={node}"} | fields | changes,
    )


def bench(name, *nodes, result="fail"):
    return CaseResult(
        WHERE, f"ImbMpi1 {name} {''.join(nodes)}", result, "imb", f"imb.{name}", "too slow",
        nodes=nodes, measured=result == "pass",
    )  # fmt: skip


def verdict(*cases, problems=(), night="nightly-1"):
    """Return a verdict on these cases, and other problems: (kind, about...)."""
    given = Verdict(system="made", campaign=night, time="2026-11-22T01:00:00", cases=list(cases))
    for case in cases:
        if not case.passed:
            given.fail("case-failed", f"{case.place}: fail", case.place)
    for kind, *about in problems:
        given.fail(kind, kind, *about)
    return given


def told(given, known=()):
    announce(given, known)
    return given.alerts


def test_a_node_has_one_alert_whatever_it_failed():
    given = verdict(links("node1"), links("node2"), links("node1", "slot at x4", name="x"))
    first, second = told(given)
    assert (first.called[0], first.name) == ("faulty node", "made:batch node1")
    assert first.line == "made:batch node1: port down since 2026-11-22"
    assert second.finding.nodes == ("node2",)
    assert {problem.alerts for problem in given.problems} == {(first.id,), (second.id,)}


def test_a_benchmark_has_one_alert_for_all_of_its_cases():
    given = verdict(bench("Bcast", "node1", "node2"), bench("Bcast", "node3"), bench("Reduce"))
    bcast, reduce = told(given)
    assert bcast.name == f"{WHERE} imb.Bcast"
    assert bcast.finding.nodes == ("node1", "node2", "node3")
    assert reduce.finding.device == "imb.Reduce"


def test_what_is_not_measured_is_told_but_never_excused():
    given = verdict(problems=[("step-not-run", "imb"), ("alerts",)])
    (gap,) = told(given)
    assert (gap.called[0], gap.sort) == ("missing measurement", "nightly")
    assert [problem.alerts for problem in given.problems] == [(), ()]


@pytest.mark.parametrize("others", [(), (bench("Bcast", "node1", result="skip"),)])
def test_that_nothing_was_measured_belongs_to_the_failures_unless_cases_were_skipped(others):
    given = verdict(bench("Reduce"), *others[:0], problems=[("nothing-measured", "imb")])
    given.cases += others
    called = [each.called[0] for each in told(given)]
    assert called == ["failure", *["missing measurement"] * len(others)]
    assert bool(given.problems[-1].alerts) is not bool(others)


def test_an_alert_keeps_id_and_beginning_as_long_as_it_lasts():
    (first,) = told(verdict(links("node1")))
    later = verdict(links("node1", "another fault"))
    later.time = "2026-11-24T01:00:00"
    (again,) = told(later, [first])
    assert (again.id, again.finding.since) == (first.id, first.finding.since)


def test_a_switch_is_one_alert_and_what_was_known_before_keeps_its_own():
    (known,) = told(verdict(links("node0")))
    broken = [links(f"node{number}") for number in range(MOST + 2)]
    given = verdict(*broken)
    own, summary = told(given, [known])
    assert own.id == known.id
    assert (summary.finding.kind, len(summary.parts)) == (MANY, MOST + 1)
    assert f"{MOST + 1} failures: node1, node2" in summary.line
    assert given.problems[3].alerts == (summary.id,)
    # The next night some of them still fail, and one more: it is told by itself.
    given = verdict(*broken[:4], links("other"))
    after = told(given, [known, summary])
    assert [each.id for each in after[:2]] == [known.id, summary.id]
    assert after[1].finding.nodes == ("node1", "node2", "node3")
    assert [each.finding.device for each in after[2:]] == ["other"]


def with_nodes(*not_up, known=("node1", "node2")):
    """Return a verdict on a night that knows these nodes of Slurm."""
    given = verdict()
    away = dict.fromkeys(not_up, "drained (bad DIMM)")
    given.nodes = {"made:batch": PartitionNodes("made:batch", known=known, not_up=away)}
    return given


def test_a_node_that_is_not_up_is_an_alert_that_fails_nothing_until_it_is():
    given = with_nodes("node2")
    (each,) = told(given)
    found = each.finding
    assert (found.kind, found.nodes, given.status) == (AWAY, ("node2",), Status.PASSED)
    assert each.line == "made:batch node2: drained (bad DIMM) since 2026-11-22"
    (again,) = told(with_nodes("node2"), [each])
    assert again.id == each.id
    assert ended(each, with_nodes())
    assert not ended(each, with_nodes("node2"))
    # Slurm was not asked.
    assert not ended(each, with_nodes(known=()))
    assert not ended(each, verdict())


def test_up_to_a_number_each_has_an_alert_of_its_own():
    given = verdict(*(links(f"node{number}") for number in range(MOST)))
    assert {each.called[0] for each in told(given)} == {"faulty node"}


def ended(each, later):
    return looked_at(later, {"made"})(each)


def test_a_node_was_looked_at_when_its_links_were_read():
    (each,) = told(verdict(links("node1")))
    assert ended(each, verdict(links("node1", result="pass", findings=())))
    assert not ended(each, verdict(links("node2", result="pass", findings=())))
    assert not ended(each, verdict(links("node1", measured=False)))
    assert not looked_at(verdict(links("node1", result="pass")), {"other"})(each)


def test_a_benchmark_was_looked_at_when_it_passed_on_all_of_its_nodes():
    (each,) = told(verdict(bench("Bcast", "node1", "node2")))
    other = replace(bench("Bcast", "node1", "node2", result="pass"), nodes=("node1", "node3"))
    assert not ended(each, verdict(other))
    assert not ended(each, verdict(bench("Reduce", "node1", "node2", result="pass")))
    assert not ended(each, verdict(links("node1", result="pass"), links("node2", result="pass")))
    assert ended(each, verdict(bench("Bcast", "node1", "node2", result="pass")))


def test_a_switch_was_looked_at_when_all_behind_it_were():
    summary = told(verdict(*(links(f"node{number}") for number in range(MOST + 1))))[0]
    good = [links(f"node{number}", result="pass", findings=()) for number in range(MOST + 1)]
    assert not ended(summary, verdict(*good[1:]))
    assert ended(summary, verdict(*good))


def test_a_group_with_a_fault_of_the_fabric_ends_when_that_was_looked_at_too():
    lost = Finding("fabric-lost", "a cable is gone", fails=True, device="leaf1 - spine1")
    name, measured = "FabricView", {"benchmark": VIEW, "measured": True}
    view = CaseResult(WHERE, name, "fail", "fabric", findings=(lost,), **measured)
    (summary,) = told(verdict(view, *(links(f"node{number}") for number in range(MOST))))
    good = [links(f"node{number}", result="pass", findings=()) for number in range(MOST)]
    seen = CaseResult(WHERE, name, "pass", "fabric", **measured)
    assert summary.finding.kind == MANY
    assert not ended(summary, verdict(*good))
    assert not ended(summary, verdict(seen))
    assert ended(summary, verdict(seen, *good))


def test_what_the_run_as_a_whole_lacked_ends_with_one_of_the_same_sort():
    (each,) = told(verdict(problems=[("no-suite",)]))
    assert ended(each, verdict())
    assert not ended(each, verdict(night=""))
    unable = verdict()
    unable.status = Status.CANNOT_JUDGE
    assert not ended(each, unable)


def slow(*nodes):
    """Return a verdict on nodes that are slow in the bandwidth of their pairs."""
    culprits = tuple(
        Culprit("node-slow", (node,), (), "bandwidth", "MB/s", 1.0, 2.0, 0.5) for node in nodes
    )
    given = paired(verdict(), replace(made_nodes.measured(), culprits=culprits))
    for each in given.nodes["made:batch"].findings:
        given.add(each)
    return given


def paired(given, measured):
    """Return a verdict with what was measured of all pairs."""
    pairs = msgspec.convert({**msgspec.to_builtins(measured), "environment": "openmpi"}, Paired)
    given.nodes = {"made:batch": PartitionNodes("made:batch", all_pairs=(pairs,))}
    return given


def compared(*nodes):
    """Return a verdict on nodes that were compared with each other."""
    return paired(verdict(), made_nodes.measured(names=nodes))


def test_a_slow_node_was_looked_at_when_nodes_were_compared():
    (each,) = told(slow("node3"))
    assert (each.name, each.finding.nodes) == ("made:batch node-slow all-pairs node3", ("node3",))
    assert not ended(each, compared("node3", "node4"))
    assert not ended(each, compared("node1", "node2", "node4"))
    assert ended(each, compared("node2", "node3", "node4"))


def test_many_slow_nodes_have_not_ended_since_their_links_are_good():
    names = [f"node{number}" for number in range(MOST + 1)]
    summary, *others = told(slow(*names))
    assert (summary.finding.kind, others) == (MANY, [])
    good = [links(name, result="pass", findings=()) for name in names]
    later = compared(*names)
    later.cases = good
    assert ended(summary, later)
    assert not ended(summary, verdict(*good))
