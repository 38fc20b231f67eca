"""Whether the listed cases measure both sides of a claim, and why not.

The claims' own rules decide: they are evaluated on a session in which every case has passed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from acceptance.core.extras import MODES
from acceptance.ledger.reading import Run
from acceptance.references import Claim, Library, beyond
from acceptance.relations.claims import NOT_MEASURED, evaluate
from acceptance.relations.pairs import asked_by
from acceptance.suites import check_of, has_check
from tests.reference_coverage.listing import ListedCase
from tests.reference_coverage.rows import Why


@dataclass(frozen=True)
class CoveredClaim:
    """A claim with the modes whose cases measure both of its sides; else why none does.

    `simulated`: the model of its system can say whether it holds.
    """

    claim: Claim
    modes: tuple[str, ...]
    why: Why | None = None
    detail: str = ""
    simulated: bool = False


def cover_claims(
    claims: Sequence[Claim],
    library: Library,
    cases: Sequence[ListedCase],
    models: Collection[str] = (),
) -> list[CoveredClaim]:
    """Return each claim with the modes that measure it, or why none does.

    `models` are the systems that have a simulated one, which runs the same cases.
    """
    asked = asked_by(claims)
    passed = [(case.modes, _passed(case)) for case in cases if asked(*_place(case))]
    results = {mode: evaluate(claims, [_runs(mode, passed)], library.tolerances) for mode in MODES}
    covered = []
    for number, claim in enumerate(claims):
        modes = [mode for mode in MODES if results[mode][number].state != NOT_MEASURED]
        most = results[MODES[-1]][number]
        why, detail = (None, "") if modes else _reason(claim, most.detail)
        simulated = bool(modes) and all(
            side.system in models and not beyond(*claim.stated(side)) for side in claim.sides
        )
        covered.append(CoveredClaim(claim, tuple(modes), why, detail, simulated))
    return covered


def _reason(claim: Claim, detail: str) -> tuple[Why, str]:
    for side in claim.sides:
        benchmark, metric, _ = claim.stated(side)
        if benchmark == "hardware":
            return Why.HARDWARE, "a fact of the machine, which nothing measures"
        if not has_check(benchmark):
            return Why.PROGRAM, f"no check runs {benchmark}"
        if metric and check_of(benchmark, metric) is None:
            return Why.METRIC, f"{benchmark} has no metric {metric}"
    return Why.KEY, detail


def _runs(mode: str, passed: Sequence[tuple[tuple[str, ...], Run]]) -> list[Run]:
    """Return the runs of a session in which all cases of a mode have passed."""
    return [run for modes, run in passed if mode in modes]


def _place(case: ListedCase) -> tuple[str, str, str, str]:
    suite = case.benchmark.partition(".")[0]
    return case.system, case.partition, suite, case.benchmark


def _passed(case: ListedCase) -> Run:
    """Return a run of a case that has passed, each metric being 1."""
    return Run(
        session="listed",
        time=0.0,
        system=case.system,
        partition=case.partition,
        environment=case.environment,
        name=case.name,
        keys=case.keys,
        suite=case.benchmark.partition(".")[0],
        benchmark=case.benchmark,
        result="pass",
        software={},
        metrics=[(name, unit, 1.0) for name, unit in case.metrics.items()],
    )
