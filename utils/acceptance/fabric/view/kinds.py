"""Kinds of what is seen of a fabric, as observations that a case stores: stable words.

How bad each is, and what to do about it, is in one table, by its kind. A place names both ends of a
link by name and port, and the node at one end.
"""

from dataclasses import replace

from acceptance.core.findings import CRITICAL, INFO, MAJOR, MINOR, Kind, Observation
from acceptance.fabric.node import CABLE
from acceptance.fabric.topology import Link, Topology

#: The name of the benchmark that looks at the whole fabric; the link check has another one.
BENCHMARK = "fabric.view"

#: A link runs narrower, slower, or is not in service.
WIDTH, SPEED, STATE = "fabric-width", "fabric-speed", "fabric-state"
#: What is not as it was accepted.
LOST, NEW, SWAPPED, MOVED = "fabric-lost", "fabric-new", "fabric-swapped", "fabric-moved"
REPLACED, SWITCH = "fabric-replaced", "fabric-switch"
#: Errors that rise, and leaves with fewer uplinks than their siblings.
ERRORS, UPLINKS = "fabric-errors", "fabric-uplinks"
#: Nobody looked, though somebody should have.
NOT_LOOKED = "fabric-not-looked"
#: What fails nothing: better than accepted, another name of an adapter, the link of a node that is
#: not up, a switch all of whose links are slower, counters that stand, or were reset.
FASTER, RENAMED, AWAY = "fabric-faster", "fabric-renamed", "fabric-away"
OLDER, STANDING, RESET = "fabric-older", "fabric-standing", "fabric-reset"
#: What cannot be told: nothing accepted, no earlier reading, hosts without facts; what all depends
#: on; and how much a congested link waited.
NOT_JUDGED, SINGLE, CONGESTION = "fabric-not-judged", "fabric-structure", "fabric-congestion"

#: Of Ethernet, by its node: a cable at another port, at that of another node, gone, or new.
OTHER_PORT, SWAPPED_PORT = "cable-moved", "cable-swapped"
NO_NEIGHBOUR, NEW_PORT = "cable-lost", "cable-new"
#: What is the same of links that a subnet manager knows.
OF_ETHERNET = {
    OTHER_PORT: MOVED,
    SWAPPED_PORT: SWAPPED,
    NO_NEIGHBOUR: LOST,
    NEW_PORT: NEW,
}

FAILING = frozenset(
    (WIDTH, SPEED, STATE, LOST, NEW, SWAPPED, MOVED, REPLACED, SWITCH, ERRORS, UPLINKS, NOT_LOOKED)
)


def kind_of(seen: Observation) -> Kind | None:
    """Return what is known of what was seen; None: it is of no fabric."""
    return TABLE.get(OF_ETHERNET.get(seen.kind, seen.kind))


def said(seen: Observation) -> str:
    """Return what was seen without the place: `width 1x, expected 4x`."""
    expected = f", expected {seen.expected}" if seen.expected else ""
    return " ".join(filter(None, (seen.what, seen.found))) + expected


def observation(
    kind: str, place: str, found: str, expected: str = "", what: str = "", node: str = ""
) -> Observation:
    """Return what was seen at a place: a link by both of its ends, a switch, or a port."""
    fails = kind in FAILING or kind in OF_ETHERNET
    seen = Observation(kind, "", fails, node, place, what, found, expected)
    return replace(seen, text=f"{place}: {said(seen)}")


def of_link(
    topology: Topology, link: Link, kind: str, found: str, expected: str, what: str = ""
) -> Observation:
    """Return what was seen of a link, with the nodes at its ends."""
    place, nodes = topology.link_text(link), topology.nodes(end.guid for end in link.ends)
    return observation(kind, place, found, expected, what, nodes)


_WANTED = "if it is wanted: acceptance fabric accept --reason TEXT; if not, put it back"

#: Each kind: how bad it is, and what to do about it.
TABLE = {
    WIDTH: Kind(CRITICAL, f"{CABLE}: lanes are missing; see both ends (iblinkinfo, mlxlink)"),
    SPEED: Kind(
        CRITICAL,
        f"{CABLE}; see whether a port is limited (ibportstate), or the cable is of another speed",
    ),
    STATE: Kind(
        CRITICAL,
        "see the log of the subnet manager (sminfo says where it is), why it does not "
        "take the link into service",
    ),
    LOST: Kind(
        CRITICAL, f"see that both ends are plugged in and their devices on; {CABLE}; {_WANTED}"
    ),
    NEW: Kind(MINOR, _WANTED),
    SWAPPED: Kind(MAJOR, f"swap the two cables back; {_WANTED}"),
    MOVED: Kind(MAJOR, f"plug it into its port again; {_WANTED}"),
    REPLACED: Kind(MINOR, _WANTED),
    SWITCH: Kind(CRITICAL, f"see whether it is on and managed, and its uplinks; {_WANTED}"),
    ERRORS: Kind(MAJOR, f"{CABLE} before it fails; see the signal with mlxlink -c"),
    UPLINKS: Kind(
        MAJOR, "see which of its ports should be uplinks (acceptance fabric); plug them in"
    ),
    NOT_LOOKED: Kind(
        MAJOR,
        "install infiniband-diags where it looks, and let its user open "
        "/dev/infiniband/umad*; state who looks: view in the facts of the fabric",
    ),
    FASTER: Kind(MINOR, "acceptance fabric accept --reason TEXT takes it over"),
    RENAMED: Kind(
        MINOR, "see whether an adapter went to another node, or its description is wrong"
    ),
    AWAY: Kind(MINOR, "bring its node up, and look again"),
    OLDER: Kind(MINOR, "see whether this switch is an older one, or all of it is limited"),
    STANDING: Kind(
        MINOR, f"clear it (ibclearerrors), see whether it grows; where it does, {CABLE}"
    ),
    RESET: Kind(INFO, "see who reset the counters, or which devices restarted"),
    NOT_JUDGED: Kind(
        INFO,
        "let it be read again (reframe --mode=maintenance; cables of Ethernet are told by lldpd, "
        "which must run on each node and answer its user), then accept what is right: acceptance "
        "fabric accept --reason TEXT",
    ),
    SINGLE: Kind(INFO, "know of it when one of these fails"),
    CONGESTION: Kind(INFO, "compare with the uplinks beside it: routes may not spread over them"),
}
