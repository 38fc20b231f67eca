"""What a comparison finds: a row for each metric of either side, and all of them together."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from acceptance.core import words
from acceptance.core.words import Direction


class Word(str, Enum):
    """What is said of a metric of B, compared with A.

    It `DIFFERS` where nothing tells which way is better. `UNKNOWN`: it was measured on both sides,
    and nothing tells how large its noise is, or that is so large that it would hide anything.
    """

    WORSE = "worse"
    BETTER = "better"
    DIFFERS = "differs"
    SAME = "same"
    UNKNOWN = "cannot tell"
    ONLY_A = "only in A"
    ONLY_B = "only in B"


@dataclass(frozen=True)
class Measured:
    """A metric on one side: the median of its samples, in the unit of the row.

    `spread` is the relative standard deviation of one sample, None where it is not known, and
    `learnt` how many samples taught it. `session` (UUID) is that of the newest sample.
    """

    where: str
    value: float
    samples: int
    spread: float | None
    learnt: int
    unit: str
    session: str
    nodes: tuple[str, ...]
    software: dict[str, str]


@dataclass(frozen=True)
class Row:
    """A metric: `ratio` is B over A, `low` and `high` what it may be by chance.

    `probability` is that of such a ratio by chance, before it is corrected for the number of
    metrics; `why` says why nothing can be told, or what is to be known of it.
    """

    check: str
    suite: str
    benchmark: str
    parameters: dict[str, str]
    metric: str
    unit: str
    direction: Direction | None
    word: Word
    a: Measured | None
    b: Measured | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    probability: float | None = None
    why: str = ""

    @property
    def fewest(self) -> int:
        """Return the number of samples of the side that has fewer."""
        return min((one.samples for one in (self.a, self.b) if one is not None), default=0)

    @property
    def stem(self) -> str:
        """Return the name of the metric without its message size."""
        return words.split_metric(self.metric)[0]

    @property
    def size(self) -> int | None:
        """Return the message size in bytes, if it has one."""
        return words.split_metric(self.metric)[1]


@dataclass(frozen=True)
class SideFacts:
    """What a side was: how it was asked for, in words, its sessions (UUID), what simulated it."""

    text: str
    described: str
    sessions: tuple[str, ...]
    systems: tuple[str, ...]
    simulated: bool
    software: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two sides and their rows; `level` is the chance by which a row is outside of its noise.

    `judged` counts those that are worse, better, the same, or differ.
    `chance` is that of a single false word among all rows. `matched` had to agree, `differs` may.
    `failed` are cases of A that have no result in B because they did not pass there.
    """

    a: SideFacts
    b: SideFacts
    rows: tuple[Row, ...]
    matched: tuple[str, ...]
    differs: dict[str, tuple[str, str]]
    chance: float
    level: float
    judged: int
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    counts: Counter[Word] = field(default_factory=Counter)

    @property
    def simulated(self) -> bool:
        """Tell whether either side was simulated."""
        return self.a.simulated or self.b.simulated

    def of(self, word: Word) -> list[Row]:
        """Return the rows of a word."""
        return [row for row in self.rows if row.word == word]
