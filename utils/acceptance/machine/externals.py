"""Compilers, MPIs and libraries that this machine has, as Spack externals."""

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

#: MPI of Debian's packages -> a program that tells its version, and the pattern of that.
_DEBIAN_MPI = {
    "openmpi": (("ompi_info", "--version"), r"v([\d.]+)"),
    "mpich": (("mpichversion",), r"Version:\s*([\d.]+)"),
}
#: Programs of an MPI that have its name nowhere in theirs.
_HELPERS = {
    "openmpi": ("orterun", "orted", "ompi_info"),
    "mpich": ("hydra_pmi_proxy", "hydra_nameserver", "hydra_persist", "mpiexec.hydra",
              "mpichversion"),
}  # fmt: skip


def compiled_features() -> list[str]:
    """Return the suites of our own that are compiled with an MPI, where there is a compiler."""
    return [suite.key for suite in SUITES.values() if suite.compiler and shutil.which("gcc")]


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
        for name in _DEBIAN_MPI
        if all((root / "bin" / f"{program}.{name}").exists() for program in programs)
    ]


def mpi_versions(root: Path = Path("/usr")) -> dict[str, str]:
    """Return the MPIs that Debian's packages have put into `root`, and their versions."""
    versions = {}
    for name in mpi_names(root):
        (program, *options), pattern = _DEBIAN_MPI[name]
        if version := _version([str(root / "bin" / program), *options], pattern):
            versions[name] = version
    return versions


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
        for language in ("c", "cxx", "fortran"):
            packages[language] = {"require": version}
    if version := _version(["make", "--version"], r"GNU Make ([\d.]+)"):
        packages["gmake"] = _external(f"gmake@{version}", root)
    for name, version in mpi_versions(root).items():
        packages[name] = _external(f"{name}@{version}", prefix_of(name, prefixes, root))
    if blas := _openblas(prefixes, root):
        packages["openblas"] = blas
        packages |= {name: {"require": "openblas"} for name in ("blas", "lapack")}
    return packages


def _external(spec: str, prefix: Path) -> dict[str, Any]:
    return {"buildable": False, "externals": [{"spec": spec, "prefix": str(prefix)}]}


def _gcc() -> dict[str, Any] | None:
    programs = {"c": "gcc", "cxx": "g++", "fortran": "gfortran"}
    paths = {language: shutil.which(program) for language, program in programs.items()}
    version = _version(["gcc", "-dumpfullversion"], r"([\d.]+)")
    if not version or not paths["c"]:
        return None
    present = {language: path for language, path in paths.items() if path}
    languages = ",".join({"c": "c", "cxx": "c++", "fortran": "fortran"}[word] for word in present)
    gcc = _external(f"gcc@{version} languages='{languages}'", Path(paths["c"]).parent.parent)
    gcc["externals"][0]["extra_attributes"] = {"compilers": present}
    return gcc


def has_openblas(root: Path = Path("/usr")) -> bool:
    """Tell whether Debian's packages have put OpenBLAS into `root`."""
    library, header = _folders_of_openblas(root)
    return (library / "libopenblas.so").exists() and (header / "openblas_config.h").exists()


def _folders_of_openblas(root: Path) -> tuple[Path, Path]:
    place = Path(f"{platform.machine()}-linux-gnu/openblas-pthread")
    return root / "lib" / place, root / "include" / place


def _openblas(prefixes: Path, root: Path) -> dict[str, Any] | None:
    if not has_openblas(root):
        return None
    library, header = _folders_of_openblas(root)
    config = (header / "openblas_config.h").read_text(errors="replace")
    line = re.search(r"OPENBLAS_VERSION \" OpenBLAS ([\d.]+)", config)
    version = line[1].rstrip(".") if line else "0.3"
    prefix = prefixes / "openblas"
    _make_links(prefix, {"lib": library, "include": header})
    return _external(f"openblas@{version}", prefix)


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
