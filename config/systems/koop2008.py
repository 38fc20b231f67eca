"""`koop2008`: one pair of nodes, four kinds of InfiniBand adapter.

The test bed of Koop et al., "Performance Analysis and Evaluation of PCIe 2.0 and Quad-Data Rate
InfiniBand", 2008; its facts are those of Section 4 unless a comment says otherwise. A template:
copy the file, give the system its name and your hosts, and write your nodes instead of theirs.
`reframe --system koop2008` takes it as it is, and judges by the numbers that the paper prints.
"""

from acceptance.core.paths import Workspace
from acceptance.software import spack_features

NAME = "koop2008"

# MPI of `spack-envs/systems/koop2008/packages.yaml` -> how `srun` starts its processes.
# The paper used MVAPICH.
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

# Two quad-core processors a node.
PROCESSOR = {"num_cpus": 8, "num_cpus_per_core": 1, "num_cpus_per_socket": 4, "num_sockets": 2}


def partition(name, rate, pcie):
    """The two nodes with one kind of adapter."""
    return {
        "name": name,
        "descr": f"Harpertown 2.83 GHz, ConnectX {rate} on PCIe {pcie}, back to back",
        # It asks sacct, so Slurm must keep accounts (slurmdbd). Where it does not, write "squeue",
        # which takes a job for completed when the controller is away for long: that case fails.
        "scheduler": "slurm",
        "launcher": "srun",
        # A feature of the nodes in slurm.conf; other sites write a `--partition`.
        "access": [f"--constraint={name}", "--exclusive"],
        "environs": [environment["name"] for environment in ENVIRONMENTS],
        # Two jobs at once would measure each other.
        "max_jobs": 1,
        "processor": PROCESSOR,
        "extras": {
            "nodes": 2,
            "cores": 8,
            # In bytes; HPCC fills a share of it.
            "memory": 8 * 10**9,
            # Names of what the paper does not print. x8 of the QDR prototype: its slot and kind of
            # device are those of DDR on PCIe 2.0.
            "inferred": ["pcie_lanes"] if rate == "QDR" else [],
            # 4x: Section 3.2.
            "fabric": {
                "technology": "infiniband",
                "rate": rate,
                "lanes": 4,
                "pcie": pcie,
                "pcie_lanes": 8,
            },
        },
    }


SYSTEM = {
    "name": NAME,
    "descr": "two Harpertown nodes, InfiniBand SDR to QDR on PCIe 1.1 and 2.0",
    "hostnames": [rf"^{NAME}\b"],
    "modules_system": "nomod",
    # Jobs run in there: a folder that all nodes see.
    "prefix": str(Workspace.of().var),
    "partitions": [
        partition("sdr-pcie1", "SDR", "1.1"),
        partition("ddr-pcie1", "DDR", "1.1"),
        partition("ddr-pcie2", "DDR", "2.0"),
        partition("qdr-pcie2", "QDR", "2.0"),
    ],
}
