"""What results say of a claim: its pairs, curves or groups of machines, and their figures.

A curve is the results of one side along a key, or of several machines beside each other. The rules
are documented in `reference/README.md`, "Kinds of relation".
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from acceptance.core.text import plural
from acceptance.references import Claim, Side, Tolerances, bounds
from acceptance.relations import claim_text as wording
from acceptance.relations import pairs
from acceptance.relations.pairs import (
    Figure,
    Incomparable,
    Leeway,
    Pair,
    SideResults,
    better,
    gain,
    times_as_good,
)
from acceptance.relations.results import FOLLOWING, Measurements, Places, Value

#: Two results of a curve that decide, their figure, and by how much it is as claimed.
Found = tuple[Value, Value, Figure, float]

#: Keys that change with the one along which a curve runs.
_WITH = {"np": {"pairs"}, "pairs": {"np"}}


def curves(series: Iterable[Measurements], along: str, seconds: float) -> list[list[Value]]:
    """Return the curves along a key, each of one environment, by the values of that key.

    Results are at most `seconds` apart from the newest one. A key that only some points have, such
    as `intranode`, splits no curve. At each point the one with the fewest nodes counts, then what
    is newest; of several environments the one with the most points.
    """
    values = [one.at(0) for one in series if along in one.keys]
    last = max((value.time for value in values), default=0.0)
    groups: dict[tuple[str, ...], dict[str, list[Value]]] = {}
    for value in values:
        if value.time >= last - seconds:
            what = value.partition, value.benchmark, value.stem, value.unit
            groups.setdefault(what, {}).setdefault(value.environment, []).append(value)
    return [
        curve
        for environments in groups.values()
        for curve in max(
            (_split(environments[name], along) for name in sorted(environments)),
            key=lambda split: max(map(len, split)),
        )
    ]


def _split(values: Sequence[Value], along: str) -> list[list[Value]]:
    free = {along, *FOLLOWING, *_WITH.get(along, ())}
    kinds: dict[frozenset[tuple[str, str]], list[Value]] = {}
    for value in values:
        kind = frozenset(item for item in value.keys.items() if item[0] not in free)
        kinds.setdefault(kind, []).append(value)
    split = []
    for kind in kinds:
        if any(kind < other for other in kinds):
            continue
        points: dict[int, Value] = {}
        for value in (value for other in kinds if other <= kind for value in kinds[other]):
            at = int(value.keys[along])
            if at not in points or _rank(value) > _rank(points[at]):
                points[at] = value
        split.append([points[at] for at in sorted(points)])
    return split


def _rank(value: Value) -> tuple[float, ...]:
    return -int(value.keys.get("nodes", "0")), value.time


def is_whole(claim: Claim, curve: Sequence[Value]) -> bool:
    """Tell whether a curve has enough points, and the ends that the claim states of its range."""
    low, high = bounds(claim.stated(claim.left)[2][claim.along]) or (0, 0)
    places = [_place(value, claim.along) for value in curve]
    ends = {low, high if high < float("inf") else low}
    if claim.kind.value == "step":
        ends |= {*claim.value}
    return len(curve) >= claim.kind.points and ends <= {*places}


def judge(claim: Claim, curve: Sequence[Value], within: float) -> Found:
    """Return what decides of a curve whether it is as claimed.

    Raises Incomparable where the claim needs a direction that these results do not have, or points
    on both sides of a place.
    """
    return _JUDGES[claim.relation](claim, curve, within)


def _range(ends: tuple[float, ...]) -> str:
    return "..".join(f"{end:g}" for end in ends)


def _place(value: Value, along: str) -> int:
    return int(value.keys[along])


def _level(_: Claim, curve: Sequence[Value], within: float) -> Found:
    low, high = (end(curve, key=lambda value: value.value) for end in (min, max))
    apart = 100 * (high.value / low.value - 1)
    return low, high, Figure(apart, "%"), within - apart


def _trend(claim: Claim, curve: Sequence[Value], within: float) -> Found:
    """The last one lies above the first by more than the leeway, and no step goes back by it."""

    def change(first: Value, second: Value) -> float:
        if claim.relation == "grows":
            return 100 * (second.value / first.value - 1)
        return 100 * (first.value / second.value - 1)

    whole = change(curve[0], curve[-1])
    found = [(curve[0], curve[-1], Figure(whole, "%"), whole - within)]
    for first, second in pairwise(curve):
        by = change(first, second)
        found.append((first, second, Figure(by, "%"), by + within))
    return min(found, key=lambda one: one[3])


def _peak(claim: Claim, curve: Sequence[Value], _: float) -> Found:
    """The best one inside the stated place, or anywhere but at the end, beats all others."""
    along = claim.along
    place = claim.value or (0, _place(curve[-1], along) - 1)
    low, high = place[0], place[-1]
    inside = [value for value in curve if low <= _place(value, along) <= high]
    outside = [value for value in curve if value not in inside]
    if not inside or not outside:
        raise Incomparable("too few points", f"nothing to compare with at {along} {_range(place)}")
    way = better(curve[0].benchmark, curve[0].unit)
    if way not in ("lower", "higher"):
        raise Incomparable("no direction", f"no result in {curve[0].unit!r} is better than another")
    best = min if way == "lower" else max
    left, right = (best(values, key=lambda value: value.value) for values in (inside, outside))
    by = gain(left.value, right.value, way)
    return left, right, Figure(by, "%"), by


def _step(claim: Claim, curve: Sequence[Value], _: float) -> Found:
    """The change over the stated step, up or down, is a larger factor than all others."""
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
        raise Incomparable("too few points", f"there are points inside of {_range(claim.value)}")
    ratio = jump[0] / max(other[0] for other in jumps.values())
    return jump[1], jump[2], Figure(ratio, "x"), ratio - 1


_JUDGES: dict[str, Callable[[Claim, Sequence[Value], float], Found]] = {
    "level": _level,
    "grows": _trend,
    "falls": _trend,
    "peak": _peak,
    "step": _step,
}


def machines(pairs: Iterable[Pair]) -> list[list[Value]]:
    """Return, of each number of processes, the performance of left over that of right everywhere.

    Each list has one value a partition, in the unit `x`. Of a time, performance is the reciprocal.
    Raises Incomparable where neither direction is the better one.
    """
    groups: dict[tuple[object, ...], dict[str, Value]] = {}
    for pair in pairs:
        value, other = pair.left, pair.right
        over = times_as_good(value.value, 1, value.unit, better(value.benchmark, value.unit))
        under = times_as_good(other.value, 1, other.unit, better(other.benchmark, other.unit))
        keys = {**other.keys, **value.keys}
        one = replace(value, keys=keys, unit="x", value=over / under)
        what = (
            value.benchmark,
            value.metric,
            value.unit,
            other.benchmark,
            other.metric,
            other.unit,
        )
        group = groups.setdefault((*what, keys.get("np"), keys.get("placement")), {})
        if value.partition not in group or _rank(one) > _rank(group[value.partition]):
            group[value.partition] = one
    return [[*group.values()] for group in groups.values()]


def spread(group: Sequence[Value], within: float) -> Found:
    """Return how far the quotients of several machines lie apart."""
    low, high = (end(group, key=lambda value: value.value) for end in (min, max))
    apart = 100 * (high.value / low.value - 1)
    return low, high, Figure(apart, "%"), within - apart


DAY = 86400.0
TOO_FEW = "too few points"


class Unmeasured(Exception):
    """Nothing can be compared: why, in two or three words and in full."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(detail)


@dataclass(frozen=True)
class Judged:
    """Two results that were compared, their figure, and by how much it is as claimed."""

    left: Value
    right: Value
    figure: Figure
    margin: float
    points: tuple[Value, ...] = ()


def sides_of(claim: Claim, places: Places) -> dict[str, SideResults]:
    """Return what fits each side of a claim; raise Unmeasured where one has no value."""
    others: dict[str, Side | None] = {"left": claim.right, "right": claim.left}
    sides = {
        name: pairs.side_results(claim, side, others.get(name.split()[0]), places)
        for name, side in claim.named.items()
    }
    lacks = {name: _lack(results) for name, results in sides.items()}
    for reason in ("no result", "only failed cases", "zero"):
        if reason in lacks.values():
            raise Unmeasured(reason, wording.missing(claim, lacks))
    return sides


def along_a_key(
    claim: Claim, side: SideResults, tolerances: Tolerances, seconds: float
) -> tuple[list[Judged], list[str]]:
    """Return what decides of each curve, and what a reader must know of those that were left out.

    Raises Unmeasured where no curve is whole.
    """
    drawn = curves(side.measured, claim.along, seconds)
    whole = [curve for curve in drawn if is_whole(claim, curve)]
    within = _leeway(claim, "%", tolerances).within
    judged, faults = [], []
    for curve in whole:
        try:
            judged.append(Judged(*judge(claim, curve, within), points=tuple(curve)))
        except Incomparable as err:
            faults.append(err)
    if not whole:
        places = sorted({int(value.keys[claim.along]) for curve in drawn for value in curve})
        raise Unmeasured(
            TOO_FEW,
            f"left: {wording.described(claim, claim.left)}: measured at {claim.along} "
            f"{', '.join(map(str, places)) or 'nowhere'}; at least {claim.kind.points} points and "
            "the stated ends are needed",
        )
    short = len(drawn) - len(whole)
    notes = [f"{plural(short, 'curve')} left out: {TOO_FEW}"] if short else []
    return _unless_none(judged, faults), notes + _left_out("curve", faults)


def of_two_sides(
    claim: Claim, sides: Mapping[str, SideResults], tolerances: Tolerances, seconds: float
) -> tuple[list[Judged], list[str]]:
    """Return what was compared, and what a reader must know of what was not.

    Raises Unmeasured where nothing can be compared.
    """
    left, right = (_quotients(claim, name, sides, seconds) for name in ("left", "right"))
    machines = claim.kind.shape == "machines"
    compared = _matched(left, right, varied_keys(claim), machines, seconds)
    judged, faults = (_machines if machines else _pairs)(claim, compared, tolerances)
    notes = list(wording.several(left, right, compared, seconds / DAY))
    return _unless_none(judged, faults), notes + _left_out("pair", faults)


def _pairs(
    claim: Claim, compared: Sequence[Pair], tolerances: Tolerances
) -> tuple[list[Judged], list[Incomparable]]:
    judged, faults = [], []
    for pair in compared:
        try:
            figure = _figure(claim, pair)
        except Incomparable as err:
            faults.append(err)
            continue
        leeway = _leeway(claim, figure.unit, tolerances)
        by = pairs.margin(claim.relation, figure, claim.value, leeway)
        points = pair.left.parts + pair.right.parts
        judged.append(Judged(pair.left, pair.right, figure, by, points))
    return judged, faults


def _machines(
    claim: Claim, compared: Sequence[Pair], tolerances: Tolerances
) -> tuple[list[Judged], list[Incomparable]]:
    try:
        groups = machines(compared)
    except Incomparable as err:
        return [], [err]
    within, least = _leeway(claim, "%", tolerances).within, claim.kind.points
    judged = [
        Judged(*spread(group, within), points=tuple(group))
        for group in groups
        if len(group) >= least
    ]
    most = max(map(len, groups))
    few = Incomparable(TOO_FEW, f"at most {most} partitions have both results; {least} are needed")
    return judged, [] if judged else [few]


def _unless_none(judged: list[Judged], faults: Sequence[Incomparable]) -> list[Judged]:
    if not judged:
        raise Unmeasured(faults[0].kind, str(faults[0]))
    return judged


def _left_out(what: str, faults: Sequence[Incomparable]) -> list[str]:
    return [f"{plural(len(faults), what)} left out: {faults[0].kind}"] if faults else []


def _quotients(
    claim: Claim, name: str, sides: Mapping[str, SideResults], seconds: float
) -> SideResults:
    """Return the results of a side, or their quotients where it has a line."""
    side, above, below = claim.named[name], sides[name], sides.get(f"{name} below")
    if below is None or side.over is None:
        return above
    varied = {*side.keys, *side.over.keys}
    try:
        series = [pairs.quotient(pair) for pair in _matched(above, below, varied, False, seconds)]
    except Incomparable as err:
        raise Unmeasured(err.kind, str(err)) from None
    return SideResults(series, above.failed + below.failed)


def _matched(
    left: SideResults, right: SideResults, varied: set[str], same_place: bool, seconds: float
) -> list[Pair]:
    """Return the pairs that are compared; of the same partition where that is asked for."""
    series = [
        two
        for two in pairs.matching(left.measured, right.measured, varied)
        if not same_place or two[0].partition == two[1].partition
    ]
    if not series:
        raise Unmeasured("no common keys", wording.disagreement(left, right, varied))
    near = [pair for two in series if (pair := pairs.newest_pair(*two, seconds)) is not None]
    if not near:
        days = f"{seconds / DAY:g}"
        detail = f"no two results lie within {days} days of each other"
        raise Unmeasured("outside the window", detail)
    return pairs.choose(near, seconds, varied)


def varied_keys(claim: Claim) -> set[str]:
    """Return the keys that a side states for itself."""
    return {*claim.left.keys, *(claim.right.keys if claim.right else ())}


def _lack(results: SideResults) -> str:
    """Return why a side has no value; empty where it has one."""
    if results.measured:
        return ""
    if results.impossible:
        return "zero"
    return "only failed cases" if results.failed else "no result"


def _figure(claim: Claim, pair: Pair) -> Figure:
    left, right = pair.left, pair.right
    if left.unit != right.unit:
        raise Incomparable("different units", f"left is in {left.unit!r}, right in {right.unit!r}")
    way = pairs.better(left.benchmark, left.unit)
    return pairs.figure(claim.relation, claim.unit, left.value, right.value, left.unit, way)


def _leeway(claim: Claim, unit: str, tolerances: Tolerances) -> Leeway:
    """Return how far a figure in this unit may be off."""
    bound = claim.kind.tolerance == "bounds"
    if not claim.kind.tolerance or (claim.source == "site" and bound):
        return pairs.EXACT
    return Leeway(tolerances.of_claim(claim.relation, unit), points=unit == "%")
