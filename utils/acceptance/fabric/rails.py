"""The rails of a node: what share of a case's bytes each of its links carried.

Rails are the links of one fabric on a node that a message may use at once, as its facts state them
(`ports`, `device`). Without any they are all links of its technology but of Ethernet, of which
nothing is expected.
Bytes are those by which the counters of `fabric/link.sh` grew while the case ran, in and out.

A case of bandwidth has to use as many rails as are stated: one that carried nothing fails it, and
the results are held against what is left. Unequal shares fail nothing, nor does traffic that has
moved from one rail to another since an earlier run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from acceptance.core.findings import Finding
from acceptance.core.text import shortened
from acceptance.fabric import plausibility
from acceptance.fabric.counters import link_bytes, roce_beside
from acceptance.fabric.facts import Facts
from acceptance.fabric.limits import limit
from acceptance.fabric.node import Interface, Link, NodeLinks, deviation, undeclared
from acceptance.fabric.traffic import carrying, shares, shifted
from acceptance.machine import Layout
from acceptance.suites import Benchmark

#: Bytes of the largest message from which a case has to use all rails: MPIs split messages that are
#: sent by rendezvous only, of 16 KiB (MVAPICH2), 64 KiB (Open MPI over TCP) or some 100 KiB (UCX);
#: what is smaller takes one rail.
STRIPED = 2**20
#: Nodes that a text names: those with the most unequal shares.
MOST = 16
IDLE, DOWN, UNEVEN, MOVED = "rail-idle", "rail-down", "rail-uneven", "rail-moved"


#: Node -> rail -> what it carried, as a case stores it.
Bytes = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Rails:
    """The rails of a node: the bytes of each, and those that are not up, with their state.

    `unknown` says why the bytes are not known; `moved` is empty then.
    """

    node: str
    moved: Mapping[str, int]
    down: Mapping[str, str] = field(default_factory=dict)
    unknown: str = ""

    @property
    def total(self) -> int:
        """Return the bytes of all rails."""
        return sum(self.moved.values())

    @property
    def used(self) -> list[str]:
        """Return the rails that carried more than nothing."""
        return carrying(self.moved)

    @property
    def farthest(self) -> tuple[str, float]:
        """Return the used rail whose share is farthest from an even one, and by which fraction."""
        used = self.used
        off = {name: self.moved[name] / self.total * len(used) - 1 for name in used}
        worst = max(off, key=lambda name: abs(off[name]), default="")
        return worst, off.get(worst, 0.0)


def read(folder: Path, nodes: Iterable[str], facts: Facts | None) -> list[Rails]:
    """Return the rails of nodes that have any, from what `machine/rank.sh` left in a folder.

    Those of a node that reported nothing are not known, where several are stated or other nodes
    have some. Raises ParseError for a reading that is cut.
    """
    if facts is None or not facts.shown:
        return []
    pairs = {name: plausibility.readings_of(folder, name) for name in sorted(set(nodes))}
    found = [rails for pair in pairs.values() if pair and (rails := rails_of(*pair, facts))]
    if found or facts.ports > 1:
        found += [
            Rails(name, {}, unknown=f"{name} reported nothing of its links")
            for name, pair in pairs.items()
            if pair is None
        ]
    return found


def rails_of(before: NodeLinks, after: NodeLinks, facts: Facts) -> Rails | None:
    """Return the rails of a node by two of its readings; None: there is one at most, as stated.

    Of stated ports without names those that are not there are called `port-2` and so on.
    """
    links, stated = before.links_of(facts), facts.states_links
    absent = undeclared(links, facts)
    have = len(links) + len(absent)
    absent += [f"port-{number}" for number in range(have + 1, facts.ports + 1)]
    if len(links) + len(absent) < 2 or not (stated or facts.technology != "ethernet"):
        return None
    moved, down = dict.fromkeys(absent, 0), dict.fromkeys(absent, "not there")
    try:
        for name, link in links.items():
            last = after.links.get(name)
            is_up = link.up and last is not None and last.up
            down |= {} if is_up else {name: _state(last if last and link.up else link)}
            silent = not link.up and (last is None or not last.up)
            moved[name] = 0 if silent else link_bytes(before.name, link, last)
        for name, port in roce_beside(before, links, facts).items():
            count = link_bytes(before.name, port, after.ports.get(name))
            pci = before.adapters[port.device].pci
            owners = [
                rail for rail, it in links.items() if isinstance(it, Interface) and it.pci == pci
            ]
            if count and len(owners) != 1:
                raise ValueError(f"which rail of {before.name} carried {name} nobody can tell")
            moved |= {rail: moved[rail] + count for rail in owners}
    except ValueError as err:
        return Rails(before.name, {}, down, str(err))
    return Rails(before.name, moved, down)


def _state(link: Link) -> str:
    state = link.operstate if isinstance(link, Interface) else link.state.partition(": ")[2]
    return state or "no state"


def of_bandwidth(every: Sequence[Rails], facts: Facts, min_bytes: int) -> list[Rails]:
    """Return the rails of a case that has to use as many of them as are stated, as far as known.

    `min_bytes` is its largest message, 0 of a case of anything else than bandwidth. Of nodes that
    moved less than that something else is wrong.
    """
    if not facts.states_links or min_bytes < STRIPED:
        return []
    return [rails for rails in every if rails.used and rails.total >= min_bytes]


def left(judged: Sequence[Rails], facts: Facts, nodes: int) -> Facts:
    """Return the facts of the rails that a case used: of fewer than are stated less is the limit.

    Of two nodes the one with fewer rails limits both; of more nodes, whose results may be of others
    or are sums, the one with the most.
    """
    chosen = (min if nodes == 2 else max)(judged, key=lambda rails: len(rails.used), default=None)
    if chosen is None or len(chosen.used) >= facts.ports or (nodes > 2 and len(judged) < nodes):
        return facts
    return replace(facts, ports=len(chosen.used), device=",".join(chosen.used))


def left_text(
    benchmark: Benchmark,
    peaks: Mapping[str, tuple[float, str]],
    facts: Facts,
    layout: Layout,
    within: float | None,
) -> str:
    """Say whether a bandwidth is what the rails that a case used can carry, whose facts these are.

    `peaks` are metric -> value and unit of what is compared with a limit; `within` is the fraction
    of it that may be missing, None where the site states none.
    """
    bound = limit(facts).least
    links = plausibility.factor(benchmark, layout.nodes, layout.mapping, layout.processes // 2)
    if bound is None or within is None or not links or not peaks:
        why = "no result is compared with a limit" if bound else limit(facts).note
        return f"whether the bandwidth is what is left cannot be told: {why}"
    units = plausibility.UNITS
    name, (value, unit) = max(peaks.items(), key=lambda each: each[1][0] * units[each[1][1]])
    most = links * bound.value / units[unit]
    told = f"{name} is {value:.5g} {unit}, {100 * value / most:.0f} % of the {most:.5g} that "
    told += f"{facts.text} carries at most ({bound.formula})"
    if plausibility.exceeds(value, most):
        return f"{told}: more than what is left"
    return f"{told}: {'less than ' * (value < (1 - within) * most)}what is left"


def judge(judged: Sequence[Rails], facts: Facts, told: str) -> Iterator[Finding]:
    """Yield the rails that carried nothing, though stated, and those with an unequal share.

    One that is down at all other nodes of the case, where it is called the same, cannot carry
    anything. `told` says what became of the bandwidth; the first of these rails says it for all.
    """
    told = f"; {told}"
    for rails in judged:
        used, others = rails.used, [each.down for each in judged if each is not rails]
        if len(used) < facts.ports:
            for name in (each for each in rails.moved if each not in used):
                state = rails.down.get(name)
                if not state and others and all(name in down for down in others):
                    continue
                found = f"carried nothing of {rails.total} bytes"
                found += f" ({state})" if state else ", though it is up"
                expected = f"that {facts.ports} rails carry them, not {len(used)}"
                seen = deviation(rails.node, name, "", found, expected, DOWN if state else IDLE)
                yield replace(seen, fails=True, text=seen.text + told)
                told = ""
        name, off = rails.farthest
        if abs(off) > facts.uneven:
            found = f"{100 * (1 + off) / len(used):.0f} % of the bytes"
            expected = f"{100 / len(used):.0f} %, within {100 * facts.uneven:.0f} % of it"
            yield deviation(rails.node, name, "share", found, expected, UNEVEN)


def text_of(every: Sequence[Rails], facts: Facts) -> str:
    """Write the bytes and the share of each rail and node, and the limit.

    `2 of 2 used, ...: node1 eth1 61728394 bytes (50 %), node1 eth2 ...`.
    """
    known = sorted((each for each in every if each.used), key=lambda each: -abs(each.farthest[1]))
    unknown = [each.unknown or f"{each.node} moved nothing" for each in every if not each.used]
    said = [f"not known: {shortened(unknown)}"] if unknown else []
    if known:
        least, stated = min(known, key=lambda each: len(each.used)), len(known[0].moved)
        bound = limit(replace(facts, ports=len(least.used), device=",".join(least.used))).least
        carries = f", which carry {bound.value:.5g} MB/s at most ({bound.formula})" if bound else ""
        entries = [
            f"{each.node} {name} {count} bytes ({100 * share:.0f} %)"
            for each in known[:MOST]
            for (name, count), share in zip(
                each.moved.items(), shares(each.moved).values(), strict=True
            )
        ]
        if rest := known[MOST:]:
            most = 100 * abs(rest[0].farthest[1])
            entries.append(f"{len(rest)} more nodes within {most:.0f} % of even shares")
        said.insert(0, f"{len(least.used)} of {stated} used{carries}: {', '.join(entries)}")
    return "; ".join(said)


def moved(before: Bytes, now: Bytes) -> Iterator[Finding]:
    """Yield the nodes whose traffic moved between rails from one run of a case to another.

    Both are node -> rail -> bytes; compared are the nodes that both have.
    """
    for node in (name for name in now if name in before):
        if rail := shifted(before[node], now[node]):
            share, old = (100 * shares(each[node])[rail] for each in (now, before))
            seen = deviation(node, rail, "share", f"{share:.0f} %", f"{old:.0f} % as before", MOVED)
            total = sum(now[node].values())
            said = f"{node} {rail} carried {share:.0f} % of {total} bytes, {old:.0f} % before: "
            said += "traffic moved between rails at the same sum, no regression"
            yield replace(seen, text=said)
