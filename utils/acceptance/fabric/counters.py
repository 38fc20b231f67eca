"""What changed on a node's links between two readings: errors, and bytes moved."""

from collections.abc import Iterator

from acceptance.core.findings import Finding
from acceptance.fabric.facts import Facts
from acceptance.fabric.node import Interface, Link, NodeLinks, Port, deviation, undeclared
from acceptance.fabric.rates import INTERFACES

#: Counters of errors of Linux -> where InfiniBand lets them stop (IBTA, volume 1, PortCounters;
#: None: they do not), and how ibqueryerrors calls them, if they are of a port.
#: What a network interface dropped is none: it drops whatever nobody listens to.
ERRORS: dict[str, tuple[int | None, str]] = {
    "symbol_error": (0xFFFF, "SymbolErrorCounter"),
    "port_rcv_errors": (0xFFFF, "PortRcvErrors"),
    "link_error_recovery": (0xFF, "LinkErrorRecoveryCounter"),
    "link_downed": (0xFF, "LinkDownedCounter"),
    "local_link_integrity_errors": (0xF, "LocalLinkIntegrityErrors"),
    "excessive_buffer_overrun_errors": (0xF, "ExcessiveBufferOverrunErrors"),
    "port_xmit_discards": (0xFFFF, "PortXmitDiscards"),
    "carrier_changes": (None, ""),
    "rx_errors": (None, ""),
    "tx_errors": (None, ""),
}
#: Those of a port, by their name in ibqueryerrors.
HIGHEST = {name: highest for highest, name in ERRORS.values() if name and highest}

#: What is expected of a counter that has grown.
GROWN = "no more"
#: Where adapters stop counters of words that count in 32 bits.
_FULL = 0xFFFFFFFF


def error_growth(before: NodeLinks, after: NodeLinks) -> list[Finding]:
    """Return the counters of errors that grew between two readings of a node, with how much.

    Reported are also ports and interfaces that vanished, counters that went back (a reset or a
    reboot in between) and those that are full. Interfaces without a device are left out.
    """
    name = before.name
    if name != after.name:
        found = f"the later reading is of {after.name}"
        return [deviation(name, "", "", found, "a reading of the same node", "link-missing")]
    later = after.links
    deviations: list[Finding] = []
    for device, link in before.links.items():
        if isinstance(link, Interface) and not link.physical:
            continue
        if device in later:
            deviations += _growth(name, device, link.counters, later[device].counters)
        else:
            expected = "what was there before"
            deviations.append(deviation(name, device, "", "has vanished", expected, "link-missing"))
    return deviations


def _growth(node: str, device: str, old: dict[str, int], new: dict[str, int]) -> Iterator[Finding]:
    reset = [f"{key} {old[key]} to {new[key]}" for key in old if new.get(key, old[key]) < old[key]]
    if reset:
        found = f"went back ({', '.join(reset)}): reset in between"
        yield deviation(node, device, "counters", found, "counters that only grow", "link-reset")
    for key, (highest, _) in ERRORS.items():
        if key in old and key not in new:
            yield deviation(node, device, key, "is no longer reported", "a number", "link-missing")
        elif key in old and new[key] > old[key]:
            found = f"{new[key] - old[key]} more ({old[key]} to {new[key]})"
            yield deviation(node, device, key, found, GROWN, "link-errors")
        elif key in old and new[key] == old[key] == highest:
            found = f"stands at {highest}, where it stops counting"
            yield deviation(node, device, key, found, "a counter with room", "link-errors")


def bytes_moved(before: NodeLinks, after: NodeLinks, facts: Facts, min_bytes: int = 0) -> int:
    """Return the bytes that went in and out over the fabric's links between two readings.

    These are the declared devices, else all ports of the technology, of Ethernet all interfaces
    that have a device. Of Ethernet the RoCE ports count as well that share the adapter of such an
    interface, all of them where that is no hardware (a bond): Linux counts what RDMA moved with the
    port only. Raises ValueError for readings of two nodes, a device that is not in both, and a
    counter that is missing, went back or is full; of such a RoCE port only where less than
    `min_bytes` have been counted without it.
    """
    if before.name != after.name:
        raise ValueError(f"readings of two nodes: {before.name} and {after.name}")
    links, later = before.links_of(facts), after.links
    for name in undeclared(links, facts):
        raise ValueError(f"{before.name} has no {name}")
    if not links:
        raise ValueError(f"{before.name} has no link of {facts.technology}")
    total = sum(link_bytes(before.name, link, later.get(name)) for name, link in links.items())
    for name, port in roce_beside(before, links, facts).items():
        try:
            total += link_bytes(before.name, port, after.ports.get(name))
        except ValueError:
            if total < min_bytes:
                raise
    return total


def link_bytes(node: str, old: Link, new: Link | None) -> int:
    """Return the bytes that went in and out over one link between two readings of a node.

    Raises ValueError for a link that has vanished, and as `bytes_moved` for its counters.
    """
    if new is None:
        raise ValueError(f"{node} {old.name} has vanished")
    size, *keys = old.data_counters
    total = 0
    for key in keys:
        first, last = old.counters.get(key), new.counters.get(key)
        if first is None or last is None:
            raise ValueError(f"{node} {old.name} does not report {key}")
        if last < first:
            raise ValueError(f"{node} {old.name}: {key} went back from {first} to {last}")
        if size > 1 and last == _FULL:
            raise ValueError(f"{node} {old.name}: {key} stands at its end, {_FULL}")
        total += size * (last - first)
    return total


def roce_beside(node: NodeLinks, links: dict[str, Link], facts: Facts) -> dict[str, Port]:
    """Return the RoCE ports that share adapters with the interfaces of a fabric.

    None of the links themselves. What is no hardware has no address on the bus, and may stand for
    any. Adapters of Slingshot 10 have such ports, too.
    """
    if facts.technology not in INTERFACES:
        return {}
    slots = {link.pci for link in links.values() if isinstance(link, Interface)}
    return {
        name: port
        for name, port in node.ports.items()
        if name not in links
        and not port.infiniband
        and slots & {"", node.adapters[port.device].pci}
    }
