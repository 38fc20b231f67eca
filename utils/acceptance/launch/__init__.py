"""Where ranks shall stand, where they stood, who else was there, and how their job ended."""

from acceptance.launch import placement, slurm_jobs, slurm_nodes
from acceptance.launch.partition_size import (
    CACHE_SCRIPT,
    NODES,
    NONE_UP,
    Size,
    last_level_cache,
    process_counts,
    size_of,
    stated_of,
    usable_cores,
    usable_memory,
)
from acceptance.launch.placement import MPIS, Layout, PlacementFault, misplaced
from acceptance.launch.slurm_jobs import SLURM, last_words
from acceptance.launch.slurm_nodes import (
    PinFault,
    SlurmFault,
    SlurmNode,
    excluded_nodes,
    listed_nodes,
    node_records,
    partition_nodes,
    partition_option,
)
