"""The accepted fabric: `reference/sites/<system>.fabric`, JSON that fits git; of Ethernet `.lldp`.

That of a simulated system is in `reference/simulated/`. `reference/README.md` says what each key
means, and has an example.

The cables of Ethernet are in `<system>.lldp`; there a cable is a node and its interface, a switch
and its port::

    {"accepted": {"2026-11-22T18:00:00+00:00": "all is well"},
     "fabric": {"node0001": {"eth1": ["leaf01", "swp7"]}}}

Between two readings `var/fabric/` keeps counters, and since when they stand. `<name>.json`: when
counters were read last (s since the epoch), those above 0 by port, of each deviation since when it
has been seen (ISO 8601), what each of several cables between two switches sent, and the fabric
itself, which `acceptance fabric accept` takes over, with the time of its reading.
`nodes/<node>.json`: the GUIDs of a node's adapters and the other ends of its cables of Ethernet, as
the link check found them.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Annotated, Generic, TypeVar
from urllib.parse import quote, unquote

import msgspec
from msgspec import Meta, Struct

from acceptance.core import state_files
from acceptance.core.errors import Fault, ParseError
from acceptance.core.paths import INSTALLED, ROOT
from acceptance.core.text import one_line
from acceptance.core.words import is_simulated
from acceptance.fabric.counters import HIGHEST
from acceptance.fabric.node import NodeLinks
from acceptance.fabric.outputs import Counters
from acceptance.fabric.topology import Device, End, Link, Topology

_Guid = Annotated[str, Meta(pattern=r"^0x[0-9a-f]{16}$")]
_Name = Annotated[str, Meta(pattern=r"^\S")]
_Ends = Annotated[str, Meta(pattern=r"^0x[0-9a-f]{16}\[\d+\] 0x[0-9a-f]{16}\[\d+\]$")]
_Trained = Annotated[str, Meta(pattern=r"^(\d+x|\?\?) \S+( # .*)?$")]
_END = re.compile(r"(\w+)\[(\d+)\]")
_T = TypeVar("_T")


class Kept(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What is stored of a fabric, which says nothing of a time.

    Switches and hosts are names by GUID, nodes have the GUIDs of their adapters. A link is that of
    the ports at both ends, with width and speed; what follows `#` is for people. Raises ValueError
    for a GUID of no device, and a port with two links.
    """

    switches: dict[_Guid, _Name]
    hosts: dict[_Guid, _Name]
    nodes: dict[_Name, tuple[_Guid, ...]]
    links: dict[_Ends, _Trained]

    def __post_init__(self) -> None:
        """Check it as a whole."""
        ends = [end for link in self.links for end in link.split()]
        guids = [guid for adapters in self.nodes.values() for guid in adapters]
        for guid in (*guids, *(end.partition("[")[0] for end in ends)):
            if guid not in self.switches and guid not in self.hosts:
                raise ValueError(f"{guid} is no switch and no host")
        if len({*ends}) < len(ends):
            raise ValueError(f"{next(e for e in ends if ends.count(e) > 1)} has two links")
        if not (self.switches or self.hosts):
            raise ValueError("there is no device")

    @classmethod
    def of(cls, topology: Topology) -> "Kept":
        """Return what is stored of a fabric, sorted, so that a change is one of few lines."""
        devices = {
            guid: (device.kind == "switch", one_line(device.name) or "?")
            for guid, device in sorted(topology.devices.items())
        }
        links = {}
        for link in sorted(topology.links, key=lambda link: link.ends):
            trained = f"{link.width} {link.speed} # {one_line(topology.link_text(link))}"
            links[" ".join(map(str, link.ends))] = trained
        return cls(
            {guid: name for guid, (switch, name) in devices.items() if switch},
            {guid: name for guid, (switch, name) in devices.items() if not switch},
            {node: tuple(sorted(guids)) for node, guids in sorted(topology.hosts.items())},
            links,
        )

    @cached_property
    def topology(self) -> Topology:
        """Return the fabric."""
        devices = {guid: Device(guid, "switch", name, 0, 0) for guid, name in self.switches.items()}
        devices |= {guid: Device(guid, "host", name, 0, 0) for guid, name in self.hosts.items()}
        links = []
        for ends, trained in self.links.items():
            one, other = sorted(End(guid, int(port)) for guid, port in _END.findall(ends))
            width, speed = trained.split()[:2]
            links.append(Link((one, other), width, speed, "Active"))
        return Topology(devices, tuple(links), self.nodes)


class Accepted(Struct, Generic[_T], frozen=True, forbid_unknown_fields=True):
    """A fabric as it was accepted; `accepted` says when and why, the oldest first."""

    accepted: Annotated[dict[datetime, str], Meta(min_length=1)]
    fabric: _T

    @property
    def text_of_history(self) -> str:
        """Say when it was accepted last, and why."""
        time, reason = [*self.accepted.items()][-1]
        return f"accepted {time:%Y-%m-%d} ({reason})"


AcceptedFabric = Accepted[Kept]


def path_of(reference: Path, name: str, suffix: str = ".fabric") -> Path:
    """Return the file of a fabric's accepted state: that of a model is in `simulated/`."""
    return reference / ("simulated" if is_simulated(name) else "sites") / f"{name}{suffix}"


def checksum(fabric: Kept) -> str:
    """Return the SHA-256 of a fabric."""
    return hashlib.sha256(msgspec.json.encode(fabric, order="sorted")).hexdigest()


def read(path: Path, kind: type[Accepted[_T]]) -> Accepted[_T] | None:
    """Read the accepted state of a fabric; None where there is none yet.

    Raises ParseError for anything else than such a file.
    """
    try:
        found: Accepted[_T] | None = state_files.read(path, kind)
    except (ValueError, state_files.StoredFault) as err:
        raise ParseError(str(path), f"no file of a fabric: {err}") from None
    return found


def take_over(
    path: Path, kind: type[Accepted[_T]], fabric: _T, time: str, reason: str
) -> Accepted[_T] | None:
    """Accept a fabric in place of what was accepted before, which is returned.

    Nothing is written where it is the same. Raises Fault where a file of before is malformed, or
    nothing may be written there.
    """
    if INSTALLED and path.is_relative_to(ROOT):
        raise Fault(
            "nothing is written into an installed copy; copy its references to a folder of your "
            "own, and name that in ACCEPTANCE_REFERENCE",
            where=str(path),
        )
    old = read(path, kind)
    if old is None or old.fabric != fabric:
        history = {**(old.accepted if old else {}), datetime.fromisoformat(time): one_line(reason)}
        state_files.write(path, Accepted(history, fabric))
    return old


#: How long packets waited for room, in ticks: congestion, no error.
WAITED = "PortXmitWait"
#: The counters that are kept for the next reading.
COUNTERS = (*HIGHEST, WAITED)
#: The counters of each port, which is a text; one that is missing is 0.
KeptCounters = dict[str, dict[str, int]]
#: Both ends of a cable -> what each had sent, and the growth of both.
KeptTraffic = dict[str, tuple[int, int, int | None]]
#: Interface of Ethernet -> name and port of the switch at the other end of its cable.
Cables = dict[str, tuple[str, str]]


#: What the name of their file ends with.
SUFFIX = ".lldp"
#: Cables as they were accepted: of each node interface -> its cable.
AcceptedCables = Accepted[dict[str, Cables]]


def kept_of(counters: Counters) -> KeptCounters:
    """Return what is kept of counters: those that are judged, above 0."""
    judged = (
        (end, {name: values[name] for name in COUNTERS if values.get(name)})
        for end, values in sorted(counters.items())
    )
    return {str(end): values for end, values in judged if values}


_FOLDER, _NODES = "fabric", "nodes"
#: Seconds to wait for another process that reads the same fabric.
_PATIENCE = 60.0


class State(Struct, forbid_unknown_fields=True):
    """The last reading: `time` is that of its counters, `read` that of its fabric.

    Both are s since the epoch, 0 where there was none; then `counters` and `fabric` are None.
    `traffic` has of each cable beside others what both of its ends had sent, and how much more that
    was than at the reading before, None where that is not known; in words of 4 bytes.
    """

    time: float
    counters: KeptCounters | None
    since: dict[str, str] = {}
    fabric: Kept | None = None
    traffic: KeptTraffic = {}
    read: float = 0.0

    def hours(self, now: float) -> float:
        """Return how long ago counters were read; a clock that was set back counts as nothing."""
        return max(0.0, now - self.time) / 3600


def state_path(var: Path, name: str) -> Path:
    """Return the file with the last reading of a fabric."""
    return var / _FOLDER / f"{name}.json"


def state_locked(var: Path, name: str) -> AbstractContextManager[None]:
    """Let no other process read the same fabric meanwhile; raises StoredFault."""
    return state_files.locked(var / _FOLDER / f"{name}.lock", _PATIENCE)


def read_state(path: Path) -> State:
    """Return what is kept; raises Fault for a file that is no such state."""
    try:
        return state_files.read(path, State) or State(0.0, None)
    except ValueError as err:
        remedy = "take it away: the next reading is a first one then"
        raise Fault(f"no state of a fabric ({err}); {remedy}", where=str(path)) from None


def stamp(time: float) -> str:
    """Return s since the epoch as ISO 8601."""
    return datetime.fromtimestamp(time, timezone.utc).isoformat(timespec="seconds")


class _Node(Struct, forbid_unknown_fields=True):
    """What is kept of a node: adapter -> GUID, and where its cables lead; None: nobody told."""

    guids: dict[str, str]
    cables: Cables | None = None


def remember_node(var: Path, node: NodeLinks) -> None:
    """Keep the GUIDs of a node's InfiniBand adapters, which join it with the fabric, and cables.

    What a reading does not tell stays as it was. Raises StoredFault.
    """
    # A node is called whatever it calls itself, a path, say.
    path, before = var / _FOLDER / _NODES / f"{quote(node.name, safe='')}.json", _Node({})
    with suppress(ValueError):
        before = state_files.read(path, _Node) or before
    guids = {name: guid for name, guid in node.guids.items() if guid}
    cables = before.cables
    if node.neighbours is not None:
        cables = {interface: first for interface, (first, *_) in node.neighbours.items()}
    if (kept := _Node(guids or before.guids, cables)) != before:
        state_files.write(path, kept)


def _kept_nodes(var: Path) -> Iterator[tuple[str, _Node]]:
    for path in sorted((var / _FOLDER / _NODES).glob("*.json")):
        try:
            yield unquote(path.stem), state_files.read(path, _Node)
        except ValueError as err:
            text = f"no GUIDs and cables of a node ({err}); take it away"
            raise Fault(text, where=str(path)) from None


def known_nodes(var: Path) -> dict[str, dict[str, str]]:
    """Return the nodes whose GUIDs are kept, of each adapter -> GUID; raises Fault."""
    return {name: kept.guids for name, kept in _kept_nodes(var) if kept.guids}


def known_cables(var: Path) -> dict[str, Cables]:
    """Return node -> its cables of Ethernet as they were seen last; raises Fault."""
    return {name: kept.cables for name, kept in _kept_nodes(var) if kept.cables}
