"""The nights on which a whole partition was slow, and what was slow in them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acceptance.core.robust import middle_and_spread
from acceptance.detection.common_mode import deviations, outstanding
from acceptance.detection.constants import (
    CASE_METRICS,
    NIGHT_CASES,
    NIGHT_WINDOW,
    NIGHT_WINDOW_FEWEST,
)
from acceptance.regressions.changes import Change, SlowNight
from acceptance.regressions.history.nights import Nights
from acceptance.regressions.history.series import PastSession, Series
from acceptance.regressions.scan import batches, matrix


def slow_nights(series: Sequence[Series], nights: Nights) -> Iterator[SlowNight]:
    """Find the nights on which a whole partition was slow, and what was slow in them."""
    partitions: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        partitions.setdefault((one.case.key.system, one.case.key.partition), []).append(one)
    for partition, members in partitions.items():
        if len({id(one.case) for one in members}) >= NIGHT_CASES:
            yield from _of(partition, members, nights)


def _of(
    partition: tuple[str, str], series: Sequence[Series], nights: Nights
) -> Iterator[SlowNight]:
    night_of = nights.by_session(partition)
    parts: list[tuple[NDArray[Any], ...]] = []
    some, cases = _some_of_each(series)
    for batch in batches(some):
        members = [some[number] for number in batch]
        higher = np.array([one.direction == "higher" for one in members])
        found = deviations(matrix(members), higher)
        for column, (number, one) in enumerate(zip(batch, members, strict=True)):
            count = len(one.values)
            parts.append(
                (
                    np.array([night_of[sample.session.number] for sample in one.samples]),
                    np.full(count, cases[number]),
                    found.spreads[:count, column],
                    found.relative[:count, column],
                )
            )
    night, case, spreads, relative = map(np.concatenate, zip(*parts, strict=True))
    for slow in outstanding(night, case, spreads, relative):
        session = nights.first(partition, slow.night)
        # Of the past nothing but the night counts: it may be where an incident began.
        newest = slow.night == nights.last(partition)
        moved = _moved(series, session, slow.confidence) if newest else ()
        yield SlowNight(partition, slow.night, session, tuple(moved))


def _some_of_each(series: Sequence[Series]) -> tuple[list[Series], list[int]]:
    """Return up to `CASE_METRICS` series of each case, evenly spread, and their cases' numbers."""
    by_case: dict[int, list[Series]] = {}
    for one in series:
        by_case.setdefault(id(one.case), []).append(one)
    some: list[Series] = []
    cases: list[int] = []
    for number, members in enumerate(by_case.values()):
        chosen = members[:: -(-len(members) // CASE_METRICS)]
        some += chosen
        cases += [number] * len(chosen)
    return some, cases


def _moved(series: Sequence[Series], session: PastSession, confidence: float) -> Iterator[Change]:
    """Yield what was worse in the sessions of the newest night, which `session` began."""
    for one in series:
        values = np.log(np.array(one.compared[-NIGHT_WINDOW - 1 :]))
        if one.samples[-1].session.number < session.number or len(values) <= NIGHT_WINDOW_FEWEST:
            continue
        usual, spread = middle_and_spread(values[:-1])
        off = usual - values[-1] if one.direction == "higher" else values[-1] - usual
        if off > spread:
            yield Change(
                one,
                "machine",
                session,
                session,
                one.samples[-1].time,
                before=float(np.exp(usual)),
                after=float(one.compared[-1]),
                confidence=round(confidence, 4),
            )
