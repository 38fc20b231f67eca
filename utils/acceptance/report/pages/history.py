"""Histories: an index of all series, those with alerts and changes first, each with its plot.

Each series is a line, and the samples are in few small files. A file is a script that hands data to
`plots.js`, as those of plots are, for some cases. Times are written as differences (s), values with
five digits, sessions by their number in a list; software and nodes only where they change.
`static/history.js` makes a plot of it.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any

from acceptance.alerts import HISTORY, Ack, Alert, acknowledgements
from acceptance.alerts.acknowledgements import AckFault
from acceptance.core.state_files import StoredFault
from acceptance.core.text import plural
from acceptance.core.words import is_simulated
from acceptance.detection import Scan
from acceptance.detection.state import LevelChange
from acceptance.regressions import Change, Judgement
from acceptance.regressions.history import CaseHistory, Sample, Series, Software, day, software_text
from acceptance.report import addresses, plot_model
from acceptance.report.figures import figure
from acceptance.report.plot_model import Axis, Mark, Origin, Page, Plot, Scale, Trace
from acceptance.report.source import Source

#: Values of a file, and of all files together: more series have fewer of their newest samples.
OF_FILE, OF_ALL, FEWEST = 24_000, 1_600_000, 60
#: Session that has a page -> case, as (where, name) -> its number on that page.
Shown = Mapping[str, Mapping[tuple[str, str], int]]
#: The form of a plot, which the page's script fills in: a series, its levels, two marks.
_FORM = Plot(
    "plot", "", "", Axis("time", scale=Scale.DATE), Axis("", free=True),
    (Trace("", (), simulated=True, group="series"),
     Trace("level", (), Origin.PAST, group="series")),
    (Mark("change", "", x=0.0), Mark("software", "", x=0.0)),
)  # fmt: skip


@dataclass(frozen=True)
class Known:
    """What is known of a series beside its samples: by the judge of the gate."""

    series: Series
    scan: Scan | None
    alarms: tuple[tuple[Alert, Change], ...] = ()
    acks: tuple[Ack, ...] = ()

    @property
    def anchor(self) -> str:
        """Return the name by which an address leads to it: the same in every report."""
        return anchor(self.series)

    @property
    def level(self) -> float | None:
        """Return the level that it has now; None where that is not known."""
        known = self.scan is not None and math.isfinite(self.scan.level)
        return self.scan.level if self.scan is not None and known else None

    @property
    def waits(self) -> int:
        """Return after how many more samples it can be judged; 0: it is."""
        return self.scan.needed if self.scan is not None else 0

    @property
    def last(self) -> LevelChange | None:
        """Return the last change of its level; None where it never changed."""
        return self.scan.changes[-1] if self.scan and self.scan.changes else None

    @property
    def since(self) -> float:
        """Return when its level changed last (s since the epoch), 0 where it never did."""
        return self.series.samples[self.last.start].time if self.last else 0.0

    @property
    def change(self) -> float | None:
        """Return by which fraction its level changed last; None where it never did."""
        return float(self.last.after / self.last.before - 1) if self.last else None

    @property
    def way(self) -> str:
        """Return whether the last change was for the better or the worse; empty: nobody knows."""
        return _way(self.series, self.last) if self.last else ""

    @property
    def alerts(self) -> str:
        """Return its open alerts in words."""
        return ", ".join(dict.fromkeys(_kind(alert) for alert, _ in self.alarms))


def anchor(series: Series) -> str:
    """Return the name by which an address leads to a series."""
    text = f"{series.case.key!r} {series.metric} {series.stored_unit}"
    return f"m{hashlib.blake2s(text.encode(errors='surrogatepass'), digest_size=6).hexdigest()}"


@dataclass
class File:
    """The cases of a file, and how many values they have."""

    address: str
    cases: list[tuple[CaseHistory, list[Known]]] = field(default_factory=list)
    values: int = 0


def _most_samples(series: Sequence[Series]) -> int:
    """Return how many of its newest samples each series has in the files; 0: all."""
    if sum(one.count for one in series) <= OF_ALL:
        return 0
    return max(OF_ALL // len(series), FEWEST)


def files(
    cases: Iterable[tuple[CaseHistory, list[Known]]], most: int, address: Callable[[int], str]
) -> list[File]:
    """Divide cases into files, each with its address."""
    made: list[File] = []
    for case, known in cases:
        size = sum(min(one.series.count, most or one.series.count) for one in known)
        if not made or made[-1].values + size > OF_FILE:
            made.append(File(address(len(made))))
        made[-1].cases.append((case, known))
        made[-1].values += size
    return made


def script(
    file: File, most: int, slow: Mapping[tuple[str, str], Sequence[float]], shown: Shown
) -> str:  # fmt: skip
    """Return the text of a file; `shown` are the sessions that have a page."""
    sessions: dict[str, int] = {}
    cases = [_case(case, known, most, sessions, slow, shown) for case, known in file.cases]
    pages = [[uuid, addresses.session(uuid) if uuid in shown else ""] for uuid in sessions]
    return plot_model.script({"figure": figure(_FORM), "sessions": pages, "cases": cases})


def _case(
    case: CaseHistory, known: Sequence[Known], most: int, sessions: dict[str, int],
    slow: Mapping[tuple[str, str], Sequence[float]], shown: Shown,
) -> dict[str, Any]:  # fmt: skip
    newest = [one.series.samples[-most if most else 0 :] for one in known]
    samples: dict[int, Sample] = {id(each): each for row in newest for each in row}
    order = sorted(samples.values(), key=lambda each: (each.session.number, each.time))
    place = {id(each): number for number, each in enumerate(order)}
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
        "slow": [round(time) for time in slow.get((key.system, key.partition), ())],
        "series": [
            _series(one, row, place, len(order))
            for one, row in zip(known, newest, strict=True)
        ],
    }  # fmt: skip


def _series(
    one: Known, shown: Sequence[Sample], place: Mapping[int, int], count: int
) -> dict[str, Any]:
    series = one.series
    data: dict[str, Any] = {
        "id": one.anchor,
        "metric": series.metric,
        "unit": series.unit,
        "direction": series.direction or "",
        "values": [_short(value) for value in series.values[-len(shown) :]] if shown else [],
        "all": series.count,
    }
    places = [place[id(each)] for each in shown]
    if places != [*range(count)]:
        data["at"] = places
    if one.level is not None:
        data["level"] = _short(one.level)
    if one.scan is not None and one.scan.changes:
        data["changes"] = [
            [
                round(series.samples[change.start].time),
                round(series.samples[change.detected].time),
                _short(change.before),
                _short(change.after),
                _way(series, change),
            ]
            for change in one.scan.changes
        ]
    if one.alarms:
        data["alerts"] = [
            [round(change.time), f"open alert {alert.id}: {_kind(alert)} since {day(change.time)}"]
            for alert, change in one.alarms
        ]
    if one.acks:
        data["acks"] = [[round(ack.when.timestamp()), ack.text] for ack in one.acks]
    return data


@lru_cache(maxsize=256)
def _software(software: Software) -> str:
    return software_text(software)


def _way(series: Series, change: LevelChange) -> str:
    if series.direction is None:
        return ""
    higher = change.after > change.before
    return "better" if higher == (series.direction == "higher") else "worse"


def _kind(alert: Alert) -> str:
    return HISTORY[alert.kind][0] if alert.kind in HISTORY else alert.kind


def _short(value: float) -> float:
    short = float(f"{value:.5g}")
    return int(short) if short == int(short) and abs(short) < 1e9 else short


def _runs(words: Iterable[str]) -> list[list[Any]]:
    """Return where each run of equal words begins, and the word."""
    numbered = groupby(enumerate(words), key=lambda entry: entry[1])
    return [[next(run)[0], word] for word, run in numbered]


#: Series that one page lists: more have a page for each partition.
MOST = 2_500
#: Series that are listed first, as they changed.
CHANGED = 200

Cases = list[tuple[CaseHistory, list[Known]]]


@dataclass(frozen=True)
class Partition:
    """The cases of a partition that have series; `path` is the page that lists them."""

    name: str
    simulated: bool
    cases: Cases
    path: str
    slow: tuple[str, ...] = ()

    @property
    def known(self) -> list[Known]:
        """Return all of its series."""
        return [one for _, members in self.cases for one in members]


def pages(source: Source) -> list[Page]:
    """Return the index, and a page for each partition where there are many series."""
    known = _known(source)
    slow = _slow(source)
    one_page = sum(len(members) for _, members in known) <= MOST
    partitions = []
    for name, cases in groupby(known, key=lambda entry: _place(entry[0])):
        path = addresses.HISTORY if one_page else addresses.history(":".join(name))
        nights = tuple(map(day, slow.get(name, ())))
        partitions.append(Partition(":".join(name), is_simulated(name[0]), [*cases], path, nights))
    every = [one for partition in partitions for one in partition.known]
    most = _most_samples([one.series for one in every])
    context = {
        "partitions": partitions,
        "count": len(every),
        "left_out": _left_out(source, every, most),
        "notes": source.history.notes,
        "alerts": sum(bool(one.alarms) for one in every),
        "changes": sum(one.change is not None for one in every),
    }
    index = {**context, "listed": partitions if one_page else [], "whole": one_page}
    made = [_page(source, addresses.HISTORY, "History", index, partitions, most, slow, one_page)]
    if not one_page:
        for partition in partitions:
            own = {**context, "listed": [partition], "count": len(partition.known), "whole": True}
            title = f"History of {partition.name}"
            made.append(_page(source, partition.path, title, own, [partition], most, slow, True))
    return made


def _place(case: CaseHistory) -> tuple[str, str]:
    return case.key.system, case.key.partition


def _page(
    source: Source, path: str, title: str, context: dict[str, Any],
    partitions: Sequence[Partition], most: int, slow: Mapping[tuple[str, str], list[float]],
    whole: bool,
) -> Page:  # fmt: skip
    """Return a page with the files of its series, if it lists the `whole` of these."""
    shown = {
        session.uuid: {(case.where, case.name): n for n, case in enumerate(session.cases)}
        for session in source.sessions
    }
    cases = [entry for partition in partitions for entry in partition.cases]
    made = files(cases if whole else [], most, lambda n: addresses.data(path, str(n), "js"))
    file_of = {one.anchor: file.address for file in made for _, known in file.cases
               for one in known}  # fmt: skip
    texts = {file.address: script(file, most, slow, shown) for file in made}
    changed = sorted(
        (one for _, known in cases for one in known if one.alarms or one.change is not None),
        key=lambda one: (not one.alarms, -one.since),
    )
    context |= {
        "file_of": file_of,
        "changed": changed[:CHANGED],
        "more_changed": max(len(changed) - CHANGED, 0),
        "paths": {each.name: each.path for each in partitions},
        "day": day,
    }
    simulated = bool(partitions) and all(each.simulated for each in partitions)
    return Page(
        path, title, "history.html.j2", "History", context, files=texts, simulated=simulated,
        draws=bool(made),
    )  # fmt: skip


def _left_out(source: Source, every: Sequence[Known], most: int) -> str:
    if not most:
        return ""
    return (
        f"There are {len(every):,} series: the plots and tables here have the newest "
        f"{plural(most, 'sample')} of each, so that this report stays small. Changes were found in "
        "all samples; `acceptance history METRIC --format csv` has all of a series."
    )


def _known(source: Source) -> Cases:
    """Return all cases with what is known of their series, by partition and benchmark."""
    scans: dict[int, Scan] = {}
    alarms: dict[int, list[tuple[Alert, Change]]] = {}
    for judgement in _judgements(source):
        if judgement.progress is not None:
            scans |= judgement.progress.scans(judgement.progress.all)
        for incident in judgement.incidents:
            for change in incident.changes:
                alarms.setdefault(id(change.series), []).append((incident.alert, change))
    acks = _acks(source)
    found: Cases = []
    for case in source.history.cases:
        members = []
        for series in filter(lambda one: one.count, case.series):
            own = tuple(alarms.get(id(series), ()))
            ids = {alert.id for alert, _ in own}
            fits = tuple(ack for ack in acks if ack.what in ids or ack.fits(series.name))
            members.append(Known(series, scans.get(id(series)), own, fits))
        if members:
            found.append((case, members))
    found.sort(key=lambda entry: (*_place(entry[0]), entry[0].subject, *map(str, entry[0].key)))
    return found


def _judgements(source: Source) -> Iterable[Judgement]:
    return (source.judgement(simulated=simulated) for simulated in (False, True))


def _acks(source: Source) -> list[Ack]:
    """Return all acknowledgements, those that have ended, too."""
    try:
        return acknowledgements.load(source.workspace.alerts)
    except (AckFault, StoredFault) as err:
        source.note(err)
        return []


def _slow(source: Source) -> dict[tuple[str, str], list[float]]:
    """Return when the nights began on which a whole partition was slow (s since the epoch)."""
    found: dict[tuple[str, str], list[float]] = {}
    for judgement in _judgements(source):
        for night in judgement.slow:
            found.setdefault(night.partition, []).append(night.session.start)
    return found
