"""What a cluster does to a run that is under way: nothing is lost, nothing is green unmeasured.

The benchmark is a program that prints what was recorded once the test lets it, so that each fault
comes when it should.
"""

import contextlib
import threading
from datetime import datetime, timedelta

import pytest

from acceptance.machine import partition_size
from tests import stored as results

CASES = "(Barrier|Allreduce)%np=2%placement=inter-node"


@contextlib.contextmanager
def running(measured, names=CASES, *options):
    """Run cases beside the test, which starts once the first job runs; gives a list of the result.

    The programs may print when the block ends.
    """
    done = []
    thread = threading.Thread(target=lambda: done.append(measured.imb(names, *options)))
    thread.start()
    try:
        measured.cluster.wait_for(
            lambda: measured.started() or not thread.is_alive(), "the first job"
        )
        yield done
    finally:
        measured.go()
        thread.join()


@pytest.fixture
def prints(recorded):
    return {name: recorded(f"imb/IMB-MPI1_{name}.impi.txt") for name in ("Barrier", "Allreduce")}


def prepare(measured, prints, scheduler="squeue", access=None, **more):
    environment = measured.recorded(**prints, **more)
    part = measured.partition("ten", environment, scheduler=scheduler)
    part["access"] = access or part["access"]
    # On one host all nodes have the name of the machine.
    part["extras"]["verify_placement"] = bool(measured.cluster.nodes)
    measured.configure(environment, part)


def outcome(measured):
    """Return benchmark -> case of the session that ended last."""
    return {
        case.benchmark.removeprefix("imb."): case
        for case in results.session(measured.site.database).cases
    }


def messages(verdict):
    return " | ".join(problem["text"] for problem in verdict["problems"])


@pytest.mark.parametrize(
    ("change", "back", "reason"),
    [
        ("MaxTime=5", "MaxTime=INFINITE", "PartitionTimeLimit"),
        ("State=DOWN", "State=UP", "PartitionDown"),
        ("AllowAccounts=others", "AllowAccounts=ALL", "Job's account not known"),
    ],
)
def test_a_job_that_slurm_would_let_wait_for_ever_ends_and_says_why(
    at, one_host, prints, change, back, reason
):
    measured, cluster = at(one_host), one_host
    prepare(measured, prints)
    cluster.run("scontrol", "update", "PartitionName=main", change)
    try:
        with running(measured, "Barrier%np=2%placement=inter-node") as done:
            cluster.wait_for(lambda: done, "the end of the run")
    finally:
        cluster.run("scontrol", "update", "PartitionName=main", back)
    status, verdict = measured.site.gate()
    assert (done[0].status, status) == (1, 1), done[0].output
    assert f"it was blocked due to reason: {reason}" in messages(verdict)
    assert cluster.jobs() == {}


SHUT_OUT = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority"


def reasons(cluster):
    """Return why the jobs of a cluster wait."""
    return cluster.run("squeue", "-h", "-o", "%r").stdout


def submit(cluster, *options):
    """Submit a job that waits; return its number."""
    script = ("--wrap=sleep 600", "--output=/dev/null", *options)
    return cluster.run("sbatch", "--parsable", "--exclusive", "-N2", *script).stdout.strip()


def test_a_job_behind_those_of_a_higher_partition_waits_and_runs(at, one_host, prints):
    measured, cluster = at(one_host), one_host
    prepare(measured, prints)
    cluster.run(
        "scontrol", "create", "PartitionName=urgent", f"Nodes={','.join(cluster.names)}",
        "PriorityTier=10",
    )  # fmt: skip
    jobs = [submit(cluster, "--partition=main")]
    cluster.wait_for(lambda: "RUNNING" in cluster.jobs().values(), "the first job")
    jobs.append(submit(cluster, "--partition=urgent"))
    done = []
    run = threading.Thread(
        target=lambda: done.append(measured.imb("Barrier%np=2%placement=inter-node"))
    )
    run.start()
    try:
        cluster.wait_for(lambda: done or SHUT_OUT in reasons(cluster), "the reason")
        # By then ReFrame has looked at the queue; it does so every ten seconds at least.
        run.join(timeout=12)
        assert not done, done[0].output
    finally:
        measured.go()
        for job in jobs:
            cluster.run("scancel", job)
        run.join()
        cluster.wait_for(lambda: not cluster.jobs(), "the end of the jobs")
        cluster.run("scontrol", "delete", "PartitionName=urgent")
    status, _ = measured.site.gate()
    assert (done[0].status, status) == (0, 0), done[0].output


AWAY = "cluster:ten: none of its 2 nodes is up: node1 is drained (a test"


@pytest.fixture
def away(at, one_host, prints):
    """A site without a node that is up."""
    measured = at(one_host)
    prepare(measured, prints)
    for name in one_host.names:
        one_host.drain(name)
    # Processes of their own ask Slurm anew; here, the gate would remember what it said.
    partition_size._of_scheduler.cache_clear()
    yield measured
    for name, state in one_host.states().items():
        if state != "idle":
            one_host.resume(name)
    partition_size._of_scheduler.cache_clear()


def test_where_all_nodes_are_down_no_job_is_submitted_and_the_gate_says_so(away, request):
    done = away.imb("Barrier%np=2%placement=inter-node")
    assert away.cluster.jobs() == {}
    status, verdict = away.site.gate()
    assert (done.status, status) == (0, 1), done.output
    (problem,) = verdict["problems"]
    assert (problem["kind"], problem["place"]) == ("no-cases", [])
    assert AWAY in problem["text"]
    assert "-n" not in problem["text"]
    assert verdict["not_selected"] == {}
    (unprovided,) = [each for each in verdict["findings"] if each["kind"] == "not-provided"]
    assert unprovided["what"] == "imb.py"
    assert unprovided["text"].startswith(AWAY)
    assert "sinfo -R" in unprovided["remedy"]


def test_nodes_that_are_back_by_then_were_down_when_nothing_ran(away):
    away.site.reframe("-c", "checks/imb.py", "-c", "checks/fabric.py", "-r")
    for name in away.cluster.names:
        away.cluster.resume(name)
    partition_size._of_scheduler.cache_clear()
    status, verdict = away.site.gate()
    assert status == 1
    problems = {problem["kind"]: problem["text"] for problem in verdict["problems"]}
    assert problems.keys() == {"case-failed", "nothing-measured", "check-without-case"}
    (message,) = (text for kind, text in problems.items() if kind == "check-without-case")
    assert f"imb.py: gave no case on {AWAY}" in message


def test_a_rank_that_fails_does_not_let_the_others_wait_for_the_time_limit(at, anywhere, prints):
    measured = at(anywhere)
    prepare(measured, prints)
    program = measured.site.folder / "program/IMB-MPI1"
    program.write_text(program.read_text().replace("|| exit 0", "|| exit 3"))
    with running(measured, "Barrier%np=2%placement=inter-node") as done:
        measured.cluster.wait_for(lambda: done, "the end of the run")
    status, verdict = measured.site.gate()
    assert (done[0].status, status) == (1, 1), done[0].output
    assert "FAILED (NonZeroExitCode)" in messages(verdict)
    assert measured.cluster.jobs() == {}


def test_a_node_that_fails_in_the_middle_is_named_though_others_could_take_its_job(
    at, cluster, prints
):
    measured = at(cluster)
    prepare(measured, prints, access=["--exclusive"])
    with running(measured, "Barrier%np=2%placement=inter-node") as done:
        states = cluster.states()
        node = max(name for name, state in states.items() if state == "allocated")
        assert "idle" in states.values()
        cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
        try:
            cluster.wait_for(lambda: done, "the end of the run")
        finally:
            cluster.resume(node)
    status, verdict = measured.site.gate()
    assert (done[0].status, status) == (1, 1), done[0].output
    assert "DUE TO NODE FAILURE" in messages(verdict)
    assert cluster.jobs() == {}


def test_a_node_drained_in_the_middle_ends_what_waits_for_it_and_is_named(at, anywhere, prints):
    measured, cluster = at(anywhere), anywhere
    prepare(measured, prints)
    try:
        with running(measured) as done:
            cluster.drain("node2")
    finally:
        cluster.resume("node2")
    status, verdict = measured.site.gate()
    assert (done[0].status, status) == (1, 1), done[0].output
    assert (verdict["selected"], verdict["passed"], verdict["failed"]) == (2, 1, 1)
    cases = outcome(measured)
    assert cases["Allreduce"].passed
    if cluster.nodes:
        assert cases["Allreduce"].nodes == ("node1", "node2")
    assert "UnavailableNodes:node2" in cases["Barrier"].fail_reason
    assert cluster.jobs() == {}


def reach_the_limit(cluster):
    """Let the one job of a cluster come to its time limit."""
    (job,) = cluster.jobs()
    # Slurm counts limits in minutes, but takes the second when a job shall end; that has to be
    # in the future still when a busy machine tells it.
    end = datetime.now() + timedelta(seconds=5)
    cluster.run("scontrol", "update", f"JobId={job}", f"EndTime={end:%FT%T}")
    cluster.wait_for(lambda: job not in cluster.jobs(), "the end of the job")


def test_a_job_at_its_time_limit_fails_though_it_had_printed_all(at, anywhere, prints):
    measured, cluster = at(anywhere), anywhere
    prepare(measured, prints, hangs=True)
    with running(measured, "Barrier%np=2%placement=inter-node") as done:
        reach_the_limit(cluster)
    status, verdict = measured.site.gate()
    assert (done[0].status, status) == (1, 1), done[0].output
    assert (verdict["passed"], verdict["failed"]) == (0, 1)
    assert "DUE TO TIME LIMIT (a check's limit: -S time_limit=30m)" in messages(verdict)


def test_a_controller_that_restarts_during_a_job_loses_nothing(at, anywhere, prints):
    measured = at(anywhere)
    prepare(measured, prints)
    with running(measured) as done:
        measured.cluster.stop_controller()
        measured.cluster.start_controller()
        measured.cluster.wait_for(
            lambda: measured.cluster.states()["node1"] == "allocated", "the nodes of the job"
        )
    status, verdict = measured.site.gate()
    assert verdict["selected"] == verdict["ran"] == 2
    cases = outcome(measured)
    assert cases["Allreduce"].passed, done[0].output
    if not cases["Barrier"].passed:
        # Submitted before all nodes had come back to the controller: named, and red.
        assert "ReqNodeNotAvail" in cases["Barrier"].fail_reason
    assert status == (not cases["Barrier"].passed)


def test_a_controller_that_is_away_for_long_makes_no_green(at, one_host, prints):
    measured = at(one_host)
    prepare(measured, prints)
    with running(measured, "Barrier%np=2%placement=inter-node") as done:
        one_host.stop_controller()
        try:
            # ReFrame takes a job that squeue does not show for completed.
            one_host.wait_for(lambda: done, "the end of the run")
        finally:
            one_host.start_controller()
    status, verdict = measured.site.gate()
    assert (done[0].status, status) == (1, 1), done[0].output
    assert "Slurm cannot be asked about job" in messages(verdict)
    assert "Unable to contact slurm controller" in messages(verdict)
    one_host.wait_for(lambda: not one_host.jobs(), "the end of the job")


def test_without_accounting_the_scheduler_slurm_is_refused_by_name(at, one_host, prints):
    measured = at(one_host)
    prepare(measured, prints, scheduler="slurm")
    with running(measured) as done:
        one_host.wait_for(lambda: done, "the end of the run")
    # ReFrame itself is content.
    assert "PASSED" in done[0].output
    assert "Ran 0/2" in done[0].output
    status, verdict = measured.site.gate()
    assert status == 1
    kinds = [problem["kind"] for problem in verdict["problems"]]
    assert "no-accounting" in kinds
    assert "write 'scheduler': 'squeue' into the partition" in messages(verdict)
    assert "2 cases had begun, or waited, when ReFrame stopped" in messages(verdict)
    doctor = measured.site.acceptance("doctor")
    assert doctor.status == 1
    assert "Slurm accounting storage is disabled" in " ".join(doctor.output.split())
    one_host.wait_for(lambda: not one_host.jobs(), "the end of the job that ReFrame left behind")


def test_with_accounting_the_scheduler_slurm_tells_nodes_and_outlives_a_restart(
    at, accounted, prints
):
    measured = at(accounted)
    prepare(measured, prints, scheduler="slurm")
    doctor = measured.site.acceptance("doctor")
    assert "Slurm answers" in " ".join(doctor.output.split())
    with running(measured) as done:
        accounted.stop_controller()
        accounted.start_controller()
        accounted.wait_for(lambda: set(accounted.states().values()) == {"allocated"}, "the job")
    status, verdict = measured.site.gate()
    assert (done[0].status, status) == (0, 0), done[0].output
    assert (verdict["selected"], verdict["passed"]) == (2, 2)
    if accounted.nodes:
        # On one host only the accounts tell, which of a short job may know the first node only.
        assert {case.nodes for case in outcome(measured).values()} == {("node1", "node2")}


def test_with_accounting_a_job_at_its_time_limit_is_no_success(at, accounted, prints):
    measured = at(accounted)
    prepare(measured, prints, scheduler="slurm", hangs=True)
    with running(measured, "Barrier%np=2%placement=inter-node") as done:
        reach_the_limit(accounted)
    status, verdict = measured.site.gate()
    assert (done[0].status, status) == (1, 1), done[0].output
    assert "DUE TO TIME LIMIT" in messages(verdict)
