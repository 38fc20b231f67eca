"""What changed on a node's links between two readings: errors, and bytes moved."""

from collections.abc import Iterator

from utils.node import Deviation, Interface, Node, Port

#: Counters of errors -> where InfiniBand lets them stop (IBTA, PortCounters; None: they do not).
#: What a network interface dropped is none: it drops whatever nobody listens to.
ERRORS: dict[str, int | None] = {
    "symbol_error": 0xFFFF,
    "link_error_recovery": 0xFF,
    "link_downed": 0xFF,
    "port_rcv_errors": 0xFFFF,
    "local_link_integrity_errors": 0xF,
    "excessive_buffer_overrun_errors": 0xF,
    "port_xmit_discards": 0xFFFF,
    "carrier_changes": None,
    "rx_errors": None,
    "tx_errors": None,
}

#: Octets of a word of `port_xmit_data`, and where adapters stop it that count in 32 bits.
_WORD, _FULL = 4, 0xFFFFFFFF


def grown(before: Node, after: Node) -> list[Deviation]:
    """Return the counters of errors that grew between two readings of a node, with how much.

    So are told ports and interfaces that vanished, counters that went back (a reset or a reboot
    in between) and those at their end, which cannot tell. Interfaces without a device are left out.
    """
    name = before.name
    if name != after.name:
        found = f"the later reading is of {after.name}"
        return [Deviation(name, "", "", found, "a reading of the same node", "vanished")]
    there = _links(after)
    changes: list[Deviation] = []
    for device, link in _links(before).items():
        if isinstance(link, Interface) and not link.physical:
            continue
        if device in there:
            changes += _growth(name, device, link.counters, there[device].counters)
        else:
            expected = "what was there before"
            changes.append(Deviation(name, device, "", "has vanished", expected, "vanished"))
    return changes


def _growth(
    node: str, device: str, old: dict[str, int], new: dict[str, int]
) -> Iterator[Deviation]:
    back = [f"{key} {old[key]} to {new[key]}" for key in old if new.get(key, old[key]) < old[key]]
    if back:
        found = f"went back ({', '.join(back)}): reset in between"
        yield Deviation(node, device, "counters", found, "counters that only grow", "reset")
    for key, end in ERRORS.items():
        if key in old and key not in new:
            yield Deviation(node, device, key, "is no longer told", "a number", "vanished")
        elif key in old and new[key] > old[key]:
            found = f"{new[key] - old[key]} more ({old[key]} to {new[key]})"
            yield Deviation(node, device, key, found, "no more", "errors")
        elif key in old and new[key] == old[key] == end:
            found = f"stands at {end}, where it stops counting"
            yield Deviation(node, device, key, found, "a counter with room", "errors")


def moved(
    before: Node, after: Node, device: str | None = None, technology: str | None = None
) -> int:
    """Return the bytes that went in and out over the declared devices between two readings.

    Without devices: over all InfiniBand ports, or, of a node that has none or with `technology`
    "ethernet", over all Ethernet interfaces that have a device. Raises ValueError for readings of
    two nodes, a device that is not in both, and a counter that is missing, went back or is full.
    """
    if before.name != after.name:
        raise ValueError(f"readings of two nodes: {before.name} and {after.name}")
    there, total = _links(after), 0
    for name, link in _chosen(before, device, technology).items():
        if name not in there:
            raise ValueError(f"{before.name} {name} has vanished")
        keys, size = ("rx_bytes", "tx_bytes"), 1
        if isinstance(link, Port):
            keys, size = ("port_rcv_data", "port_xmit_data"), _WORD
        for key in keys:
            old, new = link.counters.get(key), there[name].counters.get(key)
            if old is None or new is None:
                raise ValueError(f"{before.name} {name} does not tell {key}")
            if new < old:
                raise ValueError(f"{before.name} {name}: {key} went back from {old} to {new}")
            if size == _WORD and new == _FULL:
                raise ValueError(f"{before.name} {name}: {key} stands at its end, {_FULL}")
            total += size * (new - old)
    return total


def _links(node: Node) -> dict[str, Port | Interface]:
    return {**node.ports, **node.interfaces}


def _chosen(
    node: Node, declared: str | None, technology: str | None
) -> dict[str, Port | Interface]:
    chosen: dict[str, Port | Interface] = {}
    for name in filter(None, (one.strip() for one in (declared or "").split(","))):
        # A port and an interface by their names, an adapter for all its ports.
        named = {key: link for key, link in _links(node).items() if key.split("/")[0] == name}
        named |= {key: link for key, link in node.ports.items() if key == name}
        if not named:
            raise ValueError(f"{node.name} has no {name}")
        chosen |= named
    if chosen:
        return chosen
    if technology != "ethernet":
        chosen |= {key: port for key, port in node.ports.items() if port.infiniband}
    if technology != "infiniband" and not chosen:
        chosen |= {k: one for k, one in node.interfaces.items() if one.physical and one.ethernet}
    if not chosen:
        raise ValueError(f"{node.name} has no link of {technology or 'any kind'}")
    return chosen
