"""Where something is in a fabric: both ends of a link by name and port, and the node at one end."""

from collections.abc import Iterable

from acceptance.fabric.topology import End, Topology

#: The two ends of a link, sorted.
Ends = tuple[End, End]


class Places:
    """The names of a fabric's links, devices and nodes."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    def link(self, ends: Ends) -> str:
        """Return `leaf02[40] - spine08[2]`: what is nearer to the nodes stands first."""
        levels = self.topology.levels
        first, second = sorted(ends, key=lambda end: (levels.get(end.guid, len(levels)), end))
        return f"{self.topology.name(first)} - {self.topology.name(second)}"

    def is_switch(self, guid: str) -> bool:
        """Tell a switch from a host."""
        return self.topology.devices[guid].kind == "switch"

    def is_of_host(self, ends: Ends) -> bool:
        """Tell whether a link ends at a host."""
        return not all(self.is_switch(end.guid) for end in ends)

    def node(self, guid: str) -> str:
        """Return the node that has an adapter; empty where nobody knows."""
        return self.topology.node_of.get(guid, "")

    def nodes(self, guids: Iterable[str]) -> str:
        """Return the nodes of these devices, with commas, as an observation has them."""
        return ",".join(dict.fromkeys(filter(None, map(self.node, guids))))
