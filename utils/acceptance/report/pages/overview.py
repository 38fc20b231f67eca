"""The first page: may it be signed, what is wrong and since when, and what nobody looked at."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from msgspec.structs import replace

from acceptance.alerts import Alert
from acceptance.core.findings import Finding, merged
from acceptance.core.text import natural, plural
from acceptance.report import addresses
from acceptance.report.pages.fabric import leaves
from acceptance.report.plot_model import Page
from acceptance.report.runs import Outcome, Ran, Run, since, software, told
from acceptance.report.source import Place, Source
from acceptance.verdict import Verdict, of_case, short_name

#: Cases of a change, and findings of a kind, that are listed; the sessions have all of them.
SHOWN = 10
#: Severity of a finding -> the class of its style.
LOOKS = {"critical": "bad", "major": "bad", "minor": "open", "info": "none"}
#: Nodes that a finding makes red at most: of more of them nobody knows which one it was. None of
#: them is green.
_BLAMED = 2
#: Kinds of findings that say that nobody looked, and not what was seen.
_UNLOOKED = {
    *("not-provided", "links-not-judged", "fabric-not-looked"),
    *("limited", "not-benchmarked", "pairs-not-measured", "nodes-left-out"),
}


class Line(NamedTuple):
    """A finding as the page tells it: `link` is the address of its case."""

    finding: Finding
    text: str
    link: str = ""
    alert: Alert | None = None


class Node(NamedTuple):
    """A node of the picture: what became of it, in words too, and the anchor of its finding."""

    name: str
    outcome: Outcome
    text: str
    link: str = ""


class Standing(NamedTuple):
    """A partition, the newest run with a case of it (None: there is none), and those cases."""

    place: Place
    run: Run | None
    cases: Sequence[Ran]
    #: Leaf switch (empty: not known) -> its nodes.
    leaves: Mapping[str, Sequence[Node]]
    #: A finding that is red names some of its nodes.
    blamed: bool

    @property
    def outcome(self) -> Outcome:
        """Return the word for the partition: green only if nothing is red, and some is judged."""
        found = {each.outcome for each in self.cases}
        found |= {Outcome.RED} if self.blamed else set()
        order = Outcome.RED, Outcome.GREEN, Outcome.NOT_JUDGED
        return next((each for each in order if each in found), Outcome.NOT_MEASURED)

    @property
    def nodes(self) -> dict[Outcome, list[Node]]:
        """Return its nodes by what became of them, the red ones first."""
        every = sorted((node for nodes in self.leaves.values() for node in nodes),
                       key=lambda node: natural(node.name))  # fmt: skip
        first = Outcome.RED, Outcome.NOT_MEASURED, Outcome.NOT_JUDGED, Outcome.GREEN
        return {each: [node for node in every if node.outcome is each] for each in first}


def page(source: Source, empty: Iterable[Page]) -> Page:
    """Return the first page; it is made last, and tells what other pages could not read."""
    newest = source.runs[0] if source.runs else None
    current, verdict = source.current, newest.verdict if newest else None
    if current is not None and not source.chosen and source.system in (None, current.system):
        verdict = current
    run = next((each for each in source.runs if each.verdict is verdict), None)
    # The run before the newest one that measured the same things.
    alike = (each for each in source.runs[1:] if each.selection == source.runs[0].selection)
    before = next(alike, None)
    places = {f"{ran.case.name} @{ran.case.where}": ran for ran in run.cases} if run else {}
    alerts = _alerts(source, verdict)
    lines = [
        line
        for line in map(partial(_line, places, alerts), _wrong(run, verdict))
        if not (line.alert and line.alert.acknowledged)
    ]
    groups = [[*listed] for _, listed in groupby(lines, lambda each: each.finding.kind)]
    seen = {line.alert.id for line in lines if line.alert}
    of_leaf = {system: leaves(source, system) for system in {p.system for p in source.measured}}
    context = {
        "newest": newest,
        "run": run,
        "source": source,
        "verdict": verdict,
        "sentence": _sentence(verdict, [line.finding for line in lines]),
        "groups": groups,
        "looks": LOOKS,
        "alerts": [each for each in alerts if each.id not in seen],
        # Alerts that the run before did not have.
        "new": {each.id for each in alerts
                if before and each.opened and each.opened.timestamp() > before.end},
        "standings": [_standing(source, place, verdict, groups, of_leaf[place.system])
                      for place in source.places if place.system in of_leaf],
        "others": [place.name for place in source.places if place.system not in of_leaf],
        "unseen": [each for each in verdict.everything if each.kind in _UNLOOKED]
                  if verdict else [],
        "empty": empty,
        "changes": _changes(newest, before),
        "before": before,
        "protocols": {data.get("campaign") for _, data, _ in source.protocols},
        "versions": sorted(software(ran.case for ran in newest.cases).items()) if newest else (),
        "shown": SHOWN,
    }  # fmt: skip
    simulated = bool(newest) and all(place.simulated for place in source.measured)
    named = addresses.INDEX, "Overview", "overview.html.j2", "Overview"
    return Page(*named, context, simulated=simulated)


def _alerts(source: Source, verdict: Verdict | None) -> list[Alert]:
    """Return the open alerts of the selected system, those that nobody acknowledged first."""
    found = {each.id: each for each in (source.alerts.alerts if source.alerts else ())}
    if verdict is not None and source.is_own:
        found = {each.id: each for each in (*verdict.alerts, *verdict.acknowledged)} | found
    own = [each for each in found.values() if source.system in (None, each.finding.system)]
    return sorted(own, key=lambda each: (each.acknowledged is not None, each.finding.since))


def _wrong(run: Run | None, verdict: Verdict | None) -> list[Finding]:
    """Return what is wrong in a run, the worst first."""
    if verdict is None:
        every = run.cases if run else ()
        return merged(each for ran in every for case in ran.executions for each in of_case(case))
    failing = {each.id for each in verdict.problems} | {each.kind for each in verdict.problems}
    seen = [
        # It spoils no night that a node is not up.
        replace(each, severity="minor") if each.kind == "node-absent" and each.id not in failing
        else each
        for each in verdict.everything
        if each.kind not in _UNLOOKED or each.kind in failing
    ]  # fmt: skip
    return merged(seen)


def _line(places: Mapping[str, Ran], alerts: Sequence[Alert], finding: Finding) -> Line:
    """Return a finding with its case, its alert, and what was found where and expected."""
    ran = places.get(finding.source) or places.get(finding.what.partition(" of ")[2])
    link = addresses.session(ran.session.uuid, ran.number) if ran else ""
    alert = next((each for each in alerts if _tells(each, finding)), None)
    if alert and alert.finding.of_history:
        return Line(finding, alert.line, link, alert)
    failed = finding.what == finding.source  # then nothing else is expected than that it runs
    expected = f", expected {finding.expected}" if finding.expected and not failed else ""
    what = "" if finding.what in finding.found else f"{finding.what}: "
    return Line(finding, f"{what}{finding.found}{expected}", link, alert)


def _tells(alert: Alert, finding: Finding) -> bool:
    """Tell whether an alert is of a finding: by its id, its case, its nodes, or its words."""
    told = alert.finding
    if told.of_history:
        return alert.id in finding.alerts
    if alert.cases:
        return finding.source in alert.cases
    if told.nodes:
        return {*finding.nodes} == {*told.nodes} and finding.kind != "guideline"
    said = f"{told.device} {told.text}"
    return bool(finding.found) and finding.what in said and finding.found in said


def _sentence(verdict: Verdict | None, wrong: Sequence[Finding]) -> str:
    """Say in a sentence whether what was measured may be signed, and if not, why."""
    if verdict is None:
        return "Nobody has judged what was measured last: there is nothing to sign."
    count = Counter(finding.severity for finding in wrong)
    worst = {severity: count[severity] for severity in LOOKS if severity != "info"}
    words = ", ".join(f"{number} {severity}" for severity, number in worst.items() if number)
    findings = f"{words} finding{'s' * (sum(worst.values()) > 1)}" if words else ""
    if verdict.status:
        return f"Not to be signed: {findings or plural(len(verdict.problems), 'problem')}."
    away = sum(len(each.not_up) for each in verdict.nodes.values())
    beside = [findings] * bool(findings)
    beside += [f"{plural(number, noun)} not {done}" for number, noun, done in (
        (away, "node", "up"), (len(verdict.files_not_run), "check file", "run")) if number
    ]  # fmt: skip
    but = f"; but see: {', '.join(beside)}" if beside else ""
    if told(verdict)[1] != "good":
        return f"Nothing to sign: nothing could judge what was measured{but}."
    return f"Nothing that was judged is wrong{but}."


def _standing(
    source: Source, place: Place, verdict: Verdict | None, groups: Sequence[Sequence[Line]],
    of_leaf: Mapping[str, str],
) -> Standing:  # fmt: skip
    key = place.system, place.partition
    run = next((each for each in source.runs if key in each.places), None)
    cases = run.of(*key) if run else []
    newest = run.verdict if run else None
    if newest is not verdict:  # of an older run, the findings have no place on this page
        groups = []
    # The worst that blames a node tells more than what it is only one of many in.
    named = sorted(
        ((number, line.finding) for number, lines in enumerate(groups, 1) for line in lines
         if line.finding.severity != "info"),
        key=lambda each: len(each[1].nodes) > _BLAMED,
    )  # fmt: skip
    worst: dict[str, tuple[int, Finding]] = {}
    for number, finding in named:
        for name in map(short_name, finding.nodes):
            worst.setdefault(name, (number, finding))
    found: dict[str, list[Node]] = {}
    judged = _judged(source.runs, place, newest, cases)
    for name, outcome in judged.items():
        text, link = outcome.value, ""
        if name in worst:
            number, finding = worst[name]
            many = len(finding.nodes) > _BLAMED
            if LOOKS[finding.severity] == "bad" and not many:
                outcome = Outcome.RED
            elif outcome is Outcome.GREEN:
                outcome = Outcome.NOT_JUDGED
            several = f" of {len(finding.nodes)} nodes" * many
            text, link = f"{outcome.value}, {finding.kind}{several}", f"#wrong-{number}"
        found.setdefault(of_leaf.get(name, ""), []).append(Node(name, outcome, text, link))
    leaves = dict(sorted(found.items(), key=lambda one: natural(one[0])))
    red = {name for _, finding in named if LOOKS[finding.severity] == "bad"
           for name in map(short_name, finding.nodes)}  # fmt: skip
    blamed = not judged.keys().isdisjoint(red)
    return Standing(place, run, cases, leaves, blamed)


def _judged(
    runs: Sequence[Run], place: Place, verdict: Verdict | None, cases: Sequence[Ran]
) -> dict[str, Outcome]:
    """Return what became of each node of a partition in these cases, but for findings, by name."""
    known = [run.verdict.nodes[place.name] for run in runs
             if run.verdict and place.name in run.verdict.nodes]  # fmt: skip
    found = {name: Outcome.NOT_MEASURED for each in known for name in (*each.known, *each.not_up)}
    for ran in cases:
        if ran.outcome is not Outcome.NOT_MEASURED:
            found |= dict.fromkeys(ran.case.nodes, Outcome.NOT_JUDGED)
    for ran in cases:
        if ran.outcome is Outcome.GREEN:
            found |= dict.fromkeys(ran.case.nodes, Outcome.GREEN)
    if verdict and (own := verdict.nodes.get(place.name)):
        unjudged = {each.place for each in verdict.findings if each.kind == "links-not-judged"}
        judged = [*own.compared, *own.looked_at * ((place.name,) not in unjudged)]
        found |= dict.fromkeys(judged, Outcome.GREEN)
        found |= dict.fromkeys(own.not_up, Outcome.NOT_MEASURED)
    short = {short_name(name): outcome for name, outcome in found.items()}
    return {name: short[name] for name in sorted(short, key=natural)}


def _changes(newest: Run | None, before: Run | None) -> dict[str, list[Any]]:
    """Return what changed since the run before, by a word for it: cases, and software."""
    if newest is None or before is None:
        return {}
    old, new = (
        software(ran.case for ran in each.cases if ran.outcome is not Outcome.NOT_MEASURED)
        for each in (before, newest)
    )
    texts = [
        f"{suite}: {word} {text}"
        for suite in sorted(old.keys() & new.keys())
        for word, found in (("new", new[suite] - old[suite]), ("gone", old[suite] - new[suite]))
        for text in sorted(found)
    ]
    return {**since(before, newest), **({"software": texts} if texts else {})}
