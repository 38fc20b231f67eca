"""Which adapters the messages of each rank took to other nodes: as UCX says, else by counters.

UCX (of MPICH, Open MPI, MVAPICH 3 and later) says at the level `info` of its log which transports
and devices it takes, once for each kind of way; `machine/rank.sh` has it written to RANK.ucx::

    [1795706259.015979] [node1:23787:0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(tcp/eth1)
    [1795706259.209789] [node1:23787:0] ucp_worker.c:1903 UCX  INFO    inter-node cfg#8
                                                                tag(rc_mlx5/mlx5_2:1)

(in one line). The first form does not say where a way leads: one with shared memory stays inside
the node. Source: UCX 1.13, as it runs, and its pull requests 3511 and 8699. What libfabric and
other MPIs say is not read.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from acceptance.core.findings import Finding
from acceptance.core.groups import grouped
from acceptance.core.text import plural, read_bounded, shortened
from acceptance.fabric.facts import Facts
from acceptance.fabric.node import Port, deviation
from acceptance.fabric.plausibility import LONGEST, readings_of
from acceptance.fabric.rails import Rails

OTHER = "adapter-other"
_UCX, _COUNTERS = "UCX", "counters"
_WAY = re.compile(
    r"UCX +INFO .*?(ep_cfg\[\d+\]:|(?P<where>self|intra-node|inter-node) cfg#\d+) *(?P<lanes>.*)"
)
#: A transport and its device, in the parentheses of what it is for.
_LANE = re.compile(r"[( ]\w+/(?P<device>[\w.-]+(:\d+)?)")
#: Devices of no network: shared memory, which a way inside a node has, and copies from GPUs.
_INSIDE, _GPU = ("memory",), ("cuda", "rocm", "ze")

#: The adapters or interfaces that a rank took to other nodes, and by whom that is known; where
#: nobody can tell, none, and why.
Way = tuple[tuple[str, ...], str]


def of_ucx(text: str) -> tuple[str, ...]:
    """Return the devices on the ways to other nodes that a log of UCX has: `mlx5_0/1`, `eth1`."""
    found: list[str] = []
    for way in filter(None, map(_WAY.search, text.splitlines())):
        devices = [lane["device"] for lane in _LANE.finditer(way["lanes"])]
        stays = any(device.startswith(_INSIDE) for device in devices)
        if way["where"] == "inter-node" or (way["where"] is None and not stays):
            found += [each for each in devices if not each.startswith((*_INSIDE, *_GPU))]
    return tuple(sorted({each.replace(":", "/") for each in found}))


def read(folder: Path, ranks: Mapping[int, str], every: Sequence[Rails]) -> dict[int, Way]:
    """Return rank -> its way; `ranks` are rank -> node, `every` what the rails of nodes carried.

    Counters tell it where one rail of a node carried all, or one rank stands there.
    """
    rails, of_node = {each.node: each for each in every}, Counter(ranks.values())
    ways: dict[int, Way] = {}
    for rank, node in sorted(ranks.items()):
        path = folder / f"{rank}.ucx"
        said = of_ucx(read_bounded(path, LONGEST)[0]) if path.is_file() else ()
        used = tuple(rails[node].used) if node in rails else ()
        if said:
            ways[rank] = said, _UCX
        elif used and (len(used) == 1 or of_node[node] == 1):
            ways[rank] = used, _COUNTERS
        else:
            shared = f"{plural(of_node[node], 'rank')} of a node share {len(used)} adapters"
            why = shared if used else "no counters tell"
            ways[rank] = (), f"UCX did not say, and {why}"
    return ways


def text_of(ways: Mapping[int, Way]) -> str:
    """Write who took what: `mlx5_0/1: ranks 0, 1 (UCX); not known: rank 2 (...)`."""
    told = []
    for (adapters, by), ranks in grouped(ways, ways.__getitem__).items():
        name = ", ".join(adapters) or "not known"
        noun = "ranks" if len(ranks) > 1 else "rank"
        told.append(f"{name}: {noun} {shortened(map(str, ranks), 8)} ({by})")
    return "; ".join(told)


def judge(
    folder: Path, ranks: Mapping[int, str], ways: Mapping[int, Way], facts: Facts
) -> Iterator[Finding]:
    """Yield the ranks that took none of the ports that the facts name, as UCX says.

    `ranks` are as in `read`. Where interfaces are named, the adapters behind them have other names,
    so that nothing is told.
    """
    by_ucx = [rank for rank, (_, by) in ways.items() if by == _UCX and facts.devices]
    for node, of_node in grouped(by_ucx, ranks.__getitem__).items():
        readings = readings_of(folder, node)
        links = readings[0].links_of(facts) if readings else {}
        ports = {name for name, link in links.items() if isinstance(link, Port)}
        for rank in of_node if ports and len(ports) == len(links) else ():
            taken, _ = ways[rank]
            if ports.isdisjoint(taken):
                found = f"rank {rank} sends to other nodes over it, as UCX says"
                of = node, ", ".join(taken), "", found, " or ".join(sorted(ports))
                yield replace(deviation(*of, OTHER), fails=True)
