"""Claims: does a relation that a paper, or a site, states between two results hold here?

How a claim is evaluated is documented in `reference/README.md`; `acceptance.claims.pairs` says
which results are compared, `acceptance.claims.figures` what of them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from acceptance.claims import figures as relations
from acceptance.claims import pairs as pairing
from acceptance.claims.figures import Figure, Incomparable, Leeway
from acceptance.claims.pairs import Found, Pair, Places, Value
from acceptance.references import (
    PARAMETERS,
    Claim,
    ReferenceFault,
    Side,
    Tolerances,
    write_parameters,
)
from acceptance.rfm.database import Session

#: Days that the two results of a pair may lie apart.
WINDOW = 30.0
_DAY = 86400.0

HOLDS, FAILS, NOT_MEASURED = "holds", "fails", "not measured"

#: Relations that a site's claim, a contract say, means to the last digit.
EXACT = (*relations.BOUNDS, "in")


@dataclass(frozen=True)
class Outcome:
    """What became of a claim.

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
        for side in (claim.left, claim.right):
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
) -> list[Outcome]:
    """Evaluate claims on what was measured; the outcomes are in the order of the claims.

    `window` is in days. Each session is looked at once; cases that failed, and fixtures, give no
    value. Raises ReferenceFault when nothing says how far the figure of a claim may be off.
    """
    places = pairing.gather(claims, sessions)
    return [_evaluate(claim, places, tolerances, window) for claim in claims]


def _evaluate(claim: Claim, places: Places, tolerances: Tolerances, window: float) -> Outcome:
    left = pairing.fitting(claim, claim.left, claim.right, places)
    right = pairing.fitting(claim, claim.right, claim.left, places)
    lacks = {name: _lack(found) for name, found in (("left", left), ("right", right))}
    for reason in ("no result", "only failed cases", "zero"):
        if reason in lacks.values():
            return _unmeasured(claim, reason, _missing(claim, lacks))
    own = {*claim.left.keys, *claim.right.keys}
    series = list(pairing.agreeing(left.measured, right.measured, own))
    if not series:
        return _unmeasured(claim, "no common keys", _disagreement(left, right, own))
    near = [pair for two in series if (pair := pairing.newest(*two, window * _DAY)) is not None]
    if not near:
        detail = f"no two results lie within {window:g} days of each other; see --window"
        return _unmeasured(claim, "outside the window", detail)
    pairs = pairing.chosen(near, window * _DAY, own)
    figures, troubles = [], []
    for pair in pairs:
        try:
            figures.append((pair, _figure(claim, pair)))
        except Incomparable as err:
            troubles.append(err)
    if not figures:
        return _unmeasured(claim, troubles[0].kind, str(troubles[0]))

    pair, outcome = _judge(claim, figures, tolerances)
    said = [
        *_several(left, right, pairs, window),
        *_left_out(left, right, pair),
        *([f"{len(troubles)} pairs left out: {troubles[0].kind}"] if troubles else []),
        *_differing(pair, own),
    ]
    return Outcome(**{**vars(outcome), "note": "; ".join(said)})


def _lack(found: Found) -> str:
    """Return why a side has no value; empty where it has one."""
    if found.measured:
        return ""
    if found.impossible:
        return "zero"
    return "only failed cases" if found.failed else "no result"


def _figure(claim: Claim, pair: Pair) -> Figure:
    left, right = pair.left, pair.right
    if left.unit != right.unit:
        raise Incomparable("different units", f"left is in {left.unit!r}, right in {right.unit!r}")
    way = relations.better(left.benchmark, left.unit)
    return relations.figure(claim.relation, claim.unit, left.value, right.value, left.unit, way)


def _judge(
    claim: Claim, pairs: Sequence[tuple[Pair, Figure]], tolerances: Tolerances
) -> tuple[Pair, Outcome]:
    def against(found: Figure) -> tuple[str, float, tuple[float, ...], Leeway]:
        return claim.relation, found.value, claim.value, _leeway(claim, found, tolerances)

    ordered = sorted(pairs, key=lambda both: relations.margin(*against(both[1])))
    held = sum(relations.holds(*against(found)) for _, found in pairs)
    pair, found = ordered[relations.deciding(claim.relation, len(pairs))]
    state = HOLDS if relations.holds(*against(found)) else FAILS
    return pair, Outcome(claim, state, pair.left, pair.right, found, held, len(pairs))


def _leeway(claim: Claim, found: Figure, tolerances: Tolerances) -> Leeway:
    if claim.relation == "better" or (claim.source == "site" and claim.relation in EXACT):
        return relations.EXACT
    return Leeway(tolerances.of_claim(claim.relation, found.unit), points=found.unit == "%")


def _unmeasured(claim: Claim, reason: str, detail: str) -> Outcome:
    return Outcome(claim, NOT_MEASURED, reason=reason, detail=detail)


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
    keys = {**claim.parameters, **side.keys}
    benchmark = keys.pop("benchmark", claim.benchmark)
    metric = keys.pop("metric", claim.metric)
    where = side.fullname if side.partition else f"any other partition of {side.system}"
    return " ".join(filter(None, (where, benchmark, metric, write_parameters(keys))))


def _disagreement(left: Found, right: Found, own: Collection[str]) -> str:
    """Name the keys in which the results of the two sides never agree."""
    differ = []
    for key in PARAMETERS:
        if key in own or key in pairing.FOLLOWING:
            continue
        values = [
            {series.keys[key] for series in found.measured if key in series.keys}
            for found in (left, right)
        ]
        if all(values) and not values[0] & values[1]:
            texts = [",".join(sorted(one, key=lambda text: (len(text), text))) for one in values]
            differ.append(f"{key} ({texts[0]} against {texts[1]})")
    what = ", ".join(differ) or "all of their keys at once"
    return f"no two results of the sides agree in {what}"


# What a reader of an outcome must know.


def _several(left: Found, right: Found, pairs: Sequence[Pair], window: float) -> Iterator[str]:
    if max(left.sessions, right.sessions) > 1:
        yield (
            f"{left.sessions} sessions match on the left, {right.sessions} on the right: the "
            f"newest passing pair within {window:g} days was taken"
        )
    used = {value.environment for pair in pairs for value in (pair.left, pair.right)}
    measured = {series.environment for found in (left, right) for series in found.measured}
    if others := sorted(measured - used):
        yield f"also measured with {', '.join(others)}"


def _left_out(left: Found, right: Found, pair: Pair) -> Iterator[str]:
    newer = sum(
        time >= value.time
        for found, value in ((left, pair.left), (right, pair.right))
        for time in found.failed
    )
    if newer:
        yield f"{newer} failed {'case' if newer == 1 else 'cases'} of these or later sessions"
    if zeros := left.impossible + right.impossible:
        yield f"{zeros} {'value' if zeros == 1 else 'values'} not above zero left out"


def _differing(pair: Pair, own: Collection[str]) -> Iterator[str]:
    """Say in what the two results differ that the claim does not speak of."""
    if pair.left.environment != pair.right.environment and "environment" not in own:
        yield f"environments {pair.left.environment} against {pair.right.environment}"
    for key in pair.differing(own):
        sides = [value.keys.get(key, "?") for value in (pair.left, pair.right)]
        yield f"{key} {sides[0]} against {sides[1]}"
