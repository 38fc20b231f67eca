"""Which metric of one side belongs to which of the other, and what may differ between them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from acceptance.comparison.grammar import SideFault
from acceptance.comparison.sides import Side
from acceptance.core import units
from acceptance.core.text import shortened
from acceptance.regressions.history import CaseKey, History, Series

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
class Matching:
    """The pairs of two sides, what had to agree, and what differs: name -> (of A, of B)."""

    pairs: list[Pair]
    matched: tuple[str, ...]
    differs: dict[str, tuple[str, str]]


def match(history: History, a: Side, b: Side) -> Matching:
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
    return Matching(pairs, (*matched, *METRICS), differs)


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
            if (factor := units.factor(other.series.unit, part.series.unit)) is not None
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
