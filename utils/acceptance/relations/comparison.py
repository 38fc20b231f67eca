"""Two sides compared: ratios, their noise, and what of it is more than chance.

Of many metrics some differ by chance. Holm's procedure (Scandinavian Journal of Statistics 6,
1979, 65-70) keeps the probability of one or more false words among all of them at most `CHANCE`,
whatever their dependence: the smallest probabilities p(1) <= p(2) <= ... of m are more than chance
as long as p(k) <= CHANCE / (m - k + 1). With r of them so, each row is judged at the one level
CHANCE / (m - r), and its noise is shown at that level.

Which metric of one side belongs to which of the other is decided by `match`.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

import numpy as np

from acceptance.core import words
from acceptance.core.text import plural, shortened
from acceptance.core.words import Direction, is_simulated
from acceptance.detection.constants import FEWEST, SMALLEST
from acceptance.regressions.history import CaseKey, History, Series, software_text
from acceptance.relations import noise
from acceptance.relations.noise import Difference, Noise
from acceptance.relations.sides import Asked, Side, SideFault, find


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


#: What names the place of a result, and what its metric; the latter has to agree always.
PLACES = ("system", "partition", "environment")
METRICS = ("check", "parameters", "metric")


class Part(NamedTuple):
    """A series with the numbers of those of its samples that are of a side."""

    series: Series
    samples: list[int]


@dataclass(frozen=True)
class Pair:
    """A metric of both sides, or of one; `factor` brings the unit of `b` to that of `a`.

    It is None where the units do not agree.
    """

    a: Part | None
    b: Part | None
    factor: float | None = 1.0

    @property
    def sides(self) -> tuple[Part | None, Part | None]:
        """Return what is of A, and what of B."""
        return self.a, self.b


@dataclass(frozen=True)
class _Matching:
    """The pairs of two sides, what had to agree, and what differs: name -> (of A, of B)."""

    pairs: list[Pair]
    matched: tuple[str, ...]
    differs: dict[str, tuple[str, str]]


def match(history: History, a: Side, b: Side) -> _Matching:
    """Match the metrics of two sides.

    A part of the place that is the same name on both sides has to agree; where each side has one
    name, and another one, it may differ. Raises SideFault where several names of one side could
    each belong to several of the other, and where sides share samples.
    """
    parts = [[*_parts(history, side)] for side in (a, b)]
    _refuse_shared(a, b, *parts)
    matched, differs = [], {}
    for name in PLACES:
        names = [sorted({getattr(part.series.case.key, name) for part in side}) for side in parts]
        if _may_differ(name, names, (a, b)):
            differs[name] = (names[0][0], names[1][0])
        else:
            matched.append(name)
    keyed = [_keyed(side, matched) for side in parts]
    pairs = [
        pair
        for key in dict.fromkeys([*keyed[0], *keyed[1]])
        for pair in _paired(keyed[0].get(key, []), keyed[1].get(key, []))
    ]
    return _Matching(pairs, (*matched, *METRICS), differs)


def _parts(history: History, side: Side) -> Iterable[Part]:
    for series in history.series:
        if side.fits(series) and (samples := [*side.samples(series)]):
            yield Part(series, samples)


def _refuse_shared(a: Side, b: Side, of_a: list[Part], of_b: list[Part]) -> None:
    known = {id(part.series): {*part.samples} for part in of_a}
    if any(known.get(id(part.series), set()) & {*part.samples} for part in of_b):
        raise SideFault(
            f"{a.text} and {b.text} have samples in common, so that they cannot be compared: "
            f"A is {a.described}; B is {b.described}"
        )


def _may_differ(name: str, names: list[list[str]], sides: tuple[Side, Side]) -> bool:
    first, second = names
    if not first or not second or {*first} & {*second}:
        return False
    if len(first) == len(second) == 1:
        return True
    raise SideFault(
        f"{sides[0].text} and {sides[1].text} have no {name} in common, and it is not clear which "
        f"belong together: A has {shortened(first)}; B has {shortened(second)}; name one of each "
        f"(SYSTEM:PARTITION+ENVIRONMENT)"
    )


def _keyed(parts: list[Part], matched: list[str]) -> dict[tuple[object, ...], list[Part]]:
    found: dict[tuple[object, ...], list[Part]] = {}
    for part in parts:
        key: CaseKey = part.series.case.key
        place = tuple(getattr(key, name) for name in matched)
        found.setdefault((*place, key.check, key.keys, part.series.metric), []).append(part)
    return found


def _paired(a: list[Part], b: list[Part]) -> Iterable[Pair]:
    """Pair series of one metric: of the same unit first, then of units that can be converted."""
    rest = [*b]
    for part in a:
        fits = [
            (factor != 1, number, factor)
            for number, other in enumerate(rest)
            if (factor := words.factor(other.series.unit, part.series.unit)) is not None
        ]
        if fits:
            _, number, factor = min(fits)
            yield Pair(part, rest.pop(number), factor)
        elif len(a) == len(b) == 1:
            yield Pair(part, rest.pop(), None)
        else:
            yield Pair(part, None)
    for part in rest:
        yield Pair(None, part)


#: The most that the probability of any false word may be.
CHANCE = 0.05
#: Nights of a place for which no time was asked.
NIGHTS = 7
#: The words of what is more than noise.
TOLD = (Word.WORSE, Word.BETTER, Word.DIFFERS)
#: A metric whose noise hides a larger ratio than this is not told to be the same.
WIDEST = 1.5
#: Samples of a metric after which its levels changed.
Starts = Callable[[Series], Collection[int]]


def compare(
    history: History,
    a: Asked,
    b: Asked,
    *,
    nights: int = NIGHTS,
    system: str | None = None,
    starts: Starts = lambda _: (),
) -> Comparison:
    """Compare two sides of a history; raises SideFault where one is not clear.

    `starts` returns the samples with which a new level of a series began. `system` is what sides
    are of that name none.
    """
    sides = find(a, history, nights, system), find(b, history, nights, system)
    matching = match(history, *sides)
    judged = [_Judged(pair, starts) for pair in matching.pairs]
    level, _ = holm([one.probability for one in judged if one.probability is not None])
    rows = sorted((one.row(level) for one in judged), key=_order)
    failed = _failed(matching, sides[1])
    rows = [_with_failure(row, failed) for row in rows]
    counts = Counter({**dict.fromkeys(Word, 0), **Counter(row.word for row in rows)})
    count = sum(counts[word] for word in (*TOLD, Word.SAME))
    return Comparison(
        _facts(sides[0], matching, 0), _facts(sides[1], matching, 1),
        tuple(rows), matching.matched, matching.differs, CHANCE, level, count,
        tuple(sorted(failed)), tuple(_notes(rows, matching)), counts,
    )  # fmt: skip


def holm(probabilities: Sequence[float], chance: float = CHANCE) -> tuple[float, int]:
    """Return the level at which each probability is judged, and how many there are."""
    ordered = sorted(probabilities)
    over = 0
    while over < len(ordered) and ordered[over] <= chance / (len(ordered) - over):
        over += 1
    return chance / max(len(ordered) - over, 1), len(ordered)


def percent(part: float) -> str:
    """Return a part of 1 in percent, to two digits or to a whole number."""
    return f"{100 * part:.2g} %" if part < 1 else f"{100 * part:,.0f} %"


class _Judged:
    """A pair with what is known of its noise."""

    def __init__(self, pair: Pair, starts: Starts) -> None:
        self.pair = pair
        self.noises: list[Noise | None] = [None, None]
        self.why = ""
        self.difference: Difference | None = None
        self.probability: float | None = None
        a, b = pair.a, pair.b
        self.noises = _noises(a, b, starts)
        if a is None or b is None:
            return
        if pair.factor is None:
            self.why = f"its unit is {a.series.unit or 'none'} in A, {b.series.unit or 'none'} in B"
            return
        if a.series.direction != b.series.direction:
            self.why = "which way is better is not the same in A and B"
            return
        size = math.log(_value(b) * pair.factor / _value(a))
        first, second = self.noises
        if first is None or second is None:
            self.why = _unknown([a, b], self.noises)
            return
        self.difference = noise.difference(size, (len(a.samples), len(b.samples)), (first, second))
        self.probability = noise.two_sided(self.difference.t, self.difference.dof)

    def row(self, level: float) -> Row:
        """Return the row, judged at a level."""
        a, b = self.pair.a, self.pair.b
        series = (a or b).series  # type: ignore[union-attr]
        case = series.case
        factors = (1.0, self.pair.factor)
        measured = [
            _measured(part, own, factor) if part else None
            for part, own, factor in zip((a, b), self.noises, factors, strict=True)
        ]
        ratio = low = high = None
        if a is not None and b is not None and self.pair.factor is not None:
            ratio = _value(b) * self.pair.factor / _value(a)
        if (known := self.difference) is not None:
            width = max(noise.quantile(level, known.dof) * known.error, known.least)
            low, high = math.exp(-width), math.exp(width)
        word, why = self._word(level, ratio), self.why
        if word is Word.SAME and high is not None and high > WIDEST:
            word, why = Word.UNKNOWN, f"its noise hides a change of up to {percent(high - 1)}"
        return Row(
            case.key.check, case.suite, case.benchmark, dict(case.key.keys), series.metric,
            series.unit, series.direction, word, measured[0], measured[1],
            ratio, low, high, self.probability, why,
        )  # fmt: skip

    def _word(self, level: float, ratio: float | None) -> Word:
        if self.pair.a is None:
            return Word.ONLY_B
        if self.pair.b is None:
            return Word.ONLY_A
        if self.probability is None or ratio is None:
            return Word.UNKNOWN
        if self.probability > level or abs(math.log(ratio)) < math.log1p(SMALLEST):
            return Word.SAME
        way = self.pair.a.series.direction
        if way is None:
            return Word.DIFFERS
        return Word.BETTER if (ratio > 1) == (way == "higher") else Word.WORSE


def _noises(a: Part | None, b: Part | None, starts: Starts) -> list[Noise | None]:
    """Return the noise of each side; two sides of one series have one."""
    if a is not None and b is not None and a.series is b.series:
        both = _noise(a.series, [a.samples, b.samples], starts)
        return [both, both]
    return [_noise(part.series, [part.samples], starts) if part else None for part in (a, b)]


def _noise(series: Series, sides: Sequence[Collection[int]], starts: Starts) -> Noise | None:
    if len(series.values) < FEWEST:
        return None
    return noise.learn(np.asarray(series.values), sides, starts(series))


def _unknown(parts: list[Part], noises: list[Noise | None]) -> str:
    """Say why the noise is not known, and when it will be."""
    short = [
        (name, len(part.series.values))
        for name, part, known in zip("AB", parts, noises, strict=True)
        if known is None
    ]
    if len(short) == 2 and parts[0].series is parts[1].series:
        short = [("both", short[0][1])]
    have = ", ".join(f"{name} {'have' if name == 'both' else 'has'} {n}" for name, n in short)
    return f"noise unknown: {have} of about {FEWEST + 1} samples that it takes"


def _value(part: Part) -> float:
    return noise.middle(np.asarray(part.series.values)[part.samples])


def _measured(part: Part, known: Noise | None, factor: float | None) -> Measured:
    newest = part.series.samples[part.samples[-1]]
    nodes = {name for number in part.samples for name in part.series.samples[number].nodes}
    return Measured(
        part.series.case.key.where, _value(part) * (1.0 if factor is None else factor),
        len(part.samples), known.spread if known else None, known.samples if known else 0,
        part.series.unit, newest.session.uuid, tuple(sorted(nodes)), dict(newest.software),
    )  # fmt: skip


def _order(row: Row) -> tuple[object, ...]:
    place = row.a or row.b
    far = -abs(math.log(row.ratio)) if row.ratio and row.word in (Word.WORSE, Word.BETTER) else 0.0
    name = (place.where if place else "", row.check, row.stem, row.size or 0)
    return ([*Word].index(row.word), far, *name)


def _failed(matching: _Matching, side: Side) -> set[str]:
    """Return the cases of A that did not pass in B, with their place."""
    unfit = {
        (where.partition(":")[0], name)
        for session in side.sessions.values()
        for where, name in session.unfit
    }
    lost: set[str] = set()
    for pair in matching.pairs:
        if pair.b is None and pair.a is not None:
            key = pair.a.series.case.key
            system = matching.differs.get("system", (key.system, key.system))[1]
            if (system, key.check) in unfit:
                lost.add(key.check)
    return lost


def _with_failure(row: Row, failed: set[str]) -> Row:
    if row.word is not Word.ONLY_A or row.check not in failed:
        return row
    why = "in B it failed, was skipped, passed only when repeated, or shared the machine"
    return replace(row, why=why)


def _facts(side: Side, matching: _Matching, number: int) -> SideFacts:
    parts = [part for pair in matching.pairs if (part := pair.sides[number]) is not None]
    systems = sorted({part.series.case.key.system for part in parts})
    built = {part.series.samples[index].software for part in parts for index in part.samples}
    return SideFacts(
        side.text,
        side.described,
        tuple(session.uuid for session in side.sessions.values()),
        tuple(systems),
        any(map(is_simulated, systems)),
        tuple(sorted({software_text(one) for one in built} - {""})),
    )


def _notes(rows: Sequence[Row], matching: _Matching) -> list[str]:
    """Return what is to be known before a single ratio is believed."""
    notes = []
    sides = zip(*(pair.sides for pair in matching.pairs), strict=True)
    simulated = [
        {is_simulated(part.series.case.key.system) for part in side if part is not None}
        for side in sides
    ]
    if simulated and simulated[0] != simulated[1] and all(simulated):
        notes.append(
            "one side is simulated and the other is not: their difference says how good the model "
            "is, and nothing of a machine that became worse"
        )
    other = [row for row in rows if row.a and row.b and row.a.nodes != row.b.nodes]
    if other:
        first = other[0]
        assert first.a
        assert first.b
        notes.append(
            f"{plural(len(other), 'metric')} on other nodes: {shortened(first.a.nodes, 3)} in A, "
            f"{shortened(first.b.nodes, 3)} in B, say; what differs may be the nodes"
        )
    if few := [row for row in rows if row.word in TOLD and row.fewest < noise.FEW]:
        notes.append(
            f"{plural(len(few), 'metric')} differ by fewer than {noise.FEW} samples of a side: an "
            f"outlier would look the same; {noise.FEW} runs of each side tell"
        )
    same = [row for row in rows if row.word is Word.SAME and row.high]
    if same:
        widest = sorted(row.high - 1 for row in same if row.high)
        notes.append(
            f"what is the same is so within its noise: a change of less than "
            f"{percent(widest[len(widest) // 2])} (median of these metrics; "
            f"{percent(widest[-1])} of the noisiest) cannot be seen"
        )
    return notes
