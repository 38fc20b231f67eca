"""The MPIs of a machine: of its modules, on PATH, of Debian, of Spack; one of each kind."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core import process
from acceptance.software import externals, modules, mpi_versions
from acceptance.software.spack import Spack

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
    module_system: modules.Modules | None = None

    def add(self, mpi: InstalledMpi) -> None:
        """Take the first of each kind: a suite is built with one of them."""
        same = [known for known in self.mpis if known.name == mpi.name]
        if not same:
            self.mpis.append(mpi)
        elif all(known.prefix.resolve() != mpi.prefix.resolve() for known in same):
            self.others.append(f"{mpi.name} {mpi.version}: {mpi.origin}")

    def look_into(self, programs: Path, origin: str, module: str = "") -> None:
        """Take the MPI whose programs are in a folder."""
        if identity := identify(programs):
            self.add(InstalledMpi(*identity, programs.parent, origin, module))
        else:
            self.others.append(f"{origin}: no MPI that is known here")


def find_mpis(prefixes: Path, spack: Spack | None) -> MpiSearch:
    """Find the MPIs of this machine; those of modules, which a site means to be used, first.

    Makes the links of Debian's MPIs below `prefixes`.
    """
    search = MpiSearch(module_system=modules.find())
    if search.module_system:
        names = modules.candidates(search.module_system)
        for name in names[: modules.MAX_LOADED]:
            if programs := modules.load(search.module_system, name):
                search.look_into(programs, f"module {name}", name)
            else:
                search.others.append(f"module {name}: brings no MPI, or does not load by itself")
        search.others += [f"module {name}: not looked at" for name in names[modules.MAX_LOADED :]]
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


def identify(programs: Path, variables: Mapping[str, str] = os.environ) -> tuple[str, str] | None:
    """Return name and version of the MPI whose programs are in a folder; None if none says so."""
    for program, *options in _TELLERS:
        if (programs / program).is_file():
            command = [str(programs / program), *options]
            done = process.run(command, timeout=60, env={**variables, "LC_ALL": "C"})
            if identity := mpi_versions.identity(done.out):
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
            done = process.run([program, "--version"], timeout=60, env=variables)
            folder = Path(program).parent
            identity = mpi_versions.identity(done.out) or identify(folder, variables)
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
    done = process.run([str(spack.program), "find", form, *_PACKAGES], timeout=120)
    rows = [line.split(maxsplit=2) for line in done.out.splitlines()]
    return [
        InstalledMpi(_PACKAGES[row[0]], row[1], Path(row[2]), "installed by Spack")
        for row in rows
        if len(row) == 3 and row[0] in _PACKAGES and Path(row[2]).is_dir()
    ]
