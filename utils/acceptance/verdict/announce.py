"""Alerts of what is wrong in a run by itself: a finding that fails is an alert, grouped by place.

The place is a faulty node, a link, a benchmark, or the run. Three hundred nodes behind one broken
switch are one alert. Who reads it asks the gate for the rest.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from acceptance.alerts import Alert, alert
from acceptance.core.findings import Finding
from acceptance.core.groups import grouped
from acceptance.core.kinds import OF_CABLES, OF_FABRICS, OF_LINKS, OF_PAIRS
from acceptance.core.text import one_line, plural, shortened
from acceptance.fabric.kinds import BENCHMARK as VIEW
from acceptance.fabric.kinds import said
from acceptance.verdict.model import CaseResult, Status, Verdict
from acceptance.verdict.nodes import PartitionNodes, short_names

#: New alerts of a partition beyond which one stands for all of them.
MOST = 10
#: What stands for the whole fabric among the quantities that an alert is compared in.
_FABRIC = "fabric"
#: What of an alert names things that it is about.
_CONCERNED = ("nodes", "cases", "compared")
#: Kinds of what a case fails for that is told of the node where it was seen.
_AT_A_NODE = {"no-bytes", *OF_LINKS, *OF_CABLES}
#: Characters of what an alert says.
_LONGEST = 300


def announce(verdict: Verdict, known: Iterable[Alert]) -> None:
    """Give each problem that no alert tells its alerts, and add these to those of the verdict.

    `known` are the alerts that are open: what is still wrong keeps its id and its beginning.
    """
    opened = {each.id: each for each in known}
    cases = {case.place: case for case in verdict.cases}
    cases |= {case.place: case for case in verdict.cases if not case.passed}
    alerts: dict[str, Alert] = {}
    of_problem: dict[int, list[str]] = {}
    for number, problem in enumerate(verdict.problems):
        if problem.alerts or not problem.row.sent:
            continue
        behind = _failures_behind(problem, verdict)
        found = [each for one in behind or [problem] for each in _of_problem(one, cases, verdict)]
        for each in found:
            alerts[each.id] = _joined(alerts.get(each.id, each), each)
        if behind or not problem.row.unmeasured:
            of_problem[number] = [each.id for each in found]
    alerts |= {each.id: each for each in _away(verdict)}
    for key in alerts.keys() & opened.keys():
        alerts[key] = replace(alerts[key], since=opened[key].since)
    told_by = _summed_up(verdict, alerts, opened)
    for number, keys in of_problem.items():
        ids = _once(told_by[key].id for key in keys)
        verdict.problems[number] = replace(verdict.problems[number], alerts=ids)
    verdict.alerts += {each.id: each for each in told_by.values()}.values()


def _away(verdict: Verdict) -> Iterator[Alert]:
    """Yield an alert of each node that Slurm gives no jobs, with its reason."""
    for place, entry in verdict.nodes.items():
        for node, why in entry.not_up.items():
            yield _alert(verdict, alert.AWAY, place, node, why, nodes=[node])


def _failures_behind(problem: Finding, verdict: Verdict) -> list[Finding]:
    """Return the failures of all cases of suites that measured nothing: they have alerts.

    They are none where a case was skipped, say: then nobody knows why nothing was measured.
    """
    if problem.kind != "nothing-measured":
        return []
    if {case.result for case in verdict.cases if case.suite in problem.place} != {"fail"}:
        return []
    return [each for each in verdict.problems if each.kind == "case-failed"]


def _of_problem(
    problem: Finding, cases: Mapping[str, CaseResult], verdict: Verdict
) -> Iterator[Alert]:
    """Yield the alerts of a problem: of what is behind it where a case failed, else of itself."""
    case = cases.get(problem.place[0]) if problem.place else None
    if problem.kind in OF_PAIRS:
        yield _of_finding(problem, problem.place[0], verdict)
    elif case is None or problem.row.unmeasured:
        kind = alert.UNMEASURED if problem.row.unmeasured else alert.FAILURE
        about = " ".join((problem.kind, *problem.place))
        yield _alert(verdict, kind, verdict.system, about, problem.text, sort=verdict.sort)
    elif behind := _behind(problem, case, verdict):
        for each in behind:
            yield _of_finding(each, case.where.partition("+")[0], verdict)
    else:
        check, text = case.benchmark or case.name, problem.text.removeprefix(f"{case.place}: ")
        if problem.kind != "case-failed":
            check += f" {problem.kind}"
        yield _alert(
            verdict, alert.FAILURE, case.where, check, text, cases=[case.place], nodes=case.nodes
        )


def _behind(problem: Finding, case: CaseResult, verdict: Verdict) -> Sequence[Finding]:
    """Return what a case failed for: its nodes, the whole fabric, or links; none: itself.

    What is wrong at one place of the fabric is one finding.
    """
    if problem.kind != "case-failed":
        return ()
    if case.culprits:
        found = verdict.nodes[case.where.partition("+")[0]].findings
        source = f"all pairs of nodes, {case.where}"
        return [each for each in found if each.fails and each.source == source]
    failing = [each for each in case.findings if each.fails]
    of_fabric = [each for each in failing if each.kind in OF_FABRICS]
    told = of_fabric or [each for each in failing if each.kind in _AT_A_NODE]
    places = grouped(told, lambda each: each.device if of_fabric else each.node)
    if of_fabric:
        return [replace(here[0], text="; ".join(map(said, here))) for here in places.values()]
    return [here[0] for here in places.values()]


def _of_finding(finding: Finding, where: str, verdict: Verdict) -> Alert:
    """Return the alert of nodes, of a link of the whole fabric, or of the links of a node."""
    kind, nodes, compared = alert.FAILURE, finding.nodes, [finding.what]
    check, text = finding.device, finding.text
    if finding.kind in OF_PAIRS:
        # Of a cable these are the ports at its ends.
        nodes = nodes or tuple(finding.device.split(" - "))
        check = " ".join((finding.kind, "all-pairs", *nodes))
    elif finding.kind in OF_FABRICS:
        nodes, compared = (), [_FABRIC]
    else:
        kind, check, compared = alert.NODE, finding.node, []
        text = text.removeprefix(f"{check}: ")
    return _alert(verdict, kind, where, check, text, nodes=nodes, compared=compared)


def _alert(
    verdict: Verdict,
    kind: str,
    where: str,
    check: str,
    text: str,
    *,
    nodes: Iterable[str] = (),
    cases: Iterable[str] = (),
    compared: Iterable[str] = (),
    parts: Sequence[str] = (),
    sort: str = "",
) -> Alert:
    """Return an alert whose id is that of its kind, its place, its parts and its sort.

    `where` is `system:partition+environ` or its beginning.
    """
    place, _, environ = where.partition("+")
    system, _, partition = place.partition(":")
    words = "\0".join((kind, system, partition, environ, check, *sorted(parts), sort))
    return Alert(
        id=hashlib.sha256(words.encode()).hexdigest()[:12], kind=kind, system=system,
        partition=partition, environ=environ, check=check, since=verdict.time or verdict.given,
        text=one_line(text)[:_LONGEST], nodes=_once(nodes), cases=_once(cases),
        compared=_once(compared), parts=(*parts,), sort=sort,
    )  # fmt: skip


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _joined(first: Alert, second: Alert) -> Alert:
    """Return an alert of the same thing with what both of them show."""
    both = {name: (*getattr(first, name), *getattr(second, name)) for name in _CONCERNED}
    return replace(first, **{name: _once(each) for name, each in both.items()})


def _summed_up(
    verdict: Verdict, alerts: Mapping[str, Alert], opened: Mapping[str, Alert]
) -> dict[str, Alert]:
    """Return id -> the alert that tells it: its own, or one for very many of a partition.

    What has an alert of its own keeps it; what a summary has told stays in it, as long as it lasts.
    """
    told_by = dict(alerts)
    for summary in opened.values():
        parts = [key for key in summary.parts if key in alerts and key not in opened]
        if parts:
            again = _summary(verdict, [alerts[key] for key in parts])
            again = replace(again, id=summary.id, since=summary.since, parts=summary.parts)
            told_by |= dict.fromkeys(parts, again)
    new = [one for key, one in alerts.items() if key not in opened and told_by[key] is one]
    for members in grouped(new, lambda one: (one.system, one.partition)).values():
        if len(members) > MOST:
            told_by |= dict.fromkeys((each.id for each in members), _summary(verdict, members))
    return told_by


def _summary(verdict: Verdict, members: Sequence[Alert]) -> Alert:
    first = members[0]
    return _alert(
        verdict,
        alert.MANY,
        f"{first.system}:{first.partition}",
        plural(len(members), "failure"),
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
        if not all(
            place in viewed if what == _FABRIC else entry.has_ended(what, each.nodes)
            for what in each.compared
        ):
            return False
        if each.cases or each.kind == alert.NODE or (each.nodes and each.kind == alert.MANY):
            seen = {node for place in each.cases for node in passed.get(place, ())}
            if each.kind != alert.FAILURE:
                seen |= links
            return passed.keys() >= {*each.cases} and seen >= short_names(each.nodes)
        if each.compared:
            return True
        return verdict.sort == each.sort and verdict.status != Status.CANNOT_JUDGE

    return looked
