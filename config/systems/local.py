"""`local`: whatever machine this is. The default; its topology is detected at every start."""

import shutil
from pathlib import Path

from reframe.utility.cpuinfo import cpuinfo

from acceptance.core.paths import Workspace
from acceptance.machine import Spack, externals, features_on_local, usable_cores, usable_memory

WORKSPACE = Workspace.of()
PREFIXES = WORKSPACE.spack / "prefix"

# Open MPI refuses to run as root, as in a container, unless it is allowed twice.
AS_ROOT = [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]

# Our own program is compiled with each MPI, where there is a compiler.
COMPILED = externals.compiled_features()

# The real Intel MPI Benchmarks from Python wheels: `make run` installs them.
ENVIRONMENTS = externals.wheels_environments(WORKSPACE.wheels)

# MPICH 4.0 over UCX's TCP was seen to hang between processes of one node (its pull request 6596).
WITHOUT_LOOPBACK = ("mpich",)

# The MPIs of Debian's packages; it has HPCC, too, built for its default one.
for mpi in externals.mpi_names():
    HPCC = ["hpcc"] if mpi == "openmpi" and Path("/usr/bin/hpcc").exists() else []
    if HPCC or COMPILED:
        ENVIRONMENTS.append(
            {
                "name": f"debian-{mpi}",
                "features": [*HPCC, "mpi", *COMPILED] + ["no-loopback"] * (mpi in WITHOUT_LOOPBACK),
                "extras": {"suites": dict.fromkeys(HPCC, "/usr/bin"), "mpi": mpi},
                "env_vars": [
                    ["PATH", f"{externals.prefix_of(mpi, PREFIXES) / 'bin'}:$PATH"],
                    *AS_ROOT,
                ],
            }
        )

# What Spack has built with each MPI that Debian's packages have put here, or is asked to build.
if Spack.find(WORKSPACE):
    ENVIRONMENTS += [
        {
            "name": f"spack-{mpi}",
            "features": features + ["no-loopback"] * (mpi in WITHOUT_LOOPBACK),
            "extras": {"spack": {"mpi": mpi}, "mpi": mpi},
            "env_vars": [["PATH", f"{PREFIXES / mpi}/bin:$PATH"], *AS_ROOT],
        }
        for mpi in externals.mpi_names()
        if (features := features_on_local(mpi, WORKSPACE))
    ]

# Netperf has nothing to do with an MPI: one environment runs it, in two networks of this machine.
if (NETPERF := shutil.which("netperf")) and ENVIRONMENTS:
    ENVIRONMENTS[0]["features"].append("netperf")
    ENVIRONMENTS[0]["extras"].setdefault("suites", {})["netperf"] = str(Path(NETPERF).parent)

SYSTEM = {
    "name": "local",
    "descr": "this machine",
    "hostnames": [".*"],
    "modules_system": "nomod",
    "prefix": str(WORKSPACE.var),
    "partitions": [
        {
            "name": "default",
            "descr": "all cores of this machine",
            "scheduler": "local",
            "launcher": "mpiexec",
            # ReFrame requires an environment in each partition; its `builtin` provides no suite.
            "environs": [environment["name"] for environment in ENVIRONMENTS] or ["builtin"],
            # Two MPI jobs at once on one machine would measure each other.
            "max_jobs": 1,
            "processor": cpuinfo(),
            "extras": {
                "nodes": 1,
                "cores": usable_cores(),
                "memory": usable_memory(),
                "mode": "smoke",
            },
        }
    ],
}
