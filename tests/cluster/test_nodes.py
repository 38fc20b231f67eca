"""Every node of a real Slurm, with the real IMB and our own program started by srun."""

import pytest

from acceptance.nodes import FAILING
from tests import patterns_program
from tests import stored as results
from tests.cluster.sites import SERIAL
from tests.conftest import needs_wheels, only_problem

pytestmark = needs_wheels
NAMES = ("node1", "node2", "node3", "node4")
TINY = ("-S", "ImbMpi1.repetitions=5")


def take_all(measured):
    """Give the site one partition, of all nodes that are up."""
    environment = measured.environment()
    part = measured.partition("all", environment, access=[])
    part["extras"]["nodes"] = "all"
    measured.configure(environment, part)


def test_all_nodes_are_those_that_are_up_and_the_others_are_told(measured):
    take_all(measured)
    names = "(LinkCheck|Barrier%np=3%placement=inter-node)"
    with measured.cluster.drained("node2"):
        run = measured.site.reframe(
            "-c", "checks/fabric.py", "-c", "checks/imb.py", "-r", "-n", names, *TINY, SERIAL
        )
        doctor = measured.site.acceptance("doctor", "--format", "json").data
    assert run.status == 0, run.output
    cases = results.session(measured.site.database).cases
    assert {case.benchmark: case.nodes for case in cases} == dict.fromkeys(
        ("fabric.link", "imb.Barrier"), ("node1", "node3", "node4")
    )
    told = "3 of 4 nodes are up; not: node2 is drained (bad cable ["
    assert f"WARNING: cluster:all: {told}" in run.output
    (nodes,) = [row for row in doctor if row["what"] == "nodes of all"]
    assert nodes["found"].startswith(f"all: 3; {told}")


def test_a_case_that_takes_more_nodes_than_it_is_pinned_to_is_left_out_and_says_so(measured):
    take_all(measured)
    names = "Barrier%np=[24]%placement=inter-node"
    pinned = ("-S", "pinned=all=node2,node4")
    run = measured.site.reframe("-c", "checks/imb.py", "-r", "-n", names, *TINY, SERIAL, *pinned)
    status, verdict = measured.site.gate()
    assert (run.status, status, verdict["passed"], verdict["skipped"]) == (0, 0, 1, 1), run.output
    (note,) = [note for note in verdict["notes"] if note.startswith("skipped: ")]
    assert "[it takes 4 nodes, and is pinned to 2: node2, node4]" in note
    assert "; 1 case skipped" in measured.site.acceptance("gate").output.splitlines()[-1]


@pytest.fixture(scope="module")
def program():
    """The folder of our own program, built with Debian's Open MPI."""
    return patterns_program.build("openmpi").parent


def test_maintenance_measures_all_pairs_of_all_nodes(measured, program):
    environment = measured.environment("openmpi", patterns=program)
    part = measured.partition("all", environment, access=[])
    part["extras"]["nodes"] = "all"
    measured.configure(environment, part)
    done = measured.site.acceptance(
        "nightly", "--mode=maintenance", "--no-alerts",
        "--", "-S", "AllPairs.limit=4", "-n", "not for pairs",
    )  # fmt: skip
    words = " ".join(done.output.split())
    assert "all pairs of 4 nodes: 3 of 3 rounds in at most 4 s" in words
    assert "Steps: links, all_pairs." in words
    assert "benchmarked 4 of 4 nodes; links of 4 of 4 looked at; " in words
    (path,) = (measured.site.var / "output").rglob("AllPairs/all-pairs.txt")
    seen = patterns_program.whole(path.read_text(), ranks=4)
    assert seen.matrix.nodes == NAMES
    # With one node more, or one away, it is the same case, whose past goes on.
    (pairs,) = results.session(measured.site.database).cases
    assert pairs.keys == {"placement": "inter-node", "mapping": "block"}
    status, verdict = measured.site.gate()
    (entry,) = verdict["nodes"]["cluster:all"]["all_pairs"]
    pairs = 4 * (3 - seen.left)
    assert (entry["nodes"], entry["pairs"]) == ([*NAMES], pairs)
    assert f"{'all' if pairs == 12 else f'{pairs} of 12'} pairs of 4 nodes measured" in words
    # The message networks of node3 and node4 have a tenth of the others', if this machine lets
    # that be seen: then the case fails for it, and nothing else does.
    failing = [each for each in entry["culprits"] if each["kind"] in FAILING]
    (case,) = [each for each in verdict["cases"] if each["suite"] == "patterns"]
    assert done.status == status == bool(failing)
    assert case["culprits"] == bool(failing)
    assert len(verdict["problems"]) == len(failing) + bool(failing)


def test_a_slurm_that_cannot_be_asked_fails_the_case(measured, program):
    environment = measured.environment("openmpi", patterns=program)
    part = measured.partition("all", environment, access=["-C nothing"])
    part["extras"]["nodes"] = 2
    measured.configure(environment, part)
    run = measured.site.reframe("-c", "checks/all_pairs.py", "-r")
    status, verdict = measured.site.gate()
    assert (run.status, status) == (1, 1)
    assert "patterns.all-pairs: Slurm has no node for " in only_problem(verdict)
