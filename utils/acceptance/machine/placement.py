"""Where the ranks of a job shall stand: the launch options that put them there.

One table for all suites: what a launcher and an MPI must be told.

Sources: mpirun(1) of Open MPI 4.1, `mpiexec -help` of MPICH 4.0 (Hydra), the developer reference
of Intel MPI 2021 (I_MPI_PIN_*, I_MPI_JOB_RESPECT_PROCESS_PLACEMENT), srun(1) of Slurm 22.05.

Jobs that are pinned to nodes: `partition=node1,node2` in, the nodes of a case out.

Where the ranks stood, as they or SimGrid said it, is compared with what was asked.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from acceptance.core.errors import Fault, ParseError
from acceptance.core.text import shortened

#: Where the partners of a pair stand.
PLACEMENTS = ("inter-node", "intra-node", "intra-socket", "inter-socket")
#: How consecutive ranks are laid over the nodes.
MAPPINGS = ("block", "cyclic")

#: MPI -> launcher of its own.
_LAUNCHERS = {
    "openmpi": "openmpi",
    "mpich": "hydra",
    "mvapich2": "hydra",
    "intel-mpi": "intel-mpi",
    "simgrid": "smpirun",
}
#: The platform of a simulation, and the host of each rank, in the folder of the job.
PLATFORM_FILE, HOST_FILE = "platform.xml", "ranks.hosts"
#: What an environment may say that its MPI is: those above, those that only Slurm's srun starts
#: here, and any other one, of which nothing is known.
MPIS = (*_LAUNCHERS, "sgi-mpt", "cray-mpt", "nec-mpi", "other")
_SLURM = ("srun", "srunalloc")
#: ReFrame has no launcher of this name; `config/launchers.py` has it.
_FLUX = "flux"


class PlacementFault(Fault, ValueError):
    """A placement that this launcher or MPI cannot be asked for, nor a case of nodes, and why."""


@dataclass(frozen=True)
class Layout:
    """What is asked of the launcher.

    `per_node` ranks stand on each node; fewer on some where they cannot be spread evenly, which
    only a block layout may be. `inter-socket` puts the first half of a node's ranks on
    one socket and the second half on another, so that rank i and its partner i + n/2 never share
    one; the other placements fill core by core.
    """

    processes: int
    per_node: int
    placement: str
    mapping: str = "block"

    @property
    def nodes(self) -> int:
        """Count the nodes."""
        return -(-self.processes // self.per_node)

    @property
    def per_socket(self) -> int | None:
        """Return how many ranks a socket gets; None where any number."""
        return self.processes // 2 if self.placement == "inter-socket" else None

    @property
    def even(self) -> bool:
        """Tell whether each node has the same number of ranks."""
        return self.processes % self.per_node == 0

    @property
    def counts(self) -> list[int]:
        """Return how many ranks each node has: `per_node`, and what is left on the last one."""
        full, rest = divmod(self.processes, self.per_node)
        return [self.per_node] * full + [rest] * bool(rest)

    @property
    def chosen(self) -> bool:
        """Tell whether a launcher that is told nothing but the numbers may well do otherwise."""
        return self.mapping != "block" or self.placement in ("intra-socket", "inter-socket")


#: What a launcher must be told: options, and environment variables.
Launch = tuple[tuple[str, ...], dict[str, str]]


def family(launcher: str, mpi: str) -> str:
    """Return the row of the table for ReFrame's launcher and the MPI of an environment.

    Raises PlacementFault for an MPI whose launcher is not known, and for ReFrame's `local`, which
    starts the program itself.
    """
    if launcher in _SLURM:
        return "srun"
    if launcher == _FLUX:
        return _FLUX
    if launcher != "local" and mpi in _LAUNCHERS:
        return _LAUNCHERS[mpi]
    raise PlacementFault(
        f"no launch options are known for {launcher} with the MPI {mpi!r}; "
        f"known: srun, {_FLUX}, {', '.join(_LAUNCHERS)}"
    )


def place(launcher: str, layout: Layout) -> Launch:
    """Return what puts ranks where a layout has them; each rank is bound to a core.

    `launcher` is a `family`; srun is also told the ranks of a socket, by ReFrame. Raises
    PlacementFault for what cannot be asked for.
    """
    if layout.placement not in PLACEMENTS or layout.mapping not in MAPPINGS:
        raise PlacementFault(f"unknown placement {layout.placement!r} or {layout.mapping!r}")
    if not layout.even and layout.mapping == "cyclic":
        raise PlacementFault(
            f"{layout.processes} ranks cannot be spread evenly, {layout.per_node} a node"
        )
    if (layout.nodes > 1) != (layout.placement == "inter-node"):
        raise PlacementFault(f"{layout.placement} on {layout.nodes} nodes")
    if layout.placement == "inter-socket" and layout.processes % 2:
        raise PlacementFault(f"{layout.processes} ranks cannot be halved over two sockets")
    return {
        "srun": _srun,
        _FLUX: _flux,
        "openmpi": _openmpi,
        "hydra": _hydra,
        "intel-mpi": _intel,
        "smpirun": _smpirun,
    }[launcher](layout)


def _smpirun(layout: Layout) -> Launch:
    # The file of hosts has the layout.
    return ("-platform", PLATFORM_FILE, "-hostfile", HOST_FILE), {}


def _srun(layout: Layout) -> Launch:
    options = (f"--distribution={layout.mapping}:block", "--cpu-bind=cores")
    # Else the others wait for a rank that has crashed until the job's time limit.
    return options, {"SLURM_KILL_BAD_EXIT": "1"}


def _flux(layout: Layout) -> Launch:
    # A rank has a core, the first ones of a node. With whole nodes the ranks divide the cores, and
    # so the two halves of them the sockets.
    options = [f"--nodes={layout.nodes}", "--setopt=cpu-affinity=per-task"]
    if layout.per_socket:
        options.append("--exclusive")
    if layout.mapping == "cyclic":
        options.append("--taskmap=cyclic")
    # GPUs of the job stay visible; else `flux run` hides those that it was not asked for.
    return (*options, "--setopt=gpu-affinity=off", "--setopt=exit-on-error"), {}


def _openmpi(layout: Layout) -> Launch:
    if layout.per_socket:
        where = f"--map-by ppr:{layout.per_socket}:socket --rank-by slot"
    elif layout.nodes > 1:
        rank = {"block": "slot", "cyclic": "node"}[layout.mapping]
        where = f"--map-by ppr:{layout.per_node}:node --rank-by {rank}"
    else:
        where = "--map-by core"
    return (*where.split(), "--bind-to", "core"), {}


def _hydra(layout: Layout) -> Launch:
    where = "socket" if layout.placement == "inter-socket" else "core"
    if where == "socket" and layout.processes % 4 == 0:
        # Hydra deals ranks out to the sockets in turn: i and i + n/2 would meet on one.
        raise PlacementFault(
            f"Hydra cannot put {layout.processes} ranks so that partners never share a socket"
        )
    return ("-bind-to", "core", "-map-by", where, *_per_turn(layout)), {}


def _intel(layout: Layout) -> Launch:
    order = "spread" if layout.placement == "inter-socket" else "compact"
    variables = {
        "I_MPI_PIN": "1",
        "I_MPI_PIN_CELL": "core",
        "I_MPI_PIN_DOMAIN": "core",
        "I_MPI_PIN_ORDER": order,
    }
    if layout.nodes > 1:
        # Otherwise a job manager's own count wins over -ppn.
        variables["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] = "0"
    return _per_turn(layout), variables


def _per_turn(layout: Layout) -> tuple[str, ...]:
    """Return the option with how many ranks a node gets before the next one has its turn."""
    number = 1 if layout.mapping == "cyclic" else layout.per_node
    return ("-ppn", str(number)) if layout.nodes > 1 else ()


def exported(launcher: str, options: tuple[str, ...], variables: dict[str, str]) -> list[str]:
    """Return the options, and those that carry the variables to the other nodes.

    Of all launchers only Open MPI's leaves most variables behind.
    """
    if launcher != "openmpi":
        return [*options]
    names = [name for name in variables if not name.startswith("OMPI_")]
    return [*options, *(word for name in names for word in ("-x", name))]


def pinned(mpi: str) -> dict[str, str]:
    """Return the environment variables that let ranks stay where the launcher has bound them.

    MVAPICH2 binds each rank anew when it starts, socket after socket, whatever the launcher did and
    `rank.sh` saw. Source: its function MPIDI_CH3I_set_affinity.
    """
    return {"MV2_ENABLE_AFFINITY": "0"} if mpi == "mvapich2" else {}


def gpus(mpi: str, kind: str) -> dict[str, str]:
    """Return the environment variables that let an MPI take messages from GPUs, cuda or rocm.

    Others need none, but have to be built for it. Sources: the user guide of MVAPICH2, the
    developer reference of Intel MPI 2021, intro_mpi(3) of Cray MPICH.
    """
    variables: dict[str, dict[str, str]] = {
        "mvapich2": {f"MV2_USE_{kind.upper()}": "1"},
        "intel-mpi": {"I_MPI_OFFLOAD": "1"},
        "cray-mpt": {"MPICH_GPU_SUPPORT_ENABLED": "1"},
    }
    return variables.get(mpi, {})


#: What a program says that could not use GPUs, and what that means; sources: osu_util.c and
#: osu_util.h of OMB 7.4, IMB_gpu_common.c and IMB_cuda.h of IMB 2021.11.
_NO_GPUS = {
    r"Invalid option \[-d\]|Support Not Enabled|Does Not Support\s+Accelerator":
        "the program has no {KIND}: build it with that (packages.yaml of the site: require: "
        "+{kind})",
    "Neither CUDA nor Level Zero is available":
        "the program finds no libcudart.so: add its folder to LD_LIBRARY_PATH",
    r"(CUDA|ROCM) call '\w+\(.*failed|ERROR: 0x\w+ returned from cuda_proxy":
        "the job cannot use them: see whether it gets any (access: --gres=gpu:N), and the driver",
}  # fmt: skip


def no_gpus(said: str, kind: str) -> str:
    """Return why a program did not use GPUs, by its standard error, and what to do about it."""
    means = (text for pattern, text in _NO_GPUS.items() if re.search(pattern, said))
    aware = (
        "its MPI may take no messages from them: Open MPI says so in mpi_built_with_{kind}_support "
        "of ompi_info --all --parsable"
    )
    told = next(means, aware).format(kind=kind, KIND=kind.upper())
    return f'{told}; or give the environment the feature "no-gpu"'


def path(mpi: str, way: str, technology: str = "") -> dict[str, str]:
    """Return the environment variables that choose the way of messages inside a node.

    `loopback` is what koop2008 calls No-SMP: through the network, over the adapter of an InfiniBand
    or RoCE fabric, on others over sockets. Raises PlacementFault for an MPI that is not known.
    """
    if way == "shared":
        return {}
    rdma = technology in ("infiniband", "roce")
    ucx = "ib,self" if rdma else "tcp,self"
    variables = {
        "openmpi": (
            {"OMPI_MCA_pml": "ucx", "UCX_TLS": ucx}
            if rdma
            else {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
        ),
        # NOLOCAL turns off MPICH's own shared memory, UCX_TLS that of the UCX below it.
        "mpich": {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": ucx},
        "mvapich2": {"MV2_USE_SHARED_MEM": "0"},
        "intel-mpi": {"I_MPI_FABRICS": "ofi", **({} if rdma else {"FI_PROVIDER": "tcp"})},
        # Its platform has the way.
        "simgrid": {},
    }
    try:
        return variables[mpi]
    except KeyError:
        raise PlacementFault(f"how {mpi!r} is kept off shared memory is not known") from None


def read_pins(text: str, partitions: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the nodes of each partition that is pinned; empty for an empty text.

    `partitions` are those that there are. Raises PlacementFault.
    """
    pins: dict[str, tuple[str, ...]] = {}
    for part in filter(None, text.split(";")):
        partition, equals, listed = part.partition("=")
        nodes = tuple(listed.split(","))
        if not equals or not all(nodes) or len(set(nodes)) < len(nodes):
            raise PlacementFault(
                f"pinned={text}: {part!r} is not of the form partition=node1,node2"
            )
        if partition not in partitions:
            raise PlacementFault(
                f"pinned={text}: no partition {partition}; there are: {', '.join(partitions)}"
            )
        if partition in pins:
            raise PlacementFault(f"pinned={text}: {partition} stands there twice")
        pins[partition] = nodes
    return pins


def write_pins(pins: Mapping[str, Sequence[str]]) -> str:
    """Return the text that `read_pins` reads."""
    return ";".join(f"{partition}={','.join(nodes)}" for partition, nodes in pins.items())


def nodes_of_case(nodes: Sequence[str], number: int, case: str) -> list[str]:
    """Return which of the pinned nodes a case takes that needs so many of them.

    Neighbours in the list, the same ones each time for a case of this name; cases of other names
    take others, so that together they visit all if they are many. Raises PlacementFault when there
    are too few.
    """
    if number > len(nodes):
        raise PlacementFault(
            f"it takes {number} nodes, and is pinned to {len(nodes)}: {', '.join(nodes)}"
        )
    groups = -(-len(nodes) // number)
    # The last group may have some nodes of the one before it.
    first = min(crc32(case.encode()) % groups * number, len(nodes) - number)
    return list(nodes[first : first + number])


#: Runs in place of the program on every rank and reports where it stands.
SCRIPT = Path(__file__).with_name("rank.sh")
#: Says for how long something waited for a CPU, and measures a node without MPI.
WAITED, WITHOUT_MPI = (SCRIPT.with_name(name) for name in ("waited.sh", "without_mpi.sh"))


@dataclass(frozen=True)
class Rank:
    """Where a rank stood: node, logical CPUs, sockets, and cores as `socket:core`."""

    rank: int
    node: str
    cpus: str
    sockets: frozenset[str]
    cores: frozenset[str]


_LINE = re.compile(
    r"placement rank=(?P<rank>\d+) node=(?P<node>\S+) cpus=(?P<cpus>[\d,-]+) "
    r"sockets=(?P<sockets>[\d,?]+) cores=(?P<cores>[\d,:?]+)\Z"
)

#: What `smpirun -map` prints of SimGrid's log: `[0.000000] [smpi/INFO] [rank 3] -> n1`.
_SIMULATED = re.compile(r"(?:\[[^]]*\] )*\[rank (?P<rank>\d+)\] -> (?P<node>\S+)\Z")


def is_line(line: str) -> bool:
    """Tell whether a line of standard error is one of `rank.sh`, or of SimGrid's map."""
    return line.startswith("placement rank=") or _SIMULATED.match(line) is not None


def read_ranks(text: str, source: str = "stderr") -> list[Rank]:
    """Read the lines of `machine/rank.sh`, or of `smpirun -map`, among others; sorted by rank.

    A simulated node has no sockets, and each rank of it a core of its own. Raises ParseError, with
    file and line, for a line that is cut or garbled, or has no rank.
    """
    ranks: list[Rank] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _SIMULATED.match(line.strip()):
            core = str(sum(rank.node == match["node"] for rank in ranks))
            place = frozenset({"0"}), frozenset({f"0:{core}"})
            ranks.append(Rank(int(match["rank"]), match["node"], core, *place))
        elif match := _LINE.match(line.strip()):
            place = frozenset(match["sockets"].split(",")), frozenset(match["cores"].split(","))
            ranks.append(Rank(int(match["rank"]), match["node"], match["cpus"], *place))
        elif is_line(line.strip()):
            raise ParseError(source, "no rank's place can be read", number=number, line=line)
    return sorted(ranks, key=lambda rank: rank.rank)


def misplaced(ranks: list[Rank], layout: Layout) -> list[str]:
    """Return what is wrong with where ranks stood, a line each; empty when all is as asked."""
    numbers = [rank.rank for rank in ranks]
    if numbers != list(range(layout.processes)):
        told = shortened(map(str, numbers), 8) or "none"
        return [f"{len(ranks)} ranks reported where they stood ({told}), not {layout.processes}"]
    count = Counter(rank.node for rank in ranks)
    full = set(count.values()) == {layout.per_node}
    crowded = max(count.values()) > layout.per_node
    if len(count) != layout.nodes or crowded or (layout.even and not full):
        stood = ", ".join(f"{number} on {node}" for node, number in sorted(count.items()))
        return [f"asked for {layout.per_node} ranks on each of {layout.nodes} nodes, had {stood}"]
    found = (_off_mapping(ranks, layout), _off_socket(ranks, layout), _sharing(ranks))
    return [text for texts in found if (text := next(texts, ""))]


def _off_mapping(ranks: list[Rank], layout: Layout) -> Iterator[str]:
    count = Counter(rank.node for rank in ranks)
    order = [*count]
    expected = (
        [node for node in order for _ in range(count[node])]
        if layout.mapping == "block"
        else [order[rank.rank % layout.nodes] for rank in ranks]
    )
    for rank, node in zip(ranks, expected, strict=True):
        if rank.node != node:
            where = f"puts rank {rank.rank} on {node}, it stood on {rank.node}"
            yield f"mapping {layout.mapping} {where}"


def _off_socket(ranks: list[Rank], layout: Layout) -> Iterator[str]:
    together = layout.placement == "intra-socket"
    if not together and layout.placement != "inter-socket":
        return
    for rank in ranks:
        if len(rank.sockets) != 1 or "?" in rank.sockets:
            yield f"rank {rank.rank} on {rank.node} is bound to no one socket: CPUs {rank.cpus}"
    # All beside the first one; or the first half of the ranks, each beside its partner.
    others = ranks[1:] if together else ranks[layout.processes // 2 :]
    for number, partner in enumerate(others):
        rank = ranks[0 if together else number]
        if (rank.sockets == partner.sockets) != together:
            where = "different sockets" if together else "one socket"
            yield f"{layout.placement}: ranks {rank.rank} and {partner.rank} stood on {where}"


def _sharing(ranks: list[Rank]) -> Iterator[str]:
    """Find ranks that were bound to one and the same core."""
    seen: dict[tuple[str, frozenset[str]], int] = {}
    for rank in ranks:
        first = seen.setdefault((rank.node, rank.cores), rank.rank)
        if len(rank.cores) == 1 and first != rank.rank:
            core = f"{min(rank.cores)} of {rank.node}"
            yield f"ranks {first} and {rank.rank} shared the core {core}"
