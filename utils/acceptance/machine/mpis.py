"""The MPIs of a machine: of its modules, on PATH, of Debian, of Spack; one of each kind.

They tell their names and versions like this::

    Open MPI v4.1.4                                   ompi_info --version
    mpirun (Open MPI) 4.1.6                           mpirun --version, of Open MPI
    MPICH Version:          4.0.2                     mpichversion
    MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022     mpiname -a
    Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307   mpirun --version, of Intel's

Modules, and MPIs among them, are those of Lmod, or of Environment Modules (Tcl).
"""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core import machine
from acceptance.machine import externals
from acceptance.machine.spack import Spack

#: Beginning of a line -> MPI, as `extras["mpi"]` names it. A version follows.
_LINES = (
    (re.compile(r"Open MPI v(\S+)"), "openmpi"),
    (re.compile(r"\S+ \(Open MPI\) (\S+)"), "openmpi"),
    (re.compile(r"MVAPICH2?(?: Version:)?\s+(\d\S*)"), "mvapich2"),
    (re.compile(r"MPICH Version:\s+(\S+)"), "mpich"),
    (re.compile(r"Intel\(R\) MPI Library .*Version (\S+)"), "intel-mpi"),
)
#: The MPIs that can be told apart.
NAMES = {name for _, name in _LINES}
#: Word in the name of a module -> MPI.
_NAMES = (
    ("openmpi", "openmpi"),
    ("mvapich", "mvapich2"),
    ("impi", "intel-mpi"),
    ("intel-mpi", "intel-mpi"),
    ("intelmpi", "intel-mpi"),
    ("intel-oneapi-mpi", "intel-mpi"),
    ("mpich", "mpich"),
    # As oneAPI's own modules are called.
    ("mpi", "intel-mpi"),
)


def identity_of(text: str) -> tuple[str, str] | None:
    """Return the MPI that a program says it belongs to, and its version; None if it says none."""
    for line in text.splitlines():
        for pattern, name in _LINES:
            if match := pattern.match(line.strip()):
                return name, match[1].rstrip(",")
    return None


def modules(text: str) -> list[tuple[str, bool]]:
    """Read `module -t avail`: each module, and whether it is the default of its name.

    Lmod and Environment Modules both write a module a line, between lines with the folder and a
    colon; Lmod has a line `name/` for a name with versions, Environment Modules mark `(default)`.
    """
    listed = []
    for line in text.splitlines():
        word = line.strip()
        if not word or word.endswith((":", "/")) or " " in word:
            continue
        name, mark, _ = word.partition("(")
        listed.append((name, mark == "(" and "default" in word))
    return listed


def mpi_of(module: str) -> str | None:
    """Return which MPI a module may be, by its name; only loading it tells."""
    parts = module.lower().split("/")
    for word, mpi in _NAMES:
        if any(re.match(rf"{word}(?![a-z])", part) for part in parts):
            return mpi
    return None


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
    for module, default in modules(done.err or done.out):
        if kind := mpi_of(module):
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


def _run(command: list[str]) -> machine.Done:
    return machine.run(command, PATIENCE, env={**os.environ, **PLAIN})


#: Programs that tell of an MPI, the surest first: MVAPICH2 has some of MPICH's, too.
_TELLERS = (
    ("mpiname", "-a"),
    ("ompi_info", "--version"),
    ("mpichversion",),
    ("mpirun", "--version"),
    ("mpiexec", "--version"),
)
#: MPI -> plugins of srun that start it, the best first; a version may follow (pmix_v4).
_STARTS = {
    "openmpi": ("pmix", "pmi2"),
    "mpich": ("pmi2", "pmix"),
    "mvapich2": ("pmi2", "pmix"),
    "intel-mpi": ("pmi2", "pmix"),
}
#: Spack's packages, and the MPI that each is.
_PACKAGES = {
    "openmpi": "openmpi",
    "mpich": "mpich",
    "mvapich2": "mvapich2",
    "mvapich": "mvapich2",
    "intel-oneapi-mpi": "intel-mpi",
}


@dataclass(frozen=True)
class InstalledMpi:
    """An MPI: its name (`extras["mpi"]`), version, prefix, where it was found, and its module."""

    name: str
    version: str
    prefix: Path
    origin: str
    module: str = ""

    @property
    def package(self) -> str:
        """Return the name of Spack's package."""
        if self.name == "mvapich2" and not self.version.startswith(("1.", "2.")):
            return "mvapich"
        return "intel-oneapi-mpi" if self.name == "intel-mpi" else self.name

    @property
    def launcher(self) -> Path:
        """Return a program that is there where the MPI is."""
        folder = self.prefix / "bin"
        return next((folder / n for n in ("mpirun", "mpiexec") if (folder / n).exists()), folder)


@dataclass
class MpiSearch:
    """The MPIs of a machine, one of each kind; `others` has a line on each that is not used."""

    mpis: list[InstalledMpi] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    module_system: Modules | None = None

    def add(self, mpi: InstalledMpi) -> None:
        """Take the first of each kind: a suite is built with one of them."""
        same = [known for known in self.mpis if known.name == mpi.name]
        if not same:
            self.mpis.append(mpi)
        elif all(known.prefix.resolve() != mpi.prefix.resolve() for known in same):
            self.others.append(f"{mpi.name} {mpi.version}: {mpi.origin}")

    def look_into(self, programs: Path, origin: str, module: str = "") -> None:
        """Take the MPI whose programs are in a folder."""
        if identity := _identify(programs):
            self.add(InstalledMpi(*identity, programs.parent, origin, module))
        else:
            self.others.append(f"{origin}: no MPI that is known here")


def find_mpis(prefixes: Path, spack: Spack | None) -> MpiSearch:
    """Find the MPIs of this machine; those of modules, which a site means to be used, first.

    Makes the links of Debian's MPIs below `prefixes`.
    """
    search = MpiSearch(module_system=find())
    if search.module_system:
        names = candidates(search.module_system)
        for name in names[:MAX_LOADED]:
            if programs := load(search.module_system, name):
                search.look_into(programs, f"module {name}", name)
            else:
                search.others.append(f"module {name}: brings no MPI, or does not load by itself")
        search.others += [f"module {name}: not looked at" for name in names[MAX_LOADED:]]
    debian = externals.mpi_versions()
    for name in ("mpirun", "mpiexec"):
        path = shutil.which(name)
        # In /usr/bin several MPIs share one prefix, which Spack cannot use.
        if path and not (debian and Path(path).parent == Path("/usr/bin")):
            search.look_into(Path(path).parent, f"{name} on PATH")
    for name, version in debian.items():
        prefix = externals.prefix_of(name, prefixes)
        search.add(InstalledMpi(name, version, prefix, "Debian's packages"))
    for installed in _installed(spack) if spack else ():
        search.add(installed)
    return search


def _identify(programs: Path, variables: Mapping[str, str] = os.environ) -> tuple[str, str] | None:
    """Return name and version of the MPI whose programs are in a folder; None if none says so."""
    for program, *options in _TELLERS:
        if (programs / program).is_file():
            command = [str(programs / program), *options]
            done = machine.run(command, timeout=60, env={**variables, "LC_ALL": "C"})
            if identity := identity_of(done.out):
                return identity
    return None


@dataclass(frozen=True)
class MpiOnPath:
    """The MPI whose launcher comes first on a path."""

    name: str
    version: str
    launcher: Path

    def __str__(self) -> str:
        """Say what tells."""
        return f"{self.launcher}: {self.name} {self.version}"


def mpi_on_path(path: str, variables: Mapping[str, str] = os.environ) -> MpiOnPath | None:
    """Return the MPI whose launcher comes first on a path; None where nothing tells."""
    for name in ("mpirun", "mpiexec"):
        if program := shutil.which(name, path=path):
            done = machine.run([program, "--version"], timeout=60, env=variables)
            folder = Path(program).parent
            identity = identity_of(done.out) or _identify(folder, variables)
            return MpiOnPath(*identity, Path(program)) if identity else None
    return None


def plugin(mpi: str, plugins: tuple[str, ...]) -> str:
    """Return the plugin with which srun starts an MPI; empty where it has none that does."""
    for kind in _STARTS[mpi]:
        if kind in plugins:
            return kind
        if versions := [name for name in plugins if name.startswith(f"{kind}_")]:
            return versions[-1]
    return ""


def _installed(spack: Spack) -> list[InstalledMpi]:
    """Return the MPIs that a Spack has installed for its user, whose configuration counts here."""
    form = "--format={name} {version} {prefix}"
    done = machine.run([str(spack.program), "find", form, *_PACKAGES], timeout=120)
    rows = [line.split(maxsplit=2) for line in done.out.splitlines()]
    return [
        InstalledMpi(_PACKAGES[row[0]], row[1], Path(row[2]), "installed by Spack")
        for row in rows
        if len(row) == 3 and row[0] in _PACKAGES and Path(row[2]).is_dir()
    ]
