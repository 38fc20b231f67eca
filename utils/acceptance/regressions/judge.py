"""What became worse, of all that was ever measured, as of the newest session.

What was found in the past was decided from what there was at that time (`progress.py`), and is not
decided again: so an incident keeps its identity. The samples of the past are read only of series
that became worse, that have a baseline, or that an open incident asks about.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acceptance import references
from acceptance.core.text import plural
from acceptance.detection.constants import FEWEST, RECENT, SUSPICIOUS
from acceptance.ledger import Ledger, SessionFault
from acceptance.references import Library, Reference
from acceptance.regressions.changes import (
    Change,
    OpenIncident,
    SlowNight,
    drifted,
    followed,
    more_runs,
    shared,
    slow_nights,
    together,
    unmet,
    vanished,
)
from acceptance.regressions.history import (
    CaseHistory,
    History,
    Nights,
    Series,
    day,
    load,
    part,
)
from acceptance.regressions.incidents import group
from acceptance.regressions.progress import Progress, update


def impossible(cases: Iterable[CaseHistory]) -> Iterator[str]:
    """Tell which values are no measurement."""
    never: list[str] = []
    partly: Counter[str] = Counter()
    for case in cases:
        for series in case.series:
            if series.impossible and not series.count:
                never.append(series.name)
            elif series.impossible:
                partly[series.name] = series.impossible
    if never:
        more = f" and {len(never) - 1} more" if len(never) > 1 else ""
        yield (f"never more than 0, or no numbers, and not judged: {never[0]}{more}")
    if partly:
        name, count = partly.most_common(1)[0]
        more = f", and {len(partly) - 1} more series have some" if len(partly) > 1 else ""
        yield (
            f"values that are no measurement (0, below, or no number) are left out: {count} of "
            f"{name}{more}"
        )


def moved(series: Sequence[Series], progress: Progress, now: float) -> Iterator[str]:
    """Tell what moved of the series of which nobody said what is better; that is no alert."""
    found = []
    for one in series:
        for change in progress.changes(one)[-1:]:
            if now - one.samples[change.start].time < RECENT:
                when = day(one.samples[change.start].time)
                found.append(
                    f"{one.name}: {change.before:.4g} -> {change.after:.4g} {one.unit} since {when}"
                )
    if found:
        more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
        yield (f"moved, though nothing says which way is better: {found[0]}{more}")


@dataclass
class Judgement:
    """The open incidents of the whole site, and what could not be judged.

    `progress` is what is known of its series.
    `judged` counts the series that were; `waiting` has runs still missing -> number of series;
    `stale` counts those that are no longer measured. `suspected` are those whose newest sample is
    worth a repeated measurement, `newest` is the end of the newest session (s since the epoch).
    `systems` are those of the sessions; `apart` are those that are not judged with them: they are
    simulated and these are not, or the other way round. `fault` is why there are no references to
    find drifts by, `unmet` are baselines of a site's own checks that nothing has ever met.
    """

    incidents: tuple[OpenIncident, ...] = ()
    progress: Progress | None = None
    notes: list[str] = field(default_factory=list)
    judged: int = 0
    waiting: dict[int, int] = field(default_factory=dict)
    stale: int = 0
    suspected: tuple[Series, ...] = ()
    newest: float = 0.0
    systems: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    fault: str = ""
    unmet: tuple[Reference, ...] = ()
    #: What of the series was judged with others, and what could not be.
    together: str = ""
    #: All nights on which a whole partition was slow, also those that are over.
    slow: tuple[SlowNight, ...] = ()
    #: The sessions that could not be read.
    faults: list[SessionFault] = field(default_factory=list)
    #: The file that keeps what is known of the series, None where nothing is kept.
    kept: Path | None = None

    @property
    def cannot_judge(self) -> str:
        """Say of how many series nothing can be said yet, and when it can; empty if of none."""
        if not self.waiting:
            return ""
        count = plural(sum(self.waiting.values()), "metric")
        return f"{count}: cannot judge yet; can after {more_runs(self.waiting)}"


def for_gate(
    ledger: Ledger,
    reference: Path,
    session: str | None = None,
    *,
    simulated: bool = False,
    kept: Path | None = None,
) -> Judgement:
    """Judge a ledger as of a session (UUID), else as of the newest one.

    Judged is what was measured, or what was `simulated`, never both.

    Baselines are those of `sites/` in the folder `reference`; where the references cannot be
    read, the judgement says so. `kept` is the folder of what is known from one night to the next.
    Raises ResultsFault when the ledger cannot be read.
    """
    history = load(ledger, until=session)
    judgement = part_with_references(history, reference, kept, simulated=simulated)
    judgement.apart = part(history, simulated=not simulated).systems
    return judgement


def part_with_references(
    history: History, reference: Path, kept: Path | None, *, simulated: bool
) -> Judgement:
    """Judge the part of a history that was measured, or simulated; `kept` is a folder.

    Drifts are found by the baselines of a folder of references, as far as it can be read.
    """
    place = kept and kept / ("simulated" if simulated else "measured")
    library, fault = None, ""
    try:
        library = references.load(reference)
    except references.ReferenceFault as err:
        fault = f"no drift can be found: {err}"
    judgement = judge(part(history, simulated=simulated), library, place)
    judgement.fault = fault
    return judgement


def judge(history: History, library: Library | None = None, kept: Path | None = None) -> Judgement:
    """Judge all series of a history as of its last session.

    `kept` is the file that keeps what is known from one night to the next; it is the same without.
    """
    judgement = Judgement(notes=list(history.notes), faults=list(history.faults), kept=kept)
    if not history.sessions:
        return judgement
    progress = judgement.progress = update(history, kept, judgement.notes)
    rows, slots = progress.series, progress.slots
    now = history.sessions[-1].end
    stale = progress.stale(now)
    series = progress.all
    fresh = [one for one in series if not stale[slots[id(one)]]]
    judgement.stale = len(series) - len(fresh)
    if judgement.stale:
        judgement.notes.append(
            f"{judgement.stale} series have no sample of late and are not judged any more"
        )
    judgement.notes += impossible(history.cases)
    judgement.unmet = tuple(unmet(history, library)) if library is not None else ()
    nights = Nights(history.sessions)
    directed = [one for one in fresh if one.direction is not None]
    judgement.newest = now
    judgement.systems = history.systems
    needed = [FEWEST - int(rows["count"][slots[id(one)]]) for one in directed]
    judgement.waiting = dict(Counter(each for each in needed if each > 0))
    judged = [one for one, each in zip(directed, needed, strict=True) if each <= 0]
    judgement.judged = len(judged)
    judgement.together = together(progress, judged)
    judgement.suspected = tuple(
        one for one in judged if rows["suspicion"][slots[id(one)]] > SUSPICIOUS
    )
    changes = _of_series(judged, progress, library)
    slow = list(slow_nights(directed, nights, progress))
    judgement.slow = tuple(slow)
    changes += vanished(history, progress, now)
    judgement.incidents = group(changes, slow, judged, nights, progress.recent)
    judgement.notes += moved([one for one in fresh if one.direction is None], progress, now)
    return judgement


def _of_series(
    judged: Iterable[Series], progress: Progress, library: Library | None
) -> list[Change]:
    """Return the changes of each series, by itself and with its family, and how it drifted."""
    judged, others = list(judged), shared(progress)
    worse = [
        one
        for one in judged
        if id(one) in others or any(each.worse for each in progress.changes(one))
    ]
    own = followed(worse, progress, others, library)
    drifts = drifted(judged, library, progress) if library is not None else {}
    return [
        change for one in judged for change in _first(own.get(id(one), []), drifts.get(id(one), []))
    ]


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
