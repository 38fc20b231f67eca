"""The accepted fabric: `reference/sites/<system>.fabric`, sorted text that fits git.

That of a simulated system is in `reference/simulated/`.

    fabric 1
    accepted 2026-11-22T18:00:00+00:00 acceptance accept-2026-11-22
    switch 0x248a070300a00000 leaf01
    link 0x248a070300a00000[1] 0x98039b0300500000[1] 4x HDR # node0001[1] - leaf01[1]

`reference/README.md` says what each line means.

The build of a fabric: leaves with fewer uplinks than their siblings, and what hangs on one.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from acceptance.core.errors import Fault, ParseError
from acceptance.core.findings import Observation
from acceptance.core.paths import INSTALLED, ROOT
from acceptance.core.state_files import write_text
from acceptance.core.text import one_line, plural
from acceptance.core.words import is_simulated
from acceptance.fabric.topology import Device, End, Leaf, Link, Topology, parts, structure, summary
from acceptance.fabric.view import kinds
from acceptance.fabric.view.changes import changes
from acceptance.fabric.view.kinds import Places

_VERSION = "fabric 1"
_SUFFIX = ".fabric"
_GUID = r"0x[0-9a-f]{16}"
_LINE = {
    "accepted": re.compile(r"(?P<time>\S+) (?P<reason>\S.*)"),
    "switch": re.compile(rf"(?P<guid>{_GUID}) (?P<name>\S.*)"),
    "host": re.compile(rf"(?P<guid>{_GUID}) (?P<name>\S.*)"),
    "node": re.compile(rf"(?P<name>\S+)(?P<guids>( {_GUID})+)"),
    "link": re.compile(
        rf"(?P<a>{_GUID})\[(?P<pa>\d+)\] (?P<b>{_GUID})\[(?P<pb>\d+)\] (?P<width>\d+x) "
        r"(?P<speed>\S+)( # .*)?"
    ),
}


@dataclass(frozen=True)
class Accepted:
    """A fabric as it was accepted; `history` has time and reason of each time, the oldest first."""

    topology: Topology
    history: tuple[tuple[str, str], ...] = ()

    @property
    def text_of_history(self) -> str:
        """Say when it was accepted last, and why."""
        time, reason = self.history[-1]
        return f"accepted {time[:10]} ({reason})"


def path_of(reference: Path, name: str) -> Path:
    """Return the file of a fabric's accepted state: that of a model is in `simulated/`."""
    return reference / ("simulated" if is_simulated(name) else "sites") / f"{name}{_SUFFIX}"


def body(topology: Topology) -> str:
    """Return the lines of devices, nodes and links, which say nothing of a time."""
    places = Places(topology)
    lines = [
        f"{device.kind} {guid} {one_line(device.name) or '?'}"
        for guid, device in topology.devices.items()
    ]
    lines += [f"node {name} {' '.join(sorted(guids))}" for name, guids in topology.hosts.items()]
    lines += [
        f"link {link.ends[0].guid}[{link.ends[0].port}] {link.ends[1].guid}[{link.ends[1].port}] "
        f"{link.width} {link.speed} # {one_line(places.link(link.ends))}"
        for link in topology.links
    ]
    order = [*_LINE]
    lines.sort(key=lambda line: (order.index(line.partition(" ")[0]), line))
    return "".join(f"{line}\n" for line in lines)


def checksum(text: str) -> str:
    """Return the SHA-256 of the lines of a fabric."""
    return hashlib.sha256(text.encode()).hexdigest()


def write(path: Path, lines: str, history: Iterable[tuple[str, str]]) -> None:
    """Write the lines of a fabric as accepted; raises StoredFault."""
    accepted = "".join(f"accepted {time} {one_line(reason)}\n" for time, reason in history)
    write_text(path, f"{_VERSION}\n{accepted}{lines}")


def read(path: Path) -> Accepted | None:
    """Read the accepted state of a fabric; None where there is none yet.

    Raises ParseError with the line for anything else than such a file, Fault for what cannot be
    read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as err:
        raise Fault(f"cannot be read: {err}", where=str(path)) from None
    return parse(text, str(path))


def parse(text: str, source: str) -> Accepted:
    """Read the text of an accepted fabric; raises ParseError with the line."""
    reader = _Reader()
    lines = text.splitlines()
    if lines[:1] != [_VERSION]:
        raise ParseError(source, f"the first line has to be {_VERSION!r}", number=1)
    for number, line in enumerate(lines[1:], 2):
        try:
            reader.read(line)
        except ValueError as err:
            raise ParseError(source, str(err), number=number, line=line) from None
    if not text.endswith("\n"):
        raise ParseError(source, "ends in the middle of a line", number=len(lines))
    if not (reader.history and reader.devices):
        raise ParseError(source, "no line says when it was accepted, or there is no device")
    topology = Topology(reader.devices, tuple(reader.links), reader.nodes)
    return Accepted(topology, tuple(reader.history))


def topology_of(lines: str, source: str) -> Topology:
    """Return the fabric of lines that `body` made; raises ParseError."""
    return parse(f"{_VERSION}\naccepted 1970-01-01 as it was read\n{lines}", source).topology


@dataclass
class _Reader:
    history: list[tuple[str, str]] = field(default_factory=list)
    devices: dict[str, Device] = field(default_factory=dict)
    nodes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    used: set[End] = field(default_factory=set)

    def read(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        match = _LINE[kind].fullmatch(rest) if kind in _LINE else None
        if match is None:
            raise ValueError(f"no line of a fabric; these begin with {', '.join(_LINE)}")
        if kind == "accepted":
            datetime.fromisoformat(match["time"])
            self.history.append((match["time"], match["reason"]))
        elif kind == "node":
            self._once(self.nodes, match["name"])
            self.nodes[match["name"]] = tuple(map(self._known, match["guids"].split()))
        elif kind == "link":
            self._link(match)
        else:
            self._once(self.devices, match["guid"])
            self.devices[match["guid"]] = Device(
                match["guid"], "switch" if kind == "switch" else "host", match["name"], 0, 0
            )

    def _once(self, there: Iterable[str], name: str) -> None:
        if name in there:
            raise ValueError(f"{name} stands twice")

    def _known(self, guid: str) -> str:
        if guid not in self.devices:
            raise ValueError(f"{guid} has no line `switch` or `host` before this one")
        return guid

    def _link(self, match: re.Match[str]) -> None:
        ends = [End(self._known(match[g]), int(match[p])) for g, p in (("a", "pa"), ("b", "pb"))]
        for end in ends:
            if end in self.used:
                raise ValueError(f"{end.guid}[{end.port}] has two links")
            self.used.add(end)
        first, second = sorted(ends)
        self.links.append(Link((first, second), match["width"], match["speed"], "Active"))


def take_over(path: Path, lines: str, time: str, reason: str) -> list[Observation]:
    """Accept a fabric, by its lines, in place of what was accepted before; return the changes.

    Raises Fault where a file of before is malformed, or nothing may be written there.
    """
    if INSTALLED and path.is_relative_to(ROOT):
        raise Fault(
            "nothing is written into an installed copy; copy its references to a folder of your "
            "own, and name that in ACCEPTANCE_REFERENCE",
            where=str(path),
        )
    entry = f"accepted {time} {one_line(reason)}\n"
    new = parse(f"{_VERSION}\n{entry}{lines}", f"what was read of {path.stem}")
    old = read(path)
    write(path, lines, (*(old.history if old else ()), *new.history))
    return changes(old.topology, new.topology) if old else []


def uplinks(
    topology: Topology, accepted: Accepted | None, changed: Iterable[Observation]
) -> list[Observation]:
    """Return the leaves with fewer uplinks than their siblings, unless it is known why.

    Known are leaves that were accepted so, and those at which a change was found: `changed`.
    """
    then = {leaf.guid: leaf for leaf in structure(accepted.topology).leaves} if accepted else {}
    places = " ".join(each.device for each in changed if each.fails)
    found = []
    for leaf in structure(topology).fewer:
        name = topology.device_name(leaf.guid)
        if f"{name}[" in places or _is_same(leaf, then.get(leaf.guid)):
            continue
        found.append(
            kinds.observation(
                kinds.UPLINKS, name, found=plural(leaf.uplinks, "uplink"),
                expected=f"{leaf.siblings}, as most leaves of its kind have",
            )
        )  # fmt: skip
    return found


def _is_same(leaf: Leaf, then: Leaf | None) -> bool:
    return then is not None and then.uplinks == leaf.uplinks


def single_points(topology: Topology) -> list[Observation]:
    """Return what a person should know of the build: what hangs on one switch, or one cable."""
    notes = structure(topology).notes(topology)
    return [kinds.observation(kinds.SINGLE, "structure", what=f"{number}", found=text)
            for number, text in enumerate(notes, 1)]  # fmt: skip


def structure_text(topology: Topology) -> list[str]:
    """Return what each of the fabrics can carry, as far as it is defined."""
    return [text for fabric in parts(topology) for text in summary.carries(fabric)]
