"""`fatoohi2006`: four machines, two of them with shared memory.

Those of Fatoohi et al., "Interconnect Performance Evaluation of SGI Altix 3700 BX2, Cray X1, Cray
Opteron Cluster, and Dell PowerEdge", 2006; facts are those of Section 2 unless a comment says
otherwise. A template: see koop2008.py. This one shows processors that Spack has no target for
(Itanium, Cray X1): their suites are built by hand, and an environment says where they are.
"""

from acceptance.core.paths import Workspace
from acceptance.software import spack_features

NAME = "fatoohi2006"

# MPI of `spack-envs/systems/fatoohi2006/packages.yaml` -> how `srun` starts its processes.
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
        "features": ["mpi", "imb", "patterns"],
        "extras": {
            "suites": {name: f"/opt/{vendor}/{name}/bin" for name in ("imb", "patterns")},
            "mpi": mpi,
        },
    }
    for vendor, mpi in {"sgi": "sgi-mpt", "cray": "cray-mpt"}.items()
]

NUMALINK, CRAY = {"technology": "numalink"}, {"technology": "cray"}
MYRINET = {"technology": "myrinet"}
# Inferred: SDR, which 250 MB/s a lane mean; 1.1, as all PCIe ran at 2.5 GT/s before 2007. The
# paper also has the adapter in a PCI-X slot of 133 MHz: in that, it could do 1.07 GB/s.
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
    """One machine, all of it; `inferred` names what the paper does not print.

    `memory` is in GB, `peak` in Gflop/s of a node: quotients of printed totals unless inferred.
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
            # Also on as few nodes as have the CPUs: so the paper ran.
            "packed": True,
            "fabric": fabric,
            "inferred": list(inferred),
        },
    }


SYSTEM = {
    "name": NAME,
    "descr": "SGI Altix 3700 BX2, Cray X1, Cray Opteron, Dell PowerEdge 1850",
    "hostnames": [rf"^{NAME}\b"],
    "modules_system": "nomod",
    # Jobs run in there: a folder that all nodes see.
    "prefix": str(Workspace.of().var),
    # Name, environments, nodes, CPUs, sockets, GB of memory and Gflop/s a node, fabric. Nodes are
    # those that compute: one of the X1 and one of the Opteron cluster serve. The Altix is cut into
    # the nodes of Section 3.2, though one Linux runs all 512 CPUs: where Slurm has that as a node,
    # write 1, 512, 512, and memory and peak of all.
    "partitions": [
        partition("altix-bx2", ["vendor-sgi"], 256, 2, 2, 4, 12.8, NUMALINK),
        partition("cray-x1-ssp", ["vendor-cray"], 3, 16, 4, 16, 51.2, CRAY),
        # The CPU is an MSP, of four SSPs.
        partition("cray-x1-msp", ["vendor-cray"], 3, 4, 4, 16, 51.2, CRAY),
        # The peak of saini2006: 9.2 Tflop/s, as printed here, would be one flop a clock.
        partition(
            "dell-poweredge",
            ["spack-mvapich2", "spack-openmpi"],
            1280,
            2,
            2,
            6,
            14.4,
            INFINIBAND,
            inferred=["peak", "rate", "pcie"],
        ),
        partition("cray-opteron", ["spack-mpich"], 63, 2, 2, 2.03, 8.0, MYRINET, OVER_MYRINET),
    ],
}
