"""What is measured through Slurm and `srun`: real MPIs, on the nodes that were asked for."""

import re
import subprocess

import pytest

from acceptance.machine.placement import Layout, exported, family, misplaced, place, read_ranks
from tests import stored as results
from tests.checks.test_two_nodes import SWING
from tests.cluster.sites import STARTS, programs_of
from tests.conftest import needs_wheels
from tests.needs import skip_for, why_no_mpi
from tests.netns import CONTROL, DEVICE, MEMORY, messages
from tests.places import PATIENCE, ROOT, WHEELS

RANK = ROOT / "utils/acceptance/machine/rank.sh"
LAYOUTS = {kind: Layout(4, 2, "inter-node", kind) for kind in ("block", "cyclic")}
ONE_EACH = Layout(2, 1, "inter-node")
#: The smallest run of a case, and one with a peak.
TINY = ("-S", "ImbMpi1.msglog=0:6", "-S", "ImbMpi1.repetitions=5")
LARGE = ("-S", "ImbMpi1.repetitions=5")


def submit(cluster, layout, folder, *program, feature="ten", **variables):
    """Run a program on nodes of a feature as the checks launch it; return its two outputs."""
    asked, told = place(family("srun", ""), layout)
    script = folder / "job.sh"
    lines = ["#!/bin/sh", *(f"export {name}={value}" for name, value in variables.items())]
    options = exported("srun", asked, told)
    lines.append(" ".join(["srun", *options, "sh", str(RANK), *map(str, program)]))
    lines.append("echo $? > status.part && mv status.part status")
    script.write_text("\n".join(lines) + "\n")
    done = cluster.run(
        "sbatch", "--parsable", "--time=5", f"--constraint={feature}", "--exclusive",
        *(["--core-spec=0"] if layout.per_node > 1 else []),
        f"--ntasks={layout.processes}", f"--ntasks-per-node={layout.per_node}",
        f"--output={folder}/out", f"--error={folder}/err", f"--chdir={folder}", script,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    try:
        cluster.wait_for((folder / "status").exists, "the end of the job")
    finally:
        # One that hangs must not keep the nodes from the tests that follow.
        cluster.run("scancel", done.stdout.strip())
    assert (folder / "status").read_text() == "0\n", (folder / "err").read_text()
    return (folder / "out").read_text(), (folder / "err").read_text()


@pytest.mark.parametrize("mapping", LAYOUTS)
def test_srun_puts_four_ranks_on_two_nodes_as_asked_and_each_on_a_core(cluster, tmp_path, mapping):
    out, err = submit(cluster, LAYOUTS[mapping], tmp_path, "hostname")
    assert sorted(out.split()) == ["node1", "node1", "node2", "node2"]
    ranks = read_ranks(err)
    assert misplaced(ranks, LAYOUTS[mapping]) == []
    (other,) = set(LAYOUTS) - {mapping}
    (found,) = misplaced(ranks, LAYOUTS[other])
    assert f"mapping {other} puts rank 1 on" in found
    # Bound, and nobody shares.
    assert len({(rank.node, rank.cpus) for rank in ranks}) == 4
    assert all(rank.cpus.isdecimal() for rank in ranks)


def test_srun_puts_two_ranks_on_one_node(cluster, tmp_path):
    _, err = submit(cluster, Layout(2, 2, "intra-node"), tmp_path, "hostname")
    assert misplaced(read_ranks(err), Layout(2, 2, "intra-node")) == []


def program(mpi, folder):
    """Return the command of a program that sends 20 MB each way between the ranks 0 and 1."""
    if mpi == "intel-mpi":
        return (WHEELS / "bin/IMB-MPI1", "PingPong", "-iter", "20", "-msglog", "19:20"), {
            "LD_LIBRARY_PATH": WHEELS / "lib",
            "I_MPI_ROOT": WHEELS,
        }
    source = SWING
    if mpi == "mpich":
        # 4.0.2 over UCX now and then hangs in MPI_Finalize (its pull request 6596).
        end = "MPI_Barrier(MPI_COMM_WORLD); fflush(0); _exit(0);"
        source = (
            f"#include <stdio.h>\n#include <unistd.h>{SWING.replace('return MPI_Finalize();', end)}"
        )
    (folder / "swing.c").write_text(source)
    subprocess.run(
        [programs_of(mpi, folder) / "mpicc", folder / "swing.c", "-o", folder / "swing"],
        check=True,
        timeout=PATIENCE,
    )
    return (folder / "swing",), {}


@pytest.mark.parametrize("over", [DEVICE, CONTROL])
@pytest.mark.parametrize("mpi", STARTS)
def test_an_mpi_that_srun_started_crosses_the_network_that_it_is_told(cluster, tmp_path, mpi, over):
    skip_for(why_no_mpi(mpi))

    def sent(interface):
        path = f"/sys/class/net/{interface}/statistics/tx_bytes"
        return [int(cluster.nodes.run(node, "cat", path)) for node in ("node1", "node2")]

    command, needed = program(mpi, tmp_path)
    before = {interface: sent(interface) for interface in (DEVICE, CONTROL)}
    _, err = submit(
        cluster, ONE_EACH, tmp_path, *command,
        **STARTS[mpi], **needed, **messages(mpi, over),
    )  # fmt: skip
    assert misplaced(read_ranks(err), ONE_EACH) == []
    for interface in before:
        for old, new in zip(before[interface], sent(interface), strict=True):
            if interface == over:
                assert new - old > 20 * 2**20
            else:
                # Slurm's own messages, or a few bytes in which a node asks for an address again.
                assert new - old < 10**6


@needs_wheels
def test_imb_runs_across_the_nodes_as_koop2008_is_configured(measured):
    environment = measured.environment()
    measured.configure(environment, measured.partition("ten", environment))
    run = measured.imb("(PingPong|Allreduce|Barrier)%np=2%placement=inter-node", *TINY)
    status, verdict = measured.site.gate()
    assert (run.status, status) == (0, 0), run.output
    assert (verdict["selected"], verdict["passed"]) == (3, 3)
    for path in (measured.site.var / "output").rglob("rfm_job.err"):
        assert [rank.node for rank in read_ranks(path.read_text())] == ["node1", "node2"]
    script = next((measured.site.var / "output").rglob("rfm_job.sh")).read_text()
    assert "#SBATCH --constraint=ten\n#SBATCH --exclusive\n" in script
    assert re.search(r"^srun --distribution=block:block --cpu-bind=cores sh \S+rank.sh \S+IMB-MPI1",
                     script, re.MULTILINE)  # fmt: skip
    for case in results.session(measured.site.database).cases:
        # However short the job was.
        assert case.nodes == ("node1", "node2")
        assert int(case.provenance["bytes"].split()[0]) > 0
        assert "placement" not in case.provenance


@needs_wheels
def test_on_one_host_imb_runs_through_srun_and_says_that_nodes_are_not_proven(at, one_host):
    measured = at(one_host)
    # Its own choice of a way is none of a network's.
    environment = measured.environment(over=MEMORY)
    part = measured.partition("ten", environment)
    part["extras"] |= {"verify_placement": False, "fabric": {}}
    measured.configure(environment, part)
    run = measured.imb("Barrier%np=2%placement=inter-node", *TINY)
    status, _ = measured.site.gate()
    assert (run.status, status) == (0, 0), run.output
    (case,) = results.session(measured.site.database).cases
    assert case.provenance["placement"] == "not verified"


@needs_wheels
def test_a_case_whose_ranks_share_a_node_fails_as_misplaced(measured):
    environment = measured.environment()
    part = measured.partition("ten", environment, cores=2)
    # Variables of srun, as a user's profile may set them, of which the check knows nothing.
    crowd = {"SLURM_NNODES": "1", "SLURM_JOB_NUM_NODES": "1", "SLURM_NTASKS_PER_NODE": "2"}
    environment["env_vars"] += [[name, value] for name, value in crowd.items()]
    measured.configure(environment, part)
    run = measured.imb("Barrier%np=2%placement=inter-node", *TINY)
    status, verdict = measured.site.gate()
    print(run.output)
    assert (run.status, status) == (1, 1), run.output
    assert "had 2 on node1" in verdict["problems"][0]["text"]


@needs_wheels
def test_a_bandwidth_that_took_the_control_network_fails(measured):
    environment = measured.environment(over=CONTROL)
    measured.configure(environment, measured.partition("ten", environment))
    run = measured.imb("PingPong%np=2%placement=inter-node", *LARGE)
    status, verdict = measured.site.gate()
    assert (run.status, status) == (1, 1), run.output
    assert f"bytes went over {DEVICE} of node1" in verdict["problems"][0]["text"]
