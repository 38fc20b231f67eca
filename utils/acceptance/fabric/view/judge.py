"""The judgement of one reading: trained as it should be, as it was accepted, errors, structure."""

from msgspec.structs import replace

from acceptance.core.findings import Finding
from acceptance.fabric.topology import Topology
from acceptance.fabric.view import kinds
from acceptance.fabric.view.accepted import AcceptedFabric, Kept, single_points, uplinks
from acceptance.fabric.view.changes import Hosts, changes, trained
from acceptance.fabric.view.errors import Counters, State, errors, kept_of, stamp


def judge(
    topology: Topology,
    counters: Counters | None,
    *,
    hosts: Hosts,
    accepted: AcceptedFabric | None,
    before: State,
    now: float,
) -> tuple[list[Finding], State]:
    """Return what one reading shows, each thing once, and the state to keep for the next one.

    `counters` are None where they were not read. `before` is the state of the last reading, `now`
    the time of this one (s since the epoch).
    """
    found = trained(topology, hosts)
    if accepted is None:
        text = "nothing accepted yet: a lost cable cannot be told from a free port"
        found.append(kinds.observation(kinds.NOT_JUDGED, "cables", found=text))
    else:
        found += changes(accepted.fabric.topology, topology, hosts.away)
    found += uplinks(topology, accepted, found)
    if counters is not None:
        found += errors(topology, counters, before.counters, before.hours(now))
    found += single_points(topology)
    once = {(each.kind, each.device, each.what): each for each in reversed(found)}
    kept = [each for each in found if once[each.kind, each.device, each.what] is each]
    since = {key: before.since.get(key, stamp(now)) for key in map(key_of, kept)}
    told = [
        replace(each, text=f"{each.text} (since {known[:10]})")
        if (known := before.since.get(key_of(each)))
        else each
        for each in kept
    ]
    fabric = Kept.of(topology)
    if counters is None:  # of those of the last reading it is known when they were read
        return told, State(before.time, before.counters, since, fabric)
    return told, State(now, kept_of(counters), since, fabric)


def key_of(seen: Finding) -> str:
    """Return what names a deviation in a state: the same at every reading that has it."""
    return " ".join(filter(None, (seen.kind, seen.device, seen.what)))
