"""What the guidelines find that every MPI satisfies: they need no reference."""

from acceptance.core.extras import ExtrasFault
from acceptance.core.findings import Finding
from acceptance.core.kinds import MAJOR
from acceptance.relations import guidelines
from acceptance.verdict.evidence import Evidence
from acceptance.verdict.model import Verdict


def compare_with_guidelines(verdict: Verdict, evidence: Evidence) -> None:
    """Add what comes of the guidelines in each session, beside earlier ones."""
    if evidence.site is None:
        return
    known = {"compared": 0, "violated": 0}
    for session in evidence.sessions:
        try:
            report, failing = guidelines.judge(evidence.past, session, evidence.site.systems)
        except ExtrasFault as err:
            verdict.fail("guidelines", str(err))
            continue
        known["compared"] += report.compared
        known["violated"] += len(report.findings)
        verdict.guidelines = known
        for violated in report.findings:
            fails = violated in failing
            verdict.add(Finding(
                "guideline", str(violated), fails, what=violated.guideline, place=(violated.id,),
                expected=f"at most {violated.tolerance:.2f} times",
                severity=MAJOR if fails else "", source="guidelines",
            ))  # fmt: skip
