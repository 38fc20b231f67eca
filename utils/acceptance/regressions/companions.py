"""What became worse together with an incident, without enough evidence to be one by itself.

A site watches thousands of series on every night, and so each needs much evidence. Of the series of
one partition, at the one time when something did happen there, less tells that they moved, too.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from acceptance.core.robust import middle_and_spread
from acceptance.detection.constants import (
    COMPANION_AFTER,
    COMPANION_APART,
    COMPANION_BEFORE,
    COMPANION_FEWEST,
    MEDIAN_ERROR,
    NIGHT_LEAST,
    NIGHT_STEADIEST,
)
from acceptance.regressions.changes import Change
from acceptance.regressions.history.series import PastSession, Series
from acceptance.regressions.progress import Recent

#: Gives the newest samples of series, by their identity.
RecentOf = Callable[[Iterable[Series]], dict[int, Recent]]


def companions(series: Sequence[Series], anchor: PastSession, recent: RecentOf) -> Iterator[Change]:
    """Yield the series whose last samples are worse than those before a session were."""
    newest = recent(series)
    for one in series:
        found = _companion(one, anchor, newest[id(one)])
        if found is not None:
            yield found


def _companion(series: Series, anchor: PastSession, recent: Recent) -> Change | None:
    at = int(np.searchsorted(recent.sessions, anchor.number))
    if at < COMPANION_FEWEST or at == len(recent.sessions):
        return None
    values = np.log(recent.values[max(at - COMPANION_BEFORE, 0) :])
    split = at - max(at - COMPANION_BEFORE, 0)
    # The newest ones tell whether it goes on.
    before, after = values[:split], values[split:][-COMPANION_AFTER:]
    middle, spread = map(float, middle_and_spread(before))
    spread, level = max(spread, NIGHT_STEADIEST), float(np.median(after))
    worse = level - middle if series.direction == "lower" else middle - level
    error = MEDIAN_ERROR * spread * math.sqrt(1 / len(before) + 1 / len(after))
    if worse < NIGHT_LEAST or worse < COMPANION_APART * error:
        return None
    samples, at = series.samples, series.index(anchor)
    return Change(
        series,
        "regression",
        samples[at].session,
        samples[-1].session,
        samples[at].time,
        before=math.exp(middle),
        after=math.exp(level),
        confidence=round(min(1 - math.erfc(worse / error / math.sqrt(2)), 0.9999), 4),
    )
