"""The spells during which a change of a series is in force, sample by sample.

A change that is decided says when it began, from the samples up to its decision. Whether it is over
need not wait for as much evidence: once the level before it and after it are known, so is how
likely noise crosses the middle between them, and after some samples in a row on the old side the
change is over. As many in a row on the bad side open it again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from acceptance.detection.changepoint import LevelChange
from acceptance.detection.common_mode import Floats
from acceptance.detection.constants import (
    EARLIER,
    SPELL_CHANCE,
    SPELL_FEWEST,
    START_FARTHEST,
    START_WITHIN,
)


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


@dataclass
class SpellScan:
    """The spells of a change, sample by sample: those that are over, and the last one.

    `needed` samples in a row on the other side of the level `middle` end one, or begin another;
    worse is above it where the change is `rising`, and none ends before the change was `detected`.
    `next` is the first sample (index) that was not looked at, `row` how many before it were in a
    row on the other side.
    """

    needed: int
    middle: float
    rising: bool
    detected: int
    start: int
    decided: int
    next: int
    lasting: bool = True
    row: int = 0
    over: list[Spell] = field(default_factory=list)

    @classmethod
    def of(cls, values: Floats, change: LevelChange, spread: float) -> "SpellScan":
        """Begin with a change; `values` are those of the series, at least up to its decision.

        `spread` is the relative standard deviation of one sample.
        """
        middle = math.sqrt(change.before * change.after)
        first = begin(values, change)
        return cls(
            in_a_row(change, spread), middle, change.after > change.before,
            change.detected, first, change.detected, change.start,
        )  # fmt: skip

    def go_on(self, values: Floats) -> None:
        """Take in the values of the samples from `next` on."""
        bad = (values > self.middle) if self.rising else (values < self.middle)
        for at, worse in enumerate(bad.tolist(), self.next):
            self.row = self.row + 1 if worse != self.lasting else 0
            if self.row >= self.needed and at >= self.detected:
                if self.lasting:
                    self.over.append(Spell(self.start, self.decided, at))
                else:
                    self.start, self.decided = at - self.row + 1, at
                self.lasting, self.row = not self.lasting, 0
        self.next += len(bad)

    def spells(self, undone: int | None) -> list[Spell]:
        """Return the spells so far; `undone` is the sample at which the detector saw the end."""
        last = [Spell(self.start, self.decided, undone)] if self.lasting else []
        return [*self.over, *last]

    def samples(self) -> set[int]:
        """Return the samples that its spells speak of, now or when one more is looked at."""
        row = {self.next - self.row} if self.row else set[int]()
        own = {self.start, self.decided, *row}
        return own.union(*((one.start, one.decided, one.end or 0) for one in self.over))


def spells(values: Floats, change: LevelChange, spread: float, undone: int | None) -> list[Spell]:
    """Return the spells of a change in all the values of a series, as `SpellScan` does."""
    scan = SpellScan.of(values, change, spread)
    scan.go_on(values[scan.next : None if undone is None else undone + 1])
    return scan.spells(undone)


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
