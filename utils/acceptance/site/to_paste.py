"""What partitions and environments do not state, as lines to paste into their configuration.

They are filled in with what this machine, Slurm and a node say, as `acceptance init-site` writes it
for a new site; nothing is made up.
"""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acceptance.core.errors import ParseError
from acceptance.core.paths import Workspace
from acceptance.machine import (
    SLURM,
    Prepared,
    SlurmFault,
    builds,
    compiles,
    configured_size,
    externals,
    folder_of,
    partition_nodes,
    partition_option,
    prepared,
    source_of,
)
from acceptance.rfm.configuration import Site
from acceptance.site import cluster, fabric_of_node, system_file
from acceptance.site.examined import MISSING, Examined
from acceptance.site.fabric_of_node import Fabric
from acceptance.suites import SUITES

_NODE = "acceptance doctor --ask-nodes looks at a node with a short job"
#: A value that is to be filled in.
_UNKNOWN = object()


@dataclass
class _Draft:
    """What a partition or an environment lacks: its entries, and comments on their keys."""

    kind: str
    owner: Mapping[str, Any]
    entries: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    lacking: dict[str, None] = field(default_factory=dict)

    def add(self, key: str, value: object, *notes: str, place: str = "", lacks: str = "") -> None:
        """State a key: in the `place` `extras`, or in `suites` of these beside all that has."""
        entries = self.entries
        if place:
            entries = entries.setdefault("extras", {})
        if place == "suites":
            stated = self.owner.get("extras", {}).get("suites", {})
            entries = entries.setdefault("suites", dict(stated))
        entries[key], self.notes[key] = value, [text for text in notes if text]
        self.lacking[lacks or key] = None

    def rows(self) -> Iterator[Examined]:
        """Yield the line of the doctor, if anything is lacking."""
        name = self.owner["name"]
        into = f'into the {self.kind} "{name}"'
        if self.owner.get("extras"):
            into += ", in place of these keys, and in its `extras` beside the others"
        if self.lacking:
            yield _row(f"{self.kind} {name}", self.lacking, into, _lines(self.entries, self.notes))


def _row(what: str, lacking: Iterable[str], into: str, lines: Iterable[str]) -> Examined:
    found = f"does not state {', '.join(lacking)}"
    return Examined(what, MISSING, found, f"{into}:", tuple(lines))


def _lines(
    entries: Mapping[str, Any], notes: Mapping[str, list[str]], indent: int = 0
) -> Iterator[str]:
    """Yield entries of a dictionary, below their comments; what is to be filled in is a comment."""
    start = " " * indent
    for key, value in entries.items():
        comments = [*notes.get(key, ()), *[f'fill in: "{key}": ...,'] * (value is _UNKNOWN)]
        for text in comments:
            yield from system_file.comment(text, indent).splitlines()
        if isinstance(value, Mapping):
            yield from (f'{start}"{key}": {{', *_lines(value, notes, indent + 4), f"{start}}},")
        elif value is not _UNKNOWN:
            yield from system_file.entry(key, value, indent).splitlines()


def to_paste(
    workspace: Workspace, site: Site, system: dict[str, Any], *, ask_nodes: bool = False
) -> Iterator[Examined]:
    """Yield what is not stated on a system; to `ask_nodes` a job looks at one of each partition."""
    environments: dict[str, dict[str, Any]] = {}
    for partition in system["partitions"]:
        yield from _of_partition(partition, ask_nodes).rows()
        environments |= {each["name"]: each for each in site.environments_of(partition, system)}
    named = {name for each in environments.values() for name in each.get("features", ())}
    for environment in environments.values():
        yield from _of_environment(environment, named).rows()
    for environment in [] if "imb" in named else externals.wheels_environments(workspace.wheels):
        into = 'into "environments", and "wheels" into "environs" of a partition'
        lines = ("{", *_lines(environment, {}, 4), "},")
        yield _row("environment wheels", ["Intel MPI Benchmarks"], into, lines)


def _of_partition(partition: dict[str, Any], ask_nodes: bool) -> _Draft:
    """Return what a partition does not state, with what can be found out."""
    stated, scheduler = partition.get("extras", {}), partition.get("scheduler", "local")
    draft = _Draft("partition", partition)
    if "max_jobs" not in partition:
        draft.add("max_jobs", 1, "jobs side by side would measure each other; ReFrame has 8")
    if scheduler in SLURM and not partition.get("processor"):
        with contextlib.suppress(SlurmFault):
            node = partition_nodes(partition.get("access", ()))[0]
            draft.add("processor", system_file.processor(node), f"Slurm, of {node.name}")
    source = "this machine" if scheduler == "local" else "Slurm" if scheduler in SLURM else ""
    size = configured_size({**partition, "extras": {}})
    has_cores = "cores" in stated or "num_cpus" in partition.get("processor", {})
    for key in ("nodes", "cores", "memory"):
        if key in stated or (key == "cores" and has_cores):
            continue
        if source and (value := getattr(size, key, None)):
            unit = ", bytes of a node" if key == "memory" else ""
            draft.add(key, value, source + unit, place="extras")
        else:
            why = f"not known: {size.unknown}" if size and size.unknown else ""
            draft.add(key, _UNKNOWN, why, place="extras")
    if not stated.get("fabric"):
        fabric = _look(partition, scheduler, ask_nodes)
        notes = [*fabric.notes, *(f"fill in: {line}" for line in fabric.todo)]
        if notes:
            draft.add("fabric", fabric.facts or _UNKNOWN, *notes, place="extras")
    return draft


def _look(partition: dict[str, Any], scheduler: str, ask_nodes: bool) -> Fabric:
    """Look at the links of this machine, or of a node of Slurm; nothing where it has none."""
    try:
        if scheduler == "local":
            return fabric_of_node.here([])
        if scheduler not in SLURM or not ask_nodes:
            return Fabric(todo=[_NODE if scheduler in SLURM else "config/site.md has the keys"])
        access = partition.get("access", ())
        found = cluster.look_at_one(partition_option(access), partition_nodes(access), [])
        return found if found.node else Fabric(todo=[f"no node looked: {found.fault}"])
    except (ParseError, OSError, SlurmFault) as err:
        return Fabric(todo=[str(err)])


def _of_environment(environment: dict[str, Any], named: Collection[str]) -> _Draft:
    """Return what an environment does not say of its MPI, and of suites that are on its path.

    `named` are the features of all environments: a suite that one has is not offered to another.
    """
    draft = _Draft("environment", environment)
    if builds(environment):
        return draft
    features, ready = [*environment.get("features", ())], prepared(environment)
    for suite in SUITES.values():
        program, key = ready.program(*suite.programs), suite.key
        if key in features:
            got = program or folder_of(environment, key) or source_of(environment, key)
            if not (got or compiles(environment, suite)):
                text = f"the folder of {suite.title}"
                draft.add(key, _UNKNOWN, text, place="suites", lacks=text)
        elif key not in named and program and _is_of_mpi(program, ready):
            text = "if it was built with the MPI of this environment"
            features = [*features, key]
            draft.add("features", features, lacks=suite.title)
            draft.add(key, str(program.parent), text, place="suites", lacks=suite.title)
    if "mpi" not in environment.get("extras", {}) and {*features} & {*SUITES}:
        mpi = ready.mpi
        text = str(mpi) if mpi else "none is on the path of it"
        draft.add("mpi", mpi.name if mpi else _UNKNOWN, text, place="extras")
        if mpi and mpi.name == "openmpi" and os.geteuid() == 0:
            stated = map(list, dict(environment.get("env_vars", ())).items())
            variables = [*stated, *system_file.AS_ROOT]
            draft.add("env_vars", variables, "Open MPI refuses root, as which this runs")
    return draft


def _is_of_mpi(program: Path, ready: Prepared) -> bool:
    """Tell whether a program may be of the MPI of an environment.

    It is of another one where the environment puts only one of the two on PATH.
    """
    if ready.mpi is None:
        return True
    around = os.environ.get("PATH", "").split(":")
    return (str(program.parent) in around) == (str(ready.mpi.launcher.parent) in around)
