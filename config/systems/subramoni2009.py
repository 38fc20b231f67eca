"""`subramoni2009`: three generations of processors, each with InfiniBand DDR or QDR.

The test bed of Subramoni et al., "Designing Next Generation Clusters: Evaluation of InfiniBand
DDR/QDR on Intel Computing Platforms", 2009; facts are those of the slides on platforms and
adapters unless a comment says otherwise. A template: see koop2008.py.
"""

from acceptance.core.paths import Workspace
from acceptance.software import spack_features

NAME = "subramoni2009"

# MPI of `spack-envs/systems/subramoni2009/packages.yaml` -> how `srun` starts its processes.
# The slides used MVAPICH2 1.2p1.
MPIS = {"mvapich2": "pmi2", "openmpi": "pmix"}

ENVIRONMENTS = [
    {
        "name": f"spack-{mpi}",
        "features": spack_features(),
        "extras": {"spack": {"mpi": mpi}, "mpi": mpi, "versions": {"npb": "3.3.1"}},
        "env_vars": [["SLURM_MPI_TYPE", pmi]],
    }
    for mpi, pmi in MPIS.items()
]

# Slurm's partition, processor, PCIe generation, memory of a node in GB.
PLATFORMS = {
    "nh": ("nehalem", "Xeon E5530 (Nehalem) 2.40 GHz", "2.0", 12),
    "ht": ("harpertown", "Harpertown 2.83 GHz", "2.0", 8),
    "ct": ("clovertown", "Xeon E5345 (Clovertown) 2.33 GHz", "1.1", 6),
}
# Two quad-core processors a node; the second hardware thread of Nehalem's cores is not counted.
PROCESSOR = {"num_cpus": 8, "num_cpus_per_core": 1, "num_cpus_per_socket": 4, "num_sockets": 2}


def partition(name, nodes):
    """The nodes of one platform with one kind of adapter: `<platform>-<rate>`."""
    platform, _, rate = name.partition("-")
    queue, processor, pcie, memory = PLATFORMS[platform]
    return {
        "name": name,
        "descr": f"{processor}, ConnectX {rate.upper()}",
        "scheduler": "slurm",
        "launcher": "srun",
        "access": [f"--partition={queue}", f"--constraint={rate}", "--exclusive"],
        "environs": [environment["name"] for environment in ENVIRONMENTS],
        # Two jobs at once would measure each other.
        "max_jobs": 1,
        "processor": PROCESSOR,
        "extras": {
            "nodes": nodes,
            "cores": 8,
            "memory": memory * 10**9,
            # Names of what the slides do not print. Widths: ConnectX has 4x ports and an x8 PCIe
            # interface. Nodes: of Harpertown there were too few for the all-to-all test.
            "inferred": ["nodes", "lanes", "pcie_lanes"],
            "fabric": {
                "technology": "infiniband",
                "rate": rate.upper(),
                "lanes": 4,
                "pcie": pcie,
                "pcie_lanes": 8,
            },
        },
    }


SYSTEM = {
    "name": NAME,
    "descr": "Clovertown, Harpertown and Nehalem nodes, InfiniBand DDR and QDR",
    "hostnames": [rf"^{NAME}\b"],
    "modules_system": "nomod",
    # Jobs run in there: a folder that all nodes see.
    "prefix": str(Workspace.of().var),
    "partitions": [
        partition("nh-qdr", nodes=4),
        partition("nh-ddr", nodes=4),
        partition("ht-qdr", nodes=2),
        partition("ht-ddr", nodes=2),
        partition("ct-ddr", nodes=4),
    ],
}
