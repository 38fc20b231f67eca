"""Modules of this machine, and MPIs among them: Lmod, or Environment Modules (Tcl)."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acceptance.core import process
from acceptance.software import mpi_versions

#: Seconds for one command; module systems on slow file systems take some.
PATIENCE = 60
#: How many modules of MPIs are loaded to look at them; each takes a second or so.
MAX_LOADED = 12
#: Pagers and colours are for people.
PLAIN = {
    "LMOD_PAGER": "none",
    "MODULES_PAGER": "",
    "MODULES_COLOR": "never",
    "LMOD_COLORIZE": "no",
}


@dataclass(frozen=True)
class Modules:
    """A module system: its command, and ReFrame's name of it; empty where ReFrame knows none."""

    command: str
    reframe: str
    title: str


def find(environ: Mapping[str, str] = os.environ) -> Modules | None:
    """Find the module system that this user's shell has been set up with; None without one."""
    if command := environ.get("LMOD_CMD"):
        return Modules(command, "lmod", "Lmod")
    for command in (
        environ.get("MODULES_CMD"),
        f"{environ['MODULESHOME']}/libexec/modulecmd.tcl" if environ.get("MODULESHOME") else None,
        shutil.which("modulecmd", path=environ.get("PATH")),
    ):
        if command and Path(command).is_file():
            # ReFrame calls `modulecmd` by this name, and requires 4.1.
            version = _run([command, "bash", "-V"]).err
            known = shutil.which("modulecmd", path=environ.get("PATH"))
            return Modules(command, "envmod" if known and _is_new(version) else "", "Tcl modules")
    return None


def candidates(system: Modules) -> list[str]:
    """Return the modules that may be MPIs by their names.

    Of each name that is the default version or, without one, the last, as both systems list
    versions in order. `mpi/openmpi-x86_64` and `mpi/mpich-x86_64`, as Red Hat names them, are two
    names.
    """
    words = ["-t", "avail"] if system.reframe == "lmod" else ["avail", "-t"]
    done = _run([system.command, "bash", *words])
    chosen: dict[tuple[str, str], tuple[str, bool]] = {}
    for module, default in mpi_versions.modules(done.err or done.out):
        if kind := mpi_versions.mpi_of(module):
            name = module.rpartition("/")[0] or module, kind
            if default or not chosen.get(name, ("", False))[1]:
                chosen[name] = module, default
    return [module for module, _ in chosen.values()]


def load(system: Modules, module: str) -> Path | None:
    """Load a module in a shell of its own; return its MPI's folder of programs, None without."""
    # Both systems end what they print with a command that fails when loading did.
    script = (
        'eval "$("$1" bash load "$2" 2>/dev/null)" >/dev/null 2>&1 || exit 1\n'
        "command -v mpicc || command -v mpirun || command -v mpiexec"
    )
    lines = _run(["bash", "-c", script, "load", system.command, module]).out.splitlines()
    before = shutil.which("mpicc") or shutil.which("mpirun") or shutil.which("mpiexec")
    is_loaded = module in os.environ.get("LOADEDMODULES", "").split(":")
    if not lines or (lines[-1] == before and not is_loaded):
        return None
    return Path(lines[-1]).parent


def _is_new(version: str) -> bool:
    """Tell whether `modulecmd -V` says `Modules Release 4.1` or newer."""
    words = version.split()
    if words[:2] != ["Modules", "Release"] or len(words) < 3:
        return False
    numbers = [int(part) for part in words[2].split(".")[:2] if part.isdigit()]
    return numbers >= [4, 1]


def _run(command: list[str]) -> process.Done:
    return process.run(command, PATIENCE, env={**os.environ, **PLAIN})
