"""The way of each pair of hosts through the switches, by their forwarding tables.

`dump_lfts` prints, for each switch, the port through which it sends what is meant for a LID. The
subnet manager may change these tables whenever it sweeps: they belong to the minute in which they
were read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from acceptance.core.errors import Fault
from acceptance.fabric.topology.model import End, Link, Topology

#: More links than any route of a fabric that is no loop has.
LONGEST = 64
#: The number of no link.
NONE = -1

_SWITCH = re.compile(r"Unicast lids .*\bguid (?P<guid>0x[0-9a-fA-F]+)")
_ROW = re.compile(r"(?P<lid>0x[0-9a-fA-F]+)\s+(?P<port>\d+)\s*:")


class RoutesFault(Fault, ValueError):
    """Forwarding tables that cannot be read, or that do not lead from host to host."""


def forwarding_tables(text: str, source: str = "dump_lfts") -> dict[str, dict[int, int]]:
    """Return GUID of the switch -> LID -> port; raises RoutesFault for a text without any."""
    tables: dict[str, dict[int, int]] = {}
    table: dict[int, int] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if row := _ROW.match(line):
            if table is None:
                raise RoutesFault(f"{source}:{number}: a row before the first switch: {line!r}")
            table[int(row["lid"], 16)] = int(row["port"])
        elif switch := _SWITCH.match(line):
            table = tables.setdefault(f"0x{int(switch['guid'], 16):016x}", {})
    if not tables:
        raise RoutesFault(f"{source}: no forwarding table of any switch")
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
    steps: NDArray[np.int32]

    @classmethod
    def of(cls, topology: Topology, text: str, source: str = "dump_lfts") -> "Routes":
        """Follow the tables from each host to each other one; raises RoutesFault."""
        return _follow(topology, forwarding_tables(text, source), source)

    @cached_property
    def place(self) -> dict[str, int]:
        """Return GUID of a host -> its number; of one with several ports the first one's."""
        return {end.guid: n for n, end in reversed([*enumerate(self.hosts)])}

    @property
    def hops(self) -> NDArray[np.int32]:
        """Return how many links are between hosts; 0 where no route leads."""
        hops: NDArray[np.int32] = (self.steps != NONE).sum(axis=2, dtype=np.int32)
        return hops

    @property
    def broken(self) -> list[tuple[End, End]]:
        """Return the pairs of hosts between which no route leads."""
        lost = self.hops == 0
        np.fill_diagonal(lost, False)
        return [(self.hosts[i], self.hosts[j]) for i, j in np.argwhere(lost)]

    def path(self, first: str, second: str) -> tuple[Link, ...]:
        """Return the links from one host to another (GUIDs), none where no route leads."""
        steps = self.steps[self.place[first], self.place[second]]
        return tuple(self.links[step // 2] for step in steps if step != NONE)

    def ends(self, direction: int) -> tuple[End, End]:
        """Return the ends of a link in the order of a direction: from, to."""
        first, second = self.links[direction // 2].ends
        return (second, first) if direction % 2 else (first, second)


def _follow(topology: Topology, tables: Mapping[str, Mapping[int, int]], source: str) -> Routes:
    """Follow forwarding tables, all pairs of hosts at once."""
    switches = [guid for guid, device in topology.devices.items() if device.kind == "switch"]
    if missing := [topology.devices[guid].name for guid in switches if guid not in tables]:
        raise RoutesFault(
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
