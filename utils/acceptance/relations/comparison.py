"""Two sides compared: ratios, their noise, and what of it is more than chance.

Of many metrics some differ by chance. Holm's procedure (Scandinavian Journal of Statistics 6,
1979, 65-70) keeps the probability of one or more false words among all of them at most `CHANCE`,
whatever their dependence: the smallest probabilities p(1) <= p(2) <= ... of m are more than chance
as long as p(k) <= CHANCE / (m - k + 1). With r of them so, each row is judged at the one level
CHANCE / (m - r), and its noise is shown at that level.

Which metric of one side belongs to which of the other is decided by `_differing` and `_paired`.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from acceptance.core import words
from acceptance.core.groups import grouped
from acceptance.core.text import plural, shortened
from acceptance.core.words import Direction, is_simulated
from acceptance.detection.constants import FEWEST, SMALLEST
from acceptance.regressions.history import History, PastSession, Series
from acceptance.relations import noise
from acceptance.relations.noise import Noise, Scatter
from acceptance.relations.sides import Asked, Part, Side, SideFault, find, samples_of

#: What is said of a metric of B, compared with A. It `differs` where nothing tells which way is
#: better. `cannot tell`: it was measured on both sides, and nothing tells how large its noise is,
#: or that is so large that it would hide anything.
Word = Literal["worse", "better", "differs", "same", "cannot tell", "only in A", "only in B"]
WORDS: tuple[Word, ...] = get_args(Word)


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


@dataclass
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
    def stem(self) -> str:
        """Return the name of the metric without its message size."""
        return words.split_metric(self.metric)[0]

    @property
    def size(self) -> int | None:
        """Return the message size in bytes, if it has one."""
        return words.split_metric(self.metric)[1]


@dataclass(frozen=True)
class Comparison:
    """Two sides and their rows; `level` is the chance by which a row is outside of its noise.

    `judged` counts those that are worse, better, the same, or differ.
    `chance` is that of a single false word among all rows. `matched` had to agree, `differs` may.
    `failed` are cases of A that have no result in B because they did not pass there.
    """

    a: Side
    b: Side
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

    @property
    def why_none(self) -> str:
        """Return why nothing was judged; empty: something was."""
        if self.judged:
            return ""
        if any(row.a and row.b for row in self.rows):
            return "of no metric that both have is the noise known, and small enough to tell"
        return "A and B have no metric in common"

    def of(self, word: Word) -> list[Row]:
        """Return the rows of a word."""
        return [row for row in self.rows if row.word == word]


#: What names the place of a result, and what its metric; the latter has to agree always.
PLACES = ("system", "partition", "environment")
METRICS = ("check", "parameters", "metric")
#: The most that the probability of any false word may be.
CHANCE = 0.05
#: Nights of a place for which no time was asked.
NIGHTS = 7
#: The words of what is more than noise.
TOLD: tuple[Word, ...] = ("worse", "better", "differs")
#: A metric whose noise hides a larger ratio than this is not told to be the same.
WIDEST = 1.5
#: Samples of a metric after which its levels changed.
Starts = Callable[[Series], Collection[int]]


def _measured(part: Part | None, known: Noise | None, factor: float | None) -> Measured | None:
    """Return what a part is on its side, in a unit into which `factor` brings its own."""
    if part is None:
        return None
    series, numbers = part
    samples = samples_of([part])
    middle = float(np.median(np.asarray(series.values)[numbers]))
    newest, nodes = samples[-1], {node for sample in samples for node in sample.nodes}
    return Measured(
        series.case.key.where, middle * (1.0 if factor is None else factor),
        len(samples), known.spread if known else None, known.samples if known else 0,
        series.unit, newest.session.uuid, tuple(sorted(nodes)), dict(newest.software),
    )  # fmt: skip


#: A metric of both sides, or of one, and what brings the unit of B to that of A: None where the
#: units do not agree.
_Pair = tuple[Part | None, Part | None, float | None]


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
    side_a, parts_a = find(a, history, nights, system)
    side_b, parts_b = find(b, history, nights, system)
    sides, parts = (side_a, side_b), (parts_a, parts_b)
    _refuse_shared(sides, parts)
    differs = _differing(sides, parts)
    matched = [name for name in PLACES if name not in differs]

    def of_metric(part: Part) -> Hashable:
        key, metric = part[0].case.key, part[0].metric
        return *(getattr(key, name) for name in matched), key.check, key.keys, metric

    keyed = [grouped(side, of_metric) for side in parts]
    found = [
        _row(pair, starts)
        for key in dict.fromkeys([*keyed[0], *keyed[1]])
        for pair in _paired(keyed[0].get(key, []), keyed[1].get(key, []))
    ]
    level = holm([row.probability for row, _ in found if row.probability is not None])
    for row, scatter in found:
        if scatter is not None:
            _judge(row, scatter, level)
    rows = sorted((row for row, _ in found), key=_order)
    of_b = {*side_b.sessions}
    failed = _tell_failed(rows, differs, (one for one in history.sessions if one.uuid in of_b))
    counts = Counter({**dict.fromkeys(WORDS, 0), **Counter(row.word for row in rows)})
    count = sum(counts[word] for word in (*TOLD, "same"))
    return Comparison(
        side_a, side_b, tuple(rows), (*matched, *METRICS), differs, CHANCE, level, count,
        tuple(sorted(failed)), tuple(_notes(rows, sides)), counts,
    )  # fmt: skip


def _refuse_shared(sides: Sequence[Side], parts: Sequence[Sequence[Part]]) -> None:
    known = {id(series): {*numbers} for series, numbers in parts[0]}
    if any(known.get(id(series), set()) & {*numbers} for series, numbers in parts[1]):
        a, b = sides
        raise SideFault(
            f"{a.text} and {b.text} have samples in common, so that they cannot be compared: "
            f"A is {a.described}; B is {b.described}"
        )


def _differing(
    sides: Sequence[Side], parts: Sequence[Sequence[Part]]
) -> dict[str, tuple[str, str]]:
    """Return in which parts of the place the sides differ: name -> (of A, of B).

    One that is the same name on both sides has to agree; where each side has one name, and another
    one, it may differ. Raises SideFault where several names of one side could each belong to
    several of the other.
    """
    differs = {}
    for name in PLACES:
        a, b = (sorted({getattr(series.case.key, name) for series, _ in own}) for own in parts)
        if not a or not b or {*a} & {*b}:
            continue
        if len(a) > 1 or len(b) > 1:
            raise SideFault(
                f"{sides[0].text} and {sides[1].text} have no {name} in common, and it "
                f"is not clear which belong together: A has {shortened(a)}; B has {shortened(b)}; "
                "name one of each (SYSTEM:PARTITION+ENVIRONMENT)"
            )
        differs[name] = (a[0], b[0])
    return differs


def _paired(a: list[Part], b: list[Part]) -> Iterator[_Pair]:
    """Pair series of one metric: of the same unit first, then of units that can be converted."""
    rest = [*b]
    for part in a:
        fits = [
            (factor != 1, number, factor)
            for number, (other, _) in enumerate(rest)
            if (factor := words.factor(other.unit, part[0].unit)) is not None
        ]
        if fits:
            _, number, factor = min(fits)
            yield part, rest.pop(number), factor
        elif len(a) == len(b) == 1:
            yield part, rest.pop(), None
        else:
            yield part, None, 1.0
    for part in rest:
        yield None, part, 1.0


def holm(probabilities: Iterable[float], chance: float = CHANCE) -> float:
    """Return the level at which each probability is judged."""
    ordered = sorted(probabilities)
    over = 0
    while over < len(ordered) and ordered[over] <= chance / (len(ordered) - over):
        over += 1
    return chance / max(len(ordered) - over, 1)


def percent(part: float) -> str:
    """Return a part of 1 in percent, to two digits or to a whole number."""
    return f"{100 * part:.2g} %" if part < 1 else f"{100 * part:,.0f} %"


def _row(pair: _Pair, starts: Starts) -> tuple[Row, Scatter | None]:
    """Return a row that is not judged yet, and its scatter where that can be judged."""
    a, b, factor = pair
    noises = _noises(a, b, starts)
    series = (a or b)[0]  # type: ignore[index]
    case = series.case
    row = Row(
        case.key.check, case.suite, case.benchmark, dict(case.key.keys), series.metric,
        series.unit, series.direction, "cannot tell",
        _measured(a, noises[0], 1.0), _measured(b, noises[1], factor),
    )  # fmt: skip
    if a is None or b is None:
        row.word = "only in B" if a is None else "only in A"
        return row, None
    if factor is None:
        row.why = f"its unit is {a[0].unit or 'none'} in A, {b[0].unit or 'none'} in B"
        return row, None
    assert row.a
    assert row.b
    row.ratio = row.b.value / row.a.value
    first, second = noises
    if a[0].direction != b[0].direction:
        row.why = "which way is better is not the same in A and B"
    elif first is None or second is None:
        row.why = _unknown(a[0], b[0], noises)
    else:
        counts = row.a.samples, row.b.samples
        t, scatter = noise.difference(math.log(row.ratio), counts, (first, second))
        values = [np.asarray(part[0].values)[part[1]] for part in (a, b)]
        by_ranks = noise.ranked(
            values[0], values[1] * factor, max(each.correlation for each in (first, second))
        )
        row.probability = max(noise.two_sided(t, scatter[1]), by_ranks)
        return row, scatter
    return row, None


def _judge(row: Row, scatter: Scatter, level: float) -> None:
    """Say of a row at a level of chance what it is, and what it may be by chance."""
    assert row.ratio is not None
    assert row.probability is not None
    error, dof, least = scatter
    width = max(noise.quantile(level, dof) * error, least)
    row.low, row.high = math.exp(-width), math.exp(width)
    if row.probability > level or abs(math.log(row.ratio)) < math.log1p(SMALLEST):
        row.word = "same"
        if row.high > WIDEST:
            row.word = "cannot tell"
            row.why = f"its noise hides a change of up to {percent(row.high - 1)}"
    elif row.direction is None:
        row.word = "differs"
    else:
        row.word = "better" if (row.ratio > 1) == (row.direction == "higher") else "worse"


def _noises(a: Part | None, b: Part | None, starts: Starts) -> list[Noise | None]:
    """Return the noise of each side; two sides of one series have one."""
    if a is not None and b is not None and a[0] is b[0]:
        return [_learnt(a[0], starts, a[1], b[1])] * 2
    return [_learnt(part[0], starts, part[1]) if part else None for part in (a, b)]


def _learnt(series: Series, starts: Starts, *sides: Collection[int]) -> Noise | None:
    return noise.learn(np.asarray(series.values), sides, starts(series))


def _unknown(a: Series, b: Series, noises: Sequence[Noise | None]) -> str:
    """Say why the noise is not known, and when it will be."""
    counts = [len(series.values) for series in (a, b)]
    if a is b:
        have = f"both have {counts[0]}"
    else:
        three = zip("AB", counts, noises, strict=True)
        have = ", ".join(f"{name} has {count}" for name, count, known in three if known is None)
    return f"noise unknown: {have} of about {FEWEST + 1} samples that it takes"


def _order(row: Row) -> tuple[object, ...]:
    place = row.a or row.b
    far = -abs(math.log(row.ratio)) if row.ratio and row.word in ("worse", "better") else 0.0
    name = (place.where if place else "", row.check, row.stem, row.size or 0)
    return (WORDS.index(row.word), far, *name)


def _tell_failed(
    rows: Iterable[Row], differs: dict[str, tuple[str, str]], b: Iterable[PastSession]
) -> set[str]:
    """Return the cases of A that did not pass in B, and say so in their rows."""
    unfit = {(where.partition(":")[0], name) for session in b for where, name in session.unfit}
    failed = set()
    for row in rows:
        system = row.a.where.partition(":")[0] if row.a else ""
        of_b = differs.get("system", (system, system))[1]
        if row.word == "only in A" and (of_b, row.check) in unfit:
            row.why = (
                "in B it failed, was skipped, passed only when repeated, or shared the machine"
            )
            failed.add(row.check)
    return failed


def _notes(rows: Sequence[Row], sides: Sequence[Side]) -> Iterator[str]:
    """Yield what is to be known before a single ratio is believed."""
    a, b = ({*map(is_simulated, side.systems)} for side in sides)
    if a and b and a != b:
        yield (
            "one side is simulated and the other is not: their difference says how good the model "
            "is, and nothing of a machine that became worse"
        )
    other = [(row.a.nodes, row.b.nodes) for row in rows if row.a and row.b]
    if other := [two for two in other if two[0] != two[1]]:
        of_a, of_b = (shortened(nodes, 3) for nodes in other[0])
        yield (
            f"{plural(len(other), 'metric')} on other nodes: {of_a} in A, {of_b} in B, say; what "
            "differs may be the nodes"
        )
    told = [(row.a, row.b) for row in rows if row.word in TOLD and row.a and row.b]
    if few := [two for two in told if min(side.samples for side in two) < noise.FEW]:
        yield (
            f"{plural(len(few), 'metric')} differ by fewer than {noise.FEW} samples of a side: an "
            f"outlier would look the same; {noise.FEW} runs of each side tell"
        )
    if widest := sorted(row.high - 1 for row in rows if row.word == "same" and row.high):
        yield (
            f"what is the same is so within its noise: a change of less than "
            f"{percent(widest[len(widest) // 2])} (median of these metrics; "
            f"{percent(widest[-1])} of the noisiest) cannot be seen"
        )
