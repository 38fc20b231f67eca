"""Made trees of sysfs with adapters and interfaces, and `fabric/link.sh` run on them."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from acceptance.core.paths import ROOT
from acceptance.fabric import NodeLinks
from acceptance.fabric.link_report import parse
from tests.places import PATIENCE

SCRIPT = ROOT / "utils/acceptance/fabric/link.sh"

#: What a PCI device runs at and could, the files of a port and its counters, of an interface and
#: its counters.
_SLOT = {"speed": "5.0 GT/s PCIe", "width": 8, "most": "5.0 GT/s PCIe", "wide": 8}
_PORT = {
    **{"state": "4: ACTIVE", "phys_state": "5: LinkUp"},
    **{"rate": "40 Gb/sec (4X QDR)", "link_layer": "InfiniBand"},
}
_COUNTERS = dict.fromkeys(
    "symbol_error link_error_recovery link_downed port_rcv_errors local_link_integrity_errors "
    "excessive_buffer_overrun_errors port_xmit_discards port_xmit_data port_rcv_data".split(),
    0,
)
_INTERFACE = {
    **{"operstate": "up", "duplex": "full", "mtu": 9000, "type": 1},
    **{"speed": 10000, "carrier_changes": 1},
}
_STATISTICS = dict.fromkeys(
    (f"{way}_{what}" for what in ("bytes", "errors", "dropped") for way in ("rx", "tx")), 0
)


def run(root, folder, shell=("sh",), name="node17"):
    """Print what the script says of a tree; `folder` takes a `hostname` that gives the name."""
    hostname = Path(folder) / "hostname"
    hostname.parent.mkdir(parents=True, exist_ok=True)
    hostname.write_text(f"#!/bin/sh\necho '{name}'\n")
    hostname.chmod(0o755)
    done = subprocess.run(
        [*shell, SCRIPT, root],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
        env={"PATH": f"{hostname.parent}:{os.environ['PATH']}"},
    )
    assert not done.stderr
    return done.stdout


class Sysfs:
    """A tree of sysfs of a node with a name, with links between class, device and bus.

    Whatever is added has the values above in its files, but for those that are given.
    """

    def __init__(self, folder: Path, name: str = "node17") -> None:
        self.folder, self.name, self.root = folder, name, folder / "sys"
        self.add("class/net/lo", operstate="unknown", mtu=65536)
        (self.root / "class/net/bonding_masters").write_text("\n")

    def add(self, folder: str, **files: object) -> None:
        """Write files with a value each into a folder of the tree."""
        place = self.root / folder
        place.mkdir(parents=True, exist_ok=True)
        for file, value in files.items():
            (place / file).write_text(f"{value}\n")

    def fill(
        self, folders: Mapping[str, Mapping[str, object]], given: Mapping[str, object]
    ) -> None:
        """Write the files of folders, with the values that are given in place of theirs."""
        if unknown := given.keys() - {file for files in folders.values() for file in files}:
            raise TypeError(f"no file of {', '.join(folders)}: {', '.join(unknown)}")
        for folder, files in folders.items():
            self.add(folder, **{file: given.get(file, value) for file, value in files.items()})

    def link(self, name: str, target: str) -> None:
        """Make a relative link from a name in the tree to a target in the tree."""
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (self.root / target).mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def slot(self, address: str, driver: str, given: Mapping[str, object]) -> str:
        """Add a PCI device; a speed of None stands for a kernel before 4.13."""
        place = f"devices/pci0000:00/{address}"
        self.link(f"{place}/subsystem", "bus/pci")
        self.link(f"{place}/driver", f"bus/pci/drivers/{driver}")
        speed, width, most, wide = (given.get(name, value) for name, value in _SLOT.items())
        if speed is not None:
            self.add(place, current_link_speed=speed, current_link_width=width)
            self.add(place, max_link_speed=most, max_link_width=wide)
        return place

    def adapter(
        self,
        name: str = "mlx5_0",
        address: str = "0000:03:00.0",
        guid: str = "",
        driver: str = "mlx5_core",
        **slot: object,
    ) -> None:
        """Add an adapter without ports; Linux writes a GUID as `9803:9b03:0050:0000`."""
        place = self.slot(address, driver, slot)
        (self.root / place / "infiniband" / name / "ports").mkdir(parents=True)
        self.link(f"class/infiniband/{name}", f"{place}/infiniband/{name}")
        self.link(f"{place}/infiniband/{name}/device", place)
        if guid:
            self.add(f"{place}/infiniband/{name}", node_guid=guid)

    def port(self, number: int = 1, name: str = "mlx5_0", **values: object) -> None:
        """Add a port to an adapter, with its counters."""
        place = f"class/infiniband/{name}/ports/{number}"
        self.fill({place: _PORT, f"{place}/counters": _COUNTERS}, values)

    def uncounted(self, number: int = 1, name: str = "mlx5_0", **counted: object) -> None:
        """Take the counters of a port away, as some drivers have none; `counted` are others."""
        place = f"class/infiniband/{name}/ports/{number}"
        shutil.rmtree(self.root / place / "counters")
        self.add(f"{place}/hw_counters", **counted)

    def slingshot(self, number: int = 0, octets: int = 1000, **values: object) -> None:
        """Add an adapter of Slingshot 11, whose telemetry has counted so many octets each way."""
        address = f"0000:2{number}:00.0"
        gen4 = {"speed": "16.0 GT/s PCIe", "width": 16, "most": "16.0 GT/s PCIe", "wide": 16}
        self.interface(f"hsn{number}", address, gen4, "cxi_ss1", **{"speed": 200000, **values})
        told = f"{octets}@1795706258.468002000"
        names = ("hni_sts_rx_ok_octets", "hni_sts_tx_ok_octets")
        self.add(f"devices/pci0000:00/{address}/telemetry", **dict.fromkeys(names, told))

    def interface(
        self,
        name: str = "eth2",
        address: str | None = "0000:05:00.0",
        slot: Mapping[str, object] | None = None,
        driver: str = "cxgb3",
        **values: object,
    ) -> None:
        """Add an interface; one without an address has no device, as bridges have none."""
        place = f"devices/virtual/net/{name}"
        if address:
            device = self.slot(address, driver, slot or {})
            place = f"{device}/net/{name}"
            self.link(f"{place}/device", device)
        self.fill({place: _INTERFACE, f"{place}/statistics": _STATISTICS}, values)
        self.link(f"class/net/{name}", place)
        # Nobody can read the speed of one that is down.
        if values.get("operstate") == "down":
            self.spoil(f"class/net/{name}/speed")
            self.spoil(f"class/net/{name}/duplex")

    def gpu(
        self,
        address: str = "0000:17:00.0",
        vendor: str = "0x10de",
        of_class: str = "0x030200",
        driver: str = "nvidia",
        **slot: object,
    ) -> None:
        """Add a PCI device of a class; without more it is a GPU of NVIDIA."""
        place = self.slot(address, driver, slot)
        self.add(place, **{"class": of_class, "vendor": vendor})
        self.link(f"bus/pci/devices/{address}", place)

    def spoil(self, path):
        """Make a file unreadable. Permissions do not stop root, a folder in place of a file does:
        reading it is an error, as reading the speed of an interface that is down is."""
        place = self.root / path
        place.unlink()
        place.mkdir()

    def text(self, shell=("sh",)) -> str:
        """Return what the script prints of this tree."""
        return run(self.root, self.folder / "bin", shell, self.name)

    def node(self) -> NodeLinks:
        """Return what the script tells of this tree."""
        return parse(self.text(), "node17.txt")
