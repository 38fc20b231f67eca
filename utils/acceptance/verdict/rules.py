"""The rules of a verdict: what the sessions of a run show together, beside others and the site.

Each adds to the verdict what it finds in the same evidence. That of nodes and links, and of what
was left out, is in `verdict/coverage.py`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from msgspec.structs import replace

from acceptance import ledger, references
from acceptance.alerts import Alert
from acceptance.core.errors import Fault
from acceptance.core.extras import ExtrasFault
from acceptance.core.findings import Finding
from acceptance.core.kinds import MAJOR
from acceptance.core.text import plural, shortened
from acceptance.core.words import is_measured, split_metric
from acceptance.fabric import rails
from acceptance.fabric.link_check import STANDING
from acceptance.ledger import Case, Ledger, Metric, Session
from acceptance.references import Library, Reference, ReferenceFault
from acceptance.regressions import AGAIN_FEWEST
from acceptance.regressions import judge as regressions
from acceptance.relations import claims, false_alarms, guidelines, near_limits, rounds
from acceptance.relations.near_limits import Near
from acceptance.verdict import coverage
from acceptance.verdict.cases import text_of
from acceptance.verdict.evidence import Evidence
from acceptance.verdict.model import ACCEPT, Verdict
from acceptance.verdict.remeasured import Cases, Undecided, suspects

#: System and partition of a counter, its node, device and name.
_Key = tuple[str, str, str, str, str]
_DAY = 86400.0
#: Earlier readings that are looked at for when a counter last grew.
_READINGS = 200
#: Earlier runs in which the shares of rails are looked for.
_RUNS = 7
#: The class of the link check, as ReFrame names its cases.
LINK_CHECK = "LinkCheck"
#: The kind of a case that failed.
_FAILED = "case-failed"


def note_counters(verdict: Verdict, evidence: Evidence) -> None:
    """Add the counters of errors that stand above zero.

    They fail nothing: what a link loses during the cases of a run fails these.
    """
    past = evidence.past
    found = [each for session in evidence.sessions for each in standing_counters(past, session)]
    verdict.findings += found
    verdict.notes += [f"links: {counter.text}" for counter in found]


def standing_counters(past: Ledger, session: Session) -> list[Finding]:
    """Return the counters that stand in a session, compared with earlier ones.

    Their texts are `node1 mlx5_0/1: link_downed stands at 7 (+3 in 2.0 days)`.

    Raises ResultsFault when that cannot be read.
    """
    current = {key: value for case in session.cases for key, value in _standing(case)}
    if not current:
        return []
    last: dict[_Key, tuple[int, float]] = {}
    since: dict[_Key, float] = {}
    unsettled = set(current)
    earlier = past.sessions_of_check(LINK_CHECK, session.start)
    for number, reading in enumerate(earlier):
        if number == _READINGS or not unsettled:
            break
        values = {key: value for case in reading.cases for key, value in _standing(case)}
        looked_at = {place for case in reading.cases for place in _looked_at(case)}
        for key in [key for key in unsettled if key[:3] in looked_at]:
            value = values.get(key, 0)
            last.setdefault(key, (value, reading.end))
            if value == current[key]:
                since[key] = reading.end
            else:
                unsettled.remove(key)
    found = []
    for key, value in current.items():
        _, _, *place = key
        change = "first reading"
        if key in last:
            before, time = last[key]
            change = _change(value, before, (session.end - time) / _DAY, since.get(key, 0.0))
        node, device, counter = place
        found.append(Finding(
            STANDING, f"{node} {device}: {counter} stands at {value} ({change})", nodes=(node,),
            device=device, what=counter, found=f"{value} ({change})", expected="0",
            place=(*place,), source="link check",
        ))  # fmt: skip
    return found


def _change(value: int, before: int, days: float, since: float) -> str:
    """Say what became of a counter in the days since its last reading.

    `since` is the time of the earliest reading that had the same value (s since the epoch).
    """
    ago = f"{days:.1f} days"
    if value < before:
        return f"counter was reset: {before} before, in {ago}"
    if value > before:
        return f"+{value - before} in {ago}"
    return f"no more since {datetime.fromtimestamp(since).astimezone():%Y-%m-%d}"


def _standing(case: Case) -> Iterator[tuple[_Key, int]]:
    for seen in case.findings:
        if seen.kind == STANDING:
            place = case.system, case.partition, seen.node, seen.device, seen.what
            yield place, int(seen.found)


def _looked_at(case: Case) -> Iterable[tuple[str, str, str]]:
    """Return the nodes whose counters a case has read; older releases read none."""
    names = filter(None, case.provenance.get("counters", "").split(","))
    return [(case.system, case.partition, node) for node in names]


def note_rails(verdict: Verdict, evidence: Evidence) -> None:
    """Add the traffic that moved between the rails of a node since the last run of its case.

    It fails nothing: the rails together carried as much.
    """
    past = evidence.past
    found = [each for session in evidence.sessions for each in moved_traffic(past, session)]
    verdict.findings += found
    verdict.notes += [f"rails: {seen.text}" for seen in found]


def moved_traffic(past: Ledger, session: Session) -> list[Finding]:
    """Return what moved between rails since the last of a few sessions that had the same case.

    Raises ResultsFault when that cannot be read.
    """
    found: list[Finding] = []
    current = {(each.where, each.name): each for each in session.cases if each.rails}
    for check in dict.fromkeys(name.split()[0] for _, name in current):
        left = {key: case for key, case in current.items() if key[1].split()[0] == check}
        for earlier in islice(past.sessions_of_check(check, session.start), _RUNS):
            for before in (case for case in earlier.cases if case.rails):
                if case := left.pop((before.where, before.name), None):
                    found += [
                        replace(
                            seen, place=(seen.node, seen.device, case.name), source=text_of(case)
                        )
                        for seen in rails.moved(before.rails, case.rails)
                    ]
            if not left:
                break
    return found


def compare_with_guidelines(verdict: Verdict, evidence: Evidence) -> None:
    """Add what comes of the guidelines in each session, beside those that measured it as well."""
    if evidence.site is None:
        return
    for session in evidence.sessions:
        try:
            report, failing = guidelines.judge(
                evidence.past, session, evidence.site.systems, evidence.site.environments
            )
        except ExtrasFault as err:
            verdict.fail("guidelines", str(err))
            continue
        for name, count in report.counts.items():
            verdict.guidelines[name] = verdict.guidelines.get(name, 0) + count
        for violated in report.findings:
            fails = violated in failing
            verdict.add(Finding(
                "guideline", str(violated), fails, what=violated.guideline, place=(violated.id,),
                found=violated.found, expected=f"at most {rounds.FLOOR:.2f} times",
                remedy=violated.remedy, severity=MAJOR if fails else "", source="guidelines",
            ))  # fmt: skip


def undecided_guidelines(evidence: Evidence) -> dict[str, list[str]]:
    """Return of each session (UUID) the cases that tell, in more rounds, what was noise."""
    past = evidence.past
    return {each.uuid: guidelines.report_of(past, each).cases for each in evidence.sessions}


def compare_with_baselines(verdict: Verdict, evidence: Evidence) -> None:
    """Judge what plain checks measured, which pass whatever that is, by baselines of their site.

    The benchmark of such a row is the name of the case.
    """
    plain = [case for case in evidence.cases if case.plain and case.passed and not case.fixture]
    if not plain:
        return
    try:
        library = references.load(evidence.workspace.reference)
    except ReferenceFault as err:
        verdict.fail("references", str(err))
        return
    for case in plain:
        _judge_by_baselines(verdict, case, library)


def _judge_by_baselines(verdict: Verdict, case: Case, library: Library) -> None:
    place = text_of(case)
    perfvalues: dict[str, Sequence[Any]] = {}
    citations: dict[str, str] = {}
    for metric in case.metrics:
        if not is_measured(metric.value):
            continue  # a problem already
        try:
            row = _row(case, metric, library)
        except ValueError as err:
            verdict.fail("references", f"{place}: {metric.name}: {err}", place, metric.name)
            continue
        thresholds = row and library.thresholds(row)
        if not row or not thresholds:
            continue
        if metric.reference is None:  # it was counted as one that nothing judges
            verdict.recorded -= 1
            source = row.citation.split(",")[0]
            verdict.judged[source] = verdict.judged.get(source, 0) + 1
        off = references.outside(metric.value, row.value, *thresholds)
        values = (metric.value, row.value, *thresholds, metric.unit, "fail" if off else "pass")
        perfvalues[f"{case.system}:{case.partition}:{metric.name}"] = values
        citations[metric.name] = row.citation
    if misses := references.misses_text(perfvalues, citations):
        verdict.fail("off-baseline", f"{place}: {'; '.join(misses)}", place)


def _row(case: Case, metric: Metric, library: Library) -> Reference | None:
    """Return the baseline of a metric; raises ValueError as `Library.look_up`."""
    stem, size = split_metric(metric.name)
    parameters = {"environment": case.environment}
    if size is not None:
        parameters["message_size"] = str(size)
    place = case.system, case.partition, case.subject
    return library.look_up(*place, stem, parameters, metric.unit, ("baseline",))


def judged_history(evidence: Evidence) -> regressions.Judgement:
    """Judge the history up to the newest session; raises ResultsFault."""
    if evidence.newest not in evidence.histories:
        evidence.histories[evidence.newest] = regressions.for_gate(
            evidence.past,
            evidence.workspace.reference,
            evidence.newest,
            simulated=evidence.simulated,
            kept=evidence.workspace.detection_of(evidence.past.results),
        )
    return evidence.histories[evidence.newest]


def suspected(evidence: Evidence) -> Cases:
    """Return the cases of the night with a metric whose history is suspicious, or was just now."""
    judgement = judged_history(evidence)
    before = evidence.histories.get(evidence.last, judgement).suspected
    # A round runs a name in all of its environments.
    again = Counter((case.where, case.name) for each in evidence.again for case in each.cases)
    keys = ((one, one.case.key) for one in before)
    early = [one for one, key in keys if again[key.where, key.check] < AGAIN_FEWEST]
    return suspects([*judgement.suspected, *early], judgement.newest)


def _near_limits(evidence: Evidence) -> Iterator[Near]:
    return near_limits.judge(evidence.sessions, evidence.again, lambda: judged_history(evidence))


def in_question(evidence: Evidence) -> Cases:
    """Return the cases near their limits of which more runs can tell more."""
    found: Cases = {}
    for near in _near_limits(evidence):
        if near.open:
            found.setdefault(near.session, []).append(near.case.name)
    return found


def judge_near_limits(verdict: Verdict, evidence: Evidence) -> None:
    """Let all runs of a case near its limits decide, in place of each; told is each of them.

    What they cannot tell stays what it was before it was measured again. An acceptance counts each
    run by itself.
    """
    if not evidence.newest:
        return
    once, accepts = [], verdict.sort == ACCEPT
    for near in _near_limits(evidence):
        if near.runs == 1 or accepts:
            once.append(text_of(near.case))
        else:
            _count_near(verdict, near)
    if once:
        hint = "" if accepts else " (--again N measures again)"
        verdict.notes.append(
            f"{plural(len(once), 'case')} near a limit, where one run cannot tell pass from fail"
            f"{hint}: {shortened(once)}"
        )


def _count_near(verdict: Verdict, near: Near) -> None:
    """Count a case that was measured again by what all of its runs tell."""
    place = text_of(near.case)
    fails = near.word == near_limits.FAILS or (near.word == near_limits.CANNOT_TELL and near.first)
    failures = [
        each for each in verdict.problems if each.kind == _FAILED and each.place == (place,)
    ]
    verdict.problems = [each for each in verdict.problems if each not in failures]
    if fails != bool(failures):
        verdict.failed += 1 if fails else -1
        verdict.passed -= 1 if fails else -1
    for number, case in enumerate(verdict.cases):
        if case.place == place:
            verdict.cases[number] = replace(
                case,
                result="fail" if fails else "pass",
                reason=near.text if fails else "",
                findings=tuple(each for each in case.findings if fails or not each.fails),
            )
    text = f"{place}: {near.text}"
    if fails:
        verdict.fail(_FAILED, f"{failures[0].text}; {near.text}" if failures else text, place)
    verdict.add(Finding("near-limit", text, what=place, place=(place,), source="all of its runs"))
    verdict.notes.append(text)


#: What names a claim in an id, beside its place.
_CLAIMED = ("left", "right", "relation")


def state_claims(verdict: Verdict, evidence: Evidence) -> None:
    """Add what became of the claims that the system of an acceptance can decide.

    Of those that it cannot, the ones that a site wrote down and expects are there, too.
    """
    if verdict.sort != ACCEPT:
        return
    systems = evidence.site.systems if evidence.site else []
    try:
        library = references.load(evidence.workspace.reference)
        found = claims.evaluate_database(
            library, evidence.past, lambda: systems, evidence.system, claims.WINDOW
        )
    except Fault as err:
        verdict.claims = [{"state": "not measured", "reason": str(err), "expected": True}]
        return
    verdict.claims = [
        claim
        for claim in claims.as_data(found)["claims"]
        if claim["state"] in (claims.HOLDS, claims.FAILS)
        or (claim["source"] == "site" and claim["expected"])
    ]


def of_claims(every: Iterable[Mapping[str, Any]], system: str) -> Iterator[Finding]:
    """Yield what claims of a verdict on a system that must hold do not, or nobody could tell."""
    for claim in every:
        if "claimed" not in claim:
            yield Finding("claims", claim["reason"], place=(system,))
        elif claim["expected"] and claim["state"] != claims.HOLDS:
            claimed = claim["claimed"]
            value = "..".join(map(str, claimed["value"]))
            stated = " ".join(filter(None, (claimed["relation"], value, claimed["unit"])))
            ours, failed = claim["ours"] or {}, claim["state"] == claims.FAILS
            measured = f"{ours.get('value', '?')} {ours.get('unit', '')}".strip()
            yield Finding(
                "claim" if failed else "claim-open",
                measured if failed else f"{claim['state']}: {claim['detail']}",
                what=" against ".join(filter(None, (claimed["left"], claimed["right"]))),
                expected=stated, source=f"{claim['paper']}, {claim['where']}",
                place=(claim["paper"], claim["where"], *(claimed[key] for key in _CLAIMED)),
            )  # fmt: skip


def compare_with_history(verdict: Verdict, evidence: Evidence) -> None:
    """Add what became worse on the systems that were judged, up to the newest session.

    Of a whole database, without a session that is asked for, that is on all of its systems.
    """
    if not evidence.newest:
        return
    systems = {*evidence.systems}
    judgement = judged_history(evidence)
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
    for finding in false_alarms.findings(judgement):
        if finding.system in systems:
            verdict.add(finding)
            verdict.notes.append(f"history: {finding.text}: {finding.row.remedy}")


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


#: Adds what it finds in the evidence to a verdict; raises ResultsFault.
Rule = Callable[[Verdict, Evidence], None]
#: In the order of what they say.
RULES: tuple[Rule, ...] = (
    tell_gone,
    note_counters,
    note_rails,
    compare_with_guidelines,
    state_claims,
    compare_with_baselines,
    judge_near_limits,
    lambda verdict, evidence: coverage.judge_nodes(verdict, evidence.cases, evidence.nodes),
    coverage.judge_links,
    coverage.judge_references,
    coverage.note_links,
    compare_with_history,
)
#: Those who say what is to be measured again.
JUDGES: tuple[Undecided, ...] = (suspected, in_question, undecided_guidelines)
