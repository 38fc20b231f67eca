"""Histories: an index of all series, those with alerts and changes first, each with its plot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from acceptance.alerts import Ack, Alert, acknowledgements
from acceptance.alerts.acknowledgements import AckFault
from acceptance.core.simulated import is_simulated
from acceptance.core.text import plural
from acceptance.detection import Scan
from acceptance.regressions import Change, Judgement
from acceptance.regressions.history import CaseHistory, Series, day
from acceptance.report import addresses, series_files
from acceptance.report.model import Page
from acceptance.report.series_files import Known
from acceptance.report.source import Source

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
    most = series_files.most_samples([one.series for one in every])
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
    made = series_files.files(
        cases if whole else [], most, lambda n: addresses.data(path, str(n), "js")
    )
    file_of = {
        one.anchor: addresses.relative(file.address, path)
        for file in made
        for _, known in file.cases
        for one in known
    }
    texts = {file.address: series_files.script(file, most, slow, shown) for file in made}
    changed = sorted(
        (one for _, known in cases for one in known if one.alarms or one.change is not None),
        key=lambda one: (not one.alarms, -one.since),
    )
    context |= {
        "file_of": file_of,
        "changed": changed[:CHANGED],
        "more_changed": max(len(changed) - CHANGED, 0),
        "address": {
            one.anchor: addresses.relative(f"{_path(partitions, one)}#{one.anchor}", path)
            for one in changed[:CHANGED]
        },
        "top": addresses.relative("x", path)[:-1],
        "day": day,
    }
    simulated = bool(partitions) and all(each.simulated for each in partitions)
    return Page(
        path, title, "history.html.j2", "History", context, files=texts, simulated=simulated,
        draws=bool(made),
    )  # fmt: skip


def _path(partitions: Sequence[Partition], one: Known) -> str:
    name = ":".join(_place(one.series.case))
    return next(each.path for each in partitions if each.name == name)


def _left_out(source: Source, every: Sequence[Known], most: int) -> str:
    if not most:
        return ""
    return (
        f"There are {len(every):,} series: the plots and tables here have the newest "
        f"{plural(most, 'sample')} of each, so that this report stays small. Changes were found in "
        "all samples; `acceptance history METRIC --values` has all of a series."
    )


def _known(source: Source) -> Cases:
    """Return all cases with what is known of their series, by partition and benchmark."""
    alarms = _alarms(source)
    acks = _acks(source)
    scans = _scans(source)
    found: Cases = []
    for case in source.history.cases:
        members = [
            _of(series, scans.get(id(series)), alarms.get(id(series), ()), acks)
            for series in case.series
            if series.count
        ]
        if members:
            found.append((case, members))
    found.sort(key=lambda entry: (*_place(entry[0]), entry[0].subject, *map(str, entry[0].key)))
    return found


def _scans(source: Source) -> dict[int, Scan]:
    """Return what each series shows by the judge of the gate, by its identity."""
    found: dict[int, Scan] = {}
    for judgement in _judgements(source):
        if judgement.progress is not None:
            found |= judgement.progress.scans(judgement.progress.all)
    return found


def _of(
    series: Series, scan: Scan | None, alarms: Sequence[tuple[Alert, Change]], acks: Sequence[Ack]
) -> Known:
    ids = {alert.id for alert, _ in alarms}
    own = tuple(ack for ack in acks if ack.what in ids or ack.fits(series.name))
    return Known(series, scan, tuple(alarms), own)


def _alarms(source: Source) -> dict[int, list[tuple[Alert, Change]]]:
    """Return the open alerts of each series, by its identity."""
    found: dict[int, list[tuple[Alert, Change]]] = {}
    for judgement in _judgements(source):
        for incident in judgement.incidents:
            for change in incident.changes:
                found.setdefault(id(change.series), []).append((incident.alert, change))
    return found


def _judgements(source: Source) -> Iterable[Judgement]:
    return (source.judgement(simulated=simulated) for simulated in (False, True))


def _acks(source: Source) -> list[Ack]:
    """Return all acknowledgements, those that have ended, too."""
    try:
        return acknowledgements.load(source.workspace.alerts)
    except AckFault as err:
        source.note(err)
        return []


def _slow(source: Source) -> dict[tuple[str, str], list[float]]:
    """Return when the nights began on which a whole partition was slow (s since the epoch)."""
    found: dict[tuple[str, str], list[float]] = {}
    for judgement in _judgements(source):
        for night in judgement.slow:
            found.setdefault(night.partition, []).append(night.session.start)
    return found
