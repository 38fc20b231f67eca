"""Claims: does a relation that a paper, or a site, states between two results hold here?

How a claim is evaluated is documented in `reference/README.md`; `acceptance.claims.pairs` says
which results are compared, `acceptance.claims.figures` what of them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from acceptance.claims import figures, pairs
from acceptance.claims.figures import Figure, Incomparable, Leeway
from acceptance.claims.pairs import Pair, SideResults
from acceptance.claims.results import Places, Value, gather
from acceptance.references import (
    PARAMETERS,
    Claim,
    ReferenceFault,
    Side,
    Tolerances,
    write_parameters,
)
from acceptance.rfm import Session

#: Days that the two results of a pair may lie apart.
WINDOW = 30.0
_DAY = 86400.0

HOLDS, FAILS, NOT_MEASURED = "holds", "fails", "not measured"

#: Relations that a site's claim, a contract say, means to the last digit.
EXACT = (*figures.BOUNDS, "in")


@dataclass(frozen=True)
class ClaimResult:
    """Whether a claim holds.

    `left`, `right` and `ours`, the figure that they give, are those of the pair that decides;
    `held` of `compared` pairs are as claimed. `reason` says in two or three words why nothing was
    compared, `detail` in full.
    """

    claim: Claim
    state: str
    left: Value | None = None
    right: Value | None = None
    ours: Figure | None = None
    held: int = 0
    compared: int = 0
    reason: str = ""
    detail: str = ""
    note: str = ""

    @property
    def fails_expected(self) -> bool:
        """Tell whether this is a failure of a claim that the system must fulfil."""
        return self.claim.expected and self.state == FAILS


def check_partitions(claims: Iterable[Claim], known: Collection[str]) -> None:
    """Raise ReferenceFault, with file and line, for a claim of a partition that nobody knows.

    `known` are full names, `system:partition`. A side without a partition needs a known system.
    """
    systems = {name.partition(":")[0] for name in known}
    for claim in claims:
        for side in claim.sides:
            if side.fullname in known or (not side.partition and side.system in systems):
                continue
            raise ReferenceFault(
                f"there is no partition {side.fullname!r}; known: {', '.join(sorted(known))}",
                where=str(claim.path),
                number=claim.line,
            )


def evaluate(
    claims: Sequence[Claim],
    sessions: Iterable[Session],
    tolerances: Tolerances,
    window: float = WINDOW,
) -> list[ClaimResult]:
    """Evaluate claims on what was measured; the results are in the order of the claims.

    `window` is in days. Each session is looked at once; cases that failed, and fixtures, give no
    value. Raises ReferenceFault when nothing says how far the figure of a claim may be off.
    """
    places = gather(claims, sessions)
    return [_evaluate(claim, places, tolerances, window) for claim in claims]


def _evaluate(claim: Claim, places: Places, tolerances: Tolerances, window: float) -> ClaimResult:
    left = pairs.side_results(claim, claim.left, claim.right, places)
    right = pairs.side_results(claim, claim.right, claim.left, places)
    lacks = {name: _lack(results) for name, results in (("left", left), ("right", right))}
    for reason in ("no result", "only failed cases", "zero"):
        if reason in lacks.values():
            return _unmeasured(claim, reason, _missing(claim, lacks))
    varied = {*claim.left.keys, *claim.right.keys}
    series = list(pairs.matching(left.measured, right.measured, varied))
    if not series:
        return _unmeasured(claim, "no common keys", _disagreement(left, right, varied))
    seconds = window * _DAY
    near = [pair for two in series if (pair := pairs.newest_pair(*two, seconds)) is not None]
    if not near:
        detail = f"no two results lie within {window:g} days of each other; see --window"
        return _unmeasured(claim, "outside the window", detail)
    compared = pairs.choose(near, seconds, varied)
    computed, faults = [], []
    for pair in compared:
        try:
            computed.append((pair, _figure(claim, pair)))
        except Incomparable as err:
            faults.append(err)
    if not computed:
        return _unmeasured(claim, faults[0].kind, str(faults[0]))

    pair, result = _judge(claim, computed, tolerances)
    notes = [
        *_several(left, right, compared, window),
        *_left_out(left, right, pair),
        *([f"{len(faults)} pairs left out: {faults[0].kind}"] if faults else []),
        *_differing(pair, varied),
    ]
    return replace(result, note="; ".join(notes))


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


def _judge(
    claim: Claim, computed: Sequence[tuple[Pair, Figure]], tolerances: Tolerances
) -> tuple[Pair, ClaimResult]:
    def compared(figure: Figure) -> tuple[str, float, tuple[float, ...], Leeway]:
        return claim.relation, figure.value, claim.value, _leeway(claim, figure, tolerances)

    ordered = sorted(computed, key=lambda both: figures.margin(*compared(both[1])))
    held = sum(figures.holds(*compared(figure)) for _, figure in computed)
    pair, figure = ordered[figures.deciding(claim.relation, len(computed))]
    state = HOLDS if figures.holds(*compared(figure)) else FAILS
    return pair, ClaimResult(claim, state, pair.left, pair.right, figure, held, len(computed))


def _leeway(claim: Claim, figure: Figure, tolerances: Tolerances) -> Leeway:
    if claim.relation == "better" or (claim.source == "site" and claim.relation in EXACT):
        return figures.EXACT
    return Leeway(tolerances.of_claim(claim.relation, figure.unit), points=figure.unit == "%")


def _unmeasured(claim: Claim, reason: str, detail: str) -> ClaimResult:
    return ClaimResult(claim, NOT_MEASURED, reason=reason, detail=detail)


def _missing(claim: Claim, lacks: dict[str, str]) -> str:
    """Say of each side that has no value what it lacks."""
    return "; ".join(
        f"{name}: {'only values that are not above zero' if lack == 'zero' else lack} of "
        f"{described(claim, getattr(claim, name))}"
        for name, lack in lacks.items()
        if lack
    )


def described(claim: Claim, side: Side) -> str:
    """Return what a side speaks of: partition, benchmark, metric and keys."""
    benchmark, metric, keys = claim.stated(side)
    where = side.fullname if side.partition else f"any other partition of {side.system}"
    return " ".join(filter(None, (where, benchmark, metric, write_parameters(keys))))


def _disagreement(left: SideResults, right: SideResults, varied: Collection[str]) -> str:
    """Name the keys in which the results of the two sides never agree."""
    differ = []
    for key in PARAMETERS:
        if key in varied or key in pairs.FOLLOWING:
            continue
        values = [
            {series.keys[key] for series in side.measured if key in series.keys}
            for side in (left, right)
        ]
        if all(values) and not values[0] & values[1]:
            texts = [
                ",".join(sorted(words, key=lambda text: (len(text), text))) for words in values
            ]
            differ.append(f"{key} ({texts[0]} against {texts[1]})")
    what = ", ".join(differ) or "all of their keys at once"
    return f"no two results of the sides agree in {what}"


# What a reader of a result must know.


def _several(
    left: SideResults, right: SideResults, compared: Sequence[Pair], window: float
) -> Iterator[str]:
    if max(left.sessions, right.sessions) > 1:
        yield (
            f"{left.sessions} sessions match on the left, {right.sessions} on the right: the "
            f"newest passing pair within {window:g} days was taken"
        )
    used = {value.environment for pair in compared for value in (pair.left, pair.right)}
    measured = {series.environment for side in (left, right) for series in side.measured}
    if others := sorted(measured - used):
        yield f"also measured with {', '.join(others)}"


def _left_out(left: SideResults, right: SideResults, pair: Pair) -> Iterator[str]:
    newer = sum(
        time >= value.time
        for side, value in ((left, pair.left), (right, pair.right))
        for time in side.failed
    )
    if newer:
        yield f"{newer} failed {'case' if newer == 1 else 'cases'} of these or later sessions"
    if zeros := left.impossible + right.impossible:
        yield f"{zeros} {'value' if zeros == 1 else 'values'} not above zero left out"


def _differing(pair: Pair, varied: Collection[str]) -> Iterator[str]:
    """Say in what the two results differ that the claim does not speak of."""
    if pair.left.environment != pair.right.environment and "environment" not in varied:
        yield f"environments {pair.left.environment} against {pair.right.environment}"
    for key in pair.differing(varied):
        sides = [value.keys.get(key, "?") for value in (pair.left, pair.right)]
        yield f"{key} {sides[0]} against {sides[1]}"
