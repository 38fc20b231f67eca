"""How a machine gets a suite: Spack, and the MPIs, compilers and modules that are there."""

from acceptance.software import externals
from acceptance.software.mpis import (
    InstalledMpi,
    MpiSearch,
    find_mpis,
    mpi_on_path,
    plugin,
)
from acceptance.software.no_case import (
    NoCase,
    broken_promise,
    builds,
    compiler_of,
    compiles,
    folder_of,
    launch_fault,
    missing,
    no_case,
    not_provided,
    not_simulated,
    program_of,
    software_of,
)
from acceptance.software.prepared import Prepared, prepared
from acceptance.software.programs import find_program
from acceptance.software.spack import Spack, SpackFault, complaint
from acceptance.software.spack_environments import (
    compose_environment,
    environment_for,
    keep_lock,
    pinned_version,
    read_lock,
    spack_features,
)
from acceptance.software.spack_sources import clone_spack, fill_mirror
from acceptance.software.suite_sources import find_sources, release_of_npb, source_of

__all__ = [
    "InstalledMpi",
    "MpiSearch",
    "NoCase",
    "Prepared",
    "Spack",
    "SpackFault",
    "broken_promise",
    "builds",
    "clone_spack",
    "compiler_of",
    "compiles",
    "complaint",
    "compose_environment",
    "environment_for",
    "externals",
    "fill_mirror",
    "find_mpis",
    "find_program",
    "find_sources",
    "folder_of",
    "keep_lock",
    "launch_fault",
    "missing",
    "mpi_on_path",
    "no_case",
    "not_provided",
    "not_simulated",
    "pinned_version",
    "plugin",
    "prepared",
    "program_of",
    "read_lock",
    "release_of_npb",
    "software_of",
    "source_of",
    "spack_features",
]
