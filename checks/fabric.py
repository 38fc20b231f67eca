"""The link itself: what every port, slot and interface of a node trained at, against the facts."""

import reframe as rfm
from reframe.core.backends import getlauncher

from acceptance.fabric import link_check, link_report
from acceptance.launch import Layout

from .partitions import nodes_of, partitions
from .placed import PlacedCheck


@rfm.simple_test
class LinkCheck(PlacedCheck):
    """The links of the nodes of a partition: all of them in one job, or a job a node.

    With `reframe --distribute` each node has a case of its own, pinned to it.
    """

    #: The partition whose nodes are looked at.
    part = parameter([part.name for part in partitions()], loggable=True)
    np = variable(int, loggable=True)
    placement = variable(str, loggable=True)

    descr = "links of the nodes"
    suite = "fabric"
    benchmark_name = "fabric.link"
    time_limit = "5m"
    #: A node that is busy for longer is not looked at, which fails its case.
    max_pending_time = "30m"
    tags = {"fabric", "maintenance"}

    def choose(self):
        """Look from one environment: links have nothing to do with any."""
        part = next(part for part in partitions() if part.name == self.part)
        self.valid_prog_environs = [environ.name for environ in part.environs[:1]]
        # ReFrame pins a distributed test to one node.
        self.np = 1 if hasattr(self, ".nid") else nodes_of(part)
        self.placement = "inter-node" if self.np > 1 else "intra-node"

    def fits(self, part):
        """Take the one partition."""
        return part.name == self.part

    def nodes(self, part):
        """Count the nodes: one rank stands on each."""
        return self.np

    @run_after("setup")
    def place(self):
        """Need no launcher on one node, so that a machine without MPI can look, too."""
        if self.np > 1:
            super().place()
            return
        self.layout = Layout(1, 1, self.placement)
        self.num_tasks = self.num_tasks_per_node = 1
        self.job.launcher = getlauncher("local")()

    def locate(self):
        """Run our own script."""
        self.executable, self.executable_opts = "sh", [str(link_report.SCRIPT)]

    def expected(self):
        """Return metric -> unit: the nodes that answered, and their slowest link if one counts."""
        declared = {"nodes": "1"}
        if self.fabric and self.fabric.shown and self.fabric.rate is not None:
            declared["rate_min"] = "Mbit/s"
        return declared

    def measure(self):
        """Return metric -> (value, unit) from what the nodes said."""
        self.read = link_report.parse_all(self.output(), self.stdout.evaluate())
        # Of these nodes a counter that is no finding was zero.
        self.provenance = {"counters": ",".join(node.name for node in self.read)}
        self.record(
            counter.observation
            for node in self.read
            for counter in link_check.standing(node, self.fabric)
        )
        names = sorted({node.name for node in self.read})
        if len(names) != self.np or len(self.read) != self.np:
            raise ValueError(f"{len(names)} of {self.np} nodes answered: {', '.join(names)}")
        measured = {"nodes": (self.np, "1")}
        if "rate_min" in self.declared:
            rates = [rate for node in self.read for rate in link_check.rates(node, self.fabric)]
            if not rates:
                raise ValueError("; ".join(self.fail(self.troubles())) or "no link is up")
            measured["rate_min"] = (min(rates), "Mbit/s")
        return measured

    def nodes_seen(self):
        """Return the nodes that said something."""
        try:
            return {line.split()[0] for line in self.output().splitlines() if line.split()}
        except (FileNotFoundError, ValueError):  # of a job that did not start, or said too much
            return set()

    def troubles(self):
        """Return what is not as the facts demand, of all nodes."""
        return [
            deviation.observation
            for node in self.read
            for deviation in link_check.deviations(node, self.fabric)
        ]

    def causes(self):
        """Return nothing: what the links show is the fault itself."""
        return []

    def parameters(self):
        """Return what a reference of this case must agree with."""
        return {"nodes": str(self.np)}
