"""What a simulated node shows of its links: a tree of sysfs, as Linux lays it out.

The link check reads it through its own script, as it reads the tree of any node. The form is that
of Linux, Documentation/ABI: sysfs-class-infiniband, sysfs-class-net, sysfs-bus-pci.
"""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from acceptance.fabric import Facts, link_report
from acceptance.simulation.faults import Injected

ERRORS = (
    "symbol_error link_error_recovery link_downed port_rcv_errors local_link_integrity_errors "
    "excessive_buffer_overrun_errors port_xmit_discards"
).split()
#: Technology -> the driver of its adapters.
_DRIVERS = {"omni-path": "hfi1"}
_DRIVER = "mlx5_core"


class Sysfs:
    """A tree of sysfs, with links between class, device and bus."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.add("class/net/lo", operstate="unknown", mtu=65536)
        (self.root / "class/net/bonding_masters").write_text("\n")

    def add(self, folder: str, **files: object) -> Path:
        """Write files with a value each into a folder of the tree."""
        place = self.root / folder
        place.mkdir(parents=True, exist_ok=True)
        for file, value in files.items():
            (place / file).write_text(f"{value}\n")
        return place

    def link(self, name: str, target: str) -> None:
        """Make a relative link from a name in the tree to a target in the tree."""
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (self.root / target).mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def slot(
        self,
        address: str,
        driver: str,
        speed: str | None = "5.0 GT/s PCIe",
        width: int | None = 8,
        most: str | None = "5.0 GT/s PCIe",
        wide: int | None = 8,
    ) -> str:
        """Add a PCI device; a speed of None stands for a kernel before 4.13."""
        place = f"devices/pci0000:00/{address}"
        self.link(f"{place}/subsystem", "bus/pci")
        self.link(f"{place}/driver", f"bus/pci/drivers/{driver}")
        if speed is not None:
            self.add(place, current_link_speed=speed, current_link_width=width)
            self.add(place, max_link_speed=most, max_link_width=wide)
        return place

    def adapter(
        self,
        name: str = "mlx5_0",
        address: str = "0000:03:00.0",
        guid: str | None = None,
        driver: str = _DRIVER,
        **slot: str | int | None,
    ) -> None:
        """Add an adapter without ports; Linux writes a GUID as `9803:9b03:0050:0000`."""
        place = self.slot(address, driver, **slot)  # type: ignore[arg-type]
        (self.root / place / "infiniband" / name / "ports").mkdir(parents=True)
        self.link(f"class/infiniband/{name}", f"{place}/infiniband/{name}")
        self.link(f"{place}/infiniband/{name}/device", place)
        if guid:
            self.add(f"{place}/infiniband/{name}", node_guid=guid)

    def port(
        self,
        number: int = 1,
        name: str = "mlx5_0",
        rate: str = "40 Gb/sec (4X QDR)",
        state: str = "4: ACTIVE",
        phys_state: str = "5: LinkUp",
        link_layer: str = "InfiniBand",
        **counters: int,
    ) -> None:
        """Add a port to an adapter; counters are zero unless given."""
        place = f"class/infiniband/{name}/ports/{number}"
        self.add(place, state=state, phys_state=phys_state, rate=rate, link_layer=link_layer)
        words = {"port_xmit_data": 0, "port_rcv_data": 0}
        self.add(f"{place}/counters", **{**dict.fromkeys(ERRORS, 0), **words, **counters})

    def interface(
        self,
        name: str = "eth2",
        address: str = "0000:05:00.0",
        speed: int = 10000,
        duplex: str = "full",
        mtu: int = 9000,
        operstate: str = "up",
        type: int = 1,
        slot: Mapping[str, str | int | None] | None = None,
        **counters: int,
    ) -> None:
        """Add an interface; one without an address has no device, as bridges have none."""
        place = f"devices/virtual/net/{name}"
        if address:
            device = self.slot(address, "cxgb3", **(slot or {}))  # type: ignore[arg-type]
            place = f"{device}/net/{name}"
            self.link(f"{place}/device", device)
        self.add(place, operstate=operstate, duplex=duplex, mtu=mtu, type=type)
        self.add(place, speed=speed, carrier_changes=counters.pop("carrier_changes", 1))
        names = [f"{way}_{what}" for what in ("bytes", "errors", "dropped") for way in ("rx", "tx")]
        self.add(f"{place}/statistics", **{**dict.fromkeys(names, 0), **counters})
        self.link(f"class/net/{name}", place)


def write(folder: Path, name: str, stated: Facts, fault: Injected | None = None) -> str:
    """Write what a node shows whose links run as is stated; return the command that reads it.

    With a fault that is its own, they run as that lets them. Technologies that Linux shows no links
    of leave an empty tree.
    """
    facts = fault.node(name, stated) if fault else stated
    counters = fault.fault.counters if fault and fault.place == name else {}
    tree, addresses = Sysfs(folder / "sys"), (f"0000:{n:02x}:00.0" for n in range(3, 256))
    now, most = _slot(facts), _slot(stated)
    slot = {"speed": now[0], "width": now[1], "most": most[0], "wide": most[1]}
    if facts.shown and facts.technology == "ethernet":
        errors = {"rx_errors": sum(counters.values())} if counters else {}
        for device in facts.devices or [f"eth{n}" for n in range(facts.ports)]:
            speed, mtu = facts.mbps or -1, facts.mtu or 1500
            tree.interface(device, next(addresses), speed, mtu=mtu, slot=slot, **errors)  # type: ignore[arg-type]
    elif facts.shown:
        driver = _DRIVERS.get(facts.technology, _DRIVER)
        layer = "Ethernet" if facts.technology == "roce" else "InfiniBand"
        rate = str(facts.port_rate or f"{(facts.mbps or 0) / 1000:g} Gb/sec (1X)")
        seen = set[str]()
        for device in facts.devices or [f"mlx5_{n}" for n in range(facts.ports)]:
            adapter, _, port = device.partition("/")
            if adapter not in seen:
                seen.add(adapter)
                tree.adapter(adapter, next(addresses), driver=driver, **slot)  # type: ignore[arg-type]
            tree.port(int(port or 1), adapter, rate, link_layer=layer, **counters)  # type: ignore[arg-type]
    return _command(folder, name)


def _slot(facts: Facts) -> tuple[str | None, int]:
    """Return speed and width of a slot as Linux writes them; no speed where nothing is stated."""
    if facts.slot_speed is None:
        return ("Unknown" if facts.pcie_lanes else None), facts.pcie_lanes or 0
    return f"{facts.slot_speed:.1f} GT/s PCIe", facts.pcie_lanes or 0


def _command(folder: Path, name: str) -> str:
    """Return the command that reads a tree as that of a node of this name.

    No program of this machine tells it the machine's own name, or neighbours.
    """
    programs = folder / "bin"
    programs.mkdir()
    for program, text in (("hostname", f"echo {shlex.quote(name)}"), ("lldpctl", "exit 1")):
        (programs / program).write_text(f"#!/bin/sh\n{text}\n")
        (programs / program).chmod(0o755)
    script, path = shlex.quote(str(link_report.SCRIPT)), shlex.quote(str(programs))
    return f'PATH={path}:"$PATH" sh {script} {shlex.quote(str(folder / "sys"))}'
