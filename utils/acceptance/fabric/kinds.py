"""Kinds of what is seen of a fabric, as observations that a case stores: stable words.

How bad each is, and what to do about it, is in `core/kinds.py`. A place names both ends of a
link by name and port, and the node at one end.
"""

from msgspec.structs import replace

from acceptance.core.findings import Finding
from acceptance.core.kinds import OF_CABLES, OF_FABRICS, Kind
from acceptance.fabric.topology import Link, Topology

#: The name of the benchmark that looks at the whole fabric; the link check has another one.
BENCHMARK = "fabric.view"

#: A link runs narrower, slower, or is not in service.
WIDTH, SPEED, STATE = "fabric-width", "fabric-speed", "fabric-state"
#: What is not as it was accepted.
LOST, NEW, SWAPPED, MOVED = "fabric-lost", "fabric-new", "fabric-swapped", "fabric-moved"
REPLACED, SWITCH = "fabric-replaced", "fabric-switch"
#: Errors that rise, leaves with fewer uplinks than their siblings, adapters at another rail's leaf.
ERRORS, UPLINKS, RAIL = "fabric-errors", "fabric-uplinks", "fabric-rail"
#: Nobody looked, though somebody should have.
NOT_LOOKED = "fabric-not-looked"
#: What fails nothing: better than accepted, another name of an adapter, the link of a node that is
#: not up, a switch all of whose links are slower, counters that stand, or were reset.
FASTER, RENAMED, AWAY = "fabric-faster", "fabric-renamed", "fabric-away"
OLDER, STANDING, RESET = "fabric-older", "fabric-standing", "fabric-reset"
#: Of cables between the same two switches: one that carries nothing, and traffic that moved.
UNUSED, SHIFTED = "fabric-unused", "fabric-shifted"
#: What cannot be told: nothing accepted, no earlier reading, hosts without facts; what all depends
#: on; and how much a congested link waited.
NOT_JUDGED, SINGLE, CONGESTION = "fabric-not-judged", "fabric-structure", "fabric-congestion"

#: Of Ethernet, by its node: a cable at another port, at that of another node, gone, or new.
OTHER_PORT, SWAPPED_PORT = "cable-moved", "cable-swapped"
NO_NEIGHBOUR, NEW_PORT = "cable-lost", "cable-new"

FAILING = frozenset(
    (
        *(WIDTH, SPEED, STATE, LOST, NEW, SWAPPED, MOVED, REPLACED, SWITCH, ERRORS, UPLINKS, RAIL),
        NOT_LOOKED,
    )
)


Nodes = tuple[str, ...]


def kind_of(seen: Finding) -> Kind | None:
    """Return what is known of what was seen; None: it is of no fabric."""
    return OF_FABRICS.get(seen.kind) or OF_CABLES.get(seen.kind)


def said(seen: Finding) -> str:
    """Return what was seen without the place: `width 1x, expected 4x`."""
    expected = f", expected {seen.expected}" if seen.expected else ""
    return " ".join(filter(None, (seen.what, seen.found))) + expected


def observation(
    kind: str, place: str, found: str, expected: str = "", what: str = "", nodes: Nodes = ()
) -> Finding:
    """Return what was seen at a place: a link by both of its ends, a switch, or a port."""
    fails = kind in FAILING or kind in OF_CABLES
    seen = Finding(kind, "", fails, nodes, place, what, found, expected)
    return replace(seen, text=f"{place}: {said(seen)}")


def of_link(
    topology: Topology, link: Link, kind: str, found: str, expected: str, what: str = ""
) -> Finding:
    """Return what was seen of a link, with the nodes at its ends."""
    place, nodes = topology.link_text(link), topology.nodes(end.guid for end in link.ends)
    return observation(kind, place, found, expected, what, nodes)
