"""Netperf between two nodes of a Slurm, whose srun starts server and client without any MPI."""

import os
import signal
import threading
from pathlib import Path

import pytest

from acceptance.machine.placement import read_ranks
from tests import stored as results
from tests.checks.test_netperf import PROGRAMS, needs_netperf
from tests.netns import DEVICE
from tests.processes import alive, wait_until

pytestmark = needs_netperf


@pytest.fixture
def run(measured):
    """Run a stream of some seconds on two nodes of the cluster; return how ReFrame ended."""
    environment = {
        "name": "sockets",
        "target_systems": ["cluster"],
        "features": ["netperf"],
        "extras": {"suites": {"netperf": os.path.dirname(PROGRAMS)}},
    }
    measured.configure(environment, measured.partition("one", environment, rate="1"))

    def run(seconds):
        return measured.site.reframe(
            "-c", "checks/netperf.py", "-r", "-n", "TCP_STREAM",
            "-S", f"Netperf.length={seconds}", "-S", "time_limit=2m",
        )  # fmt: skip

    return run


def test_srun_starts_server_and_client_on_nodes_of_their_own(measured, run):
    done = run(1)
    status, _ = measured.site.gate()
    assert (done.status, status) == (0, 0), done.output
    (case,) = results.session(measured.site.database).cases
    assert case.nodes == ("node3", "node4")
    assert case.provenance["server"].startswith(f"node4 {DEVICE} ")
    (throughput,) = case.metrics
    assert 0 < throughput.value < 1020
    # A second's bytes, over the declared device of both nodes.
    assert int(case.provenance["bytes"].split()[0]) > 10**5 * throughput.value / 2
    (path,) = (measured.site.var / "output").rglob("rfm_job.err")
    assert [rank.node for rank in read_ranks(path.read_text())] == ["node3", "node4"]


def test_the_server_ends_with_a_client_that_is_killed(measured, run):
    """The client is the program that has netperf's path in its arguments and talks to a server."""
    killed = []

    def processes(program):
        begin = f"{Path(PROGRAMS).with_name(program)}\0".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if (path / "cmdline").read_bytes().startswith(begin) and str(
                    measured.site.var
                ) in os.readlink(path / "cwd"):
                    found.append(int(path.name))
            except OSError:
                continue
        return found

    def kill():
        if wait_until(lambda: processes("netperf")):
            killed.extend([*processes("netperf"), *processes("netserver")])
            os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    done = run(60)
    thread.join()
    assert done.status == 1
    assert len(killed) >= 2
    assert wait_until(lambda: not alive(killed))
    (case,) = results.session(measured.site.database).cases
    assert case.result == "fail"
