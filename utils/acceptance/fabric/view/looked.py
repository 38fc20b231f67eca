"""What one look at a fabric gave: of each adapter it was looked at from a reading, all together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core.observations import Observation
from acceptance.core.text import plural
from acceptance.fabric import topology
from acceptance.fabric.topology import End, Reading, Topology
from acceptance.fabric.view import kinds

#: Kinds of faults that leave a reading as good as it is.
_NOTES = ("names",)
#: Programs without which the fabric was looked at all the same.
_ROUTES, _COUNTERS = "dump_lfts", "ibqueryerrors"


@dataclass(frozen=True)
class Looked:
    """The fabrics that were seen; `topology` is None where `why` says that they were not.

    `counters` are None where they were not read; `notes` say what else was not.
    """

    topology: Topology | None
    why: str = ""
    counters: Mapping[End, Mapping[str, int]] | None = None
    notes: tuple[Observation, ...] = ()
    time: float = 0.0

    @property
    def text(self) -> str:
        """Count what was seen: `6 switches, 16 hosts, 24 links`."""
        if self.topology is None:
            return ""
        counted = counts(self.topology)
        return ", ".join(plural(number, name.removesuffix("s")).replace("switchs", "switches")
                         for name, number in counted.items())  # fmt: skip


def counts(seen: Topology) -> dict[str, int]:
    """Count the devices and links of a fabric."""
    switches = len(seen.switches)
    return {
        "switches": switches,
        "hosts": len(seen.devices) - switches,
        "links": len(seen.links),
    }


@dataclass
class _Sum:
    topologies: list[Topology] = field(default_factory=list)
    counters: dict[End, Mapping[str, int]] = field(default_factory=dict)
    uncounted: bool = False
    notes: list[Observation] = field(default_factory=list)
    why: list[str] = field(default_factory=list)

    def add(self, reading: Reading) -> None:
        """Add what a folder has; every fault that is no note leaves the fabric not looked at."""
        asked = f"from {reading.asked}: " if reading.asked else ""
        for fault in reading.faults:
            text = f"{asked}{fault}"
            if fault.kind in _NOTES or fault.program == _ROUTES:
                found = kinds.observation(kinds.NOT_JUDGED, fault.program or "names", found=text)
                self.notes.append(found)
            elif fault.program == _COUNTERS:
                self.uncounted |= reading.counters is None
                kind = kinds.NOT_LOOKED if reading.counters is None else kinds.NOT_JUDGED
                self.notes.append(kinds.observation(kind, "counters", found=text))
            else:
                self.why.append(text)
        if reading.topology is None and not self.why:
            self.why.append(f"{asked}nothing was read")
        if reading.topology is not None:
            self.topologies.append(reading.topology)
            self.counters |= reading.errors


def look(folders: Sequence[Path]) -> Looked:
    """Read the folders that `fabric.sh` filled, one for each adapter that it looked from.

    Adapters at the same fabric see the same, those at several all of them together.
    """
    total, readings = _Sum(), [topology.read(folder) for folder in folders]
    for reading in readings:
        total.add(reading)
    if total.why or not total.topologies:
        return Looked(None, "; ".join(total.why) or "no adapter to look from")
    devices = {guid: each for seen in total.topologies for guid, each in seen.devices.items()}
    links = {link.ends: link for seen in total.topologies for link in seen.links}
    down = {end: text for seen in total.topologies for end, text in seen.down.items()}
    whole = Topology(devices, tuple(links[ends] for ends in sorted(links)), down=down)
    times = [reading.end for reading in readings if reading.end]
    counters = None if total.uncounted else total.counters
    return Looked(whole, "", counters, tuple(total.notes), float(max(times, default=0)))
