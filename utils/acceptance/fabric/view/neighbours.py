"""Cables of Ethernet, as lldpd of each node tells them, compared with those that were accepted.

`reference/sites/<system>.lldp`, sorted text; `accepted` says when and why, the oldest first::

    lldp 1
    accepted 2026-11-22T18:00:00+00:00 all is well
    cable node0001 eth1 leaf01 swp7

A cable is a node and its interface, a switch and its port; a blank in a name is written %20.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, unquote

from acceptance.core import state_files
from acceptance.core.errors import Fault, ParseError
from acceptance.core.findings import Observation
from acceptance.core.text import one_line
from acceptance.fabric.node import NodeLinks
from acceptance.fabric.view import kinds

_VERSION, _SUFFIX, _FOLDER = "lldp 1", ".lldp", "fabric/lldp"
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


def take_over(path: Path, cables: Cables, time: str, reason: str) -> bool:
    """Accept cables in place of those before; False where nothing has changed. Raises Fault."""
    before, history = read(path)
    if before == cables:
        return False
    lines = [
        " ".join(quote(word, safe="/:.,-_") for word in ("cable", *key, *far))
        for key, far in cables.items()
    ]
    entries = [f"accepted {when} {why}" for when, why in (*history, (time, one_line(reason)))]
    state_files.write_text(path, "\n".join([_VERSION, *entries, *sorted(lines)]) + "\n")
    return True


def read(path: Path) -> tuple[Cables | None, list[tuple[str, str]]]:
    """Return the accepted cables, None where none are yet, and when and why; raises ParseError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None, []
    except (OSError, UnicodeDecodeError) as err:
        raise ParseError(str(path), f"cannot be read: {err}") from None
    cables: dict[tuple[str, str], tuple[str, str]] = {}
    history = []
    if lines[:1] != [_VERSION]:
        raise ParseError(str(path), f"the first line has to be {_VERSION!r}", number=1)
    for number, line in enumerate(lines[1:], 2):
        try:
            kind, _, rest = line.partition(" ")
            if kind == "accepted":
                when, _, why = rest.partition(" ")
                datetime.fromisoformat(when)
                history.append((when, why))
                continue
            words = tuple(map(unquote, rest.split(" ")))
            if kind != "cable" or len(words) != 4 or not all(words):
                raise ValueError("no line `cable NODE INTERFACE SWITCH PORT`")
            node, interface, switch, port = words
            if (node, interface) in cables:
                raise ValueError(f"{node} {interface} stands twice")
            cables[node, interface] = switch, port
        except ValueError as err:
            raise ParseError(str(path), str(err), number=number, line=line) from None
    return cables, history
