"""Where each switch, link and node of a fabric stands in its drawing, in the units of an SVG.

Levels are rows, the highest at the top; each leaf has its nodes below it, a square each. Links that
are as they should be are one faint path; each other one is a line of its own with its letters.

What is wrong is a row of a table, and marks links and switches.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from acceptance.core.findings import Finding
from acceptance.core.text import natural
from acceptance.fabric import view
from acceptance.fabric.topology import Link, Topology, level_name
from acceptance.fabric.view import kinds


class Trouble(Enum):
    """What a link or switch is marked with.

    A letter beside the colour, what it means, the words after a number of them, and the kinds of
    observations that mark a place with it. Others are told in words alone.
    """

    LOST = "L", "lost", "lost", (kinds.LOST, kinds.SWITCH)
    DOWN = "D", "not in service", "not in service", (kinds.STATE,)
    NARROW = "N", "narrow: lanes are missing", "narrow", (kinds.WIDTH,)
    SLOW = "S", "slow: trained at a lower speed", "slow", (kinds.SPEED,)
    ERRING = "E", "errors that rise", "with errors that rise", (kinds.ERRORS,)
    CHANGED = (
        "C", "changed: another cable, port or device than accepted", "changed",
        (kinds.NEW, kinds.SWAPPED, kinds.MOVED, kinds.REPLACED),
    )  # fmt: skip
    FEWER = "F", "fewer uplinks than its siblings", "leaf with fewer uplinks", (kinds.UPLINKS,)
    AWAY = "A", "its node is known to be away", "of a node that is away", (kinds.AWAY,)
    STANDING = (
        "e", "errors that were counted and do not rise", "with errors that stand", (kinds.STANDING,)
    )  # fmt: skip

    def __init__(self, letter: str, text: str, counted: str, of: tuple[str, ...]) -> None:
        self.letter, self.text, self.counted, self.of = letter, text, counted, of
        #: Its name in a style sheet.
        self.key = self.name.lower()


_TROUBLES = {kind: each for each in Trouble for kind in each.of}
#: Between the names of two links in one observation (`kinds.SWAPPED`).
_BOTH = " and "


@dataclass(frozen=True)
class Row:
    """A line of the table: what was seen (`seen`), its mark if it has one, and what to do."""

    number: int
    seen: Finding
    trouble: Trouble | None
    since: str
    remedy: str
    #: Rows that follow with the same remedy, and this one; 0: it stands in a row before.
    span: int = 1

    @property
    def found(self) -> str:
        """Return what is there."""
        return " ".join(filter(None, (self.seen.what, self.seen.found)))


def rows_of(seen: Iterable[Finding], since: Mapping[str, str]) -> list[Row]:
    """Return the rows of all that was seen, what fails first, then what has a mark.

    `since`: what `view.key_of` names -> when it was seen first (ISO 8601).
    """
    order = [*Trouble]

    def rank(each: Finding) -> tuple[bool, int, str, str]:
        trouble = _TROUBLES.get(each.kind)
        place = len(order) if trouble is None else order.index(trouble)
        return not each.fails, place, each.kind, each.device

    rows: list[Row] = []
    for _, group in groupby(sorted(seen, key=rank), key=lambda each: (each.fails, each.kind)):
        alike = [*group]
        for place, each in enumerate(alike):
            kind, first = view.kinds.kind_of(each), since.get(view.key_of(each), "")[:10]
            rows.append(Row(len(rows) + 1, each, _TROUBLES.get(each.kind), first,
                            kind.remedy if kind else "", 0 if place else len(alike)))  # fmt: skip
    return rows


@dataclass(frozen=True)
class Marked:
    """A fabric as it is drawn, with what was accepted and is gone; marks by link and by switch.

    `gone` are the links that are not there now, `lost` the switches and hosts (GUIDs).
    """

    topology: Topology
    gone: frozenset[Link]
    lost: frozenset[str]
    links: Mapping[Link, Sequence[Row]]
    switches: Mapping[str, Sequence[Row]]

    def links_of(self, guid: str) -> list[tuple[int, Link]]:
        """Return the links of a switch with their ports at it, those that deviate first."""
        links = [link for _, _, link in self.topology.graph.edges(guid, data="link")]
        ports = [next(end.port for end in link.ends if end.guid == guid) for link in links]
        return sorted(
            zip(ports, links, strict=True), key=lambda each: (each[1] not in self.links, each[0])
        )


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
    there = {link: found for link, found in links.items() if found}
    return Marked(union, gone, lost, there, switches)


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


#: Width that a drawing should have, between which widths a leaf gets its share, and the margins.
_WIDTH, _NARROWEST, _WIDEST, _LEFT, _RIGHT = 1180, 18.0, 270.0, 66, 16
#: Heights: above all, of a switch, between two rows of switches, and below a leaf.
_TOP, _HEIGHT, _GAP, _BELOW = 16, 22, 150, 12
#: What many switches of a level add to the height between two rows, each, and at most.
_WIDER, _WIDER_MOST = 1.2, 110
#: Sizes of a node's square, and of its place: where names are written, and where they are not.
_NAMED, _SMALL = (11, 17), (5, 7)
#: Width from which the names of nodes are written, that of a letter, and the most nodes of a leaf.
_NAMES_FROM, _LETTER, _MOST_NAMED = 88.0, 6.2, 24
#: Part of the way along which the marks of links are spread, so that they hide each other less.
_SPREAD, _GOLDEN = (0.25, 0.5), 0.618


@dataclass(frozen=True)
class Mark:
    """Letters at a place, with the row of the table that they stand for."""

    x: float
    y: float
    letters: str
    key: str
    row: int
    title: str


@dataclass(frozen=True)
class Line:
    """A link that is not as it should be."""

    x1: float
    y1: float
    x2: float
    y2: float
    mark: Mark
    gone: bool


@dataclass(frozen=True)
class _Box:
    """A switch: its place, its name, and how many nodes are at it; `upright` names are turned."""

    x: float
    y: float
    width: float
    height: float
    name: str
    anchor: str
    title: str
    lost: bool
    upright: bool
    count: int
    mark: Mark | None = None


@dataclass(frozen=True)
class _Square:
    """A node: its place and name; with a mark where its link is not as it should be."""

    x: float
    y: float
    size: int
    name: str
    mark: Mark | None = None


def key_of(topology: Topology, guid: str) -> str:
    """Return the anchor of a switch on its page."""
    return f"switch-{topology.switches.index(guid) + 1}"


class Drawing:
    """All that is drawn of a fabric.

    `good` is a path of the links that are as they should be, `away` one of those of a switch that
    is gone, which has the mark; `named`: there is room for the names of the nodes.
    """

    def __init__(self, marked: Marked) -> None:
        self.marked, self.topology = marked, marked.topology
        self.lines: list[Line] = []
        self.boxes: list[_Box] = []
        self.squares: list[_Square] = []
        self.levels: list[tuple[str, float]] = []
        self.nodes = {
            guid: _by_name(dict.fromkeys(self.topology.hosts_at(guid)), self.topology)
            for guid in self.topology.switches
        }
        self.centre: dict[str, tuple[float, float]] = {}
        rows = _levels(self.topology)
        most = max((len(row) for _, row in rows), default=0)
        share = min(max((_WIDTH - _LEFT - _RIGHT) / max(most, 1), _NARROWEST), _WIDEST)
        self.inner = max(share * max(most, 1), 520.0)
        names = [self.topology.device_name(guid) for hosts in self.nodes.values() for guid in hosts]
        longest = _LETTER * max(map(len, names), default=0) + _NAMED[1] + 4
        few = max(map(len, self.nodes.values()), default=0) <= _MOST_NAMED
        self.named = few and longest <= share and share >= _NAMES_FROM
        self.width, self.height = _LEFT + self.inner + _RIGHT, 0.0
        y = float(_TOP)
        for level, guids in rows:
            self.levels.append((level_name(level), y + _HEIGHT / 2))
            bottom = self._row(guids, y)
            y = bottom + _GAP + min(_WIDER * most, _WIDER_MOST)
            self.height = max(self.height, bottom + _BELOW)
        self.good, self.away = self._links()

    def _row(self, guids: Sequence[str], y: float) -> float:
        """Place the switches of a level, with their nodes; return where the lowest one ends."""
        share, bottom = self.inner / max(len(guids), 1), y + _HEIGHT
        narrow = min(share, _WIDEST)
        longest = _LETTER * max((len(self.topology.device_name(guid)) for guid in guids), default=0)
        upright = longest + 8 > narrow
        for number, guid in enumerate(guids):
            middle = _LEFT + share * (number + 0.5)
            width = min(narrow * 0.86, max(longest + 14, 40.0)) if not upright else narrow * 0.78
            self.centre[guid] = middle, y
            box = self._box(guid, middle, y, width, upright)
            self.boxes.append(box)
            below = y + _HEIGHT + (_LETTER * len(box.name) + 8 if upright else 0)
            bottom = max(bottom, self._squares(guid, middle, below + 6, narrow))
        return bottom

    def _box(self, guid: str, middle: float, y: float, width: float, upright: bool) -> _Box:
        topology, rows = self.topology, self.marked.switches.get(guid, ())
        name, count = topology.device_name(guid), len(self.nodes[guid])
        at = [
            each
            for _, link in self.marked.links_of(guid)
            for each in self.marked.links.get(link, ())
        ]
        troubles = len({row.number for row in (*rows, *at)})
        nodes = f", {count} nodes" if count else ""
        title = f"{name}{nodes}: {troubles or 'no'} deviation{'s' if troubles != 1 else ''}"
        mark = _mark(rows, middle + width / 2, y, title) if rows else None
        return _Box(
            middle - width / 2, y, width, _HEIGHT, name, key_of(topology, guid), title,
            guid in self.marked.lost, upright, count, mark,
        )  # fmt: skip

    def _squares(self, guid: str, middle: float, y: float, share: float) -> float:
        """Place the nodes of a switch below it; return where they end."""
        size, place = _NAMED if self.named else _SMALL
        columns = 1 if self.named else max(int((share - 4) // place), 1)
        left = middle - (share * 0.4 if self.named else columns * place / 2)
        hosts = self.nodes[guid]
        for number, host in enumerate(hosts):
            x, at = left + place * (number % columns), y + place * (number // columns)
            links = (each["link"] for each in self.topology.graph[host][guid].values())
            rows = [row for link in links for row in self.marked.links.get(link, ())]
            name = self.topology.device_name(host)
            mark = _mark(rows, x + size / 2, at + size / 2, name) if rows else None
            self.squares.append(_Square(x, at, size, name, mark))
        return y + place * -(-len(hosts) // columns)

    def _links(self) -> tuple[str, str]:
        """Draw the links between switches, each that deviates by itself; return the paths."""
        good, away, number = [], [], 0
        drawn: set[frozenset[str]] = set()
        for link in self.topology.links:
            ends = sorted(link.ends, key=lambda end: -self.centre.get(end.guid, (0, 0))[1])
            if not all(self.topology.is_switch(end.guid) for end in ends):
                continue
            (x1, y1), (x2, y2) = (self.centre[end.guid] for end in ends)
            y2 += _HEIGHT
            rows, pair = self.marked.links.get(link, ()), frozenset(end.guid for end in ends)
            if not rows and link not in self.marked.gone:
                if pair not in drawn:
                    good.append(_path(x1, y1, x2, y2))
                drawn.add(pair)
                continue
            if link in self.marked.gone and pair & self.marked.lost:
                away.append(_path(x1, y1, x2, y2))
                continue
            number += 1
            way = _SPREAD[0] + _SPREAD[1] * ((number * _GOLDEN) % 1)
            title = self.topology.link_text(link)
            mark = _mark(rows, x1 + (x2 - x1) * way, y1 + (y2 - y1) * way, title)
            self.lines.append(Line(x1, y1, x2, y2, mark, link in self.marked.gone))
        return "".join(good), "".join(away)


def _path(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a link as a part of a path; between switches of one level it is an arc."""
    if abs(y1 - y2) <= _HEIGHT:
        return f"M{x1:.0f} {y1:.0f}Q{(x1 + x2) / 2:.0f} {y1 - 40:.0f} {x2:.0f} {y1:.0f}"
    return f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}"


def _mark(rows: Sequence[Row], x: float, y: float, title: str) -> Mark:
    """Return the letters of these rows at a place, the worst first; of none that it changed."""
    order = [*Trouble]
    known = {row.trouble: row for row in reversed(rows) if row.trouble}
    troubles = sorted(known, key=order.index) or [Trouble.CHANGED]
    letters = "".join(each.letter for each in troubles)
    said = "; ".join(dict.fromkeys(row.found for row in rows)) or troubles[0].text
    first = known.get(troubles[0])
    return Mark(x, y, letters, troubles[0].key, first.number if first else 0, f"{title}: {said}")


def _levels(topology: Topology) -> list[tuple[int | None, list[str]]]:
    """Return the switches of each level by name, the highest level first; those of none first."""
    rows: dict[int | None, list[str]] = {}
    for guid in _by_name(topology.switches, topology):
        rows.setdefault(topology.level(guid), []).append(guid)
    return sorted(rows.items(), key=lambda entry: (entry[0] is not None, -(entry[0] or 0)))


def _by_name(guids: Iterable[str], topology: Topology) -> list[str]:
    return sorted(guids, key=lambda guid: natural(topology.device_name(guid)))
