"""Whether the links of a node are what the facts of its fabric demand."""

from collections.abc import Iterator

from acceptance.core.findings import Observation
from acceptance.fabric.counters import ERRORS
from acceptance.fabric.facts import Facts
from acceptance.fabric.node import Adapter, Interface, NodeLinks, Port, Slot, deviation, slot_text
from acceptance.fabric.rates import MIN_ROCE_MBPS, PORTED

#: The kind of a counter that stands above zero.
STANDING = "link-counters"
#: How the names of the drivers of Omni-Path's adapters begin (hfi1).
_OMNI_PATH_DRIVER = "hfi"
#: Facts that demand nothing: of links that Linux does not show, and where no fabric is stated.
_NO_FACTS = Facts(technology="")


def deviations(node: NodeLinks, facts: Facts | None) -> list[Observation]:
    """Compare a node with the facts of its fabric; without any only slots are judged.

    With `device` exactly those links are judged, of Ethernet interfaces and RoCE ports. Without: of
    technologies with ports every port of theirs but those that are down, as long as one is active;
    of Ethernet one interface that is all right will do.
    """
    return _Comparison(node, facts).deviations()


def rates(node: NodeLinks, facts: Facts | None) -> list[float]:
    """Return what the links of a fabric, those of them that are up, run at in Mbit/s."""
    return [mbps for link in serving(node, facts).values() if (mbps := _mbps(link))]


def serving(node: NodeLinks, facts: Facts | None) -> dict[str, Port | Interface]:
    """Return the links of a fabric, those of them that are up, by name.

    Declared devices count, be they hardware or not (a bond, a VLAN). Without any: the ports of the
    technology; of Ethernet the adapters at the stated rate, or all where none has it.
    """
    facts = _demands(facts)
    names = set(facts.devices)
    ports: dict[str, Port | Interface] = {
        port.name: port
        for port in node.ports.values()
        if port.active
        and ({port.name, port.device} & names if names else _is_of(facts.technology, node, port))
    }
    if facts.technology in PORTED:
        return ports
    up = {
        interface.name: interface
        for interface in node.interfaces.values()
        if interface.up and (interface.name in names if names else _is_adapter(interface))
    }
    if names:
        return {**ports, **up}
    right = {name: each for name, each in up.items() if facts.mbps in (None, each.speed)}
    return {**ports, **(right or up)}


def standing(node: NodeLinks, facts: Facts | None) -> list[Observation]:
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


def _demands(facts: Facts | None) -> Facts:
    return facts if facts and facts.shown else _NO_FACTS


def _is_of(technology: str, node: NodeLinks, port: Port) -> bool:
    """Tell whether a port is of a technology, and not of the one that looks like it."""
    if technology == "roce":
        return not port.infiniband
    driver = node.adapters[port.device].driver
    looks = "omni-path" if driver.startswith(_OMNI_PATH_DRIVER) else "infiniband"
    return port.infiniband and technology in ("", looks)


def _is_adapter(interface: Interface) -> bool:
    return interface.physical and interface.ethernet


def _mbps(link: Port | Interface) -> float | None:
    if isinstance(link, Interface):
        return link.speed
    return 1000 * link.rate.gbps if link.rate else None


class _Comparison:
    """One node, compared with the facts of its fabric."""

    def __init__(self, node: NodeLinks, facts: Facts | None) -> None:
        self.node, self.facts = node, _demands(facts)
        # What has the slots that count; found while the links are judged.
        self.owners: list[Adapter | Interface] = []

    def deviations(self) -> list[Observation]:
        technology = self.facts.technology
        links = list(self.ports()) if technology != "ethernet" else []
        links += self.interfaces() if technology not in PORTED else []
        # Without a technology nothing is known of the links; of their slots it is.
        links = links if technology else []
        slots = [deviation for owner in self.owners for deviation in self.slot(owner)]
        unreadable = list(self.unreadable())
        if unreadable:
            # What could not be read may be the very adapter that seems to be missing.
            links = [deviation for deviation in links if deviation.kind != "link-missing"]
        return [*unreadable, *links, *slots]

    def deviation(
        self, kind: str, device: str, found: str, expected: str = "", what: str = ""
    ) -> Observation:
        return deviation(self.node.name, device, what, found, expected or self.link, kind)

    @property
    def link(self) -> str:
        """Write what a link should be: `40 Gb/sec (4X QDR)`, `10000 Mb/s full`."""
        mbps = self.facts.mbps
        if self.facts.technology == "ethernet":
            return f"{mbps} Mb/s full" if mbps else "full duplex"
        return str(self.facts.port_rate or _gigabits(mbps) or "an active port")

    def blind(self, path: str) -> bool:
        return any(f"/{unreadable}".endswith(f"/{path}") for unreadable in self.node.unreadable)

    def named(self, name: str) -> list[Port]:
        return [port for port in self.node.ports.values() if name in (port.name, port.device)]

    def ports(self) -> Iterator[Observation]:
        ports = self.node.ports.values()
        judged = []
        for name in self.facts.devices:
            named = self.named(name)
            judged += named
            if not named:
                yield self.deviation("link-missing", name, "no such port")
        if not self.facts.devices:
            judged = [port for port in ports if _is_of(self.facts.technology, self.node, port)]
            if any(port.active for port in judged):
                judged = [port for port in judged if not port.down]
            elif not judged:
                name = PORTED.get(self.facts.technology, "InfiniBand")
                what = "port" if self.node.adapters else "adapter"
                yield self.deviation("link-missing", "", f"no {name} {what}")
        yield from self.judged(judged)

    def judged(self, ports: list[Port]) -> Iterator[Observation]:
        self.owners += [
            self.node.adapters[name] for name in dict.fromkeys(port.device for port in ports)
        ]
        for port in ports:
            yield from self.port(port)

    def port(self, port: Port) -> Iterator[Observation]:
        path = f"{port.device}/ports/{port.number}"
        state, phys = (text.partition(": ")[2] for text in (port.state, port.phys_state))
        trained = port.phys_state[:2] in ("5:", "")
        layer = "Ethernet" if self.facts.technology in ("ethernet", "roce") else "InfiniBand"
        if (port.link_layer or "InfiniBand") != layer:
            found, expected = f"link layer {port.link_layer or 'InfiniBand'}", f"link layer {layer}"
            yield self.deviation("link-state", port.name, found, expected)
        elif not (port.active and trained):
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

    def interfaces(self) -> Iterator[Observation]:
        if self.facts.devices:
            yield from self.declared_interfaces()
            return
        adapters = [each for each in self.node.interfaces.values() if _is_adapter(each)]
        if not adapters:
            yield self.deviation("link-missing", "", "no Ethernet adapter")
        up = [interface for interface in adapters if interface.up]
        right = [each for each in up if self.facts.mbps in (None, each.speed)]
        self.owners += right
        found = [list(self.interface(each)) for each in right or up or adapters]
        # One that is all right is the fabric; others of its speed may serve something else.
        if not right or all(found):
            yield from (deviation for several in found for deviation in several)

    def declared_interfaces(self) -> Iterator[Observation]:
        judged = []
        for name in self.facts.devices:
            if name in self.node.interfaces:
                judged.append(self.node.interfaces[name])
            elif ports := self.named(name):
                yield from self.judged(ports)
            else:
                yield self.deviation("link-missing", name, "no such interface")
        self.owners += [interface for interface in judged if interface.physical]
        for interface in judged:
            yield from self.interface(interface)

    def interface(self, interface: Interface) -> Iterator[Observation]:
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

    def slot(self, owner: Adapter | Interface) -> Iterator[Observation]:
        slot = self.node.slots.get(owner.pci, Slot(owner.pci))
        speed = self.facts.slot_speed or (slot.max_speed if slot.speed else None)
        width = self.facts.pcie_lanes or (slot.max_width if slot.width else None)
        slow = speed not in (None, slot.speed) and not self.blind(
            f"{slot.address}/current_link_speed"
        )
        narrow = width not in (None, slot.width) and not self.blind(
            f"{slot.address}/current_link_width"
        )
        if owner.device != "unreadable" and (slow or narrow):
            kind = "pcie-speed" if slow else "pcie-width"
            expected = slot_text(speed, width)
            yield self.deviation(kind, owner.name, str(slot), expected, "PCIe")

    def unreadable(self) -> Iterator[Observation]:
        for path in self.node.unreadable:
            device = self.concerned(path.split("/"))
            if device is not None:
                found = f"/sys/{path} cannot be read"
                yield self.deviation("link-unreadable", device, found, "a file that can be read")

    def concerned(self, path: list[str]) -> str | None:
        """Return what is judged less well without this file: "" for all; None for nothing."""
        if path[:2] == ["class", "infiniband"]:
            return self.concerned_port(path)
        if path[:2] == ["class", "net"]:
            return self.concerned_interface(path)
        return next((owner.name for owner in self.owners if owner.pci in path), None)

    def concerned_port(self, path: list[str]) -> str | None:
        technology, declared = self.facts.technology, self.facts.devices
        name = "/".join(path[2:3] + path[4:5])
        above = any(f"{name}/".startswith(f"{device}/") for device in declared)
        below = any(f"{device}/".startswith(f"{name}/") for device in declared)
        port = self.node.ports.get(name)
        if port is not None and port.down and path[-1] == "rate":
            # Some drivers have none then.
            return None
        if technology == "ethernet":
            # Of RoCE ports those that are declared; without the class, what is no interface.
            judged = not name and not set(declared) <= set(self.node.interfaces)
        else:
            other = port is not None and not _is_of(technology, self.node, port)
            judged = not name or not (declared or other)
        return name if above or below or judged else None

    def concerned_interface(self, path: list[str]) -> str | None:
        technology, declared = self.facts.technology, self.facts.devices
        name = "".join(path[2:3])
        if technology in PORTED or (name and declared and name not in declared):
            return None
        if name not in self.node.interfaces:
            return name
        interface = self.node.interfaces[name]
        # Linux gives these of a link that is up, and an error for others.
        silent = path[3] in ("speed", "duplex") and not interface.up
        judged = name in declared or _is_adapter(interface)
        return name if technology and judged and not silent else None


def _gigabits(mbps: int | None) -> str:
    return f"{mbps / 1000:g} Gb/sec" if mbps else ""
