"""Codes of findings on the whole fabric: how bad, and what to do about it."""

from acceptance.campaigns.protocol.codes import Code
from acceptance.core.findings import CRITICAL, INFO, MAJOR, MINOR
from acceptance.fabric.view import REMEDIES, kinds

#: Kind of what was seen of a fabric -> its code, and how bad it is.
_CODES = {
    kinds.WIDTH: ("FABRIC-WIDTH", CRITICAL),
    kinds.SPEED: ("FABRIC-SPEED", CRITICAL),
    kinds.STATE: ("FABRIC-STATE", CRITICAL),
    kinds.LOST: ("FABRIC-LOST", CRITICAL),
    kinds.NEW: ("FABRIC-NEW", MINOR),
    kinds.SWAPPED: ("FABRIC-SWAPPED", MAJOR),
    kinds.MOVED: ("FABRIC-MOVED", MAJOR),
    kinds.REPLACED: ("FABRIC-REPLACED", MINOR),
    kinds.SWITCH: ("FABRIC-SWITCH", CRITICAL),
    kinds.ERRORS: ("FABRIC-ERRORS", MAJOR),
    kinds.UPLINKS: ("FABRIC-UPLINKS", MAJOR),
    kinds.NOT_LOOKED: ("FABRIC-NOT-LOOKED", MAJOR),
    kinds.FASTER: ("FABRIC-FASTER", MINOR),
    kinds.RENAMED: ("FABRIC-RENAMED", MINOR),
    kinds.AWAY: ("FABRIC-AWAY", MINOR),
    kinds.OLDER: ("FABRIC-OLDER", MINOR),
    kinds.STANDING: ("FABRIC-STANDING", MINOR),
    kinds.RESET: ("FABRIC-RESET", INFO),
    kinds.NOT_JUDGED: ("FABRIC-NOT-JUDGED", INFO),
    kinds.SINGLE: ("FABRIC-STRUCTURE", INFO),
    kinds.CONGESTION: ("FABRIC-CONGESTION", INFO),
}
#: The same of Ethernet, as the nodes see it.
_ETHERNET = {
    kinds.OTHER_PORT: kinds.MOVED,
    kinds.SWAPPED_PORT: kinds.SWAPPED,
    kinds.NO_NEIGHBOUR: kinds.LOST,
    kinds.NEW_PORT: kinds.NEW,
}
FABRIC_CODES = {code: Code(severity, REMEDIES[kind]) for kind, (code, severity) in _CODES.items()}
OF_FABRIC = {kind: code for kind, (code, _) in _CODES.items()}
OF_FABRIC |= {kind: OF_FABRIC[like] for kind, like in _ETHERNET.items()}
