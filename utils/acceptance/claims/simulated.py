"""The claims of a real system, evaluated on the results of its model."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from acceptance.claims.evaluate import BEYOND_MODEL, ClaimResult, evaluate
from acceptance.core.metrics import read
from acceptance.core.simulated import model_of
from acceptance.references import Claim, Library, Side
from acceptance.rfm import Session
from acceptance.simulation import Beyond, beyond, is_input

#: What `systems.csv` says of a partition that the model knows, too.
_FABRIC = ("technology", "rate", "lanes", "pcie", "pcie_lanes")


def of_model(claims: Iterable[Claim], system: str) -> list[Claim]:
    """Return the claims of which both sides are of a real system as claims of its model.

    None of them is expected to hold: no machine fulfils or breaks it.
    """
    real = model_of(system)
    return [
        replace(
            claim,
            left=_moved(claim.left, system),
            right=claim.right and _moved(claim.right, system),
            expected=False,
        )
        for claim in claims
        if {side.system for side in claim.sides} == {real}
    ]


def _moved(side: Side, system: str) -> Side:
    return replace(side, system=system, over=side.over and _moved(side.over, system))


def evaluate_on_model(
    claims: Sequence[Claim], sessions: Iterable[Session], library: Library, window: float
) -> list[ClaimResult]:
    """Evaluate claims of `of_model`: those that the model can say anything of, on such results."""
    told = {number: _told(claim, library) for number, claim in enumerate(claims)}
    said = [claim for number, claim in enumerate(claims) if told[number] is None]
    results = iter(evaluate(said, map(_within, sessions), library.tolerances, window))
    return [_beside(told[number] or next(results)) for number in range(len(claims))]


def _told(claim: Claim, library: Library) -> ClaimResult | None:
    """Return that the model cannot say whether a claim holds, and why; None where it can."""
    lacks = {name: beyond(*claim.stated(side)) for name, side in claim.named.items()}
    if claim.right and _is_one_fabric(claim.left, claim.right, library):
        lacks["left and right"] = Beyond.PROCESSOR
    for name, lacking in lacks.items():
        if lacking:
            detail = f"{name}: the model has no {lacking.value}"
            return ClaimResult(claim, BEYOND_MODEL, reason=lacking.value, detail=detail)
    return None


def _is_one_fabric(left: Side, right: Side, library: Library) -> bool:
    """Tell whether two partitions differ in nothing that the model knows: it takes them for one."""
    if left.partition == right.partition:
        return False
    names = (f"{model_of(side.system)}:{side.partition}" for side in (left, right))
    known = [library.partitions[name].facts for name in names if name in library.partitions]
    facts = [[each[column] for column in _FABRIC] for each in known]
    return len(facts) > 1 and facts[0] == facts[1]


def _beside(result: ClaimResult) -> ClaimResult:
    claim = result.claim
    return replace(result, of_input=all(is_input(*claim.stated(side)[1:]) for side in claim.sides))


def _within(session: Session) -> Session:
    """Return a session with only those metrics that the model can say anything of."""
    kept = []
    for case in session.cases:
        metrics = tuple(
            metric
            for metric in case.metrics
            for stem, own in (read(metric.name),)
            if beyond(case.benchmark, stem, {**case.keys, **own}) is None
        )
        kept.append(replace(case, metrics=metrics))
    return replace(session, cases=tuple(kept))
