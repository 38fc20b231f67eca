"""What changed on a node's links between two readings: errors, and bytes moved."""

from collections.abc import Iterator

from acceptance.fabric.node import Deviation, Interface, Node, Port

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
    in between) and those that are full and cannot tell. Interfaces without a device are left out.
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
            yield Deviation(node, device, key, found, "a counter with room", "full")


def moved(
    before: Node,
    after: Node,
    device: str | None = None,
    technology: str | None = None,
    least: int = 0,
) -> int:
    """Return the bytes that went in and out over the declared devices between two readings.

    Without devices: over all InfiniBand ports, or, of a node that has none or with `technology`
    "ethernet", over all Ethernet interfaces that have a device. Of an Ethernet fabric the RoCE
    ports count as well that share the adapter of such an interface, all of them where that is no
    hardware (a bond): Linux counts what RDMA moved with the port only. Raises ValueError for
    readings of two nodes, a device that is not in both, and a counter that is missing, went back
    or is full; of such a RoCE port only where less than `least` has been counted without it.
    """
    if before.name != after.name:
        raise ValueError(f"readings of two nodes: {before.name} and {after.name}")
    chosen = _chosen(before, device, technology)
    total = sum(_bytes(before.name, link, _links(after).get(name)) for name, link in chosen.items())
    for name, port in (_roce(before, chosen) if technology == "ethernet" else {}).items():
        try:
            total += _bytes(before.name, port, after.ports.get(name))
        except ValueError:
            if total < least:
                raise
    return total


def _bytes(node: str, old: Port | Interface, new: Port | Interface | None) -> int:
    if new is None:
        raise ValueError(f"{node} {old.name} has vanished")
    keys, size = ("rx_bytes", "tx_bytes"), 1
    if isinstance(old, Port):
        keys, size = ("port_rcv_data", "port_xmit_data"), _WORD
    total = 0
    for key in keys:
        first, last = old.counters.get(key), new.counters.get(key)
        if first is None or last is None:
            raise ValueError(f"{node} {old.name} does not tell {key}")
        if last < first:
            raise ValueError(f"{node} {old.name}: {key} went back from {first} to {last}")
        if size == _WORD and last == _FULL:
            raise ValueError(f"{node} {old.name}: {key} stands at its end, {_FULL}")
        total += size * (last - first)
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
    if technology in (None, "ethernet") and not chosen:
        chosen |= {k: one for k, one in node.interfaces.items() if one.physical and one.ethernet}
    if not chosen:
        raise ValueError(f"{node.name} has no link of {technology or 'any kind'}")
    return chosen


def _roce(node: Node, chosen: dict[str, Port | Interface]) -> dict[str, Port]:
    """Return the RoCE ports, not chosen themselves, that the chosen interfaces share adapters with.

    What is no hardware has no address on the bus, and may stand for any.
    """
    slots = {link.pci for link in chosen.values() if isinstance(link, Interface)}
    return {
        name: port
        for name, port in node.ports.items()
        if name not in chosen
        and not port.infiniband
        and slots & {"", node.adapters[port.device].pci}
    }
