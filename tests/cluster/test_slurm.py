"""The cluster of the tests itself: it starts, says why it does not, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from acceptance.core.paths import ROOT
from tests import needs
from tests.cluster import slurm
from tests.cluster.keeper import descendants
from tests.processes import alive, wait_until

SLEEP = "#!/bin/sh\nexec sleep 600\n"


def listening(processes):
    """Return the addresses on which processes listen, as /proc/net/tcp writes them."""
    sockets = set()
    for process in processes:
        for entry in Path(f"/proc/{process}/fd").glob("*"):
            try:
                sockets.add(os.readlink(entry))
            except OSError:
                continue
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            # 0A is LISTEN; a socket of UDP has no states, and may have a peer.
            if f"socket:[{words[9]}]" in sockets and (words[3] == "0A" or table[0] == "u"):
                found.add(words[1].partition(":")[0])
    return found


def with_a_job(cluster, folder):
    """Start a job that outlives its test; return all processes of the cluster."""
    script = folder / "job.sh"
    script.write_text(SLEEP)
    done = cluster.run("sbatch", "--output=/dev/null", script)
    assert done.returncode == 0, done.stderr
    cluster.wait_for(lambda: "RUNNING" in cluster.jobs().values(), "a job that runs")
    cluster.wait_for(lambda: sleeping(cluster), "the program of the job")
    return descendants(cluster.keeper.pid)


def sleeping(cluster):
    words = [
        Path(f"/proc/{process}/cmdline").read_text()
        for process in alive(descendants(cluster.keeper.pid))
    ]
    return "sleep\x00600\x00" in words


def test_each_node_stands_in_a_namespace_of_its_own(cluster):
    done = cluster.run("srun", "--ntasks=4", "--ntasks-per-node=1", "hostname", node=cluster.head)
    assert sorted(done.stdout.split()) == ["node1", "node2", "node3", "node4"], done.stderr
    networks = {os.readlink(f"/proc/{cluster.processes[name]}/ns/net") for name in cluster.names}
    assert len(networks) == 4
    assert os.readlink("/proc/self/ns/net") not in networks


def test_on_one_host_the_daemons_listen_on_the_loopback_device_only(one_host):
    done = one_host.run("srun", "--nodes=2", "printenv", "SLURMD_NODENAME")
    assert sorted(done.stdout.split()) == ["node1", "node2"], done.stderr
    assert listening(one_host.processes.values()) == {"0100007F"}


@pytest.fixture
def folder():
    """A folder with a short path: that of a socket has 107 characters at most."""
    with tempfile.TemporaryDirectory(prefix="slurm", ignore_cleanup_errors=True) as name:
        yield Path(name)


def test_what_ran_has_gone_when_the_cluster_stops(one_host, folder):
    with slurm.Cluster(folder / "slurm") as cluster:
        running = with_a_job(cluster, folder)
        assert set(cluster.processes.values()) < running
    assert alive(running) == []
    # Another cluster of the same machine is none the worse.
    assert alive(one_host.processes.values()) == list(one_host.processes.values())


def test_what_ran_has_gone_when_the_tests_are_killed(one_host, folder):
    script = """if True:
        import sys, time
        from pathlib import Path
        from tests.cluster.slurm import Cluster
        from tests.cluster.test_slurm import with_a_job
        folder = Path(sys.argv[1])
        with Cluster(folder / "slurm") as cluster:
            print(cluster.keeper.pid, *with_a_job(cluster, folder), flush=True)
            time.sleep(600)
    """
    tests = subprocess.Popen(
        [sys.executable, "-c", script, folder], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    running = [int(word) for word in tests.stdout.readline().split()]
    assert len(alive(running)) > 6
    tests.send_signal(signal.SIGKILL)
    tests.communicate()
    assert wait_until(lambda: not alive(running)), alive(running)


def test_a_daemon_that_ends_says_why(one_host, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "_NODE", "NodeName={name} Nonsense=1")
    with pytest.raises(slurm.ClusterFault, match="slurmctld ended") as told:
        slurm.Cluster(tmp_path).__enter__()
    assert "Nonsense" in str(told.value)


def test_what_a_machine_lacks_is_told(tmp_path):
    (tmp_path / "munged").write_text("")
    (tmp_path / "munged").chmod(0o755)
    said = needs.why_not("munged", "mungekey", "slurmd", "slurmdbd", "sinfo", path=str(tmp_path))
    assert said == "no mungekey, slurmd, slurmdbd, sinfo: install munge, slurm-wlm, slurmdbd"
