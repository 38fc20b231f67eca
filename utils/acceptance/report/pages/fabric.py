"""The fabric of a partition as it was read last: what deviates, as a table, and all as a tree.

It is what a session says of it, with what is kept of it. What is wrong marks links, nodes and
switches. Levels are rows, the highest at the top; each leaf has its nodes below it. Links that are
as they should be are faint lines; each other one has the colour and the letter of what is worst
about it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from acceptance.core.errors import Fault
from acceptance.core.findings import Finding
from acceptance.core.groups import grouped
from acceptance.core.text import natural, plural
from acceptance.fabric import kinds, stored, view
from acceptance.fabric import topology as fabrics
from acceptance.fabric.summary import structure, switch_count
from acceptance.fabric.topology import Link, Topology, level_name
from acceptance.report import addresses
from acceptance.report.figures import Figure, colour, escaped
from acceptance.report.plot_model import Axis, Page, Plot, Sample, Trace
from acceptance.report.runs import Ran
from acceptance.report.source import Source

#: The class of the check that looks at a whole fabric.
CHECK = "FabricView"


@dataclass(frozen=True)
class Reading:
    """A fabric as it was read last: by the case `by`, of which `name` is that of its files.

    `topology` is None where nothing of it is kept; `faults` say why, or what does not fit.
    """

    by: Ran
    name: str
    topology: Topology | None = None
    accepted: stored.AcceptedFabric | None = None
    since: Mapping[str, str] = field(default_factory=dict)
    read_at: str = ""
    faults: tuple[str, ...] = ()

    @property
    def looked(self) -> bool:
        """Tell whether the newest case did look at the fabric."""
        return "fabric_sha256" in self.by.case.provenance


# Several pages ask for it.
@lru_cache(maxsize=1)
def readings(source: Source) -> dict[tuple[str, str], Reading]:
    """Return the newest look at a fabric by the system and partition that looked."""
    cases = source.newest(CHECK, kinds.BENCHMARK)
    return {place: reading(source, case) for place, case in cases.items()}


def leaves(source: Source, system: str) -> dict[str, str]:
    """Return node -> its leaf, as far as the fabrics of a system that were read last tell."""
    found: dict[str, str] = {}
    for (name, _), read in readings(source).items():
        seen = read.topology
        if name != system or seen is None:
            continue
        for node, guids in seen.hosts.items():
            leaf = next(filter(None, map(seen.leaf_of, guids)), None)
            if leaf is not None:
                found[node] = seen.device_name(leaf)
    return found


def reading(source: Source, case: Ran) -> Reading:
    """Return what is kept of the fabric that a case has looked at."""
    faults: list[str] = []
    var, reference = source.workspace.var, source.workspace.reference
    told = case.case.provenance.get("fabric_name")
    names = [told] if told else [case.case.system, f"{case.case.system}-{case.case.partition}"]
    kept_files = {each: stored.state_path(var, each) for each in names}
    name = next((each for each, file in kept_files.items() if file.exists()), names[0])
    topology = accepted = None
    state = stored.State(0.0, None)
    try:
        state = stored.read_state(kept_files[name])
        if (kept := state.fabric) is not None:
            topology = kept.topology
            known = case.case.provenance.get("fabric_sha256")
            if known and known != stored.checksum(kept):
                faults.append("the drawing is of a later reading than the table: it was read again")
        else:
            faults.append(f"nothing of it is kept in {kept_files[name]}: there is no drawing")
        path = stored.path_of(reference, name)
        accepted = stored.read(path, stored.AcceptedFabric)
    except Fault as err:
        faults.append(str(err))
        source.note(err)
    at = stored.stamp(state.read)[:16].replace("T", " ") + " UTC" if state.read else ""
    return Reading(case, name, topology, accepted, state.since, at, tuple(faults))


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

    It has what is there `now`, and what was `accepted` and is not there any more: `gone` are such
    links, `lost` switches and hosts (GUIDs). `links` and `switches` are the rows that mark each
    one. `things` are what is drawn, by their trouble or by what is good. They can be followed to
    their places on the `page`.
    """

    def __init__(
        self, now: Topology, accepted: Topology | None, rows: Iterable[Row], page: str
    ) -> None:
        self.page, old = page, accepted or now
        there = {link.ends for link in now.links}
        gone = tuple(link for link in old.links if link.ends not in there)
        self.gone, self.lost = {*gone}, old.devices.keys() - now.devices.keys()
        self.topology = Topology(
            {**old.devices, **now.devices}, (*now.links, *gone), {**old.hosts, **now.hosts}
        )
        self.links: dict[Link, list[Row]] = {}
        self.switches: dict[str, list[Row]] = {}
        self._take(rows, (old, now))
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

    def _take(self, rows: Iterable[Row], read: Iterable[Topology]) -> None:
        """Note at its links and switches each row that has a mark."""
        drawn = {link.ends: link for link in self.topology.links}
        # Of one name that which is there has the mark, before one that was accepted.
        named = {
            topology.link_text(link): drawn[link.ends]
            for topology in read
            for link in topology.links
        }
        devices = {self.topology.device_name(guid): guid for guid in self.topology.switches}
        for row in rows:
            if row.trouble is None:
                continue
            names = [row.seen.device, *row.seen.device.split(_BOTH)]
            if row.seen.kind in (kinds.SWAPPED, kinds.MOVED):
                names += row.seen.found.split(_BOTH)
            for name in dict.fromkeys(names):
                if name in named:
                    self.links.setdefault(named[name], []).append(row)
                if name in devices:
                    self.switches.setdefault(devices[name], []).append(row)
        # The cables of a switch that is gone are gone for the same reason.
        for link in self.gone:
            for end in link.ends:
                if end.guid in self.lost and end.guid in self.switches:
                    known = [*self.links.get(link, ()), *self.switches[end.guid]]
                    self.links[link] = [*dict.fromkeys(known)]

    def links_of(self, guid: str) -> list[tuple[int, Link]]:
        """Return the links of a switch with their ports at it, those that deviate first."""
        links = [link for _, _, link in self.topology.graph.edges(guid, data="link")]
        ports = [next(end.port for end in link.ends if end.guid == guid) for link in links]
        return sorted(
            zip(ports, links, strict=True), key=lambda each: (each[1] not in self.links, each[0])
        )

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
        rows = self.switches.get(guid, ())
        at = (row for _, link in self.links_of(guid) for row in self.links.get(link, ()))
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
        rows, ends = self.links.get(link, ()), frozenset(end.guid for end in link.ends)
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
        gone = link in self.gone
        if gone and ends & self.lost:
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
            Axis("link, switch or node", scale="category"), Axis("level", free=True),
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
    return Trace(name, samples, form="points", simulated=simulated, drawn=(marks, lines))


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


#: What is said of a fabric without deviations that nobody has accepted.
NOT_ACCEPTED = (
    "Nothing deviates from the facts and the medians of its kind. No fabric was accepted yet, so "
    "that a lost cable cannot be told from a free port."
)


def pages(source: Source) -> list[Page]:
    """Return a page for each partition that was measured."""
    read, made = readings(source), []
    for place in source.measured:
        own = read.get((place.system, place.partition))
        # One partition looks for all that share its fabric.
        others = (name for name, one in read.items() if one.name == place.system == name[0])
        path = addresses.of_partition("fabric", place.system, place.partition)
        context: dict[str, Any] = _read(own, path) if own else {"facts": place.facts}
        context |= {"read": own, "other": next(others, None)}
        made.append(Page(
            path, f"Fabric of {place.name}", "fabric.html.j2", "Fabric", context,
            context.get("plots", ()), simulated=place.simulated, empty=own is None,
        ))  # fmt: skip
    return made


def _read(read: Reading, path: str) -> dict[str, Any]:
    """Return what deviates in a fabric, and as far as it is kept all that there is."""
    rows, now = rows_of(read.by.case.findings, read.since), read.topology
    failing = [row for row in rows if row.seen.fails]
    context = {
        "failing": failing,
        "notes": [row for row in rows if not row.seen.fails],
        "summary": summary(read, failing),
        "drawn": None,
    }
    if now is None:
        return context
    drawn = Tree(now, read.accepted.fabric.topology if read.accepted else None, rows, path)
    tree = drawn.plot(summary(read, failing), simulated=bool(read.by.case.simulated))
    return context | {
        "drawn": drawn,
        "plots": (tree,),
        "key_of": key_of,
        "level_name": fabrics.level_name,
        "switches": [guid for _, guids in drawn.levels for guid in guids],
        "structure": [*view.structure_text(now), *structure(now).notes(now)],
    }


def summary(read: Reading, failing: list[Row]) -> str:
    """Say in a sentence or two what there is and what deviates."""
    words = []
    if read.topology is not None:
        nodes = len(read.topology.hosts) or len(read.topology.devices) - len(read.topology.switches)
        levels = switch_count(read.topology)
        switches = [
            f"{count} {'switches of ' if word == 'no level' else ''}{_many(word, count)}"
            for word, count in reversed(levels.items())
        ]
        words.append(f"{', '.join(switches)}, {plural(nodes, 'node')}, "
                     f"{plural(len(read.topology.links), 'link')}.")  # fmt: skip
    if not read.looked:
        return " ".join([*words, "The newest look at this fabric failed: see the table."])
    if failing:
        counts = Counter(row.trouble.word if row.trouble else "of another kind" for row in failing)
        parts = ", ".join(f"{count} {what}" for what, count in counts.items())
        words.append(f"{plural(len(failing), 'deviation')}: {parts}.")
    elif read.accepted is None:
        words.append(NOT_ACCEPTED)
    else:
        words.append("Nothing deviates.")
    return " ".join(words)


def _many(word: str, count: int) -> str:
    if word == "leaf":
        return word if count == 1 else "leaves"
    return word if word.startswith(("level", "no ")) or count == 1 else f"{word}s"
