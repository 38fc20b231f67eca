"""Made trees of sysfs with adapters and interfaces, and `fabric/link.sh` run on them."""

import os
import subprocess
from pathlib import Path

from acceptance.core.paths import ROOT
from acceptance.fabric import NodeLinks
from acceptance.fabric.link_report import parse
from acceptance.simulation import readings
from tests.places import PATIENCE

SCRIPT = ROOT / "utils/acceptance/fabric/link.sh"


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


class Sysfs(readings.Sysfs):
    """A tree laid out as Linux does, in a folder, of a node with a name."""

    def __init__(self, folder: Path, name: str = "node17") -> None:
        super().__init__(folder / "sys")
        self.folder, self.name = folder, name

    def interface(self, name="eth2", *others, operstate="up", **more):
        """Add an interface; nobody can read the speed of one that is down."""
        super().interface(name, *others, operstate=operstate, **more)
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
