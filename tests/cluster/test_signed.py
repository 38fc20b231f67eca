"""Four equal nodes, healthy and with one throttled: all that is said of them agrees."""

import contextlib
import json
import shutil

import pytest
import yaml

from acceptance.nodes import FAILING
from tests import netns, patterns_program
from tests.cluster import slurm
from tests.cluster.conftest import HEAD
from tests.cluster.sites import ClusterSite
from tests.conftest import needs_wheels
from tests.needs import SLURM, skip_for, why_not
from tests.places import ROOT

NODES = ("node1", "node2", "node3", "node4")
#: Of the benchmarks a single one: links and nodes are measured whatever is chosen.
CASES = (
    *("--", "-n", "Barrier%np=2%placement=inter-node", "-S", "ImbMpi1.repetitions=5"),
    *("-S", "AllPairs.limit=60"),
)
#: So slow that the processors of a busy machine do not matter; the interfaces say 1 Gb/s.
RATE, SLOW = "400mbit", "100mbit"

pytestmark = needs_wheels


@pytest.fixture(scope="module")
def equal(tmp_path_factory):
    """Four nodes with links of 1 Gb/s, and a Slurm."""
    skip_for(why_not(*SLURM) or netns.why_not())
    folder = tmp_path_factory.mktemp("equal")
    with (
        netns.Nodes(folder, (HEAD, *NODES)) as nodes,
        nodes.trained(1000, *NODES),
        # Ranks that wait for a message spin, on cores that other tests need.
        slurm.Cluster(folder, nodes, features=dict.fromkeys(NODES, "all"), nice=5) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def program():
    """The folder of our own program, built with Intel MPI."""
    return patterns_program.build("intel-mpi").parent


@pytest.fixture
def signed(site, equal, program):
    """A site of one partition with all four nodes."""
    measured = ClusterSite(site, equal)
    environment = measured.environment(patterns=program)
    part = measured.partition("all", environment, rate="1", access=["--exclusive"])
    part["extras"]["nodes"] = len(NODES)
    measured.configure(environment, part)
    site.environment["ACCEPTANCE_REFERENCE"] = str(loose_references(site.folder / "reference"))
    return measured


def loose_references(folder):
    """Copy the references, with tolerances that a busy machine keeps; bandwidths have ours."""
    shutil.copytree(ROOT / "reference", folder)
    path = folder / "tolerances.yaml"
    tolerances = yaml.safe_load(path.read_text())
    tolerances["limit"]["bandwidth_peak"]["worse"] = 0.95
    path.write_text(yaml.safe_dump(tolerances))
    return folder


@contextlib.contextmanager
def throttled(cluster, *slow):
    """Let some nodes send at a quarter of the rate for a while, and the others at all of it."""
    others = [name for name in NODES if name not in slow]
    with contextlib.ExitStack() as stack:
        stack.enter_context(cluster.nodes.shaped(RATE, nodes=others))
        if slow:
            stack.enter_context(cluster.nodes.shaped(SLOW, nodes=slow))
        yield


def campaign(measured, kind):
    """Return the folder of the newest campaign of a kind."""
    return max((measured.site.var / "campaigns").glob(f"{kind}-*"))


def accept(measured, *options):
    """Run an acceptance, of which all say the same; return what it printed, and its protocol."""
    done = measured.site.acceptance("accept", "--operator", "me", *options, *CASES)
    said, alerts = measured.said("accept", done.status)
    assert (said, alerts) == (dict.fromkeys(said, done.status), [])
    folder = campaign(measured, "accept")
    print(done.output)
    print((folder / "protocol.md").read_text().partition("## What was asked")[0])
    return done, json.loads((folder / "protocol.json").read_text())


def a_night(measured):
    """Measure a night; return what each command says of it, and the open alerts."""
    night = measured.site.acceptance("nightly", *CASES)
    print(night.output)
    return measured.said("nightly", night.status)


def verify(measured):
    path = campaign(measured, "accept") / "protocol.json"
    return measured.site.acceptance("accept", "verify", path)


def test_a_healthy_cluster_is_accepted_and_every_node_was_benchmarked(signed):
    with throttled(signed.cluster):
        done, data = accept(signed)
    assert done.status == 0, done.output
    assert data["outcome"] != "rejected"
    assert "benchmarked 4 of 4 nodes" in " ".join(done.output.split())
    assert "all pairs of 4 nodes measured" in " ".join(done.output.split())
    assert not [each for each in data["findings"] if each["severity"] in ("critical", "major")]
    assert verify(signed).status == 0


#: How ids of findings begin that say which node is slow with its partners.
PAIRED = {"NODE-SLOW", "NODE-SENDS-SLOW", "NODE-RECEIVES-SLOW"}


def test_a_throttled_node_is_named_and_nobody_else(signed):
    with throttled(signed.cluster, "node3"):
        done, data = accept(signed)
        said, alerts = a_night(signed)
    assert done.status == 1, done.output
    assert data["outcome"] == "rejected"
    worst = [each for each in data["findings"] if each["id"].partition(":")[0] in PAIRED]
    assert [(each["nodes"], each["severity"]) for each in worst] == [(["node3"], "critical")]
    assert "measured again alone: " in worst[0]["found"]
    assert verify(signed).status == 0
    assert said == dict.fromkeys(said, 1)
    assert [(alert["finding"]["device"], alert["finding"]["nodes"]) for alert in alerts] == [
        ("node-sends-slow all-pairs node3", ["node3"])
    ]


def test_a_drained_node_spoils_no_night_and_is_told_once(signed):
    """The partition states all of its nodes, as `acceptance init-site` writes it."""
    with throttled(signed.cluster), signed.cluster.drained("node2"):
        night = signed.site.acceptance("nightly", "--", "-n", "Barrier", *CASES[3:])
        _, alerts = signed.said("nightly", night.status)
    print(night.output)
    _, verdict = signed.site.gate()
    # On a busy machine a node may be slower than the others.
    assert {problem["kind"] for problem in verdict["problems"]} <= {*FAILING, "case-failed"}
    took = {(case["suite"], len(case["nodes"])) for case in verdict["cases"]}
    assert {("imb", 2), ("imb", 3), ("patterns", 3)} <= took
    away = [a["finding"] for a in alerts if a["finding"]["kind"] == "node-absent"]
    assert [(found["nodes"], found["device"]) for found in away] == [(["node2"], "node2")]
    assert "drained (bad cable [" in away[0]["text"]
    assert not any("bad cable" in problem["text"] for problem in verdict["problems"])
    assert "bad cable" in signed.site.acceptance("gate").output
    assert (signed.site.var / "report/index.html").read_text().count("bad cable") == 1


def test_an_acceptance_that_is_limited_to_nodes_says_so_and_leaves_the_others_alone(signed):
    with throttled(signed.cluster, "node4"):
        done, data = accept(signed, "--nodes", "node[1-2]")
    assert done.status == 0, done.output
    assert "limited by the operator to 2 of 4 nodes" in " ".join(done.output.split())
    found = {each["id"].partition(":")[0]: each["found"] for each in data["findings"]}
    assert "two nodes are one pair" in found["NOT-JUDGED"]
    assert found["LIMITED"] == "limited by the operator to 2 of 4 nodes"
    assert {node for case in data["measured"] for node in case["nodes"]} == {*NODES[:2]}
    assert verify(signed).status == 0


def test_nodes_that_there_are_none_of_are_refused_before_anything_runs(signed):
    done = signed.site.acceptance("accept", "--nodes", "node[3-5]", *CASES)
    assert done.status == 2
    assert "no node node5 in all; there are: node1, node2, node3, node4" in done.errors
    assert not (signed.site.var / "campaigns").exists()
