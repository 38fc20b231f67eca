"""Compilers, MPIs and libraries that this machine has, as Spack externals.

MPIs tell their names and versions like this::

    Open MPI v4.1.4                                   ompi_info --version
    mpirun (Open MPI) 4.1.6                           mpirun --version, of Open MPI
    MPICH Version:          4.0.2                     mpichversion
    MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022     mpiname -a
    Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307   mpirun --version, of Intel's
"""

import contextlib
import os
import platform
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.suites import SUITES

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
#: Programs that tell of an MPI, the surest first: MVAPICH2 has some of MPICH's, too.
_TELLERS = (
    ("mpiname", "-a"),
    ("ompi_info", "--version"),
    ("mpichversion",),
    ("mpirun", "--version"),
    ("mpiexec", "--version"),
)
#: MPI of Debian's packages -> those of its programs whose names do not end with that of the MPI.
_HELPERS = {
    "openmpi": ("orterun", "orted", "ompi_info"),
    "mpich": ("hydra_pmi_proxy", "hydra_nameserver", "hydra_persist", "mpiexec.hydra",
              "mpichversion"),
}  # fmt: skip


#: What compiles for an MPI -> the compiler that Debian's packages of MPIs run for it.
_BENEATH = {"mpicc": "gcc", "mpif90": "gfortran"}


def compiled_features() -> list[str]:
    """Return the suites that are compiled with an MPI, where there is a compiler.

    Their sources are our own, or in a folder that a variable names.
    """
    return [
        suite.key
        for suite in SUITES.values()
        if suite.compiler
        and shutil.which(_BENEATH[suite.compiler])
        and (not suite.source or os.environ.get(suite.source))
    ]


def wheels_environments(prefix: Path, *variables: list[str]) -> list[dict[str, Any]]:
    """Return ReFrame's environment of what comes as Python wheels: IMB and Intel MPI.

    None where `prefix` has no wheels. More environment `variables` are [name, value].
    """
    if not (prefix / "bin/IMB-MPI1").is_file():
        return []
    return [
        {
            "name": "wheels",
            "features": ["imb", "mpi", *compiled_features()],
            "extras": {"suites": {"imb": f"{prefix}/bin"}, "mpi": "intel-mpi"},
            "cc": f"{prefix}/bin/mpicc",
            "cxx": f"{prefix}/bin/mpicxx",
            "env_vars": [
                ["PATH", f"{prefix}/bin:$PATH"],
                ["LD_LIBRARY_PATH", f"{prefix}/lib:$LD_LIBRARY_PATH"],
                ["I_MPI_ROOT", str(prefix)],
                *variables,
            ],
        }
    ]


def mpi_names(root: Path = Path("/usr")) -> list[str]:
    """Return the MPIs that Debian's packages have put into `root`; runs no program."""
    programs = ("mpicc", "mpirun")
    return [
        name
        for name in _HELPERS
        if all((root / "bin" / f"{program}.{name}").exists() for program in programs)
    ]


def identity_of(text: str) -> tuple[str, str] | None:
    """Return the MPI that a program says it belongs to, and its version; None if it says none."""
    for line in text.splitlines():
        for pattern, name in _LINES:
            if match := pattern.match(line.strip()):
                return name, match[1].rstrip(",")
    return None


def identify(programs: Path, variables: Mapping[str, str] = os.environ) -> tuple[str, str] | None:
    """Return name and version of the MPI whose programs are in a folder; None if none says so."""
    for program, *options in _TELLERS:
        if (programs / program).is_file():
            command = [str(programs / program), *options]
            done = machine.run(command, timeout=60, env={**variables, "LC_ALL": "C"})
            if identity := identity_of(done.out):
                return identity
    return None


def prefix_of(name: str, prefixes: Path, root: Path = Path("/usr")) -> Path:
    """Return the prefix of links of an MPI, `prefixes/<name>`; makes what is missing of it.

    Debian puts all MPIs into one prefix, and tells their programs apart by a suffix.
    """
    triplet, suffix = f"{platform.machine()}-linux-gnu", f".{name}"
    libraries = root / "lib" / triplet
    links = {f"bin/{program}": root / "bin" / program for program in _HELPERS[name]}
    for path in (root / "bin").glob(f"*{suffix}"):
        links[f"bin/{path.name.removesuffix(suffix)}"] = path
    if name == "openmpi":
        links |= {word: libraries / "openmpi" / word for word in ("lib", "include")}
    else:
        links["include"] = root / "include" / triplet / "mpich"
        for path in libraries.glob("libmpich*.so"):
            links[f"lib/{path.name}"] = path
            links[f"lib/{path.name.replace('mpich', 'mpi')}"] = path
    _make_links(prefixes / name, links)
    return prefixes / name


def externals(prefixes: Path, root: Path = Path("/usr")) -> dict[str, Any]:
    """Return what this machine has as the `packages` of a Spack configuration.

    GCC with the languages that are there, GNU make, each MPI (with its links made), OpenBLAS.
    """
    packages: dict[str, Any] = {}
    if gcc := _gcc():
        packages["gcc"] = gcc
        version = gcc["externals"][0]["spec"].split()[0]
        packages |= {language: {"require": version} for language in ("c", "cxx", "fortran")}
    if version := _version(["make", "--version"], r"GNU Make ([\d.]+)"):
        packages["gmake"] = external(f"gmake@{version}", root)
    for name in mpi_names(root):
        prefix = prefix_of(name, prefixes, root)
        if identity := identify(prefix / "bin"):
            packages[name] = external("@".join(identity), prefix)
    if has_openblas(root):
        packages["openblas"] = _openblas(prefixes / "openblas", root)
        packages |= {name: {"require": "openblas"} for name in ("blas", "lapack")}
    return packages


def external(spec: str, prefix: Path, more: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Return the entry in `packages` of what is there already; `more` is said of it."""
    return {
        "buildable": False,
        "externals": [{"spec": spec, "prefix": str(prefix), **(more or {})}],
    }


def _gcc() -> dict[str, Any] | None:
    programs = {"c": "gcc", "cxx": "g++", "fortran": "gfortran"}
    found = {language: shutil.which(program) for language, program in programs.items()}
    paths = {language: path for language, path in found.items() if path}
    version = _version(["gcc", "-dumpfullversion"], r"([\d.]+)")
    if not version or "c" not in paths:
        return None
    languages = ",".join(paths).replace("cxx", "c++")
    more = {"extra_attributes": {"compilers": paths}}
    return external(f"gcc@{version} languages='{languages}'", Path(paths["c"]).parent.parent, more)


def has_openblas(root: Path = Path("/usr")) -> bool:
    """Tell whether Debian's packages have put OpenBLAS into `root`."""
    library, header = _folders_of_openblas(root)
    return (library / "libopenblas.so").exists() and (header / "openblas_config.h").exists()


def _folders_of_openblas(root: Path) -> tuple[Path, Path]:
    place = Path(f"{platform.machine()}-linux-gnu/openblas-pthread")
    return root / "lib" / place, root / "include" / place


def _openblas(prefix: Path, root: Path) -> dict[str, Any]:
    library, header = _folders_of_openblas(root)
    config = (header / "openblas_config.h").read_text(errors="replace")
    line = re.search(r"OPENBLAS_VERSION \" OpenBLAS ([\d.]+)", config)
    version = line[1].rstrip(".") if line else "0.3"
    _make_links(prefix, {"lib": library, "include": header})
    return external(f"openblas@{version}", prefix)


def _make_links(prefix: Path, links: Mapping[str, Path]) -> None:
    for name, target in links.items():
        path = prefix / name
        if target.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Each process that reads the configuration comes here; another may be just before us.
            with contextlib.suppress(FileExistsError):
                path.symlink_to(target)


def _version(command: list[str], pattern: str) -> str | None:
    done = machine.run(command, timeout=60, env={**os.environ, "LC_ALL": "C"})
    version = re.search(pattern, done.out)
    return version[1] if version and not done.fault else None
