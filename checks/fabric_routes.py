"""The routes between the nodes of a case, read around its measurement: they may change."""

import shlex
import shutil
from pathlib import Path

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.fabric import outputs, stored
from acceptance.fabric.routes import Routes, choose
from acceptance.machine import SchedulerFault
from acceptance.nodes import cables

from . import simulated, whole_fabric
from .partitions import has_nodes, nodes_up

#: The folders of the readings, and the file of chosen pairs.
BEFORE, AFTER, ROUNDS = "routes-before", "routes-after", "rounds.txt"
#: Seconds that a reading may take.
_PATIENCE = 300


class FabricRoutes:
    """The routes of the fabric of a case's partition, as far as somebody may look at them.

    `why` says why they are not known.
    """

    def __init__(self, case):
        self.case, self.why = case, ""
        self.folder = Path(case.stagedir)
        part = case.current_partition
        own = whole_fabric.facts_or_none(part)
        here = [facts for each in whole_fabric.viewers()
                if (facts := whole_fabric.facts_or_none(each)).view == "here"]  # fmt: skip
        self.facts = own if own and own.view else next(iter(here), None)
        if own is None or own.technology != "infiniband":
            self.facts, self.why = None, "routes are read of InfiniBand only"
        elif self.facts is None:
            self.why = "the facts of the fabric name nobody who may look (view)"

    @property
    def is_here(self):
        """Tell whether the machine that runs ReFrame looks."""
        return self.facts is not None and self.facts.view == "here"

    def command(self, folder):
        """Return the command that reads the fabric into a folder, of several adapters by one."""
        script = simulated.VIEW if self.case.simulated else str(outputs.SCRIPT)
        return ["sh", script, folder, *whole_fabric.adapters(self.facts)[0]]

    def read_before(self):
        """Read the routes now, or let the job do it on its first node, before and after it."""
        if self.is_here:
            if self.case.simulated:
                simulated.write_view(self.case)
            self.look(BEFORE)
        elif self.facts:
            self.case.prerun_cmds += [shlex.join(self.command(BEFORE))]
            after = shlex.join(self.command(AFTER))
            self.case.postrun_cmds += ["status=$?", after, "(exit $status)"]

    def look(self, folder):
        """Read the fabric into a folder; what fails is told by whoever reads that."""
        done = machine.run(self.command(folder), _PATIENCE, folder=self.folder)
        if done.status is None:
            self.why = f"the fabric could not be read: {done.fault}"

    def known(self, folder, names):
        """Return topology and routes of a reading with these nodes; raises Fault."""
        reading = outputs.read(self.folder / folder)
        if reading.topology is None or not reading.routes:
            faults = "; ".join(each.text for each in reading.faults) or "no routes were read"
            raise Fault(faults)
        # What nodes of this name said elsewhere is nothing of a simulated fabric's.
        nodes = {} if self.case.simulated else stored.known_nodes(whole_fabric.var_folder())
        chosen = {node: guids for node, guids in nodes.items() if node in names}
        joined = outputs.join(reading.topology, chosen, names)[0]
        return joined, Routes.of(joined, reading.routes)

    def names(self):
        """Return the nodes of the case as far as they are known before it runs, else none."""
        part = self.case.current_partition
        if pinned := self.case.pinned_nodes(part):
            return [*pinned]
        if not has_nodes(part):
            return []
        try:
            return [node.name for node in nodes_up(part)]
        except SchedulerFault:
            return []

    def choose(self):
        """Write rounds of a few pairs that together cross every cable; tell whether that was done.

        It takes the routes and the names of the nodes before the job runs.
        """
        names = self.names()
        if not self.is_here or self.why or len(names) != self.case.np:
            return False
        try:
            ways = cables.Ways(names, *self.known(BEFORE, names))
        except Fault:
            return False  # told by what reads it after the job
        if ways.unlooked:
            return False
        rounds = choose(ways.routes, ways.hosts)
        name = dict(zip(ways.hosts, names, strict=True))
        texts = ("".join(f"{name[one]} {name[other]}\n" for one, other in each) for each in rounds)
        (self.folder / ROUNDS).write_text("\n".join(texts))
        return True

    def ways(self, nodes):
        """Return the routes between nodes, None where they are not known, or changed meanwhile."""
        if self.is_here:
            self.look(AFTER)
        if self.why:
            return None
        try:
            before, after = (self.known(folder, nodes) for folder in (BEFORE, AFTER))
            ways = [cables.Ways(nodes, *known) for known in (before, after)]
        except Fault as err:
            self.why = str(err)
            return None
        if not ways[0].same_as(ways[1]):
            self.why = "the routes changed while it measured"
            return None
        return ways[1]

    def keep(self, folder):
        """Keep the readings with the outputs of the case."""
        for name in (BEFORE, AFTER):
            if (self.folder / name).is_dir():
                kept = shutil.copytree(self.folder / name, folder / "routes" / name)
                whole_fabric.pack(kept.parent)
