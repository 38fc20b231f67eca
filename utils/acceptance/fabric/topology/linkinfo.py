"""What `iblinkinfo --line` prints: a line a port, with the state that its link is in.

Example (infiniband-diags): GUID of the port (of a switch that of port 0), name, LID, port, width,
Gb/s of a lane, logical and physical state, and the other end; a port without a link has none::

    0x248a070300a00003 "  leaf04"  29  5[  ] ==( 4X  53.125 Gbps Active/  LinkUp)==>  0x248a070300a00004  31  4[  ] "spine01" (Could be 12X )
    0x248a070300a00003 "  leaf04"  29  6[  ] ==(                Down/ Polling)==>             [  ] "" ( )

`Could be` is no sign of a fault: a healthy link of 4 lanes at a port of 12 has it.
"""  # noqa: E501

import re
from dataclasses import dataclass

from acceptance.core.errors import ParseError
from acceptance.fabric import rates
from acceptance.fabric.topology.lines import lines_of

_LINE = re.compile(
    r'(?P<guid>0x[0-9a-f]{16}) "(?P<name>.*?)" +(?P<lid>\d+) +(?P<port>\d+)\[[ \d]{2}\] '
    r"==\((?P<inner>[^()]*(?:\([^()]*\)[^()]*)*)\)==>  (?P<rest>.*)\Z"
)
_INNER = re.compile(
    r" *(?:(?P<width>\d+X|undefined \(\d+\)) +(?P<speed>\S.*?) +)?"
    r"(?P<state>[A-Z]\w*|\?\(\d+\))/ *(?P<physical>[A-Z]\w*|\?\(\d+\))(?: \(HOQ.*\))?\Z"
)
#: Gb/s on the wire of a lane -> its word; FDR10 is printed at its nominal speed.
_SPEEDS = {
    **{
        f"{float(lane.speed):g}": name
        for name, lane in rates.INFINIBAND.items()
        if name != "HDR100"
    },
    "10": "QDR",
}


@dataclass(frozen=True)
class PortState:
    """A port: the GUID that the line begins with, its number, and its logical and physical state.

    `speed` is a word such as HDR, or what stands there; empty, as is `width`, where it is down.
    """

    guid: str
    port: int
    lid: int
    width: str
    speed: str
    state: str
    physical: str


def parse(text: str, source: str = "iblinkinfo") -> list[PortState]:
    """Return the ports in the order of their lines.

    Raises ParseError, with the line, for a line of a form that is not known.
    """
    ports = []
    for number, line in lines_of(text, source):
        match = _LINE.match(line)
        inner = _INNER.match(match["inner"]) if match else None
        if not match or not inner:
            raise ParseError(
                source, "the line has a form that is not known", number=number, line=line
            )
        ports.append(
            PortState(
                match["guid"],
                int(match["port"]),
                int(match["lid"]),
                (inner["width"] or "").lower(),
                speed_word(inner["speed"] or ""),
                inner["state"],
                inner["physical"],
            )
        )
    return ports


def speed_word(text: str) -> str:
    """Return the word of a lane's speed: `53.125 Gbps` -> HDR; unknown ones stay as they are."""
    if text == "10.0 Gbps (FDR10)":
        return "FDR10"
    number, _, unit = text.partition(" ")
    try:
        return _SPEEDS.get(f"{float(number):g}", text) if unit == "Gbps" else text
    except ValueError:
        return text
