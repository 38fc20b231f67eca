"""`checks/nodes.py` with the real IMB on nodes in namespaces, and inside this machine."""

import os
import re
import subprocess
from statistics import median

import pytest

from acceptance.machine import placement
from acceptance.suites import check_of, find
from tests import netns
from tests import stored as results
from tests.checks.test_two_nodes import MPIS, mpi
from tests.conftest import needs_wheels, only_problem
from tests.needs import requires_cores, skip_for
from tests.netns import DEVICE, MEMORY, Pair
from tests.places import PATIENCE, WHEELS

__all__ = ["mpi"]

pytestmark = [
    needs_wheels,
    requires_cores(2),
]
FOUR = ("node1", "node2", "node3", "node4")
NAMES = {"latency_8", "latency_max_8", "bandwidth_4194304", "bandwidth_min_4194304"}
ONCE = ("-S", "NodePairs.repetitions=1", "-S", "NodePairs.messages=100")


@pytest.fixture(scope="module")
def four_nodes(tmp_path_factory):
    skip_for(netns.why_not())
    with Pair(tmp_path_factory.mktemp("four"), FOUR) as pair:
        yield pair


@pytest.mark.parametrize("names", [("node2", "node4"), ("node1", "node3", "node2", "node4")])
@pytest.mark.parametrize("mpi", MPIS, indirect=True)
def test_each_launcher_puts_ranks_on_the_hosts_of_a_file_in_its_order(
    four_nodes, tmp_path, mpi, names
):
    hosts = tmp_path / "hosts.ends"
    hosts.write_text("".join(f"{name}\n" for name in names))
    launcher, known = placement.family("mpiexec", mpi), four_nodes.variables(mpi)
    before, options = placement.on_hosts(launcher, hosts.name, len(names))
    command = {"intel-mpi": WHEELS / "bin/mpiexec"}.get(mpi, f"mpiexec.{mpi}")
    libraries = {"I_MPI_ROOT": str(WHEELS), "LD_LIBRARY_PATH": str(WHEELS / "lib")}
    done = subprocess.run(
        f"{before}{command} -n {len(names)} {' '.join(options)} sh {placement.SCRIPT} true",
        shell=True, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **known, **(libraries if mpi == "intel-mpi" else {})},
    )  # fmt: skip
    ranks = placement.read_ranks(done.stderr)
    assert tuple(rank.node for rank in ranks) == names, done.stderr


def measure(site, where, *options):
    """Run a case; return the gate's verdict, which also compares the nodes, and the case."""
    run = site.reframe("-c", "checks/nodes.py", "-r", "-n", where, *options)
    _, verdict = site.gate()
    assert verdict["selected"] == 1, run.output
    (case,) = results.session(site.database).cases
    return verdict, case


def pairs_of(case):
    """Return round -> its pairs."""
    found = {}
    for result in case.pairs:
        found.setdefault(result.round, set()).add(result.nodes)
    return found


def slowest(case, size=4194304):
    return max((each for each in case.pairs if each.size == size), key=lambda each: each.time)


def test_the_cores_of_this_machine_are_a_pair(site):
    verdict, case = measure(site, "NodePairs", "-p", "wheels")
    assert verdict["verdict"] == "pass"
    (node,) = case.nodes
    assert pairs_of(case) == {"inside": {(node,)}}
    assert [each.size for each in case.pairs] == [8, 4194304]
    assert {metric.name for metric in case.metrics} == NAMES
    assert case.benchmark == "imb.pairs-inside"
    assert case.keys["placement"] == "intra-node"
    assert check_of(case.benchmark, "bandwidth_min") == "checks/nodes.py"
    assert check_of(case.benchmark, "bandwidth_peak") is None
    assert find(case.benchmark).link_factor is None


def test_of_four_nodes_all_pairs_are_measured_and_the_throttled_one_is_slow_with_all(
    site, four_nodes
):
    four_nodes.join(site, four_nodes.environment("intel-mpi"))
    with (
        four_nodes.shaped("1gbit", nodes=("node1", "node2", "node4")),
        four_nodes.shaped("100mbit", nodes=("node3",)),
    ):
        verdict, case = measure(site, "between", *ONCE)
    assert case.result == "pass", case.fail_reason
    # On a busy machine another node may seem slow as well.
    assert any("node3" in problem["about"] for problem in verdict["problems"])
    assert pairs_of(case) == {
        "neighbours": {("node1", "node2"), ("node3", "node4")},
        "shifted": {("node2", "node3")},
        "ends": {("node1", "node4")},
        "halves": {("node1", "node3"), ("node2", "node4")},
    }
    assert "rounds_left_out" not in case.provenance
    assert {metric.name for metric in case.metrics} == NAMES
    assert "node3" in slowest(case).nodes
    large = {each.nodes: each.bandwidth for each in case.pairs if each.size == 4194304}
    good, bad = (
        [large[pair] for pair in large if ("node3" in pair) == is_bad] for is_bad in (False, True)
    )
    assert max(bad) < max(good)
    by_name = {metric.name: metric.value for metric in case.metrics}
    # What shares the upper switches is stored, and compared, but no metric.
    near = [
        each.bandwidth
        for each in case.pairs
        if (each.size, each.round == "halves") == (4194304, False)
    ]
    assert by_name["bandwidth_min_4194304"] == min(near)
    assert by_name["bandwidth_4194304"] == median(near)
    assert "over the fabric of each node" in case.provenance["bytes"]


def test_two_slow_nodes_that_every_pair_of_the_ring_has_are_told_by_the_halves(site, four_nodes):
    four_nodes.join(site, four_nodes.environment("intel-mpi"))
    with (
        four_nodes.shaped("1gbit", nodes=("node1", "node3")),
        four_nodes.shaped("100mbit", nodes=("node2", "node4")),
    ):
        verdict, case = measure(site, "between", *ONCE)
    assert case.result == "pass", case.fail_reason
    large = {each.nodes: each.bandwidth for each in case.pairs if each.size == 4194304}
    assert max(large, key=large.get) == ("node1", "node3")
    assert any({"node2", "node4"} <= {*problem["about"]} for problem in verdict["problems"])


def test_of_three_nodes_all_pairs_are_measured(site, four_nodes):
    environment = four_nodes.environment("intel-mpi", hosts=FOUR[:3])
    four_nodes.join(site, environment, nodes=3)
    _, case = measure(site, "between", *ONCE)
    assert case.result == "pass", case.fail_reason
    assert {pair for pairs in pairs_of(case).values() for pair in pairs} == {
        ("node1", "node2"), ("node2", "node3"), ("node1", "node3"),
    }  # fmt: skip


def test_inside_two_nodes_each_is_a_pair_of_its_own(site, two_nodes):
    two_nodes.join(site, two_nodes.environment("intel-mpi", cores=2), cores=2)
    _, case = measure(site, "inside", *ONCE)
    assert case.result == "pass", case.fail_reason
    assert pairs_of(case) == {"inside": {("node1",), ("node2",)}}
    assert case.keys["nodes"] == "2"


def test_nodes_that_are_one_are_misplaced_and_give_no_result(site, two_nodes):
    two_nodes.join(site, two_nodes.environment("intel-mpi", leads={"node2": "node1"}))
    verdict, case = measure(site, "between", *ONCE)
    assert "misplaced: round neighbours: asked for 1 ranks on each of 2 nodes, had 2 on node1" in (
        only_problem(verdict)
    )
    assert case.pairs == ()
    assert [(each.kind, each.fails) for each in case.findings] == [("misplaced", True)]


def test_a_pair_that_took_the_memory_is_not_believed(site, two_nodes):
    fabric = {"technology": "ethernet", "rate": "1", "device": DEVICE}
    environment = two_nodes.environment("intel-mpi", over=MEMORY)
    two_nodes.join(site, environment, fabric=fabric)
    verdict, case = measure(site, "between", *ONCE)
    message = only_problem(verdict)
    assert re.search(r"node1 and node2: implausible: bandwidth_4194304 is \d+", message)
    assert f"bytes went over {DEVICE} of node1, the benchmark sends 4194304 at least" in message
    # What was measured stays stored.
    assert len(case.pairs) == 2


def test_the_worst_pair_is_judged_by_the_limit_of_the_fabric_and_named(site, two_nodes):
    fabric = {"technology": "ethernet", "rate": "10", "device": DEVICE}
    two_nodes.join(site, two_nodes.environment("intel-mpi"), fabric=fabric)
    with two_nodes.shaped("500mbit"):
        verdict, case = measure(site, "between", *ONCE)
    message = only_problem(verdict)
    assert "bandwidth_min_4194304" in message
    assert re.search("the worst pairs: node1 and node2 with .* us, node1 and node2 with", message)
    judged = {metric.name: metric.judged_by for metric in case.metrics if metric.judged_by}
    assert judged.keys() == {"bandwidth_4194304", "bandwidth_min_4194304"}
