"""Drift: what has moved away from the site's baseline, however slowly it did."""

import numpy as np

from acceptance.core.metrics import split
from acceptance.detection.common_mode import Floats
from acceptance.detection.constants import DRIFT_BACK, DRIFT_SAMPLES, DRIFT_SHARE, DRIFT_SPREADS
from acceptance.references import Library, Reference
from acceptance.regressions.changes import Change
from acceptance.regressions.history.series import History, Series
from acceptance.suites import SUITES


def parameters_of(series: Series) -> dict[str, str]:
    """Return what a reference of a series must agree with: keys of `reference/README.md`."""
    parameters = {**dict(series.case.key.keys), "environment": series.case.key.environment}
    size = split(series.metric)[1]
    if size is not None:
        parameters["message_size"] = str(size)
    return parameters


def baseline_of(series: Series, library: Library) -> Reference | None:
    """Return the site's baseline of a series; None where there is none, or none that fits."""
    key = series.case.key
    try:
        return library.look_up(
            key.system,
            key.partition,
            series.case.subject,
            split(series.metric)[0],
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
        (case.key.system, case.key.partition, case.subject, split(series.metric)[0])
        for case in history.cases
        for series in case.series
    }
    return [
        row
        for row in library.baselines
        if row.benchmark.partition(".")[0] not in SUITES
        and (row.system, row.partition, row.benchmark, row.metric) not in met
    ]


def drifted(series: Series, library: Library, spread: float) -> list[Change]:
    """Return the times during which the median of the last samples was worse than the baseline.

    Worse by more than `DRIFT_SPREADS` spreads, and by more than `DRIFT_SHARE` of the baseline's
    tolerance.
    `spread` (relative, of one sample) serves where the baseline does not say its own.
    """
    found = baseline_of(series, library)
    if found is None or len(series.values) < DRIFT_SAMPLES:
        return []
    tolerance = library.tolerances_of(series.case.key.system).table.get(("baseline", series.unit))
    if tolerance is None:
        return []
    spread = spread if found.spread is None else found.spread
    limit = max(DRIFT_SPREADS * spread, DRIFT_SHARE * tolerance.worse)
    medians = rolling(np.array(series.values))
    worse = medians / found.value - 1
    if series.direction == "higher":
        worse = -worse
    drifts: list[Change] = []
    start: int | None = None
    for number, off in enumerate(worse.tolist()):
        at = number + DRIFT_SAMPLES - 1
        if start is None and off > limit:
            start = at
        elif start is not None and off < DRIFT_BACK * limit:
            drifts.append(_drift(series, found, start, at, float(medians[number - 1])))
            start = None
    if start is not None:
        drifts.append(_drift(series, found, start, None, float(medians[-1])))
    return drifts


def rolling(values: Floats) -> Floats:
    """Return the medians of `DRIFT_SAMPLES` samples in a row."""
    windows = np.lib.stride_tricks.sliding_window_view(values, DRIFT_SAMPLES)
    return np.median(windows, axis=-1)


def _drift(series: Series, found: Reference, start: int, end: int | None, level: float) -> Change:
    first = series.samples[start]
    return Change(
        series,
        "drift",
        first.session,
        first.session,
        first.time,
        before=found.value,
        after=level,
        # The median of five is more than five of its own spreads off, where one sample's is three.
        confidence=0.9999,
        over=None if end is None else series.samples[end].session,
        text=f"against the baseline, {found.where}",
    )
