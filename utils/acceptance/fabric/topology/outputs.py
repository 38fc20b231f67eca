"""The lines of an output, none of which may be half.

What `ibnetdiscover` prints: each device with its ports that are linked, once from each end.

Example (infiniband-diags; `\t` is a tabulator)::

    switchguid=0x248a070300a00003(248a070300a00003)
    Switch\t6 "S-248a070300a00003"\t\t# "leaf04" enhanced port 0 lid 29 lmc 0
    [1]\t"H-98039b030050000c"[1](98039b030050000d) \t\t# "node0013 mlx5_0" lid 41 4xHDR
    [5]\t"S-248a070300a00004"[4]\t\t# "spine01" lid 31 4xHDR

    caguid=0x98039b030050000c
    Ca\t1 "H-98039b030050000c"\t\t# "node0013 mlx5_0"
    [1](98039b030050000d) \t"S-248a070300a00003"[1]\t\t# lid 41 lmc 0 "leaf04" lid 29 4xHDR

The GUID in quotes is that of the node, those in brackets are those of ports. A name may hold
anything, quotes too; what follows it is read from the end of the line.

What `iblinkinfo --line` prints: a line a port, with the state that its link is in.

Example (infiniband-diags): GUID of the port (of a switch that of port 0), name, LID, port, width,
Gb/s of a lane, logical and physical state, and the other end; a port without a link has none::

    0x248a070300a00003 "  leaf04"  29  5[  ] ==( 4X  53.125 Gbps Active/  LinkUp)==>  0x248a070300a00004  31  4[  ] "spine01" (Could be 12X )
    0x248a070300a00003 "  leaf04"  29  6[  ] ==(                Down/ Polling)==>             [  ] "" ( )

`Could be` is no sign of a fault: a healthy link of 4 lanes at a port of 12 has it.

What `ibqueryerrors` prints: the counters of errors that are not zero, of each port.

Example (infiniband-diags); the GUID is that of the node, the port ALL a switch's sum::

    Errors for 0x248a070300a00002 "leaf03"
       GUID 0x248a070300a00002 port ALL: [SymbolErrorCounter == 500] [LinkDownedCounter == 7]
       GUID 0x248a070300a00002 port 2: [SymbolErrorCounter == 500] [LinkDownedCounter == 7]

    ## Summary: 22 nodes checked, 1 bad nodes found
    ##          53 ports checked, 1 ports have errors beyond threshold
    ## Thresholds:
    ##          2 PMA query failures
    ## Suppressed:
"""  # noqa: E501

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from acceptance.core.errors import ParseError
from acceptance.fabric.node import NO_GUID, guid_text
from acceptance.fabric.topology.model import Device, End, Kind, Link, Topology


def read_lines(text: str, source: str, read: Callable[[str], None]) -> None:
    """Give each line that is not empty to a reader, which raises ValueError for what cannot be.

    Only a line feed ends a line: a name may hold whatever else Python takes for an end. Raises
    ParseError, with the line, and for an output that is cut.
    """
    *lines, last = text.split("\n")
    for number, line in enumerate([*lines, last], 1):
        try:
            if number > len(lines) and line:
                raise ValueError("the output ends in the middle of a line")
            if line.strip():
                read(line)
        except ValueError as error:
            raise ParseError(source, str(error), number=number, line=line) from None


#: What is said of a line that is not one of a program.
_UNKNOWN = "the line has a form that is not known"
_ID = re.compile(r"(?P<key>vendid|devid|sysimgguid|switchguid|caguid|rtguid)=0x(?P<hex>[0-9a-f]+)")
_DEVICE = re.compile(
    r'(?P<word>Switch|Ca|Rt)\t(?P<ports>\d+) "[SHR]-(?P<guid>[0-9a-f]{16})"\s+# "(?P<rest>.*)\Z'
)
_SWITCH = re.compile(r'(?P<name>.*)" (?:enhanced|base) port 0 lid (?P<lid>\d+) lmc \d+\Z')
_PORT = re.compile(
    r"\[(?P<port>\d+)\](?:\[ext \d+\])?(?:\((?P<guid>[0-9a-f]+)\) )?\s+"
    r'"[SHR]-(?P<other>[0-9a-f]{16})"\[(?P<far>\d+)\](?:\[ext \d+\])?(?:\([0-9a-f]+\))?\s+'
    r'# (?:lid (?P<lid>\d+) lmc \d+ )?".*" lid \d+ (?P<width>\d+x|\?\?)(?P<speed>\w+|\?\?\?)'
    r"(?: s=\d+ w=\d+ v=\d+)?(?: slot \d+)?\Z"
)
_KINDS: dict[str, Kind] = {"Switch": "switch", "Ca": "host", "Rt": "host"}


#: How Mellanox's switches call the adapter inside of them that adds up for collectives (SHARP).
_AGGREGATION = "Aggregation Node"


@dataclass(frozen=True)
class _Discovered:
    """A fabric without the states of its links, and what does not fit together in it.

    `half` has ends that lead to what was not discovered, `unlike` ends that contradict each other.
    """

    topology: Topology
    half: list[str]
    unlike: list[str]


def parse_netdiscover(text: str, source: str = "ibnetdiscover") -> _Discovered:
    """Read the fabric.

    Adapters inside of switches (aggregation nodes) are left out: no cable leads to them. Raises
    ParseError, with the line, for a line of a form that is not known, for a text that ends in the
    middle of a line and for one without a device.
    """
    reader = _Reader()
    read_lines(text, source, reader.read)
    if not reader.devices:
        raise ParseError(source, "the output has no device")
    return reader.discovered()


class _Reader:
    """The devices and ends that were read so far; raises ValueError for a line that cannot be."""

    def __init__(self) -> None:
        self.devices: dict[str, Device] = {}
        self.seen: dict[End, tuple[End, str, str]] = {}
        self.numbers: dict[str, str] = {}
        self.device: Device | None = None

    def read(self, line: str) -> None:
        line = line.rstrip()
        if match := _ID.match(line):
            self.numbers[match["key"]] = match["hex"]
        elif match := _DEVICE.match(line):
            self.device = self.begin(match)
            if self.device.guid in self.devices:
                raise ValueError(f"the device {self.device.guid} stands twice")
            self.devices[self.device.guid] = self.device
            self.numbers = {}
        elif (match := _PORT.match(line)) and self.device:
            self.port(self.device, match)
        elif not line.startswith(("#", "Chassis ")):
            raise ValueError(_UNKNOWN)

    def begin(self, match: re.Match[str]) -> Device:
        kind, name, lid = _KINDS[match["word"]], match["rest"], 0
        if kind == "switch":
            if not (tail := _SWITCH.match(name)):
                raise ValueError("the line of a switch has a form that is not known")
            name, lid = tail["name"], int(tail["lid"])
        else:
            name = name[: name.rindex('"')]
        system = guid_text(self.numbers.get("sysimgguid", ""))
        model = ":".join(self.numbers.get(key, "0") for key in ("vendid", "devid"))
        guid, ports = guid_text(match["guid"]), int(match["ports"])
        return Device(guid, kind, name, lid, ports, {}, {}, system, model)

    def port(self, device: Device, match: re.Match[str]) -> None:
        end = End(device.guid, int(match["port"]))
        if end in self.seen:
            raise ValueError(f"the port {end.port} stands twice")
        if match["guid"] and match["lid"]:  # of a host; a switch has one GUID and LID for all
            lids = {**device.lids, end.port: int(match["lid"])}
            guids = {**device.port_guids, end.port: guid_text(match["guid"])}
            device = replace(device, lid=device.lid or lids[end.port], lids=lids, port_guids=guids)
            self.device = self.devices[device.guid] = device
        far = End(guid_text(match["other"]), int(match["far"]))
        self.seen[end] = far, match["width"], match["speed"]

    def discovered(self) -> _Discovered:
        inside = {guid for guid in self.devices if self.is_inside(guid)}
        devices = {guid: self.devices[guid] for guid in sorted(self.devices.keys() - inside)}
        links: list[Link] = []
        half: list[str] = []
        unlike: list[str] = []
        for end, (far, width, speed) in sorted(self.seen.items()):
            back = self.seen.get(far)
            if {end.guid, far.guid} & inside:
                continue
            if far.guid not in devices:
                half.append(f"{end} leads to {far.guid}, which was not discovered")
            elif back is None or back[0] != end:
                unlike.append(f"{end} leads to {far}, which does not lead back")
            elif end <= far:
                both = (Link((end, far), width, speed), Link((end, far), *back[1:]))
                links.append(min(both, key=lambda link: link.gbps))
                if both[0] != both[1]:
                    unlike.append(f"{end} is {both[0].trained}, but {both[1].trained} at {far}")
        return _Discovered(Topology(devices, tuple(links)), half, unlike)

    def is_inside(self, guid: str) -> bool:
        """Tell the adapters that are parts of a switch: they share its chassis, or say so."""
        device = self.devices[guid]
        far = self.seen.get(End(guid, 1))
        switch = self.devices.get(far[0].guid) if far else None
        if device.kind != "host" or switch is None or switch.kind != "switch":
            return False
        return _AGGREGATION in device.name or (
            device.system == switch.system and device.system not in ("", NO_GUID)
        )


_LINE = re.compile(
    r'(?P<guid>0x[0-9a-f]{16}) "(?P<name>.*?)" +\d+ +(?P<port>\d+)\[[ \d]{2}\] '
    r"==\((?P<inner>[^()]*(?:\([^()]*\)[^()]*)*)\)==>  (?P<rest>.*)\Z"
)
_INNER = re.compile(
    r" *(?:(?:\d+X|undefined \(\d+\)) +\S.*? +)?"
    r"(?P<state>[A-Z]\w*|\?\(\d+\))/ *(?P<physical>[A-Z]\w*|\?\(\d+\))(?: \(HOQ.*\))?\Z"
)


class PortState(NamedTuple):
    """The logical and the physical state of a port; ibnetdiscover tells its width and speed."""

    state: str
    physical: str


def parse_linkinfo(text: str, source: str = "iblinkinfo") -> dict[End, PortState]:
    """Return the ports, by the GUID that their lines begin with.

    Raises ParseError, with the line, for a line of a form that is not known.
    """
    ports = {}

    def read(line: str) -> None:
        match = _LINE.match(line)
        inner = _INNER.match(match["inner"]) if match else None
        if not match or not inner:
            raise ValueError(_UNKNOWN)
        end = End(match["guid"], int(match["port"]))
        ports[end] = PortState(inner["state"], inner["physical"])

    read_lines(text, source, read)
    return ports


_PORT_COUNTERS = re.compile(
    r" +GUID (?P<guid>0x[0-9a-f]+) port (?P<port>\d+|ALL):(?P<rest>( \[.*\])*) *\Z"
)
_COUNTER = re.compile(r" \[(?P<name>\w+) == (?P<value>\d+)(?: \([^)]*\))?\]")
_NODES = re.compile(r"## Summary: (\d+) nodes checked, ")
_PORTS = re.compile(r"## +(\d+) ports checked, ")
_FAILURES = re.compile(r"## +(\d+) PMA query failures")
_PASSED = re.compile(r'(Errors for 0x[0-9a-f]+ ".*"|##.*|\s*)\Z')


@dataclass(frozen=True)
class Counters:
    """Port -> counter -> value, of ports with one above zero; names are those of the program.

    `failures` are queries that no port answered.
    """

    values: Mapping[End, Mapping[str, int]]
    failures: int


def parse_query_errors(text: str, source: str = "ibqueryerrors") -> Counters:
    """Read the output; raises ParseError for an unknown line, or where the summary is missing."""
    values: dict[End, dict[str, int]] = {}
    totals: dict[re.Pattern[str], int] = {}

    def read(line: str) -> None:
        for pattern in (_NODES, _PORTS, _FAILURES):
            if match := pattern.match(line):
                totals[pattern] = int(match[1])
        if match := _PORT_COUNTERS.match(line):
            counters = {one["name"]: int(one["value"]) for one in _COUNTER.finditer(match["rest"])}
            if match["port"] != "ALL":
                values[End(match["guid"], int(match["port"]))] = counters
        elif not _PASSED.match(line):
            raise ValueError(_UNKNOWN)

    read_lines(text, source, read)
    if _NODES not in totals or _PORTS not in totals:
        raise ParseError(source, "the output is cut off: its summary is missing")
    return Counters(values, totals.get(_FAILURES, 0))
