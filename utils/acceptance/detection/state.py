"""What detection knows of many series once their samples are judged: all that it goes on from.

It is bounded: the newest `HELD` samples of a series and some numbers, whatever was measured before.
The changes that were found stand beside it. A scan from the beginning takes one step a sample from
the state of no samples, and so does whoever goes on from a state that was kept: both come to the
same, to the last bit.
"""

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


class Detected(NamedTuple):
    """A change as it is found: samples of the series itself, levels as logarithms, up is worse."""

    start: int
    detected: int
    before: float
    after: float
    score: float
    worse: bool
    spread: float


#: A change in a table of them: of which series (row of the records), and what it is.
FOUND = np.dtype(
    [("series", "i8"), ("start", "i8"), ("detected", "i8"), ("before", "f8"), ("after", "f8"),
     ("score", "f8"), ("worse", "?"), ("spread", "f8")]
)  # fmt: skip


@dataclass
class State:
    """The state of m series: `records` (m,) of `RECORD`, and the changes `found` of each."""

    records: Records
    found: list[list[Detected]]

    @classmethod
    def empty(cls, count: int) -> "State":
        """Return the state of series without a sample."""
        records = np.zeros(count, RECORD)
        records["spread"] = np.nan
        for name in ("half", "bound", "dof", "young", "level"):
            records[name] = 1
        return cls(records, [[] for _ in range(count)])

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self.records)

    def copy(self) -> "State":
        """Return a state that may go on by itself."""
        return State(self.records.copy(), [found.copy() for found in self.found])

    def part(self, those: NDArray[np.intp]) -> "State":
        """Return the records of some series as copies, with the lists of their changes."""
        return State(self.records[those], [self.found[series] for series in those.tolist()])

    def table(self) -> Records:
        """Return the changes that were found as an array of `FOUND`, those of a series together."""
        rows = [(series, *one) for series, found in enumerate(self.found) for one in found]
        return np.array(rows, FOUND)

    @classmethod
    def of(cls, records: Records, table: Records) -> "State":
        """Return a state that was kept as `records` and `table`."""
        state = cls(records, [[] for _ in range(len(records))])
        for series, *change in table.tolist():
            state.found[series].append(Detected(*change))
        return state
