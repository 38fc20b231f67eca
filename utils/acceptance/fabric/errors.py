"""What the counters of a fabric's ports did since the last reading: which errors rise, and where.

Nothing is reset here. Counters stop at their highest value; whoever has the right resets them.
"""

import math
from collections.abc import Iterator

from acceptance.core.findings import Finding
from acceptance.core.text import plural, shortened
from acceptance.fabric import kinds
from acceptance.fabric.counters import HIGHEST
from acceptance.fabric.kinds import of_link
from acceptance.fabric.outputs import Counters
from acceptance.fabric.stored import WAITED, KeptCounters, kept_of
from acceptance.fabric.topology import End, Link, Topology

#: The bit errors per bit that the InfiniBand Architecture Specification (volume 2) allows a link.
BIT_ERROR_RATE = 1e-12
#: Counters each of whose counts is one wrong bit at least: limited by that rate. Fewer than this
#: say nothing of a rate; source: `error_thresholds` of infiniband-diags.
_OF_BITS, _FEW = ("SymbolErrorCounter", "PortRcvErrors"), 10
#: Counters -> what they may grow by between two readings, of a link between switches and of a
#: host's. A link within its bit error rate does not recover, go down or exceed its local limits;
#: a host goes down with its node: 10, and for discards 100, is what infiniband-diags suggests.
_LIMITS = {
    "LinkErrorRecoveryCounter": (0, 10),
    "LinkDownedCounter": (0, 10),
    "LocalLinkIntegrityErrors": (0, 0),
    "ExcessiveBufferOverrunErrors": (0, 0),
    "PortXmitDiscards": (100, 100),
}
#: Ports that are named one by one, of those whose counters only stand.
_SHOWN = 10


def _growth(was: int, value: int) -> int:
    """Return what a counter has grown by since the last reading, or since a reset."""
    return value if value < was else value - was


def _rising(name: str, was: int, value: int) -> str:
    reset, full = " since it was reset" * (value < was), " (and full)" * (value == HIGHEST[name])
    return f"{name} +{_growth(was, value)}{reset}{full}"


def _standing(name: str, was: int, value: int) -> str:
    grown, full = _growth(was, value), ", where it stops counting" * (value == HIGHEST[name])
    return f"{name} {value}{f' (+{grown})' * bool(grown)}{full}"


def limit(name: str, link: Link, hours: float, *, of_host: bool) -> tuple[float, str]:
    """Return what a counter may grow by in so many hours, and why.

    Of those of bits that is what the bit error rate gives at the link's rate, and three standard
    deviations of such a count.
    """
    if name not in _OF_BITS:
        most = float(_LIMITS[name][of_host])
        return most, f"at most {most:g} between two readings"
    hourly = link.gbps * 1e9 * 3600 * BIT_ERROR_RATE
    mean = hourly * hours
    most = max(float(_FEW), mean + 3 * math.sqrt(mean))
    return most, f"at most {hourly:.0f} an hour (a bit error rate of {BIT_ERROR_RATE:g})"


def errors(
    topology: Topology, now: Counters, before: KeptCounters | None, hours: float
) -> Iterator[Finding]:
    """Compare counters with those of the last reading, `hours` ago; None: there was none."""
    # Without an earlier reading nothing has grown.
    before = kept_of(now) if (first := before is None) else before
    if first:
        text = "the first reading: how fast errors rise is judged from the next one on"
        yield kinds.observation(kinds.NOT_JUDGED, "counters", found=text)
    #: The highest counter of a port, the port, and what all of its counters say.
    standing: list[tuple[int, End, str]] = []
    resets: list[str] = []
    waits: dict[End, int] = {}
    for end, link in sorted(topology.by_end.items()):
        then, value = before.get(str(end), {}), now.get(end, {})
        if not (then or value):
            continue
        at = f"at {topology.name(end)}"
        of_host = not all(topology.is_switch(each.guid) for each in link.ends)
        waited = _growth(then.get(WAITED, 0), value.get(WAITED, 0))
        waits |= {end: waited} if waited else {}
        both = [(name, then.get(name, 0), value.get(name, 0)) for name in HIGHEST]
        resets += [topology.name(end)] * any(is_now < was for _, was, is_now in both)
        limits = {name: limit(name, link, hours, of_host=of_host) for name in HIGHEST}
        rising = {
            name: _rising(name, was, is_now)
            for name, was, is_now in both
            if _growth(was, is_now) > limits[name][0]
        }
        if rising:
            found = f"{', '.join(rising.values())} in {hours:.1f} h"
            yield of_link(topology, link, kinds.ERRORS, found, limits[next(iter(rising))][1], at)
        elif most := max(is_now for _, _, is_now in both):
            stands = [_standing(name, was, is_now) for name, was, is_now in both if is_now]
            standing.append((most, end, ", ".join(stands)))
    yield from _that_stand(topology, standing)
    if resets:
        yield kinds.observation(
            kinds.RESET, "counters",
            found=f"{plural(len(resets), 'port')} count anew since the last reading (reset, or "
            f"the device restarted): {shortened(resets, _SHOWN)}",
        )  # fmt: skip
    if waits:  # the longest, as a fact: ticks differ between makers
        longest = max(sorted(waits), key=lambda end: waits[end])
        yield kinds.observation(
            kinds.CONGESTION, topology.link_text(topology.by_end[longest]), what=WAITED,
            found=f"+{waits[longest]} in {hours:.1f} h at {topology.name(longest)}, the most of "
            f"{plural(len(waits), 'port')} that waited; congestion, no error",
        )  # fmt: skip


def _that_stand(topology: Topology, ports: list[tuple[int, End, str]]) -> Iterator[Finding]:
    ports.sort(key=lambda port: -port[0])
    for _, end, found in ports[:_SHOWN]:
        link, at = topology.by_end[end], f"at {topology.name(end)}"
        yield of_link(topology, link, kinds.STANDING, found, "0", at)
    if rest := [topology.name(end) for _, end, _ in ports[_SHOWN:]]:
        yield kinds.observation(
            kinds.STANDING, "counters",
            found=f"{plural(len(rest), 'port')} more stand above 0: {rest[0]} to {rest[-1]} "
            "(in the kept files)",
        )  # fmt: skip
