"""The MPIs of a machine: of its modules, on PATH, of Debian, of Spack; one of each kind."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.software import externals, modules, spack
from acceptance.software import mpi_versions as parse

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
class Found:
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
class Search:
    """What was found; `others` are more of the same kind, with a line each."""

    mpis: list[Found] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    module_system: modules.Modules | None = None

    def add(self, found: Found) -> None:
        """Take the first of each kind: a suite is built with one of them."""
        same = [one for one in self.mpis if one.name == found.name]
        if not same:
            self.mpis.append(found)
        elif all(one.prefix.resolve() != found.prefix.resolve() for one in same):
            self.others.append(f"{found.name} {found.version}: {found.origin}")


def search(prefixes: Path, spack_here: spack.Spack | None) -> Search:
    """Find the MPIs of this machine; those of modules, which a site means to be used, first."""
    found = Search(module_system=modules.find())
    if found.module_system:
        names = modules.candidates(found.module_system)
        for name in names[: modules.MOST]:
            if programs := modules.load(found.module_system, name):
                _add(found, programs, f"module {name}", module=name)
            else:
                found.others.append(f"module {name}: brings no MPI, or does not load by itself")
        found.others += [f"module {name}: not looked at" for name in names[modules.MOST :]]
    debian = externals.mpis(prefixes)
    for name in ("mpirun", "mpiexec"):
        path = shutil.which(name)
        # In /usr/bin several MPIs share one prefix, which Spack cannot use.
        if path and not (debian and Path(path).parent == Path("/usr/bin")):
            _add(found, Path(path).parent, f"{name} on PATH")
    for its in debian.values():
        externals.link(its)
        found.add(Found(its.name, its.version, its.prefix, "Debian's packages"))
    if spack_here:
        for one in _installed(spack_here):
            found.add(one)
    return found


def identify(programs: Path) -> tuple[str, str] | None:
    """Return name and version of the MPI whose programs are in a folder; None if none says so."""
    for program, *options in _TELLERS:
        if (programs / program).is_file():
            try:
                done = subprocess.run(
                    [str(programs / program), *options],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, "LC_ALL": "C"},
                )
            except (OSError, subprocess.TimeoutExpired):
                continue
            if told := parse.told(done.stdout):
                return told
    return None


def plugin(mpi: str, plugins: tuple[str, ...]) -> str:
    """Return the plugin with which srun starts an MPI; empty where it has none that does."""
    for kind in _STARTS[mpi]:
        if kind in plugins:
            return kind
        if versions := [name for name in plugins if name.startswith(f"{kind}_")]:
            return versions[-1]
    return ""


def _add(found: Search, programs: Path, origin: str, module: str = "") -> None:
    if told := identify(programs):
        found.add(Found(*told, programs.parent, origin, module))
    else:
        found.others.append(f"{origin}: no MPI that is known here")


def _installed(spack_here: spack.Spack) -> list[Found]:
    """Return the MPIs that a Spack has installed for its user, whose configuration counts here."""
    form = "--format={name} {version} {prefix}"
    try:
        done = subprocess.run(
            [str(spack_here.program), "find", form, *_PACKAGES],
            capture_output=True,
            text=True,
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return [
        Found(_PACKAGES[row[0]], row[1], Path(row[2]), "installed by Spack")
        for row in rows
        if len(row) == 3 and row[0] in _PACKAGES and Path(row[2]).is_dir()
    ]
