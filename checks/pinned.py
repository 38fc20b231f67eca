"""Cases that are pinned to nodes of Slurm: `reframe -S pinned='partition=node1,node2'`."""

import reframe as rfm
import reframe.core.runtime as runtime
from reframe.core.exceptions import SanityError

from acceptance.machine import PlacementFault, slurm

from .partitions import uses_slurm


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
        return slurm.read_pins(self.pinned, partitions).get(part.name, ())

    @run_before("run")
    def pin(self):
        """Ask Slurm for these nodes, unless ReFrame distributes the test over all.

        A case that takes more nodes than these is left out.
        """
        part = self.current_partition
        try:
            nodes = self.pinned_nodes(part)
            if not nodes or hasattr(self, ".nid"):
                return
            if not uses_slurm(part):
                raise PlacementFault(f"pinned={self.pinned}: {part.name} is no partition of Slurm")
            if self.layout.nodes > len(nodes):
                self.skip(
                    f"it takes {self.layout.nodes} nodes, and is pinned to {len(nodes)}: "
                    f"{', '.join(nodes)}"
                )
            chosen = slurm.nodes_of_case(nodes, self.layout.nodes, self.display_name)
        except PlacementFault as err:
            raise SanityError(str(err)) from None
        self.job.pin_nodes = chosen
