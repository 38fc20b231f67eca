"""Where ranks shall stand, where they stood, who else was there, and how their job ended."""

from acceptance.launch import (
    pins,
    placement,
    rank_report,
    rounds,
    scontrol,
    slurm_jobs,
)
from acceptance.launch.last_words import last_words
from acceptance.launch.partition_size import NODES, Size, size_of, stated_of
from acceptance.launch.pins import PinFault
from acceptance.launch.placement import MPIS, Launch, Layout, PlacementFault, place
from acceptance.launch.rank_report import Rank, misplaced
from acceptance.launch.scontrol import SlurmFault
from acceptance.launch.slurm_jobs import SLURM, cut_short
from acceptance.launch.slurm_nodes import (
    SlurmNode,
    excluded_nodes,
    listed_nodes,
    node_records,
    partition_nodes,
    partition_option,
)
from acceptance.launch.topology import (
    CACHE_SCRIPT,
    last_level_cache,
    process_counts,
    usable_cores,
    usable_memory,
)

__all__ = [
    "CACHE_SCRIPT",
    "MPIS",
    "NODES",
    "SLURM",
    "Launch",
    "Layout",
    "PinFault",
    "PlacementFault",
    "Rank",
    "Size",
    "SlurmFault",
    "SlurmNode",
    "cut_short",
    "excluded_nodes",
    "last_level_cache",
    "last_words",
    "listed_nodes",
    "misplaced",
    "node_records",
    "partition_nodes",
    "partition_option",
    "pins",
    "place",
    "placement",
    "process_counts",
    "rank_report",
    "rounds",
    "scontrol",
    "size_of",
    "slurm_jobs",
    "stated_of",
    "usable_cores",
    "usable_memory",
]
