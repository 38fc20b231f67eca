"""What became worse than it was: the regressions of the whole history up to what is judged."""

from msgspec.structs import replace

from acceptance import ledger
from acceptance.alerts import Alert
from acceptance.core.text import plural
from acceptance.regressions import judge as regressions
from acceptance.verdict.evidence import Evidence
from acceptance.verdict.model import Verdict


def judged_history(verdict: Verdict, evidence: Evidence) -> regressions.Judgement:
    """Judge the history up to the newest session; raises ResultsFault."""
    return regressions.for_gate(
        evidence.past,
        evidence.workspace.reference,
        evidence.newest,
        simulated=verdict.simulated,
        kept=evidence.workspace.detection_of(evidence.past.results),
    )


def compare_with_history(verdict: Verdict, evidence: Evidence) -> None:
    """Add what became worse on the systems that were judged, up to the newest session.

    Of a whole database, without a session that is asked for, that is on all of its systems.
    """
    if not evidence.newest:
        return
    systems = {*evidence.systems}
    judgement = judged_history(verdict, evidence)
    verdict.notes += [f"history: {note}" for note in judgement.notes]
    for fault in judgement.faults:
        verdict.fail("unreadable-session", str(fault), fault.uuid)
    if judgement.fault:
        verdict.fail("references", judgement.fault)
    if evidence.whole and (others := [name for name in judgement.systems if name not in systems]):
        verdict.notes.append(
            f"of {', '.join(others)} the history was judged, no session: --session UUID judges one"
        )
        systems.update(others)
    if evidence.whole and judgement.apart:
        verdict.notes.append(
            f"the history of {', '.join(judgement.apart)} was not judged: simulated and measured "
            "results are judged apart; --session UUID judges one of them"
        )
    for row in (row for row in judgement.unmet if row.system in systems):
        place = f"{row.path}:{row.line}"
        what = f"no {row.metric} of {row.benchmark} was ever measured on {row.system}"
        verdict.fail("reference-unmet", f"{place}: judges nothing: {what}:{row.partition}", place)
    verdict.history = {
        "judged": judgement.judged,
        "cannot_judge": judgement.cannot_judge,
        "together": judgement.together,
        "stale": judgement.stale,
        "systems": sorted(systems),
    }
    for each in judgement.incidents:
        if each.finding.system in systems:
            alert = Alert(each.id, each.finding)
            verdict.alerts.append(alert)
            found = "; ".join(filter(None, (each.finding.found, each.cause)))
            verdict.add(replace(each.finding, text=alert.known, found=found, alerts=(alert.id,)))


def tell_gone(verdict: Verdict, evidence: Evidence) -> None:
    """Fail for sessions that are nowhere any more."""
    past = evidence.past
    if past.gone:
        first, last = past.gone[0], past.gone[-1]
        numbers = f"number {first}" if first == last else f"of the numbers {first} to {last}"
        verdict.fail(
            "sessions-gone",
            f"{past.folder}: lacks {plural(len(past.gone), 'session')}, {numbers}: restore the "
            "folder from a backup; if they were deleted on purpose: "
            f"acceptance sessions --forget {ledger.GONE}",
            str(past.folder),
        )
