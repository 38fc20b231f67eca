"""What a test needs of the machine, and the Debian package that has it: said here alone.

    pytestmark = requires("smpirun")      # a module, or a test as a decorator
    skip_without("ibsim", "opensm")       # within a fixture

`.ci/run` installs what `python3 -m tests.needs` prints: the packages of which something is missing.
"""

import glob
import os
import shutil
import sys
from pathlib import Path

#: Debian's programs, and paths where it is a file that tests need -> the package.
PACKAGES = {
    "gcc": "gcc",
    "hpcc": "hpcc",
    "mpirun.openmpi": "openmpi-bin",
    "mpicc.openmpi": "libopenmpi-dev",
    "mpirun.mpich": "mpich",
    "mpicc.mpich": "libmpich-dev",
    # Shells that scripts of ours must run in.
    **{"busybox": "busybox", "bash": "bash", "dash": "dash", "sh": "dash"},
    # Nodes in namespaces.
    **dict.fromkeys(("ip", "tc"), "iproute2"),
    **dict.fromkeys(("nsenter", "unshare", "taskset"), "util-linux"),
    "mount": "mount",
    "hostname": "hostname",
    # Module systems. Packages of Lmod and Environment Modules exclude each other: of the latter,
    # tests take the files.
    "/usr/share/lmod/lmod/libexec/lmod": "lmod",
    "tclsh": "tcl",
    # A Slurm with accounting, whose daemons the tests start themselves.
    **dict.fromkeys(("slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo"), "slurm-wlm"),
    **dict.fromkeys(("scontrol", "scancel", "sacct"), "slurm-wlm"),
    # Its commands of PBS.
    **dict.fromkeys(("qsub", "qstat", "pbsnodes"), "slurm-wlm-torque"),
    **dict.fromkeys(("munged", "mungekey"), "munge"),
    "slurmdbd": "slurmdbd",
    **dict.fromkeys(("mariadbd", "mariadb-install-db"), "mariadb-server"),
    # A simulated InfiniBand fabric, and the programs that read one.
    "ibsim": "ibsim-utils",
    "opensm": "opensm",
    **dict.fromkeys(
        ("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "dump_lfts"), "infiniband-diags"
    ),
    "smpirun": "libsimgrid-dev",
    # A browser, in which the pages of the report are opened.
    "chromium": "chromium",
    # What reads the files of config/nightly/.
    "systemd-analyze": "systemd",
    "crontab": "cron",
    # What builds suites with Spack.
    "gfortran": "gfortran",
    "g++": "g++",
    "/usr/include/*/openblas-pthread": "libopenblas-dev",
}
#: Where Debian has programs, on the path of a user or not.
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
#: What the tests of a Slurm, of its accounting, of a fabric, and of nodes in namespaces start.
SLURM = (
    *("munged", "mungekey", "slurmctld", "slurmd"),
    *("sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel", "sacct"),
)
ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db")
FABRIC = ("ibsim", "opensm", "ibnetdiscover", "iblinkinfo", "ibqueryerrors", "dump_lfts")
NODES = ("ip", "tc", "nsenter", "unshare", "taskset", "mount", "hostname")
WHEELS = Path(__file__).parents[1] / "var/wheels"


def find(name, path=None):
    """Return the path of a program, or of a file that `PACKAGES` names; None without it."""
    if name.startswith("/"):
        return next(iter(glob.glob(name)), None)
    return shutil.which(name, path=path or PATH)


def why_not(*names, path=None):
    """Return what is missing, and the packages that have it; None if all is here."""
    missing = [name for name in names if not find(name, path)]
    packages = dict.fromkeys(PACKAGES[name] for name in missing)
    return f"no {', '.join(missing)}: install {', '.join(packages)}" if missing else None


def why_no_mpi(name):
    """Return why programs of an MPI can be neither built nor run here; None if they can."""
    if name == "intel-mpi":
        has_it = (WHEELS / "bin/mpiexec").exists() and (WHEELS / "bin/mpicc").exists()
        return None if has_it else "no Intel MPI in var/wheels: `make setup` installs it on x86_64"
    return why_not(f"mpirun.{name}", f"mpicc.{name}")


def why_not_cores(count):
    """Return why ranks have no core each; None if they have."""
    cores = len(os.sched_getaffinity(0))
    return f"{count} ranks need {count} cores, this machine has {cores}" if cores < count else None


def skip_without(*names):
    """Skip the test that runs, if one of these is missing."""
    skip_for(why_not(*names))


def skip_for(reason):
    """Skip the test that runs, if there is a reason."""
    import pytest

    if reason:
        pytest.skip(reason)


def requires(*names):
    """Return the mark of tests that need these."""
    return _marked(why_not(*names))


def requires_cores(count):
    """Return the mark of tests whose ranks each need a core."""
    return _marked(why_not_cores(count))


def requires_wheels():
    """Return the mark of tests that run the Intel MPI Benchmarks of the wheels."""
    here = (WHEELS / "bin/IMB-MPI1").exists()
    reason = "no Intel MPI Benchmarks in var/wheels: `make setup` installs them on x86_64"
    return _marked(None if here else reason)


def _marked(reason):
    import pytest

    return pytest.mark.skipif(reason is not None, reason=reason or "it is here")


def _missing():
    """Return the packages that miss something; those that only Spack uses, where there is one."""
    spack = find("spack") or os.environ.get("SPACK_ROOT") or Path("~/spack").expanduser().exists()
    for_spack = () if spack else ("gfortran", "g++", "/usr/include/*/openblas-pthread")
    return dict.fromkeys(
        package for name, package in PACKAGES.items() if name not in for_spack and not find(name)
    )


if __name__ == "__main__":
    sys.stdout.write("".join(f"{package}\n" for package in _missing()))
