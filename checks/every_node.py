"""What checks of all nodes of a partition share: which nodes these are, and where ranks stand."""

from reframe.core.exceptions import SanityError

from acceptance.core.errors import Fault
from acceptance.core.text import plural
from acceptance.machine import Layout

from .extras import extras_of
from .partitions import cores_of, nodes_of, nodes_up, uses_slurm
from .placed import PlacedCheck


class EveryNode(PlacedCheck):
    """Runs on the nodes that a case is pinned to, else on all that Slurm has up, else as stated.

    A class that derives from it has `np` and `placement` as variables.
    """

    #: Ranks on a node, where it has the cores and is not simulated.
    most_per_node = 1
    #: A case that waits longer for its nodes fails, and says so.
    max_pending_time = "1h"

    def nodes(self, part):
        """Count the nodes of a partition that take part; raises Fault."""
        if pinned := self.pinned_nodes(part):
            return len(pinned)
        asks = self.asks_scheduler and uses_slurm(part)
        return nodes_up(tuple(part.access)) if asks else nodes_of(part)

    def fits(self, part):
        """Take each partition of enough nodes of which ranks say where they stand."""
        least = self.row.least_nodes
        return extras_of(part).verify_placement and cores_of(part) > 0 and nodes_of(part) >= least

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
