"""A fabric as a tree: what is wrong is a row of a table, and marks links, nodes and switches.

Levels are rows, the highest at the top; each leaf has its nodes below it. Links that are as they
should be are faint lines; each other one has the colour and the letter of what is worst about it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import NamedTuple

from acceptance.core.findings import Finding
from acceptance.core.groups import grouped
from acceptance.core.text import natural, plural
from acceptance.fabric import kinds, view
from acceptance.fabric.topology import Link, Topology, level_name
from acceptance.report.figures import Figure, colour, escaped
from acceptance.report.plot_model import Axis, Form, Plot, Sample, Scale, Trace


class Trouble(Enum):
    """What a link or switch is marked with.

    A letter beside the colour, what it means, the kinds of observations that mark a place with it,
    and how its lines are dashed. Others are told in words alone.
    """

    LOST = "L", "lost", (kinds.LOST, kinds.SWITCH), "dash"
    DOWN = "D", "not in service", (kinds.STATE,)
    NARROW = "N", "narrow: lanes are missing", (kinds.WIDTH,), "dot"
    SLOW = "S", "slow: trained at a lower speed", (kinds.SPEED,), "dashdot"
    ERRING = "E", "with errors that rise", (kinds.ERRORS,)
    CHANGED = (
        "C", "changed: another cable, port or device than accepted",
        (kinds.NEW, kinds.SWAPPED, kinds.MOVED, kinds.REPLACED),
    )  # fmt: skip
    FEWER = "F", "with fewer uplinks than its siblings", (kinds.UPLINKS,)
    AWAY = "A", "of a node that is known to be away", (kinds.AWAY,)
    STANDING = "e", "with errors that were counted and do not rise", (kinds.STANDING,)

    def __init__(self, letter: str, text: str, of: tuple[str, ...], dash: str = "solid") -> None:
        self.letter, self.text, self.of, self.dash = letter, text, of, dash
        #: Its name in a style sheet.
        self.key = self.name.lower()

    @property
    def word(self) -> str:
        """Return what it means in few words."""
        return self.text.partition(":")[0]


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
    order = [*_TROUBLES]

    def rank(each: Finding) -> tuple[bool, int, str, str]:
        place = order.index(each.kind) if each.kind in order else len(order)
        return not each.fails, place, each.kind, each.device

    rows: list[Row] = []
    for _, group in groupby(sorted(seen, key=rank), key=lambda each: (each.fails, each.kind)):
        alike = [*group]
        for place, each in enumerate(alike):
            kind, first = kinds.kind_of(each), since.get(view.key_of(each), "")[:10]
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
    old = accepted or now
    there = {link.ends for link in now.links}
    gone = tuple(link for link in old.links if link.ends not in there)
    lost = frozenset(old.devices.keys() - now.devices.keys())
    union = Topology(
        {**old.devices, **now.devices}, (*now.links, *gone), {**old.hosts, **now.hosts}
    )
    drawn = {link.ends: link for link in union.links}
    # Of one name that which is there has the mark, before one that was accepted.
    named = {
        topology.link_text(link): drawn[link.ends]
        for topology in (old, now)
        for link in topology.links
    }
    devices = {union.device_name(guid): guid for guid in union.switches}
    links: dict[Link, list[Row]] = {}
    switches: dict[str, list[Row]] = {}
    for row in rows:
        if row.trouble is None:
            continue
        names = [row.seen.device, *row.seen.device.split(_BOTH)]
        if row.seen.kind in (kinds.SWAPPED, kinds.MOVED):
            names += row.seen.found.split(_BOTH)
        for name in dict.fromkeys(names):
            if name in named:
                links.setdefault(named[name], []).append(row)
            if name in devices:
                switches.setdefault(devices[name], []).append(row)
    # The cables of a switch that is gone are gone for the same reason.
    for link in gone:
        for end in link.ends:
            if end.guid in lost and end.guid in switches:
                links[link] = [*dict.fromkeys([*links.get(link, ()), *switches[end.guid]])]
    return Marked(union, frozenset(gone), lost, links, switches)


#: Height from a switch to its first nodes, and to each further row of them; of a row of switches 1.
_BELOW, _NEXT = 0.28, 0.07
#: Part of a switch's width that its nodes take.
_PART = 0.7
#: Switches of a level up to which their names are written.
_ABREAST = 16
#: Nodes up to which their names are written.
_NAMED = 32
_CAPTION = (
    "Nodes stand below their leaf. Links that deviate have the letters of the legend; each leads "
    "to its line in the table, and each switch to its links."
)
GOOD, SWITCHES, NODES = "as it should be", "switches", "nodes"
#: What is good -> colour, symbol, size (px), where its name is. A trouble is a disk in its own
#: colour, with its letters inside.
_LOOKS = {
    GOOD: ("limit", "circle", 3, "middle right"),
    SWITCHES: ("ink", "square", 11, "top center"),
    NODES: ("limit", "square", 5, "middle right"),
}
Place = tuple[float, float]


def key_of(topology: Topology, guid: str) -> str:
    """Return the anchor of a switch on its page."""
    return f"switch-{topology.switches.index(guid) + 1}"


class Thing(NamedTuple):
    """A link, switch or node in the tree: where it stands, with its text, and the way of a link."""

    place: Place
    sample: Sample
    text: str = ""
    path: tuple[Place, ...] = ()


class Tree:
    """A fabric as a plot: across from 0 to 1, and up from the lowest level, which is at 0.

    `things` are what is drawn, by their trouble or by what is good. They can be followed to their
    places on the `page`.
    """

    def __init__(self, drawn: Marked, page: str) -> None:
        self.drawn, self.topology, self.page = drawn, drawn.topology, page
        self.things: dict[Trouble | str, list[Thing]] = {each: [] for each in (*Trouble, *_LOOKS)}
        self.places: dict[str, Place] = {}
        #: Where a node stands below a switch: one with several links stands below each.
        self.nodes: dict[frozenset[str], Place] = {}
        self.named = len(self.topology.devices) - len(self.topology.switches) <= _NAMED
        self.levels = levels(self.topology)
        for height, (level, guids) in enumerate(self.levels):
            for number, guid in enumerate(guids):
                self.places[guid] = (number + 0.5) / len(guids), float(height)
                self._switch(guid, level, len(guids))
        for number, link in enumerate(self.topology.links):
            # The marks of links are spread along them, so that they hide each other less.
            self._link(link, 0.25 + 0.5 * (number * 0.618 % 1))

    def _mark(
        self, rows: Sequence[Row], place: Place, name: str, level: int | None,
        path: tuple[Place, ...] = (),
    ) -> None:  # fmt: skip
        """Add what deviates with its letters, the worst first; of no row it changed."""
        known = {row.trouble: row for row in reversed(rows) if row.trouble}
        troubles = [each for each in Trouble if each in known] or [Trouble.CHANGED]
        said = "; ".join(dict.fromkeys(row.found for row in rows)) or troubles[0].text
        first = known.get(troubles[0])
        sample = Sample(name, level, said, f"{self.page}#deviation-{first.number}" if first else "")
        letters = "".join(each.letter for each in troubles)
        self.things[troubles[0]].append(Thing(place, sample, letters, path))

    def _switch(self, guid: str, level: int | None, abreast: int) -> None:
        """Add a switch with its nodes below it."""
        name, place = self.topology.device_name(guid), self.places[guid]
        hosts = _by_name({*self.topology.hosts_at(guid)}, self.topology)
        rows = self.drawn.switches.get(guid, ())
        at = (
            row for _, link in self.drawn.links_of(guid) for row in self.drawn.links.get(link, ())
        )
        said = plural(len({row.number for row in (*rows, *at)}), "deviation")
        said = f"{plural(len(hosts), 'node')}, {said}" if hosts else said
        link = f"{self.page}#{key_of(self.topology, guid)}"
        written = name * (abreast <= _ABREAST)
        self.things[SWITCHES].append(Thing(place, Sample(name, level, said, link), written))
        if rows:
            self._mark(rows, place, name, level)
        columns = 1 if self.named else math.ceil(math.sqrt(len(hosts)))
        for number, host in enumerate(hosts):
            across = ((number % columns + 0.5) / columns - 0.5) * _PART / abreast
            below = place[0] + across, place[1] - _BELOW - _NEXT * (number // columns)
            self.nodes[frozenset((guid, host))] = below
            node = self.topology.device_name(host)
            self.things[NODES].append(Thing(below, Sample(node, 0), node * self.named))

    def _link(self, link: Link, way: float) -> None:
        """Add a link, with its mark so far along its way; one to a node is drawn as the node."""
        rows, ends = self.drawn.links.get(link, ()), frozenset(end.guid for end in link.ends)
        name = self.topology.link_text(link)
        level = max((self.topology.level(end) or 0 for end in ends), default=0)
        if not ends <= self.places.keys():
            if rows and ends in self.nodes:
                self._mark(rows, self.nodes[ends], name, level)
            return
        one, other = sorted((self.places[end.guid] for end in link.ends), key=lambda at: at[1])
        path = _path(one, other)
        (x, y), (to_x, to_y) = path[:2]
        place = x + (to_x - x) * way, y + (to_y - y) * way
        gone = link in self.drawn.gone
        if gone and ends & self.drawn.lost:
            # The mark of the switch tells of all of its cables.
            self.things[Trouble.LOST].append(Thing(place, Sample(name, level, "gone"), path=path))
        elif gone or rows:
            self._mark(rows, place, name, level, path)
        else:
            self.things[GOOD].append(Thing(place, Sample(name, level), path=path))

    def plot(self, summary: str, *, simulated: bool) -> Plot:
        """Return the plot: each kind of trouble, the worst first, then what is good."""
        kinds = [kind for kind, things in self.things.items() if things]
        names = [level_name(level) for level, _ in self.levels]
        return Plot(
            "tree", "The fabric as a tree", summary,
            Axis("link, switch or node", scale=Scale.CATEGORY), Axis("level", free=True),
            [_trace(kind, self.things[kind], simulated=simulated) for kind in kinds],
            caption=_CAPTION,
            layout={"xaxis": {"type": "linear", "range": [0, 1], "visible": False},
                    "yaxis": {"tickvals": [*range(len(names))], "ticktext": names,
                              "showgrid": False}},
        )  # fmt: skip


def _trace(kind: Trouble | str, things: Sequence[Thing], *, simulated: bool) -> Trace:
    """Return a mark at each thing, with its text, and the ways of links."""
    if bad := isinstance(kind, Trouble):
        name, dash = f"{kind.letter}: {kind.text}", kind.dash
        own, symbol, size, where = kind.key, "circle", 17, "middle center"
    else:
        name, dash, (own, symbol, size, where) = kind, "solid", _LOOKS[kind]
    sizes = [size if each.text or not bad else 1 for each in things]
    marks = {
        "type": "scatter", "mode": "markers+text", "zorder": 1 + bad,
        **_xy([each.place for each in things]),
        "texttemplate": [escaped(each.text) for each in things],
        "textposition": where,
        "textfont": {"size": 11, "color": colour("ground" if bad else "ink")},
        "marker": {"color": colour(own), "symbol": symbol, "size": sizes,
                   "opacity": 1, "line": {"width": 0}},
    }  # fmt: skip
    points = [point for each in things if each.path for point in (*each.path, (None, None))]
    line = {"width": 1.5 if bad else 1, "color": colour(own, "" if bad else "66"), "dash": dash}
    lines = {"type": "scatter", "mode": "lines", "line": line, **_xy(points)}
    samples = [each.sample for each in things]
    return Trace(name, samples, form=Form.POINTS, simulated=simulated, drawn=(marks, lines))


def _xy(places: Sequence[tuple[float | None, float | None]]) -> Figure:
    return {"x": [x for x, _ in places], "y": [y for _, y in places]}


def _path(one: Place, other: Place) -> tuple[Place, ...]:
    """Return the way of a link; between switches of one level it goes above those between them."""
    if one[1] != other[1]:
        return one, other
    rise = 0.1 + 0.4 * abs(one[0] - other[0])
    return one, ((one[0] + other[0]) / 2, one[1] + rise), other


def levels(topology: Topology) -> list[tuple[int | None, list[str]]]:
    """Return the switches of each level by name, the lowest level first; those of none last."""
    rows = grouped(_by_name(topology.switches, topology), topology.level)
    return sorted(rows.items(), key=lambda entry: (entry[0] is None, entry[0] or 0))


def _by_name(guids: Iterable[str], topology: Topology) -> list[str]:
    return sorted(guids, key=lambda guid: natural(topology.device_name(guid)))
