"""What a comparison finds: a row for each metric of either side, and all of them together."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from acceptance.comparison.noise import FEW
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
    software: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Row:
    """A metric: `ratio` is B over A, `low` and `high` what it may be by chance.

    `probability` is that of such a ratio by chance, before it is corrected for the number of
    metrics; `why` says why nothing can be told, or what is to be known of it.
    """

    check: str
    suite: str
    benchmark: str
    parameters: tuple[tuple[str, str], ...]
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


def as_data(found: Comparison) -> dict[str, Any]:
    """Return all of a comparison as plain data."""
    return {
        **{
            name: {
                "side": side.text,
                "what": side.described,
                "sessions": list(side.sessions),
                "systems": list(side.systems),
                "simulated": side.simulated,
                "software": list(side.software),
            }
            for name, side in (("a", found.a), ("b", found.b))
        },
        "matched": list(found.matched),
        "differs": {name: {"a": a, "b": b} for name, (a, b) in found.differs.items()},
        "counts": {word.value: found.counts[word] for word in Word},
        "chance": found.chance,
        "level": found.level,
        "judged": found.judged,
        "failed_in_b": list(found.failed),
        "notes": list(found.notes),
        "metrics": [_row(row) for row in found.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "check": row.check,
        "suite": row.suite,
        "benchmark": row.benchmark,
        "parameters": dict(row.parameters),
        "metric": row.metric,
        "message_size": row.size,
        "unit": row.unit,
        "direction": row.direction,
        "result": row.word.value,
        "ratio": row.ratio,
        "noise": None if row.low is None else {"low": row.low, "high": row.high},
        "probability": row.probability,
        "why": row.why,
        "maybe_outlier": row.word in (Word.WORSE, Word.BETTER, Word.DIFFERS) and row.fewest < FEW,
        "a": _measured(row.a),
        "b": _measured(row.b),
    }


def _measured(one: Measured | None) -> dict[str, Any] | None:
    return (
        None
        if one is None
        else {
            "where": one.where,
            "value": one.value,
            "samples": one.samples,
            "spread": one.spread,
            "learnt_from": one.learnt,
            "unit": one.unit,
            "session": one.session,
            "nodes": list(one.nodes),
            "software": dict(one.software),
        }
    )
