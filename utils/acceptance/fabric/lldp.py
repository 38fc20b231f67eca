"""Which port of which switch an Ethernet interface is plugged into, as `lldpctl -f json` says.

Example (lldpd 1.0.16), cut to what is read; an interface with several neighbours stands several
times, a chassis without a name has its keys at once, and lists of one are no lists::

    {"lldp": {"interface": [{"eth1": {
      "chassis": {"leaf01": {"id": {"type": "mac", "value": "ae:48:ca:ef:ec:74"}}},
      "port": {"id": {"type": "ifname", "value": "swp7"}, "descr": "to node0001"}}}]}}
"""

import json
from typing import Any

from acceptance.core.errors import ParseError
from acceptance.core.text import one_line

#: Interface -> what answers at the other end of its cable, mostly one: name of a switch and port.
#: A switch without a name has the identifier of its chassis; a port is its identifier, or its
#: description where that is a mere address.
Neighbours = dict[str, list[tuple[str, str]]]


def parse(text: str, source: str = "lldpctl") -> Neighbours:
    """Return the neighbours, in the order of the output; raises ParseError for anything else."""
    found: Neighbours = {}
    try:
        told = json.loads(text)["lldp"].get("interface", [])
        for entry in told if isinstance(told, list) else [told]:
            for interface, facts in entry.items():
                found.setdefault(interface, []).append(_far_end(facts["chassis"], facts["port"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"this is no output of `lldpctl -f json`: {one_line(str(error))}"
        raise ParseError(source, message) from None
    return found


def _far_end(chassis: Any, port: Any) -> tuple[str, str]:
    name = ""
    if "id" not in chassis:
        ((name, chassis),) = chassis.items()
    switch, shown = chassis["id"]["value"], port["id"]["value"]
    if port["id"]["type"] == "mac":
        shown = port.get("descr") or shown
    return one_line(str(name or switch)), one_line(str(shown))
