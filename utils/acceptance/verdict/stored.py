"""Verdicts that are kept, one file a run or campaign, with their alerts and what is acknowledged.

A finding that fails is an alert, grouped by place: a faulty node, a link, a benchmark, or the run.
Three hundred nodes behind one broken switch are one alert. Who reads it asks the gate for the rest.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from acceptance.alerts import AT_A_NODE, AWAY, MANY, Ack, Alert, Notification, notify
from acceptance.core import state_files
from acceptance.core.findings import Finding
from acceptance.core.groups import grouped
from acceptance.core.kinds import OF_FABRICS, OF_PAIRS
from acceptance.core.paths import Workspace, named
from acceptance.core.state_files import StoredFault
from acceptance.core.text import one_line, plural, shortened
from acceptance.fabric.kinds import BENCHMARK as VIEW
from acceptance.fabric.kinds import said
from acceptance.verdict.model import ACCEPT, CaseResult, Status, Verdict
from acceptance.verdict.nodes import PartitionNodes, short_names


def path_of(workspace: Workspace, key: str) -> Path:
    """Return the file of a verdict: `key` is a session, or the id of a campaign."""
    return workspace.verdicts / f"{key}.json"


def keep(workspace: Workspace, key: str, verdict: Verdict) -> None:
    """Store a verdict; raises StoredFault."""
    state_files.write(path_of(workspace, key), verdict)


def read(workspace: Workspace, key: str) -> Verdict | None:
    """Return a verdict that was kept, as it was given; None where there is none.

    Raises StoredFault for one that cannot be read.
    """
    path = path_of(workspace, key)
    try:
        data = state_files.read(path)
        return None if data is None else Verdict.of_data(data)
    except ValueError as err:
        raise StoredFault(f"{path}: no verdict: {err}") from None


def settle(verdict: Verdict, workspace: Workspace, now: datetime, *, send: bool = False) -> None:
    """Give a new verdict its alerts, and let those that are acknowledged fail nothing.

    With `send` what is new is sent; without it nothing is written. An acceptance has a protocol:
    of its findings only incidents of the history are alerts.
    """
    folder, named_by = workspace.alerts, workspace.named_by
    verdict.problems = [
        replace(problem, text=named(problem.text, named_by)) for problem in verdict.problems
    ]
    try:
        known = notify.listing(now, folder).alerts
    except StoredFault:  # reported when it is compared
        known = []
    tell = verdict.sort != ACCEPT
    if tell:
        announce(verdict, known)
    alerts = [
        replace(each, finding=replace(each.finding, text=named(each.finding.text, named_by)))
        for each in _alerts(verdict)
    ]
    looked = looked_at(verdict, {verdict.system})

    def judged(each: Alert) -> bool:
        return (tell or each.finding.of_history) and looked(each)

    try:
        if send:
            outcome = notify.update(alerts, now, folder, judged=judged, named_by=named_by)
        else:
            outcome = notify.preview(alerts, now, folder, judged=judged)
    except StoredFault as err:
        verdict.fail("alerts", str(err))
        outcome = Notification(open=alerts)
    _apply(verdict, outcome, now)
    verdict.notes += _of_expected(verdict, outcome.acks, now)
    verdict.notes += [f"ended: {each.line} [{each.id}]" for each in outcome.ended]
    verdict.notes += [f"alert sent to {name}" for name in outcome.delivered]
    verdict.notes += [f"alerts: {text}" for text in outcome.faults]
    verdict.notes = [named(note, named_by) for note in verdict.notes]


def reconsider(verdict: Verdict, workspace: Workspace, now: datetime) -> None:
    """Let acknowledgements that were made, or have ended, since a verdict was given count in it.

    What an acceptance has concluded stays: its protocol may be signed.
    """
    if verdict.outcome:
        return
    try:
        outcome = notify.preview(_alerts(verdict), now, workspace.alerts, judged=lambda _: False)
    except StoredFault as err:
        verdict.fail("alerts", str(err))
        return
    verdict.notes += [f"alerts: {text}" for text in outcome.notes]
    _apply(verdict, outcome, now)


def _alerts(verdict: Verdict) -> list[Alert]:
    """Return all alerts of a verdict, whether or not they were acknowledged."""
    return [*verdict.alerts, *verdict.acknowledged]


def _apply(verdict: Verdict, outcome: Notification, now: datetime) -> None:
    """Sort alerts and problems by what is acknowledged, and judge by what is left."""
    expected = [ack for ack in outcome.acks if ack.expected and verdict.sort != ACCEPT]
    verdict.expected = {
        place: max(holding, key=lambda ack: ack.until).text
        for place in _own_failures(verdict)
        if (holding := [ack for ack in expected if ack.holds(now) and ack.fits(place)])
    }
    verdict.alerts = outcome.open
    verdict.acknowledged = outcome.acknowledged
    acknowledged = {each.id for each in outcome.acknowledged}

    def is_excused(problem: Finding) -> bool:
        if problem.kind == "case-failed" and verdict.expected.keys() >= {*problem.place}:
            return bool(problem.place)
        return bool(problem.alerts) and acknowledged.issuperset(problem.alerts)

    problems = [*verdict.problems, *verdict.excused]
    verdict.problems = [problem for problem in problems if not is_excused(problem)]
    verdict.excused = [problem for problem in problems if is_excused(problem)]
    if verdict.status != Status.CANNOT_JUDGE:
        verdict.status = Status.FAILED if verdict.problems else Status.PASSED


def _own_failures(verdict: Verdict) -> list[str]:
    """Return the cases that failed by themselves, not for a link, a node or the fabric."""
    cases = {case.place: case for case in verdict.cases if case.result == "fail"}
    failed = [each for each in (*verdict.problems, *verdict.excused) if each.kind == "case-failed"]
    return [
        place
        for each in failed
        for place in each.place
        if place in cases and not _behind(each, cases[place], verdict)
    ]


def _of_expected(verdict: Verdict, acks: Iterable[Ack], now: datetime) -> Iterator[str]:
    """Tell of failures that somebody expects what the verdict shows beside them.

    What passed all the same is a finding. A pattern that no case matches is told of a night: a run
    by hand may be of a few cases.
    """
    failing, ran = _own_failures(verdict), {case.place for case in verdict.cases}
    passed = {case.place for case in verdict.cases if case.passed} - {
        case.place for case in verdict.cases if not case.passed
    }
    for ack in (ack for ack in acks if ack.expected):
        mine = [place for place in failing if ack.fits(place)]
        if not ack.holds(now):
            told = f"no longer {ack.text}"
            yield from (f"{told}: {place}" for place in mine if place not in verdict.expected)
        elif verdict.sort == ACCEPT:
            yield from (f"{ack.text}; an acceptance counts it: {place}" for place in mine)
        elif well := sorted(filter(ack.fits, passed)):
            text = f"passed, though {ack.text}: {shortened(well)}"
            verdict.add(Finding("unexpected-pass", text, what=ack.what, place=(ack.what,)))
            yield text
        elif verdict.sort and not any(map(ack.fits, ran)) and ack.is_of(verdict.system):
            yield f"no case of this run is {ack.what!r}, {ack.text}"


#: New alerts of a partition beyond which one stands for all of them.
MOST = 10
#: What stands for the whole fabric among the quantities that an alert is compared in.
_FABRIC = "fabric"
#: Characters of what an alert says.
_LONGEST = 600


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
        alerts[key] = _of(alerts[key], since=opened[key].finding.since)
    told_by = _summed_up(verdict, alerts, opened)
    for number, keys in of_problem.items():
        ids = _once(told_by[key].id for key in keys)
        verdict.problems[number] = replace(verdict.problems[number], alerts=ids)
    verdict.alerts += {each.id: each for each in told_by.values()}.values()


def _away(verdict: Verdict) -> Iterator[Alert]:
    """Yield an alert of each node that gets no jobs, with the reason of its scheduler."""
    for place, entry in verdict.nodes.items():
        for node, why in entry.not_up.items():
            yield _alert(verdict, Finding(AWAY, why, nodes=(node,)), place, node)


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
        about = " ".join((problem.kind, *problem.place))
        yield _alert(verdict, problem, verdict.system, about, sort=verdict.sort)
    elif behind := _behind(problem, case, verdict):
        for each in behind:
            yield _of_finding(each, case.where.partition("+")[0], verdict)
    else:
        check, text = case.benchmark or case.name, problem.text.removeprefix(f"{case.place}: ")
        if problem.kind != "case-failed":
            check += f" {problem.kind}"
        failed = replace(problem, text=text, nodes=case.nodes)
        yield _alert(verdict, failed, case.where, check, cases=[case.place])


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
    told = of_fabric or [each for each in failing if each.kind in AT_A_NODE]
    places = grouped(told, lambda each: each.device if of_fabric else each.node)
    if of_fabric:
        return [replace(here[0], text="; ".join(map(said, here))) for here in places.values()]
    return [here[0] for here in places.values()]


def _of_finding(finding: Finding, where: str, verdict: Verdict) -> Alert:
    """Return the alert of nodes, of a link of the whole fabric, or of the links of a node."""
    nodes, compared, check, text = finding.nodes, [finding.what], finding.device, finding.text
    if finding.kind in OF_PAIRS:
        # Of a cable these are the ports at its ends.
        nodes = nodes or tuple(finding.device.split(" - "))
        check = " ".join((finding.kind, "all-pairs", *nodes))
    elif finding.kind in OF_FABRICS:
        nodes, compared = (), [_FABRIC]
    else:
        check, compared = finding.node, []
        text = text.removeprefix(f"{check}: ")
    return _alert(
        verdict, replace(finding, text=text, nodes=nodes), where, check, compared=compared
    )


def _alert(
    verdict: Verdict,
    finding: Finding,
    where: str,
    check: str,
    *,
    cases: Iterable[str] = (),
    compared: Iterable[str] = (),
    parts: Sequence[str] = (),
    sort: str = "",
) -> Alert:
    """Return the alert of a finding of a `check`, a node, or whatever else is concerned.

    Its id is that of its category, its place, its parts and its sort. `where` is
    `system:partition+environ` or its beginning.
    """
    told = replace(
        finding, where=where, device=check, what="", since=verdict.time or verdict.given,
        text=one_line(finding.text)[:_LONGEST], nodes=_once(finding.nodes),
    )  # fmt: skip
    alert = Alert("-", told, _once(cases), _once(compared), (*parts,), sort)
    words = "\0".join((alert.category, where, check, *sorted(parts), sort))
    return replace(alert, id=hashlib.sha256(words.encode()).hexdigest()[:12])


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _of(alert: Alert, **changes: Any) -> Alert:
    """Return an alert with its finding changed."""
    return replace(alert, finding=replace(alert.finding, **changes))


def _joined(first: Alert, second: Alert) -> Alert:
    """Return an alert of the same thing with what both of them show."""
    return replace(
        _of(first, nodes=_once((*first.finding.nodes, *second.finding.nodes))),
        cases=_once((*first.cases, *second.cases)),
        compared=_once((*first.compared, *second.compared)),
    )


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
            again = replace(again, id=summary.id, parts=summary.parts)
            again = _of(again, since=summary.finding.since)
            told_by |= dict.fromkeys(parts, again)
    new = [one for key, one in alerts.items() if key not in opened and told_by[key] is one]
    for members in grouped(new, lambda one: one.finding.partition).values():
        if len(members) > MOST:
            told_by |= dict.fromkeys((each.id for each in members), _summary(verdict, members))
    return told_by


def _summary(verdict: Verdict, members: Sequence[Alert]) -> Alert:
    first = members[0].finding
    names = shortened(each.finding.device for each in members)
    nodes = tuple(node for each in members for node in each.finding.nodes)
    return _alert(
        verdict,
        Finding(MANY, f"{names}; of {first.device}: {first.text}", fails=True, nodes=nodes),
        first.partition,
        plural(len(members), "failure"),
        cases=[case for each in members for case in each.cases],
        compared=[what for each in members for what in each.compared],
        parts=[each.id for each in members],
        sort=members[0].sort,
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
        finding = each.finding
        if finding.system not in systems:
            return False
        if finding.of_history:
            return True
        place = finding.partition
        entry = verdict.nodes.get(place, PartitionNodes(place))
        if finding.kind == AWAY:  # the scheduler was asked
            return bool(entry.known) and entry.not_up.keys().isdisjoint(finding.nodes)
        if not all(
            place in viewed if what == _FABRIC else entry.has_ended(what, finding.nodes)
            for what in each.compared
        ):
            return False
        at_nodes = finding.kind in AT_A_NODE or (finding.kind == MANY and bool(finding.nodes))
        if each.cases or at_nodes:
            seen = {node for place in each.cases for node in passed.get(place, ())}
            if at_nodes:
                seen |= links
            return passed.keys() >= {*each.cases} and seen >= short_names(finding.nodes)
        if each.compared:
            return True
        return verdict.sort == each.sort and verdict.status != Status.CANNOT_JUDGE

    return looked
