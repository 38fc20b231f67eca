"""What checks of all nodes of a partition share: which nodes, where ranks stand, our program."""

from reframe.core.exceptions import SanityError

from acceptance.core.errors import Fault
from acceptance.core.text import plural
from acceptance.machine import Layout
from acceptance.suites import patterns

from .build import PatternsBuild
from .extras import extras_of
from .no_case import needs_build
from .partitions import cores_of, has_nodes, nodes_of, nodes_up
from .placed import PlacedCheck


class EveryNode(PlacedCheck):
    """Runs on the nodes that a case is pinned to, else on all that are up, else as stated.

    What runs is a pattern of our own program.
    """

    if needs_build("patterns"):
        build = fixture(PatternsBuild, scope="environment")

    np = variable(int, loggable=True)
    placement = variable(str, value="inter-node", loggable=True)

    suite = "patterns"
    executable = patterns.PROGRAM
    valid_prog_environs = ["+patterns"]
    differs_by_mode = True
    #: Ranks on a node, where it has the cores and is not simulated.
    most_per_node = 1
    #: A case that waits longer for its nodes fails, and says so.
    max_pending_time = "1h"

    def nodes(self, part):
        """Count the nodes of a partition that take part; raises Fault."""
        if pinned := self.pinned_nodes(part):
            return len(pinned)
        asks = self.asks_scheduler and has_nodes(part)
        return len(nodes_up(part)) if asks else nodes_of(part)

    def parameters(self):
        """Return what a reference of this case must agree with.

        Of all nodes that are up it is not how many: with one more, or one away, it is the same
        measurement, and its past goes on.
        """
        found, part = super().parameters(), self.current_partition
        if not self.pinned_nodes(part) and self.asks_scheduler and has_nodes(part):
            del found["np"], found["nodes"]
        return found

    def fits(self, part):
        """Take each partition of enough nodes of which ranks say where they stand."""
        least = self.row.least_nodes
        return extras_of(part).verify_placement and cores_of(part) > 0 and nodes_of(part) >= least

    def take(self, part, per_node):
        """Take so many ranks on each node; raises SanityError where a node has fewer cores."""
        if not 1 <= per_node <= cores_of(part):
            raise SanityError(
                f"{self.benchmark_name}: {per_node} processes on a node of {cores_of(part)} cores: "
                "each takes one"
            )
        self.most_per_node = per_node

    def layout_on(self, part):
        """Return how the ranks stand, now that the partition is known, and so its nodes."""
        try:
            nodes = self.nodes(part)
        except Fault as err:
            raise SanityError(f"{self.benchmark_name}: {err}") from None
        if nodes < self.row.least_nodes:
            least = self.row.least_nodes
            lacks = "there is no pair" if least == 2 else f"{least} are required"
            raise SanityError(f"{self.benchmark_name}: {plural(nodes, 'node')}: {lacks}")
        several = cores_of(part) >= self.most_per_node and not extras_of(part).simulated
        per_node = self.most_per_node if several else 1
        self.np = nodes * per_node
        return Layout(self.np, per_node, self.placement)
