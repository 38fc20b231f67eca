"""The machine: where ranks stand, what schedulers say; MPIs, compilers, modules, images, Spack."""

from acceptance.machine import externals, osnoise, placement, schedulers, slurm
from acceptance.machine.missing import (
    RESUME,
    broken_promise,
    builds,
    compiler_of,
    compiles,
    find_program,
    find_sources,
    folder_of,
    image_named,
    image_of,
    is_of_suite,
    launch_fault,
    left_to_do,
    no_case,
    no_cases_line,
    not_provided,
    not_simulated,
    other_version,
    program_of,
    provision,
    read_program,
    release_of_npb,
    software_of,
    source_of,
    stated_version,
    without_case,
)
from acceptance.machine.mpis import InstalledMpi, MpiSearch, Prepared, find_mpis, plugin, prepared
from acceptance.machine.mpis import mpi_of as mpi_of_module
from acceptance.machine.partition_size import (
    CACHE_SCRIPT,
    NODES,
    NONE_UP,
    Size,
    configured_size,
    last_level_cache,
    process_counts,
    size_of,
    stated_of,
    usable_cores,
    usable_memory,
)
from acceptance.machine.placement import (
    MPIS,
    WAITED,
    WITHOUT_MPI,
    Layout,
    PlacementFault,
    misplaced,
)
from acceptance.machine.schedulers import ASKED, access_of, lists_nodes, nodes_of
from acceptance.machine.slurm import (
    SLURM,
    SchedulerFault,
    SlurmNode,
    excluded_nodes,
    last_words,
    names_of,
    partition_option,
)
from acceptance.machine.spack import (
    BUILD,
    BUILD_TIME,
    Spack,
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
    read_packages,
    spack_features,
    spack_suites,
)
