"""A fabric that SimGrid simulates: made of a partition's facts, to run the unmodified programs on.

Never evidence of a real machine: a fluid model, without noise, contention of memory, or limits of
message rates. `platform` has hosts, links, routes and the parameters of the model with their
sources. `systems` knows SimGrid's programs and derives a simulated system from a real one,
`defects` are what can be wrong with it, and `readings` what its links, switches and cables show.
What it cannot say, and by what its results are judged, is in `references/`.
"""

from acceptance.simulation import defects, readings, systems
from acceptance.simulation.defects import DEFECTS, Injected, injected
from acceptance.simulation.platform import Platform, SimulatedRun, Tree, write
from acceptance.simulation.systems import (
    build_command,
    build_folder,
    fat_tree,
    has_simgrid,
    launch_command,
    simgrid_version,
    simulated,
)
