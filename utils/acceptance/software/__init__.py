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
    no_cases_line,
    not_provided,
    not_simulated,
    program_of,
    software_of,
)
from acceptance.software.prepared import Prepared, prepared
from acceptance.software.programs import find_program
from acceptance.software.spack import Spack, SpackFault, complaint
from acceptance.software.spack_environments import (
    BUILD,
    compose_environment,
    environment_for,
    features_on_local,
    keep_lock,
    may_build,
    pinned_version,
    read_lock,
    spack_features,
    unbuilt,
)
from acceptance.software.spack_sources import BUILD_TIME, clone_spack, fill_mirror, lines_on_builds
from acceptance.software.suite_sources import find_sources, release_of_npb, source_of

__all__ = [
    "BUILD",
    "BUILD_TIME",
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
    "features_on_local",
    "fill_mirror",
    "find_mpis",
    "find_program",
    "find_sources",
    "folder_of",
    "keep_lock",
    "launch_fault",
    "lines_on_builds",
    "may_build",
    "missing",
    "mpi_on_path",
    "no_case",
    "no_cases_line",
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
    "unbuilt",
]
