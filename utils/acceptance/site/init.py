"""A first configuration of a new site: Slurm, sysfs and the module system are asked, files written.

The files are for a human to edit, yet they run as they are. Where nobody could be asked they say
"fill in"; nothing is made up.
"""

import contextlib
import os
import pprint
import re
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from acceptance.core import state_files
from acceptance.core.errors import Fault, ParseError
from acceptance.core.paths import INSTALLED, ROOT, Workspace
from acceptance.fabric import FabricFault, Facts
from acceptance.machine import MpiSearch, SlurmFault, Spack, externals, find_mpis
from acceptance.site import cluster, fabric_of_node, system_file
from acceptance.site.cluster import Kind
from acceptance.site.fabric_of_node import Fabric
from acceptance.site.system_file import Plan, Request

#: A comment that asks for something, to the end of its sentence or of the comment.
_FILL_IN = re.compile(r"^ *# fill in: (?P<what>.*(?:(?<!\.)\n *# (?!fill in:).*)*)", re.MULTILINE)
#: As ReFrame's schema has it.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z", re.ASCII)
#: The files of a system, by its name.
_SYSTEM, _PACKAGES = "config/systems/{}.py", "spack-envs/systems/{}/packages.yaml"


class InitFault(Fault):
    """Why there can be no configuration: what, where, and what to do."""


def to_fill_in(files: Mapping[Path, str]) -> Iterator[tuple[Path, int, str]]:
    """Yield where a human has to fill in something, file and line, and what."""
    for path, text in files.items():
        for match in _FILL_IN.finditer(text):
            what = " ".join(match["what"].replace("#", " ").split())
            yield path, text.count("\n", 0, match.start("what")) + 1, what


def prepare_system(request: Request) -> tuple[Plan, dict[Path, str]]:
    """Look at everything; return what the files are made of, and path -> text; writes none of them.

    Makes the prefixes of links of Debian's MPIs, as the packages of Spack name them. Raises
    InitFault, SlurmFault.
    """
    paths = _paths(request)
    search = find_mpis(request.workspace.spack / "prefix", Spack.find(request.workspace))
    if request.local or not cluster.is_here():
        if request.partitions:
            raise InitFault("partitions are Slurm's, which is not asked here")
        plan = Plan(request, search)
    else:
        plan = _of_cluster(request, search)
    text = system_file.text(plan)
    _try(text, plan.name)
    return plan, {paths[0]: text, paths[1]: _packages(plan, request.workspace)}


def copy_system(request: Request, like: str) -> dict[Path, str]:
    """Return the files of a system like another one, which a human makes those of the site.

    Raises InitFault where there is no such system.
    """
    paths = _paths(request)
    roots = [root for root in request.workspace.systems if (root / _SYSTEM.format(like)).is_file()]
    if not roots:
        raise InitFault(f"there is no {_SYSTEM.format(like)} in {request.workspace.systems[-1]}")
    names = runpy.run_path(str(roots[0] / _SYSTEM.format(like)))
    system = {**names["SYSTEM"], "name": request.name, "hostnames": [rf"^{request.name}\b"]}
    # A folder of the machine that it is written on.
    del system["prefix"]
    parts = {"system": system, "environments": names["ENVIRONMENTS"]}
    literals = {
        key: pprint.pformat(value, width=100, sort_dicts=False) for key, value in parts.items()
    }
    text = system_file.render("like.py.j2", name=request.name, like=like, **literals)
    packages = roots[0] / _PACKAGES.format(like)
    more = {paths[1]: packages.read_text()} if packages.is_file() else {}
    return {paths[0]: text, **more}


def write(files: Mapping[Path, str]) -> None:
    """Write files, path -> text; raises InitFault where that is not allowed."""
    for path, text in files.items():
        if INSTALLED and path.is_relative_to(ROOT):
            raise InitFault(
                "nothing is written into an installed copy; name a folder of your own in "
                "ACCEPTANCE_SYSTEMS"
            )
        try:
            state_files.write_text(path, text)
        except state_files.StoredFault as err:
            raise InitFault(f"{err}; ACCEPTANCE_SYSTEMS names another folder") from None


def _paths(request: Request) -> tuple[Path, Path]:
    """Return the files of a system; raises InitFault for a bad name, or one that is taken."""
    if not _NAME.match(request.name):
        raise InitFault(
            f"{request.name!r} is no name of a system: a letter, then letters, digits, - and _"
        )
    files = (_SYSTEM.format(request.name), _PACKAGES.format(request.name))
    own = request.workspace.systems[-1]
    for root in request.workspace.systems:
        for path in (root / name for name in files if (root / name).exists()):
            if root != own:
                raise InitFault(f"{path} is a system of this name; choose another one")
            if not request.force:
                raise InitFault(f"{path} is there; --force writes it anew, and what you edited")
    return own / files[0], own / files[1]


def _of_cluster(request: Request, search: MpiSearch) -> Plan:
    asked = cluster.ask()
    partitions, left = cluster.choose(asked, list(request.partitions))
    clone = _clone(request.workspace)
    paths = [os.fspath(path) for path in (*clone, *(mpi.launcher for mpi in search.mpis))]
    kinds: list[Kind] = []
    for partition in partitions:
        try:
            kinds += cluster.kinds_of(partition, asked.usable(partition), paths)
        except cluster.Refused as err:
            if request.partitions:
                raise SlurmFault(f"Slurm takes no job for {partition.name}: {err}") from None
            left.append(f"{partition.name}: Slurm takes no job for it: {err}")
    if not kinds:
        raise SlurmFault("no partition can be used: " + "; ".join(left))
    kinds = _with_names([_or_here(kind, paths) for kind in kinds])
    looks = [each.fabric for each in kinds if each.fabric.node and not each.fabric.fault]
    shared, search = _all_see(looks, clone[0]), _on_nodes(search, looks)
    return Plan(request, search, asked, tuple(kinds), tuple(left), shared)


def _clone(workspace: Workspace) -> tuple[Path, ...]:
    """Return what jobs need of the clone: the folder that they run in, and the wheels."""
    # The first run makes `var`.
    there = next(path for path in (workspace.var, *workspace.var.parents) if path.exists())
    return there, workspace.wheels


def _all_see(looks: list[Fabric], path: Path) -> bool | None:
    if not looks:
        return None
    return all(os.fspath(path) in look.seen for look in looks)


def _or_here(kind: Kind, paths: list[str]) -> Kind:
    """Take the links of this machine for a kind of node that could not be looked at."""
    if not kind.fabric.node:
        with contextlib.suppress(ParseError, OSError):
            here = fabric_of_node.here(paths)
            return replace(kind, fabric=replace(here, fault=kind.fabric.fault))
    return kind


def _with_names(kinds: list[Kind]) -> list[Kind]:
    """Give each kind a name that no other one has: `a` with the feature b, and a partition `a-b`"""
    names: set[str] = set()
    renamed = []
    for kind in kinds:
        name, number = kind.name, 2
        while name in names:
            name, number = f"{kind.name}-{number}", number + 1
        names.add(name)
        renamed.append(replace(kind, name=name))
    return renamed


def _on_nodes(search: MpiSearch, looks: list[Fabric]) -> MpiSearch:
    """Leave out MPIs that the nodes do not have."""
    kept = [mpi for mpi in search.mpis if _all_see(looks, mpi.launcher) is not False]
    lacking = [
        f"{mpi.name} {mpi.version}, {mpi.origin}: the nodes do not have it"
        for mpi in search.mpis
        if mpi not in kept
    ]
    return replace(search, mpis=kept, others=[*search.others, *lacking])


def _packages(plan: Plan, workspace: Workspace) -> str:
    """Return packages.yaml: compilers and libraries of this machine, and the MPIs."""
    packages: dict[str, Any] = {
        name: value
        for name, value in externals.externals(workspace.spack / "prefix").items()
        if name not in ("openmpi", "mpich")
    }
    packages["mpi"] = {"buildable": False}
    for mpi in plan.search.mpis:
        prefix = mpi.prefix
        if mpi.package == "intel-oneapi-mpi" and prefix.parent.name == "mpi":
            # Spack counts from the folder that all of oneAPI is in.
            prefix = prefix.parent.parent
        modules = {"modules": [mpi.module]} if mpi.module else {}
        spec = f"{mpi.package}@{mpi.version}"
        packages[mpi.package] = externals.external(spec, prefix, modules)
    body = yaml.safe_dump({"packages": packages}, sort_keys=False, width=100)
    return system_file.render("packages.yaml.j2", plan=plan, packages=body.rstrip())


def _try(text: str, name: str) -> None:
    """Run the text as config/settings.py does; raises InitFault where that cannot be."""
    names: dict[str, Any] = {}
    exec(compile(text, f"{name}.py", "exec"), names)
    for partition in names["SYSTEM"]["partitions"]:
        try:
            if facts := partition["extras"].get("fabric"):
                Facts.read(facts)
        except FabricFault as err:
            raise InitFault(f"the fabric of {name}, as it was found, cannot be: {err}") from None
