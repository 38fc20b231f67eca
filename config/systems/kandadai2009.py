"""`kandadai2009`: one cluster with three networks in every node.

The cluster of Kandadai and He, "Performance of HPC Applications over InfiniBand, 10 Gb and 1 Gb
Ethernet", 2009; facts are those of its sections "Hardware" and "Software" unless a comment says
otherwise. A template: see koop2008.py. This one shows partitions that are the same nodes and differ
in the network that the MPI uses.
"""

from acceptance.core.paths import Workspace
from acceptance.software import spack_features

NAME = "kandadai2009"

# MPI of `spack-envs/systems/kandadai2009/packages.yaml` -> how `srun` starts its processes.
# The paper used MVAPICH2 1.2p1 throughout, over verbs, iWARP and TCP. Over TCP MPICH stands in for
# it, since that of today has TCP no more.
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

# Two quad-core processors a node.
PROCESSOR = {"num_cpus": 8, "num_cpus_per_core": 1, "num_cpus_per_socket": 4, "num_sockets": 2}


def partition(name, network, environs, fabric, env_vars, inferred=()):
    """All nodes, with one of their networks; `inferred` names facts that the paper does not print.

    Also the nodes are inferred: the largest runs have 128 tasks, of 8 cores a node.
    """
    return {
        "name": name,
        "descr": f"Opteron 2356 (Barcelona) 2.3 GHz, {network}",
        "scheduler": "slurm",
        "launcher": "srun",
        "access": ["--partition=barcelona", "--exclusive"],
        "environs": environs,
        "env_vars": env_vars,
        # Two jobs at once would measure each other.
        "max_jobs": 1,
        "processor": PROCESSOR,
        "extras": {
            "nodes": 16,
            "cores": 8,
            "memory": 16 * 10**9,
            # Also on as few nodes as have the cores: so the smaller runs of the paper stood.
            "packed": True,
            "fabric": fabric,
            "inferred": ["nodes", *inferred],
        },
    }


def ethernet(name, network, rate, interface, environs=(), env_vars=()):
    """Let MPICH (libfabric) use one Ethernet interface and no other, over TCP."""
    only = [["FI_PROVIDER", "tcp"], ["FI_TCP_IFACE", interface], *env_vars]
    fabric = {"technology": "ethernet", "rate": rate}
    return partition(name, network, ["spack-mpich", *environs], fabric, only)


# MVAPICH2 over iWARP, as the paper ran it: of this partition its numbers judge that environment.
# not printed: the device; cxgb3 is the driver of the Chelsio adapters of that time.
IWARP = [["MV2_USE_IWARP_MODE", "1"], ["MV2_USE_RDMA_CM", "1"], ["MV2_IBA_HCA", "cxgb3_0"]]


SYSTEM = {
    "name": NAME,
    "descr": "Barcelona nodes with InfiniBand DDR, 10 and 1 Gb/s Ethernet",
    "hostnames": [rf"^{NAME}\b"],
    "modules_system": "nomod",
    # Jobs run in there: a folder that all nodes see.
    "prefix": str(Workspace.of().var),
    # not printed: the names of devices and interfaces; mlx4 is the driver of ConnectX.
    "partitions": [
        partition(
            "ib-ddr",
            "ConnectX DDR",
            ["spack-mvapich2", "spack-openmpi"],
            # not printed: x8, as ConnectX has. The PCIe generation is not printed either, and
            # follows from the board, not from the adapter; a site writes its own: "pcie".
            {"technology": "infiniband", "rate": "DDR", "lanes": 4, "pcie_lanes": 8},
            [["MV2_IBA_HCA", "mlx4_0"], ["UCX_NET_DEVICES", "mlx4_0:1"]],
            inferred=["pcie_lanes"],
        ),
        ethernet("eth-10g", "Chelsio 10 Gb/s Ethernet", "10", "eth2", ["spack-mvapich2"], IWARP),
        ethernet("eth-1g", "1 Gb/s Ethernet", "1", "eth0"),
    ],
}
