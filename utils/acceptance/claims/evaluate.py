"""Claims: does a relation that a paper, or a site, states between two results hold here?

How a claim is evaluated is documented in `reference/README.md`; `acceptance.claims.pairs` says
which results are compared, `acceptance.claims.figures` what of them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acceptance.claims import comparisons, pairs, wording
from acceptance.claims.pairs import Figure, Pair, SideResults
from acceptance.claims.results import Places, Value, gather
from acceptance.ledger import Session
from acceptance.references import Claim, ReferenceFault, Tolerances

#: Days that the two results of a pair may lie apart.
WINDOW = 30.0

HOLDS, FAILS, NOT_MEASURED = "holds", "fails", "not measured"
#: Of the model of a system: what it lacks is the reason.
BEYOND_MODEL = "cannot be said"


@dataclass(frozen=True)
class ClaimResult:
    """Whether a claim holds.

    `left`, `right` and `ours`, the figure that they give, are those of the pair that decides;
    `held` of `compared` pairs are as claimed. Of a curve or of several machines they are the two
    `points` that decide, and curves or groups are counted; of quotients `points` are their parts.
    `reason` says in two or three words why nothing was compared, `detail` in full.
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
    points: tuple[Value, ...] = ()
    #: Of the model of a system: the results are an input of the model.
    of_input: bool = False

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
    seconds = window * comparisons.DAY
    try:
        sides = comparisons.sides_of(claim, places)
        if claim.kind.shape == "curve":
            judged, notes = comparisons.along_a_key(claim, sides["left"], tolerances, seconds)
        else:
            judged, notes = comparisons.of_two_sides(claim, sides, tolerances, seconds)
    except comparisons.Unmeasured as err:
        return ClaimResult(claim, NOT_MEASURED, reason=err.reason, detail=err.detail)
    relation = claim.relation
    one = judged[
        pairs.deciding(relation, claim.value, [(it.margin, it.figure.value) for it in judged])
    ]
    held = sum(pairs.holds(relation, it.margin, it.figure.value) for it in judged)
    return ClaimResult(
        claim,
        HOLDS if pairs.holds(relation, one.margin, one.figure.value) else FAILS,
        one.left,
        one.right,
        one.figure,
        held,
        len(judged),
        note="; ".join([*notes, *_about(claim, sides, one, window)]),
        points=one.points,
    )


def _about(
    claim: Claim, sides: Mapping[str, SideResults], one: comparisons.Judged, window: float
) -> Iterator[str]:
    """Yield what a reader must know of the two results that decide."""
    yield from wording.left_out(sides, one.left, one.right)
    if claim.kind.shape == "curve":
        yield wording.curve(one.points, claim.along)
    elif claim.kind.shape == "machines":
        yield wording.group(one.points)
    else:
        yield from map(wording.quotient, filter(lambda side: side.parts, (one.left, one.right)))
        yield from wording.differing(Pair(one.left, one.right), comparisons.varied_keys(claim))
