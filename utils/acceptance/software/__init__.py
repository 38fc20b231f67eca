"""How a machine gets a suite: Spack, and the MPIs, compilers and modules that are there."""

from acceptance.software import externals
from acceptance.software.missing import (
    RESUME,
    NoCase,
    broken_promise,
    builds,
    compiler_of,
    compiles,
    find_program,
    find_sources,
    folder_of,
    launch_fault,
    left_to_do,
    missing,
    no_case,
    no_cases_line,
    not_simulated,
    program_of,
    release_of_npb,
    software_of,
    source_of,
)
from acceptance.software.mpis import InstalledMpi, MpiSearch, find_mpis, plugin
from acceptance.software.prepared import Prepared, prepared
from acceptance.software.spack import (
    BUILD,
    BUILD_TIME,
    Spack,
    SpackFault,
    clone_spack,
    complaint,
    compose_environment,
    environment_for,
    features_on_local,
    fill_mirror,
    keep_lock,
    lines_on_builds,
    may_build,
    pinned_version,
    read_lock,
    spack_features,
    unbuilt,
)
