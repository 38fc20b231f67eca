"""What changed in one series, and on one night of a partition, and the alerts of these.

Besides changes of level these are drifts, away from the site's baseline however slowly, and metrics
that are no longer measured, or in another unit, though the same was selected.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import itemgetter
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from acceptance.alerts import Alert
from acceptance.core.groups import grouped
from acceptance.core.robust import middle_and_spread
from acceptance.core.words import read_metric
from acceptance.detection.common_mode import Floats, outstanding
from acceptance.detection.constants import (
    DRIFT_BACK,
    DRIFT_SAMPLES,
    DRIFT_SHARE,
    DRIFT_SPREADS,
    NIGHT_WINDOW,
    NIGHT_WINDOW_FEWEST,
    READ_BLOCK,
    READ_BLOCKS,
    VANISHED_BEFORE,
    VANISHED_FORGOTTEN,
)
from acceptance.ledger import node_of_case
from acceptance.references import Library, Reference
from acceptance.regressions.history.series import History, Nights, PastSession, Series
from acceptance.regressions.progress import Progress, is_old
from acceptance.suites import SUITES


@dataclass(frozen=True, eq=False)
class Change:
    """A change of one series for the worse; kinds as in `alerts/alert.py`.

    `session` is the first one after the change and `time` (s since the epoch) that of its sample;
    `decided` is the session whose sample was the evidence. It is `over` with a session, or still
    open (None). `before` and `after` are in the series' unit, None where there are no numbers.
    `within` is how many nights the beginning may be off. With a `node` it is a change of what was
    measured on this node.
    """

    series: Series
    kind: str
    session: PastSession
    decided: PastSession
    time: float
    before: float | None
    after: float | None
    confidence: float
    over: PastSession | None = None
    text: str = ""
    within: int = 0
    node: str = ""

    @property
    def partition(self) -> tuple[str, str]:
        """Return system and partition."""
        return self.series.partition


@dataclass(frozen=True, eq=False)
class SlowNight:
    """A night on which nearly everything on a partition was worse, and what of it was.

    `night` counts the partition's nights, `session` is the first one of that night.
    """

    partition: tuple[str, str]
    night: int
    session: PastSession
    changes: tuple[Change, ...]
    kind: ClassVar = "regression"
    within: ClassVar = 0


@dataclass(frozen=True, eq=False)
class OpenIncident:
    """An incident that is not over: its alert, and the change of each series that belongs to it."""

    alert: Alert
    changes: tuple[Change, ...]


def parameters_of(series: Series) -> dict[str, str]:
    """Return what a reference of a series must agree with: keys of `reference/README.md`."""
    environment = {"environment": series.case.key.environment}
    return {**dict(series.case.key.keys), **environment, **read_metric(series.metric)[1]}


def baseline_of(series: Series, library: Library, source: str = "baseline") -> Reference | None:
    """Return the site's baseline of a series, or what was recorded; None where none fits."""
    key = series.case.key
    try:
        return library.look_up(
            key.system,
            key.partition,
            series.case.subject,
            read_metric(series.metric)[0],
            parameters_of(series),
            series.unit,
            (source,),
        )
    except ValueError:  # ambiguous, or of another unit: the checks fail with it
        return None


def unmet(history: History, library: Library) -> list[Reference]:
    """Return the baselines of a site's own checks that no case has ever met.

    What suites measure is known without a result (`acceptance.site.unmet_rows`).
    """
    met = {
        (case.key.system, case.key.partition, case.subject, read_metric(series.metric)[0])
        for case in history.cases
        for series in case.series
    }
    return [
        row
        for row in library.baselines
        if row.benchmark.partition(".")[0] not in SUITES
        and (row.system, row.partition, row.benchmark, row.metric) not in met
    ]


def drifted(
    series: Iterable[Series], library: Library, progress: Progress
) -> dict[int, list[Change]]:
    """Return, by its identity, when the median of a series' last samples was worse than baseline.

    Worse by more than `DRIFT_SPREADS` spreads, and by more than `DRIFT_SHARE` of the baseline's
    tolerance. The spread of one sample serves where the baseline does not say its own.
    """
    bounds = [bound for one in series if (bound := _bound(one, library, progress)) is not None]
    sessions = {session.number: session for session in progress.history.sessions}
    drifts: dict[int, list[Change]] = {}
    # No more samples are read at once than those that are held of a history.
    read = accumulate(bound.series.count for bound in bounds)
    portion_of = [end // (READ_BLOCK * READ_BLOCKS) for end in read]
    for _, group in groupby(zip(portion_of, bounds, strict=True), itemgetter(0)):
        some = [bound for _, bound in group]
        samples = progress.history.samples([bound.series for bound in some])
        medians = np.median(sliding_window_view(samples.value, DRIFT_SAMPLES), axis=-1)
        for bound in some:
            number = bound.series.number
            first, last = np.searchsorted(samples.series, (number, number + 1)).tolist()
            own = medians[first : last - DRIFT_SAMPLES + 1]
            for start, end in _spells(bound, own):
                session = sessions[int(samples.session[first + start])]
                change = Change(
                    bound.series,
                    "drift",
                    session,
                    session,
                    float(samples.time[first + start]),
                    before=bound.found.value,
                    after=float(own[-1 if end is None else end - DRIFT_SAMPLES]),
                    # The median of five is more than five of its own spreads off, where one
                    # sample's is three.
                    confidence=0.9999,
                    over=None if end is None else sessions[int(samples.session[first + end])],
                    text=f"against the baseline, {bound.found.where}",
                )
                drifts.setdefault(id(bound.series), []).append(change)
    return drifts


class _Bound(NamedTuple):
    """A series, its baseline, and how much worse (relative) its medians may be."""

    series: Series
    found: Reference
    limit: float


def _bound(series: Series, library: Library, progress: Progress) -> _Bound | None:
    found = baseline_of(series, library)
    if found is None or series.count < DRIFT_SAMPLES:
        return None
    tolerance = library.tolerances_of(series.case.key.system).table.get(("baseline", series.unit))
    if tolerance is None:
        return None
    spread = found.spread
    if spread is None:
        spread = float(progress.series["spread"][progress.slots[id(series)]])
    limit = max(DRIFT_SPREADS * spread, DRIFT_SHARE * tolerance.worse)
    return _Bound(series, found, limit)


def _spells(bound: _Bound, medians: Floats) -> Iterator[tuple[int, int | None]]:
    """Yield from which sample to which one the medians were worse than the bound."""
    worse = medians / bound.found.value - 1
    if bound.series.direction == "higher":
        worse = -worse
    if not (worse > bound.limit).any():
        return
    start: int | None = None
    for at, off in enumerate(worse.tolist(), DRIFT_SAMPLES - 1):
        if start is None and off > bound.limit:
            start = at
        elif start is not None and off < DRIFT_BACK * bound.limit:
            yield start, at
            start = None
    if start is not None:
        yield start, None


def vanished(history: History, progress: Progress, now: float) -> Iterator[Change]:
    """Yield every series that the last sessions with the same command measured and these did not.

    Same command: apart from labels and folders (`PastSession.selection`). A case that failed, was
    skipped or repeated has not vanished, nor has anything in a session that was aborted, nor the
    link check of a node that was down, nor a case of more nodes than any of the session took, which
    were not up: whoever knows the nodes reports it. What
    nobody runs any more `now` (s since the epoch) has not vanished either.
    """
    whole = (one for one in history.sessions if not one.aborted and one.partitions)
    for sessions in grouped(whole, lambda one: one.selection).values():
        if len(sessions) <= VANISHED_BEFORE:
            continue
        recent = sessions[-VANISHED_BEFORE - VANISHED_FORGOTTEN :]
        usual = (recent[-1].end - recent[0].end) / (len(recent) - 1)
        if not is_old(usual, recent[-1].end, now):
            yield from _missing(history, recent, progress)


def _missing(history: History, sessions: list[PastSession], progress: Progress) -> Iterator[Change]:
    first, last = sessions[0].number, sessions[-1].number
    missing = {
        id(series): series
        for case in history.cases
        for series in case.series
        if first <= progress.last(series) < last
    }
    recent = progress.recent(missing.values())
    for case in history.cases:
        if node_of_case(case.key.check):
            continue
        name = (case.key.where, case.key.check)
        place, nodes = case.key[:2], int(dict(case.key.keys).get("nodes", 0))
        for series in case.series:
            if id(series) not in missing:
                continue
            measured = {each for each in recent[id(series)].sessions.tolist() if each >= first}
            fit = [
                session
                for session in sessions
                if name not in session.unfit and session.most.get(place, nodes) >= nodes
            ]
            without = 0
            while without < len(fit) and fit[-1 - without].number not in measured:
                without += 1
            before = fit[: len(fit) - without][-VANISHED_BEFORE:]
            if 0 < without <= VANISHED_FORGOTTEN and len(before) == VANISHED_BEFORE:
                # A sample of another selection's session says that it is there.
                since = fit[-without]
                if all(one.number in measured for one in before) and (max(measured) < since.number):
                    yield _change(series, since, progress)


def _change(series: Series, since: PastSession, progress: Progress) -> Change:
    kind, subject, text = "vanished", series, ""
    if series.last is not None and series.last.number >= since.number:
        text = "it is 0, below, or no number now"
    for other in series.case.series:
        if (
            other.metric == series.metric
            and other is not series
            and progress.last(other) >= since.number
        ):
            kind, subject, text = "unit", other, f"was in {series.unit or 'no unit'}"
    return Change(subject, kind, since, since, since.start, None, None, confidence=1.0, text=text)


def slow_nights(
    series: Sequence[Series], nights: Nights, progress: Progress
) -> Iterator[SlowNight]:
    """Find the nights on which a whole partition was slow, and what was slow in them."""
    for partition, members in grouped(series, lambda one: one.partition).items():
        if partition not in progress.kept.nights:
            continue
        for slow in outstanding(progress.kept.nights[partition].levels):
            session = nights.first(partition, slow.night)
            # Of the past nothing but the night counts: it may be where an incident began.
            newest = slow.night == nights.last(partition)
            moved = _moved(members, session, slow.confidence, progress) if newest else ()
            yield SlowNight(partition, slow.night, session, tuple(moved))


def _moved(
    series: Sequence[Series], session: PastSession, confidence: float, progress: Progress
) -> Iterator[Change]:
    """Yield what was worse in the sessions of the newest night, which `session` began."""
    recent = progress.recent(series)
    for one in series:
        newest = recent[id(one)]
        values = newest.logs[-NIGHT_WINDOW - 1 :]
        if newest.sessions[-1] < session.number or len(values) <= NIGHT_WINDOW_FEWEST:
            continue
        usual, spread = middle_and_spread(values[:-1])
        off = usual - values[-1] if one.direction == "higher" else values[-1] - usual
        if off > spread:
            yield Change(
                one,
                "machine",
                session,
                session,
                float(progress.series["last"][progress.slots[id(one)]]),
                before=float(np.exp(usual)),
                after=float(np.exp(values[-1])),
                confidence=round(confidence, 4),
            )
