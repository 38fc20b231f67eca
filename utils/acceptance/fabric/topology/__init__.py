"""A whole fabric as one of its nodes sees it: switches, hosts and links, read and described."""

from acceptance.fabric.topology import summary
from acceptance.fabric.topology.model import (
    Device,
    End,
    Link,
    Topology,
    kind_of,
    level_name,
    parts,
    union,
)
from acceptance.fabric.topology.reading import SCRIPT, Reading, join, options, read
from acceptance.fabric.topology.summary import Leaf, structure, switch_count
