"""A first configuration of a new site: asks Slurm, the nodes and the modules, writes two files."""

from acceptance.site.init.fabric_of_node import Fabric
from acceptance.site.init.prepare import (
    NODES,
    InitFault,
    Request,
    Written,
    copy_system,
    prepare_system,
    write,
)

__all__ = [
    "NODES",
    "Fabric",
    "InitFault",
    "Request",
    "Written",
    "copy_system",
    "prepare_system",
    "write",
]
