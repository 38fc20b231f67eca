"""The links: what every port, slot and interface of a node trained at, and the whole fabric."""

import shlex
from pathlib import Path

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.exceptions import SanityError

from acceptance.core import state_files
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.fabric import (
    FabricFault,
    kinds,
    link_check,
    link_report,
    outputs,
    seen,
    stored,
    view,
)
from acceptance.machine import Layout

from . import simulated, whole_fabric
from .base import JudgedCheck
from .extras import extras_of
from .partitions import fabric_facts, nodes_of, partitions
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
        """Need no launcher on one node, so that a machine without MPI can look, too.

        What simulated nodes show is read here, in turn.
        """
        self.simulated = extras_of(self.current_partition).simulated
        if self.np > 1 and not self.simulated:
            super().place()
            return
        self.layout = Layout(self.np, 1, self.placement)
        self.num_tasks = self.num_tasks_per_node = 1
        self.job.launcher = getlauncher("local")()

    def locate(self):
        """Run our own script."""
        script = simulated.LINKS if self.simulated else str(link_report.SCRIPT)
        self.executable, self.executable_opts = "sh", [script]

    @run_before("run")
    def write_platform(self):
        """Write what simulated nodes show."""
        if self.simulated:
            simulated.write_links(self)

    def expected(self):
        """Return metric -> unit: the nodes that answered, and their slowest link if one counts."""
        declared = {"nodes": "1"}
        if self.fabric and self.fabric.shown and self.fabric.rate is not None:
            declared["rate_min"] = "Mbit/s"
        return declared

    def measure(self):
        """Return metric -> (value, unit) from what the nodes said."""
        self.read = link_report.parse_all(self.output(), self.stdout.evaluate())
        silent = {node.name: link_check.uncounted(node, self.fabric) for node in self.read}
        self.record(each for found in silent.values() for each in found)
        # Of these nodes a counter that is no finding was zero.
        self.provenance["counters"] = ",".join(name for name, found in silent.items() if not found)
        self.provenance["firmware"] = ", ".join(
            f"{node.name} {adapter.name} {adapter.firmware}"
            for node in self.read
            for adapter in node.adapters.values()
            if adapter.firmware
        )
        self.record(
            counter for node in self.read for counter in link_check.standing(node, self.fabric)
        )
        self.record(whole_fabric.remember(self.read))
        self.record(each for each in self.cables() if not each.fails)
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
            deviation
            for node in self.read
            for deviation in link_check.deviations(node, self.fabric)
        ] + [each for each in self.cables() if each.fails]

    def cables(self):
        """Return what lldpd of the nodes says of cables that are not where they were accepted."""
        return whole_fabric.cables_of(self.read, self.current_system.name, self.fabric)

    def causes(self):
        """Return nothing: what the links show is the fault itself."""
        return []

    def parameters(self):
        """Return what a reference of this case must agree with."""
        return {"nodes": str(self.np)}


@rfm.simple_test
class FabricView(JudgedCheck):
    """The whole fabric, all switches and cables of it, from one node that may look.

    A case for each partition that states `view` in its facts: one partition of each fabric.
    """

    #: The partition that states who looks.
    part = parameter([part.name for part in partitions()], loggable=True)

    descr = "the whole fabric"
    suite = "fabric"
    benchmark_name = "fabric.view"
    time_limit = "15m"
    max_pending_time = "30m"
    tags = {"fabric", "maintenance"}
    #: It is one case with `--distribute`, too.
    of_whole_fabric = True
    #: The folder of the readings, one for each adapter.
    folder = "view"

    @run_after("init")
    def fit(self):
        """Take the one partition, if it states who looks; `here`: the machine of ReFrame itself."""
        part = next(part for part in whole_fabric.partitions() if part.name == self.part)
        facts = whole_fabric.facts_or_none(part)
        looks = facts is not None and facts.view is not None
        self.valid_systems = [part.fullname] if looks else []
        self.valid_prog_environs = [environ.name for environ in part.environs[:1]]
        self.local = looks and facts.view == "here"
        self.keep_files = [self.folder]

    @run_after("setup")
    def place(self):
        """Take one node, and need no launcher there."""
        try:
            self.fabric = fabric_facts(self.current_partition.fullname)
        except FabricFault as err:
            raise SanityError(str(err)) from None
        self.simulated = extras_of(self.current_partition).simulated
        self.num_tasks = self.num_tasks_per_node = 1
        self.job.launcher = getlauncher("local")()

    @run_before("run")
    def write_platform(self):
        """Write what simulated switches and cables show."""
        if self.simulated:
            simulated.write_view(self)

    def locate(self):
        """Run our own script, once for each adapter; each leaves a folder, whatever it finds."""
        script = simulated.VIEW if self.simulated else str(outputs.SCRIPT)
        first, *others = (
            [shlex.quote(word) for word in (script, f"{self.folder}/{number}", *options)]
            for number, options in enumerate(whole_fabric.adapters(self.fabric), 1)
        )
        self.executable, self.executable_opts = "sh", first
        self.postrun_cmds = [f"sh {' '.join(words)}" for words in others]

    def expected(self):
        """Return metric -> unit: what there is; a fabric without a switch has none."""
        return {name: "1" for name, count in self.counted().items() if count}

    def listed(self):
        """Return the metrics of any fabric with a switch, before anybody looked."""
        return dict.fromkeys(("switches", "hosts", "links"), "1")

    def counted(self):
        """Return how many switches, hosts and links were seen; ValueError where nobody looked."""
        folders = sorted(Path(self.stagedir, self.folder).glob("*"))
        self.readings = [outputs.read(folder) for folder in folders]
        if why := seen.not_looked(self.readings):
            raise ValueError("; ".join(self.fail([self.not_looked(why)])))
        self.counts = seen.counts(self.readings)
        return self.counts

    def not_looked(self, why):
        """Return that nobody looked, and why."""
        return kinds.observation(
            kinds.NOT_LOOKED, whole_fabric.name_of(self.current_partition),
            found=f"the fabric was not looked at: {why}",
        )  # fmt: skip

    def measure(self):
        """Judge the reading, and keep what the next one is compared with."""
        try:
            self.seen = self.judged()
        except Fault as err:
            raise ValueError("; ".join(self.fail([self.not_looked(str(err))]))) from None
        self.record(each for each in self.seen if not each.fails)
        whole_fabric.pack(Path(self.stagedir, self.folder))
        return {name: (count, "1") for name, count in self.counts.items() if count}

    def judged(self):
        """Return what this reading shows; raises Fault for a file of the past that is malformed."""
        name, workspace = whole_fabric.name_of(self.current_partition), Workspace.of()
        of_hosts = whole_fabric.hosts()
        with stored.state_locked(workspace.var, name):
            found = seen.judge_readings(self.readings, name, of_hosts, workspace)
            state_files.write(stored.state_path(workspace.var, name), found.state)
        failing = len(found.failing)
        switches, hosts, links = self.counts.values()
        self.provenance |= {
            "fabric": "; ".join([
                f"{switches} {'switch' if switches == 1 else 'switches'}, "
                f"{plural(hosts, 'host')}, {plural(links, 'link')}",
                plural(failing, "deviation") if failing else "no deviation",
                found.accepted or "nothing accepted yet",
                *view.structure_text(found.topology),
            ]),
            "fabric_name": name,
            "fabric_sha256": stored.checksum(found.state.fabric),
        }  # fmt: skip
        return [*seen.notes(self.readings), *found.deviations]

    def troubles(self):
        """Return what is not as it should be."""
        return [each for each in self.seen if each.fails]

    def parameters(self):
        """Return what a reference of this case must agree with: nothing."""
        return {}
