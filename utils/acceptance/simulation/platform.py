"""The platform of a simulation: hosts, links and the ways between hosts, made of stated facts.

What a simulated case finds in its folder: the platform, and the host of each rank.

The parameters of the model are one set for each technology, each with its source. "assumed": no
source is known, or it is of something else; results that hang on it say nothing of any machine.
What a parameter was taken from is no test of the model.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import structs

from acceptance.core.errors import Fault
from acceptance.fabric import Facts, limits
from acceptance.machine import Layout
from acceptance.machine.placement import HOST_FILE, PLATFORM_FILE

_RATES_OF_2009 = ("SDR", "DDR", "QDR")


#: 256 bytes of payload with 20 around it (fabric/rates.py); 4 of flow control are assumed.
_PAYLOAD = 256 / 280


@dataclass(frozen=True)
class Parameters:
    """What the facts of a partition do not say.

    Times are in us and one way, bandwidths in MB/s (10^6 bytes a second). `latency` is that of an
    empty MPI message between two nodes; `switch` is added on the way through a tree, once for each
    switch; `slow_slot` for each end in a slot of PCI Express 1.x. `slot_share` is what is left of
    the encoded rate of a slot (the lanes after 8b/10b or 128b/130b), `mtu` in bytes that of links
    whose facts state none. `memory` and `memory_latency` are those of messages inside a node.
    """

    latency: float
    switch: float
    mtu: int
    slow_slot: float = 0.0  # assumed: part of the latency
    slot_share: float = _PAYLOAD
    memory: float = 5000.0  # assumed
    memory_latency: float = 0.5  # assumed


#: InfiniBand of 2003 to 2010.
INFINIBAND = Parameters(
    latency=1.06,  # koop2008, Section 5.1: 1.06 us, of 1 byte, QDR on PCIe 2.0
    switch=0.2,  # assumed
    mtu=2048,  # assumed: 4096 is the largest one of the specification
    slow_slot=0.1,  # koop2008, Section 5.1: PCIe 2.0 takes some 0.2 us off; half an end: assumed
    # koop2008: 1301 MB/s, DDR on PCIe 1.1 (Section 5.1), of 2 GB/s (Section 4); of PCIe 2.0 assumed
    slot_share=0.65,
)
#: InfiniBand FDR and later, RoCE, Omni-Path, Slingshot.
MODERN = Parameters(
    latency=1.0,  # assumed; Lenovo Press LP1195: less than 0.6 us of ConnectX-6, without MPI
    switch=0.13,  # assumed
    mtu=4096,  # the largest one of InfiniBand (fabric/rates.py); of other technologies assumed
    slow_slot=0.1,  # assumed: that of InfiniBand on PCIe 1.1
    memory=10000.0,  # assumed
    memory_latency=0.3,  # assumed
)
#: Ethernet of 10 Gb/s and more. MPI over iWARP in the source, not over TCP.
ETHERNET = Parameters(
    latency=8.23,  # kandadai2009, Table 5: 8.23 us over 10 Gb/s (iWARP); of faster ones assumed
    switch=0.5,  # assumed
    mtu=9000,  # assumed: jumbo frames
)
#: Ethernet up to 5 Gb/s: TCP, in frames of 1500 bytes.
GIGABIT = Parameters(
    latency=46.52,  # kandadai2009, Table 5: 46.52 us over 1 Gb/s; of faster ones assumed
    switch=2.0,  # assumed
    mtu=1500,  # IEEE 802.3: 1500 bytes in a frame
)


def parameters_of(facts: Facts) -> Parameters:
    """Return the parameters of a fabric; raises Fault where there are none."""
    if facts.technology == "infiniband":
        return INFINIBAND if facts.rate in _RATES_OF_2009 else MODERN
    if facts.technology in ("roce", "omni-path", "slingshot"):
        return MODERN
    if facts.technology == "ethernet":
        return GIGABIT if facts.rate is not None and float(facts.rate) <= 5 else ETHERNET
    raise Fault(f"{facts.technology}: no parameters are known to simulate it with")


#: Hosts of a platform at most: each pair has a route in the file, 200 bytes each.
MOST_HOSTS = 2048
#: What makes SimGrid a plain model: no computation, and messages take latency and bandwidth alone.
#: `lat-factor` written as 1 crashes SimGrid 3.32.
SETTINGS = {
    "smpi/simulate-computation": "no",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "network/weight-S": "0",
    "smpi/lat-factor": "0:1",
    "smpi/bw-factor": "0:1",
}


@dataclass(frozen=True)
class Link:
    """A link: MB/s (10^6 bytes a second) and us of one direction.

    `SPLITDUPLEX`: each direction has the bandwidth, shared by all messages on it; `FATPIPE`: each
    message has it. `loss` is the fraction of packets that are sent again, which take the bandwidth.
    """

    name: str
    bandwidth: float
    latency: float
    sharing: Literal["SPLITDUPLEX", "FATPIPE"] = "SPLITDUPLEX"
    loss: float = 0.0


@dataclass(frozen=True)
class Tree:
    """A fat tree of two levels: hosts of a leaf switch, and spine switches above all leaves."""

    leaf: int
    spines: int


@dataclass(frozen=True)
class Platform:
    """Hosts and links; `tree` says how they hang together, None: one switch between all hosts.

    A host `n3` has the links `n3-slot` (its PCI Express slot), `n3-cable` and `n3-memory` (messages
    inside it); without a slot in the facts there is none. The uplink of leaf 2 to spine 5 is
    `leaf2-up5`. Messages to host j take the spine j modulo their number. With `loopback` messages
    inside a host take its slot, or cable, instead of its memory, and as long as between two hosts
    without a switch (assumed; `n3-adapter`). `cores` are those of a host.
    """

    hosts: tuple[str, ...]
    links: tuple[Link, ...]
    tree: Tree | None = None
    cores: int = 1
    loopback: bool = False

    @classmethod
    def of(
        cls,
        facts: Facts | None,
        nodes: int,
        *,
        cores: int = 1,
        tree: Tree | None = None,
        loopback: bool = False,
        parameters: Parameters | None = None,
    ) -> "Platform":
        """Make a platform of a partition's facts; raises Fault for what cannot be.

        Of a link its rate is required; where nothing is stated of slots they bound nothing.
        """
        if facts is None:
            raise Fault('the partition states no "fabric" in its `extras`')
        if not 0 < nodes <= MOST_HOSTS:
            raise Fault(f"{nodes} nodes; a simulation has 1 to {MOST_HOSTS}")
        model = parameters or parameters_of(facts)
        links = [*_of_hosts(facts, nodes, model, tree, loopback=loopback)]
        if tree is not None:
            if tree.leaf < 1 or tree.spines < 1 or nodes % tree.leaf:
                raise Fault(
                    f"a fat tree of {nodes} nodes, {tree.leaf} a leaf, with {tree.spines} spines "
                    "cannot be routed: whole leaves and a spine are required"
                )
            cable = _cable(facts, model)
            links += (
                Link(f"leaf{leaf}-up{spine}", cable, model.switch)
                for leaf in range(nodes // tree.leaf)
                for spine in range(tree.spines)
            )
        return cls(tuple(f"n{k}" for k in range(nodes)), tuple(links), tree, cores, loopback)

    def link(self, name: str) -> Link:
        """Return a link; raises Fault where there is none of this name."""
        for link in self.links:
            if link.name == name:
                return link
        raise Fault(f"the platform has no link {name!r}")

    def route(self, sender: int, receiver: int) -> list[tuple[str, str]]:
        """Return the links from host to host (their numbers) with the direction: UP or DOWN."""
        start, end = self.hosts[sender], self.hosts[receiver]
        out, back = self._ends(start), self._ends(end)
        if sender == receiver:
            if not self.loopback:
                return [(f"{start}-memory", "")]
            adapter = [(f"{start}-adapter", "")] if self._has_slots else []
            return [(out[0], "UP"), *adapter, (out[0], "DOWN")]
        middle: list[tuple[str, str]] = []
        if self.tree and sender // self.tree.leaf != receiver // self.tree.leaf:
            spine = receiver % self.tree.spines
            middle = [
                (f"leaf{sender // self.tree.leaf}-up{spine}", "UP"),
                (f"leaf{receiver // self.tree.leaf}-up{spine}", "DOWN"),
            ]
        down = [(name, "DOWN") for name in reversed(back)]
        return [*((name, "UP") for name in out), *middle, *down]

    def _ends(self, host: str) -> list[str]:
        slot = f"{host}-slot"
        return [slot, f"{host}-cable"] if self._has_slots else [f"{host}-cable"]

    @property
    def _has_slots(self) -> bool:
        return self.links[0].name == f"{self.hosts[0]}-slot"

    def lines(self, used: Collection[str] = ()) -> Iterator[str]:
        """Yield the lines of the platform's file, in the form of SimGrid's version 4.1.

        Routes are those between the `used` hosts, none for all.
        """
        yield "<?xml version='1.0'?>"
        yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
        yield '<platform version="4.1">'
        yield "<config>"
        yield from (f'<prop id="{key}" value="{value}"/>' for key, value in SETTINGS.items())
        yield "</config>"
        yield '<zone id="fabric" routing="Full">'
        yield from (f'<host id="{name}" speed="1Gf" core="{self.cores}"/>' for name in self.hosts)
        for link in self.links:
            rate = link.bandwidth * (1 - link.loss)
            yield (
                f'<link id="{link.name}" bandwidth="{rate:.6f}MBps" '
                f'latency="{link.latency:.6f}us" sharing_policy="{link.sharing}"/>'
            )
        numbers = [n for n, host in enumerate(self.hosts) if not used or host in used]
        for sender, receiver in ((i, j) for i in numbers for j in numbers):
            way = "".join(
                f'<link_ctn id="{name}"{direction and f" direction={direction!r}"}/>'
                for name, direction in self.route(sender, receiver)
            )
            start, end = self.hosts[sender], self.hosts[receiver]
            yield f'<route src="{start}" dst="{end}" symmetrical="NO">{way}</route>'
        yield "</zone>"
        yield "</platform>"


def _cable(facts: Facts, model: Parameters) -> float:
    """Return what all ports of a node carry, in MB/s."""
    bound = limits.link(structs.replace(facts, mtu=facts.mtu or model.mtu))
    if bound is None:
        needed = "rate and lanes" if facts.technology == "infiniband" else "rate"
        raise Fault(f"{facts.text}: its {needed} must be stated to be simulated")
    return bound.value


def _slot(facts: Facts, model: Parameters) -> tuple[float, float] | None:
    """Return bandwidth (MB/s) and latency (us) of a node's slots; None where none is stated."""
    bound = limits.encoded_slot(facts)
    if bound is None:
        return None
    slow = model.slow_slot if (facts.pcie or "").startswith("1.") else 0.0
    return bound.value * model.slot_share, slow


def _of_hosts(
    facts: Facts, nodes: int, model: Parameters, tree: Tree | None, *, loopback: bool
) -> Iterator[Link]:
    cable, slot = _cable(facts, model), _slot(facts, model)
    # Through one switch at least, where there is a tree; half of the latency at each end.
    latency = (model.latency + (model.switch if tree else 0.0)) / 2
    for number in range(nodes):
        if slot is not None:
            yield Link(f"n{number}-slot", *slot)
            if loopback:
                # SimGrid gives up where a way has no latency at all.
                yield Link(f"n{number}-adapter", slot[0], model.latency, "FATPIPE")
        yield Link(f"n{number}-cable", cable, latency)
        yield Link(f"n{number}-memory", model.memory, model.memory_latency, "FATPIPE")


@dataclass(frozen=True)
class SimulatedRun:
    """What one case runs on: the stated facts, the platform, and the host of each rank."""

    facts: Facts
    platform: Platform
    ranks: tuple[str, ...]

    @classmethod
    def of(cls, facts: Facts, platform: Platform, layout: Layout) -> "SimulatedRun":
        """Put the ranks of a layout on the hosts of a platform."""
        nodes = layout.nodes
        numbers = (
            rank % nodes if layout.mapping == "cyclic" else rank // layout.per_node
            for rank in range(layout.processes)
        )
        return cls(facts, platform, tuple(platform.hosts[number] for number in numbers))


def write(folder: Path, run: SimulatedRun) -> None:
    """Write the files that `smpirun` reads; all platforms are written here, and nowhere else."""
    with (folder / PLATFORM_FILE).open("w") as file:
        file.writelines(f"{line}\n" for line in run.platform.lines({*run.ranks}))
    (folder / HOST_FILE).write_text("".join(f"{host}\n" for host in run.ranks))
