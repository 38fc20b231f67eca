"""What partitions and environments state in their `extras`, as every check reads it."""

import functools

import reframe.core.runtime as runtime
from reframe.core.exceptions import SanityError

from acceptance.core.extras import ExtrasFault, PartitionExtras, read_environment
from acceptance.core.paths import Workspace
from acceptance.core.words import SIMULATED
from acceptance.machine import MPIS, stated_of
from acceptance.simulation import simgrid_version
from acceptance.suites import SUITES

#: Takes the place of wrong extras, so that there are cases, which `refuse_wrong` fails.
_WRONG = PartitionExtras(nodes=1, cores=2)
#: What ReFrame 4.10 itself adds to the extras of a partition.
_OF_REFRAME = ("scheduler", "launcher")


def read(partition, where="") -> PartitionExtras:
    """Read what a partition states of itself; raises ExtrasFault."""
    stated = {key: value for key, value in partition.extras.items() if key not in _OF_REFRAME}
    system = partition.fullname.partition(":")[0]
    of_reframe = partition.scheduler.registered_name, where, system
    return stated_of(stated, *of_reframe, partition.launcher_type.registered_name)


@functools.cache
def extras_of(partition) -> PartitionExtras:
    """Return what a partition states of itself; where that is wrong, the least there can be."""
    try:
        return read(partition)
    except ExtrasFault:
        return _WRONG


def simulator_of(partition) -> dict[str, str]:
    """Return what the provenance of a simulated partition's results says; nothing of measured."""
    how = extras_of(partition).simulated
    if how is None:
        return {}
    tree = f", {how.leaf} nodes a leaf, {how.spines} spines" if how.spines else ""
    return {SIMULATED: f"SimGrid {simgrid_version()}{tree}"}


def environment_of(environ, partition) -> dict:
    """Return an environment as the configuration has it, with what is loaded before it."""
    site = runtime.runtime()
    return {
        "name": environ.name,
        "features": environ.features,
        "extras": environ.extras,
        **_loaded_by(environ),
        "modules_system": site.modules_system.name,
        "before": [
            _loaded_by(site.system.preload_environ),
            {
                **_loaded_by(partition.local_env),
                "launcher": partition.launcher_type.registered_name,
            },
        ],
        "container": _container_of(partition),
    }


def _container_of(partition) -> dict:
    """Return what runs images on a partition, by default; nothing where it states none."""
    name = partition.container_runtime
    return {"type": name, **_loaded_by(partition.container_environs[name])} if name else {}


def _loaded_by(environ) -> dict:
    """Return the modules and variables of an environment of ReFrame's."""
    return {"modules": [*environ.modules_detailed], "env_vars": {**environ.env_vars}}


def refuse_wrong(partition, environ) -> None:
    """Raise SanityError, with file and key, for extras that are wrong: nothing runs on them."""
    where = Workspace.of().place_of(*partition.fullname.split(":", 1))
    try:
        read(partition, where)
        read_environment(environ.extras, environ.features, SUITES, MPIS, f"{where}+{environ.name}")
    except ExtrasFault as err:
        raise SanityError(str(err)) from None
