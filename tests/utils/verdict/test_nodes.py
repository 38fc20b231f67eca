"""`verdict/nodes.py`: how many nodes were benchmarked, of how many, and which are slow."""

import msgspec
import pytest

from acceptance.core.pairs import PairResult
from acceptance.ledger import Case, Metric, Session
from acceptance.machine import SlurmNode
from acceptance.rfm.configuration import Site
from acceptance.verdict import (
    Nodes,
    Status,
    Verdict,
    judge_nodes,
    not_compared,
    stated_nodes,
    tolerance_of,
    verdict_text,
)
from tests.places import ROOT

TOLERANCES = tolerance_of(ROOT / "reference/tolerances.yaml")
NAMES = ("node1", "node2", "node3", "node4")
UP = [SlurmNode(name, "idle", "", True) for name in NAMES]
PLACE = "made:qdr"


def case(nodes, suite="imb", **changes):
    metric = Metric("latency_8", 1.0, "us", None, None, None, "", True)
    fields = {
        "name": "NodePairs", "system": "made", "partition": "qdr", "environment": "gcc",
        "filename": "/checks/nodes.py", "suite": suite, "run_index": 0, "result": "pass",
        "fail_phase": "", "fail_reason": "", "nodes": tuple(nodes), "fixture": False,
        "benchmark": "imb.PingPong", "keys": {}, "declared": {}, "provenance": {}, "findings": (),
        "metrics": (metric,),
    }  # fmt: skip
    return Case(**{**fields, **changes})


def pairs(slow=(), names=NAMES):
    """Return the results of all pairs; those of a slow node have a tenth of the bandwidth."""
    return tuple(
        PairResult("all", (left, right), 2**22, 400.0, 1e3 if {left, right} & {*slow} else 1e4)
        for left in names
        for right in names
        if left < right
    )


def session(*cases, uuid="first"):
    return Session(uuid, 0.0, 1.0, "host", "reframe", "", 0, cases)


def judged(*sessions, **known):
    verdict = Verdict(system="made")
    judge_nodes(verdict, sessions, Nodes(**known), TOLERANCES)
    return verdict


def line(verdict):
    """Return what the text says of nodes, unwrapped."""
    text = verdict_text(verdict).partition("nodes  ")[2].partition("\nmetrics")[0]
    return " ".join(text.split())


def test_all_nodes_measured_and_alike_are_said_in_a_line():
    links = case(NAMES, "fabric")
    verdict = judged(session(links, case(NAMES, pairs=pairs())), known={PLACE: UP}, every=True)
    assert verdict.status == Status.PASSED
    assert line(verdict) == (
        "made:qdr: benchmarked 4 of 4 nodes; links of 4 of 4 looked at; 4 compared with each other"
    )


def test_in_an_acceptance_a_node_without_benchmark_fails_it_elsewhere_it_is_said():
    measured = session(case(NAMES[:2]))
    verdict = judged(measured, known={PLACE: UP}, every=True)
    (problem,) = verdict.problems
    assert (problem.kind, problem.about) == ("nodes-not-benchmarked", (PLACE,))
    assert problem.message == "made:qdr: benchmarked 2 of 4 nodes; not: node3, node4"
    verdict = judged(measured, known={PLACE: UP})
    assert verdict.problems == []
    assert "benchmarked 2 of 4 nodes; not compared with each other: no pairs" in line(verdict)


def test_the_link_check_and_a_failed_case_benchmark_nobody():
    failed = case(NAMES, result="fail", metrics=())
    verdict = judged(session(case(NAMES, "fabric"), failed), known={PLACE: UP}, every=True)
    assert "benchmarked 0 of 4 nodes" in verdict.problems[0].message
    assert verdict.nodes[PLACE]["looked_at"] == list(NAMES)


def test_a_partition_that_no_case_ran_on_fails_an_acceptance():
    verdict = judged(session(case(NAMES)), known={PLACE: UP, "made:ddr": UP[:1]}, every=True)
    assert [problem.about for problem in verdict.problems] == [("made:ddr",)]


def test_nodes_that_are_not_up_are_told_once_with_their_reason():
    known = [*UP[:3], SlurmNode("node4", "drained", "bad DIMM", False)]
    verdict = judged(session(case(NAMES[:3])), known={PLACE: known}, every=True)
    assert verdict.problems == []
    assert "benchmarked 3 of 4 nodes; " in line(verdict)
    assert "not up: node4 is drained (bad DIMM)" in line(verdict)
    assert verdict_text(verdict).endswith("; 1 node not up")
    # Without a benchmark, too: the line is the only one that tells it.
    assert "not up: node4 is drained (bad DIMM)" in line(judged(session(), known={PLACE: known}))
    verdict = judged(session(case(NAMES[:2])), known={PLACE: known}, every=True)
    assert "benchmarked 2 of 4 nodes; not: node3" in verdict.problems[0].message
    assert verdict.nodes[PLACE]["not_up"] == [
        {"name": "node4", "state": "drained", "reason": "bad DIMM"}
    ]


def test_what_the_operator_limited_it_to_is_said_and_fails_nothing():
    limited = {PLACE: NAMES[:2]}
    verdict = judged(session(case(NAMES[:3])), known={PLACE: UP}, limited=limited, every=True)
    assert verdict.problems == []
    words = "benchmarked 2 of 2 nodes (limited by the operator to 2 of 4 nodes)"
    assert words in line(verdict)
    verdict = judged(session(case(NAMES[1:])), known={PLACE: UP}, limited=limited, every=True)
    assert "benchmarked 1 of 2 nodes" in verdict.problems[0].message
    assert "not: node1" in verdict.problems[0].message


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
    site = Site(({"name": "made", "partitions": [*partitions, local]},), ())
    assert stated_nodes(site, ["made", "gone"]) == {"made:a": 4, "made:d": 1}


def test_names_with_a_domain_are_those_of_slurm():
    names = [f"{name}.cluster" for name in NAMES]
    assert judged(session(case(names)), known={PLACE: UP}, every=True).problems == []


def test_in_an_acceptance_a_node_that_was_in_no_pair_fails_it_elsewhere_it_is_said():
    measured = session(case(NAMES), case(NAMES[:3], pairs=pairs(names=NAMES[:3])))
    verdict = judged(measured, known={PLACE: UP}, every=True)
    (problem,) = verdict.problems
    assert (problem.kind, problem.about) == ("nodes-not-benchmarked", (PLACE,))
    assert problem.message.endswith("; not compared with the others: node4")
    verdict = judged(measured, known={PLACE: UP})
    assert verdict.problems == []
    assert "benchmarked 4 of 4 nodes; 3 compared with each other" in line(verdict)


def test_two_nodes_that_were_compared_by_their_memory_alone_have_no_network_that_was():
    inside = tuple(PairResult("inside", (name,), 2**22, 400.0, 1e4) for name in NAMES[:2])
    cases = [case(NAMES[:2], pairs=each) for each in (inside, pairs(names=NAMES[:2]))]
    verdict = judged(session(*cases), known={PLACE: UP[:2]}, every=True)
    assert verdict.problems == []
    words = "2 compared with each other, but two nodes, one pair: there is no other to compare"
    assert words in line(verdict)
    assert not_compared(verdict.nodes[PLACE]).startswith("two nodes, one pair")


def test_a_slow_node_fails_every_verdict_and_is_named():
    verdict = judged(session(case(NAMES, pairs=pairs(["node3"]))), stated={PLACE: 4})
    (problem,) = verdict.problems
    assert (problem.kind, problem.about) == ("node-slow", (PLACE, "node3"))
    assert problem.message == (
        "made:qdr: node3 is slow: bandwidth of 4 MiB between nodes 1000 MB/s; median 10000 MB/s: "
        "90% worse, tolerance 15%"
    )
    assert "4 compared with each other, findings on 1" in line(verdict)
    (finding,) = verdict.nodes[PLACE]["findings"]
    assert finding["nodes"] == ("node3",)


def test_a_round_of_pairs_that_was_left_out_is_said():
    ring = case(NAMES, pairs=pairs(), provenance={"rounds_left_out": "halves"})
    verdict = judged(session(ring, case(NAMES, pairs=pairs())), session(ring, uuid="second"))
    (note,) = verdict.notes
    assert note.startswith("made:qdr: the round halves of pairs was left out")


def test_a_second_measurement_confirms_or_leaves_a_note():
    first = session(case(NAMES, pairs=pairs(["node3"])))
    slow, good = (session(case(NAMES, pairs=pairs(bad)), uuid="again") for bad in (["node3"], []))
    confirmed = judged(first, slow, again=["again"])
    assert [problem.kind for problem in confirmed.problems] == ["node-slow"]
    assert "1000 MB/s, measured again 1000 MB/s" in confirmed.problems[0].message
    unsteady = judged(first, good, again=["again"])
    assert (unsteady.status, unsteady.problems) == (Status.PASSED, [])
    (note,) = unsteady.notes
    assert "node3 was slow in one of two measurements" in note
    assert "1000 MB/s, measured again 10000 MB/s" in note


def test_what_is_known_of_nodes_is_plain_data():
    known = Nodes({PLACE: UP}, {PLACE: 4}, {PLACE: list(NAMES)}, True, ["again"])
    assert msgspec.json.decode(msgspec.json.encode(known), type=Nodes) == known


def test_tolerances_that_are_missing_fail_and_do_not_pass_in_silence(tmp_path):
    path = tmp_path / "tolerances.yaml"
    path.write_text("{}\n")
    verdict = Verdict(system="made")
    judge_nodes(verdict, [session(case(NAMES, pairs=pairs()))], Nodes(), tolerance_of(path))
    assert "nodes, between, MB/s: no tolerance" in verdict.problems[0].message
    verdict = Verdict(system="made")
    judge_nodes(verdict, [session(case(NAMES))], Nodes(), tolerance_of(path))
    assert verdict.problems == []
