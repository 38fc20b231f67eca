"""Which of a node's adapters is its fabric, as facts of a partition; nothing is made up."""

import re
from dataclasses import dataclass, field

from acceptance.core.text import natural
from acceptance.fabric import Interface, NodeLinks, Port, Slot, rates, slot_text
from acceptance.site.init.probe import Probe

#: Driver of an adapter or interface -> a fabric that is not what its link layer says.
_DRIVERS = {"hfi1": "omni-path", "cxi_core": "slingshot", "cxi_ss1": "slingshot"}
#: Linux, linux/if_arp.h: bridges and tunnels have the number of Ethernet, or others.
_SOFTWARE = re.compile(r"(br|virbr|docker|veth|vnet|tap|tun|lo|cni|flannel|cali|dummy)[-\d]*\Z")
_NEED = "technology, rate, lanes, pcie, pcie_lanes, device (config/README.md)"


@dataclass(frozen=True)
class Fabric:
    """The facts of a fabric for `extras["fabric"]`, and what makes MPIs take it.

    `notes` say where the facts come from, `todo` what a human must fill in, `link` what the link
    says of itself.
    """

    facts: dict[str, str | int] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class _Link:
    """A link that is up: `mbps` in Mbit/s; of several equals the one with the lower rank comes."""

    name: str
    mbps: float
    rank: int
    thing: Port | Interface
    text: str

    @property
    def order(self) -> tuple[float, int, list[int | str]]:
        return -self.mbps, self.rank, natural(self.name)


def fabric(probe: Probe, *, own: bool = False) -> Fabric:
    """Return the facts of the fastest link of a node that is up.

    Without any hardware (containers, namespaces) the speed of an interface is whatever its driver
    says, and no fact: then one comes first that does not lead to Slurm's own address. Of the `own`
    machine, which no job looked at, such an interface may be anybody's, and none is taken.
    """
    node = probe.node
    links = sorted([*_ports(node), *_interfaces(node)], key=lambda link: link.order)
    if own and not (links or node.ports or any(each.physical for each in node.interfaces.values())):
        return Fabric(todo=tuple(_blind(node)))
    virtual = not (links or own)
    if virtual:
        links = sorted(
            _interfaces(node, physical=False),
            key=lambda link: (link.name == probe.control, link.order),
        )
    if not links:
        return Fabric(todo=(f"no link is up that tells its speed: {_NEED}", *_blind(node)))
    first, *others = links
    notes = [f"the fastest link that is up: {first.text}"]
    if virtual:
        notes = [f"no link is hardware; taken: {first.text}"]
        if probe.control in [link.name for link in others]:
            notes[0] += f", as Slurm itself takes {probe.control}"
    if others:
        notes.append("also up: " + "; ".join(link.text for link in others))
    made = _of_port(node, first) if isinstance(first.thing, Port) else _of_interface(node, first)
    facts, todo = made.facts, list(made.todo)
    if virtual and (rate := facts.get("rate")):
        facts = {key: value for key, value in facts.items() if key != "rate"}
        todo.append(
            f'rate: "{rate}" if it is true; no hardware stands behind what {first.name} says'
        )
    notes += made.notes
    return Fabric(facts, made.variables, tuple(notes), (*todo, *_blind(node)), first.text)


def _ports(node: NodeLinks) -> list[_Link]:
    links = []
    for port in node.ports.values():
        if port.active and port.rate:
            layer = _DRIVERS.get(node.adapters[port.device].driver)
            layer = layer or ("InfiniBand" if port.infiniband else "RoCE")
            rank, text = int(not port.infiniband), f"{port.name} ({layer}, {port.rate})"
            links.append(_Link(port.name, 1000 * port.rate.gbps, rank, port, text))
    return links


def _interfaces(node: NodeLinks, physical: bool = True) -> list[_Link]:
    return [
        _Link(card.name, float(card.speed), 2, card, f"{card.name} ({card.speed} Mb/s)")
        for card in node.interfaces.values()
        if card.up
        and card.speed
        and card.ethernet
        and card.physical == physical
        and (physical or not _SOFTWARE.match(card.name))
    ]


def _of_port(node: NodeLinks, link: _Link) -> Fabric:
    port = link.thing
    assert isinstance(port, Port)
    adapter = node.adapters[port.device]
    slot, notes, todo = _slot(node, adapter.pci)
    facts: dict[str, str | int]
    if technology := _DRIVERS.get(adapter.driver):
        facts, more = _stated(technology, link)
        return Fabric({**facts, **slot}, {}, tuple(notes), (*todo, *more))
    if not port.infiniband:
        facts, more = _stated("ethernet", link)
        return Fabric({**facts, **slot, "device": port.name}, {}, tuple(notes), (*todo, *more))
    facts = {"technology": "infiniband"}
    rate = port.rate
    if rate and rate.word == "HDR" and rate.lanes == rates.HDR100_LANES:
        facts |= {"rate": "HDR100", "lanes": rate.lanes}
    elif rate and rate.word in rates.INFINIBAND and rate.lanes in rates.INFINIBAND_LANES:
        facts |= {"rate": rate.word, "lanes": rate.lanes}
    else:
        todo.append(f"rate, lanes: {rate} is not known here")
    # UCX (MPICH, Open MPI), and MVAPICH2, which takes the adapter only.
    variables = {
        "UCX_NET_DEVICES": f"{port.device}:{port.number}",
        "MV2_IBA_HCA": port.device,
    }
    return Fabric({**facts, **slot, "device": port.name}, variables, tuple(notes), tuple(todo))


def _of_interface(node: NodeLinks, link: _Link) -> Fabric:
    card = link.thing
    assert isinstance(card, Interface)
    technology = _DRIVERS.get(card.driver, "ethernet")
    slot, notes, todo = _slot(node, card.pci) if card.pci else ({}, [], [])
    facts, more = _stated(technology, link)
    facts |= {**slot, "device": card.name}
    if technology != "ethernet":
        return Fabric(facts, {}, tuple(notes), (*todo, *more))
    if card.mtu:
        facts["mtu"] = card.mtu
    # libfabric (Intel MPI, MPICH), UCX (MPICH), Open MPI.
    variables = {
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": card.name,
        "UCX_NET_DEVICES": card.name,
        "OMPI_MCA_btl_tcp_if_include": card.name,
    }
    return Fabric(facts, variables, tuple(notes), (*todo, *more))


def _stated(technology: str, link: _Link) -> tuple[dict[str, str | int], list[str]]:
    """Return technology and rate; a rate without a formula (a bond of two) is for a human."""
    rate = f"{link.mbps / 1000:g}"
    if rate in rates.PORTS[technology]:
        return {"technology": technology, "rate": rate}, []
    return {"technology": technology}, [f"rate: {rate} Gb/s is none of {technology}"]


def _slot(node: NodeLinks, address: str) -> tuple[dict[str, str | int], list[str], list[str]]:
    """Return what the adapter of a slot can do at most, and whether it does."""
    slot = node.slots.get(address)
    if slot is None or not (slot.max_speed and slot.max_width):
        return {}, [], ["pcie, pcie_lanes: the node does not tell what the adapter's slot can do"]
    facts: dict[str, str | int] = {}
    todo = []
    if slot.max_speed in rates.GENERATIONS:
        facts["pcie"] = rates.GENERATIONS[slot.max_speed]
    else:
        todo.append(f"pcie: {slot.max_speed:g} GT/s is not known here")
    if slot.max_width in rates.PCIE_LANES:
        facts["pcie_lanes"] = slot.max_width
    if (slot.speed, slot.width) != (slot.max_speed, slot.max_width):
        most = slot_text(slot.max_speed, slot.max_width)
        todo.append(
            f"pcie, pcie_lanes: the adapter can do {most}, but runs at {slot}; write what it should"
        )
    return facts, [_slot_note(slot)], todo


def _slot_note(slot: Slot) -> str:
    return f"slot {slot.address}: {slot_text(slot.max_speed, slot.max_width)} at most"


def _blind(node: NodeLinks) -> list[str]:
    """Return what could not be looked at and matters."""
    return [
        f"the node's /sys/class/{name} cannot be read: what is in there is missing here"
        for name, how in node.classes.items()
        if how == "unreadable"
    ]
