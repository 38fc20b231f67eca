"""The test beds of the papers as systems of ReFrame, made of `reference/systems.csv`.

What that has not, how jobs get there and what a paper does not print, is here; what is inferred
says so.
`reframe --system koop2008` takes such a system as it is, and judges by the numbers that the paper
prints. A site copies one, with its own name: `acceptance init-site NAME --like koop2008`.
"""

import csv

from acceptance.core.paths import Workspace
from acceptance.machine import spack_features

WORKSPACE = Workspace.of()
with (WORKSPACE.root / "reference/systems.csv").open(newline="", encoding="utf-8") as _file:
    PRINTED = {(row["system"], row["partition"]): row for row in csv.DictReader(_file)}

#: MPI of `spack-envs/systems/<system>/packages.yaml` -> how `srun` starts its processes.
PMI = {"mvapich2": "pmi2", "openmpi": "pmix", "mpich": "pmi2"}
#: Netperf of the distribution, which has nothing to do with an MPI.
SOCKETS = {
    "name": "sockets",
    "features": ["netperf"],
    "extras": {"suites": {"netperf": "/usr/bin"}},
}
VERBS, MPICH = ["spack-mvapich2", "spack-openmpi"], ["spack-mpich"]
#: Vendor -> the MPI with which a site built suites by hand: Spack has no target for the processors.
VENDORS = {"sgi": "sgi-mpt", "cray": "cray-mpt", "nec": "nec-mpi"}
OF_SPACK = spack_features(WORKSPACE)
#: Applications that a site has installed, or built by hand, with an MPI.
APPLICATIONS = ("himeno", "namd", "cpmd", "specmpi")


def environments(mpis=(*PMI,), vendors=(), suites=(), installed=()):
    """Suites built by Spack with each MPI, with a vendor's, and those that are `installed`."""
    of_spack = [
        {
            "name": f"spack-{mpi}",
            "features": [*OF_SPACK],
            "extras": {"spack": {"mpi": mpi}, "mpi": mpi, "versions": {"npb": "3.3.1"}},
            "env_vars": [["SLURM_MPI_TYPE", PMI[mpi]]],
        }
        for mpi in mpis
    ]
    by_hand = [
        {
            "name": f"vendor-{vendor}",
            "features": ["mpi", *suites],
            "extras": {
                "suites": {suite: f"/opt/{vendor}/{suite}/bin" for suite in suites},
                "mpi": VENDORS[vendor],
            },
        }
        for vendor in vendors
    ]
    applications = [
        {
            "name": f"installed-{mpi}",
            "features": ["mpi", *APPLICATIONS],
            "extras": {
                "suites": {suite: f"/opt/{mpi}/{suite}" for suite in APPLICATIONS},
                "mpi": mpi,
            },
            "env_vars": [["SLURM_MPI_TYPE", PMI[mpi]]],
        }
        for mpi in installed
    ]
    return [*of_spack, *by_hand, *applications]


def bed(name, descr, environments, **partitions):
    """Return SYSTEM and ENVIRONMENTS; `_` in the name of a partition stands for `-`."""
    parts = {part.replace("_", "-"): facts for part, facts in partitions.items()}
    system = {
        "name": name,
        "descr": descr,
        "hostnames": [rf"^{name}\b"],
        "modules_system": "nomod",
        # Jobs run in there: a folder that all nodes see.
        "prefix": str(WORKSPACE.var),
        "partitions": [partition(name, part, **facts) for part, facts in parts.items()],
    }
    return system, environments


def partition(
    system, name, environs, access=None, env_vars=(), fabric=(), inferred=(), packed=False, **facts
):
    """Return a partition: facts of `systems.csv`, and before those the facts given here.

    `facts` are of a node: `nodes`, `cores`, `sockets`, `memory` (GB) and `peak` (Gflop/s).
    `inferred` names what the paper does not print. `packed`: jobs also take as few nodes as have
    the cores.
    """
    row = PRINTED[system, name]
    stated = {
        "nodes": row["nodes"],
        # Where cores are not printed, each CPU of that time is one.
        "cores": row["cores_per_node"],
        "sockets": row["sockets_per_node"],
        "memory": row["memory_gb_per_node"],
    }
    stated = {key: float(text) for key, text in stated.items() if text} | facts
    of_link = {key: row[key] for key in ("technology", "rate", "lanes", "pcie", "pcie_lanes")}
    of_link = {key: text for key, text in of_link.items() if text} | dict(fabric)
    cores, sockets = int(stated["cores"]), int(stated["sockets"])
    return {
        "name": name,
        "descr": f"{row['printed'].split(';')[0]}: {row['processor'] or 'processor not said'}",
        # It asks sacct, so Slurm must keep accounts (slurmdbd). Where it does not, write "squeue",
        # which takes a job for completed when the controller is away for long: that case fails.
        "scheduler": "slurm",
        "launcher": "srun",
        "access": [*(access or [f"--partition={name}"]), "--exclusive"],
        "environs": environs,
        "env_vars": [list(pair) for pair in env_vars],
        # Two jobs at once would measure each other.
        "max_jobs": 1,
        "processor": {
            "num_cpus": cores,
            "num_cpus_per_core": 1,
            "num_cpus_per_socket": cores // sockets,
            "num_sockets": sockets,
        },
        "extras": {
            "nodes": int(stated["nodes"]),
            "cores": cores,
            # In bytes; HPCC fills a share of it.
            "memory": round(stated["memory"] * 10**9),
            **({"peak": stated["peak"]} if "peak" in stated else {}),
            **({"packed": True} if packed else {}),
            "fabric": {k: int(v) if k.endswith("lanes") else v for k, v in of_link.items()},
            "inferred": list(inferred),
        },
    }


def over_tcp(interface):
    """Let MPICH (libfabric) use one interface, whose name is not printed, and no other."""
    return [("FI_PROVIDER", "tcp"), ("FI_TCP_IFACE", interface)]


#: ConnectX: 4x ports, an x8 PCIe interface, and mlx4 as its driver.
CONNECTX = {"lanes": 4, "pcie_lanes": 8}
MLX4 = [("MV2_IBA_HCA", "mlx4_0"), ("UCX_NET_DEVICES", "mlx4_0:1")]
#: MVAPICH2 over iWARP. not printed: the device; cxgb3 drives the Chelsio adapters of that time.
IWARP = [("MV2_USE_IWARP_MODE", "1"), ("MV2_USE_RDMA_CM", "1"), ("MV2_IBA_HCA", "cxgb3_0")]
#: One Dell cluster in two papers, by processor, clock and owner. SDR is what 250 MB/s a lane mean;
#: 1.1, as all PCIe ran at 2.5 GT/s before 2007. fatoohi2006 also has the adapter in a PCI-X slot of
#: 133 MHz, in which it could do 1.07 GB/s; its peak, 9.2 Tflop/s, would be one flop a clock, so
#: that of saini2006 is taken.
DELL = {"rate": "SDR", "lanes": 4, "pcie": "1.1", "pcie_lanes": 8}
#: The Altix is cut into nodes of two CPUs, though one Linux runs all 512 of a box: where Slurm has
#: a box as a node, write cores, sockets, memory and peak of a box.
ALTIX = {"cores": 2, "sockets": 2, "memory": 4, "peak": 12.8, "packed": True}
#: One of the four nodes of the X1 and one of the Opteron cluster serve. The CPU of an X1 is an MSP,
#: of four SSPs.
X1 = {"nodes": 3, "sockets": 4, "memory": 16, "peak": 51.2, "packed": True}
OPTERON = {"cores": 2, "memory": 2.03, "peak": 8.0, "packed": True, "env_vars": over_tcp("myri0")}
#: The largest runs of kandadai2009 have 128 tasks, of 8 cores a node.
BARCELONA = {"access": ["--partition=barcelona"], "nodes": 16, "packed": True}
#: Of Harpertown there were too few nodes for the all-to-all test. Nehalem's second hardware thread
#: of a core is not counted.
OF_SLIDES = {"environs": VERBS, "fabric": CONNECTX, "inferred": ["nodes", "lanes", "pcie_lanes"]}

BEDS = {
    "koop2008": bed(
        "koop2008",
        "two Harpertown nodes, InfiniBand SDR to QDR on PCIe 1.1 and 2.0",
        # The paper used MVAPICH. A constraint is a feature of the nodes in slurm.conf.
        environments(("mvapich2", "openmpi")),
        sdr_pcie1={"environs": VERBS, "access": ["--constraint=sdr-pcie1"]},
        ddr_pcie1={"environs": VERBS, "access": ["--constraint=ddr-pcie1"]},
        ddr_pcie2={"environs": VERBS, "access": ["--constraint=ddr-pcie2"]},
        # x8 of the prototype: its slot and kind of device are those of DDR on PCIe 2.0.
        qdr_pcie2={
            "environs": VERBS,
            "access": ["--constraint=qdr-pcie2"],
            "inferred": ["pcie_lanes"],
        },
    ),
    "subramoni2009": bed(
        "subramoni2009",
        "Clovertown, Harpertown and Nehalem nodes, InfiniBand DDR and QDR",
        environments(("mvapich2", "openmpi")),
        nh_qdr={**OF_SLIDES, "access": ["--partition=nehalem", "--constraint=qdr"], "nodes": 4},
        nh_ddr={**OF_SLIDES, "access": ["--partition=nehalem", "--constraint=ddr"], "nodes": 4},
        ht_qdr={**OF_SLIDES, "access": ["--partition=harpertown", "--constraint=qdr"], "nodes": 2},
        ht_ddr={**OF_SLIDES, "access": ["--partition=harpertown", "--constraint=ddr"], "nodes": 2},
        ct_ddr={**OF_SLIDES, "access": ["--partition=clovertown", "--constraint=ddr"], "nodes": 4},
    ),
    "kandadai2009": bed(
        "kandadai2009",
        "Barcelona nodes with InfiniBand DDR, 10 and 1 Gb/s Ethernet",
        # MVAPICH2 1.2p1 throughout, over verbs, iWARP and TCP. Over TCP MPICH stands in for it,
        # since that of today has TCP no more.
        [*environments(installed=("mvapich2", "mpich")), SOCKETS],
        # The PCIe generation follows from the board, not from the adapter: a site writes its own.
        ib_ddr={
            **BARCELONA,
            "environs": [*VERBS, "installed-mvapich2", "sockets"],
            "env_vars": MLX4,
            "fabric": CONNECTX,
            "inferred": ["nodes", "pcie_lanes"],
        },
        eth_10g={
            **BARCELONA,
            "environs": [*MPICH, "spack-mvapich2", "installed-mvapich2", "sockets"],
            "env_vars": [*over_tcp("eth2"), *IWARP],
            "inferred": ["nodes"],
        },
        eth_1g={
            **BARCELONA,
            "environs": [*MPICH, "installed-mpich", "sockets"],
            "env_vars": over_tcp("eth0"),
            "inferred": ["nodes"],
        },
    ),
    "fatoohi2006": bed(
        "fatoohi2006",
        "SGI Altix 3700 BX2, Cray X1, Cray Opteron, Dell PowerEdge 1850",
        environments(vendors=("sgi", "cray"), suites=("imb", "patterns")),
        # The nodes of Section 3.2.
        altix_bx2={**ALTIX, "environs": ["vendor-sgi"]},
        cray_x1_ssp={**X1, "environs": ["vendor-cray"]},
        cray_x1_msp={**X1, "environs": ["vendor-cray"], "cores": 4},
        dell_poweredge={
            "environs": VERBS,
            "fabric": DELL,
            "cores": 2,
            "peak": 14.4,
            "packed": True,
            "inferred": ["peak", "rate", "pcie"],
        },
        cray_opteron={**OPTERON, "environs": MPICH, "nodes": 63},
    ),
    "saini2006": bed(
        "saini2006",
        "SGI Altix BX2, Cray X1, Cray Opteron, Dell Xeon, NEC SX-8",
        environments(vendors=("sgi", "cray", "nec"), suites=("imb", "hpcc")),
        # Nodes are what the largest result took (2024, 440, 64, 512, 576 CPUs). Memory is that of
        # the machines of fatoohi2006, of the SX-8 what HLRS says of its own. Table 1 prints the
        # peak of a node where that fits the CPUs that it gives a node, of one MSP and of one CPU of
        # the SX-8 else.
        altix_nl4={
            **ALTIX,
            "environs": ["vendor-sgi"],
            "nodes": 1012,
            "inferred": ["nodes", "memory"],
        },
        # CPUs a node and peak are those of altix-nl4.
        altix_nl3={
            **ALTIX,
            "environs": ["vendor-sgi"],
            "nodes": 220,
            "inferred": ["nodes", "memory", "cores", "peak"],
        },
        cray_x1_msp={
            **X1,
            "environs": ["vendor-cray"],
            "cores": 4,
            "inferred": ["nodes", "memory", "peak"],
        },
        cray_x1_ssp={
            **X1,
            "environs": ["vendor-cray"],
            "cores": 16,
            "inferred": ["nodes", "memory", "cores", "peak"],
        },
        cray_opteron={
            **OPTERON,
            "environs": MPICH,
            "nodes": 32,
            "inferred": ["nodes", "memory"],
        },
        dell_xeon={
            "environs": VERBS,
            "fabric": DELL,
            "nodes": 256,
            "cores": 2,
            "memory": 6,
            "peak": 14.4,
            "packed": True,
            "inferred": ["nodes", "memory", "rate", "lanes", "pcie", "pcie_lanes"],
        },
        nec_sx8={
            "environs": ["vendor-nec"],
            "nodes": 72,
            "cores": 8,
            "sockets": 8,
            "memory": 128,
            "peak": 128.0,
            "packed": True,
            "inferred": ["nodes", "memory", "peak"],
        },
    ),
}
