"""What a partition's fabric facts say about the links of its nodes.

The facts are `extras["fabric"]`: `technology`, `rate` (a word of `SPEEDS` or HDR100 for InfiniBand,
Gb/s for Ethernet and Omni-Path), `lanes` (of InfiniBand, 4 unless stated), `pcie` ("2.0"),
`pcie_lanes`, `mtu` (bytes; only of interfaces, as Linux does not tell that of a port), and `device`
(`mlx5_0/1`, `mlx5_0` for all its ports, also those of RoCE; `eth2`; several with commas).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from acceptance.fabric.node import GENERATIONS, Node, Port, Rate

#: Word of an InfiniBand speed -> Gb/s of a lane. Source: Linux, drivers/infiniband/core/sysfs.c;
#: from FDR on they are rounded.
SPEEDS = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}

#: Mb/s of a RoCE port that is slower: Linux writes it as `2.5 Gb/sec (1X SDR)`. Source: Linux,
#: drivers/infiniband/core/verbs.c, `ib_get_eth_speed`.
ROCE_LEAST = 2500

#: The technologies whose links Linux shows under /sys.
TECHNOLOGIES = ("infiniband", "ethernet", "omni-path")

#: Rate of Omni-Path -> how Linux writes it, as that of an InfiniBand port; of others only the state
#: is judged. Source: Linux, drivers/infiniband/hw/hfi1, `opa_speed_to_ib`.
_OMNI_PATH = {"100": Rate(100.0, 4, "EDR")}
#: How the names of the drivers of Omni-Path's adapters begin (hfi1).
_OMNI_PATH_DRIVER = "hfi"

_PCIE = {name: speed for speed, name in GENERATIONS.items()} | {"1.0": 2.5, "2.1": 5.0, "3.1": 8.0}


@dataclass(frozen=True)
class Wanted:
    """Fabric facts as numbers; None is not stated. Ethernet in Mb/s, slots in GT/s and lanes."""

    technology: str
    devices: tuple[str, ...]
    rate: Rate | None
    mbps: int | None
    pcie: float | None
    pcie_lanes: int | None
    mtu: int | None

    @property
    def link(self) -> str:
        """Write what a link should be: `40 Gb/sec (4X QDR)`, `10000 Mb/s full`."""
        if self.technology in ("infiniband", "omni-path"):
            return str(self.rate) if self.rate else "an active port"
        return f"{self.mbps} Mb/s full" if self.mbps else "full duplex"

    def takes(self, node: Node, port: Port) -> bool:
        """Tell whether a port is of this technology, and not of the one that looks like it."""
        driver = node.adapters[port.device].driver
        looks = "omni-path" if driver.startswith(_OMNI_PATH_DRIVER) else "infiniband"
        return port.infiniband and self.technology in ("", looks)


def wanted(facts: Mapping[str, object]) -> Wanted:
    """Read fabric facts. Keys that say nothing about a link are ignored.

    Raises ValueError for a technology that is not of `TECHNOLOGIES` (none is allowed: then only
    slots are judged) and for a value that cannot be.
    """
    facts = {key: value for key, value in facts.items() if value is not None}
    technology = str(facts.get("technology", ""))
    if technology not in ("", *TECHNOLOGIES):
        known = ", ".join(TECHNOLOGIES)
        raise ValueError(f"no links of {technology!r} can be looked at; known: {known}")
    pcie = str(facts.get("pcie", ""))
    if pcie and pcie not in _PCIE:
        raise ValueError(f"unknown PCI Express {pcie!r}; known: {', '.join(sorted(_PCIE))}")
    word = str(facts.get("rate", ""))
    return Wanted(
        technology=technology,
        devices=tuple(
            name.strip() for name in str(facts.get("device") or "").split(",") if name.strip()
        ),
        rate=_rate(technology, word, facts) if word else None,
        mbps=_mbps(word) if word and technology == "ethernet" else None,
        pcie=_PCIE.get(pcie),
        pcie_lanes=_integer(facts, "pcie_lanes"),
        mtu=_integer(facts, "mtu"),
    )


def _integer(facts: Mapping[str, object], key: str) -> int | None:
    if key not in facts:
        return None
    text = str(facts[key])
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"{text!r} is no {key}")
    return int(text)


def _rate(technology: str, word: str, facts: Mapping[str, object]) -> Rate | None:
    if technology != "infiniband":
        return _OMNI_PATH.get(word) if technology == "omni-path" else None
    lanes = _integer(facts, "lanes")
    if word == "HDR100":
        # A name for HDR with half of the lanes.
        if lanes not in (None, 2):
            raise ValueError(f"HDR100 has 2 lanes, not {lanes}")
        word, lanes = "HDR", 2
    if word not in SPEEDS:
        raise ValueError(f"unknown rate {word!r}; known: {', '.join(SPEEDS)}, HDR100")
    return Rate(SPEEDS[word] * (lanes or 4), lanes or 4, word)


def _mbps(text: str) -> int:
    try:
        mbps = 1000 * float(text)
    except ValueError:
        mbps = 0
    if not (0 < mbps < float("inf") and mbps == int(mbps)):
        raise ValueError(f"{text!r} is no rate of Ethernet in Gb/s")
    return int(mbps)
