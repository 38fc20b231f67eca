"""The facts of a fabric, as a partition states them: read strictly, in this one place.

The facts are `extras["fabric"]` of a partition in `config/systems/`.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from acceptance.core import records
from acceptance.core.errors import Fault
from acceptance.core.words import RATES, TECHNOLOGIES
from acceptance.fabric import rates
from acceptance.fabric.traffic import UNEVEN

#: What may be a number in place of text.
_WORDS = ("rate", "pcie", "device", "gpu_pcie")
#: What is said of each GPU, and of all of them.
_OF_GPU = ("gpu_kind", "gpu_pcie", "gpu_pcie_lanes", "nvlink")
GPU_FACTS = ("gpus", *_OF_GPU)


class FabricFault(Fault, ValueError):
    """Facts that cannot be true, or that nothing here knows; `where` is the partition."""


class Facts(Struct, frozen=True, forbid_unknown_fields=True):
    """What is stated of a partition's fabric; None: nothing.

    `rate` is a word of InfiniBand, Gb/s of others, `lanes` are those of each port, `mtu` is in
    bytes (of RoCE that of its port), `pcie_payload` the maximum payload size in bytes, `ports`
    those of a node that a message may use at once (its rails), `uneven` by what fraction a rail may
    carry more or less than an even share. `device` has the names of the fabric's links on a node,
    with commas: `mlx5_0/1`, `mlx5_0` for all its ports, `eth2`. `cable` is the metres of
    all cables on the shortest way between two nodes, `hops` the switches on it (no limit follows
    from them), `switch` the us that each of them takes. `view`: who looks at the whole fabric, here
    or a node of the partition. `gpus` are
    those of a node that checks take messages from, `nvlink` is what goes each way between any two
    of them past the PCIe, in GB/s; 0: nothing does.
    """

    technology: str = ""
    rate: str | None = None
    lanes: int | None = None
    pcie: str | None = None
    pcie_lanes: int | None = None
    mtu: int | None = None
    pcie_payload: int | None = None
    ports: Annotated[int, Meta(ge=1, le=64, description="1 to 64")] = 1
    uneven: Annotated[float, Meta(gt=0, le=1, description="above 0, to 1")] = UNEVEN
    device: str | None = None
    cable: Annotated[float, Meta(ge=0, lt=1e6, description="in metres")] | None = None
    hops: Annotated[int, Meta(ge=0, le=99, description="0 to 99")] | None = None
    switch: Annotated[float, Meta(gt=0, lt=1e3, description="in us")] | None = None
    view: Literal["here", "node"] | None = None
    gpus: Annotated[int, Meta(ge=0, le=64, description="0 to 64, of a node")] = 0
    gpu_kind: Literal["cuda", "rocm"] | None = None
    gpu_pcie: str | None = None
    gpu_pcie_lanes: int | None = None
    nvlink: Annotated[float, Meta(ge=0, lt=1e6, description="in GB/s")] | None = None

    @classmethod
    def read(cls, mapping: object, where: str = "") -> "Facts":
        """Check facts and take them; numbers may be text.

        Where several devices are named and no ports, each device is a port. Raises FabricFault for
        an unknown key, technology, rate or generation, and for a number that cannot be.
        """
        try:
            if not isinstance(mapping, Mapping):
                raise ValueError(f"fabric is {mapping!r}; it has to be a dictionary")
            given = {key: value for key, value in mapping.items() if value is not None}
            words = {key: str(given[key]) for key in _WORDS if key in given}
            facts = records.read(cls, {**given, **words}, "a fabric", strict=False)
            for key, known in facts._known().items():
                facts._check(key, known)
            devices = facts.devices
            if facts.view and facts.technology != "infiniband":
                raise ValueError(f"view is of infiniband: nobody sees all of {facts.technology}")
            if devices and facts.ports > len(devices):
                raise ValueError(f"ports is {facts.ports}, but device names {len(devices)}")
            if facts.gpus and not facts.gpu_kind:
                raise ValueError("no gpu_kind is stated; known: cuda, rocm")
            if not facts.gpus and (of_gpu := [key for key in _OF_GPU if key in given]):
                raise ValueError(f"{of_gpu[0]} is stated, and no gpus")
        except ValueError as err:
            raise FabricFault(str(err), where=where) from None
        ports = facts.ports if "ports" in given else max(1, len(devices))
        return replace(facts, device=",".join(devices) or None, ports=ports)

    def _known(self) -> dict[str, tuple[str, ...] | tuple[int, ...] | range | None]:
        """Return what words and numbers can be with this technology; None: anything."""
        infiniband = self.technology == "infiniband"
        lanes: tuple[int, ...] | range = () if self.technology in rates.PORTS else range(1, 65)
        if infiniband:
            lanes = rates.INFINIBAND_LANES if self.rate != "HDR100" else (rates.HDR100_LANES,)
        packets = infiniband or self.technology == "roce"
        return {
            "technology": TECHNOLOGIES,
            "rate": RATES.get(self.technology),
            "lanes": lanes,
            "pcie": tuple(rates.PCIE),
            "pcie_lanes": rates.PCIE_LANES,
            "mtu": rates.INFINIBAND_MTUS if packets else range(68, 65536),
            "pcie_payload": rates.PCIE_PAYLOADS,
            "gpu_pcie": tuple(rates.PCIE),
            "gpu_pcie_lanes": rates.PCIE_LANES,
        }

    def _check(self, key: str, known: tuple[str, ...] | tuple[int, ...] | range | None) -> None:
        value = getattr(self, key)
        if value is None or known is None or value in known:
            return
        if not known:
            raise ValueError(f"{self.technology} has no {key}: its rate is that of a whole port")
        ends = f"{known[0]} to {known[-1]}"
        text = ends if isinstance(known, range) else ", ".join(map(str, known))
        if value == "":
            raise ValueError(f"no {key} is stated; known: {text}")
        if isinstance(value, str):
            of = f" of {self.technology}" if key == "rate" else ""
            raise ValueError(f"unknown {key}{of}: {value!r}; known: {text}")
        raise ValueError(f"{key} is {value!r}; it can be {text}")

    @property
    def devices(self) -> list[str]:
        """Return the names of the declared links."""
        return [name.strip() for name in (self.device or "").split(",") if name.strip()]

    @property
    def states_links(self) -> bool:
        """Tell whether they say which links of a node are the fabric's, or how many."""
        return bool(self.devices) or self.ports > 1

    @property
    def shown(self) -> bool:
        """Tell whether Linux shows the links of this technology under /sys."""
        return self.technology in rates.SHOWN

    @property
    def port_rate(self) -> rates.Rate | None:
        """Return the rate of a port in Linux's words; None where Linux writes no such rate.

        InfiniBand has 4 lanes unless stated, HDR100 has 2.
        """
        word, lanes = self.rate or "", self.lanes
        if self.technology == "omni-path":
            word, lanes = rates.OMNI_PATH.get(word, ("", None))
        elif word == "HDR100":
            word, lanes = "HDR", rates.HDR100_LANES
        if self.technology not in ("infiniband", "omni-path") or not word:
            return None
        lanes = lanes or 4
        return rates.Rate(rates.INFINIBAND[word].nominal * lanes, lanes, word)

    @property
    def mbps(self) -> int | None:
        """Return the speed of an interface or a RoCE port in Mb/s; None if it is not stated."""
        if self.rate is None or self.technology not in ("roce", *rates.INTERFACES):
            return None
        return round(1000 * float(self.rate))

    @property
    def slot_speed(self) -> float | None:
        """Return the GT/s of a lane of the slot."""
        return rates.PCIE[self.pcie].nominal if self.pcie else None

    @property
    def slots(self) -> int:
        """Count the slots that the ports stand in.

        Devices tell which ports share an adapter (`mlx5_0/1,mlx5_0/2`); without them each port may
        have a slot of its own.
        """
        adapters = {name.split("/")[0] for name in self.devices}
        return min(self.ports, len(adapters) or self.ports)

    @property
    def text(self) -> str:
        """Write the link as people do: `infiniband QDR 4x`, `ethernet 10 Gb/s`."""
        words = [f"{self.ports} x"] if self.ports > 1 else []
        words.append(self.technology)
        if self.rate is not None:
            words.append(f"{self.rate} Gb/s" if self.technology in rates.PORTS else self.rate)
        if self.lanes is not None:
            words.append(f"{self.lanes}x")
        return " ".join(words)

    @property
    def slot_text(self) -> str:
        """Write the slot as people do: `2.0 x8`, `x8`; empty when nothing is stated."""
        width = f"x{self.pcie_lanes}" if self.pcie_lanes else None
        return " ".join(filter(None, (self.pcie, width)))

    @property
    def gpu(self) -> "Facts":
        """Return the slot of a GPU as facts that have nothing else."""
        return Facts(pcie=self.gpu_pcie, pcie_lanes=self.gpu_pcie_lanes)

    @property
    def gpu_text(self) -> str:
        """Write the GPUs of a node: `4 x cuda, PCIe 4.0 x16, NVLink 300 GB/s`; empty: none."""
        if not self.gpus:
            return ""
        slot = f", PCIe {self.gpu.slot_text}" if self.gpu.slot_text else ""
        nvlink = f", NVLink {self.nvlink:g} GB/s" if self.nvlink else ""
        return f"{self.gpus} x {self.gpu_kind}{slot}{nvlink}"


def facts_of(extras: Mapping[str, object], where: str) -> Facts | None:
    """Read the fabric facts in a partition's extras; None where it states none.

    Raises FabricFault, with `where`: the partition, and its file where that is known.
    """
    fabric = extras.get("fabric")
    return None if fabric is None or fabric == {} else Facts.read(fabric, where)


def facts_or_none(extras: Mapping[str, object]) -> Facts | None:
    """Return the facts as `facts_of`, none for such as cannot be: every check refuses these."""
    with suppress(FabricFault):
        return facts_of(extras, "")
    return None


def takes_gpus(extras: Mapping[str, object]) -> bool:
    """Tell whether the facts of a partition state GPUs."""
    facts = facts_or_none(extras)
    return facts is not None and facts.gpus > 0


def not_judged(extras: Mapping[str, object]) -> str:
    """Say why nothing judges the rate of a partition's links; empty where their facts do."""
    facts = facts_or_none(extras)
    if facts is None:
        return "" if extras.get("fabric") else "it states no fabric"
    if not facts.shown:
        return f"Linux shows no links of {facts.technology}"
    if facts.rate is None:
        return f"{facts.text}, no rate is stated"
    known = facts.port_rate or facts.mbps
    return "" if known else f"how Linux writes the rate of {facts.text} is not known"


def is_viewed(extras: Mapping[str, object]) -> bool:
    """Tell whether the facts of a partition name who looks at its whole fabric."""
    facts = facts_or_none(extras)
    return facts is not None and facts.view is not None


def not_viewed(extras: Mapping[str, object]) -> str:
    """Say why nobody looks at a partition's whole fabric; empty where it is stated, or is none."""
    facts = facts_or_none(extras)
    if facts is None or facts.technology != "infiniband" or facts.view:
        return ""
    return 'its facts name nobody who may (fabric: "view": "here" or "node")'
