"""Nodes on one machine: namespaces with names of their own, joined by two real networks.

    with Pair(folder) as pair:
        pair.run("node1", "hostname")
        pair.join(site, pair.environment("intel-mpi"))
        site.reframe("-c", "checks/imb.py", "-r")

As in a cluster, jobs are started over one network and messages take the other:

    this machine: acc123x0 --- control ---+--- ctl0, node1: fast0 ---+--- messages
                                          +--- ctl0, node2: fast0 ---+

`Pair` has two nodes and knows how each MPI starts on them; `Nodes` has up to four, for a cluster
with a job manager of its own (`tests/cluster/`). With `rails=2` a node has `fast1`, too, in a third
network: messages may take both.

Each node, and the bridges, belong to a process that waits for its standard input to end. So all
vanishes with the process that made it, however that ends.

An MPI comes into a node through `Pair.agent`, which stands for ssh, and like ssh takes nothing of
the caller's environment along.
"""

import contextlib
import itertools
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from acceptance.machine import externals
from acceptance.machine.partition_size import usable_memory
from tests import needs
from tests.places import PATIENCE, WHEELS

NAMES = ("node1", "node2")
#: The interfaces of a node: for messages, and for control. Sysfs calls both 10 Gbit/s.
DEVICE, CONTROL = "fast0", "ctl0"
#: That of a second network for messages, where nodes have two.
SECOND = "fast1"
#: No network at all: the nodes are one machine still, and share its memory.
MEMORY = "memory"
#: With these a rank of Intel MPI waits asleep: where ranks share cores, one that spins takes a core
#: from what it waits for. A message takes 0.1 ms longer.
ASLEEP = {"I_MPI_THREAD_YIELD": "3", "I_MPI_SPIN_COUNT": "1", "I_MPI_THREAD_SLEEP": "100"}


#: For measuring networks (RFC 2544): no machine should have other uses of these addresses. They
#: come and go: an MPI of another test, over TCP, must not choose this machine's own one.
ADDRESSES = "198.18.0.0/15"
_MESSAGES, _CONTROL = (198 << 24) + (18 << 16), (198 << 24) + (19 << 16)
_BLOCKS = 2**13
_counter = itertools.count()

_PROBE = """
mount -t sysfs none /sys && hostname probe &&
ip link add probe0 type veth peer name probe1 && ip link add probe2 type bridge
"""

# The /sys of a node shows the interfaces of the node, yet the control groups of the machine.
_NODE = """
set -e
hostname {name}
mount --bind {hosts} /etc/hosts
mount -t sysfs none {sys}
mount --rbind /sys/fs/cgroup {sys}/fs/cgroup
mount --move {sys} /sys
ip link set lo up
echo ready
exec cat
"""
_SWITCH = """
set -e
for bridge in control messages more; do
    ip link add $bridge type bridge
    ip link set $bridge addrgenmode none up
done
echo ready
exec cat
"""

_AGENT = """#!/bin/sh
# Stands for ssh: agent [OPTION]... HOST COMMAND...
while :; do
    case $1 in
        -[Flop]) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=$1
shift
case $host in
{cases}
    *) echo "agent: no node is called $host" >&2; exit 255 ;;
esac
exec env -i HOME="$HOME" SHELL=/bin/sh PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR="$tmp" \\
    nsenter --target "$holder" --net --uts --mount taskset -c "$cpus" sh -c "$*"
"""


def why_not():
    """Return why this machine, or user, cannot have two nodes; None if it can."""
    if sys.platform != "linux":
        return "only Linux has namespaces"
    if os.geteuid() != 0:
        return "nodes in namespaces want root"
    if missing := needs.why_not(*needs.NODES, path=os.environ["PATH"]):
        return missing
    probe = ["unshare", "--net", "--uts", "--mount", "sh", "-c", _PROBE]
    done = subprocess.run(probe, capture_output=True, text=True)
    if done.returncode:
        return f"no namespaces or virtual interfaces here: {done.stderr.strip()}"
    return None


def why_no_open_mpi():
    """Return why Debian's Open MPI cannot run on nodes here; None if it can."""
    return why_not() or needs.why_no_mpi("openmpi")


class Nodes:
    """Up to four nodes, and their networks.

    `folder` takes files that must live as long as the nodes.
    """

    def __init__(self, folder, names=NAMES, rails=1):
        self.folder = Path(folder)
        self.names = names
        #: The interfaces for messages -> the first address of their network.
        self.rails = (
            {DEVICE: _MESSAGES, SECOND: _MESSAGES + 8} if rails > 1 else {DEVICE: _MESSAGES}
        )
        self.holders = {}
        #: The interface of this machine in the control network.
        self.link = ""

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self):
        self.network = _free_network()
        #: That of this machine in the control network.
        self.address = _dotted(self.network + 1)
        self.addresses = {
            name: _dotted(self.network + number) for number, name in enumerate(self.names, 2)
        }
        hosts = self.folder / "hosts"
        lines = [f"127.0.0.1 localhost\n{self.address} {socket.gethostname()}\n"]
        lines += [f"{address} {name}\n" for name, address in self.addresses.items()]
        hosts.write_text("".join(lines))
        (self.folder / "sys").mkdir(exist_ok=True)
        switch = self._hold("switch", ["--net"], _SWITCH)
        for number, name in enumerate(self.names, 2):
            script = _NODE.format(
                name=name,
                hosts=shlex.quote(str(hosts)),
                sys=shlex.quote(str(self.folder / "sys")),
            )
            node = self._hold(name, ["--net", "--uts", "--mount"], script)
            bridges = zip(("control", "messages", "more"), (CONTROL, *self.rails), strict=False)
            for bridge, device in bridges:
                port = f"{name}{device}"
                _in(switch, f"ip link add {port} type veth peer name {device} netns {node}")
                _in(switch, f"ip link set {port} addrgenmode none master {bridge} up")
            _raise(node, CONTROL, self.addresses[name])
            # Seen from inside the nodes only: all nodes of a machine may have the same ones.
            for device, first in self.rails.items():
                _raise(node, device, _dotted(first + number))
        link = f"acc{os.getpid()}x{next(_counter)}"
        _run(f"ip link add {link} type veth peer name here netns {switch}")
        self.link = link
        _in(switch, "ip link set here addrgenmode none master control up")
        _raise(os.getpid(), link, self.address)

    def _hold(self, name, kinds, script):
        """Start the process that namespaces belong to; return its id."""
        holder = subprocess.Popen(
            ["unshare", *kinds, "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # An interrupt from the keyboard is for the tests, which then stop this.
            start_new_session=True,
        )
        self.holders[name] = holder
        said = holder.stdout.readline()
        if said != "ready\n":
            raise OSError(f"{name}: {said}{holder.stdout.read()}")
        return holder.pid

    def stop(self):
        """Remove all: what still runs in the nodes, and the networks."""
        for holder in self.holders.values():
            _end_all_with(holder.pid)
            holder.kill()
            holder.communicate()
        self.holders.clear()
        if self.link:
            # Gone already where the kernel was fast to remove the namespace of its other end.
            subprocess.run(["ip", "link", "delete", self.link], capture_output=True)
            self.link = ""

    @property
    def subnets(self):
        """Return the networks for messages: Open MPI takes those that are up, of names all."""
        return ",".join(f"{_dotted(first)}/29" for first in self.rails.values())

    def run(self, node, *command):
        """Run a command in a node; return what it printed."""
        return _run([*self.into(node), *map(str, command)])

    def into(self, node):
        """Return the words that, before a command, run it in a node."""
        return ["nsenter", "--target", str(self.holders[node].pid), "--net", "--uts", "--mount"]

    @contextlib.contextmanager
    def shaped(self, rate="1gbit", burst="64kb", nodes=None):
        """Let the message network of these nodes, or all, have no more than this rate for a while.

        On average: an idle queue saves up a burst, so that messages that take turns (PingPong) may
        go at twice the rate until they are far larger than a burst.
        """
        queues = [
            (name, f"dev {device} root") for name in nodes or self.names for device in self.rails
        ]
        try:
            for name, queue in queues:
                _in(
                    self.holders[name].pid,
                    f"tc qdisc replace {queue} tbf rate {rate} burst {burst} latency 50ms",
                )
            yield
        finally:
            for name, queue in queues:
                with contextlib.suppress(OSError):
                    _in(self.holders[name].pid, f"tc qdisc delete {queue}")

    @contextlib.contextmanager
    def behind_uplink(self, *nodes, rate, queue):
        """Let nodes be at another switch for a while, behind an uplink with a rate and a queue.

        The queue is as long as `queue` takes to be sent (tc: `20ms`).
        """
        switch = self.holders["switch"].pid
        ends = ("up0", "up1")
        _in(switch, "ip link add far type bridge")
        try:
            _in(switch, "ip link add up0 type veth peer name up1")
            for device in ("far", *ends):
                _in(switch, f"ip link set {device} addrgenmode none up")
            for end, bridge in zip(ends, ("messages", "far"), strict=True):
                _in(switch, f"ip link set {end} master {bridge}")
                shape = f"tbf rate {rate} burst 64kb latency {queue}"
                _in(switch, f"tc qdisc replace dev {end} root {shape}")
            for node in nodes:
                _in(switch, f"ip link set {node}{DEVICE} master far")
            yield
        finally:
            for node in nodes:
                _in(switch, f"ip link set {node}{DEVICE} master messages")
            with contextlib.suppress(OSError):
                _in(switch, "ip link delete up0")
            _in(switch, "ip link delete far")

    @contextlib.contextmanager
    def trained(self, speed, *nodes):
        """Let the message interfaces of nodes say for a while that they run at a speed (Mb/s)."""
        made = self.folder / f"speed{next(_counter)}"
        made.write_text(f"{speed}\n")
        with contextlib.ExitStack() as stack:
            for node, device in itertools.product(nodes, self.rails):
                said = f"/sys/class/net/{device}/speed"
                self.run(node, "mount", "--bind", made, said)
                stack.callback(self.run, node, "umount", said)
            yield


class Pair(Nodes):
    """Two nodes, or more, and what each MPI must be told to run on them."""

    def agent(self, cores=1, leads=None):
        """Return the path of a program that is called like ssh.

        Each node gets cores of its own, where this machine has twice as many, else all of them.
        `leads` sends a name to another node than that of this name. Each name has its own folder
        for temporary files: two daemons of one job of Open MPI that share one may hang.
        """
        cases = []
        for number, name in enumerate(self.names):
            holder = self.holders[(leads or {}).get(name, name)].pid
            cpus = ",".join(map(str, _cpus(number, cores, len(self.names))))
            temporary = self.folder / f"tmp-{name}"
            temporary.mkdir(exist_ok=True)
            cases.append(
                f"    {name} | {self.addresses[name]})"
                f" holder={holder} cpus={cpus} tmp={shlex.quote(str(temporary))} ;;"
            )
        path = self.folder / f"agent{next(_counter)}"
        path.write_text(_AGENT.format(cases="\n".join(cases)))
        path.chmod(0o755)
        return path

    def variables(self, mpi, cores=1, hosts=None, leads=None, over=DEVICE):
        """Return the environment variables with which an MPI's launcher starts on the nodes.

        `hosts` (None: all) are those of its host file, each with as many ranks as `cores`. `over`
        is what messages take: `DEVICE`, `CONTROL`, or `MEMORY`, which Open MPI cannot be made to.
        """
        path = self.folder / f"hosts{next(_counter)}"
        form = "{} slots={}\n" if mpi == "openmpi" else "{}:{}\n"
        path.write_text("".join(form.format(name, cores) for name in hosts or self.names))
        agent = self.agent(cores, leads)
        start = {
            "openmpi": {
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_plm_rsh_agent": agent,
                "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
                "OMPI_MCA_orte_default_hostfile": path,
                "OMPI_MCA_oob_tcp_if_include": f"{_dotted(self.network)}/29",
            },
            "mpich": {
                "HYDRA_LAUNCHER": "ssh",
                "HYDRA_LAUNCHER_EXEC": agent,
                "HYDRA_HOST_FILE": path,
                "HYDRA_IFACE": self.link,
            },
            "intel-mpi": {
                "I_MPI_HYDRA_BOOTSTRAP": "ssh",
                "I_MPI_HYDRA_BOOTSTRAP_EXEC": agent,
                "I_MPI_HYDRA_HOST_FILE": path,
                "I_MPI_HYDRA_IFACE": self.link,
            },
        }
        send = messages(mpi, over)
        if mpi == "intel-mpi" and over != MEMORY and _shared(cores, len(self.names)):
            send |= ASLEEP
        return {name: str(value) for name, value in {**start[mpi], **send}.items()}

    def environment(self, mpi, **how):
        """Return an environment of ReFrame with an MPI; `how` as of `variables`."""
        own = {"mpi": mpi}
        features = ["mpi"]
        if mpi == "intel-mpi":
            name, programs = "wheels", WHEELS / "bin"
            features.append("imb")
            own["suites"] = {"imb": str(programs)}
            needed = [
                ["LD_LIBRARY_PATH", f"{WHEELS}/lib:$LD_LIBRARY_PATH"],
                ["I_MPI_ROOT", str(WHEELS)],
            ]
        else:
            name, programs, needed = (
                mpi,
                externals.prefix_of(mpi, self.folder / "prefix") / "bin",
                [],
            )
        return {
            "name": name,
            "target_systems": ["pair"],
            "features": features,
            "extras": own,
            "env_vars": [
                ["PATH", f"{programs}:$PATH"],
                *needed,
                *map(list, self.variables(mpi, **how).items()),
            ],
        }

    def join(self, site, *environments, cores=1, fabric=None, **extras):
        """Add a system `pair` to a site (`tests.conftest.Site`) with these environments.

        Its fabric states no rate unless a test gives one: what a busy machine measures is not to
        be judged by a line's rate.
        """
        partition = {
            "name": "default",
            "scheduler": "local",
            "launcher": "mpiexec",
            "environs": [environment["name"] for environment in environments],
            "max_jobs": 1,
            "processor": {
                "num_cpus": cores,
                "num_cpus_per_core": 1,
                "num_cpus_per_socket": cores,
                "num_sockets": 1,
            },
            "extras": {
                "nodes": len(self.names),
                "cores": cores,
                "memory": usable_memory() // len(self.names),
                "fabric": fabric or {"technology": "ethernet", "device": DEVICE},
                "mode": "smoke",
                **extras,
            },
        }
        system = {
            "name": "pair",
            "hostnames": [".*"],
            "prefix": str(site.var),
            "partitions": [partition],
        }
        found = {"systems": [system], "environments": list(environments)}
        site.add_system(f"site_configuration = {found!r}\n")


def messages(mpi, over=DEVICE):
    """Return the environment variables with which the messages of an MPI take an interface.

    `over` may be `MEMORY`, which Open MPI cannot be made to.
    """
    if over == MEMORY:
        return {"mpich": {}, "intel-mpi": {"FI_PROVIDER": "shm"}}[mpi]
    # MPICH over UCX takes the memory of two nodes with different names unless it is told.
    return {
        "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": over},
        "mpich": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": over},
        "intel-mpi": {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": over},
    }[mpi]


def _cores():
    """Return a CPU of each core of this machine."""
    found = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        found.setdefault(siblings.read_text() if siblings.exists() else cpu, cpu)
    return list(found.values())


def _shared(cores, nodes):
    """Tell whether nodes with so many cores have to share some."""
    return len(_cores()) < nodes * cores


def _cpus(number, cores, nodes):
    """Return the CPUs of a node, one of so many."""
    return _cores() if _shared(cores, nodes) else _cores()[number * cores :][:cores]


def _free_network():
    """Return the first of eight addresses that this machine does not use."""
    taken = _run("ip -4 -o address show")
    for block in range(_BLOCKS):
        network = _CONTROL + 8 * ((os.getpid() + block) % _BLOCKS)
        if f" {_dotted(network + 1)}/" not in taken:
            return network
    raise OSError("all addresses for measuring networks are in use")


def _dotted(address):
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def _raise(process, link, address):
    # Without addresses of IPv6 nobody sends a byte that no test asked for.
    _in(process, f"ip link set {link} addrgenmode none up")
    _in(process, f"ip address add {address}/29 dev {link}")


def _in(process, command):
    return _run(f"nsenter --target {process} --net {command}")


def _run(command):
    words = command.split() if isinstance(command, str) else command
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise OSError(f"{shlex.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _end_all_with(holder):
    """Kill the processes in the network namespace of another one; it must not be our own."""
    networks = _networks()
    network = networks.get(holder)
    # Until the last one has gone: some may be starting others.
    while network not in (None, networks[os.getpid()]) and network in networks.values():
        for process in [process for process, its in networks.items() if its == network]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)
        networks = _networks()


def _networks():
    """Return the network namespace of each process; those that have ended have none."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found[int(entry.name)] = os.readlink(entry / "ns/net")
    return found
