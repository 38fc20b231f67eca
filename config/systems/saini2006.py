"""`saini2006`: five machines with five networks.

Those of Saini et al., "Performance Evaluation of Supercomputers using HPCC and IMB Benchmarks",
2006; facts are those of Table 1 unless a comment says otherwise. A template: see koop2008.py. This
one shows processors that Spack has no target for (Itanium, Cray X1, NEC SX-8): their suites are
built by hand, and an environment says where they are.
"""

from acceptance.core.paths import Workspace
from acceptance.software import spack_features

NAME = "saini2006"

# MPI of `spack-envs/systems/saini2006/packages.yaml` -> how `srun` starts its processes.
# not printed: the MPIs.
MPIS = {"mvapich2": "pmi2", "openmpi": "pmix", "mpich": "pmi2"}

ENVIRONMENTS = [
    {
        "name": f"spack-{mpi}",
        "features": spack_features(),
        "extras": {"spack": {"mpi": mpi}, "mpi": mpi, "versions": {"npb": "3.3.1"}},
        "env_vars": [["SLURM_MPI_TYPE", pmi]],
    }
    for mpi, pmi in MPIS.items()
]
# Suites that the site built with the vendor's MPI: the folder of each, and its name as a feature.
ENVIRONMENTS += [
    {
        "name": f"vendor-{vendor}",
        "features": ["mpi", "imb", "hpcc"],
        "extras": {
            "suites": {suite: f"/opt/{vendor}/{suite}/bin" for suite in ("imb", "hpcc")},
            "mpi": mpi,
        },
    }
    for vendor, mpi in {"sgi": "sgi-mpt", "cray": "cray-mpt", "nec": "nec-mpi"}.items()
]

NUMALINK, CRAY = {"technology": "numalink"}, {"technology": "cray"}
MYRINET, IXS = {"technology": "myrinet"}, {"technology": "ixs"}
# not printed: rate and widths. By processor, clock and owner this is the Dell cluster of
# fatoohi2006, which see.
INFINIBAND = {
    "technology": "infiniband",
    "rate": "SDR",
    "lanes": 4,
    "pcie": "1.1",
    "pcie_lanes": 8,
}
# MPICH uses Myrinet through IP. not printed: the name of the interface.
OVER_MYRINET = [["FI_PROVIDER", "tcp"], ["FI_TCP_IFACE", "myri0"]]


def partition(name, environs, nodes, cpus, sockets, fabric, env_vars=(), peak=None):
    """One machine, all of it."""
    return {
        "name": name,
        "scheduler": "slurm",
        "launcher": "srun",
        "access": [f"--partition={name}", "--exclusive"],
        "environs": environs,
        "env_vars": list(env_vars),
        # Two jobs at once would measure each other.
        "max_jobs": 1,
        # not printed: cores; each CPU of that time is one.
        "processor": {
            "num_cpus": cpus,
            "num_cpus_per_core": 1,
            "num_cpus_per_socket": cpus // sockets,
            "num_sockets": sockets,
        },
        # not printed: memory; without it HPCC needs its order stated, or the mode smoke.
        "extras": {
            "nodes": nodes,
            "cores": cpus,
            "fabric": fabric,
            # Gflop/s of a node.
            **({"peak": peak} if peak else {}),
        },
    }


SYSTEM = {
    "name": NAME,
    "descr": "SGI Altix BX2, Cray X1, Cray Opteron, Dell Xeon, NEC SX-8",
    "hostnames": [rf"^{NAME}\b"],
    "modules_system": "nomod",
    # Jobs run in there: a folder that all nodes see.
    "prefix": str(Workspace.of().var),
    # Name, environments, nodes, CPUs a node, sockets a node, fabric. not printed: nodes. They are
    # what the largest result took (2024, 440, 64, 512, 576 CPUs), for the X1 those of fatoohi2006.
    # The peaks of Table 1 are those of nodes where they fit the CPUs that it gives a node.
    # The Altix is cut into nodes of two CPUs, though one Linux runs a box of 512: where Slurm has
    # the box as a node, write 4, 512, 512.
    "partitions": [
        partition("altix-nl4", ["vendor-sgi"], 1012, 2, 2, NUMALINK, peak=12.8),
        # not printed: CPUs a node; those of altix-nl4.
        partition("altix-nl3", ["vendor-sgi"], 220, 2, 2, NUMALINK),
        # The paper's CPU is an MSP. not printed: it has four SSPs.
        partition("cray-x1-msp", ["vendor-cray"], 3, 4, 4, CRAY),
        partition("cray-x1-ssp", ["vendor-cray"], 3, 16, 4, CRAY),
        partition("cray-opteron", ["spack-mpich"], 32, 2, 2, MYRINET, OVER_MYRINET, peak=8.0),
        partition(
            "dell-xeon", ["spack-mvapich2", "spack-openmpi"], 256, 2, 2, INFINIBAND, peak=14.4
        ),
        partition("nec-sx8", ["vendor-nec"], 72, 8, 8, IXS),
    ],
}
