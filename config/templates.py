"""Systems of today as templates, whose facts operators of such machines print.

A site copies the one that is like its own, and writes its own facts: `acceptance init-site NAME
--like slingshot`. No host is called so, and no reference belongs to them: nothing was measured
there. What a source does not print is not stated here; the limits that need it are unknown then.
"""

from pathlib import Path

from acceptance.core.machine import names_in
from acceptance.core.paths import Workspace

_BEDS = names_in(Path(__file__).with_name("test_beds.py"))
GB, GIB = 10**9, 2**30


def template(name, descr, **partitions):
    """Return SYSTEM and ENVIRONMENTS, with Open MPI and MPICH in Spack."""
    environments = _BEDS["environments"](("openmpi", "mpich"))
    system = {
        "name": name,
        "descr": descr,
        # No host has such a name.
        "hostnames": ["^$"],
        "modules_system": "nomod",
        # Jobs run in there: a folder that all nodes see.
        "prefix": str(Workspace.of().var),
        "partitions": [partition(part, **facts) for part, facts in partitions.items()],
    }
    environs = [environment["name"] for environment in environments]
    for part in system["partitions"]:
        part["environs"] = environs
    return system, environments


def partition(name, descr, cores, fabric, sockets=None, access=(), **stated):
    """Return a partition of Slurm; `stated` are further facts of a node, in `extras`."""
    processor = {"num_cpus": cores, "num_cpus_per_core": 1}
    if sockets:
        processor |= {"num_cpus_per_socket": cores // sockets, "num_sockets": sockets}
    return {
        "name": name,
        "descr": descr,
        # It asks sacct, so Slurm must keep accounts (slurmdbd).
        "scheduler": "slurm",
        "launcher": "srun",
        "access": [f"--partition={name}", *access, "--exclusive"],
        # Two jobs at once would measure each other.
        "max_jobs": 1,
        "processor": processor,
        "extras": {**stated, "cores": cores, "fabric": fabric},
    }


#: Switches and cables are read by a node that may (`acceptance fabric`).
INFINIBAND = {"technology": "infiniband", "view": "node"}
SLINGSHOT = {"technology": "slingshot", "rate": "200"}

TEMPLATES = {
    "infiniband": template(
        "infiniband",
        "fat trees of InfiniBand: HDR100, NDR200",
        # TU Darmstadt, Lichtenberg II, stage 2, MPI section: "Hardware" and "Insel-Topologie" of
        # www.hrz.tu-darmstadt.de/hlr. The tree has a link for each node everywhere.
        hdr100={
            "descr": "104 cores, HDR100, a tree without oversubscription",
            "nodes": 576,
            "cores": 104,
            "memory": 512 * GB,
            "fabric": {**INFINIBAND, "rate": "HDR100", "lanes": 2},
        },
        # Barcelona Supercomputing Center, MareNostrum 5 NG-GRACE: www.bsc.es/supportkc/docs/Grace.
        # NDR200 is NDR on two lanes. What the tree is like is not printed.
        ndr200={
            "descr": "2 x NVIDIA Grace, ConnectX-7, NDR200 on PCIe 5.0",
            "nodes": 408,
            "cores": 144,
            "sockets": 2,
            "memory": 240 * GB,
            "fabric": {**INFINIBAND, "rate": "NDR", "lanes": 2, "pcie": "5.0", "pcie_lanes": 16},
        },
    ),
    # CSC, LUMI: lumic.md, lumig.md and network.md in docs/hardware, and distribution-binding.md in
    # docs/runjobs/scheduled-jobs, of github.com/Lumi-supercomputer/lumi-userguide.
    "slingshot": template(
        "slingshot",
        "a dragonfly of Slingshot 11: nodes of CPUs, and of GPUs with four adapters",
        cpu={
            "descr": "2 x AMD EPYC 7763",
            "nodes": 1888,
            "cores": 128,
            "sockets": 2,
            "memory": 256 * GIB,
            "memory_bandwidth": 2 * 204800,
            "cache": 2 * 256 * 2**20,
            "fabric": {**SLINGSHOT, "hops": 3},
        },
        gpu={
            "descr": "AMD EPYC 7A53, 8 dies of MI250X",
            "nodes": 2978,
            # 7 of each 8: the system keeps the others, and a job that asks for 64 never starts.
            "cores": 56,
            "sockets": 1,
            "access": ["--gpus-per-node=8"],
            "memory": 512 * GIB,
            "cache": 256 * 2**20,
            # Four adapters (hsn0 to hsn3), one at each module of two dies; 400 GB/s between these
            # are both ways together.
            "fabric": {
                **SLINGSHOT,
                **{"hops": 3, "device": "hsn0,hsn1,hsn2,hsn3"},
                **{"gpus": 8, "gpu_kind": "rocm", "nvlink": 200},
            },
        },
    ),
    # Crusoe, 64 nodes with AMD MI355X: closed/Crusoe/systems/512xMI355X_Crusoe_GPT.json of
    # github.com/mlcommons/inference_results_v6.1.
    "roce": template(
        "roce",
        "RoCE, eight adapters and eight GPUs a node",
        gpu={
            "descr": "2 x AMD EPYC 9575F, 8 x MI355X, 8 x AMD Pollara 400G",
            "nodes": 64,
            "cores": 128,
            "sockets": 2,
            "access": ["--gpus-per-node=8"],
            "memory": 3000 * GB,
            "fabric": {
                **{"technology": "roce", "rate": "400", "ports": 8},
                **{"gpus": 8, "gpu_kind": "rocm", "gpu_pcie": "5.0", "gpu_pcie_lanes": 16},
            },
        },
    ),
}
