"""Where the ranks of a job stand: launch options that put them there, and proof that they do.

One table for all suites. `place` gives what a launcher and an MPI must be told; `misplaced`
holds the lines that `checks/src/rank.sh` printed from inside the job against what was asked.

Sources: mpirun(1) of Open MPI 4.1, `mpiexec -help` of MPICH 4.0 (Hydra), the developer reference
of Intel MPI 2021 (I_MPI_PIN_*, I_MPI_JOB_RESPECT_PROCESS_PLACEMENT), srun(1) of Slurm 22.05.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

#: Where the partners of a pair stand.
PLACEMENTS = ("inter-node", "intra-node", "intra-socket", "inter-socket")
#: How consecutive ranks are laid over the nodes.
MAPPINGS = ("block", "cyclic")
#: Which way messages inside a node take: the MPI's shared memory, or the network.
PATHS = ("shared", "loopback")

#: MPI -> launcher of its own.
_LAUNCHERS = {
    "openmpi": "openmpi",
    "mpich": "hydra",
    "mvapich2": "hydra",
    "intel-mpi": "intel-mpi",
}
_SLURM = ("srun", "srunalloc")


class PlacementFault(ValueError):
    """A placement that this launcher or MPI cannot be asked for, and why."""


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
    def even(self) -> bool:
        """Tell whether each node has the same number of ranks."""
        return self.processes % self.per_node == 0


@dataclass(frozen=True)
class Launch:
    """What a launcher must be told: options, environment variables, and (Slurm) ranks a socket."""

    options: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    per_socket: int | None = None


def family(launcher: str, mpi: str) -> str:
    """Return the row of the table for ReFrame's launcher and the MPI of an environment.

    Raises PlacementFault for an MPI whose launcher is not known.
    """
    if launcher in _SLURM:
        return "srun"
    try:
        return _LAUNCHERS[mpi]
    except KeyError:
        raise PlacementFault(
            f"no launch options are known for {launcher} with the MPI {mpi!r}; "
            f"known: srun, {', '.join(_LAUNCHERS)}"
        ) from None


def place(launcher: str, layout: Layout) -> Launch:
    """Return what puts ranks where a layout wants them; each rank is bound to a core.

    `launcher` is a `family`. Raises PlacementFault for what cannot be asked for.
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
    return {"srun": _srun, "openmpi": _openmpi, "hydra": _hydra, "intel-mpi": _intel}[launcher](
        layout
    )


def _srun(layout: Layout) -> Launch:
    options = (f"--distribution={layout.mapping}:block", "--cpu-bind=cores")
    if layout.placement == "inter-socket":
        return Launch(options, per_socket=layout.processes // 2)
    return Launch(options)


def _openmpi(layout: Layout) -> Launch:
    if layout.placement == "inter-socket":
        where = f"--map-by ppr:{layout.processes // 2}:socket --rank-by slot"
    elif layout.nodes > 1:
        rank = {"block": "slot", "cyclic": "node"}[layout.mapping]
        where = f"--map-by ppr:{layout.per_node}:node --rank-by {rank}"
    else:
        where = "--map-by core"
    return Launch((*where.split(), "--bind-to", "core"))


def _hydra(layout: Layout) -> Launch:
    options: tuple[str, ...] = ("-bind-to", "core", "-map-by", "core")
    if layout.placement == "inter-socket":
        if layout.processes % 4 == 0:
            # Hydra deals ranks out to the sockets in turn: i and i + n/2 would meet on one.
            raise PlacementFault(
                f"Hydra cannot put {layout.processes} ranks so that partners never share a socket"
            )
        options = ("-bind-to", "core", "-map-by", "socket")
    if layout.nodes > 1:
        return Launch((*options, "-ppn", _per_turn(layout)))
    return Launch(options)


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
        return Launch(("-ppn", _per_turn(layout)), variables)
    return Launch((), variables)


def _per_turn(layout: Layout) -> str:
    """Return how many ranks a node gets before the next one has its turn."""
    return "1" if layout.mapping == "cyclic" else str(layout.per_node)


def exported(launcher: str, options: tuple[str, ...], variables: dict[str, str]) -> list[str]:
    """Return the options, and those that carry the variables to the other nodes.

    Of all launchers only Open MPI's leaves most variables behind.
    """
    if launcher != "openmpi":
        return [*options]
    names = [name for name in variables if not name.startswith("OMPI_")]
    return [*options, *(word for name in names for word in ("-x", name))]


def path(mpi: str, way: str, technology: str = "") -> dict[str, str]:
    """Return the environment variables that choose the way of messages inside a node.

    `loopback` is what koop2008 calls No-SMP: through the network, over the adapter of an
    InfiniBand fabric, else over sockets. Raises PlacementFault for an MPI that is not known.
    """
    if way == "shared":
        return {}
    infiniband = technology == "infiniband"
    ucx = "ib,self" if infiniband else "tcp,self"
    variables = {
        "openmpi": (
            {"OMPI_MCA_pml": "ucx", "UCX_TLS": ucx}
            if infiniband
            else {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
        ),
        # NOLOCAL turns off MPICH's own shared memory, UCX_TLS that of the UCX below it.
        "mpich": {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": ucx},
        "mvapich2": {"MV2_USE_SHARED_MEM": "0"},
        "intel-mpi": {"I_MPI_FABRICS": "ofi", **({} if infiniband else {"FI_PROVIDER": "tcp"})},
    }
    try:
        return variables[mpi]
    except KeyError:
        raise PlacementFault(f"how {mpi!r} is kept off shared memory is not known") from None


@dataclass(frozen=True)
class Rank:
    """Where a rank stood: node, logical CPUs, sockets, and cores as (socket, core)."""

    rank: int
    node: str
    cpus: str
    sockets: frozenset[str]
    cores: frozenset[str]


_LINE = re.compile(
    r"placement rank=(?P<rank>\d+) node=(?P<node>\S+) cpus=(?P<cpus>[\d,-]+) "
    r"sockets=(?P<sockets>[\d,?]+) cores=(?P<cores>[\d,:?]+)\Z"
)


def is_line(line: str) -> bool:
    """Tell whether a line of standard error is one of `rank.sh`."""
    return line.startswith("placement rank=")


def read(text: str, source: str = "stderr") -> list[Rank]:
    """Read the lines of `checks/src/rank.sh` among others; sorted by rank.

    Raises ValueError, with file and line, for a line that is cut or garbled, or has no rank.
    """
    ranks = []
    for number, line in enumerate(text.splitlines(), 1):
        if not is_line(line.strip()):
            continue
        found = _LINE.match(line.strip())
        if not found:
            raise ValueError(f"{source}:{number}: no rank's place can be read from {line!r}")
        ranks.append(
            Rank(
                int(found["rank"]),
                found["node"],
                found["cpus"],
                frozenset(found["sockets"].split(",")),
                frozenset(found["cores"].split(",")),
            )
        )
    return sorted(ranks, key=lambda rank: rank.rank)


def misplaced(ranks: list[Rank], layout: Layout) -> list[str]:
    """Return what is wrong with where ranks stood, a line each; empty when all is as asked."""
    numbers = [rank.rank for rank in ranks]
    if numbers != list(range(layout.processes)):
        return [f"{len(ranks)} ranks told where they stood ({_short(numbers)}), not "
                f"{layout.processes}"]  # fmt: skip
    count = Counter(rank.node for rank in ranks)
    full = set(count.values()) == {layout.per_node}
    if (
        len(count) != layout.nodes
        or (not full and layout.even)
        or max(count.values()) > (layout.per_node)
    ):
        stood = ", ".join(f"{number} on {node}" for node, number in sorted(count.items()))
        return [f"asked for {layout.per_node} ranks on each of {layout.nodes} nodes, had {stood}"]
    return [*_off_mapping(ranks, layout), *_off_socket(ranks, layout), *_sharing(ranks)]


def _off_mapping(ranks: list[Rank], layout: Layout) -> list[str]:
    if layout.nodes == 1:
        return []
    order = list(dict.fromkeys(rank.node for rank in ranks))
    count = Counter(rank.node for rank in ranks)
    wanted = (
        [node for node in order for _ in range(count[node])]
        if layout.mapping == "block"
        else [order[rank.rank % layout.nodes] for rank in ranks]
    )
    for rank, node in zip(ranks, wanted, strict=True):
        if rank.node != node:
            return [
                f"mapping {layout.mapping} wants rank {rank.rank} on {node}, it stood on "
                f"{rank.node}"
            ]
    return []


def _off_socket(ranks: list[Rank], layout: Layout) -> list[str]:
    if layout.placement not in ("intra-socket", "inter-socket"):
        return []
    for rank in ranks:
        if len(rank.sockets) != 1 or "?" in rank.sockets:
            return [f"rank {rank.rank} on {rank.node} is bound to no one socket: CPUs {rank.cpus}"]
    half = layout.processes // 2
    if layout.placement == "intra-socket":
        pairs = [(ranks[0], rank) for rank in ranks[1:]]
    else:
        pairs = [(ranks[i], ranks[i + half]) for i in range(half)]
    for one, other in pairs:
        same = one.sockets == other.sockets
        if same != (layout.placement == "intra-socket"):
            found = "one socket" if same else "different sockets"
            return [f"{layout.placement}: ranks {one.rank} and {other.rank} stood on {found}"]
    return []


def _sharing(ranks: list[Rank]) -> list[str]:
    """Find ranks that were bound to one and the same core."""
    seen: dict[tuple[str, frozenset[str]], int] = {}
    for rank in ranks:
        if len(rank.cores) == 1:
            first = seen.setdefault((rank.node, rank.cores), rank.rank)
            if first != rank.rank:
                return [f"ranks {first} and {rank.rank} shared the core "
                        f"{min(rank.cores)} of {rank.node}"]  # fmt: skip
    return []


def _short(numbers: list[int]) -> str:
    text = ", ".join(map(str, numbers[:8])) or "none"
    return f"{text}, ..." if len(numbers) > 8 else text
