"""What the guidelines find that every MPI satisfies: they need no reference."""

from dataclasses import asdict
from typing import Any

from acceptance.core.extras import ExtrasFault
from acceptance.ledger import ResultsFault
from acceptance.relations import guidelines
from acceptance.verdict.evidence import Evidence
from acceptance.verdict.model import Verdict


def compare_with_guidelines(verdict: Verdict, evidence: Evidence) -> None:
    """Add what comes of the guidelines in each session, beside earlier ones."""
    if evidence.site is None:
        return
    known: dict[str, Any] = {"compared": 0, "findings": []}
    for session in evidence.sessions:
        try:
            report, failing = guidelines.judge(evidence.past, session, evidence.site)
        except ResultsFault as err:
            verdict.fail("unreadable-database", str(err), str(evidence.past.results))
            continue
        except ExtrasFault as err:
            verdict.fail("guidelines", str(err))
            continue
        known["compared"] += report.compared
        known["findings"] += [
            {**asdict(finding), "text": str(finding), "fails": finding in failing}
            for finding in report.findings
        ]
        verdict.guidelines = known
        for finding in failing:
            verdict.fail("guideline", str(finding))
