"""The accepted fabric: `reference/sites/<system>.fabric`, JSON that fits git; of Ethernet `.lldp`.

That of a simulated system is in `reference/simulated/`. `reference/README.md` says what each key
means, and has an example.

Leaves with fewer uplinks than their siblings, and what hangs on one cable, are found here, too.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from acceptance.core import state_files
from acceptance.core.errors import Fault, ParseError
from acceptance.core.findings import Finding
from acceptance.core.paths import INSTALLED, ROOT
from acceptance.core.text import one_line, plural
from acceptance.core.words import is_simulated
from acceptance.fabric.topology import Device, End, Link, Topology, parts, structure, summary
from acceptance.fabric.view import kinds

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


def uplinks(
    topology: Topology, accepted: AcceptedFabric | None, changed: Iterable[Finding]
) -> list[Finding]:
    """Return the leaves with fewer uplinks than their siblings, unless it is known why.

    Known are leaves that were accepted so, and those at which a change was found: `changed`.
    """
    leaves = structure(accepted.fabric.topology).leaves if accepted else ()
    then = {leaf.guid: leaf for leaf in leaves}
    places = " ".join(each.device for each in changed if each.fails)
    found = []
    for leaf in structure(topology).fewer:
        name = topology.device_name(leaf.guid)
        before = then.get(leaf.guid)
        if f"{name}[" in places or (before and before.uplinks == leaf.uplinks):
            continue
        expected = f"{leaf.siblings}, as most leaves of its kind have"
        found.append(
            kinds.observation(kinds.UPLINKS, name, plural(leaf.uplinks, "uplink"), expected)
        )
    return found


def single_points(topology: Topology) -> list[Finding]:
    """Return what a person should know of the build: what hangs on one switch, or one cable."""
    notes = structure(topology).notes(topology)
    return [kinds.observation(kinds.SINGLE, "structure", what=f"{number}", found=text)
            for number, text in enumerate(notes, 1)]  # fmt: skip


def structure_text(topology: Topology) -> list[str]:
    """Return what each of the fabrics can carry, as far as it is defined."""
    return [text for fabric in parts(topology) for text in summary.carries(fabric)]
