"""What `ibqueryerrors` prints: the counters of errors that are not zero, of each port.

Example (infiniband-diags); the GUID is that of the node, the port ALL a switch's sum::

    Errors for 0x248a070300a00002 "leaf03"
       GUID 0x248a070300a00002 port ALL: [SymbolErrorCounter == 500] [LinkDownedCounter == 7]
       GUID 0x248a070300a00002 port 2: [SymbolErrorCounter == 500] [LinkDownedCounter == 7]

    ## Summary: 22 nodes checked, 1 bad nodes found
    ##          53 ports checked, 1 ports have errors beyond threshold
    ## Thresholds:
    ##          2 PMA query failures
    ## Suppressed:
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from acceptance.core.errors import ParseError
from acceptance.fabric.topology.model import End

_PORT = re.compile(r" +GUID (?P<guid>0x[0-9a-f]+) port (?P<port>\d+|ALL):(?P<rest>( \[.*\])*) *\Z")
_COUNTER = re.compile(r" \[(?P<name>\w+) == (?P<value>\d+)(?: \([^)]*\))?\]")
_NODES = re.compile(r"## Summary: (\d+) nodes checked, ")
_PORTS = re.compile(r"## +(\d+) ports checked, ")
_FAILURES = re.compile(r"## +(\d+) PMA query failures")
_PASSED = re.compile(r'(Errors for 0x[0-9a-f]+ ".*"|##.*|\s*)\Z')


@dataclass(frozen=True)
class Counters:
    """Port -> counter -> value, of ports with one above zero; of how many ports it was asked.

    `failures` are queries that no port answered. Names are those of the program:
    SymbolErrorCounter, LinkDownedCounter, PortXmitWait.
    """

    values: Mapping[End, Mapping[str, int]]
    nodes: int
    ports: int
    failures: int = 0


def parse(text: str, source: str = "ibqueryerrors") -> Counters:
    """Read the output; raises ParseError for an unknown line, or where the summary is missing."""
    values: dict[End, dict[str, int]] = {}
    totals: dict[re.Pattern[str], int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        for pattern in (_NODES, _PORTS, _FAILURES):
            if match := pattern.match(line):
                totals[pattern] = int(match[1])
        if match := _PORT.match(line):
            counters = {one["name"]: int(one["value"]) for one in _COUNTER.finditer(match["rest"])}
            if match["port"] != "ALL":
                values[End(match["guid"], int(match["port"]))] = counters
        elif not _PASSED.match(line):
            raise ParseError(
                source, "the line has a form that is not known", number=number, line=line
            )
    if _NODES not in totals or _PORTS not in totals:
        raise ParseError(source, "the output is cut off: its summary is missing")
    return Counters(values, totals[_NODES], totals[_PORTS], totals.get(_FAILURES, 0))
