"""Real Slurm: by its commands of PBS, as a cluster among several, and with nodes in maintenance."""

import re

import pytest

from acceptance.machine import SchedulerFault, nodes_of, slurm
from tests import stored as results
from tests.needs import requires

CASE = "Barrier%np=2%placement=inter-node"


@pytest.fixture
def prints(recorded):
    return {"Barrier": recorded("imb/IMB-MPI1_Barrier.impi.txt")}


def prepare(measured, prints, scheduler, **more):
    """Configure a partition of recorded programs, whose ranks srun starts."""
    environment = measured.recorded(**prints)
    part = measured.partition("ten", environment, scheduler=scheduler, **more)
    measured.configure(environment, part)
    measured.go()


@pytest.fixture
def asked(monkeypatch):
    """Ask the cluster from this process."""
    return lambda there: [monkeypatch.setenv(*each) for each in there.environment.items()]


@requires("qsub", "qstat", "pbsnodes")
def test_torque_places_a_rank_on_each_node_and_names_nodes(measured, prints, asked):
    cluster = measured.cluster
    # Slurm takes a property, which Torque has behind the nodes, for a node's name.
    prepare(measured, prints, "torque", access=[])
    asked(cluster)
    run = measured.imb(CASE)
    (case,) = results.session(measured.site.database).cases
    assert run.status == 0, run.output
    assert len({*case.nodes}) == 2
    assert "placement" not in case.provenance
    assert [node.up for node in nodes_of("torque", ["one"])] == [True, True]
    with cluster.drained("node2"):
        found = {node.name: node for node in nodes_of("torque", ["ten"])}
        assert [found["node1"].up, found["node2"].up] == [True, False]
        assert found["node2"].text == "node2 is offline (bad cable)"
        links = measured.site.reframe("-c", "checks/fabric.py", "-r", "--distribute=up")
    assert links.status == 0, links.output
    cases = results.session(measured.site.database).cases
    assert sorted(case.nodes for case in cases) == [("node1",), ("node3",), ("node4",)]
    pinned = measured.site.reframe(
        "-c", "checks/imb.py", "-r", "-n", CASE, "-S", "pinned=ten=node2,node1"
    )
    assert pinned.status == 0, pinned.output
    scripts = [path.read_text() for path in measured.site.var.glob("output/**/rfm_job.sh")]
    nodes = {match[1] for text in scripts for match in re.finditer(r"-l nodes=(\S+)", text)}
    alone = {f"node{number}:ppn=1" for number in (1, 3, 4)}
    assert nodes == {"2:ppn=1", "node2:ppn=1+node1:ppn=1", *alone}
    (case,) = results.session(measured.site.database).cases
    assert sorted(case.nodes) == ["node1", "node2"]


def test_a_cluster_among_several_is_asked_by_its_name(at, accounted, prints, asked):
    measured = at(accounted)
    asked(accounted)
    there = ["--constraint=ten", "-M acceptance"]
    assert [node.name for node in nodes_of("slurm", there)] == ["node1", "node2"]
    assert slurm.all_partitions(*slurm.of_cluster(there))[0].name == "main"
    with pytest.raises(SchedulerFault, match="elsewhere"):
        nodes_of("slurm", ["-M", "elsewhere"])
    options = {"slurm_multi_cluster_mode": ["acceptance"]}
    prepare(measured, prints, "slurm", sched_options=options)
    with accounted.drained("node2"):
        run = measured.site.reframe("-c", "checks/fabric.py", "-r", "--distribute=up")
    (case,) = results.session(measured.site.database).cases
    # On one host a node is no more than a name.
    assert "node1" in case.name, run.output
    (script,) = measured.site.var.glob("output/**/rfm_job.sh")
    assert "#SBATCH -M acceptance" in script.read_text()


def test_nodes_in_maintenance_are_up_for_the_reservation_of_that(at, one_host, prints, asked):
    asked(one_host)
    measured = at(one_host)
    prepare(measured, prints, "squeue", access=["--reservation=repair"])
    make = ("scontrol", "create", "reservation", "Users=root", "StartTime=now", "Duration=10")
    both = ("Nodes=node2", "Flags=MAINT,IGNORE_JOBS,OVERLAP"), ("Nodes=node2", "Flags=OVERLAP")
    try:
        for name, options in zip(("repair", "course"), both, strict=True):
            done = one_host.run(*make, f"ReservationName={name}", *options)
            assert done.returncode == 0, done.stderr
        one_host.wait_for(lambda: "maint" in one_host.states()["node2"], "node2 in maintenance")
        up = {}
        for name in ("", "repair", "course"):
            chosen = [f"--reservation={name}"] if name else []
            up[name] = {node.name: node.up for node in nodes_of("squeue", chosen)}
        run = measured.site.reframe("-c", "checks/fabric.py", "-r", "--distribute=up")
    finally:
        for name in ("repair", "course"):
            one_host.run("scontrol", "delete", f"ReservationName={name}")
    assert up == {
        "": {"node1": True, "node2": False},
        "repair": {"node2": True},
        "course": {"node2": False},
    }
    (case,) = results.session(measured.site.database).cases
    assert "node2" in case.name, run.output
