"""What is not as it was accepted: cables, nodes, adapters and switches, by their GUIDs and ports.

Each change is reported once, by what it is: a replaced switch is no 36 lost and 36 new links.

Whether links run as wide and as fast as they should is told by facts, or by others of their kind. A
host's link is compared with the facts of its partition. All others are compared with the median
of their kind in this fabric, which needs no reference: links between two switches are of a kind
where the switches stand on the same levels, those of hosts where no facts are known.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acceptance.core.findings import Observation
from acceptance.core.text import plural, shortened
from acceptance.fabric.facts import Facts
from acceptance.fabric.rates import INFINIBAND
from acceptance.fabric.topology import End, Link, Topology
from acceptance.fabric.view import kinds
from acceptance.fabric.view.kinds import Ends, Places

#: Of a replaced switch at least this share of its cables is where it was.
_SAME_PLACE = 0.5


def changes(
    old: Topology, new: Topology, away: Mapping[str, str] | None = None
) -> list[Observation]:
    """Return what changed between the accepted fabric and that of now.

    `away` are nodes that are known not to be up, and why: their links may be down.
    """
    return list(_Comparison(old, new, away or {}).observations())


class _Comparison:
    """Two states of a fabric; what has been reported is taken from `lost` and `gained`."""

    def __init__(self, old: Topology, new: Topology, away: Mapping[str, str]) -> None:
        self.old, self.new, self.away = old, new, away
        self.then, self.now = Places(old), Places(new)
        self.current = {link.ends: link for link in new.links}
        self.renamed = _Replacements(old, new).renamed
        #: Ends as they are named now -> the accepted link.
        self.accepted = accepted = {self._ends_now(each.ends): each for each in old.links}
        self.lost = {ends: each for ends, each in self.accepted.items() if ends not in self.current}
        self.gained = {ends: each for ends, each in self.current.items() if ends not in accepted}

    def _ends_now(self, ends: Ends) -> Ends:
        first, second = sorted(End(self.renamed.get(end.guid, end.guid), end.port) for end in ends)
        return first, second

    def observations(self) -> Iterator[Observation]:
        """Yield each change once; the order matters, as each takes what it explains."""
        yield from self.replaced()
        yield from self.swapped()
        yield from self.moved()
        yield from self.switches_gone()
        yield from self.switches_new()
        yield from map(self.link_lost, self.lost.values())
        yield from map(self.link_new, sorted(self.gained))
        yield from self.trained()
        yield from self.renamed_nodes()

    def replaced(self) -> Iterator[Observation]:
        for before, after in self.renamed.items():
            links = [each for each in self.old.links if before in _guids(each.ends)]
            place, name = self.old.device_name(before), self.new.devices[after].name
            if not self.then.is_switch(before) and links:
                place = self.then.link(links[0].ends)
            new_name = f", its name is {name}" if name != self.old.devices[before].name else ""
            yield kinds.observation(
                kinds.REPLACED,
                place,
                found=f"GUID {after}{new_name}",
                expected=f"GUID {before}, as accepted",
                node=self.now.node(after) or self.then.node(before),
                what="switch" if self.then.is_switch(before) else "adapter",
            )

    def swapped(self) -> Iterator[Observation]:
        lost_at = _by_end(self.lost)
        for ends in sorted(self.gained):
            for first, second in (ends, ends[::-1]):
                one, other = lost_at.get(first), lost_at.get(second)
                if ends not in self.gained or not one or not other or one == other:
                    continue
                rest = _pair(_far(one, first), _far(other, second))
                if rest in self.gained and {one, other} <= self.lost.keys():
                    yield self._swap((one, other), (ends, rest))
                    for taken in (one, other):
                        del self.lost[taken]
                    for taken in (ends, rest):
                        del self.gained[taken]

    def _swap(self, lost: tuple[Ends, Ends], gained: tuple[Ends, Ends]) -> Observation:
        were = sorted(self.then.link(self.accepted[ends].ends) for ends in lost)
        are = sorted(map(self.now.link, gained))
        return kinds.observation(
            kinds.SWAPPED,
            " and ".join(were),
            found=" and ".join(are),
            expected="each at its own port, as accepted",
            node=self.now.nodes(end.guid for ends in gained for end in ends),
        )

    def moved(self) -> Iterator[Observation]:
        lost_at = _by_end(self.lost)
        for ends in sorted(self.gained):
            # A host keeps its end: it is the node that has moved.
            for end in sorted(ends, key=lambda each: self.now.is_switch(each.guid)):
                lost = lost_at.get(end)
                if lost in self.lost and ends in self.gained:
                    accepted = self.accepted[lost].ends
                    yield kinds.observation(
                        kinds.MOVED,
                        self.then.link(accepted),
                        found=self.now.link(ends),
                        expected="the port at which it was accepted",
                        node=self.now.nodes(each.guid for each in ends),
                    )
                    del self.lost[lost]
                    del self.gained[ends]

    def switches_gone(self) -> Iterator[Observation]:
        for guid, device in sorted(self.old.devices.items()):
            if device.kind != "switch" or guid in self.new.devices or guid in self.renamed:
                continue
            links = [ends for ends in self.lost if guid in _guids(ends)]
            far = [_far_name(self.then, self.accepted[ends].ends, guid) for ends in links]
            yield kinds.observation(
                kinds.SWITCH,
                self.old.device_name(guid),
                found=f"gone, with its links to {shortened(sorted(far))}" if far else "gone",
                expected=f"GUID {guid}, as accepted",
                what="switch",
                node=self.then.nodes(end.guid for ends in links for end in ends),
            )
            for ends in links:
                del self.lost[ends]

    def switches_new(self) -> Iterator[Observation]:
        known = {*self.old.devices, *self.renamed.values()}
        for guid, device in sorted(self.new.devices.items()):
            if device.kind != "switch" or guid in known:
                continue
            links = [ends for ends in self.gained if guid in _guids(ends)]
            yield kinds.observation(
                kinds.NEW,
                self.new.device_name(guid),
                found=f"GUID {guid}, with {plural(len(links), 'link')}",
                expected="no such switch, as accepted",
                what="switch",
            )
            for ends in links:
                del self.gained[ends]

    def link_lost(self, link: Link) -> Observation:
        nodes = self.then.nodes(end.guid for end in link.ends)
        why = next((self.away[name] for name in nodes.split(",") if name in self.away), "")
        return kinds.observation(
            kinds.AWAY if why else kinds.LOST,
            self.then.link(link.ends),
            found=f"no link: {why}" if why else "no link",
            expected=f"{link.width} {link.speed}, as accepted",
            node=nodes,
        )

    def link_new(self, ends: Ends) -> Observation:
        link = self.current[ends]
        return kinds.observation(
            kinds.NEW,
            self.now.link(ends),
            found=f"a link at {link.width} {link.speed}",
            expected="no such link, as accepted",
            node=self.now.nodes(_guids(ends)),
        )

    def trained(self) -> Iterator[Observation]:
        """Yield what runs slower, or faster, than it was accepted."""
        for ends, before in self.accepted.items():
            after = self.current.get(ends, before)
            for what in ("width", "speed"):
                was, runs = getattr(before, what), getattr(after, what)
                if was != runs:
                    slower = kinds.WIDTH if what == "width" else kinds.SPEED
                    yield kinds.observation(
                        slower if _is_slower(what, runs, was) else kinds.FASTER,
                        self.now.link(ends),
                        found=runs,
                        expected=f"{was}, as accepted",
                        what=what,
                        node=self.now.nodes(_guids(ends)),
                    )

    def renamed_nodes(self) -> Iterator[Observation]:
        for guid in sorted(self.old.devices.keys() & self.new.devices.keys()):
            was, is_now = self.then.node(guid), self.now.node(guid)
            if was and is_now and was != is_now:
                yield kinds.observation(
                    kinds.RENAMED,
                    guid,
                    found=f"the adapter of {is_now}",
                    expected=f"that of {was}, as accepted",
                    node=is_now,
                )


class _Replacements:
    """Devices that are gone, and new ones that took their places: `renamed` maps GUIDs."""

    def __init__(self, old: Topology, new: Topology) -> None:
        self.old, self.new = old, new
        self.renamed: dict[str, str] = {}
        self.at: dict[End, list[End]] = {}
        for link in new.links:
            for near, far in (link.ends, link.ends[::-1]):
                if near.guid not in old.devices:
                    self.at.setdefault(far, []).append(near)
        gone = [guid for guid in old.devices if guid not in new.devices] if self.at else []
        # Switches first: a new adapter may sit at a new switch.
        for guid in sorted(gone, key=lambda each: (old.devices[each].kind != "switch", each)):
            self.find(guid)

    def find(self, guid: str) -> None:
        """Note the new device of the same kind that has most of the cables of one that is gone."""
        kind = self.old.devices[guid].kind
        fars = [_far_end(link.ends, guid) for link in self.old.links if guid in _guids(link.ends)]
        there = Counter(
            near.guid
            for port, far in fars
            for near in self.at.get(End(self.renamed.get(far.guid, far.guid), far.port), ())
            if self.new.devices[near.guid].kind == kind
            and near.guid not in self.renamed.values()
            and (near.port == port or kind != "switch")
        )
        for best, cables in there.most_common(1):
            if cables >= _SAME_PLACE * len(fars):
                self.renamed[guid] = best


def _guids(ends: Iterable[End]) -> tuple[str, ...]:
    return tuple(end.guid for end in ends)


def _pair(first: End, second: End) -> Ends:
    return (first, second) if first <= second else (second, first)


def _far(ends: Ends, near: End) -> End:
    return ends[1] if ends[0] == near else ends[0]


def _far_end(ends: Ends, guid: str) -> tuple[int, End]:
    """Return the port of a device in a link, and the link's other end."""
    near, far = ends if ends[0].guid == guid else ends[::-1]
    return near.port, far


def _far_name(places: Places, ends: Ends, guid: str) -> str:
    return places.topology.name(next((e for e in ends if e.guid != guid), ends[0]))


def _by_end(links: Iterable[Ends]) -> dict[End, Ends]:
    return {end: ends for ends in links for end in ends}


#: The words of speeds -> their places in that order.
_SPEEDS = {word: number for number, word in enumerate(INFINIBAND)}
#: Links of a kind below which no median says what they should do.
_FEW = 3
_ASPECTS = ("width", "speed")


def rank(what: str, word: str) -> int:
    """Return the place of a width or a speed in their order; -1 for a word that nobody knows."""
    if what == "speed":
        return _SPEEDS.get(word, -1)
    lanes = word[:-1]
    return int(lanes) if lanes.isdecimal() else -1


def _is_slower(what: str, word: str, other: str) -> bool:
    """Tell whether a width or a speed is less than another one."""
    return rank(what, word) < rank(what, other)


@dataclass(frozen=True)
class Hosts:
    """Which facts judge the link of a host: those of the partition that its node belongs to.

    `others` are those of all other nodes, None where these may be of any kind (storage, login).
    """

    by_node: Mapping[str, Facts]
    others: Facts | None = None

    def facts(self, node: str, name: str) -> Facts | None:
        """Return the facts that judge an adapter, by its node and its name, if any do.

        Where devices are declared, an adapter whose name ends with another one is none of them.
        """
        facts = self.by_node.get(node, self.others)
        if facts is None or facts.port_rate is None:
            return None
        devices = {device.split("/")[0] for device in facts.devices}
        last = name.split()[-1] if " " in name else ""
        return None if devices and last and last not in devices else facts


def trained(topology: Topology, hosts: Hosts) -> list[Observation]:
    """Return the links that run otherwise than they should, and those that are not in service."""
    return list(_Trained(topology, hosts).observations())


class _Trained:
    def __init__(self, topology: Topology, hosts: Hosts) -> None:
        self.topology, self.hosts, self.places = topology, hosts, Places(topology)
        #: By facts, and by the median of their kind.
        self.stated: list[tuple[Link, Facts]] = []
        self.kinds: dict[tuple[int, ...], list[Link]] = {}
        self.unjudged = 0
        #: Aspect -> device -> the best that any of its links does: it may be an older one.
        self.best: dict[str, dict[str, str]] = {what: {} for what in _ASPECTS}
        for link in topology.links:
            self._sort_in(link)

    def _sort_in(self, link: Link) -> None:
        for what, best in self.best.items():
            word = getattr(link, what)
            for end in link.ends:
                if _is_slower(what, best.get(end.guid, ""), word):
                    best[end.guid] = word
        adapters = [end.guid for end in link.ends if not self.places.is_switch(end.guid)]
        for guid in adapters:
            facts = self.hosts.facts(self.places.node(guid), self.topology.devices[guid].name)
            if facts:
                self.stated.append((link, facts))
                return
        if adapters and self.hosts.by_node:  # of no partition: a storage server may be of any kind
            self.unjudged += 1
            return
        levels = sorted(
            (self.topology.level(end.guid) or 0) if self.places.is_switch(end.guid) else -1
            for end in link.ends
        )
        self.kinds.setdefault(tuple(levels), []).append(link)

    def observations(self) -> Iterator[Observation]:
        for link in self.topology.links:
            if link.state not in ("", "Active"):
                yield self._observation(kinds.STATE, link, link.state, "Active", "state")
        for link, facts in self.stated:
            yield from self._by_facts(link, facts)
        if self.unjudged:
            found = f"{plural(self.unjudged, 'link')} of hosts that belong to no partition"
            yield kinds.observation(
                kinds.NOT_JUDGED, "hosts", found=f"{found} are compared with what was accepted only"
            )
        for members in self.kinds.values():
            if len(members) >= _FEW:
                for what in _ASPECTS:
                    yield from self._by_median(members, what)

    def _by_facts(self, link: Link, facts: Facts) -> Iterator[Observation]:
        rate = facts.port_rate
        if rate is None:
            return
        for kind, what, word in (
            (kinds.WIDTH, "width", f"{rate.lanes}x"),
            (kinds.SPEED, "speed", rate.word),
        ):
            if (runs := getattr(link, what)) != word:
                yield self._observation(kind, link, runs, f"{word}, as its partition states", what)

    def _by_median(self, members: Sequence[Link], what: str) -> Iterator[Observation]:
        """Compare links of a kind with their median, or with the best that both ends do at all."""
        words = sorted((getattr(link, what) for link in members), key=lambda word: rank(what, word))
        median, older = words[len(words) // 2], set()
        kind = kinds.WIDTH if what == "width" else kinds.SPEED
        for link in members:
            bests = {end.guid: self.best[what][end.guid] for end in link.ends}
            limited = {
                guid
                for guid, word in bests.items()
                if what == "speed" and self.places.is_switch(guid)
                if _is_slower(what, word, median)
            }
            runs = getattr(link, what)
            if limited:
                older |= limited
                expected = min((bests[guid] for guid in limited), key=lambda word: rank(what, word))
            else:
                expected = median
            if _is_slower(what, runs, expected):
                text = f"{expected}, the median of {plural(len(members), 'link')} of its kind"
                yield self._observation(kind, link, runs, text, what)
        for guid in sorted(older):
            yield kinds.observation(
                kinds.OLDER, self.topology.device_name(guid), what=what,
                found=f"{self.best[what][guid]} at most, on all of its links",
                expected=f"{median} by the median of its kind, unless it is an older one",
            )  # fmt: skip

    def _observation(
        self, kind: str, link: Link, found: str, expected: str, what: str
    ) -> Observation:
        return kinds.observation(
            kind, self.places.link(link.ends), found=found, expected=expected, what=what,
            node=self.places.nodes(end.guid for end in link.ends),
        )  # fmt: skip
