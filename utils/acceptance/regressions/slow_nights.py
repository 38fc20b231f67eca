"""The nights on which a whole partition was slow, and what was slow in them."""

from collections.abc import Iterator, Sequence

import numpy as np

from acceptance.core.robust import middle_and_spread
from acceptance.detection.common_mode import outstanding
from acceptance.detection.constants import NIGHT_WINDOW, NIGHT_WINDOW_FEWEST
from acceptance.regressions.changes import Change, SlowNight
from acceptance.regressions.history.nights import Nights
from acceptance.regressions.history.series import PastSession, Series
from acceptance.regressions.progress import Progress
from acceptance.regressions.progress.nights import levels
from acceptance.regressions.progress.progress import partition_of


def slow_nights(
    series: Sequence[Series], nights: Nights, progress: Progress
) -> Iterator[SlowNight]:
    """Find the nights on which a whole partition was slow, and what was slow in them."""
    partitions: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        partitions.setdefault(partition_of(one), []).append(one)
    for partition, members in partitions.items():
        if partition not in progress.kept.nights:
            continue
        for slow in outstanding(levels(progress.kept.nights[partition])):
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
        values = np.log(newest.values[-NIGHT_WINDOW - 1 :])
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
                after=float(newest.values[-1]),
                confidence=round(confidence, 4),
            )
