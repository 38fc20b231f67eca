"""Which nodes the link check of a campaign has looked at, of those that a scheduler has."""

from types import SimpleNamespace

import pytest

from acceptance.core.findings import Finding
from acceptance.machine import SlurmNode
from acceptance.verdict import Nodes, Verdict
from acceptance.verdict.coverage import judge_links, judge_nodes

PLACE = "made:ten"


def node(number, state="idle", reason=""):
    return SlurmNode(f"node{number}", state, reason, state in ("idle", "allocated"))


def case(
    number, metrics=("nodes",), findings=(), nodes=None, suite="fabric", benchmark="fabric.link"
):
    name = f"LinkCheck %.nid=node{number} %part=ten"
    nodes = (f"node{number}",) if nodes is None else nodes
    return SimpleNamespace(
        name=name, system="made", partition="ten", suite=suite, metrics=metrics,
        findings=findings, nodes=nodes, benchmark=benchmark, fixture=False,
    )  # fmt: skip


@pytest.fixture
def judged():
    """Judge cases of four nodes, unless others are known; return problems and notes."""

    def judge(*cases, known=None, asked=True, command="reframe -r", foreign=False, **more):
        known = known or [node(number) for number in range(1, 5)]
        verdict = Verdict()
        nodes = Nodes(known={PLACE: known} if asked else {}, **more)
        session = SimpleNamespace(command=command)
        evidence = SimpleNamespace(
            nodes=nodes, cases=cases, site=None, sessions=[session], foreign=foreign
        )
        judge_nodes(verdict, cases, nodes)
        judge_links(verdict, evidence)
        problems = {problem.kind: problem.text for problem in verdict.problems}
        problems.pop("not-benchmarked", None)
        return problems, verdict.notes

    return judge


def test_all_that_were_looked_at_good_or_bad_are_no_problem(judged):
    slow = Finding("eth-speed", "node4 fast0: slow", True, nodes=("node4",), device="fast0")
    assert judged(*map(case, (1, 2, 3)), case(4, (), (slow,))) == ({}, [])


def test_a_node_without_an_answer_was_not_looked_at(judged):
    waited = Finding("not-started", "its job waited for 1800 s and did not start", True)
    problems, notes = judged(case(1), case(2), case(3, (), ()), case(4, (), (waited,), ()))
    assert problems == {
        "nodes-not-looked-at": "made:ten: the links of 2 of 4 nodes that are up were looked at; "
        "not: node3, node4"
    }
    assert notes == []


def test_a_benchmark_is_no_look_at_the_links(judged):
    for other in (case(4, suite="imb"), case(4, benchmark="fabric.view")):
        problems, _ = judged(*map(case, (1, 2, 3)), other)
        assert "not: node4" in problems["nodes-not-looked-at"]


def test_a_node_that_is_not_up_fails_an_acceptance_and_no_night(judged):
    known = [node(1), node(2, "allocated"), node(3, "drained", "bad cable")]
    text = "made:ten: node3 is drained (bad cable)"
    assert judged(case(1), case(2), known=known) == ({}, [])
    assert judged(case(1), case(2), known=known, every=True) == ({"node-absent": text}, [])


def test_fewer_nodes_than_stated_are_a_problem(judged):
    problems, _ = judged(*map(case, (1, 2, 3, 4)), stated={PLACE: 6})
    assert problems == {"nodes-unknown": "made:ten states 6 nodes, the scheduler has 4"}


def test_what_reframe_did_not_distribute_to_is_told_where_slurm_was_not_asked(judged):
    problems, _ = judged(*map(case, (1, 2, 3)), asked=False, stated={PLACE: 4})
    assert problems["nodes-left-out"].startswith("only 3 of the 4 nodes of ten were looked at")
    assert judged(*map(case, (1, 2, 3, 4)), asked=False, stated={PLACE: 4})[0] == {}
    for excused in ({"command": "reframe -r -J exclude=node4"}, {"foreign": True}):
        assert judged(case(1), asked=False, stated={PLACE: 4}, **excused)[0] == {}
    # A benchmark, and a check that is not distributed, look at no links of single nodes.
    assert judged(case(1, suite="imb"), asked=False, stated={PLACE: 4})[0] == {}
    known = [node(1), node(2, "down")]
    assert judged(case(1), known=known, stated={PLACE: 2})[0] == {}


def test_of_a_limited_partition_the_rest_does_not_count(judged):
    known = [node(1), node(2, "down"), node(3)]
    assert judged(case(1), known=known, limited={PLACE: ["node1"]}, every=True) == ({}, [])
