"""Whether links run as wide and as fast as they should: by facts, or as their kind does elsewhere.

A host's link is compared with the facts of its partition. All others are compared with the median
of their kind in this fabric, which needs no reference: links between two switches are of a kind
where the switches stand on the same levels, those of hosts where no facts are known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acceptance.core.observations import Observation
from acceptance.core.text import plural
from acceptance.fabric.facts import Facts
from acceptance.fabric.rates import INFINIBAND
from acceptance.fabric.topology import Link, Topology
from acceptance.fabric.view import kinds
from acceptance.fabric.view.places import Places

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


def is_slower(what: str, word: str, other: str) -> bool:
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
                if is_slower(what, best.get(end.guid, ""), word):
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
                if is_slower(what, word, median)
            }
            runs = getattr(link, what)
            if limited:
                older |= limited
                expected = min((bests[guid] for guid in limited), key=lambda word: rank(what, word))
            else:
                expected = median
            if is_slower(what, runs, expected):
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
