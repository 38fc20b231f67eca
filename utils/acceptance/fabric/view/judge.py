"""The judgement of one reading: trained as it should be, as it was accepted, errors, structure.

What one look at a fabric gave: of each adapter it was looked at from a reading, all together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acceptance.core.findings import Observation
from acceptance.core.text import plural
from acceptance.fabric import topology
from acceptance.fabric.topology import End, Topology
from acceptance.fabric.view import kinds
from acceptance.fabric.view.accepted import Accepted, single_points, uplinks
from acceptance.fabric.view.changes import Hosts, changes, trained
from acceptance.fabric.view.errors import Counters, State, errors, stamp

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


def look(folders: Sequence[Path]) -> Looked:
    """Read the folders that `fabric.sh` filled, one for each adapter that it looked from.

    Adapters at the same fabric see the same, those at several all of them together. Every fault
    that is no note leaves the fabric not looked at.
    """
    readings = [topology.read(folder) for folder in folders]
    notes, why = [], []
    for reading in readings:
        asked = f"from {reading.asked}: " if reading.asked else ""
        for fault in reading.faults:
            kind, place = kinds.NOT_JUDGED, fault.program or "names"
            if fault.program == _COUNTERS:
                kind, place = (kinds.NOT_LOOKED if reading.counters is None else kind), "counters"
            elif fault.kind not in _NOTES and fault.program != _ROUTES:
                why.append(f"{asked}{fault}")
                continue
            notes.append(kinds.observation(kind, place, found=f"{asked}{fault}"))
        if reading.topology is None and not why:
            why.append(f"{asked}nothing was read")
    if why or not readings:
        return Looked(None, "; ".join(why) or "no adapter to look from")
    counters = {end: values for reading in readings for end, values in reading.errors.items()}
    uncounted = any(reading.counters is None for reading in readings)
    return Looked(
        topology.union(reading.topology for reading in readings if reading.topology),
        counters=None if uncounted else counters,
        notes=tuple(notes),
        time=float(max((reading.end or 0 for reading in readings), default=0)),
    )


def judge(
    topology: Topology,
    counters: Counters | None,
    *,
    hosts: Hosts,
    accepted: Accepted | None,
    before: State,
    now: float,
    away: Mapping[str, str] | None = None,
) -> tuple[list[Observation], State]:
    """Return what one reading shows, each thing once, and the state to keep for the next one.

    `counters` are None where they were not read. `before` is the state of the last reading, `now`
    the time of this one (s since the epoch), `away` the nodes that are known not to be up, and why.
    """
    found = trained(topology, hosts)
    if accepted is None:
        text = "nothing accepted yet: a lost cable cannot be told from a free port"
        found.append(kinds.observation(kinds.NOT_JUDGED, "cables", found=text))
    else:
        found += changes(accepted.topology, topology, away)
    found += uplinks(topology, accepted, found)
    if counters is not None:
        found += errors(topology, counters, before.counters, before.hours(now))
    found += single_points(topology)
    once = {(each.kind, each.device, each.what): each for each in reversed(found)}
    kept = [each for each in found if once[each.kind, each.device, each.what] is each]
    since = {key: before.since.get(key, stamp(now)) for key in map(key_of, kept)}
    told = [_with_since(each, before.since.get(key_of(each), "")) for each in kept]
    if counters is None:  # of those of the last reading it is known when they were read
        return told, State(before.time, before.counters, since)
    return told, State(now, counters, since)


def key_of(seen: Observation) -> str:
    """Return what names a deviation in a state: the same at every reading that has it."""
    return " ".join(filter(None, (seen.kind, seen.device, seen.what)))


def _with_since(seen: Observation, since: str) -> Observation:
    return replace(seen, text=f"{seen.text} (since {since[:10]})") if since else seen


def failing(observations: Iterable[Observation]) -> list[Observation]:
    """Return what is no note."""
    return [each for each in observations if each.fails]
