"""A folder that `fabric.sh` filled, read: the fabric, its counters, its routes and what is wrong.

Nothing is raised for a folder that is there: what could not be read is a fault, in a line each.

Hosts get the names of the scheduler's nodes by the GUIDs that sysfs of these has.

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

With `--counters` it prints those of data in the same form, which are kept as `traffic`::

    Data Counters for 0x248a070300a00002 "leaf03"
       GUID 0x248a070300a00002 port 2: [PortXmitData == 2952 (11.531KB)] [PortRcvData == 2952 ...
"""  # noqa: E501

import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from acceptance.core.errors import Fault, ParseError, read_whole
from acceptance.core.findings import Finding
from acceptance.core.text import one_line, plural, shortened
from acceptance.fabric.node import NO_GUID, guid_text
from acceptance.fabric.topology import Device, End, Kind, Link, Topology


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


#: The last port of a device. Source: InfiniBand Architecture Specification 1.4, PortInfo.
LAST_PORT = 254
#: How Mellanox's switches call the adapter inside of them that adds up for collectives (SHARP).
_AGGREGATION = "Aggregation Node"


#: A fabric, ends that lead to nothing that was discovered, and ends that contradict each other.
_Discovered = tuple[Topology, list[str], list[str]]


def parse_netdiscover(text: str, source: str = "ibnetdiscover") -> _Discovered:
    """Read the fabric, without the states of its links, and what does not fit together in it.

    That are ends that lead to what was not discovered, and ends that contradict each other.

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
        if max(end.port, far.port) > LAST_PORT:
            raise ValueError(f"no port has a number above {LAST_PORT}")
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
        return Topology(devices, tuple(links)), half, unlike

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


#: The logical and the physical state of a port; ibnetdiscover tells its width and speed.
PortState = tuple[str, str]


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
        ports[end] = inner["state"], inner["physical"]

    read_lines(text, source, read)
    return ports


_PORT_COUNTERS = re.compile(
    r" +GUID (?P<guid>0x[0-9a-f]+) port (?P<port>\d+|ALL):(?P<rest>( \[.*\])*) *\Z"
)
_COUNTER = re.compile(r" \[(?P<name>\w+) == (?P<value>\d+)(?: \([^)]*\))?\]")
_NODES = re.compile(r"## Summary: (\d+) nodes checked, ")
_PORTS = re.compile(r"## +(\d+) ports checked, ")
_FAILURES = re.compile(r"## +(\d+) PMA query failures")
_PASSED = re.compile(r'((Errors|Data Counters) for 0x[0-9a-f]+ ".*"|##.*|\s*)\Z')


#: Port -> counter -> value, of ports with one above zero; names are those of the program.
Counters = Mapping[End, Mapping[str, int]]


def parse_query_errors(text: str, source: str = "ibqueryerrors") -> tuple[Counters, int]:
    """Return the counters, and how many queries no port answered.

    Raises ParseError for an unknown line, or where the summary is missing.
    """
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
    return values, totals.get(_FAILURES, 0)


def join(
    topology: Topology,
    nodes: Mapping[str, Mapping[str, str]],
    names: Iterable[str] | None = (),
) -> tuple[Topology, tuple[str, ...]]:
    """Join hosts with nodes: by GUID; of nodes that report none, and of `names`, by description.

    Returned are the topology, whose `hosts` are filled, and what did not fit, a line each.
    `nodes` have the GUID of each of their adapters.
    A description names a node where its first word, without a domain, is the node's name. None:
    nobody says which nodes there are, so that whatever descriptions begin with are names.
    """
    called_so = {
        guid: called(device.name)
        for guid, device in topology.devices.items()
        if device.kind == "host"
    }
    if names is None:
        names = (
            name for guid, name in called_so.items() if len(topology.devices[guid].name.split()) > 1
        )
    hosts: dict[str, tuple[str, ...]] = {}
    #: Nodes with InfiniBand of which no adapter is in this fabric -> what was looked for.
    absent: dict[str, str] = {}
    unknown = set(names)
    for node, guids in nodes.items():
        unknown.discard(node)
        if there := tuple(guid for guid in guids.values() if guid in called_so):
            hosts[node] = there
        elif guids and not any(guids.values()):
            unknown.add(node)
        elif guids:
            absent[node] = ", ".join(f"{name} {guid}" for name, guid in guids.items())
    taken = {guid for guids in hosts.values() for guid in guids}
    described: dict[str, list[str]] = {}
    for guid, name in called_so.items():
        if guid not in taken:
            described.setdefault(name, []).append(guid)
    by_name = [node for node in sorted(unknown) if node in described]
    absent |= dict.fromkeys(unknown.difference(by_name), "by its name")
    hosts |= {node: tuple(described[node]) for node in by_name}
    joined = replace(topology, hosts=dict(sorted(hosts.items())))
    return joined, tuple(_unfit(joined, called_so, by_name, absent))


def _unfit(
    topology: Topology, called_so: Mapping[str, str], by_name: list[str], absent: Mapping[str, str]
) -> Iterator[str]:
    """Yield what does not fit, of hosts by GUID and what their descriptions call them."""
    for node, adapters in sorted(absent.items()):
        yield f"{node}: no adapter of it is in the fabric ({adapters})"
    for guid, node in sorted(topology.node_of.items()):
        if (name := called_so[guid]) != node and (name in topology.hosts or name in absent):
            described = one_line(topology.devices[guid].name)
            yield f"{node}: its adapter {guid} calls itself {described}"
    if by_name:
        yield (
            f"{plural(len(by_name), 'node')} ({shortened(by_name, 3)}) known by the adapters' "
            "descriptions only, as sysfs was not read: a description may be wrong"
        )
    others = [guid for guid in called_so if guid not in topology.node_of]
    if strangers := sorted(map(topology.device_name, others)):
        count = f"{plural(len(strangers), 'host')} ({shortened(strangers, 3)})"
        yield f"{count} of the fabric, but none of these nodes"


def called(description: str) -> str:
    """Return the name of a node that a description begins with: `node0012.site mlx5_0`."""
    words = description.split()
    return words[0].partition(".")[0] if words else ""


def options(adapter: str) -> list[str]:
    """Return the options of the script for the adapter to look from; none: the first one."""
    device, _, port = adapter.partition("/")
    return [*(["-C", device] if device else []), *(["-P", port] if port else [])]


#: Fills the folder.
SCRIPT = Path(__file__).with_name("fabric.sh")
#: Bytes of an output that are read at most.
LONGEST = 2_000_000_000
#: Program -> what it is run for, in the words of a fault.
PROGRAMS = {
    "ibnetdiscover": "the fabric",
    "iblinkinfo": "the states of the links",
    "ibqueryerrors": "the counters",
    "dump_lfts": "the routes",
    "traffic": "the counters of data",
}
_ROUTES = "dump_lfts"
#: What is run for the counters of data, of switches.
TRAFFIC = "traffic"
#: What a line has about a question that got no answer.
_LOST = ("timeout", "timed out", "Query remote")
Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class Reading:
    """What a folder has: `topology` is None where the fabric was not looked at; `faults` say why.

    The device of a fault is the program; its kind is one of not-run, missing, permission, late,
    failed, empty, form, cut, no-manager, half, names and disagree.

    `counters` are the errors of each port (None: not read; a port that has none is zero). `traffic`
    has what the ports of switches count of data; None: not read, or nobody asks, as no two switches
    have several cables between them. `begin`
    and `end` are in seconds since 1970, None where the script did not come so far. `asked` is the
    adapter and port it looked from.
    """

    folder: Path
    topology: Topology | None = None
    counters: Counters | None = None
    traffic: Counters | None = None
    faults: tuple[Finding, ...] = ()
    begin: int | None = None
    end: int | None = None
    asked: str = ""
    version: str = ""

    @cached_property
    def routes(self) -> str:
        """Return the text of `dump_lfts`; empty where it was not read.

        It is read when it is asked for: a fabric of 10,000 nodes has 400 MB of it. Raises
        ParseError for a text of more than `LONGEST` bytes, and OSError.
        """
        if any(fault.device == _ROUTES and fault.kind != "half" for fault in self.faults):
            return ""
        path = _routes_of(self.folder)
        if path is None:
            return ""
        if path.suffix != ".gz":
            return read_whole(path, LONGEST)
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def errors(self) -> Counters:
        """Return port -> counter -> value, of those above zero; empty where none were read."""
        return self.counters or {}


def read(folder: Path) -> Reading:
    """Read a folder that `fabric.sh` filled; raises Fault where there is no such folder."""
    if not folder.is_dir():
        raise Fault("no such folder; `fabric.sh FOLDER` fills one", where=str(folder))
    faults: list[Finding] = []
    begin, end = (_number(folder, name) for name in ("begin", "end"))
    if begin is None:
        faults.append(_fault(folder, "not-run", "", f"{folder} has no reading of a fabric"))
    elif end is None:
        text = f"the reading in {folder} was stopped before its end"
        faults.append(_fault(folder, "cut", "", text))
    topology = _topology(folder, faults) if begin is not None else None
    told = _output(folder, "ibqueryerrors", parse_query_errors, faults) if topology else None
    counters, failures = told or (None, 0)
    if failures:
        text = f"{plural(failures, 'question')} of counters got no answer"
        faults.append(_fault(folder, "half", "ibqueryerrors", text))
    carried = None
    if topology and topology.parallel:
        wrong: list[Finding] = []
        data = _output(folder, TRAFFIC, parse_query_errors, wrong)
        carried = data[0] if data else None
        # Whatever is wrong with it, the fabric was looked at.
        faults += [msgspec.structs.replace(fault, device=TRAFFIC) for fault in wrong]
    if topology and _answered(folder, _ROUTES, faults) and _routes_of(folder) is None:
        faults.append(_fault(folder, "empty", _ROUTES, "it printed nothing"))
    return Reading(
        folder, topology, counters, carried, tuple(faults), begin, end,
        _text(folder, "asked").strip(), one_line(_text(folder, "versions")),
    )  # fmt: skip


def _topology(folder: Path, faults: list[Finding]) -> Topology | None:
    """Return the fabric with the states of its links, and add what is wrong with it to `faults`."""
    found = _output(folder, "ibnetdiscover", parse_netdiscover, faults)
    if found is None:
        return None
    topology, half, unlike = found
    faults += _told(folder, "half", "ibnetdiscover", half)
    faults += _told(folder, "disagree", "ibnetdiscover", unlike)
    ports = _output(folder, "iblinkinfo", parse_linkinfo, faults)
    if ports is not None:
        topology = _with_states(folder, topology, ports, faults)
    if repeated := shortened(sorted(topology.repeated), 3):
        text = f"several devices are called {repeated}: they are told by their GUIDs"
        faults.append(_fault(folder, "names", "", text))
    return topology


def _with_states(
    folder: Path, topology: Topology, ports: dict[End, PortState], faults: list[Finding]
) -> Topology:
    states = {end: ports[port] for port in ports if (end := _end(topology, port))}
    down = {end: physical for end, (state, physical) in states.items() if state == "Down"}
    faults += _told(folder, "half", "iblinkinfo", [
        f"{topology.name(end)} has a link, but its other end was not discovered"
        for end in states if end not in down and end not in topology.by_end
    ])  # fmt: skip
    faults += _told(folder, "disagree", "iblinkinfo", [
        f"it has no link at {topology.name(end)}, where ibnetdiscover has one"
        for end in topology.by_end if end not in states or end in down
    ])  # fmt: skip
    links = tuple(replace(link, state=_worse(states, link.ends)) for link in topology.links)
    lids = any(device.lid for device in topology.devices.values())
    if links and not (lids and any(link.state == "Active" for link in links)):
        text = "no subnet manager has taken the fabric into service: "
        text += "no link is active; start one (opensm, or that of a switch)"
        faults.append(_fault(folder, "no-manager", "", text))
    return replace(topology, links=links, down=down)


def _output(
    folder: Path, program: str, parse: Callable[[str, str], Parsed], faults: list[Finding]
) -> Parsed | None:
    """Return what a program printed, parsed; None, and one more fault, where there is nothing."""
    if not _answered(folder, program, faults):
        return None
    path = folder / f"{program}.out"
    try:
        text = read_whole(path, LONGEST)
        if text.strip():
            return parse(text, path.name)
        last = _last_words(folder, program)
        faults.append(_fault(folder, "empty", program, f"it printed nothing; {last}"))
    except ParseError as error:
        said = f"{error}; known is what infiniband-diags 44.0 prints"
        faults.append(_fault(folder, "form", "", said))
    except OSError as error:
        said = f"{path} cannot be read: {error.strerror or error}"
        faults.append(_fault(folder, "failed", program, said))
    return None


def _answered(folder: Path, program: str, faults: list[Finding]) -> bool:
    """Tell whether a program has answered; a fault says why not, or why only by half."""
    what, last = PROGRAMS[program], _last_words(folder, program)
    status, errors = _text(folder, f"{program}.status").strip(), _text(folder, f"{program}.err")
    kind = text = ""
    if status == "missing":
        kind, text = "missing", "the program is not installed, so "
        text += f"{what} cannot be read; it is in infiniband-diags"
    elif status == "late":
        kind, text = "late", f"it did not end in time; {last}"
    elif status == "":
        kind, text = "not-run", f"it was not run, so {what} cannot be read"
    elif "MAD port" in errors:
        kind = "permission"
        text = "the adapter cannot be asked: /dev/infiniband/umad* is missing (module ib_umad) "
        text += "or this user may not open it"
    # ibqueryerrors ends with another status than 0 where a counter is above its threshold.
    elif status != "0" and program not in ("ibqueryerrors", TRAFFIC):
        kind, text = "failed", f"it ended with status {status}; {last}"
    elif lost := [line for line in errors.splitlines() if any(word in line for word in _LOST)]:
        kind, text = "half", f"{plural(len(lost), 'question')} got no answer, so that parts of the "
        text += f"fabric may be missing: {one_line(lost[0])}"
    faults += [_fault(folder, kind, program, text)] if kind else []
    return kind in ("", "half")


def _last_words(folder: Path, program: str) -> str:
    """Return the last line of what a program complained of: the first say how it began."""
    lines = reversed(_text(folder, f"{program}.err").splitlines())
    return next((one_line(line) for line in lines if line.strip()), "")


def _told(folder: Path, kind: str, program: str, troubles: list[str]) -> list[Finding]:
    return [_fault(folder, kind, program, shortened(troubles, 3))] if troubles else []


def _fault(folder: Path, kind: str, program: str, text: str) -> Finding:
    asked = _text(folder, "asked").strip()
    words = (f"from {asked}" if asked else "", program, text.rstrip("; "))
    return Finding(kind, ": ".join(filter(None, words)), device=program)


def _text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(errors="replace")
    except OSError:
        return ""


def _number(folder: Path, name: str) -> int | None:
    text = _text(folder, name).strip()
    return int(text) if text.isdecimal() else None


def _routes_of(folder: Path) -> Path | None:
    """Return the file of the routes, which may be compressed once it is kept; None: no text."""
    paths = (folder / f"{_ROUTES}.out", folder / f"{_ROUTES}.out.gz")
    return next((path for path in paths if path.is_file() and path.stat().st_size), None)


def _end(topology: Topology, port: End) -> End | None:
    """Return the port that a line of iblinkinfo speaks of; hosts are named by the port's GUID."""
    end = topology.by_port_guid.get(port.guid)
    if end and end.port == port.port:
        return end
    return port if port.guid in topology.devices else None


def _worse(states: Mapping[End, PortState], ends: tuple[End, End]) -> str:
    """Return the state of a link: where the ends differ, that which is not Active."""
    both = [states[end][0] for end in ends if end in states]
    return next((state for state in both if state != "Active"), both[0] if both else "")
