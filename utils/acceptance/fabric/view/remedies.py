"""What to do about what is seen of a fabric, by its kind: a sentence for people."""

from acceptance.fabric.view import kinds

_CABLE = "reseat the cable at both ends, then replace it, then try other ports"
_WANTED = "if it is wanted: acceptance fabric accept --reason TEXT; if not, put it back"

REMEDIES = {
    kinds.WIDTH: (f"{_CABLE}: lanes are missing; see both ends (iblinkinfo, mlxlink)"),
    kinds.SPEED: (
        f"{_CABLE}; see whether a port is limited (ibportstate), or the cable is of another speed"
    ),
    kinds.STATE: (
        "see the log of the subnet manager (sminfo says where it is), why it does not "
        "take the link into service"
    ),
    kinds.LOST: (f"see that both ends are plugged in and their devices on; {_CABLE}; {_WANTED}"),
    kinds.NEW: (_WANTED),
    kinds.SWAPPED: (f"swap the two cables back; {_WANTED}"),
    kinds.MOVED: (f"plug it into its port again; {_WANTED}"),
    kinds.REPLACED: (_WANTED),
    kinds.SWITCH: (f"see whether it is on and managed, and its uplinks; {_WANTED}"),
    kinds.ERRORS: (f"{_CABLE} before it fails; see the signal with mlxlink -c"),
    kinds.UPLINKS: ("see which of its ports should be uplinks (acceptance fabric); plug them in"),
    kinds.NOT_LOOKED: (
        "install infiniband-diags where it looks, and let its user open "
        "/dev/infiniband/umad*; state who looks: view in the facts of the fabric"
    ),
    kinds.FASTER: ("acceptance fabric accept --reason TEXT takes it over"),
    kinds.RENAMED: ("see whether an adapter went to another node, or its description is wrong"),
    kinds.AWAY: ("bring its node up, and look again"),
    kinds.OLDER: ("see whether this switch is an older one, or all of it is limited"),
    kinds.STANDING: (f"clear it (ibclearerrors), see whether it grows; where it does, {_CABLE}"),
    kinds.RESET: ("see who reset the counters, or which devices restarted"),
    kinds.NOT_JUDGED: ("look again, and accept the fabric"),
    kinds.SINGLE: ("know of it when one of these fails"),
    kinds.CONGESTION: ("compare with the uplinks beside it: routes may not spread over them"),
}
#: The same of Ethernet, as the nodes see it.
REMEDIES |= {
    kinds.OTHER_PORT: REMEDIES[kinds.MOVED],
    kinds.SWAPPED_PORT: REMEDIES[kinds.SWAPPED],
    kinds.NO_NEIGHBOUR: REMEDIES[kinds.LOST],
    kinds.NEW_PORT: REMEDIES[kinds.NEW],
}
