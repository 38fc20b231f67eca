"""Nights and acceptances look at every node: one that is mistrained, and one that is away."""

import json

import pytest

from tests import stored as results

CASES = ("-n", "(Barrier|Allreduce)%np=2%placement=inter-node")
NIGHT = ("nightly", "--no-alerts")
NODES = ("node1", "node2", "node3", "node4")


@pytest.fixture
def four(measured, recorded):
    """A site of one partition of four nodes, two of which benchmarks use; IMB is recorded."""
    outputs = {name: recorded(f"imb/IMB-MPI1_{name}.impi.txt") for name in ("Allreduce", "Barrier")}
    environment = measured.recorded(**outputs)
    measured.go()
    part = measured.partition("all", environment, rate="10", access=["--exclusive"])
    # What was recorded is of no pair of nodes: no campaign measures those.
    part["extras"] |= {"nodes": 2, "verify_placement": False}
    measured.configure(environment, part)
    with measured.cluster.nodes.trained(10000, "node3", "node4"):
        yield measured


def measure(four, *command):
    """Run a campaign; return its exit status, verdict lines, and state."""
    done = four.site.acceptance(*command, "--", *CASES)
    newest = max(
        (four.site.var / "campaigns").glob("*/state.json"), key=lambda p: p.stat().st_mtime
    )
    return done, json.loads(newest.read_text())


def looked_at(four, state):
    """Return the nodes whose links a campaign looked at, and how that ended."""
    (links,) = [step for step in state["steps"] if step["name"] == "links"]
    session = results.session(four.site.database, links["attempts"][-1]["session"])
    return {node: case.result for case in session.cases for node in case.nodes}


def asked_nodes(script):
    """Yield the nodes that a job asks for."""
    for line in script.read_text().splitlines():
        if line.startswith("#SBATCH --nodelist="):
            yield line.partition("=")[2]


def protocol(four):
    (path,) = (four.site.var / "campaigns").glob("accept-*/protocol.json")
    return json.loads(path.read_text())


def agreed(four, kind, done, status):
    """Require that a campaign and all that tell of it have one status; return the nodes of alerts.

    An acceptance sends none: its protocol has all.
    """
    said, alerts = four.said(kind, done.status)
    assert said == dict.fromkeys(said, status), done.output
    return [alert["finding"]["nodes"] for alert in alerts]


def worst(data):
    return [one for one in data["findings"] if one["severity"] in ("critical", "major")]


def test_a_night_fails_for_a_node_that_no_benchmark_uses(four):
    with four.cluster.nodes.trained(1000, "node4"):
        done, state = measure(four, "nightly")
    assert agreed(four, "nightly", done, 1) == [["node4"]]
    assert looked_at(four, state) == dict.fromkeys(NODES[:3], "pass") | {"node4": "fail"}
    assert "node4 fast0: 1000 Mb/s full, expected 10000 Mb/s full" in done.output


def test_a_night_looks_at_the_links_of_every_node_and_benchmarks_take_turns(four):
    dry = four.site.acceptance(*NIGHT, "--dry-run", "--", *CASES).output
    assert "cluster:all: benchmarks run on node1, node2; each of its 4 nodes is measured" in dry
    assert "-S pinned=all=node1,node2" in dry
    nodes = []
    for _ in range(3):
        done, state = measure(four, *NIGHT)
        assert done.status == 0, done.output
        assert looked_at(four, state) == dict.fromkeys(NODES, "pass")
        assert {name: len(each) for name, each in state["nodes"].items()} == {"all": 4}
        (imb,) = [step for step in state["steps"] if step["name"] == "imb"]
        scripts = (four.site.var / "output" / imb["attempts"][-1]["run"]).rglob("rfm_job.sh")
        nodes.append({line for path in scripts for line in asked_nodes(path)})
        assert "each of its 4 nodes is measured within 2 nights" in " ".join(done.output.split())
    assert nodes == [{"node[1-2]"}, {"node[3-4]"}, {"node[1-2]"}]


def test_a_night_lists_a_drained_node_and_passes(four):
    with four.cluster.drained("node3"):
        dry = four.site.acceptance(*NIGHT, "--dry-run", "--", *CASES)
        done, state = measure(four, "nightly")
    assert agreed(four, "nightly", done, 0) == [["node3"]]
    assert looked_at(four, state).keys() == {"node1", "node2", "node4"}
    assert "nodes: 3 of 4 nodes of all are up; not: node3 is drained (bad cable [" in dry.output
    assert "; not up: node3 is drained (bad cable [" in " ".join(done.output.split())
    assert done.output.count("VERDICT: pass; ") == done.output.count("; 1 node not up") == 1


def test_a_node_that_went_away_meanwhile_was_not_looked_at(four, monkeypatch):
    """What Slurm said when the night began counts: nobody may lose a node on the way."""
    from acceptance.campaigns.runner import Runner

    run = Runner.run

    def lose(runner):
        four.cluster.drain("node3", "lost")
        try:
            run(runner)
        finally:
            four.cluster.resume("node3")

    monkeypatch.setattr(Runner, "run", lose)
    done, _ = measure(four, *NIGHT)
    assert done.status == 1, done.output
    said = " ".join(done.output.split())
    assert "the links of 3 of 4 nodes that are up were looked at; not: node3" in said


def test_a_busy_node_is_waited_for_and_then_told(four):
    job = four.cluster.run(
        "sbatch", "--parsable", "--nodelist=node4", "--exclusive", "--output=/dev/null",
        "--wrap=sleep 300",
    ).stdout.strip()  # fmt: skip
    four.cluster.wait_for(lambda: four.cluster.jobs().get(job) == "RUNNING", "a busy node")
    try:
        done = four.site.reframe(
            "-c", "checks/fabric.py", "-r", "--distribute=up", "-S", "max_pending_time=3s"
        )
    finally:
        four.cluster.run("scancel", job)
        four.cluster.wait_for(lambda: not four.cluster.jobs(), "the end of the job")
    assert done.status == 1, done.output
    cases = results.session(four.site.database).cases
    failed = {case.name.split("%.nid=")[1].split()[0]: case for case in cases if not case.passed}
    assert failed.keys() == {"node4"}
    assert "its job waited for 3 s and did not start" in failed["node4"].fail_reason


def test_an_acceptance_rejects_a_drained_and_a_mistrained_node_by_their_names(four):
    with four.cluster.drained("node3"), four.cluster.nodes.trained(1000, "node4"):
        done, _ = measure(four, "accept")
    assert agreed(four, "accept", done, 1) == []
    data = protocol(four)
    assert data["outcome"] == "rejected"
    absent = [one for one in worst(data) if one["id"].startswith("NODE-ABSENT")]
    assert [(one["id"], one["nodes"]) for one in absent] == [
        ("NODE-ABSENT:cluster:all:node3", ["node3"])
    ]
    assert "node3 is drained (bad cable [" in absent[0]["found"]
    assert [one["id"] for one in data["findings"] if "node3" in one["found"]] == [absent[0]["id"]]
    problems = {problem["kind"] for problem in data["verdict"]["problems"]}
    assert "node-absent" in problems
    ids = {one["id"] for one in worst(data)}
    assert "ETH-SPEED:node4:fast0" in ids
    assert not [one for one in ids if "node1" in one or "node2" in one]
    path = next((four.site.var / "campaigns").glob("accept-*/protocol.json"))
    assert four.site.acceptance("accept", "verify", path).status == 0
