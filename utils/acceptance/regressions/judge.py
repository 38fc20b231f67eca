"""What became worse, of all that was ever measured, as of the newest session.

The whole site is watched for about one false alarm a year. A threshold of `changepoint` is the
natural logarithm of the mean number of samples between two false alarms of one series; its default
serves `SERIES` series that are sampled every night. With m of them the union would raise m / SERIES
times as many, so ln(m / SERIES) is added. m is rounded up to a power of two, that a new series
does not move decisions of the past.

What was found in the past is decided again in the same way on every following night, from the
samples of that time: so an incident keeps its identity, and no state is kept.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from acceptance import references
from acceptance.alerts import Alert
from acceptance.core.text import plural
from acceptance.detection import changepoint
from acceptance.detection.constants import (
    DEFAULT_THRESHOLD,
    RECENT,
    SERIES,
    STALE,
    STALE_TIMES,
    SUSPICIOUS,
)
from acceptance.detection.spells import spells, undone_by, within
from acceptance.references import Library, Reference
from acceptance.regressions.changes import Change, OpenIncident
from acceptance.regressions.drift import baseline_of, drifted, unmet
from acceptance.regressions.history.nights import Nights
from acceptance.regressions.history.reader import load
from acceptance.regressions.history.series import CaseHistory, History, Series, day
from acceptance.regressions.incidents import group
from acceptance.regressions.scan import scan_series
from acceptance.regressions.slow_nights import slow_nights
from acceptance.regressions.vanished import vanished
from acceptance.rfm import SessionFault


@dataclass
class Judgement:
    """The open incidents of the whole site, and what could not be judged.

    `level` is the threshold by which its series were scanned.
    `judged` counts the series that were; `waiting` has runs still missing -> number of series;
    `stale` counts those that are no longer measured. `suspected` are those whose newest sample is
    worth a repeated measurement, `newest` is the end of the newest session (s since the epoch).
    `systems` are those of the sessions, `fault` is why there are no references to find drifts by.
    `unmet` are baselines of a site's own checks that nothing has ever met.
    """

    incidents: tuple[OpenIncident, ...] = ()
    level: float = 0.0
    notes: list[str] = field(default_factory=list)
    judged: int = 0
    waiting: dict[int, int] = field(default_factory=dict)
    stale: int = 0
    suspected: tuple[Series, ...] = ()
    newest: float = 0.0
    systems: tuple[str, ...] = ()
    fault: str = ""
    unmet: tuple[Reference, ...] = ()
    #: The sessions that could not be read.
    faults: list[SessionFault] = field(default_factory=list)

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """Return the alerts of the open incidents."""
        return tuple(incident.alert for incident in self.incidents)

    @property
    def cannot_judge(self) -> str:
        """Say of how many series nothing can be said yet, and when it can; empty if of none."""
        if not self.waiting:
            return ""
        count, first, last = sum(self.waiting.values()), min(self.waiting), max(self.waiting)
        when = f"{first}" if first == last else f"{first} to {last}"
        runs = "run" if last == 1 else "runs"
        return f"{plural(count, 'metric')}: cannot judge yet; can after {when} more {runs}"


def for_gate(
    database: Path, reference: Path, perflogs: Path | None = None, session: str | None = None
) -> Judgement:
    """Judge a results database as of a session (UUID), else as of the newest one.

    Baselines are those of `sites/` in the folder `reference`; where the references cannot be
    read, the judgement says so. Raises ResultsFault when the database cannot be read.
    """
    return with_references(load(database, perflogs, until=session), reference)


def with_references(history: History, reference: Path) -> Judgement:
    """Judge a history by the baselines of a folder of references, as far as it can be read."""
    try:
        return judge(history, references.load(reference))
    except references.ReferenceFault as err:
        judgement = judge(history)
        judgement.fault = f"no drift can be found: {err}"
        return judgement


def judge(history: History, library: Library | None = None) -> Judgement:
    """Judge all series of a history as of its last session."""
    judgement = Judgement(notes=list(history.notes), faults=list(history.faults))
    if not history.sessions:
        return judgement
    series = [one for one in history.series if one.samples]
    now = history.sessions[-1].end
    fresh = [one for one in series if not is_stale(one, now)]
    judgement.stale = len(series) - len(fresh)
    if judgement.stale:
        judgement.notes.append(
            f"{judgement.stale} series have no sample of late and are not judged any more"
        )
    _note_impossible(judgement, history.cases)
    judgement.unmet = tuple(unmet(history, library)) if library is not None else ()
    nights = Nights(history.sessions)
    directed = [one for one in fresh if one.direction is not None]
    level = judgement.level = threshold(len(directed))
    scans = scan_series(directed, level)
    judgement.newest = now
    judgement.systems = tuple(
        sorted({system for session in history.sessions for system, _ in session.partitions})
    )
    judgement.suspected = tuple(
        one
        for one, found in zip(directed, scans, strict=True)
        if found.enough and found.suspicion > SUSPICIOUS
    )
    changes: list[Change] = []
    judged: list[Series] = []
    for one, found in zip(directed, scans, strict=True):
        if not found.enough:
            judgement.waiting[found.needed] = judgement.waiting.get(found.needed, 0) + 1
            continue
        judged.append(one)
        drifts = drifted(one, library, found.spread) if library is not None else []
        changes += _first(list(_changes(one, found, len(directed), library)), drifts)
    judgement.judged = len(judged)
    slow = list(slow_nights(directed, nights))
    changes += vanished(history, lambda usual, last: _is_old(usual, last, now))
    judgement.incidents = group(changes, slow, judged, nights)
    _note_unknown(judgement, [one for one in fresh if one.direction is None], level, now)
    return judgement


def threshold(count: int) -> float:
    """Return the evidence that a change needs among so many series."""
    rounded = 2 ** math.ceil(math.log2(max(count, 1)))
    return float(DEFAULT_THRESHOLD) + max(0.0, math.log(rounded / SERIES))


def is_stale(series: Series, now: float) -> bool:
    """Tell whether a series has had no sample for so long that it is no longer measured."""
    times = [sample.time for sample in series.samples[-20:]]
    usual = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    return _is_old(usual, times[-1], now)


def _is_old(usual: float, last: float, now: float) -> bool:
    return now - last > max(STALE, STALE_TIMES * usual)


def _changes(
    series: Series, scan: changepoint.Scan, count: int, library: Library | None
) -> Iterator[Change]:
    """Yield the changes for the worse, and with which session those that are over were over."""
    worse = [change for change in scan.changes if change.worse]
    values = np.array(series.compared) if worse else np.empty(0)
    samples = series.samples
    for change in worse:
        back = undone_by(change, scan.changes[scan.changes.index(change) + 1 :])
        accepted = back is None and _accepted(series, change, library)
        for spell in spells(values, change, scan.spread, back.detected if back else None):
            over = samples[spell.end].session if spell.end is not None else None
            yield Change(
                series,
                "regression",
                samples[spell.start].session,
                samples[spell.decided].session,
                samples[spell.start].time,
                before=float(change.before),
                after=float(change.after),
                confidence=confidence(change.score, count),
                over=samples[-1].session if accepted and over is None else over,
                within=within(change, scan.spread),
            )


def _first(changes: list[Change], drifts: list[Change]) -> list[Change]:
    """Of a change and a drift of one series that both go on, leave the one that was decided first.

    A drift is a row of changes, and a change takes a series away from its baseline.
    """
    changed = [one for one in changes if one.over is None]
    drifting = [one for one in drifts if one.over is None]
    if changed and drifting:
        if drifting[0].decided.number < changed[0].decided.number:
            changes = [one for one in changes if one not in changed]
        else:
            drifts = [one for one in drifts if one not in drifting]
    return changes + drifts


def _accepted(series: Series, change: changepoint.LevelChange, library: Library | None) -> bool:
    """Tell whether the site's baseline is the level after the change: a new one was recorded."""
    found = baseline_of(series, library) if library is not None else None
    if found is None:
        return False
    middle = math.sqrt(change.before * change.after)
    return found.value > middle if change.after > change.before else found.value < middle


def confidence(score: float, count: int) -> float:
    """Return 1 less the false alarms a night that so much evidence gives among so many series."""
    return round(min(max(1 - count * math.exp(-score), 0.0), 0.9999), 4)


def _note_impossible(judgement: Judgement, cases: Iterable[CaseHistory]) -> None:
    never: list[str] = []
    partly: Counter[str] = Counter()
    for case in cases:
        for series in case.series:
            if series.impossible and not series.values:
                never.append(series.name)
            elif series.impossible:
                partly[series.name] = series.impossible
    if never:
        more = f" and {len(never) - 1} more" if len(never) > 1 else ""
        judgement.notes.append(
            f"never more than 0, or no numbers, and not judged: {never[0]}{more}"
        )
    if partly:
        name, count = partly.most_common(1)[0]
        more = f", and {len(partly) - 1} more series have some" if len(partly) > 1 else ""
        judgement.notes.append(
            f"values that are no measurement (0, below, or no number) are left out: {count} of "
            f"{name}{more}"
        )


def _note_unknown(judgement: Judgement, series: Sequence[Series], level: float, now: float) -> None:
    """Tell what moved of the series of which nobody said what is better; that is no alert."""
    moved = []
    for one, found in zip(series, scan_series(series, level), strict=True):
        for change in found.changes[-1:]:
            if now - one.samples[change.start].time < RECENT:
                when = day(one.samples[change.start].time)
                moved.append(
                    f"{one.name}: {change.before:.4g} -> {change.after:.4g} {one.unit} since {when}"
                )
    if moved:
        more = f"; and {len(moved) - 1} more" if len(moved) > 1 else ""
        judgement.notes.append(f"moved, though nothing says which way is better: {moved[0]}{more}")
