"""The way of each pair of hosts through the switches, by their forwarding tables.

`dump_lfts` prints, for each switch, the port through which it sends what is meant for a LID. The
subnet manager may change these tables whenever it sweeps: they belong to the minute in which they
were read.

A few pairs of hosts cross every link together, in rounds in which no two pairs share a link. All N
(N - 1) pairs take hours on a large fabric; to see each link only O(N) of them are needed: each
direction of each link on the routes of `CROSSINGS` pairs, chosen so that these have no other link
in common where that can be, since else nobody could tell which of the two is slow.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from acceptance.core.errors import Fault
from acceptance.fabric.topology import End, Link, Topology

# Only routes need numpy, and it takes longer to load than all else of the fabric.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: More links than any route of a fabric that is no loop has.
LONGEST = 64
#: The number of no link; the highest number in a row, of a port that leads nowhere.
NONE, NO_PORT = -1, 255

_SWITCH = re.compile(r"Unicast lids .*\bguid (?P<guid>0x[0-9a-fA-F]+)")
_ROW = re.compile(r"(?P<lid>0x[0-9a-fA-F]+)\s+(?P<port>\d+)\s*:")


def forwarding_tables(text: str, source: str = "dump_lfts") -> dict[str, dict[int, int]]:
    """Return GUID of the switch -> LID -> port; raises Fault for a text without any."""
    tables: dict[str, dict[int, int]] = {}
    table: dict[int, int] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if row := _ROW.match(line):
            if table is None:
                raise Fault(f"{source}:{number}: a row before the first switch: {line!r}")
            if len(row["port"]) > 3 or int(row["port"]) > NO_PORT:
                raise Fault(f"{source}:{number}: no port has this number: {line!r}")
            table[int(row["lid"], 16)] = int(row["port"])
        elif switch := _SWITCH.match(line):
            table = tables.setdefault(f"0x{int(switch['guid'], 16):016x}", {})
    if not tables:
        raise Fault(f"{source}: no forwarding table of any switch")
    return tables


@dataclass(frozen=True)
class Routes:
    """The routes between hosts.

    `hosts` are the ports of hosts that are on any route, `steps[i, j]` are the links from host i to
    host j in turn, as numbers of `directions`, then NONE; of a route that leads nowhere all are.
    Link n of `links` is direction 2 n from its first to its second end, and 2 n + 1 back.
    """

    links: tuple[Link, ...]
    hosts: tuple[End, ...]
    steps: "NDArray[np.int32]"

    @classmethod
    def of(cls, topology: Topology, text: str, source: str = "dump_lfts") -> "Routes":
        """Follow the tables from each host to each other one; raises Fault."""
        return _follow(topology, forwarding_tables(text, source), source)

    @cached_property
    def place(self) -> dict[str, int]:
        """Return GUID of a host -> its number; of one with several ports the first one's."""
        return {end.guid: n for n, end in reversed([*enumerate(self.hosts)])}

    def ends(self, direction: int) -> tuple[End, End]:
        """Return the ends of a link in the order of a direction: from, to."""
        first, second = self.links[direction // 2].ends
        return (second, first) if direction % 2 else (first, second)


def _follow(topology: Topology, tables: Mapping[str, Mapping[int, int]], source: str) -> Routes:
    """Follow forwarding tables, all pairs of hosts at once."""
    import numpy as np

    switches = [guid for guid, device in topology.devices.items() if device.kind == "switch"]
    if missing := [topology.devices[guid].name for guid in switches if guid not in tables]:
        raise Fault(
            f"{source}: {len(missing)} of {len(switches)} switches have no forwarding table: "
            f"{', '.join(missing[:3])}"
        )
    number = {guid: n for n, guid in enumerate(switches)}
    hosts = sorted(end for link in topology.links for end in link.ends if end.guid not in number)
    lids = [_lid(topology, end) for end in hosts]
    # A place is the number of a switch; those of hosts follow.
    place = {end: len(switches) + n for n, end in enumerate(hosts)}
    # From each place and port: the direction of the link, and the place that it leads to.
    shape = len(switches) + len(hosts), 256
    direction, target = np.full((2, *shape), NONE, dtype=np.int32)
    for n, link in enumerate(topology.links):
        for way, (here, there) in enumerate((link.ends, link.ends[::-1])):
            at = number.get(here.guid, place.get(here, NONE))
            direction[at, here.port] = 2 * n + way
            target[at, here.port] = number.get(there.guid, place.get(there, NONE))
    ports = np.array(
        [[tables[guid].get(lid, 0) for lid in lids] for guid in switches]
        + [[end.port] * len(hosts) for end in hosts],
        dtype=np.int32,
    ).reshape(shape[0], len(hosts))
    goal = np.arange(len(switches), shape[0])
    at = np.broadcast_to(goal[:, None], (len(hosts), len(hosts))).copy()
    steps: list[NDArray[np.int32]] = []
    while len(steps) < LONGEST:
        # Under way, but not at another host, which sends nothing on.
        rows, columns = np.nonzero((at != goal) & (at != NONE) & ((at < goal[0]) | (not steps)))
        if not len(rows):
            break
        port = ports[at[rows, columns], columns]
        step = np.full(at.shape, NONE, dtype=np.int32)
        step[rows, columns] = direction[at[rows, columns], port]
        at[rows, columns] = target[at[rows, columns], port]
        steps.append(step)
    stacked = np.stack(steps, axis=2) if steps else np.empty((*at.shape, 0), dtype=np.int32)
    stacked[at != goal] = NONE
    return Routes(topology.links, tuple(hosts), stacked)


def _lid(topology: Topology, end: End) -> int:
    """Return the LID of a host's port."""
    device = topology.devices[end.guid]
    return device.lids.get(end.port, device.lid)


#: How many pairs cross each direction of a link.
CROSSINGS = 2
#: How many pairs on a link are looked at before one is taken.
_TRIED = 48


def choose(routes: Routes, hosts: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Return rounds of pairs of these hosts, as numbers of `Routes.hosts`: from, to.

    They are the same for the same routes and hosts. Directions that no route between these hosts
    takes are not crossed, and some are by fewer pairs than is wanted, where fewer take them.
    """
    import numpy as np

    random = np.random.default_rng(0)
    first, second = (each.ravel() for each in np.meshgrid(hosts, hosts, indexing="ij"))
    apart = first != second
    first, second = first[apart], second[apart]
    steps = routes.steps[first, second]
    total = 2 * len(routes.links)
    pair, column = np.nonzero(steps != NONE)
    direction = steps[pair, column]
    order = np.argsort(direction, kind="stable")
    pair, number = pair[order], np.bincount(direction, minlength=total)
    begin = np.concatenate(([0], np.cumsum(number)))
    crossed = np.zeros(total, dtype=np.int32)
    chosen: list[int] = []
    on: dict[int, list[int]] = {}
    # What few routes take comes first: what many take is then crossed on the way.
    for link in sorted(np.nonzero(number)[0].tolist(), key=lambda each: (number[each], each)):
        while crossed[link] < min(CROSSINGS, number[link]):
            candidates = pair[begin[link] : begin[link + 1]]
            candidates = random.choice(candidates, min(_TRIED, len(candidates)), replace=False)
            best = candidates[_worth(steps[candidates], link, crossed, steps, on)]
            if int(best) in on.get(link, []):
                break
            chosen.append(int(best))
            for step in steps[best][steps[best] != NONE].tolist():
                crossed[step] += 1
                on.setdefault(step, []).append(int(best))
    pairs = [(int(first[each]), int(second[each])) for each in chosen]
    return [[pairs[n] for n in members] for members in _rounds(steps[chosen])]


def _worth(
    candidates: "NDArray[np.int32]",
    link: int,
    crossed: "NDArray[np.int32]",
    steps: "NDArray[np.int32]",
    on: dict[int, list[int]],
) -> int:
    """Return the candidate that crosses most that is still to be crossed, and shares least."""
    import numpy as np

    real = candidates != NONE
    wanted = (real & (crossed[candidates] < CROSSINGS)).sum(axis=1)
    before = on.get(link, [])
    shared = np.isin(candidates, steps[before]).sum(axis=1) if before else 0
    taken = np.array([tuple(row) in {tuple(steps[n]) for n in before} for row in candidates])
    return int(np.argmax(wanted - 2 * shared - 100 * taken))


def _rounds(steps: "NDArray[np.int32]") -> list[list[int]]:
    """Put pairs into rounds, each into the first in which none of its links is taken."""
    rounds: list[list[int]] = []
    busy: list[set[int]] = []
    for n, row in enumerate(steps):
        links = set(row[row != NONE].tolist())
        for members, taken in zip(rounds, busy, strict=True):
            if not links & taken:
                members.append(n)
                taken |= links
                break
        else:
            rounds.append([n])
            busy.append(links)
    return rounds
