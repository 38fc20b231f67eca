"""Which checks produce what the references speak of."""

from collections.abc import Sequence

from acceptance.references import Claim, Reference
from acceptance.suites import check_of, has_check


def coverage(rows: Sequence[Reference]) -> list[tuple[Reference, str | None]]:
    """Return each row with the check that produces its metric, or None."""
    return [(row, check_of(row.benchmark, row.metric)) for row in rows]


def covers(claim: Claim) -> bool:
    """Tell whether checks produce what both sides of a claim speak of."""
    for benchmark, metric, _ in map(claim.stated, claim.sides):
        # Without a metric a paper speaks of a benchmark as a whole.
        if not (check_of(benchmark, metric) if metric else has_check(benchmark)):
            return False
    return True
