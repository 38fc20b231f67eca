"""Where the ranks of a job stood, as they, or SimGrid, said it, compared with what was asked."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from acceptance.core.errors import ParseError
from acceptance.launch.placement import Layout

#: Runs in place of the program on every rank and reports where it stands.
SCRIPT = Path(__file__).with_name("rank.sh")


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

#: What `smpirun -map` prints of SimGrid's log: `[0.000000] [smpi/INFO] [rank 3] -> n1`.
_SIMULATED = re.compile(r"(?:\[[^]]*\] )*\[rank (?P<rank>\d+)\] -> (?P<node>\S+)\Z")


def is_line(line: str) -> bool:
    """Tell whether a line of standard error is one of `rank.sh`, or of SimGrid's map."""
    return line.startswith("placement rank=") or _SIMULATED.match(line) is not None


def read(text: str, source: str = "stderr") -> list[Rank]:
    """Read the lines of `launch/rank.sh`, or of `smpirun -map`, among others; sorted by rank.

    A simulated node has no sockets, and each rank of it a core of its own. Raises ParseError, with
    file and line, for a line that is cut or garbled, or has no rank.
    """
    ranks: list[Rank] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not is_line(line.strip()):
            continue
        if match := _SIMULATED.match(line.strip()):
            core = str(sum(rank.node == match["node"] for rank in ranks))
            place = frozenset({"0"}), frozenset({f"0:{core}"})
            ranks.append(Rank(int(match["rank"]), match["node"], core, *place))
            continue
        match = _LINE.match(line.strip())
        if not match:
            raise ParseError(source, "no rank's place can be read", number=number, line=line)
        ranks.append(
            Rank(
                int(match["rank"]),
                match["node"],
                match["cpus"],
                frozenset(match["sockets"].split(",")),
                frozenset(match["cores"].split(",")),
            )
        )
    return sorted(ranks, key=lambda rank: rank.rank)


def misplaced(ranks: list[Rank], layout: Layout) -> list[str]:
    """Return what is wrong with where ranks stood, a line each; empty when all is as asked."""
    numbers = [rank.rank for rank in ranks]
    if numbers != list(range(layout.processes)):
        return [f"{len(ranks)} ranks reported where they stood ({_short(numbers)}), not "
                f"{layout.processes}"]  # fmt: skip
    count = Counter(rank.node for rank in ranks)
    full = set(count.values()) == {layout.per_node}
    crowded = max(count.values()) > layout.per_node
    if len(count) != layout.nodes or crowded or (layout.even and not full):
        stood = ", ".join(f"{number} on {node}" for node, number in sorted(count.items()))
        return [f"asked for {layout.per_node} ranks on each of {layout.nodes} nodes, had {stood}"]
    return [*_off_mapping(ranks, layout), *_off_socket(ranks, layout), *_sharing(ranks)]


def _off_mapping(ranks: list[Rank], layout: Layout) -> list[str]:
    if layout.nodes == 1:
        return []
    order = list(dict.fromkeys(rank.node for rank in ranks))
    count = Counter(rank.node for rank in ranks)
    expected = (
        [node for node in order for _ in range(count[node])]
        if layout.mapping == "block"
        else [order[rank.rank % layout.nodes] for rank in ranks]
    )
    for rank, node in zip(ranks, expected, strict=True):
        if rank.node != node:
            return [
                f"mapping {layout.mapping} puts rank {rank.rank} on {node}, it stood on {rank.node}"
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
    for rank, partner in pairs:
        same = rank.sockets == partner.sockets
        if same != (layout.placement == "intra-socket"):
            where = "one socket" if same else "different sockets"
            return [f"{layout.placement}: ranks {rank.rank} and {partner.rank} stood on {where}"]
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
