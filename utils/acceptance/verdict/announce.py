"""Alerts of what is wrong in a run by itself: one for each faulty node, benchmark, or problem.

Three hundred nodes behind one broken switch are one alert. Who reads it asks the gate for the rest.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from acceptance.alerts import Alert, alert
from acceptance.core.text import one_line, plural, shortened
from acceptance.fabric.view.kinds import BENCHMARK as VIEW
from acceptance.nodes import FAILING, PairFinding
from acceptance.verdict.model import CaseResult, Problem, Status, Verdict
from acceptance.verdict.nodes import PartitionNodes, short_names

#: New alerts of a partition beyond which one stands for all of them.
MOST = 10
#: What stands for the whole fabric among the quantities that an alert is compared in.
_FABRIC = "fabric"
#: What of an alert names things that it is about.
_CONCERNED = ("nodes", "cases", "compared")
#: Characters of what an alert says.
_LONGEST = 300


def announce(verdict: Verdict, known: Iterable[Alert]) -> None:
    """Give each problem that no alert tells its alerts, and add these to those of the verdict.

    `known` are the alerts that are open: what is still wrong keeps its id and its beginning.
    """
    opened = {each.id: each for each in known}
    failing = {case.place: case for case in verdict.cases}
    failing |= {case.place: case for case in verdict.cases if not case.passed}
    alerts: dict[str, Alert] = {}
    of_problem: dict[int, list[str]] = {}
    for number, problem in enumerate(verdict.problems):
        if not problem.alerts and problem.rule.sent:
            found = [*_of_problem(problem, failing, verdict)]
            for each in found:
                alerts[each.id] = _joined(alerts.get(each.id, each), each)
            if not problem.rule.unmeasured or _failures_behind(problem, verdict):
                of_problem[number] = [each.id for each in found]
    alerts |= {each.id: each for each in _away(verdict)}
    for key in alerts.keys() & opened.keys():
        alerts[key] = replace(alerts[key], since=opened[key].since)
    told_by = _summed_up(alerts, opened)
    for number, keys in of_problem.items():
        ids = tuple(dict.fromkeys(told_by[key].id for key in keys))
        verdict.problems[number] = replace(verdict.problems[number], alerts=ids)
    verdict.alerts += {each.id: each for each in told_by.values()}.values()


def _away(verdict: Verdict) -> Iterator[Alert]:
    """Yield an alert of each node that Slurm gives no jobs, with its reason."""
    for place, entry in verdict.nodes.items():
        system, _, partition = place.partition(":")
        for node, why in entry.not_up.items():
            about, since = (system, partition, "", node), verdict.time or verdict.given
            yield _alert(alert.AWAY, about, since, why, nodes=[node])


def _failures_behind(problem: Problem, verdict: Verdict) -> list[Problem]:
    """Return the failures of all cases of suites that measured nothing: they have alerts.

    They are none where a case was skipped, say: then nobody knows why nothing was measured.
    """
    if problem.kind != "nothing-measured":
        return []
    if {case.result for case in verdict.cases if case.suite in problem.about} != {"fail"}:
        return []
    return [each for each in verdict.problems if each.kind == "case-failed"]


def _of_problem(
    problem: Problem, failing: Mapping[str, CaseResult], verdict: Verdict
) -> Iterator[Alert]:
    """Yield alerts of the nodes whose links failed a case, of a benchmark, or of the problem."""
    since = verdict.time or verdict.given
    case = failing.get(problem.about[0]) if problem.about else None
    if behind := _failures_behind(problem, verdict):
        for each in behind:
            yield from _of_problem(each, failing, verdict)
    elif problem.kind in FAILING:
        for finding in verdict.nodes[problem.about[0]].findings:
            if (finding.kind, finding.about) == (problem.kind, problem.about):
                yield _of_pairs(finding, since)
    elif case is None or problem.rule.unmeasured:
        kind = alert.UNMEASURED if problem.rule.unmeasured else alert.FAILURE
        place = (verdict.system, "", "", " ".join((problem.kind, *problem.about)))
        yield _alert(kind, place, since, problem.message, sort=verdict.sort)
    else:
        yield from _of_case(problem, case, verdict)


def _of_case(problem: Problem, case: CaseResult, verdict: Verdict) -> Iterator[Alert]:
    """Yield alerts of what a case failed for, or of the case where that is not known."""
    since, failed = verdict.time or verdict.given, problem.kind == "case-failed"
    where, _, environ = case.where.partition("+")
    system, _, partition = where.partition(":")
    if failed and case.culprits:
        for each in verdict.nodes[where].findings:
            if each.fails and each.environment == environ:
                yield _of_pairs(each, since)
    elif failed and case.fabric:
        for what, text in case.fabric.items():
            place = (system, partition, "", what)
            yield _alert(alert.FAILURE, place, since, text, compared=[_FABRIC])
    elif failed and case.faults:
        for node, text in case.faults.items():
            place, text = (system, partition, "", node), text.removeprefix(f"{node}: ")
            yield _alert(alert.NODE, place, since, text, nodes=[node])
    else:
        check = case.benchmark or case.name
        place = (system, partition, environ, check if failed else f"{check} {problem.kind}")
        text = problem.message.removeprefix(f"{case.place}: ")
        yield _alert(alert.FAILURE, place, since, text, cases=[case.place], nodes=case.nodes)


def _of_pairs(finding: PairFinding, since: str) -> Alert:
    """Return the alert of a culprit of all pairs."""
    where, *what = finding.about
    system, _, partition = where.partition(":")
    place = (system, partition, "", " ".join((finding.kind, *what)))
    nodes, compared = finding.nodes, [finding.compared]
    return _alert(alert.FAILURE, place, since, str(finding), nodes=nodes, compared=compared)


def _alert(
    kind: str,
    place: tuple[str, str, str, str],
    since: str,
    text: str,
    *,
    parts: Sequence[str] = (),
    sort: str = "",
    **concerned: Sequence[str],
) -> Alert:
    """Return an alert whose id is that of its kind, its place, its parts and its sort.

    `concerned` are its nodes, its cases, and what is compared.
    """
    words = "\0".join((kind, *place, *sorted(parts), sort))
    system, partition, environ, check = place
    return Alert(
        id=hashlib.sha256(words.encode()).hexdigest()[:12], kind=kind, system=system,
        partition=partition, environ=environ, check=check, metric="", unit="", direction=None,
        before=None, after=None, change=None, since=since, confidence=1.0, cause="",
        text=one_line(text)[:_LONGEST], parts=tuple(parts), sort=sort,
        **{name: tuple(dict.fromkeys(each)) for name, each in concerned.items()},
    )  # fmt: skip


def _joined(first: Alert, second: Alert) -> Alert:
    """Return an alert of the same thing with what both of them show."""
    both = {name: (*getattr(first, name), *getattr(second, name)) for name in _CONCERNED}
    return replace(first, **{name: tuple(dict.fromkeys(each)) for name, each in both.items()})


def _summed_up(alerts: Mapping[str, Alert], opened: Mapping[str, Alert]) -> dict[str, Alert]:
    """Return id -> the alert that tells it: its own, or one for very many of a partition.

    What has an alert of its own keeps it; what a summary has told stays in it, as long as it lasts.
    """
    told_by = dict(alerts)
    for summary in opened.values():
        parts = [key for key in summary.parts if key in alerts and key not in opened]
        if parts:
            again = _summary([alerts[key] for key in parts])
            again = replace(again, id=summary.id, since=summary.since, parts=summary.parts)
            told_by |= dict.fromkeys(parts, again)
    new: dict[tuple[str, str], list[Alert]] = {}
    for key, each in alerts.items():
        if key not in opened and told_by[key] is each:
            new.setdefault((each.system, each.partition), []).append(each)
    for members in new.values():
        if len(members) > MOST:
            told_by |= dict.fromkeys((each.id for each in members), _summary(members))
    return told_by


def _summary(members: Sequence[Alert]) -> Alert:
    first = members[0]
    return _alert(
        alert.MANY,
        (first.system, first.partition, "", plural(len(members), "failure")),
        first.since,
        f"{shortened(each.check for each in members)}; of {first.check}: {first.text}",
        parts=[each.id for each in members],
        sort=first.sort,
        **{name: [x for each in members for x in getattr(each, name)] for name in _CONCERNED},
    )


def looked_at(verdict: Verdict, systems: Collection[str]) -> Callable[[Alert], bool]:
    """Return whether a verdict would have found an alert if it were still there.

    An alert that nobody looked for has not ended. Nodes were looked at when their links were read,
    a benchmark when the cases that had failed passed, with all of their nodes; a slow node when it
    was compared with others in the quantities that it was slow in, a fault of the fabric when that
    was looked at; anything else when a run of the same sort was judged.
    """
    links: set[str] = set()
    viewed: set[str] = set()
    passed: dict[str, set[str]] = {}
    for case in verdict.cases:
        if case.measured and case.benchmark == VIEW:
            viewed.add(case.where.partition("+")[0])
        elif case.measured and case.suite == "fabric":
            links.update(short_names(case.nodes))
        if case.measured and case.passed:
            passed.setdefault(case.place, set()).update(short_names(case.nodes))

    def looked(each: Alert) -> bool:
        if each.system not in systems:
            return False
        if each.of_history:
            return True
        place = f"{each.system}:{each.partition}"
        entry = verdict.nodes.get(place, PartitionNodes(place))
        if each.kind == alert.AWAY:  # Slurm was asked
            return bool(entry.known) and entry.not_up.keys().isdisjoint(each.nodes)
        nodes = short_names(each.nodes)
        if not all(
            (what == _FABRIC and place in viewed and not nodes) or entry.has_ended(what, each.nodes)
            for what in each.compared
        ):
            return False
        if _FABRIC in each.compared and not each.nodes:
            return True
        if each.nodes and not each.cases and each.kind == alert.FAILURE:
            return bool(each.compared)
        if each.nodes or each.cases:
            seen = {node for place in each.cases for node in passed.get(place, ())}
            if each.kind in (alert.NODE, alert.MANY):
                seen |= links
            return passed.keys() >= {*each.cases} and seen.issuperset(nodes)
        return verdict.sort == each.sort and verdict.status != Status.CANNOT_JUDGE

    return looked
