"""Whether a node's links are what its partition demands, and what changed between two readings.

`fabric/link_report.py` makes the `Node`; `fabric/link_facts.py` says what the facts may be.
"""

from collections.abc import Iterator, Mapping

from acceptance.fabric.counters import grown, moved
from acceptance.fabric.link_facts import ROCE_LEAST, Wanted, wanted
from acceptance.fabric.node import Adapter, Deviation, Interface, Node, Port, Slot, slot_text

#: Technologies whose links are ports, none of them an interface, and how they are written.
PORTED = {"infiniband": "InfiniBand", "omni-path": "Omni-Path"}

__all__ = ["Deviation", "deviations", "grown", "metrics", "moved", "rates", "serving"]


def deviations(node: Node, facts: Mapping[str, object]) -> list[Deviation]:
    """Compare a node with the fabric facts of its partition; raises ValueError as `wanted` does.

    With `device` exactly those are judged, of Ethernet interfaces and RoCE ports. Without: of
    InfiniBand and Omni-Path every port of theirs but those that are down, as long as one is active;
    of Ethernet one interface that is all right will do.
    """
    return list(_Judge(node, wanted(facts)).judge())


def metrics(node: Node) -> dict[str, tuple[float, str]]:
    """Return what the links that are up, and their slots, run at: name -> value, unit.

    Mbit/s before encoding, as the links' names have it: 40000 for QDR x 4, and for a slot GT/s
    times lanes. Names are like `mlx5_0_1_rate`, `eth2_rate`, `mlx5_0_pcie_rate`.
    """
    found: dict[str, float] = {}
    slots: dict[str, str] = {}
    for port in node.ports.values():
        if port.active and port.rate:
            found[f"{port.device}_{port.number}_rate"] = 1000 * port.rate.gbps
            slots[port.device] = node.adapters[port.device].pci
    for interface in node.interfaces.values():
        if interface.physical and interface.up and interface.speed:
            found[f"{interface.name}_rate"] = float(interface.speed)
            slots[interface.name] = interface.pci
    for device, address in slots.items():
        slot = node.slots.get(address)
        if slot and slot.speed and slot.width:
            found[f"{device}_pcie_rate"] = 1000 * slot.speed * slot.width
    return {_legal(name): (value, "Mbit/s") for name, value in found.items()}


def rates(node: Node, facts: Mapping[str, object]) -> list[float]:
    """Return what the links of a fabric, those of them that are up, run at in Mbit/s."""
    return [mbps for link in serving(node, facts).values() if (mbps := _mbps(link))]


def serving(node: Node, facts: Mapping[str, object]) -> dict[str, Port | Interface]:
    """Return the links of a fabric, those of them that are up, by name.

    Declared devices count, be they hardware or not (a bond, a VLAN). Without any: the ports of the
    technology; of Ethernet the adapters at the stated rate, or all where none has it.
    """
    want = wanted(facts)
    names = set(want.devices)
    found: dict[str, Port | Interface] = {
        port.name: port
        for port in node.ports.values()
        if port.active and ({port.name, port.device} & names if names else want.takes(node, port))
    }
    if want.technology in PORTED:
        return found
    up = {
        one.name: one
        for one in node.interfaces.values()
        if one.up and (one.name in names if names else one.physical and one.ethernet)
    }
    right = {} if names else {name: one for name, one in up.items() if one.speed == want.mbps}
    return {**found, **(right or up)}


def _mbps(link: Port | Interface) -> float | None:
    if isinstance(link, Interface):
        return link.speed
    return 1000 * link.rate.gbps if link.rate else None


def _legal(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)


class _Judge:
    """One node, held against what is wanted of it."""

    def __init__(self, node: Node, facts: Wanted) -> None:
        self.node, self.wanted = node, facts
        # What has the slots that count; found while the links are judged.
        self.owners: list[Adapter | Interface] = []

    def judge(self) -> list[Deviation]:
        technology = self.wanted.technology
        links = list(self.ports()) if technology != "ethernet" else []
        links += self.interfaces() if technology not in PORTED else []
        # Without a technology nothing is known of the links; of their slots it is.
        links = links if technology else []
        slots = [found for owner in self.owners for found in self.slot(owner)]
        unreadable = list(self.unreadable())
        if unreadable:
            # What could not be read may be the very adapter that seems to be missing.
            links = [found for found in links if found.kind != "no-adapter"]
        return [*unreadable, *links, *slots]

    def deviation(
        self, kind: str, device: str, found: str, expected: str = "", what: str = ""
    ) -> Deviation:
        return Deviation(self.node.name, device, what, found, expected or self.wanted.link, kind)

    def blind(self, path: str) -> bool:
        return any(f"/{unreadable}".endswith(f"/{path}") for unreadable in self.node.unreadable)

    def named(self, name: str) -> list[Port]:
        return [port for port in self.node.ports.values() if name in (port.name, port.device)]

    def ports(self) -> Iterator[Deviation]:
        ports = self.node.ports.values()
        judged = []
        for name in self.wanted.devices:
            named = self.named(name)
            judged += named
            if not named:
                yield self.deviation("no-adapter", name, "no such port")
        if not self.wanted.devices:
            judged = [port for port in ports if self.wanted.takes(self.node, port)]
            if any(port.active for port in judged):
                judged = [port for port in judged if not port.down]
            elif not judged:
                name = PORTED.get(self.wanted.technology, "InfiniBand")
                what = "port" if self.node.adapters else "adapter"
                yield self.deviation("no-adapter", "", f"no {name} {what}")
        yield from self.judged(judged)

    def judged(self, ports: list[Port]) -> Iterator[Deviation]:
        self.owners += [
            self.node.adapters[name] for name in dict.fromkeys(port.device for port in ports)
        ]
        for port in ports:
            yield from self.port(port)

    def port(self, port: Port) -> Iterator[Deviation]:
        path = f"{port.device}/ports/{port.number}"
        state, phys = (text.partition(": ")[2] for text in (port.state, port.phys_state))
        trained = port.phys_state[:2] in ("5:", "")
        layer = "Ethernet" if self.wanted.technology == "ethernet" else "InfiniBand"
        if (port.link_layer or "InfiniBand") != layer:
            found, expected = f"link layer {port.link_layer or 'InfiniBand'}", f"link layer {layer}"
            yield self.deviation("port-state", port.name, found, expected)
        elif not (port.active and trained):
            if not self.blind(f"{path}/state"):
                found = f"{state or 'no state'} ({phys or 'physical state not known'})"
                yield self.deviation("port-state", port.name, found, "ACTIVE (LinkUp)")
        elif not self.blind(f"{path}/rate"):
            found = str(port.rate) if port.rate else "no rate"
            if self.wanted.rate and port.rate != self.wanted.rate:
                yield self.deviation("port-rate", port.name, found)
            # Of RoCE the lanes and the word are but a way to write the sum.
            if self.wanted.mbps and _mbps(port) != max(self.wanted.mbps, ROCE_LEAST):
                expected = f"{self.wanted.mbps / 1000:g} Gb/sec"
                yield self.deviation("port-rate", port.name, found, expected)

    def interfaces(self) -> Iterator[Deviation]:
        if self.wanted.devices:
            judged = []
            for name in self.wanted.devices:
                if name in self.node.interfaces:
                    judged.append(self.node.interfaces[name])
                elif ports := self.named(name) if self.wanted.technology else []:
                    yield from self.judged(ports)
                else:
                    yield self.deviation("no-adapter", name, "no such interface")
            self.owners += [interface for interface in judged if interface.physical]
            for interface in judged:
                yield from self.interface(interface)
            return
        real = [one for one in self.node.interfaces.values() if one.physical and one.ethernet]
        if not real:
            yield self.deviation("no-adapter", "", "no Ethernet adapter")
        up = [one for one in real if one.up]
        right = [one for one in up if self.wanted.mbps in (None, one.speed)]
        self.owners += right
        found = [list(self.interface(one)) for one in right or up or real]
        # One that is all right is the fabric; others of its speed may serve something else.
        if not right or all(found):
            yield from (deviation for each in found for deviation in each)

    def interface(self, one: Interface) -> Iterator[Deviation]:
        path = f"class/net/{one.name}"
        speed = f"{one.speed} Mb/s" if one.speed else "unknown speed"
        duplex = one.duplex if one.duplex not in ("", "unknown") else "unknown duplex"
        if not one.up:
            if not self.blind(f"{path}/operstate"):
                yield self.deviation("port-state", one.name, one.operstate or "no state")
            return
        if self.wanted.mbps not in (None, one.speed):
            if not self.blind(f"{path}/speed"):
                yield self.deviation("interface-speed", one.name, f"{speed} {duplex}")
        elif one.duplex != "full" and not self.blind(f"{path}/duplex"):
            yield self.deviation("duplex", one.name, f"{speed} {duplex}")
        mtu = self.wanted.mtu
        if mtu not in (None, one.mtu) and not self.blind(f"{path}/mtu"):
            yield self.deviation("mtu", one.name, str(one.mtu or "not known"), str(mtu), "MTU")

    def slot(self, owner: Adapter | Interface) -> Iterator[Deviation]:
        slot = self.node.slots.get(owner.pci, Slot(owner.pci))
        speed = self.wanted.pcie or (slot.max_speed if slot.speed else None)
        width = self.wanted.pcie_lanes or (slot.max_width if slot.width else None)
        slow = speed not in (None, slot.speed) and not self.blind(
            f"{slot.address}/current_link_speed"
        )
        narrow = width not in (None, slot.width) and not self.blind(
            f"{slot.address}/current_link_width"
        )
        if owner.device != "unreadable" and (slow or narrow):
            kind = "slot-speed" if slow else "slot-width"
            expected = slot_text(speed, width)
            yield self.deviation(kind, owner.name, str(slot), expected, "PCIe")

    def unreadable(self) -> Iterator[Deviation]:
        for path in self.node.unreadable:
            device = self.concerned(path.split("/"))
            if device is not None:
                found = f"/sys/{path} cannot be read"
                yield self.deviation("unreadable", device, found, "a file that can be read")

    def concerned(self, path: list[str]) -> str | None:
        """Return what is judged less well without this file: "" for all; None for nothing."""
        technology, declared = self.wanted.technology, self.wanted.devices
        if path[:2] == ["class", "infiniband"]:
            name = "/".join(path[2:3] + path[4:5])
            above = any(f"{name}/".startswith(f"{one}/") for one in declared)
            below = any(f"{one}/".startswith(f"{name}/") for one in declared)
            port = self.node.ports.get(name)
            if port is not None and port.down and path[-1] == "rate":
                # Some drivers have none then.
                return None
            if technology == "ethernet":
                # Of RoCE ports those that are declared; without the class, what is no interface.
                judged = not name and not set(declared) <= set(self.node.interfaces)
            else:
                other = port is not None and not self.wanted.takes(self.node, port)
                judged = not name or not (declared or other)
            return name if above or below or judged else None
        if path[:2] == ["class", "net"]:
            name = "".join(path[2:3])
            if technology in PORTED or (name and declared and name not in declared):
                return None
            if name not in self.node.interfaces:
                return name
            one = self.node.interfaces[name]
            # Linux gives these of a link that is up, and an error else.
            silent = path[3] in ("speed", "duplex") and not one.up
            judged = name in declared or (one.physical and one.ethernet)
            return name if technology and judged and not silent else None
        return next((owner.name for owner in self.owners if owner.pci in path), None)
