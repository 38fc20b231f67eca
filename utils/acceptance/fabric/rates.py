"""The rates of links and slots, as they are written and on the wire, and what packets must have."""

from dataclasses import dataclass

from acceptance.core.words import RATES

_8B10B = ("8/10",)
_64B66B = ("64/66",)
# PAM4 lanes: 64b/66b is transcoded to 256b/257b, then RS(544,514) adds its check symbols.
_PAM4 = ("256/257", "514/544")


@dataclass(frozen=True)
class _Lane:
    """A lane: Gb/s as Linux writes them, Gb/s (or GT/s) on the wire, and the shares of data."""

    nominal: float
    speed: str
    encoding: tuple[str, ...]


#: InfiniBand: rate -> lane. Sources: of the nominal speeds Linux, drivers/infiniband/core/sysfs.c,
#: which rounds them from FDR on; of those on the wire Linux, `ib_rate_to_mbps` (56250, 103125,
#: 425000 and 850000 for 4 lanes of FDR, EDR, NDR and XDR, 53125 for one of HDR); of FDR10
#: Mellanox's manual of the MSB7890; of PAM4 Intel AN 846. FEC of EDR fits into the room that
#: transcoding makes.
INFINIBAND: dict[str, _Lane] = {
    "SDR": _Lane(2.5, "2.5", _8B10B),
    "DDR": _Lane(5, "5", _8B10B),
    "QDR": _Lane(10, "10", _8B10B),
    "FDR10": _Lane(10, "10.3125", _64B66B),
    "FDR": _Lane(14, "14.0625", _64B66B),
    "EDR": _Lane(25, "25.78125", _64B66B),
    "HDR100": _Lane(50, "53.125", _PAM4),
    "HDR": _Lane(50, "53.125", _PAM4),
    "NDR": _Lane(100, "106.25", _PAM4),
    "XDR": _Lane(200, "212.5", _PAM4),
}
#: Widths of an InfiniBand link.
INFINIBAND_LANES = (1, 2, 4, 8, 12)
#: HDR100 is a name for HDR on half of the lanes; Linux writes HDR.
HDR100_LANES = 2
INFINIBAND_MTUS = (256, 512, 1024, 2048, 4096)
#: LRH 8, BTH 12, ICRC 4, VCRC 2: in each packet. RETH (16) is only in the first one of an RDMA
#: write, GRH (40) only between subnets. Source: InfiniBand Architecture Specification, volume 1.
INFINIBAND_HEADERS = 26

#: Omni-Path: rate -> rate and lanes of InfiniBand as which Linux writes it. Source: Linux,
#: drivers/infiniband/hw/hfi1, `opa_speed_to_ib`. Of 400 (CN5000: 4 lanes at 106.25 Gb/s, driver
#: hfi2) no source was found.
OMNI_PATH = {"100": ("EDR", 4)}

#: Gb/s of a port, after its encoding, by technology.
PORTS = {name: words for name, words in RATES.items() if name != "infiniband"}
#: Technologies whose links are ports of RDMA adapters under /sys -> how people write them.
PORTED = {"infiniband": "InfiniBand", "omni-path": "Omni-Path", "roce": "RoCE"}
#: Technologies whose links are network interfaces.
INTERFACES = {"ethernet": "Ethernet", "slingshot": "Slingshot"}
#: Technologies whose links Linux shows under /sys.
SHOWN = (*PORTED, *INTERFACES)
#: Mb/s of a RoCE port that is slower: Linux writes it as `2.5 Gb/sec (1X SDR)`. Source: Linux,
#: drivers/infiniband/core/verbs.c, `ib_get_eth_speed`.
MIN_ROCE_MBPS = 2500
#: Preamble and start 8, header 14, FCS 4, then the gap: around each packet. Source: IEEE 802.3.
ETHERNET_GAP = 12
ETHERNET_FRAMING = 26 + ETHERNET_GAP
#: IPv4 20, TCP 20, without options. iWARP has more of them, UDP alone has less (28).
TCP_HEADERS = 40
#: RoCE: IPv4 20, UDP 8, BTH 12, ICRC 4, around a payload of InfiniBand's sizes; its first version
#: has GRH 40 in place of IPv4 and UDP. Source: InfiniBand Architecture Specification, annex A17.
ROCE_HEADERS = 44
#: Bytes of the shortest frame with its preamble.
ETHERNET_SHORTEST = 72
JUMBO = 9000

#: PCI Express: generation -> lane, in GT/s, and the share of it that is packets. 6.0: a flit of 256
#: bytes holds 236 of packets. Source: PCI Express Base Specification, 1.0 to 6.0.
PCIE: dict[str, _Lane] = {
    "1.0": _Lane(2.5, "2.5", _8B10B),
    "1.1": _Lane(2.5, "2.5", _8B10B),
    "2.0": _Lane(5, "5", _8B10B),
    "2.1": _Lane(5, "5", _8B10B),
    "3.0": _Lane(8, "8", ("128/130",)),
    "3.1": _Lane(8, "8", ("128/130",)),
    "4.0": _Lane(16, "16", ("128/130",)),
    "5.0": _Lane(32, "32", ("128/130",)),
    "6.0": _Lane(64, "64", ("236/256",)),
}
#: GT/s of a lane -> its generation; of revisions with one speed that by which slots are known.
GENERATIONS = {PCIE[name].nominal: name for name in ("1.1", "2.0", "3.0", "4.0", "5.0", "6.0")}
PCIE_LANES = (1, 2, 4, 8, 12, 16, 32)
PCIE_PAYLOADS = (128, 256, 512, 1024, 2048, 4096)
#: The largest payload that network adapters are known to use; many use 128 or 256, 4096 is allowed.
#: A host and adapter with more state it as `pcie_payload`. Source: Mellanox's note on the maximum
#: payload size, by which its firmware offers 128 to 512.
PCIE_PAYLOAD = 512


@dataclass(frozen=True)
class Rate:
    """What a port runs at, in Linux's words: Gb/s, lanes, and the word of the speed of a lane."""

    gbps: float
    lanes: int
    word: str

    def __str__(self) -> str:
        """Write it as Linux does: `40 Gb/sec (4X QDR)`."""
        return f"{self.gbps:g} Gb/sec ({self.lanes}X{' ' if self.word else ''}{self.word})"
