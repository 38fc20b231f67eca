"""`verdict/nodes.py`: how many nodes were benchmarked, of how many, and which are slow."""

import msgspec
import pytest

from acceptance.ledger import Case, Metric, Session
from acceptance.machine import SlurmNode
from acceptance.rfm.configuration import Site
from acceptance.verdict import (
    Nodes,
    Status,
    Verdict,
    judge_nodes,
    stated_nodes,
    verdict_text,
)
from tests import made_nodes

NAMES = ("node1", "node2", "node3", "node4")
UP = [SlurmNode(name, "idle", "", True) for name in NAMES]
PLACE = "made:qdr"


def case(nodes, suite="imb", **changes):
    metric = Metric("latency_8", 1.0, "us", None, None, None, "", True)
    fields = {
        "name": "ImbMpi1", "system": "made", "partition": "qdr", "environment": "gcc",
        "filename": "/checks/imb.py", "suite": suite, "run_index": 0, "result": "pass",
        "fail_phase": "", "fail_reason": "", "nodes": tuple(nodes), "fixture": False,
        "benchmark": "imb.PingPong", "keys": {}, "declared": {}, "provenance": {}, "findings": (),
        "metrics": (metric,),
    }  # fmt: skip
    return Case(**{**fields, **changes})


def paired(names=NAMES, **changes):
    """Return the case of all pairs of these nodes."""
    return case(names, **made_nodes.stored(made_nodes.measured(names=names, **changes)))


def session(*cases, uuid="first"):
    return Session(uuid, 0.0, 1.0, "host", "reframe", "", 0, cases)


def judged(*sessions, **known):
    verdict = Verdict(system="made")
    cases = [each for session in sessions for each in session.cases]
    judge_nodes(verdict, cases, Nodes(**known))
    return verdict


def line(verdict):
    """Return what the text says of nodes, unwrapped."""
    text = verdict_text(verdict).partition("nodes  ")[2].partition("\nmetrics")[0]
    return " ".join(text.split())


def test_all_nodes_measured_and_alike_are_said_in_a_line():
    links = case(NAMES, "fabric")
    verdict = judged(session(links, paired()), known={PLACE: UP}, every=True)
    assert verdict.status == Status.PASSED
    assert line(verdict) == (
        "made:qdr: benchmarked 4 of 4 nodes; links of 4 of 4 looked at; all pairs of 4 nodes "
        "measured, and inside of each, in 3 rounds, each judged by the median of its round and "
        "distance"
    )


def test_in_an_acceptance_a_node_without_benchmark_fails_it_elsewhere_it_is_said():
    measured = session(case(NAMES[:2]))
    verdict = judged(measured, known={PLACE: UP}, every=True)
    (problem,) = verdict.problems
    assert (problem.kind, problem.place) == ("not-benchmarked", (PLACE,))
    assert problem.text == "made:qdr: benchmarked 2 of 4 nodes; not: node3, node4"
    verdict = judged(measured, known={PLACE: UP})
    assert verdict.problems == []
    assert "benchmarked 2 of 4 nodes; not compared with each other: no case measured" in line(
        verdict
    )


def test_the_link_check_and_a_failed_case_benchmark_nobody():
    failed = case(NAMES, result="fail", metrics=())
    verdict = judged(session(case(NAMES, "fabric"), failed), known={PLACE: UP}, every=True)
    assert "benchmarked 0 of 4 nodes" in verdict.problems[0].text
    assert verdict.nodes[PLACE].looked_at == NAMES


def test_a_partition_that_no_case_ran_on_fails_an_acceptance():
    verdict = judged(session(case(NAMES)), known={PLACE: UP, "made:ddr": UP[:1]}, every=True)
    assert [problem.place for problem in verdict.problems] == [("made:ddr",)]


def test_nodes_that_are_not_up_are_told_once_with_their_reason():
    known = [*UP[:3], SlurmNode("node4", "drained", "bad DIMM", False)]
    verdict = judged(session(case(NAMES[:3])), known={PLACE: known}, every=True)
    assert [problem.kind for problem in verdict.problems] == ["node-absent"]
    assert "benchmarked 3 of 4 nodes; " in line(verdict)
    assert "not up: node4 is drained (bad DIMM)" in line(verdict)
    night = judged(session(case(NAMES[:3])), known={PLACE: known})
    assert night.problems == []
    assert verdict_text(night).endswith("; 1 node not up")
    # Without a benchmark, too: the line is the only one that tells it.
    assert "not up: node4 is drained (bad DIMM)" in line(judged(session(), known={PLACE: known}))
    verdict = judged(session(case(NAMES[:2])), known={PLACE: known}, every=True)
    assert "benchmarked 2 of 4 nodes; not: node3" in verdict.problems[1].text
    assert verdict.nodes[PLACE].not_up == {"node4": "drained (bad DIMM)"}


def test_what_the_operator_limited_it_to_is_said_and_fails_nothing():
    limited = {PLACE: NAMES[:2]}
    verdict = judged(session(case(NAMES[:3])), known={PLACE: UP}, limited=limited, every=True)
    assert verdict.problems == []
    words = "benchmarked 2 of 2 nodes (limited by the operator to 2 of 4 nodes)"
    assert words in line(verdict)
    verdict = judged(session(case(NAMES[1:])), known={PLACE: UP}, limited=limited, every=True)
    assert "benchmarked 1 of 2 nodes" in verdict.problems[0].text
    assert "not: node1" in verdict.problems[0].text


def test_nodes_that_did_not_answer_are_told_where_no_scheduler_knows_them():
    def left_out(**known):
        partition = judged(session(case(NAMES[:2], "fabric")), **known).nodes[PLACE]
        return [each.found for each in partition.findings if each.kind == "nodes-left-out"]

    assert left_out(stated={PLACE: 4}) == ["2 answered: node1, node2; 4 are stated"]
    assert left_out(stated={PLACE: 2}) == left_out() == left_out(known={PLACE: UP}) == []


def test_each_partition_has_its_own_nodes():
    other = case(NAMES[2:], partition="ddr")
    verdict = judged(session(case(NAMES[:2]), other))
    benchmarked = {place: nodes.benchmarked for place, nodes in verdict.nodes.items()}
    assert benchmarked == {PLACE: NAMES[:2], "made:ddr": NAMES[2:]}


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"stated": {PLACE: 4}}, "benchmarked 2 of 4 nodes"),
        ({}, "benchmarked 2 nodes; how many there are is not known"),
    ],
)
def test_without_slurm_the_facts_say_how_many_there_are_or_nobody(known, words):
    assert words in line(judged(session(case(NAMES[:2])), **known))


def test_a_partition_states_its_nodes_unless_every_check_refuses_what_it_states():
    parts = {"a": {"nodes": 4}, "b": {"nodes": "4"}, "c": {}}
    partitions = [{"name": name, "extras": extras} for name, extras in parts.items()]
    local = {"name": "d", "scheduler": "local"}
    made = {"name": "made", "hostnames": [], "partitions": [*partitions, local]}
    site = Site((made,), ())
    assert stated_nodes(site, ["made", "gone"]) == {"made:a": 4, "made:d": 1}


def test_names_with_a_domain_are_those_of_slurm():
    names = [f"{name}.cluster" for name in NAMES]
    assert judged(session(case(names)), known={PLACE: UP}, every=True).problems == []


def test_in_an_acceptance_a_node_that_was_in_no_pair_fails_it_elsewhere_it_is_said():
    measured = session(case(NAMES), paired(NAMES[:3]))
    verdict = judged(measured, known={PLACE: UP}, every=True)
    (problem,) = verdict.problems
    assert (problem.kind, problem.place) == ("not-benchmarked", (PLACE,))
    assert problem.text.endswith("; not compared with the others: node4")
    verdict = judged(measured, known={PLACE: UP})
    assert verdict.problems == []
    assert "benchmarked 4 of 4 nodes; all pairs of 3 nodes measured" in line(verdict)


def test_two_nodes_have_no_network_that_was_compared_and_no_acceptance_fails_for_that():
    verdict = judged(session(paired(NAMES[:2])), known={PLACE: UP[:2]}, every=True)
    assert verdict.problems == []
    assert "not judged: node1, node2: two nodes are one pair" in line(verdict)
    assert verdict.nodes[PLACE].compared == set()


def test_what_is_known_of_nodes_is_plain_data():
    known = Nodes({PLACE: UP}, {PLACE: 4}, {PLACE: list(NAMES)}, True)
    assert msgspec.json.decode(msgspec.json.encode(known), type=Nodes) == known
