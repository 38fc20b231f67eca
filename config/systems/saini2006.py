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
# Rate and widths are inferred: by processor, clock and owner this is the Dell cluster of
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


def partition(name, environs, nodes, cpus, sockets, memory, peak, fabric, env_vars=(), inferred=()):
    """One machine, all of it; `inferred` names what the paper does not print, as nodes and memory.

    `memory` is in GB, `peak` in Gflop/s of a node.
    """
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
        "extras": {
            "nodes": nodes,
            "cores": cpus,
            "memory": round(memory * 10**9),
            "peak": peak,
            # Also on as few nodes as have the CPUs: so the papers ran.
            "packed": True,
            "fabric": fabric,
            "inferred": ["nodes", "memory", *inferred],
        },
    }


SYSTEM = {
    "name": NAME,
    "descr": "SGI Altix BX2, Cray X1, Cray Opteron, Dell Xeon, NEC SX-8",
    "hostnames": [rf"^{NAME}\b"],
    "modules_system": "nomod",
    # Jobs run in there: a folder that all nodes see.
    "prefix": str(Workspace.of().var),
    # Name, environments, nodes, CPUs a node, sockets a node, GB and Gflop/s of a node, fabric.
    # Nodes are what the largest result took (2024, 440, 64, 512, 576 CPUs), for the X1 those of
    # fatoohi2006. Memory is that of the same machines there, of the SX-8 what HLRS says of its own.
    # Table 1 prints the peak of a node where that fits the CPUs that it gives a node, of one MSP
    # and of one CPU of the SX-8 else.
    # The Altix is cut into nodes of two CPUs, though one Linux runs a box of 512: where Slurm has
    # the box as a node, write 4, 512, 512, and memory and peak of a box.
    "partitions": [
        partition("altix-nl4", ["vendor-sgi"], 1012, 2, 2, 4, 12.8, NUMALINK),
        # CPUs a node and peak are those of altix-nl4.
        partition(
            "altix-nl3", ["vendor-sgi"], 220, 2, 2, 4, 12.8, NUMALINK, inferred=["cores", "peak"]
        ),
        # The paper's CPU is an MSP, which has four SSPs (fatoohi2006).
        partition("cray-x1-msp", ["vendor-cray"], 3, 4, 4, 16, 51.2, CRAY, inferred=["peak"]),
        partition(
            "cray-x1-ssp", ["vendor-cray"], 3, 16, 4, 16, 51.2, CRAY, inferred=["cores", "peak"]
        ),
        partition("cray-opteron", ["spack-mpich"], 32, 2, 2, 2.03, 8.0, MYRINET, OVER_MYRINET),
        partition(
            "dell-xeon",
            ["spack-mvapich2", "spack-openmpi"],
            256,
            2,
            2,
            6,
            14.4,
            INFINIBAND,
            inferred=["rate", "lanes", "pcie", "pcie_lanes"],
        ),
        partition("nec-sx8", ["vendor-nec"], 72, 8, 8, 128, 128.0, IXS, inferred=["peak"]),
    ],
}
