"""Cases that are pinned to nodes of a scheduler: `reframe -S pinned='partition=node1,node2'`."""

import reframe as rfm
import reframe.core.runtime as runtime
from reframe.core.exceptions import SanityError

from acceptance.machine import PlacementFault, placement

from .partitions import has_nodes


class Pinned(rfm.RegressionTestPlugin):
    """A check whose job gets just the nodes that `pinned` names for its partition.

    The check has a `layout` when its setup is over.
    """

    #: `partition=node1,node2;other=node3`; a case on a partition that is not named takes any nodes.
    #: It is no part of what a case is: its series go on.
    pinned = variable(str, value="", loggable=True)

    def pinned_nodes(self, part):
        """Return the nodes that a partition is pinned to, none for any; raises PlacementFault."""
        partitions = [each.name for each in runtime.runtime().system.partitions]
        return placement.read_pins(self.pinned, partitions).get(part.name, ())

    @run_before("run")
    def pin(self):
        """Ask the scheduler for these nodes, unless ReFrame distributes the test over all.

        A case that takes more nodes than these is left out.
        """
        part = self.current_partition
        # What PBS and Flux are asked for (`reframe_schedulers.py`).
        self.job.layout = self.layout
        try:
            nodes = self.pinned_nodes(part)
            if not nodes or hasattr(self, ".nid"):
                return
            if not has_nodes(part):
                raise PlacementFault(f"pinned={self.pinned}: of {part.name} no node can be named")
        except PlacementFault as err:
            raise SanityError(str(err)) from None
        try:
            chosen = placement.nodes_of_case(nodes, self.layout.nodes, self.display_name)
        except PlacementFault as err:
            self.skip(str(err))
        self.job.pin_nodes = chosen
