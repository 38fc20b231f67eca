"""Netperf between two nodes, and how its server is stopped: `suites/netperf.sh`, checks/netperf.py.

Where netperf itself is what is tested it is the real one; to be stopped, programs that only listen
and wait are enough.
"""

import contextlib
import os
import signal
import socket
import subprocess

import pytest

from acceptance.suites import netperf
from tests import stored as results
from tests.conftest import Site, needs_wheels
from tests.needs import find, requires, requires_cores
from tests.netns import DEVICE
from tests.places import PATIENCE, ROOT
from tests.processes import alive, wait_until

RANK = ROOT / "utils/acceptance/machine/rank.sh"
PROGRAMS = find("netperf")
WITHOUT = (
    "no netperf: install it (Debian 13; non-free in Debian 12), or put netperf and netserver of "
    "another build on PATH"
)
needs_netperf = pytest.mark.skipif(PROGRAMS is None, reason=WITHOUT)

#: A server that listens, and a client that says what it is and waits.
SERVER = """#!/bin/sh
used=$(cat used 2>/dev/null || echo 0)
if [ "$used" != 0 ]; then
    echo $((used - 1)) > used
    echo "address already in use"
    exit 1
fi
exec python3 - "$@" << 'END'
import os, socket, sys, time
words = sys.argv[1:]
server = socket.create_server((words[words.index("-L") + 1], int(words[words.index("-p") + 1])))
with open("server.pid", "w") as file:
    file.write(str(os.getpid()))
time.sleep(600)
END
"""
CLIENT = """#!/bin/sh
[ "$1" != -V ] || { echo "Netperf version ${VERSION:-2.7.0}"; exit; }
echo "$$ $PPID" > client.part
mv client.part client.pid
exec sleep ${LASTS:-600}
"""


@pytest.fixture
def job(tmp_path):
    """The folder of a job, and how netperf.sh is started there as both ranks, or as one."""
    for name, text in (("netserver", SERVER), ("netperf", CLIENT)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    # An address of this machine at an interface of its own name; tests need no network.
    (tmp_path / "ip").write_text(
        '#!/bin/sh\n[ "$1" = link ] || echo "1: lo inet 127.0.0.1/8 scope host lo"\n'
    )
    (tmp_path / "ip").chmod(0o755)
    started = []

    def start(*ranks, seconds=60, **more):
        script = "\n".join(
            f"PMI_RANK={rank} sh {RANK} sh {netperf.SCRIPT} ./netserver {seconds} lo '' '' "
            f"./netperf -t TCP_STREAM & echo $! >> ranks"
            for rank in ranks
        )
        started.append(subprocess.Popen(
            ["sh", "-c", f"{script}\nwait"], cwd=tmp_path, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **more},
        ))  # fmt: skip
        return started[-1]

    yield tmp_path, start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def numbers(path):
    """Return the numbers in a file, once it is there."""
    assert wait_until(path.exists), path
    return [int(word) for word in path.read_text().split()]


def gone(folder):
    """Tell that the server, which did run, is gone."""
    (server,) = numbers(folder / "server.pid")
    return wait_until(lambda: not alive([server]))


def test_the_server_ends_with_the_client_and_its_port_is_free_again(job):
    folder, start = job
    process = start(1, 0, LASTS="0.5")
    output, errors = process.communicate(timeout=PATIENCE)
    line, *_ = output.splitlines()
    node = socket.gethostname()
    assert line.startswith(f"netperf 2.7.0 client={node} server={node} device=lo address=127.0.0.1")
    assert gone(folder)
    port = int(line.rpartition("=")[2])
    socket.create_server(("127.0.0.1", port)).close()
    assert errors.count("placement rank=") == 2
    assert "netperf.sh" not in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_when_the_client_is_killed(job, number):
    folder, start = job
    # Killed at once, the client tells nobody: without a launcher only its time ends the server.
    start(1, 0, seconds=60 if number == signal.SIGTERM else 3)
    _, shell = numbers(folder / "client.pid")
    os.kill(shell, number)
    assert gone(folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_with_what_started_it(job, number):
    folder, start = job
    process = start(1, seconds=3)
    assert wait_until((folder / "netperf.server").exists)
    # The group, as launchers do it.
    os.killpg(process.pid, number)
    assert gone(folder)


def test_a_server_that_nobody_asks_ends_after_its_time_and_says_so(job):
    folder, start = job
    process = start(1, seconds=1)
    _, errors = process.communicate(timeout=PATIENCE)
    assert "netserver ended before the client did" in errors
    assert gone(folder)


def test_another_port_is_taken_where_one_is_in_use(job):
    folder, start = job
    (folder / "used").write_text("2")
    start(1)
    assert wait_until((folder / "netperf.server").exists)
    assert (folder / "used").read_text() == "0\n"
    (folder / "netperf.ended").touch()
    assert gone(folder)


def test_a_server_that_gets_no_port_says_why(job):
    folder, start = job
    (folder / "used").write_text("99")
    _, errors = start(1).communicate(timeout=PATIENCE)
    assert "no port for ./netserver at 127.0.0.1 of lo: address already in use" in errors


@pytest.mark.parametrize("version", ["2.4.4", "unknown"])
def test_a_netperf_that_knows_no_selectors_is_refused(job, version):
    _, start = job
    process = start(1, 0, VERSION=version)
    _, errors = process.communicate(timeout=PATIENCE)
    assert f"./netperf is version {version}; 2.5 and newer are read" in errors


def test_a_server_that_is_not_there_is_named(job):
    folder, start = job
    (folder / "netserver").unlink()
    _, errors = start(1).communicate(timeout=PATIENCE)
    assert "./netserver: missing or not executable" in errors


def test_a_script_without_a_rank_says_so(job):
    folder, _ = job
    done = subprocess.run(
        ["sh", netperf.SCRIPT, *"123456"], capture_output=True, text=True, cwd=folder,
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert (done.returncode, "rank '' of a job of two" in done.stderr) == (1, True)


@pytest.fixture(scope="module")
def measured(tmp_path_factory, two_nodes):
    """Three cases of the real netperf, on a network that is slower towards the server."""
    site = Site(tmp_path_factory.mktemp("netperf"))
    environment = two_nodes.environment("intel-mpi")
    environment["features"].append("netperf")
    environment["extras"]["suites"]["netperf"] = os.path.dirname(PROGRAMS)
    two_nodes.join(site, environment, mode="acceptance")
    # Behind the bridge, where what is too much is dropped and nobody waits.
    into = ["nsenter", "--target", str(two_nodes.holders["switch"].pid), "--net", "tc", "qdisc"]
    port = ["dev", f"node2{DEVICE}", "root"]
    slow = ["tbf", "rate", f"{SLOW}mbit", "burst", "32kb", "latency", "5ms"]
    subprocess.run([*into, "replace", *port, *slow], check=True)
    try:
        names = "STREAM.*(size=4096.*=262144|size=1472)|TCP_RR.*size=128"
        run = site.reframe("-c", "checks/netperf.py", "-r", "-n", names, "-S", "Netperf.length=1")
    finally:
        subprocess.run([*into, "delete", *port], check=True)
    assert run.status == 0, run.output
    cases = results.session(site.database).cases
    return {case.benchmark: case for case in cases}


#: Mbit/s.
SLOW = 50


def values(case):
    return {metric.name: metric.value for metric in case.metrics}


@needs_netperf
@needs_wheels
@requires_cores(2)
def test_no_stream_is_faster_than_the_shaped_network(measured):
    stream = values(measured["netperf.TCP_STREAM"])
    assert 0 < stream["throughput"] < 1.02 * SLOW
    assert values(measured["netperf.UDP_STREAM"])["received"] < 1.02 * SLOW
    assert values(measured["netperf.TCP_RR"])["transactions"] > 0


@needs_netperf
@needs_wheels
@requires_cores(2)
def test_datagrams_that_were_lost_are_told(measured):
    case = measured["netperf.UDP_STREAM"]
    found = values(case)
    assert found["received"] < found["throughput"]
    share = 100 * (1 - found["received"] / found["throughput"])
    assert float(case.provenance["lost"].split()[0]) == pytest.approx(share, abs=0.1)


@needs_netperf
@needs_wheels
@requires_cores(2)
def test_a_case_says_where_it_ran_with_which_sockets_and_what_went_over_the_device(measured):
    case = measured["netperf.TCP_RR"]
    assert case.provenance["server"].startswith(f"node2 {DEVICE} 198.18.0.")
    assert case.provenance["suite"].startswith("Netperf 2.")
    assert (case.keys["send_size"], case.keys["recv_size"]) == ("128", "8192")
    assert (case.keys["nodes"], case.keys["placement"]) == ("2", "inter-node")
    # What Linux gave is the key, and what it was asked for is told.
    if case.keys["local_socket"] != "2048/256":
        assert case.provenance["sockets"].startswith("asked for buffers of 2048,256,2048,256, had ")
    stream = measured["netperf.TCP_STREAM"]
    assert (stream.keys["local_socket"], "sockets" in stream.provenance) == ("262144", False)
    assert int(stream.provenance["bytes"].split()[0]) > 10**5


@needs_netperf
@needs_wheels
@requires_cores(2)
def test_a_server_on_the_node_of_the_client_measures_no_network(site, two_nodes):
    environment = two_nodes.environment("intel-mpi", leads={"node2": "node1"})
    environment["features"].append("netperf")
    environment["extras"]["suites"]["netperf"] = os.path.dirname(PROGRAMS)
    two_nodes.join(site, environment)
    run = site.reframe(
        "-c", "checks/netperf.py", "-r", "-n", "TCP_STREAM", "-S", "Netperf.length=1"
    )
    assert run.status == 1, run.output
    kinds = {finding.kind for finding in results.session(site.database).cases[0].findings}
    assert {"misplaced", "no-bytes"} <= kinds


@needs_netperf
@requires("unshare", "ip", "hostname")
def test_one_machine_is_measured_between_two_networks_of_its_own_and_said_to_be(site):
    if why := subprocess.run(["sh", netperf.NETWORKS, "true"], capture_output=True).stderr:
        pytest.skip(f"no network namespaces for this user: {why.decode()}")
    site.replay("", program="unused", suite="netperf")
    path = site.folder / "site.py"
    text = path.read_text().replace(str(site.folder / "bin"), os.path.dirname(PROGRAMS))
    path.write_text(text.replace('"nodes": 2', '"nodes": 1, "mode": "smoke"'))
    run = site.reframe(
        "-c", "checks/netperf.py", "-r", "-n", "UDP_STREAM", "-S", "Netperf.length=1"
    )
    assert run.status == 0, run.output
    (case,) = results.session(site.database).cases
    assert case.provenance["network"].startswith(
        "between two namespaces of one machine: no adapter"
    )
    assert case.provenance["server"].endswith(" net0 198.18.0.2")
    assert (case.keys["nodes"], case.keys["placement"]) == ("1", "intra-node")
