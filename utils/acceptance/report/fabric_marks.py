"""What is wrong in a fabric, as rows of a table, and the links and switches that it marks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from acceptance.core.observations import Observation
from acceptance.fabric import view
from acceptance.fabric.topology import Link, Topology
from acceptance.fabric.view import kinds


class Trouble(Enum):
    """What a link or switch is marked with: a letter beside the colour, and what it means."""

    LOST = "L", "lost"
    DOWN = "D", "not in service"
    NARROW = "N", "narrow: lanes are missing"
    SLOW = "S", "slow: trained at a lower speed"
    ERRING = "E", "errors that rise"
    CHANGED = "C", "changed: another cable, port or device than accepted"
    FEWER = "F", "fewer uplinks than its siblings"
    AWAY = "A", "its node is known to be away"
    STANDING = "e", "errors that were counted and do not rise"

    @property
    def letter(self) -> str:
        """Return its letter in the drawing."""
        return self.value[0]

    @property
    def text(self) -> str:
        """Return what the letter means."""
        return self.value[1]

    @property
    def key(self) -> str:
        """Return its name in a style sheet."""
        return self.name.lower()


#: Kind of an observation -> what it marks a place with. Others are told in words alone.
_TROUBLES = {
    kinds.LOST: Trouble.LOST,
    kinds.SWITCH: Trouble.LOST,
    kinds.STATE: Trouble.DOWN,
    kinds.WIDTH: Trouble.NARROW,
    kinds.SPEED: Trouble.SLOW,
    kinds.ERRORS: Trouble.ERRING,
    kinds.NEW: Trouble.CHANGED,
    kinds.SWAPPED: Trouble.CHANGED,
    kinds.MOVED: Trouble.CHANGED,
    kinds.REPLACED: Trouble.CHANGED,
    kinds.UPLINKS: Trouble.FEWER,
    kinds.AWAY: Trouble.AWAY,
    kinds.STANDING: Trouble.STANDING,
}
#: Between the names of two links in one observation (`kinds.SWAPPED`).
_BOTH = " and "


@dataclass(frozen=True)
class Row:
    """A line of the table: what was seen (`seen`), its mark if it has one, and what to do."""

    number: int
    seen: Observation
    trouble: Trouble | None
    since: str
    remedy: str
    #: Rows that follow with the same remedy, and this one; 0: it stands in a row before.
    span: int = 1

    @property
    def place(self) -> str:
        """Return both ends of the link, or the switch."""
        return self.seen.device

    @property
    def found(self) -> str:
        """Return what is there."""
        return " ".join(filter(None, (self.seen.what, self.seen.found)))


def rows_of(seen: Iterable[Observation], since: Mapping[str, str]) -> list[Row]:
    """Return the rows of all that was seen, what fails first, then what has a mark.

    `since`: what `view.key_of` names -> when it was seen first (ISO 8601).
    """
    order = [*Trouble]

    def rank(each: Observation) -> tuple[bool, int, str, str]:
        trouble = _TROUBLES.get(each.kind)
        place = len(order) if trouble is None else order.index(trouble)
        return not each.fails, place, each.kind, each.device

    rows: list[Row] = []
    for _, group in groupby(sorted(seen, key=rank), key=lambda each: (each.fails, each.kind)):
        alike = [*group]
        for place, each in enumerate(alike):
            rows.append(
                Row(
                    len(rows) + 1,
                    each,
                    _TROUBLES.get(each.kind),
                    since.get(view.key_of(each), "")[:10],
                    view.REMEDIES.get(each.kind, ""),
                    0 if place else len(alike),
                )
            )
    return rows


@dataclass(frozen=True)
class Marked:
    """A fabric as it is drawn, with what was accepted and is gone; marks by link and by switch.

    `gone` are the links that are not there now, `lost` the switches and hosts (GUIDs).
    """

    topology: Topology
    gone: frozenset[Link]
    lost: frozenset[str]
    links: Mapping[Link, tuple[Row, ...]]
    switches: Mapping[str, tuple[Row, ...]]


def marked(now: Topology, accepted: Topology | None, rows: Iterable[Row]) -> Marked:
    """Return what to draw of a fabric, with the marks of these rows at their places."""
    union, gone, lost = _union(now, accepted)
    named: dict[str, list[Link]] = {}
    for topology in (now, *([accepted] if accepted else [])):
        for link in topology.links:
            named.setdefault(topology.link_text(link), []).append(link)
    devices = {union.device_name(guid): guid for guid in union.switches}
    links: dict[Link, list[Row]] = {}
    switches: dict[str, list[Row]] = {}
    for row in rows:
        if row.trouble is None:
            continue
        for name in _places(row):
            for link in dict.fromkeys(_as_drawn(named.get(name, ()), union, gone)):
                if row not in links.setdefault(link, []):
                    links[link].append(row)
            if name in devices:
                switches.setdefault(devices[name], []).append(row)
    # The cables of a switch that is gone are gone for the same reason.
    for link in gone:
        at_lost = [
            row for end in link.ends if end.guid in lost for row in switches.get(end.guid, ())
        ]
        links[link] = [*dict.fromkeys([*links.get(link, ()), *at_lost])]
    return Marked(
        union,
        gone,
        lost,
        {link: tuple(found) for link, found in links.items() if found},
        {guid: tuple(found) for guid, found in switches.items()},
    )


def _places(row: Row) -> Iterator[str]:
    """Yield the names of the links or of the switch that a row is about."""
    yield row.seen.device
    if row.seen.kind == kinds.SWAPPED:
        yield from row.seen.device.split(_BOTH)
    if row.seen.kind in (kinds.SWAPPED, kinds.MOVED):
        yield from row.seen.found.split(_BOTH)


def _as_drawn(links: Iterable[Link], union: Topology, gone: frozenset[Link]) -> Iterator[Link]:
    """Yield links as the drawing has them: one that is there, before one that was accepted."""
    drawn = {link.ends: link for link in union.links}
    there = [drawn[link.ends] for link in links if link.ends in drawn]
    yield from [link for link in there if link not in gone] or there


def _union(
    now: Topology, accepted: Topology | None
) -> tuple[Topology, frozenset[Link], frozenset[str]]:
    """Return what is there with what was accepted and is gone, and both of the latter."""
    if accepted is None:
        return now, frozenset(), frozenset()
    there = {link.ends for link in now.links}
    gone = tuple(link for link in accepted.links if link.ends not in there)
    lost = frozenset(guid for guid in accepted.devices if guid not in now.devices)
    hosts = {**accepted.hosts, **now.hosts}
    union = Topology({**accepted.devices, **now.devices}, (*now.links, *gone), hosts)
    return union, frozenset(gone), lost
