"""The parameters of the model, one set for each technology, each with its source.

"assumed": no source is known, or it is of something else; results that hang on it say nothing of
any machine. What a parameter was taken from is no test of the model.
"""

from dataclasses import dataclass

from acceptance.core.errors import Fault
from acceptance.fabric import Facts

_RATES_OF_2009 = ("SDR", "DDR", "QDR")


class SimulationFault(Fault, ValueError):
    """What cannot be simulated, and why."""


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
    """Return the parameters of a fabric; raises SimulationFault where there are none."""
    if facts.technology == "infiniband":
        return INFINIBAND if facts.rate in _RATES_OF_2009 else MODERN
    if facts.technology in ("roce", "omni-path", "slingshot"):
        return MODERN
    if facts.technology == "ethernet":
        return GIGABIT if facts.rate is not None and float(facts.rate) <= 5 else ETHERNET
    raise SimulationFault(f"{facts.technology}: no parameters are known to simulate it with")
