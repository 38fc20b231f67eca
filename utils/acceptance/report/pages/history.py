"""Histories: an index of all series, those with alerts and changes first, each with its plot.

Each series is a line with its curve, and the samples are in few small files. A file is a script
that hands data to `plots.js`, as those of plots are, for the cases of a benchmark on a partition.
Times are written as differences (s), values with five digits, sessions by their number in a list;
software and nodes only where they change. `static/history.js` makes a plot of it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, groupby
from statistics import median
from typing import Any, NamedTuple

from acceptance.alerts import Ack, acknowledgements
from acceptance.core.groups import grouped
from acceptance.core.kinds import HISTORY
from acceptance.core.words import is_simulated
from acceptance.regressions import Change, OpenIncident
from acceptance.regressions.history import CaseHistory, Sample, Series, Software, day, software_text
from acceptance.relations import false_alarms
from acceptance.report import addresses, pictures, plot_model
from acceptance.report.figures import figure
from acceptance.report.plot_model import Axis, Page, Plot, Trace, finite
from acceptance.report.source import Source

#: Values of all files together: more series have fewer of their newest samples, but so many.
OF_ALL, FEWEST = 1_600_000, 60
#: Series that one page lists: more have a page for each partition.
MOST = 2_500
#: Series that are listed first, as they changed.
CHANGED = 200
#: Newest samples of a row's curve, its width and height, and the range of values (of the middle
#: one) that it has at least: noise is not to look like a change.
CURVE, WIDTH, HEIGHT, FLAT = 60, 600, 100, 0.1
#: The form of a plot, which the page's script fills in: a series and its levels.
_FORM = Plot(
    "plot", "", "", Axis("time", scale="date"), Axis("", free=True),
    (Trace("", (), simulated=True, group="series"),
     Trace("level", (), "earlier sessions", group="series")),
)  # fmt: skip


class Step(NamedTuple):
    """A change of a level: when it began and was decided (s since the epoch), and the levels.

    `way`: better or worse; empty: nobody knows.
    """

    start: int
    decided: int
    before: float
    after: float
    way: str


@dataclass(frozen=True)
class Known:
    """A series, and what is known of it beside its samples, by the judge of the gate.

    `level` is that which it has now; None where that is not known. `steps` are its changes,
    `needed` the samples that it lacks before it can be judged.
    """

    series: Series
    level: float | None = None
    steps: Sequence[Step] = ()
    needed: int = 0
    alarms: tuple[tuple[OpenIncident, Change], ...] = ()
    acks: tuple[Ack, ...] = ()

    @cached_property
    def anchor(self) -> str:
        """Return the name by which an address leads to it: the same in every report."""
        return anchor(self.series)

    @property
    def curve(self) -> str:
        """Return the path of its newest samples as a small curve."""
        values = self.series.values[-CURVE:]
        low, high = min(values), max(values)
        spare = max(0.0, FLAT * abs(median(values)) - (high - low)) / 2
        of = high - low + 2 * spare or 1.0
        step = 1 / (len(values) + 1)
        points = ((step * (at + 1), (one - low + spare) / of) for at, one in enumerate(values))
        return pictures.path(points, WIDTH, HEIGHT)


def anchor(series: Series) -> str:
    """Return the name by which an address leads to a series."""
    text = f"{series.case.key!r} {series.metric} {series.unit}"
    return f"m{hashlib.blake2s(text.encode(errors='surrogatepass'), digest_size=6).hexdigest()}"


Cases = list[tuple[CaseHistory, list[Known]]]
#: Session that has a page -> case, as (where, name) -> its number on that page.
Shown = Mapping[str, Mapping[tuple[str, str], int]]


@dataclass(frozen=True)
class Partition:
    """The cases of a partition that have series; `path` is the page that lists them.

    `slow` are the times (s since the epoch) of the nights on which all of it was slow.
    """

    name: str
    cases: Cases
    path: str
    slow: Sequence[float] = ()

    @property
    def simulated(self) -> bool:
        """Tell whether its system is simulated."""
        return is_simulated(self.cases[0][0].key.system)

    @property
    def known(self) -> list[Known]:
        """Return all of its series."""
        return [one for _, members in self.cases for one in members]


def pages(source: Source) -> list[Page]:
    """Return the index, and a page for each partition where there are many series."""
    known = _known(source)
    nights = (night for judgement in source.judgements for night in judgement.slow)
    slow = grouped(nights, lambda night: night.partition)
    one_page = sum(len(members) for _, members in known) <= MOST
    partitions = []
    for place, cases in groupby(known, key=lambda entry: _place(entry[0])):
        name = ":".join(place)
        path = addresses.HISTORY if one_page else addresses.page("history", name)
        begun = [night.session.start for night in slow.get(place, ())]
        partitions.append(Partition(name, [*cases], path, begun))
    every = [one.series for partition in partitions for one in partition.known]
    most = 0
    if sum(one.count for one in every) > OF_ALL:
        most = max(OF_ALL // len(every), FEWEST)
    made = [_page(source, "History", addresses.HISTORY, partitions, most, whole=one_page)]
    for each in () if one_page else partitions:
        made.append(_page(source, f"History of {each.name}", each.path, [each], most, whole=True))
    return made


def _place(case: CaseHistory) -> tuple[str, str]:
    return case.key.system, case.key.partition


def _page(
    source: Source, title: str, path: str, partitions: Sequence[Partition], most: int, *,
    whole: bool,
) -> Page:  # fmt: skip
    """Return a page of partitions; it lists all series of them, or only links to them."""
    known = [one for partition in partitions for one in partition.known]
    shown = {
        session.uuid: {(case.where, case.name): n for n, case in enumerate(session.cases)}
        for session in source.sessions
    }
    texts: dict[str, str] = {}
    file_of: dict[str, str] = {}
    for partition in partitions if whole else ():
        for subject, members in groupby(partition.cases, key=lambda entry: entry[0].subject):
            cases = [*members]
            address = addresses.data(path, f"{partition.name} {subject}", "js")
            texts[address] = _script(source, partition, cases, most, shown)
            file_of |= dict.fromkeys((one.anchor for _, each in cases for one in each), address)
    changed = [one for one in known if one.alarms or one.steps]
    changed.sort(key=lambda one: (not one.alarms, -one.steps[-1].start if one.steps else 0))
    context = {
        "partitions": partitions,
        "count": len(known),
        "most": most,
        "notes": source.history.notes,
        "false_alarms": [*chain(*map(false_alarms.sentences, source.judgements))]
                        if path == addresses.HISTORY else [],
        "file_of": file_of,
        "changed": changed,
        "shown": CHANGED,
        "sizes": (CURVE, WIDTH, HEIGHT),
        "paths": {each.name: each.path for each in partitions},
        "day": day,
        "kind": _kind,
        "whole": whole,
    }  # fmt: skip
    simulated = bool(partitions) and all(each.simulated for each in partitions)
    return Page(
        path, title, "history.html.j2", "History", context, files=texts, simulated=simulated,
        draws=bool(texts), empty=not known,
    )  # fmt: skip


def _script(
    source: Source, partition: Partition, cases: Cases, most: int, shown: Shown
) -> str:  # fmt: skip
    """Return the text of a file; `shown` has the number of each case on the page of a session."""
    sessions: dict[str, int] = {}
    slow = [round(time) for time in partition.slow]
    data = [{**_case(*entry, most, sessions, shown), "slow": slow} for entry in cases]
    pages = [[uuid, source.address(uuid)] for uuid in sessions]
    return plot_model.script({"figure": figure(_FORM), "sessions": pages, "cases": data})


def _case(
    case: CaseHistory, known: Sequence[Known], most: int, sessions: dict[str, int],
    shown: Shown,
) -> dict[str, Any]:  # fmt: skip
    samples: dict[int, Sample] = {
        id(each): each for one in known for each in one.series.samples[-most if most else 0 :]
    }
    order = sorted(samples.values(), key=lambda each: (each.session.number, each.time))
    times = [round(each.time) for each in order]
    key = case.key
    return {
        "name": key.check,
        "where": key.where,
        "keys": " ".join(f"{name}={value}" for name, value in key.keys),
        "times": [now - before for before, now in zip([0, *times], times, strict=False)],
        "sessions": [sessions.setdefault(each.session.uuid, len(sessions)) for each in order],
        "cases": [
            [number, on_page]
            for number, each in enumerate(order)
            if (on_page := shown.get(each.session.uuid, {}).get((key.where, key.check))) is not None
        ],
        "software": _runs(_software(each.software) for each in order),
        "nodes": _runs(" ".join(each.nodes) for each in order),
        "series": [_series(one, order) for one in known],
    }


def _series(one: Known, order: Sequence[Sample]) -> dict[str, Any]:
    """Return a series as data, with a value or None for each of some samples of its case."""
    series, level = one.series, one.level
    values = dict(zip(map(id, series.samples), map(_short, series.values), strict=True))
    data = {
        "id": one.anchor,
        "metric": series.metric,
        "unit": series.unit,
        "direction": series.direction or "",
        "values": [values.get(id(each)) for each in order],
        "all": series.count,
        "level": [] if level is None else _short(level),
        "changes": [*one.steps],
        "alerts": [
            [round(change.time), f"open alert {each.id}: {_kind(each)} since {day(change.time)}"]
            for each, change in one.alarms
        ],
        "acks": [[round(ack.when.timestamp()), ack.text] for ack in one.acks],
    }
    return {name: found for name, found in data.items() if found != []}


@lru_cache(maxsize=256)
def _software(software: Software) -> str:
    return software_text(software)


def _kind(incident: OpenIncident) -> str:
    return HISTORY[incident.finding.kind][0]


def _short(value: float) -> float:
    short = float(f"{value:.5g}")
    return int(short) if short == int(short) and abs(short) < 1e9 else short


def _runs(words: Iterable[str]) -> list[list[Any]]:
    """Return where each run of equal words begins, and the word."""
    numbered = groupby(enumerate(words), key=lambda entry: entry[1])
    return [[next(run)[0], word] for word, run in numbered]


def _step(series: Series, start: int, detected: int, before: float, after: float) -> Step:
    begun, decided = (round(series.samples[at].time) for at in (start, detected))
    way = "better" if (after > before) == (series.direction == "higher") else "worse"
    return Step(begun, decided, _short(before), _short(after), way if series.direction else "")


def _known(source: Source) -> Cases:
    """Return all cases with what is known of their series, by partition and benchmark."""
    scans = {
        at: scan
        for each in source.judgements
        if each.progress is not None
        for at, scan in each.progress.scans(each.progress.all).items()
    }
    alarms: dict[int, list[tuple[OpenIncident, Change]]] = {}
    for judgement in source.judgements:
        for incident in judgement.incidents:
            for change in incident.changes:
                alarms.setdefault(id(change.series), []).append((incident, change))
    # Those that have ended stand in the plots, too.
    acks = source.read(acknowledgements.load, source.workspace.alerts) or []
    found: Cases = []
    for case in source.history.cases:
        members = []
        for series in filter(lambda one: one.count, case.series):
            scan = scans.get(id(series))
            level = finite(scan.level) if scan else None
            steps = [
                _step(series, each.start, each.detected, each.before, each.after)
                for each in (scan.changes if scan else ())
            ]
            own = tuple(alarms.get(id(series), ()))
            ids = {incident.id for incident, _ in own}
            fits = tuple(ack for ack in acks if ack.what in ids or ack.fits(series.name))
            needed = scan.needed if scan else 0
            members.append(Known(series, level, steps, needed, own, fits))
        if members:
            found.append((case, members))
    found.sort(key=lambda entry: (*_place(entry[0]), entry[0].subject, *map(str, entry[0].key)))
    return found
