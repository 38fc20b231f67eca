"""Which port of which switch an Ethernet interface is plugged into, as `lldpctl -f json` says.

Example (lldpd 1.0.16), cut to what is read; an interface with several neighbours stands several
times, a chassis without a name has its keys at once, and lists of one are no lists::

    {"lldp": {"interface": [{"eth1": {
      "chassis": {"leaf01": {"id": {"type": "mac", "value": "ae:48:ca:ef:ec:74"}}},
      "port": {"id": {"type": "ifname", "value": "swp7"}, "descr": "to node0001"}}}]}}

`-f json0` says the same with a list everywhere, names as keys of their own, and values as objects::

    {"lldp": [{"interface": [{"name": "eth1",
      "chassis": [{"name": [{"value": "leaf01"}], "id": [{"type": "mac", "value": "ae:..."}]}],
      "port": [{"id": [{"type": "ifname", "value": "swp7"}], "descr": [{"value": "..."}]}]}]}]}
"""

import json
from collections.abc import Iterator
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
        data = json.loads(text)
        for interface, facts in _named(_only(data["lldp"]).get("interface", [])):
            found.setdefault(interface, []).append(_far_end(facts))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"this is no output of `lldpctl -f json`: {one_line(str(error))}"
        raise ParseError(source, message) from None
    return found


def _only(value: Any) -> Any:
    """Return the one member of a list; what is no list is it already."""
    if isinstance(value, list):
        if len(value) != 1:
            raise ValueError(f"{len(value)} values where there is one")
        return value[0]
    return value


def _named(interfaces: Any) -> Iterator[tuple[str, Any]]:
    for entry in interfaces if isinstance(interfaces, list) else [interfaces]:
        if isinstance(entry.get("name"), str):
            yield entry["name"], entry
        else:
            yield from entry.items()


def _far_end(facts: Any) -> tuple[str, str]:
    chassis, port = _only(facts["chassis"]), _only(facts["port"])
    name = _text(chassis.get("name", ""))
    if "id" not in chassis and len(chassis) == 1:
        ((name, chassis),) = chassis.items()
    kind, identifier = _identifier(port)
    described = _text(port.get("descr", ""))
    shown = described if kind == "mac" and described else identifier
    return one_line(name or _identifier(chassis)[1]), one_line(shown)


def _identifier(thing: Any) -> tuple[str, str]:
    identifier = _only(thing["id"])
    return str(identifier["type"]), str(identifier["value"])


def _text(value: Any) -> str:
    value = _only(value)
    return str(value["value"] if isinstance(value, dict) else value)
