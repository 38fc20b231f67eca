"""The judgement of one reading of a whole fabric, and of each node's cables of Ethernet.

What is not as it was accepted: cables, nodes, adapters and switches, by their GUIDs and ports.

Each change is reported once, by what it is: a replaced switch is no 36 lost and 36 new links.

Whether links run as wide and as fast as they should is told by facts, or by others of their kind. A
host's link is compared with the facts of its partition. All others are compared with the median
of their kind in this fabric, which needs no reference: links between two switches are of a kind
where the switches stand on the same levels, those of hosts where no facts are known.

Leaves with fewer uplinks than their siblings, and what hangs on one cable, are found here, too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from acceptance.core.findings import Finding
from acceptance.core.text import plural, shortened
from acceptance.fabric import kinds, parallel
from acceptance.fabric.errors import errors
from acceptance.fabric.facts import Facts
from acceptance.fabric.kinds import observation, of_link
from acceptance.fabric.node import NodeLinks
from acceptance.fabric.outputs import Counters
from acceptance.fabric.rates import INFINIBAND, Rate
from acceptance.fabric.stored import (
    AcceptedCables,
    AcceptedFabric,
    Kept,
    State,
    kept_of,
    stamp,
)
from acceptance.fabric.summary import carries, structure
from acceptance.fabric.topology import (
    End,
    Link,
    Topology,
    kind_of,
    parts,
)

#: Of a replaced switch at least this share of its cables is where it was.
_SAME_PLACE = 0.5
#: The two ends of a link, sorted.
Ends = tuple[End, End]
#: What a link trained at -> the kind of a link that does less than it should.
_ASPECTS = {"width": kinds.WIDTH, "speed": kinds.SPEED}


def changes(old: Topology, new: Topology, away: Mapping[str, str] | None = None) -> list[Finding]:
    """Return what changed between the accepted fabric and that of now.

    `away` are nodes that are known not to be up, and why: their links may be down.
    """
    renamed = _replacements(old, new)
    current = {link.ends: link for link in new.links}
    #: Ends as they are named now -> the accepted link.
    accepted = {
        _sorted(*(End(renamed.get(end.guid, end.guid), end.port) for end in link.ends)): link
        for link in old.links
    }
    # What is still to be reported: the order matters, as each change takes what it explains.
    lost = {ends: each for ends, each in accepted.items() if ends not in current}
    gained = {ends: each for ends, each in current.items() if ends not in accepted}
    return [
        *_replaced(old, new, renamed),
        *_swapped(old, new, lost, gained),
        *_moved(old, new, lost, gained),
        *_switches_gone(old, new, renamed, lost),
        *_switches_new(old, new, renamed, gained),
        *(_link_lost(old, link, away or {}) for link in lost.values()),
        *(_link_new(new, link) for _, link in sorted(gained.items())),
        *_retrained(new, accepted, current),
        *_renamed_nodes(old, new),
    ]


def _replaced(old: Topology, new: Topology, renamed: Mapping[str, str]) -> Iterator[Finding]:
    for before, after in renamed.items():
        links = [each for each in old.links if before in _guids(each)]
        place, name = old.device_name(before), new.devices[after].name
        if not old.is_switch(before) and links:
            place = old.link_text(links[0])
        new_name = f", its name is {name}" if name != old.devices[before].name else ""
        found, expected = f"GUID {after}{new_name}", f"GUID {before}, as accepted"
        what = "switch" if old.is_switch(before) else "adapter"
        nodes = new.nodes([after]) or old.nodes([before])
        yield observation(kinds.REPLACED, place, found, expected, what, nodes)


def _swapped(
    old: Topology, new: Topology, lost: dict[Ends, Link], gained: dict[Ends, Link]
) -> Iterator[Finding]:
    lost_at = _by_end(lost)
    for ends in sorted(gained):
        for first, second in (ends, ends[::-1]):
            one, other = lost_at.get(first), lost_at.get(second)
            if ends not in gained or not one or not other or one == other:
                continue
            rest = _sorted(_far(one, first), _far(other, second))
            if rest in gained and {one, other} <= lost.keys():
                were = sorted(old.link_text(lost.pop(each)) for each in (one, other))
                are = sorted(new.link_text(gained.pop(each)) for each in (ends, rest))
                place, found = " and ".join(were), " and ".join(are)
                nodes = new.nodes(end.guid for end in (*ends, *rest))
                expected = "each at its own port, as accepted"
                yield observation(kinds.SWAPPED, place, found, expected, nodes=nodes)


def _moved(
    old: Topology, new: Topology, lost: dict[Ends, Link], gained: dict[Ends, Link]
) -> Iterator[Finding]:
    lost_at = _by_end(lost)
    for ends in sorted(gained):
        # A host keeps its end: it is the node that has moved.
        for end in sorted(ends, key=lambda each: new.is_switch(each.guid)):
            was = lost_at.get(end)
            if was in lost and ends in gained:
                place = old.link_text(lost.pop(was))
                found = new.link_text(gained.pop(ends))
                expected = "the port at which it was accepted"
                nodes = new.nodes(each.guid for each in ends)
                yield observation(kinds.MOVED, place, found, expected, nodes=nodes)


def _switches_gone(
    old: Topology, new: Topology, renamed: Mapping[str, str], lost: dict[Ends, Link]
) -> Iterator[Finding]:
    for guid in old.switches:
        if guid in new.devices or guid in renamed:
            continue
        links = _take(lost, guid)
        far = shortened(sorted(old.name(link.other(guid)) for link in links))
        place, ends = old.device_name(guid), (each for it in links for each in _guids(it))
        found = f"gone, with its links to {far}" if far else "gone"
        expected, nodes = f"GUID {guid}, as accepted", old.nodes(ends)
        yield observation(kinds.SWITCH, place, found, expected, "switch", nodes)


def _switches_new(
    old: Topology, new: Topology, renamed: Mapping[str, str], gained: dict[Ends, Link]
) -> Iterator[Finding]:
    for guid in new.switches:
        if guid not in old.devices and guid not in renamed.values():
            links = _take(gained, guid)
            place, count = new.device_name(guid), plural(len(links), "link")
            expected = "no such switch, as accepted"
            found = f"GUID {guid}, with {count}"
            yield observation(kinds.NEW, place, found, expected, "switch")


def _link_lost(old: Topology, link: Link, away: Mapping[str, str]) -> Finding:
    nodes = map(old.node, _guids(link))
    why = next((away[name] for name in nodes if name in away), "")
    kind, found = (kinds.AWAY, f"no link: {why}") if why else (kinds.LOST, "no link")
    expected = f"{link.width} {link.speed}, as accepted"
    return of_link(old, link, kind, found, expected)


def _link_new(new: Topology, link: Link) -> Finding:
    found, expected = f"a link at {link.width} {link.speed}", "no such link, as accepted"
    return of_link(new, link, kinds.NEW, found, expected)


def _retrained(
    new: Topology, accepted: Mapping[Ends, Link], current: Mapping[Ends, Link]
) -> Iterator[Finding]:
    """Yield what runs slower, or faster, than it was accepted."""
    for ends, before in accepted.items():
        after = current.get(ends, before)
        for what, slower in _ASPECTS.items():
            was, runs = getattr(before, what), getattr(after, what)
            if was != runs:
                kind = slower if _rank(runs) < _rank(was) else kinds.FASTER
                yield of_link(new, after, kind, runs, f"{was}, as accepted", what)


def _renamed_nodes(old: Topology, new: Topology) -> Iterator[Finding]:
    for guid in sorted(old.devices.keys() & new.devices.keys()):
        was, is_now = old.node(guid), new.node(guid)
        if was and is_now and was != is_now:
            found, expected = f"the adapter of {is_now}", f"that of {was}, as accepted"
            yield observation(kinds.RENAMED, guid, found, expected, nodes=(is_now,))


def _replacements(old: Topology, new: Topology) -> dict[str, str]:
    """Return GUIDs of devices that are gone -> those of new ones that took their places.

    That is the new device of the same kind that has most of the cables of one that is gone.
    """
    near_at: dict[End, list[End]] = defaultdict(list)
    for link in new.links:
        for near, far in (link.ends, link.ends[::-1]):
            if near.guid not in old.devices:
                near_at[far].append(near)
    renamed: dict[str, str] = {}
    gone = [guid for guid in old.devices if guid not in new.devices] if near_at else []
    # Switches first: a new adapter may sit at a new switch.
    for guid in sorted(gone, key=lambda each: (not old.is_switch(each), each)):
        links = [link for link in old.links if guid in _guids(link)]
        there: Counter[str] = Counter()
        for link in links:
            far = link.other(guid)
            own = link.other(far.guid)
            for near in near_at.get(End(renamed.get(far.guid, far.guid), far.port), ()):
                alike = new.devices[near.guid].kind == old.devices[guid].kind
                same_port = near.port == own.port or not old.is_switch(guid)
                if alike and same_port and near.guid not in renamed.values():
                    there[near.guid] += 1
        for best, cables in there.most_common(1):
            if cables >= _SAME_PLACE * len(links):
                renamed[guid] = best
    return renamed


def _guids(link: Link) -> tuple[str, ...]:
    return tuple(end.guid for end in link.ends)


def _sorted(*ends: End) -> Ends:
    first, second = sorted(ends)
    return first, second


def _far(ends: Ends, near: End) -> End:
    return ends[1] if ends[0] == near else ends[0]


def _by_end(links: Iterable[Ends]) -> dict[End, Ends]:
    return {end: ends for ends in links for end in ends}


def _take(links: dict[Ends, Link], guid: str) -> list[Link]:
    """Take the links of a switch from those that are still to be reported."""
    ends = [each for each in links if guid in (each[0].guid, each[1].guid)]
    return [links.pop(each) for each in ends]


#: Links of a kind below which no median says what they should do.
_FEW = 3


def _rank(word: str) -> int:
    """Return the place of a width or a speed in their order; -1 for a word that nobody knows."""
    if word in INFINIBAND:
        return [*INFINIBAND].index(word)
    lanes = word[:-1]
    return int(lanes) if lanes.isdecimal() else -1


@dataclass(frozen=True)
class Hosts:
    """Which facts judge the link of a host: those of the partition that its node belongs to.

    `others` are those of all other nodes, None where these may be of any kind (storage, login).
    `away` are nodes that are not up, and why. `silent`: why a scheduler told no nodes of its own.
    """

    by_node: Mapping[str, Facts]
    others: Facts | None = None
    away: Mapping[str, str] = field(default_factory=dict)
    silent: str = ""

    def rate(self, node: str, name: str) -> Rate | None:
        """Return what the facts demand of an adapter, by its node and its name, if any do.

        Where devices are declared, an adapter whose name ends with another one is none of them.
        """
        facts = self.by_node.get(node, self.others)
        if facts is None:
            return None
        devices = {device.split("/")[0] for device in facts.devices}
        last = name.split()[-1] if " " in name else ""
        return None if devices and last and last not in devices else facts.port_rate


def trained(topology: Topology, hosts: Hosts) -> list[Finding]:
    """Return the links that run otherwise than they should, and those that are not in service."""
    found = [
        of_link(topology, link, kinds.STATE, link.state, "Active", "state")
        for link in topology.links
        if link.state not in ("", "Active")
    ]
    unjudged, alike = 0, defaultdict(list)
    for link in topology.links:
        adapters = [guid for guid in _guids(link) if not topology.is_switch(guid)]
        rates = (hosts.rate(topology.node(each), topology.devices[each].name) for each in adapters)
        if rate := next(filter(None, rates), None):
            for what, word in (("width", f"{rate.lanes}x"), ("speed", rate.word)):
                if (runs := getattr(link, what)) != word:
                    expected = f"{word}, as its partition states"
                    found.append(of_link(topology, link, _ASPECTS[what], runs, expected, what))
        elif adapters and hosts.by_node:  # a storage server, of no partition, may be of any kind
            unjudged += 1
        else:
            alike[kind_of(topology, link)].append(link)
    if unjudged:
        text = f"{plural(unjudged, 'link')} of hosts that belong to no partition are compared with "
        found.append(observation(kinds.NOT_JUDGED, "hosts", text + "what was accepted only"))
    if hosts.silent:
        text = f"links of its hosts are not compared with the facts of a partition: {hosts.silent}"
        found.append(observation(kinds.NOT_JUDGED, "scheduler", text))
    # Of each switch the best speed of any of its links: it may be an older one.
    best = {
        guid: max((link.speed for _, _, link in topology.graph.edges(guid, "link")), key=_rank)
        for guid in topology.switches
        if topology.graph.degree(guid)
    }
    for what in _ASPECTS:
        for members in alike.values():
            if len(members) >= _FEW:
                found += _by_median(topology, members, what, best if what == "speed" else {})
    return found


def _by_median(
    topology: Topology, members: Sequence[Link], what: str, best: Mapping[str, str]
) -> Iterator[Finding]:
    """Compare links of a kind with their median, or with the best that both ends do at all."""
    words = sorted((getattr(link, what) for link in members), key=_rank)
    median = words[len(words) // 2]
    ends = {guid for link in members for guid in _guids(link) if guid in best}
    older = [guid for guid in sorted(ends) if _rank(best[guid]) < _rank(median)]
    for link in members:
        bests = (best.get(guid, median) for guid in _guids(link))
        expected = min((median, *bests), key=_rank)
        if _rank(runs := getattr(link, what)) < _rank(expected):
            text = f"{expected}, the median of {plural(len(members), 'link')} of its kind"
            yield of_link(topology, link, _ASPECTS[what], runs, text, what)
    for guid in older:
        text = f"{best[guid]} at most, on all of its links"
        expected = f"{median} by the median of its kind, unless it is an older one"
        yield observation(kinds.OLDER, topology.device_name(guid), text, expected, what)


def uplinks(
    topology: Topology, accepted: AcceptedFabric | None, changed: Iterable[Finding]
) -> list[Finding]:
    """Return the leaves with fewer uplinks than their siblings, unless it is known why.

    Known are leaves that were accepted so, and those at which a change was found: `changed`.
    """
    leaves = structure(accepted.fabric.topology).leaves if accepted else ()
    then = {leaf.guid: leaf for leaf in leaves}
    # The names of switches at the ends of links: `leaf01` is no part of `rack2-leaf01`.
    links = (link for each in changed if each.fails for link in each.device.split(" and "))
    places = {end.rpartition("[")[0] for link in links for end in link.split(" - ")}
    found = []
    for leaf in structure(topology).fewer:
        name = topology.device_name(leaf.guid)
        before = then.get(leaf.guid)
        if name in places or (before and before.uplinks == leaf.uplinks):
            continue
        expected = f"{leaf.siblings}, as most leaves of its kind have"
        found.append(
            kinds.observation(kinds.UPLINKS, name, plural(leaf.uplinks, "uplink"), expected)
        )
    return found


def off_rails(topology: Topology, accepted: AcceptedFabric | None) -> Iterator[Finding]:
    """Yield the adapters at a leaf of another rail than theirs, unless they were accepted there."""
    own = topology.rails_of_leaves
    then = {link.ends for link in accepted.fabric.topology.links} if accepted else set()
    for guid, rail in topology.rails.items() if own else ():
        leaf = topology.leaf_of(guid) or ""
        if own.get(leaf, rail) != rail:
            link = next(link for link in topology.links if {guid, leaf} == {*_guids(link)})
            if link.ends not in then:
                found, expected = f"a leaf of rail {own[leaf]}", f"one of rail {rail}"
                yield of_link(topology, link, kinds.RAIL, found, f"{expected}, as of other nodes")


def single_points(topology: Topology) -> list[Finding]:
    """Return what a person should know of the build: what hangs on one switch, or one cable."""
    notes = structure(topology).notes(topology)
    return [kinds.observation(kinds.SINGLE, "structure", what=f"{number}", found=text)
            for number, text in enumerate(notes, 1)]  # fmt: skip


def structure_text(topology: Topology) -> list[str]:
    """Return what each of the fabrics can carry, as far as it is defined."""
    return [text for fabric in parts(topology) for text in carries(fabric)]


def judge(
    topology: Topology,
    counters: Counters | None,
    *,
    hosts: Hosts,
    accepted: AcceptedFabric | None,
    before: State,
    now: float,
    traffic: Counters | None = None,
    half: bool = False,
) -> tuple[list[Finding], State]:
    """Return what one reading shows, each thing once, and the state to keep for the next one.

    `counters`, and `traffic`, those of data, are None where they were not read. `before` is the
    state of the last reading, `now` the time of this one (s since the epoch). `half`: not all ports
    answered when they were asked for their counters; which did not is not known.
    """
    found = trained(topology, hosts)
    if accepted is None:
        text = "nothing accepted yet: a lost cable cannot be told from a free port"
        found.append(kinds.observation(kinds.NOT_JUDGED, "cables", found=text))
    else:
        found += changes(accepted.fabric.topology, topology, hosts.away)
    found += uplinks(topology, accepted, found)
    found += off_rails(topology, accepted)
    past, held = before.counters, kept_of({})
    if half and past and counters is not None:
        # A port that is not told has no errors, or did not answer: the next reading tells.
        answered = {*map(str, counters)}
        held = {end: values for end, values in past.items() if end not in answered}
        past = {end: values for end, values in past.items() if end in answered}
    if counters is not None:
        found += errors(topology, counters, past, before.hours(now))
    found += single_points(topology)
    sent = before.traffic
    if traffic is not None:
        sent = parallel.kept_of(topology, traffic, before.traffic)
        found += parallel.judge(topology, sent, before.traffic)
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
        return told, State(before.time, before.counters, since, fabric, sent, now)
    return told, State(now, {**held, **kept_of(counters)}, since, fabric, sent, now)


def key_of(seen: Finding) -> str:
    """Return what names a deviation in a state: the same at every reading that has it."""
    return " ".join(filter(None, (seen.kind, seen.device, seen.what)))


def compare(node: NodeLinks, known: AcceptedCables | None, *, asked: bool) -> list[Finding]:
    """Return which cables of a node are not where they were accepted.

    `asked`: the fabric is one whose cables nobody else tells: what is not known is said, too.
    """
    mine = known.fabric.get(node.name, {}) if known else {}
    if node.neighbours is None:
        told = f"nobody tells where its cables lead: {node.no_neighbours or 'not asked'}"
        return [observation(kinds.NOT_JUDGED, node.name, told, nodes=(node.name,))] * bool(
            mine or asked
        )
    if known is None:
        told = "nothing accepted yet: acceptance fabric accept --reason TEXT"
        return [observation(kinds.NOT_JUDGED, "cables of Ethernet", told)] * asked
    owners = {
        far: f"{name} {interface}"
        for name, ends in known.fabric.items()
        for interface, far in ends.items()
    }
    there, found = dict(node.neighbours), []
    for interface, far in mine.items():
        ends = there.pop(interface, [])
        if far in ends:
            continue
        kind, text = kinds.NO_NEIGHBOUR, "nothing answers"
        if ends:
            owner = owners.get(ends[0])
            kind = kinds.SWAPPED_PORT if owner else kinds.OTHER_PORT
            text = f"at {_end(ends[0])}" + (f", the port of {owner}" if owner else "")
        place = f"{node.name} {interface} - {_end(far)}"
        expected = "the port at which it was accepted"
        found.append(observation(kind, place, text, expected, nodes=(node.name,)))
    for interface, ends in sorted(there.items()):
        place = f"{node.name} {interface} - {_end(ends[0])}"
        new = observation(kinds.NEW_PORT, place, "a cable", "none, as accepted", nodes=(node.name,))
        found.append(new)
    return found


def _end(far: tuple[str, str]) -> str:
    return f"{far[0]}[{far[1]}]"
