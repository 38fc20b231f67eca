"""The spells during which a change of a series is in force, sample by sample.

A change that is decided says when it began, from the samples up to its decision. Whether it is over
need not wait for as much evidence: once the level before it and after it are known, so is how
likely noise crosses the middle between them, and after some samples in a row on the old side the
change is over. As many in a row on the bad side open it again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acceptance.detection.common_mode import Floats
from acceptance.detection.constants import (
    EARLIER,
    SPELL_CHANCE,
    SPELL_FEWEST,
    START_FARTHEST,
    START_WITHIN,
)
from acceptance.detection.state import LevelChange


@dataclass(frozen=True)
class Spell:
    """Samples (indices) of a series: the first worse one, the deciding one, and the end.

    `end` is the sample that decided that it is over, None while it lasts.
    """

    start: int
    decided: int
    end: int | None


def begin(values: Floats, change: LevelChange) -> int:
    """Estimate the first sample after a change: least absolute deviations from both levels.

    The detector bounds samples and tries few windows; this looks at every sample there is.
    """
    first = max(change.start - EARLIER, 0)
    logs = np.log(values[first : change.detected + 1])
    old, new = np.abs(logs - math.log(change.before)), np.abs(logs - math.log(change.after))
    # Of every number of samples before the change, how far all are from their levels.
    cost = np.concatenate(([0.0], np.cumsum(old))) + np.concatenate(
        (np.cumsum(new[::-1])[::-1], [0.0])
    )
    return min(first + int(np.argmin(cost)), change.detected)


def within(change: LevelChange, spread: float) -> int:
    """Return how many samples the estimated start of a change may be off."""
    size = abs(math.log(change.after / change.before))
    return (
        min(1 + int(START_WITHIN * (spread / size) ** 2), START_FARTHEST)
        if size
        else START_FARTHEST
    )


def spells(values: Floats, change: LevelChange, spread: float, undone: int | None) -> list[Spell]:
    """Return the spells of a change in all the values of a series.

    `spread` is the relative standard deviation of one sample, `undone` the sample at which the
    detector saw the end. No spell ends before the change was detected.
    """
    needed, middle = in_a_row(change, spread), math.sqrt(change.before * change.after)
    rising = change.after > change.before
    some = values[change.start : None if undone is None else undone + 1]
    bad = (some > middle) if rising else (some < middle)
    start, decided, lasting, row = begin(values, change), change.detected, True, 0
    over: list[Spell] = []
    for at, worse in enumerate(bad.tolist(), change.start):
        row = row + 1 if worse != lasting else 0
        if row >= needed and at >= change.detected:
            if lasting:
                over.append(Spell(start, decided, at))
            else:
                start, decided = at - row + 1, at
            lasting, row = not lasting, 0
    return [*over, *([Spell(start, decided, undone)] if lasting else [])]


def in_a_row(change: LevelChange, spread: float) -> int:
    """Return how many samples in a row on the other side of the middle noise would not give."""
    size = abs(math.log(change.after / change.before)) / max(spread, 1e-9)
    chance = 0.5 * math.erfc(size / 2 / math.sqrt(2))
    if chance < SPELL_CHANCE:
        return SPELL_FEWEST
    return max(SPELL_FEWEST, math.ceil(math.log(SPELL_CHANCE) / math.log(chance)))


def undone_by(change: LevelChange, later: Sequence[LevelChange]) -> LevelChange | None:
    """Return the first later change that leads back to the level before a change."""
    middle = math.sqrt(change.before * change.after)
    rising = change.after > change.before
    return next(
        (one for one in later if (one.after < middle if rising else one.after > middle)), None
    )
