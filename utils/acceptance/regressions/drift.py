"""Drift: what has moved away from the site's baseline, however slowly it did."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from acceptance.core.metrics import read
from acceptance.detection.common_mode import Floats
from acceptance.detection.constants import (
    DRIFT_BACK,
    DRIFT_SAMPLES,
    DRIFT_SHARE,
    DRIFT_SPREADS,
    READ_BLOCK,
    READ_BLOCKS,
)
from acceptance.references import Library, Reference
from acceptance.regressions.changes import Change
from acceptance.regressions.history import columns
from acceptance.regressions.history.series import History, PastSession, Series
from acceptance.regressions.progress import Progress
from acceptance.suites import SUITES


def parameters_of(series: Series) -> dict[str, str]:
    """Return what a reference of a series must agree with: keys of `reference/README.md`."""
    environment = {"environment": series.case.key.environment}
    return {**dict(series.case.key.keys), **environment, **read(series.metric)[1]}


def baseline_of(series: Series, library: Library) -> Reference | None:
    """Return the site's baseline of a series; None where there is none, or none that fits."""
    key = series.case.key
    try:
        return library.look_up(
            key.system,
            key.partition,
            series.case.subject,
            read(series.metric)[0],
            parameters_of(series),
            series.unit,
            ("baseline",),
        )
    except (LookupError, ValueError):  # ambiguous, or of another unit: the checks fail with it
        return None


def unmet(history: History, library: Library) -> list[Reference]:
    """Return the baselines of a site's own checks that no case has ever met.

    What suites measure is known without a result (`acceptance.site.unmet_rows`).
    """
    met = {
        (case.key.system, case.key.partition, case.subject, read(series.metric)[0])
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
    for some in _portions(bounds):
        samples = columns.of(bound.series for bound in some)
        medians = rolling(samples.value)
        for bound in some:
            first, last = np.searchsorted(
                samples.series, (bound.series.number, bound.series.number + 1)
            ).tolist()
            own = medians[first : last - DRIFT_SAMPLES + 1]
            spells = [*_spells(bound, own)]
            when = [(sessions[int(samples.session[first + start])],
                     float(samples.time[first + start]),
                     None if end is None else sessions[int(samples.session[first + end])])
                    for start, end in spells]  # fmt: skip
            found = [
                _drift(bound, *at, float(own[-1 if end is None else end - DRIFT_SAMPLES]))
                for at, (_, end) in zip(when, spells, strict=True)
            ]
            if found:
                drifts[id(bound.series)] = found
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


def _portions(bounds: Iterable[_Bound]) -> Iterator[list[_Bound]]:
    """Divide series by how many samples are read at once."""
    some: list[_Bound] = []
    size = 0
    for bound in bounds:
        some.append(bound)
        size += bound.series.count
        if size >= READ_BLOCK * READ_BLOCKS:
            yield some
            some, size = [], 0
    if some:
        yield some


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


def rolling(values: Floats) -> Floats:
    """Return the medians of `DRIFT_SAMPLES` samples in a row."""
    windows = np.lib.stride_tricks.sliding_window_view(values, DRIFT_SAMPLES)
    return np.median(windows, axis=-1)


def _drift(
    bound: _Bound, first: PastSession, time: float, over: PastSession | None, level: float
) -> Change:
    return Change(
        bound.series,
        "drift",
        first,
        first,
        time,
        before=bound.found.value,
        after=level,
        # The median of five is more than five of its own spreads off, where one sample's is three.
        confidence=0.9999,
        over=over,
        text=f"against the baseline, {bound.found.where}",
    )
