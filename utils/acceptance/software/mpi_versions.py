"""How MPIs tell their names and versions, and how module systems list modules.

Open MPI v4.1.4                                   ompi_info --version
mpirun (Open MPI) 4.1.6                           mpirun --version, of Open MPI
MPICH Version:          4.0.2                     mpichversion
MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022     mpiname -a
Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307   mpirun --version, of Intel's
"""

import re

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


def identity(text: str) -> tuple[str, str] | None:
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
