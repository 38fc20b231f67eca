"""Cables of Ethernet, as lldpd of each node tells them, compared with those that were accepted.

`reference/sites/<system>.lldp`, JSON in which `accepted` says when and why, the oldest first, and a
cable is a node and its interface, a switch and its port::

    {"accepted": {"2026-11-22T18:00:00+00:00": "all is well"},
     "cables": {"node0001": {"eth1": ["leaf01", "swp7"]}}}
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from acceptance.core import state_files
from acceptance.core.errors import Fault, ParseError
from acceptance.core.findings import Observation
from acceptance.fabric.node import NodeLinks
from acceptance.fabric.view import kinds

_SUFFIX, _FOLDER = ".lldp", "fabric/lldp"
#: (node, interface) -> (switch, port).
Cables = Mapping[tuple[str, str], tuple[str, str]]


def path_of(reference: Path, name: str) -> Path:
    """Return the file of the accepted cables of a system."""
    return reference / "sites" / f"{name}{_SUFFIX}"


def compare(node: NodeLinks, accepted: Cables | None, *, asked: bool) -> list[Observation]:
    """Return which cables of a node are not where they were accepted.

    `asked`: the fabric is one whose cables nobody else tells: what is not known is said, too.
    """
    mine = {key: far for key, far in (accepted or {}).items() if key[0] == node.name}
    if node.neighbours is None:
        told = f"nobody tells where its cables lead: {node.no_neighbours or 'not asked'}"
        return [_seen(kinds.NOT_JUDGED, node.name, node.name, told)] if mine or asked else []
    if accepted is None:
        told = "nothing accepted yet: acceptance fabric accept --reason TEXT"
        return [_seen(kinds.NOT_JUDGED, "cables of Ethernet", "", told)] if asked else []
    owners = {far: key for key, far in accepted.items()}
    there: dict[str, list[tuple[str, str]]] = {}
    for each in node.neighbours:
        there.setdefault(each.interface, []).append((each.switch, each.port))
    found = []
    for key, far in mine.items():
        ends = there.pop(key[1], [])
        if far in ends:
            continue
        place, expected = _text(key, far), "the port at which it was accepted"
        if not ends:
            found.append(_seen(kinds.NO_NEIGHBOUR, place, key[0], "nothing answers", expected))
            continue
        owner = owners.get(ends[0])
        taken = f", the port of {' '.join(owner)}" if owner else ""
        kind = kinds.SWAPPED_PORT if owner else kinds.OTHER_PORT
        found.append(_seen(kind, place, key[0], f"at {_end(ends[0])}{taken}", expected))
    found += [
        _seen(kinds.NEW_PORT, _text((node.name, name), ends[0]), node.name, "a cable",
              "none, as accepted")
        for name, ends in sorted(there.items())
    ]  # fmt: skip
    return found


def _seen(kind: str, place: str, node: str, found: str, expected: str = "") -> Observation:
    return kinds.observation(kind, place, found=found, expected=expected, node=node)


def _end(far: tuple[str, str]) -> str:
    return f"{far[0]}[{far[1]}]"


def _text(key: tuple[str, str], far: tuple[str, str]) -> str:
    return f"{key[0]} {key[1]} - {_end(far)}"


def remember(var: Path, node: NodeLinks) -> None:
    """Keep where the cables of a node lead, for who accepts them; raises StoredFault."""
    if node.neighbours is not None:
        cables = {each.interface: [each.switch, each.port] for each in reversed(node.neighbours)}
        state_files.write(var / _FOLDER / f"{node.name}.json", cables)


def known(var: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the cables of all nodes as they were seen last; raises Fault."""
    cables: dict[tuple[str, str], tuple[str, str]] = {}
    for path in sorted((var / _FOLDER).glob("*.json")):
        try:
            ends = state_files.read(path, dict[str, tuple[str, str]])
        except ValueError as err:
            raise Fault(f"no cables of a node ({err}); take it away", where=str(path)) from None
        cables |= {(path.stem, interface): far for interface, far in ends.items()}
    return cables


class _Accepted(Struct, forbid_unknown_fields=True):
    """What is stored: when and why, the oldest first, and of each node interface -> its cable."""

    accepted: dict[datetime, str]
    cables: dict[str, dict[str, tuple[str, str]]]


def take_over(path: Path, cables: Cables, time: str, reason: str) -> bool:
    """Accept cables in place of those before; False where nothing has changed. Raises Fault."""
    before, history = read(path)
    if before == cables:
        return False
    nodes: dict[str, dict[str, tuple[str, str]]] = {}
    for (node, interface), far in sorted(cables.items()):
        nodes.setdefault(node, {})[interface] = far
    entries = {datetime.fromisoformat(when): why for when, why in (*history, (time, reason))}
    state_files.write(path, _Accepted(entries, nodes))
    return True


def read(path: Path) -> tuple[Cables | None, list[tuple[str, str]]]:
    """Return the accepted cables, None where none are yet, and when and why; raises ParseError."""
    try:
        kept: _Accepted | None = state_files.read(path, _Accepted)
    except (ValueError, state_files.StoredFault) as err:
        raise ParseError(str(path), f"no cables as they were accepted: {err}") from None
    if kept is None:
        return None, []
    cables = {(n, name): far for n, ends in kept.cables.items() for name, far in ends.items()}
    return cables, [(when.isoformat(), why) for when, why in kept.accepted.items()]
