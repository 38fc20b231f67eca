"""What the counters of a fabric's ports did since the last reading: which errors rise, and where.

Nothing is reset here. Counters stop at their highest value; whoever has the right resets them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True)
class _Growth:
    """What a counter of a port was and is; `grown` since the last reading, or since a reset."""

    name: str
    was: int
    value: int

    @property
    def reset(self) -> bool:
        return self.value < self.was

    @property
    def grown(self) -> int:
        return self.value if self.reset else self.value - self.was

    @property
    def full(self) -> bool:
        return self.value == HIGHEST.get(self.name)

    @property
    def rising(self) -> str:
        reset, full = " since it was reset" * self.reset, " (and full)" * self.full
        return f"{self.name} +{self.grown}{reset}{full}"

    @property
    def standing(self) -> str:
        grown = f" (+{self.grown})" if self.grown else ""
        return f"{self.name} {self.value}{grown}{', where it stops counting' * self.full}"


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
    standing: list[tuple[End, list[_Growth]]] = []
    resets: list[str] = []
    waits: dict[End, int] = {}
    for end, link in sorted(topology.by_end.items()):
        was, value = before.get(str(end), {}), now.get(end, {})
        if not (was or value):
            continue
        at = f"at {topology.name(end)}"
        of_host = not all(topology.is_switch(each.guid) for each in link.ends)
        waited = _Growth(WAITED, was.get(WAITED, 0), value.get(WAITED, 0)).grown
        waits |= {end: waited} if waited else {}
        growths = [_Growth(name, was.get(name, 0), value.get(name, 0)) for name in HIGHEST]
        resets += [topology.name(end)] * any(each.reset for each in growths)
        limits = {each.name: limit(each.name, link, hours, of_host=of_host) for each in growths}
        if rising := [each for each in growths if each.grown > limits[each.name][0]]:
            found = f"{', '.join(each.rising for each in rising)} in {hours:.1f} h"
            yield of_link(topology, link, kinds.ERRORS, found, limits[rising[0].name][1], at)
        elif stands := [each for each in growths if each.value]:
            standing.append((end, stands))
    yield from _standing(topology, standing)
    if resets:
        yield kinds.observation(
            kinds.RESET, "counters",
            found=f"{plural(len(resets), 'port')} count anew since the last reading (reset, or "
            f"the device restarted): {shortened(resets, _SHOWN)}",
        )  # fmt: skip
    if waits:  # the longest, as a fact: ticks differ between makers
        most = max(sorted(waits), key=lambda end: waits[end])
        yield kinds.observation(
            kinds.CONGESTION, topology.link_text(topology.by_end[most]), what=WAITED,
            found=f"+{waits[most]} in {hours:.1f} h at {topology.name(most)}, the most of "
            f"{plural(len(waits), 'port')} that waited; congestion, no error",
        )  # fmt: skip


def _standing(topology: Topology, ports: list[tuple[End, list[_Growth]]]) -> Iterator[Finding]:
    ports.sort(key=lambda port: -max(each.value for each in port[1]))
    for end, stands in ports[:_SHOWN]:
        found = ", ".join(each.standing for each in stands)
        link, at = topology.by_end[end], f"at {topology.name(end)}"
        yield of_link(topology, link, kinds.STANDING, found, "0", at)
    if rest := [topology.name(end) for end, _ in ports[_SHOWN:]]:
        yield kinds.observation(
            kinds.STANDING, "counters",
            found=f"{plural(len(rest), 'port')} more stand above 0: {rest[0]} to {rest[-1]} "
            "(in the kept files)",
        )  # fmt: skip
