"""A whole fabric as one of its nodes sees it: switches, hosts and links, read and described."""

from acceptance.fabric.topology import summary
from acceptance.fabric.topology.join import Joined, called, join
from acceptance.fabric.topology.levels import DeviceKind, LinkKind, device_kind, kind_of, level_name
from acceptance.fabric.topology.model import Device, End, Link, Topology, is_switch
from acceptance.fabric.topology.query_errors import Counters
from acceptance.fabric.topology.reading import SCRIPT, Reading, ReadingFault, read
from acceptance.fabric.topology.several import parts, union
from acceptance.fabric.topology.structure import Leaf, Structure, structure, switch_count

__all__ = [
    "SCRIPT",
    "Counters",
    "Device",
    "DeviceKind",
    "End",
    "Joined",
    "Leaf",
    "Link",
    "LinkKind",
    "Reading",
    "ReadingFault",
    "Structure",
    "Topology",
    "called",
    "device_kind",
    "is_switch",
    "join",
    "kind_of",
    "level_name",
    "parts",
    "read",
    "structure",
    "summary",
    "switch_count",
    "union",
]
