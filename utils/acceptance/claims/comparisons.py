"""What results say of a claim: its pairs, curves or groups of machines, and their figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acceptance.claims import curves, figures, pairs, wording
from acceptance.claims.figures import Figure, Incomparable, Leeway
from acceptance.claims.pairs import Pair, SideResults
from acceptance.claims.results import Places, Value
from acceptance.core.text import plural
from acceptance.references import Claim, Side, Tolerances

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
    drawn = curves.curves(side.measured, claim.along, seconds)
    whole = [curve for curve in drawn if curves.is_whole(claim, curve)]
    within = _leeway(claim, "%", tolerances).within
    judged, faults = [], []
    for curve in whole:
        try:
            judged.append(Judged(*curves.judge(claim, curve, within), points=tuple(curve)))
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
        by = figures.margin(claim.relation, figure, claim.value, leeway)
        points = pair.left.parts + pair.right.parts
        judged.append(Judged(pair.left, pair.right, figure, by, points))
    return judged, faults


def _machines(
    claim: Claim, compared: Sequence[Pair], tolerances: Tolerances
) -> tuple[list[Judged], list[Incomparable]]:
    try:
        groups = curves.machines(compared)
    except Incomparable as err:
        return [], [err]
    within, least = _leeway(claim, "%", tolerances).within, claim.kind.points
    judged = [
        Judged(*curves.spread(group, within), points=tuple(group))
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
        detail = f"no two results lie within {days} days of each other; see --window"
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
    way = figures.better(left.benchmark, left.unit)
    return figures.figure(claim.relation, claim.unit, left.value, right.value, left.unit, way)


def _leeway(claim: Claim, unit: str, tolerances: Tolerances) -> Leeway:
    """Return how far a figure in this unit may be off."""
    bound = claim.kind.tolerance == "bounds"
    if not claim.kind.tolerance or (claim.source == "site" and bound):
        return figures.EXACT
    return Leeway(tolerances.of_claim(claim.relation, unit), points=unit == "%")
