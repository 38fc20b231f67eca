"""The limits that the facts of a fabric set: bandwidths of link and slot, a floor of the latency.

Every bound here is an upper one, in one direction: of the overheads only those count that no device
can leave out. What the facts do not say is not guessed: the limit that needs it is then unknown.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from acceptance.core.words import RATES
from acceptance.fabric import rates
from acceptance.fabric.facts import Facts

#: A Gb/s in MB/s (10^6 bytes a second).
_GBIT = Fraction(1000, 8)
#: us of a metre: light in vacuum. In glass it is 0.005, in copper less, but this is a floor.
METRE = 1 / 299.792458
#: us that two adapters and their slots take of any message, at least: half of the 0.6 that a maker
#: prints for the fastest ones, of InfiniBand, RoCE and Ethernet (NVIDIA's brief of ConnectX-6,
#: "sub-600 nanosecond"). Papers measured 1 to 2 with those of 2008 (koop2008, kandadai2009), and no
#: maker prints less for Omni-Path and Slingshot. Of others, whose adapters may be part of the
#: processor, nothing is known.
ADAPTERS = dict.fromkeys(("infiniband", "roce", "ethernet", "omni-path", "slingshot"), 0.3)
#: By how much a true measurement may exceed a limit: clocks are off by up to 0.03 % (PCI Express),
#: programs count what is still in a buffer, papers round; the rest is not to cry wolf.
SLACK = 0.02


@dataclass(frozen=True)
class Bound:
    """A bandwidth (MB/s) that cannot be exceeded, and the formula that it comes from.

    The formula reads like `4 lanes x 10 Gb/s x 8/10 x 4096/4122`.
    """

    value: float
    formula: str


@dataclass(frozen=True)
class Limit:
    """Upper bounds of what a node sends, or receives; None: unknown, and `note` says why."""

    link: Bound | None
    pcie: Bound | None
    note: str

    @property
    def binds(self) -> Literal["link", "pcie"] | None:
        """Tell which bound is the smaller one, or the only one that is known."""
        if self.pcie and (self.link is None or self.pcie.value < self.link.value):
            return "pcie"
        return "link" if self.link else None

    @property
    def least(self) -> Bound | None:
        """Return the smaller bound, that of one direction."""
        return self.pcie if self.binds == "pcie" else self.link

    @property
    def bandwidth(self) -> float | None:
        """Return the smaller bound, MB/s in one direction: both have full duplex."""
        return self.least.value if self.least else None


def _bound(
    lanes: int, many: tuple[int, str], speed: str, unit: str, shares: Iterable[str]
) -> Bound:
    """Multiply lanes, many ports or slots (one is not written), a speed in Gb/s or GT/s, shares.

    A formula's result is in Gb/s; the value is 125 times that, in MB/s.
    """
    value = _GBIT * Fraction(speed) * math.prod(map(Fraction, shares)) * lanes * many[0]
    counts = [f"{count} {noun}" for count, noun in (many, (lanes, "lanes")) if count > 1]
    return Bound(float(value), " x ".join([*counts, f"{speed} {unit}", *shares]))


def _wire(facts: Facts, *headers: str) -> Bound | None:
    """Return what the ports of a node carry, of which headers leave shares; None if not known."""
    if facts.rate is None:
        return None
    if facts.technology == "infiniband":
        lanes = rates.HDR100_LANES if facts.rate == "HDR100" else facts.lanes
        lane = rates.INFINIBAND[facts.rate]
        shares = (*lane.encoding, *headers)
        return _bound(lanes, (facts.ports, "ports"), lane.speed, "Gb/s", shares) if lanes else None
    if facts.technology in rates.PORTS:
        return _bound(1, (facts.ports, "ports"), facts.rate, "Gb/s", headers)
    return None


def link(facts: Facts) -> Bound | None:
    """Return what the ports of a node carry of messages; None where no formula or fact says it.

    Of InfiniBand and RoCE all headers count that every packet has, at an MTU of 4096 unless stated.
    Of Ethernet framing, IP and TCP count, at an MTU of 9000 unless stated. Of Omni-Path and
    Slingshot no header counts: the one's format is not public, the other's leaves out parts of
    Ethernet's.
    """
    data, packet = facts.mtu or rates.INFINIBAND_MTUS[-1], facts.mtu or rates.JUMBO
    framing = rates.ETHERNET_FRAMING
    headers = {
        "infiniband": [f"{data}/{data + rates.INFINIBAND_HEADERS}"],
        "roce": [f"{data}/{data + rates.ROCE_HEADERS + framing}"],
        "ethernet": [f"{packet - rates.TCP_HEADERS}/{packet + framing}"],
    }
    return _wire(facts, *headers.get(facts.technology, ()))


def _packet_overhead(pcie: str) -> int:
    """Return the bytes around the payload of a PCI Express packet, at least.

    Header 12 (three words: completions, and writes below 4 GB) and, up to generation 2, start and
    end 2, sequence number 2, LCRC 4; from generation 3 on, a start token of 4 that holds the
    sequence number, LCRC 4. In the flits of 6.0 only the header is left. Source: Intel AN 829
    (five to seven words).
    """
    return 12 if pcie == "6.0" else 20


def encoded_slot(facts: Facts, *payload: str) -> Bound | None:
    """Return what the slots of a node carry of packets and all that is around them.

    None where a fact is missing; `payload` is the share of a packet that is payload.
    """
    if facts.pcie is None or facts.pcie_lanes is None:
        return None
    lane = rates.PCIE[facts.pcie]
    shares = (*lane.encoding, *payload)
    return _bound(facts.pcie_lanes, (facts.slots, "slots"), lane.speed, "GT/s", shares)


def slot(facts: Facts) -> Bound | None:
    """Return what the slots of a node's adapters carry of messages; None where a fact is missing.

    Acknowledgements and flow control do not count.
    """
    data = facts.pcie_payload or rates.PCIE_PAYLOAD
    return encoded_slot(facts, f"{data}/{data + _packet_overhead(facts.pcie or '')}")


def gpu_limit(facts: Facts, buffers: str, *, inside: bool) -> tuple[Bound | None, str]:
    """Return what a GPU takes or gives in one direction, or why that is not known.

    `buffers` are those of sender and receiver, D (of a GPU) or H (of the host): HH, HD, DH, DD.
    Whatever a GPU exchanges with the host or an adapter goes through its slot. Two GPUs `inside` a
    node may also have NVLink; which of both ways a driver takes is its choice, so that the faster
    one is the bound. Source: GPUDirect RDMA (of CUDA), "Design Considerations".
    """
    bound = slot(facts.gpu)
    if "D" not in buffers:
        return None, ""
    if inside and buffers == "DD":
        if facts.nvlink is None:
            return None, "nvlink not stated (0 if there is none)"
        through = Bound(1000 * facts.nvlink, f"{facts.nvlink:g} GB/s of NVLink")
        if facts.nvlink and (bound is None or through.value > bound.value):
            return through, ""
    absent = [f"gpu_{key}" for key in ("pcie", "pcie_lanes") if getattr(facts.gpu, key) is None]
    return bound, f"{' and '.join(absent)} not stated" if absent else ""


def limit(facts: Facts) -> Limit:
    """Return the bounds that facts set."""
    of_link, of_slot = link(facts), slot(facts)
    return Limit(of_link, of_slot, "; ".join(_missing(facts, of_link is None, of_slot is None)))


def latency_floor(facts: Facts, size: int = 8) -> float:
    """Return the time (us) that no message of `size` bytes between two nodes can beat.

    The bits of the message on the slowest stage, link or slot (stages may overlap), light along the
    stated cables, and the least time of adapters. Switches, processors and software take no time
    here, as nothing bounds theirs from below. The floor is far below what is measured.
    """
    frame = size
    if facts.technology == "infiniband":
        frame += rates.INFINIBAND_HEADERS
    elif facts.technology in ("ethernet", "roce"):
        frame += rates.ROCE_HEADERS if facts.technology == "roce" else 0
        frame += rates.ETHERNET_FRAMING - rates.ETHERNET_GAP
        frame = max(frame, rates.ETHERNET_SHORTEST)
    stages = (
        (_wire(facts), frame),
        (encoded_slot(facts), size + _packet_overhead(facts.pcie or "")),
    )
    bits = max(sent / stage.value if stage else 0.0 for stage, sent in stages)
    return bits + METRE * (facts.cable or 0) + ADAPTERS.get(facts.technology, 0.0)


def exceeds(value: float, bound: float) -> bool:
    """Tell whether a measured bandwidth cannot be true, given its bound in the same unit."""
    return value > bound * (1 + SLACK)


def _missing(facts: Facts, link: bool, slot: bool) -> Iterator[str]:
    lanes = ("lanes",) if facts.technology == "infiniband" else ()
    for missing, keys in ((link, ("rate", *lanes)), (slot, ("pcie", "pcie_lanes"))):
        if missing and "rate" in keys and RATES.get(facts.technology) is None:
            yield f"no formula for {facts.technology}"
        elif missing:
            absent = [key for key in keys if getattr(facts, key) is None]
            yield f"{' and '.join(absent)} not stated"
