"""The site's configuration as data: its systems, partitions and environments."""

import os
import re
import socket
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acceptance.core.errors import Fault
from acceptance.core.machine import names_in
from acceptance.core.paths import Workspace
from acceptance.core.text import there_are

#: The system of ReFrame's own configuration, which any host matches.
_BUILTIN = "generic"


class SiteFault(Fault):
    """A configuration that cannot be read."""


@dataclass(frozen=True)
class Site:
    """Systems, environments and modes of ReFrame's configuration files, in ReFrame's order.

    `selected` is the system that ReFrame itself selects here, where it was asked.
    """

    systems: tuple[dict[str, Any], ...]
    environments: tuple[dict[str, Any], ...]
    modes: tuple[dict[str, Any], ...] = ()
    selected: str | None = None

    def system(self, name: str | None = None) -> dict[str, Any]:
        """Return the system of this name, else that which ReFrame selects on this host.

        Raises SiteFault when there is none.
        """
        host = socket.gethostname()
        asked, name = name, name or os.environ.get("RFM_SYSTEM", "").split(":")[0] or self.selected
        for system in self.systems:
            here = any(re.match(pattern, host) for pattern in system["hostnames"])
            if here if name is None else system["name"] == name:
                return system
        known = [system["name"] for system in self.systems]
        raise SiteFault(
            f"no system {name!r}; {there_are(name, known)}"
            if name and (asked or name != _BUILTIN)
            else f"no system matches the host {host}, so that ReFrame takes its own, {_BUILTIN}; "
            f"there are {', '.join(known)}: add this host to the `hostnames` of one"
        )

    def spack_builds(
        self, system: dict[str, Any], suites: Collection[str]
    ) -> list[tuple[str, str]]:
        """Return those of some suites that a system builds with Spack, each with its MPI."""
        return sorted(
            {
                (suite, environment["extras"]["spack"]["mpi"])
                for partition in system["partitions"]
                for environment in self.environments_of(partition, system)
                if "spack" in environment.get("features", ())
                for suite in environment["features"]
                if suite in suites
            }
        )

    def options_of(self, mode: str, system: Mapping[str, Any]) -> Sequence[str] | None:
        """Return the options of a mode on a system, as they are written; None: it has no such.

        Systems may have each its own of one name.
        """
        for target in (system["name"], "*"):
            for each in reversed(self.modes):
                if each["name"] == mode and target in each.get("target_systems", ["*"]):
                    return list(each.get("options", ()))
        return None

    def environments_of(
        self, partition: dict[str, Any], system: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the environments of a partition, with what system and partition load before."""
        platforms = partition.get("container_platforms", [])
        # As ReFrame takes them: the last that is the default, else the first.
        defaults = [each for each in platforms if each.get("default")]
        around = {
            "modules_system": system.get("modules_system", "nomod"),
            "before": [system, partition],
            "container": next(iter([*reversed(defaults), *platforms]), {}),
        }
        return [
            {**each, **around}
            for each in self.environments
            if each["name"] in partition["environs"]
            and system["name"] in each.get("target_systems", [system["name"]])
        ]


def names_of(path: Path) -> dict[str, Any]:
    """Run the file of a system, `config/systems/NAME.py`, and return its names.

    Raises ValueError, with the file, for one that has no system, or that cannot be run.
    """
    try:
        names = names_in(path)
    except Exception as err:  # a system's file is a program: anything may be wrong with it
        raise ValueError(f"{path}: {type(err).__name__}: {err}") from err
    missing = [name for name in ("SYSTEM", "ENVIRONMENTS") if name not in names]
    if missing:
        raise ValueError(f"{path}: defines no {' and no '.join(missing)}")
    if not {"name", "hostnames", "partitions"} <= set(names["SYSTEM"]):
        raise ValueError(f"{path}: SYSTEM needs a name, hostnames and partitions")
    return names


def system_alone(name: str | None, workspace: Workspace) -> dict[str, Any]:
    """Return a system, or that of this host, for a program that has no time.

    Of the clone's own configuration, and with a name, only the file of the system is read. Raises
    SiteFault.
    """
    files = [folder / "config/systems" / f"{name}.py" for folder in workspace.systems]
    path = next((path for path in files if path.is_file()), None)
    if path is None or workspace.named_by:
        return load(workspace.config_files).system(name)
    try:
        system: dict[str, Any] = names_of(path)["SYSTEM"]
    except ValueError as err:
        raise SiteFault(str(err)) from None
    return system


#: What ReFrame itself has read of files, and what a file said here in an environment.
_READ_BY_REFRAME: dict[tuple[Path, ...], Site] = {}
_READ: dict[tuple[Path, frozenset[tuple[str, str]]], Mapping[str, Any]] = {}


def forget() -> None:
    """Read all files anew from here on: a command begins."""
    _READ_BY_REFRAME.clear()
    _READ.clear()


def remember(files: Iterable[Path], data: Mapping[str, Any], selected: str) -> None:
    """Note what ReFrame has read of files, whatever their form is, and the system it selects."""
    systems = tuple(system for system in data["systems"] if system["name"] != _BUILTIN)
    _READ_BY_REFRAME[tuple(files)] = Site(
        systems or tuple(data["systems"]),
        tuple(data["environments"]),
        tuple(data["modes"]),
        selected,
    )


def load(files: Iterable[Path]) -> Site:
    """Read ReFrame's configuration files (Python, or those that it has read itself).

    Raises SiteFault when one cannot be read.
    """
    files = tuple(files)
    if files in _READ_BY_REFRAME:
        return _READ_BY_REFRAME[files]
    systems: list[dict[str, Any]] = []
    environments: list[dict[str, Any]] = []
    modes: list[dict[str, Any]] = []
    for path in files:
        data = said_by(path)
        # The systems of later files come first, as in ReFrame.
        systems = [*data.get("systems", ()), *systems]
        environments += data.get("environments", ())
        modes += data.get("modes", ())
    return Site(tuple(systems), tuple(environments), tuple(modes))


def said_by(path: Path) -> Mapping[str, Any]:
    """Return the `site_configuration` of a file.

    It is a program, which a command executes once; what it says may depend on the environment.
    Raises SiteFault when it cannot be read.
    """
    place = path.resolve()
    if (known := _READ.get((place, frozenset(os.environ.items())))) is not None:
        return known
    try:
        said: Mapping[str, Any] = names_in(path)["site_configuration"]
    except Exception as err:  # a configuration is a program: anything may be wrong with it
        raise SiteFault(f"{path}: cannot be read: {err!r}") from err
    # The environment as it is left: what the file imports may have set a variable.
    _READ[place, frozenset(os.environ.items())] = said
    return said
