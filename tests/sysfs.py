"""Made trees of sysfs with adapters and interfaces, and `fabric/link.sh` run on them."""

import os
import subprocess
from pathlib import Path

from acceptance.core.paths import ROOT
from acceptance.fabric import NodeLinks
from acceptance.fabric.link_report import parse

SCRIPT = ROOT / "utils/acceptance/fabric/link.sh"

ERRORS = (
    "symbol_error link_error_recovery link_downed port_rcv_errors local_link_integrity_errors "
    "excessive_buffer_overrun_errors port_xmit_discards"
).split()


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
        timeout=60,
        check=True,
        env={"PATH": f"{hostname.parent}:{os.environ['PATH']}"},
    )
    assert not done.stderr
    return done.stdout


class Sysfs:
    """A tree laid out as Linux does, with links between class, device and bus."""

    def __init__(self, folder: Path, name: str = "node17") -> None:
        self.folder, self.root, self.name = folder, folder / "sys", name
        self.add("class/net/lo", operstate="unknown", mtu=65536)
        (self.root / "class/net/bonding_masters").write_text("\n")

    def add(self, folder, **files):
        """Write files with a value each into a folder of the tree."""
        place = self.root / folder
        place.mkdir(parents=True, exist_ok=True)
        for file, value in files.items():
            (place / file).write_text(f"{value}\n")
        return place

    def link(self, name, target):
        """Make a relative link from a name in the tree to a target in the tree."""
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (self.root / target).mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def slot(self, address, driver, speed="5.0 GT/s PCIe", width=8, most="5.0 GT/s PCIe", wide=8):
        """Add a PCI device; a speed of None stands for a kernel before 4.13."""
        place = f"devices/pci0000:00/{address}"
        self.link(f"{place}/subsystem", "bus/pci")
        self.link(f"{place}/driver", f"bus/pci/drivers/{driver}")
        if speed is not None:
            self.add(place, current_link_speed=speed, current_link_width=width)
            self.add(place, max_link_speed=most, max_link_width=wide)
        return place

    def adapter(self, name="mlx5_0", address="0000:03:00.0", **slot):
        """Add an adapter without ports."""
        place = self.slot(address, "mlx5_core", **slot)
        (self.root / place / "infiniband" / name / "ports").mkdir(parents=True)
        self.link(f"class/infiniband/{name}", f"{place}/infiniband/{name}")
        self.link(f"{place}/infiniband/{name}/device", place)

    def port(
        self,
        number=1,
        name="mlx5_0",
        rate="40 Gb/sec (4X QDR)",
        state="4: ACTIVE",
        phys_state="5: LinkUp",
        link_layer="InfiniBand",
        **counters,
    ):
        """Add a port to an adapter; counters are zero unless given."""
        place = f"class/infiniband/{name}/ports/{number}"
        self.add(place, state=state, phys_state=phys_state, rate=rate, link_layer=link_layer)
        words = {"port_xmit_data": 0, "port_rcv_data": 0}
        self.add(f"{place}/counters", **{**dict.fromkeys(ERRORS, 0), **words, **counters})

    def interface(
        self,
        name="eth2",
        address="0000:05:00.0",
        speed=10000,
        duplex="full",
        mtu=9000,
        operstate="up",
        type=1,
        slot=None,
        **counters,
    ):
        """Add an interface; one without an address has no device, as bridges have none."""
        place = f"devices/virtual/net/{name}"
        if address:
            device = self.slot(address, "cxgb3", **(slot or {}))
            place = f"{device}/net/{name}"
            self.link(f"{place}/device", device)
        self.add(place, operstate=operstate, duplex=duplex, mtu=mtu, type=type)
        self.add(place, speed=speed, carrier_changes=counters.pop("carrier_changes", 1))
        names = [f"{way}_{what}" for what in ("bytes", "errors", "dropped") for way in ("rx", "tx")]
        self.add(f"{place}/statistics", **{**dict.fromkeys(names, 0), **counters})
        self.link(f"class/net/{name}", place)
        if operstate == "down":
            self.spoil(f"class/net/{name}/speed")
            self.spoil(f"class/net/{name}/duplex")

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
