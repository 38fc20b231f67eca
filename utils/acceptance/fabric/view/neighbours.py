"""Cables of Ethernet, as lldpd of each node tells them, compared with those that were accepted.

`reference/sites/<system>.lldp`, JSON in which `accepted` says when and why, the oldest first, and a
cable is a node and its interface, a switch and its port::

    {"accepted": {"2026-11-22T18:00:00+00:00": "all is well"},
     "fabric": {"node0001": {"eth1": ["leaf01", "swp7"]}}}
"""

from acceptance.core.findings import Finding
from acceptance.fabric.node import NodeLinks
from acceptance.fabric.view import kinds
from acceptance.fabric.view.accepted import Accepted
from acceptance.fabric.view.errors import Cables
from acceptance.fabric.view.kinds import observation

#: What the name of their file ends with.
SUFFIX = ".lldp"
#: Cables as they were accepted: of each node interface -> its cable.
AcceptedCables = Accepted[dict[str, Cables]]


def compare(node: NodeLinks, known: AcceptedCables | None, *, asked: bool) -> list[Finding]:
    """Return which cables of a node are not where they were accepted.

    `asked`: the fabric is one whose cables nobody else tells: what is not known is said, too.
    """
    mine = known.fabric.get(node.name, {}) if known else {}
    if node.neighbours is None:
        told = f"nobody tells where its cables lead: {node.no_neighbours or 'not asked'}"
        return [observation(kinds.NOT_JUDGED, node.name, told, nodes=(node.name,))] * bool(
            mine or asked
        )
    if known is None:
        told = "nothing accepted yet: acceptance fabric accept --reason TEXT"
        return [observation(kinds.NOT_JUDGED, "cables of Ethernet", told)] * asked
    owners = {
        far: f"{name} {interface}"
        for name, ends in known.fabric.items()
        for interface, far in ends.items()
    }
    there, found = dict(node.neighbours), []
    for interface, far in mine.items():
        ends = there.pop(interface, [])
        if far in ends:
            continue
        kind, text = kinds.NO_NEIGHBOUR, "nothing answers"
        if ends:
            owner = owners.get(ends[0])
            kind = kinds.SWAPPED_PORT if owner else kinds.OTHER_PORT
            text = f"at {_end(ends[0])}" + (f", the port of {owner}" if owner else "")
        place = f"{node.name} {interface} - {_end(far)}"
        expected = "the port at which it was accepted"
        found.append(observation(kind, place, text, expected, nodes=(node.name,)))
    for interface, ends in sorted(there.items()):
        place = f"{node.name} {interface} - {_end(ends[0])}"
        new = observation(kinds.NEW_PORT, place, "a cable", "none, as accepted", nodes=(node.name,))
        found.append(new)
    return found


def _end(far: tuple[str, str]) -> str:
    return f"{far[0]}[{far[1]}]"
