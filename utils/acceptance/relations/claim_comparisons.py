"""What results say of a claim: its pairs, curves or groups of machines, and their figures.

A curve is the results of one side along a key, or of several machines beside each other. The rules
are documented in `reference/README.md`, "Kinds of relation".
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from acceptance.core.groups import Item, grouped
from acceptance.core.text import plural
from acceptance.references import PARAMETERS, Claim, Side, Tolerances, bounds, write_parameters
from acceptance.relations import pairs
from acceptance.relations.pairs import (
    FOLLOWING,
    Figure,
    Incomparable,
    Pair,
    Places,
    Result,
    Results,
    Series,
    best,
)

#: Keys that change with the one along which a curve runs.
_WITH = {"np": {"pairs"}, "pairs": {"np"}}
DAY = 86400.0
TOO_FEW = "too few points"
#: Why a side has no value, that which counts first, and in words.
_LACKS = {
    **{reason: reason for reason in ("no result", "only failed cases")},
    "zero": "only values that are not above zero",
}


class Judged(NamedTuple):
    """Two results that were compared, their figure, and by how much it is as claimed."""

    left: Result
    right: Result
    figure: Figure
    margin: float
    points: tuple[Result, ...] = ()


def described(claim: Claim, side: Side) -> str:
    """Return what a side speaks of: partition, benchmark, metric and keys; of a quotient both."""
    if side.over is not None:
        above, below = replace(side, over=None), side.over
        return f"{described(claim, above)} / {described(claim, below)}"
    benchmark, metric, keys = claim.stated(side)
    which = "any partition" if claim.kind.shape == "machines" else "any other partition"
    where = side.fullname if side.partition else f"{which} of {side.system}"
    return " ".join(filter(None, (where, benchmark, metric, write_parameters(keys))))


def curves(series: Iterable[Series], along: str, seconds: float) -> list[list[Result]]:
    """Return the curves along a key, each of one environment, by the values of that key.

    Results are at most `seconds` apart from the newest one. A key that only some points have, such
    as `intranode`, splits no curve. At each point the one with the fewest nodes counts, then what
    is newest; of several environments the one with the most points.
    """
    results = [one.results[0] for one in series if along in one.keys]
    last = max((result.time for result in results), default=0.0)
    recent = [result for result in results if result.time >= last - seconds]
    found: list[list[Result]] = []
    for kind in grouped(recent, lambda result: result.series.kind).values():
        environments = grouped(kind, lambda result: result.series.environment)
        splits = (_split(environments[name], along) for name in sorted(environments))
        found += max(splits, key=lambda split: max(map(len, split)))
    return found


def _split(results: Sequence[Result], along: str) -> list[list[Result]]:
    free = {along, *FOLLOWING, *_WITH.get(along, ())}
    kinds = grouped(results, lambda result: result.series.without(free))
    split = []
    for kind in kinds:
        if not any(kind < other for other in kinds):
            fitting = (result for other in kinds if other <= kind for result in kinds[other])
            points = best(fitting, lambda result: _place(result, along), _rank)
            split.append([points[at] for at in sorted(points)])
    return split


def _rank(result: Result) -> tuple[float, ...]:
    return -int(result.series.keys.get("nodes", "0")), result.time


def _place(result: Result, along: str) -> int:
    return int(result.series.keys[along])


def _is_whole(claim: Claim, curve: Sequence[Result]) -> bool:
    """Tell whether a curve has enough points, and the ends that the claim states of its range."""
    low, high = bounds(claim.stated(claim.left)[2][claim.along]) or (0, 0)
    ends = {low, high if high < float("inf") else low}
    if claim.kind.value == "step":
        ends |= {*claim.value}
    places = {_place(result, claim.along) for result in curve}
    return len(curve) >= claim.kind.points and ends <= places


def _range(ends: tuple[float, ...]) -> str:
    return "..".join(f"{end:g}" for end in ends)


def _level(_: Claim, curve: Sequence[Result], within: float) -> Judged:
    """All lie close to each other: those of a curve, and the quotients of several machines."""
    low, high = (end(curve, key=lambda result: result.value) for end in (min, max))
    apart = 100 * (high.value / low.value - 1)
    return Judged(low, high, (apart, "%"), within - apart, tuple(curve))


def _trend(claim: Claim, curve: Sequence[Result], within: float) -> Judged:
    """The last one lies above the first by more than the leeway, and no step goes back by it."""

    def change(first: Result, second: Result, leeway: float) -> Judged:
        below, above = (first, second) if claim.relation == "grows" else (second, first)
        by = 100 * (above.value / below.value - 1)
        return Judged(first, second, (by, "%"), by + leeway, tuple(curve))

    steps = (change(first, second, within) for first, second in pairwise(curve))
    return min((change(curve[0], curve[-1], -within), *steps), key=lambda judged: judged.margin)


def _peak(claim: Claim, curve: Sequence[Result], _: float) -> Judged:
    """The best one inside the stated place, or anywhere but at the end, beats all others.

    Raises Incomparable where there are not points on both sides of it, or no better direction.
    """
    along = claim.along
    place = claim.value or (0, _place(curve[-1], along) - 1)
    inside = [result for result in curve if place[0] <= _place(result, along) <= place[-1]]
    outside = [result for result in curve if result not in inside]
    if not inside or not outside:
        raise Incomparable(TOO_FEW, f"nothing to compare with at {along} {_range(place)}")
    series = curve[0].series
    best_of = min if pairs.direction(series) == "lower" else max
    left, right = (best_of(part, key=lambda result: result.value) for part in (inside, outside))
    by = pairs.gain(series, left.value, right.value)
    return Judged(left, right, (by, "%"), by, tuple(curve))


def _step(claim: Claim, curve: Sequence[Result], _: float) -> Judged:
    """The change over the stated step, up or down, is a larger factor than all others.

    Raises Incomparable where there are points inside of it.
    """
    jumps = {
        (_place(first, claim.along), _place(second, claim.along)): (
            max(first.value / second.value, second.value / first.value),
            first,
            second,
        )
        for first, second in pairwise(curve)
    }
    jump = jumps.pop((int(claim.value[0]), int(claim.value[1])), None)
    if jump is None:
        raise Incomparable(TOO_FEW, f"there are points inside of {_range(claim.value)}")
    ratio = jump[0] / max(other[0] for other in jumps.values())
    return Judged(jump[1], jump[2], (ratio, "x"), ratio - 1, tuple(curve))


_OF_CURVES: dict[str, Callable[[Claim, Sequence[Result], float], Judged]] = {
    "level": _level,
    "grows": _trend,
    "falls": _trend,
    "peak": _peak,
    "step": _step,
}


def _machines(compared: Iterable[Pair]) -> list[list[Result]]:
    """Return, of each number of processes, the performance of left over that of right everywhere.

    Each list has one result a partition, in the unit `x`. Of a time, performance is the reciprocal.
    Raises Incomparable where neither direction is the better one.
    """
    made: list[tuple[object, Result]] = []
    for pair in compared:
        over, under = (pairs.times_as_good(result.series, result.value) for result in pair)
        result = pairs.in_x(pair, over / under, pair[0].time)
        keys = result.series.keys
        what = (pairs.both(pair, name) for name in ("benchmark", "metric", "unit"))
        made.append(((*what, keys.get("np"), keys.get("placement")), result))
    return [
        [*best((each for _, each in group), lambda each: each.series.partition, _rank).values()]
        for group in grouped(made, lambda each: each[0]).values()
    ]


class Evaluation:
    """A claim with what fits its sides; `seconds` are those that results may lie apart."""

    def __init__(
        self, claim: Claim, places: Places, tolerances: Tolerances, seconds: float
    ) -> None:
        """Raise Incomparable where a side has no value."""
        self.claim, self.tolerances, self.seconds = claim, tolerances, seconds
        #: The keys that a side states for itself.
        self.varied = {*claim.left.keys, *(claim.right.keys if claim.right else ())}
        others: dict[str, Side | None] = {"left": claim.right, "right": claim.left}
        self.sides = {
            name: pairs.side_results(claim, side, others.get(name.split()[0]), places)
            for name, side in claim.named.items()
        }
        lacks = {name: side.lack for name, side in self.sides.items() if side.lack}
        if lacks:
            raise Incomparable(
                min(lacks.values(), key=[*_LACKS].index),
                "; ".join(
                    f"{name}: {_LACKS[lack]} of {described(claim, claim.named[name])}"
                    for name, lack in lacks.items()
                ),
            )

    def judge(self) -> tuple[list[Judged], list[str]]:
        """Return what was compared, and what a reader must know of what was not.

        Raises Incomparable where nothing can be compared.
        """
        if self.claim.kind.shape == "curve":
            return self._curves()
        machines = self.claim.kind.shape == "machines"
        left, right = self._quotients("left"), self._quotients("right")
        compared = self._matched(left, right, self.varied, same_place=machines)
        notes = []
        if max(left.sessions, right.sessions) > 1:
            notes.append(
                f"{left.sessions} sessions match on the left, {right.sessions} on the right: the "
                f"newest passing pair within {self.seconds / DAY:g} days was taken"
            )
        used = {result.series.environment for pair in compared for result in pair}
        measured = {series.environment for side in (left, right) for series in side.series}
        if others := sorted(measured - used):
            notes.append(f"also measured with {', '.join(others)}")
        if machines:
            return self._groups(compared), notes
        judged, left_out = _judged("pair", compared, self._pair)
        return judged, notes + left_out

    def _curves(self) -> tuple[list[Judged], list[str]]:
        """Judge each curve that is whole; raises Incomparable where none is."""
        claim, along = self.claim, self.claim.along
        drawn = curves(self.sides["left"].series, along, self.seconds)
        whole = [curve for curve in drawn if _is_whole(claim, curve)]
        if not whole:
            places = sorted({_place(result, along) for curve in drawn for result in curve})
            raise Incomparable(
                TOO_FEW,
                f"left: {described(claim, claim.left)}: measured at {along} "
                f"{', '.join(map(str, places)) or 'nowhere'}; at least {claim.kind.points} points "
                "and the stated ends are needed",
            )
        within, judge = self._leeway("%"), _OF_CURVES[claim.relation]
        judged, left_out = _judged("curve", whole, lambda curve: judge(claim, curve, within))
        short = len(drawn) - len(whole)
        notes = [f"{plural(short, 'curve')} left out: {TOO_FEW}"] if short else []
        return judged, notes + left_out

    def _pair(self, pair: Pair) -> Judged:
        claim, (left, right) = self.claim, pair
        units = pairs.both(pair, "unit")
        if units[0] != units[1]:
            said = f"left is in {units[0]!r}, right in {units[1]!r}"
            raise Incomparable("different units", said)
        figure = pairs.figure(claim, left.series, left.value, right.value)
        margin = pairs.margin(claim.relation, figure, claim.value, self._leeway(figure[1]))
        return Judged(left, right, figure, margin, left.series.parts + right.series.parts)

    def _groups(self, compared: Sequence[Pair]) -> list[Judged]:
        groups, least = _machines(compared), self.claim.kind.points
        within = self._leeway("%")
        judged = [_level(self.claim, group, within) for group in groups if len(group) >= least]
        if not judged:
            most = max(map(len, groups))
            few = f"at most {most} partitions have both results; {least} are needed"
            raise Incomparable(TOO_FEW, few)
        return judged

    def _quotients(self, name: str) -> Results:
        """Return the results of a side, or their quotients where it has a line."""
        side, above, below = self.claim.named[name], self.sides[name], f"{name} below"
        if side.over is None:
            return above
        matched = self._matched(above, self.sides[below], {*side.keys, *side.over.keys})
        return Results([*map(pairs.quotient, matched)])

    def _matched(
        self, left: Results, right: Results, varied: set[str], same_place: bool = False
    ) -> list[Pair]:
        """Return the pairs that are compared; of the same partition where that is asked for."""
        series = [
            two
            for two in pairs.matching(left.series, right.series, varied)
            if not same_place or two[0].partition == two[1].partition
        ]
        if not series:
            raise Incomparable("no common keys", _disagreement(left, right, varied))
        near = [pair for two in series if (pair := pairs.newest_pair(*two, self.seconds))]
        if not near:
            days = f"{self.seconds / DAY:g}"
            detail = f"no two results lie within {days} days of each other"
            raise Incomparable("outside the window", detail)
        return pairs.choose(near, self.seconds, varied)

    def _leeway(self, unit: str) -> float:
        """Return how far a figure in this unit may be off: what a site wrote means what it says."""
        kind = self.claim.kind.tolerance
        if not kind or (self.claim.source == "site" and kind == "bounds"):
            return 0.0
        return self.tolerances.of_claim(self.claim.relation, unit)

    def about(self, one: Judged) -> Iterator[str]:
        """Yield what a reader must know of the two results that decide."""
        newer = sum(
            time >= (one.left if name.startswith("left") else one.right).time
            for name, side in self.sides.items()
            for time, _ in side.failed
        )
        if newer:
            yield f"{plural(newer, 'failed case')} of these or later sessions"
        if zeros := sum(side.impossible for side in self.sides.values()):
            yield f"{plural(zeros, 'value')} not above zero left out"
        if self.claim.kind.shape == "curve":
            along, unit = self.claim.along, one.points[0].series.unit
            places = ", ".join(result.series.keys[along] for result in one.points)
            values = ", ".join(f"{result.value:.4g}" for result in one.points)
            yield f"{along} {places}: {values} {unit}"
        elif self.claim.kind.shape == "machines":
            yield ", ".join(
                sorted(f"{each.series.partition} {each.value:.4g}" for each in one.points)
            )
        else:
            pair = one.left, one.right
            for parts in filter(None, pairs.both(pair, "parts")):
                yield " / ".join(
                    f"{part.series.partition} {part.value:.4g} {part.series.unit}" for part in parts
                )
            left, right = pairs.both(pair, "environment")
            if left != right and "environment" not in self.varied:
                yield f"environments {left} against {right}"
            left, right = pairs.both(pair, "keys")
            for key in pairs.differing(pair, self.varied):
                yield f"{key} {left.get(key, '?')} against {right.get(key, '?')}"


def _disagreement(left: Results, right: Results, varied: Collection[str]) -> str:
    """Name the keys in which the results of the two sides never agree."""
    differ = []
    for key in [key for key in PARAMETERS if key not in (*varied, *FOLLOWING)]:
        first, second = (
            sorted(
                {series.keys[key] for series in side.series if key in series.keys},
                key=lambda text: (len(text), text),
            )
            for side in (left, right)
        )
        if first and second and {*first}.isdisjoint(second):
            differ.append(f"{key} ({','.join(first)} against {','.join(second)})")
    what = ", ".join(differ) or "all of their keys at once"
    return f"no two results of the sides agree in {what}"


def _judged(
    what: str, compared: Iterable[Item], judge: Callable[[Item], Judged]
) -> tuple[list[Judged], list[str]]:
    """Judge each curve or pair of which that can be, and count the others.

    Raises Incomparable where it can be of none.
    """
    judged, faults = [], []
    for each in compared:
        try:
            judged.append(judge(each))
        except Incomparable as err:
            faults.append(err)
    if not judged:
        raise faults[0]
    return judged, [f"{plural(len(faults), what)} left out: {faults[0].reason}"] if faults else []
