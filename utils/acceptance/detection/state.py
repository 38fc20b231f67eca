"""What detection knows of many series once their samples are judged: all that it goes on from.

It is bounded: the newest `HELD` samples of a series and some numbers, whatever was measured before.
The changes that were found stand beside it. A scan from the beginning takes one step a sample from
the state of no samples, and so does whoever goes on from a state that was kept: both come to the
same, to the last bit.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.detection.constants import YOUNG_UNTIL
from acceptance.detection.evidence import BUFFER

Records = NDArray[np.void]

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
        # The noise (`noise.py`).
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
