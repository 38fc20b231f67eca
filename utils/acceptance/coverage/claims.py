"""Whether the listed cases measure both sides of a claim, and why not.

The claims' own rules decide: they are evaluated on a session in which every case has passed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from acceptance.claims import NOT_MEASURED, evaluate
from acceptance.core.extras import MODES
from acceptance.coverage.why import Why
from acceptance.references import Claim, Library
from acceptance.rfm import Case, ListedCase, Metric, Session
from acceptance.suites import check_of, has_check


@dataclass(frozen=True)
class CoveredClaim:
    """A claim with the modes whose cases measure both of its sides; else why none does."""

    claim: Claim
    modes: tuple[str, ...]
    why: Why | None = None
    detail: str = ""


def cover_claims(
    claims: Sequence[Claim], library: Library, cases: Sequence[ListedCase]
) -> list[CoveredClaim]:
    """Return each claim with the modes that measure it, or why none does."""
    results = {
        mode: evaluate(claims, [_session(mode, cases)], library.tolerances) for mode in MODES
    }
    covered = []
    for number, claim in enumerate(claims):
        modes = [mode for mode in MODES if results[mode][number].state != NOT_MEASURED]
        most = results[MODES[-1]][number]
        reason = (None, "") if modes else _reason(claim, most.detail)
        covered.append(CoveredClaim(claim, tuple(modes), *reason))
    return covered


def _reason(claim: Claim, detail: str) -> tuple[Why, str]:
    for side in claim.sides:
        benchmark, metric, _ = claim.stated(side)
        if not has_check(benchmark):
            return Why.PROGRAM, f"no check runs {benchmark}"
        if metric and check_of(benchmark, metric) is None:
            return Why.METRIC, f"{benchmark} has no metric {metric}"
    return Why.KEY, detail


def _session(mode: str, cases: Sequence[ListedCase]) -> Session:
    """Return a session in which all cases of a mode have passed, each metric being 1."""
    passed = tuple(_passed(case) for case in cases if mode in case.modes)
    return Session("listed", 0.0, 0.0, "", "", "", 0, passed)


def _passed(case: ListedCase) -> Case:
    metrics = tuple(
        Metric(name, 1.0, unit, None, None, None, "", passed=True)
        for name, unit in case.metrics.items()
    )
    return Case(
        name=case.name,
        system=case.system,
        partition=case.partition,
        environment=case.environment,
        filename="",
        suite=case.benchmark.partition(".")[0],
        run_index=0,
        result="pass",
        fail_phase="",
        fail_reason="",
        nodes=(),
        fixture=False,
        benchmark=case.benchmark,
        keys=case.keys,
        declared=case.metrics,
        provenance={},
        findings=(),
        metrics=metrics,
    )
