"""Curves: the results of one side along a key, and of several machines beside each other.

The rules are documented in `reference/README.md`, "Kinds of relation".
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from acceptance.claims.figures import Figure, Incomparable, better, gain, times_as_good
from acceptance.claims.pairs import Pair
from acceptance.claims.results import FOLLOWING, Measurements, Value
from acceptance.references import Claim, bounds

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
