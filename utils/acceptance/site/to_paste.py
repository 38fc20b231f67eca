"""What partitions and environments do not state, as lines to paste into their configuration.

They are filled in with what this machine, Slurm and a node say, as `acceptance init-site` writes it
for a new site; nothing is made up.
"""

import contextlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acceptance.core.errors import ParseError
from acceptance.core.paths import Workspace
from acceptance.launch import SLURM, SlurmFault, node_records, partition_option
from acceptance.rfm.configuration import Site
from acceptance.site.init import fabric_of_node, node_kinds, probe, system_file
from acceptance.site.init.fabric_of_node import Fabric
from acceptance.site.unprovided import partition_size
from acceptance.software import builds, folder_of, prepared
from acceptance.suites import SUITES

_NODE = "acceptance doctor --ask-nodes looks at a node with a short job"


@dataclass(frozen=True)
class ToPaste:
    """Lines of Python, and where they belong; `keys` are what is not stated yet."""

    what: str
    into: str
    keys: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass
class _Entries:
    """Entries of a dictionary: key -> value, with comments above each; None: to be filled in."""

    values: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, list[str]] = field(default_factory=dict)

    def add(self, key: str, value: object, *comments: str) -> None:
        if isinstance(value, dict):
            entries = _Entries()
            for name, entry in value.items():
                entries.add(name, entry)
            value = entries
        self.values[key], self.comments[key] = value, [text for text in comments if text]

    def lines(self, indent: int = 0) -> Iterator[str]:
        """Yield the lines; what is to be filled in is a comment."""
        start = " " * indent
        for key, value in self.values.items():
            if isinstance(value, _Entries):
                for text in self.comments[key]:
                    yield from system_file.comment(text, indent).splitlines()
                yield from (f'{start}"{key}": {{', *value.lines(indent + 4), f"{start}}},")
            elif value is None:
                for text in (*self.comments[key], f'fill in: "{key}": ...,'):
                    yield from system_file.comment(text, indent).splitlines()
            else:
                yield from system_file.entry(key, value, indent, self.comments[key]).splitlines()


def to_paste(
    workspace: Workspace, site: Site, system: dict[str, Any], *, ask_nodes: bool = False
) -> Iterator[ToPaste]:
    """Yield what is not stated on a system; to `ask_nodes` a job looks at one of each partition."""
    environments: dict[str, dict[str, Any]] = {}
    for partition in system["partitions"]:
        entries = _of_partition(partition, ask_nodes)
        yield from _in_place(f"partition {partition['name']}", entries, partition)
        environments |= {each["name"]: each for each in site.environments_of(partition, system)}
    named = {name for each in environments.values() for name in each.get("features", ())}
    for name, environment in environments.items():
        entries = _of_environment(environment, named)
        yield from _in_place(f"environment {name}", entries, environment)
    yield from _of_wheels(workspace, site, system)


def _in_place(what: str, entries: _Entries, owner: dict[str, Any]) -> Iterator[ToPaste]:
    """Yield entries of a partition or an environment; those of its extras alone if it has some."""
    extras = entries.values.get("extras")
    keys = [key for key in entries.values if key != "extras"]
    keys += extras.values if extras else []
    if not keys:
        return
    kind, name = what.split(" ", 1)
    into = f'into the {kind} "{name}"'
    if owner.get("extras"):
        into += ", in place of these keys, and in its `extras` beside the others"
    yield ToPaste(what, into, tuple(keys), tuple(entries.lines()))


def _of_partition(partition: dict[str, Any], ask_nodes: bool) -> _Entries:
    """Return what a partition does not state, with what can be found out."""
    stated, scheduler = partition.get("extras", {}), partition.get("scheduler", "local")
    has_cores = "cores" in stated or "num_cpus" in partition.get("processor", {})
    lacking = [
        key
        for key, there in (("nodes", "nodes" in stated), ("cores", has_cores),
                           ("memory", "memory" in stated), ("fabric", bool(stated.get("fabric"))))
        if not there
    ]  # fmt: skip
    entries, extras = _Entries(), _Entries()
    if "max_jobs" not in partition:
        entries.add("max_jobs", 1, "jobs side by side would measure each other; ReFrame has 8")
    if not lacking:
        return entries
    size = partition_size({**partition, "extras": {}})
    source = "this machine" if scheduler == "local" else "Slurm" if scheduler in SLURM else ""
    values = {"nodes": size.nodes, "cores": size.cores, "memory": size.memory} if size else {}
    for key in lacking:
        value = values.get(key) if source else None
        if key == "fabric":
            _add_fabric(extras, _look(partition, scheduler, ask_nodes))
        elif value:
            extras.add(key, value, f"{source}{', bytes of a node' if key == 'memory' else ''}")
        else:
            extras.add(key, None, f"not known: {size.unknown}" if size and size.unknown else "")
    if scheduler in SLURM and not partition.get("processor"):
        with contextlib.suppress(SlurmFault):
            node = node_records(partition.get("access", ()))[0]
            entries.add("processor", system_file.processor(node), f"Slurm, of {node.name}")
    entries.add("extras", extras)
    return entries


def _look(partition: dict[str, Any], scheduler: str, ask_nodes: bool) -> Fabric:
    """Look at the links of this machine, or of a node of Slurm."""
    try:
        if scheduler == "local":
            return fabric_of_node.fabric(probe.here([]))
        if scheduler not in SLURM or not ask_nodes:
            return Fabric(todo=(_NODE if scheduler in SLURM else "config/README.md has the keys",))
        access = partition.get("access", ())
        look = node_kinds.look_at_one(partition_option(access), node_records(access), [])
        return look.fabric if look.probe else Fabric(todo=(f"no node looked: {look.fault}",))
    except (ParseError, OSError, SlurmFault) as err:
        return Fabric(todo=(str(err),))


def _add_fabric(extras: _Entries, fabric: Fabric) -> None:
    comments = [*fabric.notes, *(f"fill in: {line}" for line in fabric.todo)]
    extras.add("fabric", fabric.facts or None, *comments)


def _of_environment(environment: dict[str, Any], named: Collection[str]) -> _Entries:
    """Return what an environment does not say of its MPI, and of suites that are on its path.

    `named` are the features of all environments: a suite that one has is not offered to another.
    """
    entries, extras = _Entries(), _Entries()
    if builds(environment):
        return entries
    features, stated = list(environment.get("features", ())), environment.get("extras", {})
    ready = prepared(environment)
    folders, found = _Entries(), []
    for suite in SUITES.values():
        program = ready.program(*suite.programs)
        if suite.key in features and not folder_of(environment, suite.key) and not program:
            folders.add(suite.key, None, f"the folder of {suite.title}")
        elif suite.key not in named and program:
            text = "if it was built with the MPI of this environment"
            folders.add(suite.key, str(program.parent), text)
            found.append(suite.key)
    if found:
        entries.add("features", [*features, *found])
    if "mpi" not in stated and (folders.values or {*features} & {*SUITES}):
        mpi = ready.mpi
        extras.add("mpi", mpi and mpi.name, str(mpi) if mpi else "none is on the path of it")
        if mpi and mpi.name == "openmpi" and os.geteuid() == 0:
            variables = [*environment.get("env_vars", ()), *system_file.AS_ROOT]
            entries.add("env_vars", variables, "Open MPI refuses root, as which this runs")
    if folders.values:
        extras.add("suites", folders)
    if extras.values:
        entries.add("extras", extras)
    return entries


def _of_wheels(workspace: Workspace, site: Site, system: dict[str, Any]) -> Iterator[ToPaste]:
    """Yield an environment for IMB from the Python wheels, where they are here and none has IMB."""
    folder = workspace.wheels / "bin"
    having = (
        environment
        for partition in system["partitions"]
        for environment in site.environments_of(partition, system)
        if "imb" in environment.get("features", ()) and folder_of(environment, "imb")
    )
    if not (folder / "IMB-MPI1").is_file() or any(having):
        return
    entries = _Entries()
    entries.add("name", "wheels")
    entries.add("features", ["imb"])
    entries.add("extras", {"mpi": "intel-mpi", "suites": {"imb": str(folder)}})
    entries.add("env_vars", wheels_variables(workspace.wheels))
    lines = ("{", *entries.lines(4), "},")
    into = 'into "environments", and "wheels" into "environs" of a partition'
    yield ToPaste("environment wheels", into, ("imb",), lines)


def wheels_variables(wheels: Path) -> list[list[str]]:
    """Return the variables of an environment with the MPI of the wheels."""
    return [
        ["PATH", f"{wheels}/bin:$PATH"],
        ["LD_LIBRARY_PATH", f"{wheels}/lib:$LD_LIBRARY_PATH"],
        ["I_MPI_ROOT", str(wheels)],
    ]
