"""Campaigns on a cluster: killed nights, the acceptance of all nodes, jobs side by side."""

import contextlib
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests import stored as results
from tests.config.test_nightly_files import here, scron
from tests.conftest import BIN
from tests.places import PATIENCE

NAMES = ("Allreduce", "Barrier", "PingPong")
CASES = ("-n", "(Barrier|Allreduce)%np=2%placement=inter-node")


@pytest.fixture
def recorded_site(measured, recorded):
    """A site of two nodes with links of 10 Gb/s, whose IMB prints what was recorded when told."""
    outputs = {name: recorded(f"imb/IMB-MPI1_{name}.impi.txt") for name in NAMES}
    environment = measured.recorded(**outputs)
    part = measured.partition("ten", environment, rate="10")
    # What was recorded is of no pair of nodes: no campaign measures those.
    part["extras"]["verify_placement"] = False
    measured.configure(environment, part)
    measured.recorded_environment = environment
    return measured


@contextlib.contextmanager
def running(measured, *command):
    """Start a command of the site beside the test, in an environment like that of cron."""
    log = measured.site.folder / "command.txt"
    with log.open("ab") as out:
        process = subprocess.Popen(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={
                "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin",
                "HOME": str(measured.site.folder),
                "ACCEPTANCE_MACHINE": str(measured.site.folder),
                "ACCEPTANCE_VAR": str(measured.site.var),
                **measured.site.environment,
            },
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def reframe_of(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return int(children.split()[0])


def state(measured):
    (path,) = (measured.site.var / "campaigns").glob("*/state.json")
    return json.loads(path.read_text())


def wait_for_lock(measured):
    with (measured.site.var / "campaigns/lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


@pytest.mark.parametrize("reframe_too", [False, True], ids=["killed", "power-failure"])
def test_a_killed_night_leaves_no_job_behind_and_is_gone_on_with(recorded_site, reframe_too):
    measured, cluster = recorded_site, recorded_site.cluster
    night = ("acceptance", "nightly", "--no-alerts", "--", *CASES)
    with running(measured, *night) as process:
        cluster.wait_for(
            lambda: measured.started() or process.poll() is not None, "a job of the night"
        )
        if reframe_too:
            process.send_signal(signal.SIGSTOP)
            os.kill(reframe_of(process), signal.SIGKILL)
        process.kill()
        process.wait()
    wait_for_lock(measured)
    left = cluster.jobs()
    if reframe_too:
        assert len(left) == 1
    else:
        # ReFrame was told by the kernel, and cancelled its job.
        cluster.wait_for(lambda: not cluster.jobs(), "the end of the job")
    with running(measured, *night) as process:
        cluster.wait_for(
            lambda: not set(left) & set(cluster.jobs()) or process.poll() is not None,
            "the end of the job that was left",
        )
        measured.go()
        status = process.wait(timeout=PATIENCE)
    said = (measured.site.folder / "command.txt").read_text()
    assert status == 0, said
    assert cluster.jobs() == {}
    for job in left if reframe_too else ():
        assert f"job {job} of " in said
    # The links are a case for each node.
    assert "4 cases: 4 passed, 0 failed" in state(measured)["summary"]
    attempts = {step["name"]: len(step["attempts"]) for step in state(measured)["steps"]}
    assert {name: number for name, number in attempts.items() if number} == {"links": 1, "imb": 2}


def test_the_acceptance_looks_at_every_node_and_names_the_one_that_is_not_as_asked(recorded_site):
    measured = recorded_site
    measured.go()
    with measured.cluster.nodes.trained(1000, "node2"):
        done = measured.site.acceptance("accept", "--operator", "me", "--", *CASES)
    assert done.status == 1, done.output
    (path,) = (measured.site.var / "campaigns").glob("accept-*/protocol.json")
    data = json.loads(path.read_text())
    assert data["outcome"] == "rejected"
    (worst,) = [one for one in data["findings"] if one["severity"] == "critical"]
    assert (worst["id"], worst["nodes"]) == ("ETH-SPEED:node2:fast0", ["node2"])
    assert (worst["found"], worst["expected"]) == ("1000 Mb/s full", "10000 Mb/s full")
    assert "ethtool fast0" in worst["remedy"]
    links = [one for one in data["measured"] if one["suite"] == "fabric"]
    assert sorted(one["nodes"] for one in links) == [["node1"], ["node2"]]
    assert data["asked"]["partitions"][0]["extras"]["fabric"]["rate"] == "10"
    checked = measured.site.acceptance("accept", "verify", path)
    assert checked.status == 0, checked.output


def test_jobs_on_different_nodes_run_side_by_side_and_none_share_a_node(recorded_site):
    measured, cluster = recorded_site, recorded_site.cluster
    environment = measured.recorded_environment
    part = measured.partition("all", environment, max_jobs=3, access=["--exclusive"])
    measured.configure(environment, part)
    names = "(Barrier|Allreduce|PingPong)%np=2%placement=inter-node"
    run = ("reframe", "-c", "checks/imb.py", "-r", "-n", names)

    def jobs():
        found = cluster.run("squeue", "-h", "-o", "%T %N").stdout.split("\n")
        return sorted(line.strip() for line in found if line)

    with running(measured, "env", "-C", str(Path(__file__).parents[2]), *run) as process:
        cluster.wait_for(
            lambda: len(jobs()) == 3 and sum("RUNNING" in job for job in jobs()) == 2,
            "two jobs that run and one that waits",
        )
        waiting, *two = jobs()
        measured.go()
        process.wait(timeout=PATIENCE)
    assert waiting == "PENDING"
    nodes = [set(cluster.run("scontrol", "show", "hostnames", job.split()[1]).stdout.split())
             for job in two]  # fmt: skip
    assert [len(one) for one in nodes] == [2, 2]
    assert nodes[0].isdisjoint(nodes[1])
    cases = results.session(measured.site.database).cases
    assert len(cases) == 3
    # Nothing was sent: of a bandwidth the bytes are missed.
    assert {case.benchmark for case in cases if case.passed} == {"imb.Barrier", "imb.Allreduce"}
    for path in (measured.site.var / "output").rglob("rfm_job.sh"):
        assert "#SBATCH --exclusive\n" in path.read_text()


def test_the_scrontab_is_a_job_of_slurm_that_measures_in_others(recorded_site):
    measured = recorded_site
    options, _, command = scron()
    needed = {
        "ACCEPTANCE_VAR": str(measured.site.var),
        **measured.site.environment,
    }
    words = " ".join(shlex.quote(f"{name}={text}") for name, text in needed.items())
    command = here(command).replace("env -i", f"env -i {words}")
    output = measured.site.folder / "nightly.out"
    options = [re.sub(r"--output=.*", f"--output={output}", option) for option in options]
    done = measured.cluster.run(
        "sbatch", "--wait", "--constraint=one", *options, f"--wrap={command}"
    )
    assert done.returncode == 0, done.stderr + (output.read_text() if output.exists() else "")
    assert "VERDICT: pass" in output.read_text()
    cases = results.session(measured.site.database).cases
    assert sorted(case.nodes for case in cases) == [("node1",), ("node2",)]
