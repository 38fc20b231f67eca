"""Whether the links of a node are what the facts of its fabric demand."""

from collections.abc import Iterable, Iterator

from acceptance.core.findings import Finding
from acceptance.fabric.counters import ERRORS
from acceptance.fabric.facts import Facts
from acceptance.fabric.node import (
    Adapter,
    Interface,
    Link,
    NodeLinks,
    Port,
    Slot,
    deviation,
    slot_text,
    undeclared,
)
from acceptance.fabric.rates import INTERFACES, MIN_ROCE_MBPS, PORTED

#: The kind of a counter that stands above zero, and of a link whose errors nobody counts.
STANDING, UNCOUNTED = "link-counters", "link-uncounted"
#: The kind of what could not be read, so that nothing is known of the link.
UNREADABLE = "link-unreadable"
#: Facts that demand nothing: of links that Linux does not show, and where no fabric is stated.
_NO_FACTS = Facts(technology="")


def deviations(node: NodeLinks, facts: Facts | None) -> list[Finding]:
    """Compare a node with the facts of its fabric; without any only slots are judged.

    With `device` exactly those links are judged, of Ethernet interfaces and RoCE ports. Without: of
    technologies with ports every port of theirs but those that are down, as long as one is active;
    of Ethernet one interface that is all right will do.
    """
    return [*_Comparison(node, facts).deviations(), *gpu_deviations(node, facts)]


def gpu_deviations(node: NodeLinks, facts: Facts | None) -> Iterator[Finding]:
    """Compare the GPUs of a node with those that are stated: it may have more than jobs get.

    One that is idle lets its slot run slower, so that its speed is held against what it can do.
    """
    if not (facts and facts.gpus):
        return
    found = [address for address, kind in node.gpus.items() if kind == facts.gpu_kind]
    if len(found) < facts.gpus:
        told = f"{len(found)} of {facts.gpu_kind}", str(facts.gpus)
        yield deviation(node.name, "", "GPUs", *told, "gpu-missing")
    for slot in (node.slots.get(address, Slot(address)) for address in found):
        speed, width = facts.gpu.slot_speed, facts.gpu_pcie_lanes
        if width and slot.width and slot.width != width:
            told = str(slot), slot_text(None, width)
            yield deviation(node.name, f"GPU {slot.address}", "PCIe", *told, "pcie-width")
        elif speed and slot.max_speed and slot.max_speed < speed:
            told = f"{slot_text(slot.max_speed, None)} at most", slot_text(speed, None)
            yield deviation(node.name, f"GPU {slot.address}", "PCIe", *told, "pcie-speed")


def rates(node: NodeLinks, facts: Facts | None) -> list[float]:
    """Return what the links of a fabric, those of them that are up, run at in Mbit/s."""
    return [mbps for link in serving(node, facts).values() if (mbps := _mbps(link))]


def serving(node: NodeLinks, facts: Facts | None) -> dict[str, Link]:
    """Return the links of a fabric, those of them that are up, by name.

    Of Ethernet, where none are declared: the adapters at the stated rate, or all where none has it.
    """
    facts = _demands(facts)
    up = {name: link for name, link in _links(node, facts).items() if link.up}
    right = {name: link for name, link in up.items() if _is_right(link, facts)}
    return up if facts.devices else right or up


def standing(node: NodeLinks, facts: Facts | None) -> list[Finding]:
    """Return the counters of errors that stand above zero on the links of a fabric that are up.

    Since when nobody knows from one reading: they are no fault by themselves. How often a link has
    come up (`carrier_changes`) is no error.
    """
    return [
        deviation(node.name, name, key, str(link.counters[key]), "0", STANDING)
        for name, link in serving(node, facts).items()
        for key in ERRORS
        if key != "carrier_changes" and link.counters.get(key, 0) > 0
    ]


def uncounted(node: NodeLinks, facts: Facts | None) -> list[Finding]:
    """Return the ports of a fabric that are up and whose driver tells no counters of errors.

    Whether such a link has errors cannot be told.
    """
    found = []
    for name, link in serving(node, facts).items():
        if isinstance(link, Port) and link.uncounted:
            told = f"none of errors, its driver {node.adapters[link.device].driver} has no such"
            told += " folder: whether it has errors cannot be told"
            expected = "a folder `counters` of the port"
            found.append(deviation(node.name, name, "counters", told, expected, UNCOUNTED))
    return found


def _demands(facts: Facts | None) -> Facts:
    return facts if facts and facts.shown else _NO_FACTS


def _links(node: NodeLinks, facts: Facts) -> dict[str, Link]:
    """Return the links that are judged: of technologies with ports no interface is one."""
    links = node.links_of(facts).items()
    ported = facts.technology in PORTED
    return {name: link for name, link in links if isinstance(link, Port) or not ported}


def _is_right(link: Link, facts: Facts) -> bool:
    return isinstance(link, Port) or facts.mbps in (None, link.speed)


def _mbps(link: Link) -> float | None:
    if isinstance(link, Interface):
        return link.speed
    return 1000 * link.rate.gbps if link.rate else None


class _Comparison:
    """One node, compared with the facts of its fabric."""

    def __init__(self, node: NodeLinks, facts: Facts | None) -> None:
        self.node, self.facts = node, _demands(facts)
        self.links = _links(node, self.facts)
        # What has the slots that count; found while the links are judged.
        self.owners: list[Adapter | Interface] = []

    def deviations(self) -> list[Finding]:
        links = list(self.declared() if self.facts.devices else self.of_technology())
        # Without a technology nothing is known of the links; of their slots it is.
        links = links if self.facts.technology else []
        slots = [deviation for owner in self.owners for deviation in self.slot(owner)]
        unreadable = list(self.unreadable())
        if unreadable:
            # What could not be read may be the very adapter that seems to be missing.
            links = [deviation for deviation in links if deviation.kind != "link-missing"]
        return [*unreadable, *links, *slots]

    def deviation(
        self, kind: str, device: str, found: str, expected: str = "", what: str = ""
    ) -> Finding:
        return deviation(self.node.name, device, what, found, expected or self.expected, kind)

    @property
    def expected(self) -> str:
        """Write what a link should be: `40 Gb/sec (4X QDR)`, `10000 Mb/s full`."""
        mbps = self.facts.mbps
        if self.facts.technology in INTERFACES:
            return f"{mbps} Mb/s full" if mbps else "full duplex"
        return str(self.facts.port_rate or _gigabits(mbps) or "an active port")

    def blind(self, path: str) -> bool:
        return any(f"/{unreadable}".endswith(f"/{path}") for unreadable in self.node.unreadable)

    def declared(self) -> Iterator[Finding]:
        for name in undeclared(self.links, self.facts):
            noun = "interface" if self.facts.technology in INTERFACES else "port"
            yield self.deviation("link-missing", name, f"no such {noun}")
        yield from self.judged(self.links.values())

    def of_technology(self) -> Iterator[Finding]:
        technology = self.facts.technology
        ports = [link for link in self.links.values() if isinstance(link, Port)]
        if any(port.up for port in ports):
            ports = [port for port in ports if not port.down]
        elif not ports and technology in PORTED:
            what = "port" if self.node.adapters else "adapter"
            yield self.deviation("link-missing", "", f"no {PORTED[technology]} {what}")
        yield from self.judged(ports)
        if technology not in PORTED:
            yield from self.interfaces()

    def judged(self, links: Iterable[Link]) -> Iterator[Finding]:
        for link in links:
            owner = self.node.adapters[link.device] if isinstance(link, Port) else link
            if owner not in self.owners and (isinstance(link, Port) or link.physical):
                self.owners.append(owner)
            yield from self.port(link) if isinstance(link, Port) else self.interface(link)

    def port(self, port: Port) -> Iterator[Finding]:
        path = f"{port.device}/ports/{port.number}"
        state, phys = (text.partition(": ")[2] for text in (port.state, port.phys_state))
        trained = port.phys_state[:2] in ("5:", "")
        layer = "Ethernet" if self.facts.technology in ("roce", *INTERFACES) else "InfiniBand"
        if (port.link_layer or "InfiniBand") != layer:
            found, expected = f"link layer {port.link_layer or 'InfiniBand'}", f"link layer {layer}"
            yield self.deviation("link-state", port.name, found, expected)
        elif not (port.up and trained):
            if not self.blind(f"{path}/state"):
                found = f"{state or 'no state'} ({phys or 'physical state not known'})"
                yield self.deviation("link-state", port.name, found, "ACTIVE (LinkUp)")
        elif not self.blind(f"{path}/rate"):
            found = str(port.rate) if port.rate else "no rate"
            rate, mbps = self.facts.port_rate, self.facts.mbps
            if rate and port.rate != rate:
                yield self.deviation("link-rate", port.name, found)
            # Of RoCE the lanes and the word are but a way to write the sum.
            if mbps and _mbps(port) != max(mbps, MIN_ROCE_MBPS):
                yield self.deviation("link-rate", port.name, found, _gigabits(mbps))

    def interfaces(self) -> Iterator[Finding]:
        adapters = [link for link in self.links.values() if isinstance(link, Interface)]
        if not adapters:
            noun = INTERFACES.get(self.facts.technology, "Ethernet")
            yield self.deviation("link-missing", "", f"no {noun} adapter")
        up = [interface for interface in adapters if interface.up]
        right = [interface for interface in up if _is_right(interface, self.facts)]
        self.owners += right
        found = [list(self.interface(each)) for each in right or up or adapters]
        # One that is all right is the fabric; others of its speed may serve something else.
        if not right or all(found):
            yield from (deviation for several in found for deviation in several)

    def interface(self, interface: Interface) -> Iterator[Finding]:
        name, path = interface.name, f"class/net/{interface.name}"
        speed = f"{interface.speed} Mb/s" if interface.speed else "unknown speed"
        duplex = interface.duplex if interface.duplex not in ("", "unknown") else "unknown duplex"
        if not interface.up:
            if not self.blind(f"{path}/operstate"):
                yield self.deviation("link-state", name, interface.operstate or "no state")
            return
        if self.facts.mbps not in (None, interface.speed):
            if not self.blind(f"{path}/speed"):
                yield self.deviation("eth-speed", name, f"{speed} {duplex}")
        elif interface.duplex != "full" and not self.blind(f"{path}/duplex"):
            yield self.deviation("eth-duplex", name, f"{speed} {duplex}")
        mtu = self.facts.mtu
        if mtu not in (None, interface.mtu) and not self.blind(f"{path}/mtu"):
            yield self.deviation("mtu", name, str(interface.mtu or "not known"), str(mtu), "MTU")

    def slot(self, owner: Adapter | Interface) -> Iterator[Finding]:
        slot = self.node.slots.get(owner.pci, Slot(owner.pci))
        speed = self.facts.slot_speed or (slot.max_speed if slot.speed else None)
        width = self.facts.pcie_lanes or (slot.max_width if slot.width else None)
        for what, wanted, runs in (("speed", speed, slot.speed), ("width", width, slot.width)):
            right = wanted in (None, runs) or self.blind(f"{slot.address}/current_link_{what}")
            if not right and owner.device != "unreadable":
                expected = slot_text(speed, width)
                yield self.deviation(f"pcie-{what}", owner.name, str(slot), expected, "PCIe")
                return

    def unreadable(self) -> Iterator[Finding]:
        for path in self.node.unreadable:
            device = self.concerned(path.split("/"))
            if device is not None:
                found = f"/sys/{path} cannot be read"
                yield self.deviation(UNREADABLE, device, found, "a file that can be read")

    def concerned(self, path: list[str]) -> str | None:
        """Return what is judged less well without this file: "" for all; None for nothing."""
        if path[0] != "class":
            return next((owner.name for owner in self.owners if owner.pci in path), None)
        technology, declared = self.facts.technology, self.facts.devices
        of_ports, words = path[1] == "infiniband", path[2:]
        link: Link | None
        # Linux gives rates and speeds of a link that is up, and some drivers an error for others.
        if of_ports:
            name = "/".join(words[:1] + words[2:3])
            link = port = self.node.ports.get(name)
            silent = port is not None and port.down and path[-1] == "rate"
            # Of RoCE ports those that are declared; without the class, what is no interface.
            judged = technology not in INTERFACES or not {*declared} <= {*self.node.interfaces}
        else:
            name = "".join(words[:1])
            link = self.node.interfaces.get(name)
            silent = link is not None and not link.up and path[-1] in ("speed", "duplex")
            judged = technology not in PORTED
        if name and declared:
            both = [(f"{name}/", f"{device}/") for device in declared]
            judged = judged and any(a.startswith(b) or b.startswith(a) for a, b in both)
        elif link is not None:
            judged = judged and name in self.links and bool(technology or of_ports)
        return name if judged and not silent else None


def _gigabits(mbps: int | None) -> str:
    return f"{mbps / 1000:g} Gb/sec" if mbps else ""
