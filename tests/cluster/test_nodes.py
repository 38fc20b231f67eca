"""Every node of a real Slurm in pairs, with the real IMB started by srun."""

import contextlib

import pytest

from acceptance.rfm import database as results
from tests.conftest import needs_wheels, only_problem

pytestmark = needs_wheels
ONCE = ("-S", "NodePairs.repetitions=1", "-S", "NodePairs.messages=100")
PAIRS = ("-c", "checks/nodes.py", "-r", "-n", "between", *ONCE)


@pytest.fixture
def four(measured):
    """A site of one partition of four nodes, of which its extras say that there are two."""
    environment = measured.environment()
    part = measured.partition("all", environment, access=[])
    part["extras"]["nodes"] = 2
    measured.configure(environment, part)
    return measured


@contextlib.contextmanager
def drained(cluster, node):
    cluster.drain(node, "bad cable")
    try:
        yield
    finally:
        cluster.resume(node)


def measure(four, *options):
    """Run the case; return it and its pairs."""
    run = four.site.reframe(*PAIRS, *options)
    (case,) = results.session(four.site.database).cases
    assert case.result == "pass", run.output
    return case, {each.nodes for each in case.pairs}


def test_an_acceptance_measures_every_node_that_is_up(four):
    case, pairs = measure(four, "--mode=acceptance")
    assert pairs == {
        ("node1", "node2"), ("node3", "node4"), ("node2", "node3"), ("node1", "node4"),
        ("node1", "node3"), ("node2", "node4"),
    }  # fmt: skip
    assert {each.nodes for each in case.pairs if each.round == "halves"} == {
        ("node1", "node3"), ("node2", "node4"),
    }  # fmt: skip
    assert "rounds_left_out" not in case.provenance
    assert case.nodes == ("node1", "node2", "node3", "node4")
    # The message networks of node3 and node4 have a tenth of the others'.
    large = {each.nodes: each.time for each in case.pairs if each.size == 4194304}
    assert large["node1", "node2"] < large["node3", "node4"]
    with drained(four.cluster, "node2"):
        _, pairs = measure(four, "--mode=acceptance")
    assert pairs == {("node1", "node3"), ("node3", "node4"), ("node1", "node4")}


def test_where_slurm_starts_the_proxies_of_an_mpi_the_halves_are_left_out_and_it_says_so(measured):
    environment = measured.environment()
    part = measured.partition("all", environment, access=[], launcher="mpirun")
    measured.configure(environment, part)
    case, pairs = measure(measured, "--mode=acceptance")
    assert pairs == {
        ("node1", "node2"), ("node3", "node4"), ("node2", "node3"), ("node1", "node4"),
    }  # fmt: skip
    assert case.provenance["rounds_left_out"] == "halves"
    _, verdict = measured.site.gate()
    assert any("the round halves of pairs was left out" in note for note in verdict["notes"])


def test_any_other_run_measures_as_many_nodes_as_the_site_says_or_those_it_is_pinned_to(four):
    case, pairs = measure(four)
    assert len(pairs) == 1
    assert case.keys["nodes"] == "2"
    _, pairs = measure(four, "--mode=acceptance", "-S", "pinned=all=node2,node4")
    assert pairs == {("node2", "node4")}


def test_a_slurm_that_cannot_be_asked_fails_the_case(four):
    four.configure(
        four.environment(), four.partition("all", four.environment(), access=["-C nothing"])
    )
    run = four.site.reframe(*PAIRS, "--mode=acceptance")
    status, verdict = four.site.gate()
    assert (run.status, status) == (1, 1)
    assert "imb.pairs-between: Slurm has no node for " in only_problem(verdict)
