"""On which level of a tree each switch stands, and what a link is by the kind of its two ends."""

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import networkx

    from acceptance.fabric.topology.model import Link, Topology

#: Words of the levels; above these, and where a fabric has more, they have numbers.
_WORDS = ("host", "leaf", "spine", "core")
#: A switch with hosts is no leaf where those next to it have more than this many times its hosts:
#: file servers and gateways are plugged into spines, too.
_FEW_HOSTS = 4


def levels(topology: "Topology") -> dict[str, int]:
    """Return GUID -> level: 0 a host, 1 a leaf, 2 a spine above leaves, 3 a core, ...

    A leaf is a switch with hosts; one that has only a few of them beside switches with many is a
    spine. Others stand one level above the nearest leaf, whether the fabric is a tree or not
    (`structure.py` says that). A switch from which no way leads to a leaf has no level.
    """
    hosts = {guid: len(topology.hosts_at(guid)) for guid in topology.switches}
    level = {guid: 0 for guid in topology.devices if guid not in hosts}
    around = topology.switch_graph
    ring = [guid for guid, count in hosts.items() if count and not _is_between(guid, hosts, around)]
    number = 1
    while ring:
        level |= dict.fromkeys(ring, number)
        ring = sorted({other for guid in ring for other in around[guid] if other not in level})
        number += 1
    return level


def _is_between(guid: str, hosts: dict[str, int], around: "networkx.MultiGraph[str]") -> bool:
    near = [hosts[other] for other in around[guid]]
    return bool(near) and median(near) > _FEW_HOSTS * hosts[guid]


def level_name(level: int | None) -> str:
    """Return the word of a level: `leaf`, `spine`, `core`, `level 4`."""
    if level is None:
        return "no level"
    return _WORDS[level] if level < len(_WORDS) else f"level {level}"


class DeviceKind(NamedTuple):
    """What devices have in common that are built alike: level, ports, vendor and device number."""

    level: int
    ports: int
    model: str


class LinkKind(NamedTuple):
    """The kinds of both ends, the lower level first: links of one kind train alike."""

    low: DeviceKind
    high: DeviceKind

    def __str__(self) -> str:
        """Write it for people: `leaf-spine`."""
        return f"{level_name(self.low.level)}-{level_name(self.high.level)}"


def device_kind(topology: "Topology", guid: str) -> DeviceKind:
    """Return the kind of a device; one without a level has -1."""
    device, level = topology.devices[guid], topology.level(guid)
    return DeviceKind(-1 if level is None else level, device.ports, device.model)


def kind_of(topology: "Topology", link: "Link") -> LinkKind:
    """Return the kind of a link."""
    low, high = sorted(device_kind(topology, end.guid) for end in link.ends)
    return LinkKind(low, high)
