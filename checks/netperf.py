"""Netperf: streams and request/response over the sockets of two nodes, server and client."""

import functools
import shlex
from pathlib import Path

import reframe as rfm
from reframe.core.backends import getlauncher

from acceptance.core import machine
from acceptance.fabric import Facts
from acceptance.machine import Layout, placement
from acceptance.suites import netperf

from .extras import extras_of
from .partitions import mode_of, standing
from .placed import PlacedCheck

#: What both ranks tell each other in the folder of the job.
MESSAGES = "netperf.server netperf.ended"
#: Seconds that the server waits for the end of the client beyond the time of its test.
PATIENCE = 90
#: Where client and server stand, the better way first; and what is said of the other one.
WHERE = ("inter-node", "intra-node")
ONE_MACHINE = "between two namespaces of one machine: no adapter, cable or switch was measured"
#: Of ports of RoCE.
NOT_COUNTED = "which adapter carried it is not known: ports of RoCE count RDMA alone"


@functools.cache
def why_no_networks(part):
    """Say why this machine runs no job of a partition in networks of its own; empty: it can.

    What another machine lets its jobs do is told by the job.
    """
    if part.scheduler.registered_name != "local":
        return ""
    done = machine.run(["sh", str(netperf.NETWORKS), "true"], timeout=30)
    return done.fault and f"no network namespaces for this user: {done.fault}"


def shown(run):
    """Return a run as ReFrame shows parameters, or the test that a case has left of it."""
    if isinstance(run, str):
        return run
    sizes = {name: size for name, size in run._asdict().items() if size and name != "recv_buffer"}
    return " %".join([sizes.pop("benchmark"), *(f"{n}={size}" for n, size in sizes.items())])


@rfm.simple_test
class Netperf(PlacedCheck):
    """A test of netperf with one size of messages and of socket buffers.

    The client is on one node and the server on the other; neither is a program of MPI. A partition
    of one node runs both there, in two networks that are joined by nothing but memory.
    """

    #: Seconds that a test takes.
    length = variable(int, value=10, loggable=True)
    #: All of a run; from `choose` on its test alone.
    benchmark = parameter(netperf.RUNS, fmt=shown, loggable=True)
    np = variable(int, value=2, loggable=True)
    placement = variable(str, loggable=True)
    #: The socket buffers that there were; none before the run.
    buffers = ()

    descr = "netperf between two nodes"
    suite = "netperf"
    executable = "netperf"
    valid_prog_environs = ["+netperf"]
    tags = {"netperf"}
    time_limit = "5m"

    def choose(self):
        """Take what the suite's table says of this test."""
        self.asked, self.benchmark = self.benchmark, self.benchmark.benchmark
        self.benchmark_name = f"netperf.{self.benchmark}"
        self.columns = netperf.BENCHMARKS[self.benchmark].columns

    def takes(self, part):
        """Take real networks; in a smoke test the first run of each test."""
        if extras_of(part).simulated:
            return False
        first = next(run for run in netperf.RUNS if run.benchmark == self.benchmark)
        return self.asked == first or mode_of(part, self.mode) != "smoke"

    def seconds(self, part):
        """Return how long a case on a partition takes."""
        return super().seconds(part) + self.length

    def nodes(self, part):
        """Count the nodes of a partition that this case takes: two, or one that has no other."""
        return next(filter(None, (standing(part, 2, where, 2) for where in WHERE)), 0)

    def layout_on(self, part):
        """Return how the ranks stand on a partition."""
        nodes = self.nodes(part)
        self.placement = WHERE[nodes == 1]
        return Layout(2, 2 // nodes, self.placement)

    @run_after("setup")
    def place(self):
        """Need no launcher on one node."""
        if self.nodes(self.current_partition) > 1:
            super().place()
            return
        self.layout, self.verified = self.layout_on(self.current_partition), True
        self.num_tasks = self.num_tasks_per_node = 1
        self.job.launcher = getlauncher("local")()

    def is_inside(self):
        """Tell that the node does not judge: TCP is no way of an MPI."""
        return False

    def reporter(self):
        """Return what starts a rank: it tells netperf.sh which one it is, too."""
        return ["sh", str(placement.SCRIPT)]

    def locate(self):
        """Run our own script, which starts the server beside netperf, and netperf."""
        super().locate()
        program, facts = Path(self.executable), self.fabric or Facts()
        is_rated = facts.technology == "ethernet" and facts.rate
        device, alone = facts.device or "", []
        if self.layout.nodes == 1:
            device, alone = netperf.INTERFACE, [netperf.NETWORKS, *self.reporter(), "sh"]
            self.skip_if(bool(why := why_no_networks(self.current_partition)), why)
        words = [
            *alone, netperf.SCRIPT, program.with_name("netserver"), self.length + PATIENCE,
            device, facts.technology, f"{1000 * float(facts.rate):g}" if is_rated else "", program,
        ]  # fmt: skip
        self.executable = "sh"
        self.executable_opts = [shlex.quote(str(word)) for word in words]
        self.executable_opts += self.asked.options(self.length)
        self.prerun_cmds += [f"rm -f {MESSAGES}"]

    def expected(self):
        """Return metric -> unit."""
        return {name: unit for name, (_, unit) in self.named({None: None}).items()}

    def measure(self):
        """Return metric -> (value, unit), from the output of the client."""
        output = netperf.parse(self.output(), self.stdout.evaluate(), self.asked, self.length)
        start, self.buffers, self.moved = output.start, output.buffers, output.moved
        stood = [rank.node for rank in placement.read_ranks(self.errors())]
        if stood != [start["client"], start["server"]]:
            raise ValueError(
                f"client on {start['client']}, server on {start['server']}, ranks on "
                f"{', '.join(stood) or 'unknown nodes'}"
            )
        self.provenance["suite"] = f"Netperf {start['version']}"
        self.provenance["server"] = f"{start['server']} {start['device']} {start['address']}"
        if self.layout.nodes == 1:
            self.provenance["network"] = ONE_MACHINE
        elif not self.is_bandwidth():
            self.provenance["network"] = NOT_COUNTED
        if netperf.RECEIVED in self.columns:
            self.provenance["lost"] = output.lost
        if self.buffers != self.asked.buffers:
            asked, had = (",".join(map(str, each)) for each in (self.asked.buffers, self.buffers))
            self.provenance["sockets"] = f"asked for buffers of {asked}, had {had} bytes"
        self.keys = self.parameters()
        return self.named({None: output.values})

    def is_bandwidth(self):
        """Tell whether bytes must have gone over the fabric: some ports do not count them."""
        return self.fabric is None or self.fabric.technology != "roce"

    def sizes_of_messages(self):
        """Return the bytes that went, at least."""
        return [self.moved]

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found = super().parameters() | self.asked.keys(self.buffers)
        found.pop("intranode", None)
        return found
