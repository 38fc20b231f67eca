"""Real MPIs between two nodes with a real network: `tests/netns.py`, placement, and what moved."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.fabric import Facts
from acceptance.fabric.counters import bytes_moved
from acceptance.fabric.link_report import parse as read_links
from acceptance.machine.placement import Layout, exported, family, misplaced, place, read_ranks
from acceptance.suites import imb_output
from tests import stored as results
from tests.conftest import needs_wheels, only_problem
from tests.needs import NODES, requires_cores, skip_for, why_no_mpi
from tests.netns import CONTROL, DEVICE, MEMORY, NAMES, Pair, why_not
from tests.places import PATIENCE, ROOT, WHEELS
from tests.processes import alive, wait_until

RANK = ROOT / "utils/acceptance/machine/rank.sh"
MPIS = ("openmpi", "mpich", "intel-mpi")
LAYOUTS = {kind: Layout(4, 2, "inter-node", kind) for kind in ("block", "cyclic")}
#: Two nodes of one core: a rank on each.
ONE_EACH = Layout(2, 1, "inter-node")
#: Messages that are large enough for a bandwidth.
LARGE = ("-S", "ImbMpi1.msglog=19:20", "-S", "ImbMpi1.repetitions=20")
#: The smallest run of a case.
TINY = ("-S", "ImbMpi1.msglog=0:6", "-S", "ImbMpi1.repetitions=5")
#: MPICH 4.0.2 over UCX now and then hangs in MPI_Finalize (its pull request 6596).
ATTEMPTS = 3
SWING = """
#include <mpi.h>
static char buffer[1 << 20];
int main(int argc, char **argv)
{
    int rank, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (i = 0; i < 42; i++)
        if (i % 2 == rank)
            MPI_Send(buffer, sizeof buffer, MPI_CHAR, !rank, i, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, sizeof buffer, MPI_CHAR, !rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
"""

needs_two_cores = requires_cores(2)


@pytest.fixture
def mpi(request):
    """The MPI of this name, if it is installed."""
    skip_for(why_no_mpi(request.param))
    return request.param


def launch(pair, mpi, layout, folder, program=("hostname",), **how):
    """Launch a program through rank.sh as the checks do; return what the ranks said."""
    asked, variables = place(family("mpiexec", mpi), layout)
    environment = {**variables, **pair.variables(mpi, cores=layout.per_node, **how)}
    launcher = f"mpiexec.{mpi}"
    if mpi == "intel-mpi":
        launcher = WHEELS / "bin/mpiexec"
        environment |= {"I_MPI_ROOT": str(WHEELS), "LD_LIBRARY_PATH": str(WHEELS / "lib")}
    options = exported(family("mpiexec", mpi), asked, variables)
    for left in reversed(range(ATTEMPTS if mpi == "mpich" else 1)):
        try:
            done = subprocess.run(
                [launcher, "-n", str(layout.processes), *options, "sh", RANK, *program],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **environment},
            )
            break
        except subprocess.TimeoutExpired:
            if not left:
                raise
    assert done.returncode == 0, done.stderr
    return done


def run_imb(site, pair, names, *options, cores=1, fabric=None, **how):
    """Run cases of checks/imb.py on the pair; return ReFrame's result and the gate's."""
    environment = pair.environment("intel-mpi", cores=cores, **how)
    pair.join(site, environment, cores=cores, fabric=fabric)
    run = site.reframe("-c", "checks/imb.py", "-r", "-n", names, *options)
    return run, site.gate()


def kept(site, name):
    """Return the text of the one file of this name that ReFrame has kept."""
    (path,) = [path for path in (site.var / "output").rglob(name) if path.is_file()]
    return path.read_text()


def moved(site, device):
    """Return the bytes that each node moved over an interface while the program ran."""
    found = {}
    for node in NAMES:
        before, after = (
            read_links(kept(site, f"{node}.{when}"), when) for when in ("before", "after")
        )
        assert before.name == node
        found[node] = bytes_moved(before, after, Facts("ethernet", device=device))
    return found


def test_a_node_has_its_own_name_and_network_and_the_cores_of_the_machine(two_nodes):
    for node in NAMES:
        assert two_nodes.run(node, "hostname") == f"{node}\n"
        interfaces = two_nodes.run(node, "ls", "/sys/class/net").split()
        assert sorted(interfaces) == [CONTROL, DEVICE, "lo"]
        said = read_links(two_nodes.run(node, "sh", ROOT / "utils/acceptance/fabric/link.sh"))
        assert (said.name, said.interfaces[DEVICE].up) == (node, True)
        for folder in ("/sys/fs/cgroup", "/sys/devices/system/cpu/cpu0/topology"):
            assert two_nodes.run(node, "ls", folder).split() == sorted(os.listdir(folder))
        addresses = two_nodes.run(node, "getent", "hosts", *NAMES, socket.gethostname())
        assert two_nodes.addresses[node] in addresses


def test_the_agent_takes_nothing_of_the_environment_along_and_gives_the_status(two_nodes):
    agent = two_nodes.agent()
    done = subprocess.run(
        [agent, "-x", "-l", "me", "node2", "hostname;", "echo", "'$LEFT_BEHIND'", "$LEFT_BEHIND"],
        capture_output=True, text=True, env={**os.environ, "LEFT_BEHIND": "no"},
    )  # fmt: skip
    assert done.stdout == "node2\n$LEFT_BEHIND\n"
    assert subprocess.run([agent, two_nodes.addresses["node1"], "exit", "3"]).returncode == 3
    done = subprocess.run([agent, "node3", "true"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (255, "agent: no node is called node3\n")


def test_a_pair_leaves_nothing_behind_when_a_test_fails(two_nodes, tmp_path):
    with contextlib.suppress(ZeroDivisionError), Pair(tmp_path) as pair:
        assert pair.link != two_nodes.link
        assert pair.addresses["node1"] != two_nodes.addresses["node1"]
        holders = [holder.pid for holder in pair.holders.values()]
        link = Path("/sys/class/net") / pair.link
        assert link.exists()
        left = subprocess.Popen(
            [pair.agent(), "node1", "echo in; exec sleep 600"], stdout=subprocess.PIPE, text=True
        )
        assert left.stdout.readline() == "in\n"
        raise ZeroDivisionError
    left.communicate(timeout=PATIENCE)
    assert left.returncode == -signal.SIGKILL
    assert alive(holders) == []
    assert wait_until(lambda: not link.exists())


def test_a_pair_leaves_nothing_behind_when_the_tests_are_killed(two_nodes, tmp_path):
    script = """if True:
        import sys, time
        from tests.netns import Pair
        with Pair(sys.argv[1]) as pair:
            print(pair.link, *(holder.pid for holder in pair.holders.values()), flush=True)
            time.sleep(600)
    """
    tests = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    link, *holders = tests.stdout.readline().split()
    assert len(alive(holders)) == 3
    tests.kill()
    tests.communicate()
    assert wait_until(lambda: not alive(holders) and not Path(f"/sys/class/net/{link}").exists())


@needs_two_cores
@pytest.mark.parametrize("mapping", LAYOUTS)
@pytest.mark.parametrize("mpi", MPIS, indirect=True)
def test_four_real_ranks_stand_on_two_nodes_as_asked(two_nodes, tmp_path, mpi, mapping):
    done = launch(two_nodes, mpi, LAYOUTS[mapping], tmp_path)
    assert sorted(done.stdout.split()) == ["node1", "node1", "node2", "node2"]
    ranks = read_ranks(done.stderr)
    assert misplaced(ranks, LAYOUTS[mapping]) == []
    (other,) = set(LAYOUTS) - {mapping}
    (found,) = misplaced(ranks, LAYOUTS[other])
    assert f"mapping {other} puts rank 1 on" in found


@pytest.mark.parametrize("mpi", MPIS, indirect=True)
def test_two_names_that_lead_to_one_node_are_noticed(two_nodes, tmp_path, mpi):
    done = launch(two_nodes, mpi, ONE_EACH, tmp_path, leads={"node2": "node1"})
    (found,) = misplaced(read_ranks(done.stderr), ONE_EACH)
    assert found == "asked for 1 ranks on each of 2 nodes, had 2 on node1"


@needs_wheels
@needs_two_cores
def test_the_real_pingpong_crosses_the_network_between_two_nodes(site, two_nodes):
    run, (status, verdict) = run_imb(
        site, two_nodes, "PingPong", "-S", "ImbMpi1.repetitions=100",
    )  # fmt: skip
    assert (run.status, status) == (0, 0), run.output
    assert (verdict["selected"], verdict["passed"]) == (1, 1)
    ranks = read_ranks(kept(site, "rfm_job.err"))
    assert [rank.node for rank in ranks] == [*NAMES]
    (case,) = results.session(site.database).cases
    assert "placement" not in case.provenance
    (table,) = imb_output.parse(kept(site, "rfm_job.out")).tables
    sent = sum(2 * row.size * row.values["repetitions"] for row in table.rows)
    assert sent > 10**8
    for node, total in moved(site, DEVICE).items():
        assert total > sent, node
    # Starting the job, and its output, took the other network.
    assert max(moved(site, CONTROL).values()) < 10**6


def program(mpi, folder):
    """Return the command of a program that sends 20 MB each way between the ranks 0 and 1."""
    if mpi == "intel-mpi":
        return WHEELS / "bin/IMB-MPI1", "PingPong", "-iter", "20", "-msglog", "19:20"
    source = folder / "swing.c"
    source.write_text(SWING)
    subprocess.run([f"mpicc.{mpi}", source, "-o", folder / "swing"], check=True, timeout=PATIENCE)
    return (folder / "swing",)


WAYS = [(mpi, over) for mpi in MPIS for over in (DEVICE, CONTROL, MEMORY)]
# Nothing makes Open MPI take the memory of a node with another name.
WAYS.remove(("openmpi", MEMORY))


@needs_two_cores
@pytest.mark.parametrize(("mpi", "over"), WAYS, indirect=["mpi"])
def test_messages_take_the_way_that_a_test_wants(two_nodes, tmp_path, mpi, over):
    def sent(interface):
        path = f"/sys/class/net/{interface}/statistics/tx_bytes"
        return [int(two_nodes.run(node, "cat", path)) for node in NAMES]

    before = {interface: sent(interface) for interface in (DEVICE, CONTROL)}
    done = launch(two_nodes, mpi, ONE_EACH, tmp_path, program(mpi, tmp_path), over=over)
    # Whichever way the messages take, the ranks stand where they should.
    assert misplaced(read_ranks(done.stderr), ONE_EACH) == []
    for interface in before:
        for old, new in zip(before[interface], sent(interface), strict=True):
            if interface == over:
                assert new - old > 20 * 2**20
            elif interface == DEVICE:
                # Nothing, or a few bytes in which a node asks for the other's address again.
                assert new - old < 10**3
            else:
                assert new - old < 10**6


def test_the_message_network_can_be_shaped_for_a_while(two_nodes):
    def queues():
        return [two_nodes.run(node, "tc", "qdisc", "show", "dev", DEVICE) for node in NAMES]

    before = queues()
    with two_nodes.shaped("1gbit"):
        assert all("tbf" in text and "rate 1Gbit" in text for text in queues())
    assert queues() == before


def test_what_a_machine_lacks_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_not() == f"no {', '.join(NODES)}: install iproute2, util-linux, mount, hostname"
    for tool in NODES:
        (tmp_path / tool).write_text("#!/bin/sh\necho $0 is not permitted >&2\nexit 1\n")
        (tmp_path / tool).chmod(0o755)
    assert why_not().endswith("here: " + str(tmp_path / "unshare") + " is not permitted")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "want root" in why_not()


@needs_wheels
@needs_two_cores
def test_collectives_run_between_two_nodes(site, two_nodes):
    names = "(Allreduce|Alltoall|Bcast|Barrier)%np=2"
    run, (status, verdict) = run_imb(site, two_nodes, names, *TINY)
    assert (run.status, status) == (0, 0), run.output
    assert (verdict["selected"], verdict["passed"]) == (4, 4)


@needs_wheels
@needs_two_cores
def test_collectives_run_with_two_ranks_on_each_of_two_nodes(site, two_nodes):
    names = "(Allreduce|Barrier)%np=4%placement=inter-node"
    run, (status, verdict) = run_imb(site, two_nodes, names, *TINY, cores=2)
    assert (run.status, status) == (0, 0), run.output
    assert (verdict["selected"], verdict["passed"]) == (2, 2)
    for path in (site.var / "output").rglob("rfm_job.err"):
        assert misplaced(read_ranks(path.read_text()), LAYOUTS["block"]) == []


@needs_wheels
@needs_two_cores
@pytest.mark.parametrize(
    "how", [{"hosts": ("node1",)}, {"leads": {"node2": "node1"}}], ids=["host file", "wrong name"]
)
def test_a_case_whose_ranks_share_a_node_fails_as_misplaced(site, two_nodes, how):
    run, (status, verdict) = run_imb(site, two_nodes, "Barrier", *TINY, **how)
    assert (run.status, status) == (1, 1), run.output
    message = only_problem(verdict)
    assert "misplaced: asked for 1 ranks on each of 2 nodes, had 2 on node1" in message


@needs_wheels
@needs_two_cores
@pytest.mark.parametrize("over", [CONTROL, MEMORY])
def test_a_bandwidth_that_missed_the_declared_interface_fails(site, two_nodes, over):
    run, (status, verdict) = run_imb(site, two_nodes, "PingPong", *LARGE, over=over)
    assert (run.status, status) == (1, 1), run.output
    message = verdict["problems"][0]["text"]
    assert f"bytes went over {DEVICE} of node1, the benchmark sends 1048576 at least" in message
    # What was measured stays stored.
    assert results.session(site.database).cases[0].metrics


@needs_wheels
@needs_two_cores
def test_shared_memory_beats_the_wire_and_is_not_believed(site, two_nodes):
    fabric = {"technology": "ethernet", "rate": "1", "device": DEVICE}
    run, (status, verdict) = run_imb(
        site, two_nodes, "PingPong", *LARGE, over=MEMORY, fabric=fabric
    )
    assert (run.status, status) == (1, 1), run.output
    message = verdict["problems"][0]["text"]
    assert re.search(r"implausible: bandwidth_\w+ is \d+\.?\d* MB/s .*not measured over", message)


@needs_wheels
@needs_two_cores
def test_a_sweep_of_small_messages_has_no_peak_to_be_judged(site, two_nodes):
    fabric = {"technology": "ethernet", "rate": "10", "device": DEVICE}
    run, (status, verdict) = run_imb(site, two_nodes, "PingPong", *TINY, fabric=fabric)
    assert (run.status, status) == (0, 0), run.output
    assert verdict["judged"] == {}
