"""What detection knows of many series, the changes that it finds, and the spells of these.

The state is all that it goes on from, and bounded: the newest `HELD` samples of a series and some
numbers, whatever was measured before. The changes that were found stand beside it. A scan from the
beginning takes one step a sample from the state of no samples, and so does whoever goes on from a
state that was kept: both come to the same, to the last bit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import (
    EARLIER,
    SPELL_CHANCE,
    SPELL_FEWEST,
    START_FARTHEST,
    START_WITHIN,
    YOUNG_UNTIL,
)
from acceptance.detection.evidence import BUFFER

Records = NDArray[np.void]
Floats = NDArray[np.float64]

#: Samples that are held: those of the windows, those since the noise was learnt last, which was up
#: to 9 before, and the one before them.
HELD = BUFFER + 10

#: A series; up is worse, values are logarithms, samples are counted from the first one ever.
RECORD = np.dtype(
    [
        # The newest samples, the last one at the end; 0 before the first one.
        ("values", "f8", HELD),
        ("count", "i8"),
        # Where the present level began, from where residuals are summed up, and of how many samples
        # the strongest supposed change is.
        ("first", "i8"),
        ("anchor", "i8"),
        ("window", "i8"),
        ("suspicion", "f8"),
        ("spread", "f8"),
        # The noise (`evidence.py`).
        ("centre", "f8"),
        ("half", "f8"),
        ("phi", "f8"),
        ("bound", "f8"),
        ("skew", "f8"),
        ("dof", "f8"),
        # What earlier levels taught: the variance of residuals, from how many samples.
        ("variance", "f8"),
        ("known", "f8"),
        # After an excursion the level before it, and from how many samples it is known.
        ("base", "f8"),
        ("based", "f8"),
        # Which series had no changes but gross ones; which of the first samples are of the present
        # level, and of the one before it.
        ("young", "?"),
        ("level", "?", YOUNG_UNTIL),
        ("former", "?", YOUNG_UNTIL),
    ]
)


class LevelChange(NamedTuple):
    """A lasting change of level, decided at sample `detected` from the samples up to it.

    Indices count the usable samples of the series from its first one. `start` is the estimated
    first sample after the change, `start <= detected`. `before` and `after` are levels (geometric
    mean, and median), in a state as logarithms of which up is worse, else in the metric's unit;
    `spread` is what was known of that of one sample. `score` is the natural logarithm of the
    average number of samples between false alarms at this evidence. `worse` says that this is a
    regression: the change is in the bad direction, and not merely the end of an improvement of
    fewer than `BRIEF` samples.
    """

    start: int
    detected: int
    before: float
    after: float
    score: float
    worse: bool
    spread: float

    def in_unit(self, *, higher_is_better: bool) -> "LevelChange":
        """Return a change of a state in the unit of its metric."""
        bad = -1.0 if higher_is_better else 1.0
        return self._replace(before=math.exp(bad * self.before), after=math.exp(bad * self.after))


@dataclass
class State:
    """The state of m series: `records` (m,) of `RECORD`, and the changes `found` of each."""

    records: Records
    found: list[list[LevelChange]]

    @classmethod
    def empty(cls, count: int) -> "State":
        """Return the state of series without a sample."""
        records = np.zeros(count, RECORD)
        records["spread"] = np.nan
        for name in ("half", "bound", "dof", "young", "level"):
            records[name] = 1
        return cls(records, [[] for _ in range(count)])

    def part(self, those: NDArray[np.intp]) -> "State":
        """Return the records of some series as copies, with the lists of their changes."""
        return State(self.records[those], [self.found[series] for series in those.tolist()])


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


#: Samples (indices) of a series: the first worse one, the deciding one, and the one that decided
#: that it is over, None while it lasts.
Spell = tuple[int, int, int | None]


def spells(values: Floats, change: LevelChange, spread: float, undone: int | None) -> list[Spell]:
    """Return the spells of a change, in which it is in force, in all the values of a series.

    Once the level before it and after it are known, so is how likely noise crosses the middle
    between them: whether it is over need not wait for as much evidence, but for some samples in a
    row on the old side. As many in a row on the bad side open it again. `spread` is the relative
    standard deviation of one sample, `undone` the sample at which the detector saw the end. No
    spell ends before the change was detected.
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
                over.append((start, decided, at))
            else:
                start, decided = at - row + 1, at
            lasting, row = not lasting, 0
    return [*over, *([(start, decided, undone)] if lasting else [])]


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
