"""A fabric that SimGrid simulates: made of a partition's facts, to run the unmodified programs on.

Never evidence of a real machine: a fluid model, without noise, contention of memory, or limits of
message rates. `platform` has hosts, links and routes, `technology` the parameters of the model with
their sources, `validity` what it cannot say, `references` by what its results are judged, `stage`
writes what a case requires, `smpirun` knows SimGrid's programs, `systems` derives a simulated
system from a real one, `faults` are what can be wrong with it, `nodes` what its links show, and
`cabling` its switches and cables.
"""

from acceptance.simulation import cabling, faults, nodes, systems
from acceptance.simulation.faults import FAULTS, Fault, Injected, injected
from acceptance.simulation.platform import Link, Platform, Tree
from acceptance.simulation.references import Judging, judging, recorded_with
from acceptance.simulation.smpirun import (
    build_command,
    build_folder,
    has_simgrid,
    launch_command,
    simgrid_version,
)
from acceptance.simulation.stage import SimulatedRun, write
from acceptance.simulation.systems import fat_tree, simulated
from acceptance.simulation.technology import Parameters, SimulationFault, parameters_of
from acceptance.simulation.validity import Beyond, beyond, is_input, judged_as_published

__all__ = [
    "FAULTS",
    "Beyond",
    "Fault",
    "Injected",
    "Judging",
    "Link",
    "Parameters",
    "Platform",
    "SimulatedRun",
    "SimulationFault",
    "Tree",
    "beyond",
    "build_command",
    "build_folder",
    "cabling",
    "fat_tree",
    "faults",
    "has_simgrid",
    "injected",
    "is_input",
    "judged_as_published",
    "judging",
    "launch_command",
    "nodes",
    "parameters_of",
    "recorded_with",
    "simgrid_version",
    "simulated",
    "systems",
    "write",
]
