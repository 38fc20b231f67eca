"""The links of a cluster: what they trained at, a case a node, and rates not as declared."""

import re

import pytest

from acceptance.fabric import Facts, limit
from acceptance.fabric.limits import SLACK
from tests import stored as results
from tests.cluster.sites import SERIAL
from tests.cluster.test_measured import LARGE
from tests.conftest import needs_wheels

#: MB/s that a message network of these Gb/s carries at most.
MOST = {rate: limit(Facts("ethernet", rate)).bandwidth * (1 + SLACK) for rate in ("1", "10")}
#: So many messages of a size that the buffer of `tbf`, which passes at any rate, counts little.
LONG = ("-S", "ImbMpi1.repetitions=300")
WRONG = r"node[34] fast0: 1000 Mb/s full, expected 10000 Mb/s full"


def check_links(measured, *options):
    done = measured.site.reframe("-c", "checks/fabric.py", "-r", SERIAL, *options)
    return done, *measured.site.gate()


def bandwidth(case):
    """Return that of 4 MiB; of a smaller message `tbf` lets the first bytes pass at any rate."""
    (value,) = [metric.value for metric in case.metrics if metric.name == "bandwidth_4194304"]
    return value


def test_all_nodes_of_a_partition_answer_in_one_job(measured):
    environment = measured.environment()
    measured.configure(
        environment,
        measured.partition("ten", environment, rate="10"),
        measured.partition("one", environment, rate="1"),
    )
    done, status, _ = check_links(measured)
    assert (done.status, status) == (0, 0), done.output
    found = {
        case.partition: ({m.name: m.value for m in case.metrics}, case.nodes)
        for case in results.session(measured.site.database).cases
    }
    assert found == {
        "ten": ({"nodes": 2, "rate_min": 10000}, ("node1", "node2")),
        "one": ({"nodes": 2, "rate_min": 1000}, ("node3", "node4")),
    }


def test_distributed_each_node_has_a_case_and_the_bad_one_fails(measured):
    environment = measured.environment()
    measured.configure(environment, measured.partition("ten", environment, rate="10"))
    with measured.cluster.nodes.trained(1000, "node2"):
        done, status, verdict = check_links(measured, "--distribute=all")
    assert (done.status, status) == (1, 1), done.output
    cases = {case.nodes: case for case in results.session(measured.site.database).cases}
    assert {nodes: case.result for nodes, case in cases.items()} == {
        ("node1",): "pass",
        ("node2",): "fail",
    }
    assert "node2 fast0: 1000 Mb/s full, expected 10000" in cases[("node2",)].fail_reason
    assert verdict["failed"] == 1


def test_a_drained_node_that_distribute_leaves_out_is_missed(measured):
    environment = measured.environment()
    measured.configure(environment, measured.partition("ten", environment, rate="10"))
    measured.cluster.drain("node2")
    try:
        done, status, verdict = check_links(measured, "--distribute")
    finally:
        measured.cluster.resume("node2")
    # ReFrame takes the nodes that are idle, and is content.
    assert (done.status, status) == (0, 1), done.output
    (problem,) = verdict["problems"]
    assert problem["kind"] == "nodes-left-out"
    assert "only 1 of the 2 nodes of ten were looked at" in problem["text"]


def test_a_partition_whose_links_are_slower_than_declared_is_caught_by_the_link_check(measured):
    environment = measured.environment()
    measured.configure(environment, measured.partition("one", environment, rate="10"))
    done, status, verdict = check_links(measured)
    assert (done.status, status) == (1, 1), done.output
    message = verdict["problems"][0]["text"]
    assert len(re.findall(WRONG, message)) == 2


@needs_wheels
def test_the_slower_network_is_measured_as_slower_and_none_beats_its_line(measured):
    environment = measured.environment()
    measured.configure(
        environment,
        measured.partition("ten", environment),
        measured.partition("one", environment),
    )
    run = measured.imb("(PingPong|Sendrecv)%np=2%placement=inter-node", SERIAL, *LARGE)
    assert (run.status, measured.site.gate()[0]) == (0, 0), run.output
    values = {
        (case.benchmark, case.partition): bandwidth(case)
        for case in results.session(measured.site.database).cases
    }
    assert len(values) == 4
    for benchmark, ways in (("imb.PingPong", 1), ("imb.Sendrecv", 2)):
        assert values[benchmark, "one"] < values[benchmark, "ten"]
        assert values[benchmark, "one"] < ways * MOST["1"]
        assert values[benchmark, "ten"] < ways * MOST["10"]


@needs_wheels
@pytest.mark.parametrize("said", [1000, 10000])
def test_a_slower_link_than_declared_is_caught_by_the_limit_with_its_cause(measured, said):
    environment = measured.environment()
    measured.configure(environment, measured.partition("one", environment, rate="10"))
    with measured.cluster.nodes.trained(said, "node3", "node4"):
        run = measured.imb("PingPong%np=2%placement=inter-node", *LONG)
    status, verdict = measured.site.gate()
    assert (run.status, status) == (1, 1), run.output
    message = verdict["problems"][0]["text"]
    assert "bandwidth_peak" in message
    if said == 1000:
        assert "cause may be: " in message
        assert len(re.findall(WRONG, message)) == 2
    else:
        # What limits it is behind the interface, which knows nothing of it. The number may be too
        # low for 1 Gb/s on a busy machine, and too high where messages fit into the buffer of
        # `tbf`: then it is that of another link, or of none.
        (case,) = results.session(measured.site.database).cases
        (metric,) = [metric for metric in case.metrics if metric.name == "bandwidth_peak"]
        limits = [limit(Facts("ethernet", rate)).bandwidth for rate in ("1", "2.5", "5")]
        fits = [(1 + metric.lower) * most <= metric.value <= most * (1 + SLACK) for most in limits]
        named = "cause may be: a link that runs at less than ethernet 10 Gb/s" in message
        assert named == any(fits)
