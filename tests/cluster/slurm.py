"""A real Slurm for the tests: its daemons started by hand, on nodes in namespaces or on one host.

    with Cluster(folder, nodes) as cluster:
        site.environment |= cluster.environment
        cluster.run("sinfo")

`nodes` is a `tests.netns.Nodes` whose first one, the head, has the controller; without it all
daemons stand on the loopback device of this machine, and a node is no more than a name. The
configuration, the state and the logs are below `folder`. The daemons belong to `keeper.py`, and end
with the process that made it.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.places import PATIENCE

KEEPER = Path(__file__).with_name("keeper.py")
DAEMONS = ("munged", "mungekey", "slurmctld", "slurmd")
CLIENTS = ("sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel", "sacct")
ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db")
#: Debian keeps daemons out of the path of users.
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"

_CONF = """
ClusterName=acceptance
SlurmctldHost={host}({address})
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
# The steps of two nodes would use the same files: they have one /tmp.
TmpFS={folder}/tmp/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/spool/%n/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/spool/%n/slurmd.log
SlurmctldDebug=info
SlurmdDebug=info
{network}
ProctrackType=proctrack/linuxproc
TaskPlugin={task}
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AllowSpecResourcesUsage=YES
MpiDefault=pmi2
# What nodes say they have; they are all the same machine.
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1,sched_min_interval=0
# A job that is over its limit, and a controller that went, are noticed soon.
OverTimeLimit=0
KillWait=1
InactiveLimit=0
SlurmctldTimeout=10
SlurmdTimeout=300
MessageTimeout={timeout}
PropagateResourceLimits=NONE
{accounting}
{nodes}
PartitionName=main Default=YES Nodes={names} MaxTime=INFINITE State=UP
"""
_NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr={address} Port={port} CPUs={cpus} Boards=1 "
    "SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=512 State=UNKNOWN "
    "Feature={features} {more}"
)
_DBD = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr={address}
DbdPort={port}
SlurmUser={user}
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageLoc=slurm
StorageUser={user}
{network}
"""


# Where there is no network of their own, daemons listen on the loopback device only.
_OWN_ADDRESS = "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny"


class ClusterFault(Exception):
    """A daemon that did not start, and what it said."""


class Cluster:
    """Munge, a controller and a slurmd for each node, and perhaps slurmdbd with its database.

    `features` are those of each node, by its name, as in slurm.conf. `cpus` are those of each
    node; more than the machine has may be claimed. `timeout` (s) is how long a client waits for
    the controller before it asks again. Jobs are as `nice` to the tests that run beside them.
    """

    def __init__(
        self, folder, nodes=None, *, features=None, cpus=2, accounting=False, timeout=10, nice=0
    ):
        self.folder = Path(folder)
        self.nodes = nodes
        self.head = nodes.names[0] if nodes else None
        self.names = nodes.names[1:] if nodes else ("node1", "node2")
        self.features = features or {}
        self.cpus = cpus
        self.accounting, self.timeout, self.nice = accounting, timeout, nice
        self.address = nodes.addresses[self.head] if nodes else "127.0.0.1"
        self.conf = self.folder / "slurm.conf"
        #: What a client of this Slurm needs in its environment.
        self.environment = {"SLURM_CONF": str(self.conf)}
        #: Daemon -> the number of its process.
        self.processes = {}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Start all daemons, and wait until each node is ready for jobs."""
        for name in (
            "state",
            *(f"{kind}/{name}" for kind in ("spool", "tmp") for name in self.names),
        ):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        self.keeper = subprocess.Popen(
            [sys.executable, KEEPER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # An interrupt from the keyboard is for the tests, which then stop this.
            start_new_session=True,
        )
        self.user = subprocess.run(
            ["id", "-un"], capture_output=True, text=True, check=True
        ).stdout.strip()
        self._start_munge()
        if self.accounting:
            self._start_accounting()
        self._configure()
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        self.wait_for(lambda: self.states() == dict.fromkeys(self.names, "idle"), "idle nodes")

    def _start_munge(self):
        key, sock = self.folder / "munge.key", self.folder / "munge.socket"
        subprocess.run(
            ["mungekey", "--create", f"--keyfile={key}"], check=True, env=self._environment()
        )
        files = {"key": key, "socket": sock, "pid": "munged.pid", "log": "munged.log"}
        files["seed"] = "munged.seed"
        self._start(
            "munged", "--foreground", "--force", "--num-threads=2",
            *(f"--{name}-file={self.folder / path}" for name, path in files.items()
              if name != "socket"),
            f"--socket={sock}",
        )  # fmt: skip
        self.wait_for(sock.exists, "munge.socket")

    def _start_accounting(self):
        data, sock = self.folder / "mariadb", self.folder / "mariadb.socket"
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={self.user}",
             "--auth-root-authentication-method=socket",
             f"--auth-root-socket-user={self.user}", "--skip-test-db"],
            check=True, capture_output=True, env=self._environment(),
        )  # fmt: skip
        self._start(
            "mariadbd", "--no-defaults", f"--datadir={data}", f"--user={self.user}",
            f"--socket={sock}", "--skip-networking", "--innodb-buffer-pool-size=32M",
            f"--pid-file={self.folder / 'mariadbd.pid'}",
        )  # fmt: skip
        self.wait_for(sock.exists, "mariadb.socket")
        self.accounting_port = 6819 if self.nodes else _free_ports(1)[0]
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(
            _DBD.format(
                folder=self.folder,
                address=self.address,
                port=self.accounting_port,
                user=self.user,
                network="" if self.nodes else _OWN_ADDRESS,
            )
        )
        conf.chmod(0o600)
        self._start(
            "slurmdbd", "-D",
            environment={"MYSQL_UNIX_PORT": str(sock)}, node=self.head,
        )  # fmt: skip
        self.wait_for(lambda: _answers(self.address, self.accounting_port), "slurmdbd")

    def _configure(self):
        host = self.head or socket.gethostname()
        if self.nodes:
            port = 6817
            places = {name: (name, self.nodes.addresses[name], 6818) for name in self.names}
        else:
            port, *ports = _free_ports(1 + len(self.names))
            places = {
                name: (host, "127.0.0.1", its) for name, its in zip(self.names, ports, strict=True)
            }
        lines = [
            _NODE.format(
                name=name, host=where, address=its, port=number, cpus=self.cpus,
                features=self.features.get(name, "none"),
                more=f"CpuSpecList={self.names.index(name) % 2}",
            )
            for name, (where, its, number) in places.items()
        ]  # fmt: skip
        accounting = (
            "AccountingStorageType=accounting_storage/slurmdbd\n"
            f"AccountingStorageHost={self.address}\n"
            f"AccountingStoragePort={self.accounting_port}\n"
            f"AccountingStoragePass={self.folder}/munge.socket"
            if self.accounting
            else ""
        )
        self.conf.write_text(
            _CONF.format(
                host=host, address=self.address, port=port, user=self.user, folder=self.folder,
                timeout=self.timeout,
                network="" if self.nodes else _OWN_ADDRESS,
                task="task/affinity" if self.nodes else "task/none", accounting=accounting,
                nodes="\n".join(lines), names=",".join(self.names),
            )
        )  # fmt: skip

    def start_controller(self):
        """Start slurmctld, and wait until it answers."""
        self._start("slurmctld", "-D", "-f", self.conf, node=self.head)
        self.wait_for(lambda: "UP" in self.run("scontrol", "ping").stdout, "slurmctld")

    def stop_controller(self):
        """End slurmctld as a machine that is shut down does: it saves its state."""
        self.end("slurmctld", signal.SIGTERM)

    def start_node(self, name):
        """Start the slurmd of a node."""
        command = ["nice", "-n", self.nice, "slurmd", "-D", "-N", name, "-f", self.conf]
        self._start(*command, name=name, node=name)

    def end(self, name, how=signal.SIGKILL):
        """End a daemon by the number of its process, and wait until it has gone."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, how)
        self.wait_for(lambda: not _runs(process), f"the end of {name}")

    def _start(self, *command, name=None, node=None, environment=None):
        name = name or command[0]
        into = self.nodes.into(node) if self.nodes and node else []
        order = {
            "argv": [str(word) for word in (*into, *command)],
            "log": str(self.folder / f"{name}.out"),
            "environment": {**self._environment(), **(environment or {})},
        }
        self.keeper.stdin.write(json.dumps(order) + "\n")
        self.keeper.stdin.flush()
        said = self.keeper.stdout.readline().strip()
        if not said.isdecimal():
            raise ClusterFault(f"{name}: {said or 'the keeper has ended'}")
        self.processes[name] = int(said)

    def _environment(self):
        return {**os.environ, **self.environment, "PATH": PATH}

    def wait_for(self, true, what):
        """Wait until something is so; ClusterFault, with what the daemons said, if it never is."""
        end = time.monotonic() + PATIENCE
        while not true():
            if gone := [name for name, process in self.processes.items() if not _runs(process)]:
                raise ClusterFault(f"{', '.join(gone)} ended\n{self.said()}")
            if time.monotonic() > end:
                raise ClusterFault(f"waited {PATIENCE} s for {what}\n{self.said()}")
            time.sleep(0.05)

    def said(self):
        """Return the last lines of what each daemon said."""
        found = []
        wanted = ("*.out", "*.log", "spool/*/*.log")
        for path in sorted(path for where in wanted for path in self.folder.glob(where)):
            lines = path.read_text(errors="replace").splitlines()
            found += [f"{path.name}: {line}" for line in lines[-8:]]
        return "\n".join(found)

    def stop(self):
        """End all daemons and whatever they started."""
        if keeper := getattr(self, "keeper", None):
            keeper.stdin.close()
            keeper.wait(timeout=PATIENCE)
            keeper.stdout.close()
        self.processes.clear()

    def run(self, *command, node=None):
        """Run a command of a user; return what came of it."""
        into = self.nodes.into(node) if node and self.nodes else []
        return subprocess.run(
            [*into, *map(str, command)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=self._environment(),
        )

    def states(self):
        """Return the state of each node, as sinfo writes it."""
        lines = self.run("sinfo", "-h", "-N", "-o", "%N %T").stdout.splitlines()
        return dict(line.split() for line in lines)

    def jobs(self):
        """Return the jobs of the queue: number -> state."""
        lines = self.run("squeue", "-h", "-o", "%i %T").stdout.splitlines()
        return dict(line.split() for line in lines)

    @contextlib.contextmanager
    def drained(self, node):
        """Keep a node from jobs for a while: its cable is bad."""
        self.drain(node, "bad cable")
        try:
            yield
        finally:
            self.resume(node)

    def drain(self, node, reason="a test"):
        """Let a node take no more jobs."""
        self.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}")

    def resume(self, node):
        """Let a node take jobs again."""
        self.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
        self.wait_for(lambda: self.states()[node] == "idle", f"{node} to be idle")


def _free_ports(number):
    """Return ports of the loopback device that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _runs(process):
    return Path(f"/proc/{process}").exists()


def _answers(address, port):
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0
