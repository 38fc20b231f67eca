"""A verdict as text for a terminal, as JUnit XML, and for Prometheus.

JUnit, for the pages of continuous integration: one `testsuite`, a `testcase` for each question that
the verdict answers, with one `failure` that lists all of its problems, a line each (readers show
one only); `skipped` where there is no answer. Then a `testcase` for each case, with its place as
the class, and why it failed. The elements are those that Jenkins, GitLab and GitHub's actions read
(the schema of Apache Ant's JUnit task).

Prometheus, a text file as node_exporter's textfile collector reads: values are exported as they
were measured, with their `unit` as a label, not converted to base units: a number in a dashboard is
then the number of the report and of the alert. Times of sessions are in s. Source of the format:
https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any, TypeAlias
from xml.etree import ElementTree as xml

from acceptance.alerts import notify
from acceptance.core.findings import Finding
from acceptance.core.kinds import (
    ALIKE,
    GUIDELINES,
    NODES,
    OF_CASES,
    OF_FABRICS,
    OF_LATE,
    OF_RUNS,
    QUESTIONS,
    RUN,
    STEADY,
)
from acceptance.core.text import plural, printable, wrapped
from acceptance.core.words import SIMULATED, is_simulated, sized, split_metric
from acceptance.ledger import Case, Metric, Session
from acceptance.verdict.cases import text_of
from acceptance.verdict.model import COUNTED, CaseResult, Status, Verdict, guidelines_text
from acceptance.verdict.nodes import node_lines

#: Problems, notes and findings that a terminal shows, and lines of each.
SHOWN, LINES = 20, 4
_INDENT = 12
#: Kinds of findings that say why nobody looked.
NOT_LOOKED_AT = ("links-not-judged", "fabric-not-looked")
#: Statuses as people read them.
WORDS = {Status.PASSED: "pass", Status.FAILED: "FAIL", Status.CANNOT_JUDGE: "cannot judge"}


#: What makes of a status and its word what a terminal shows: the word in a colour, say.
Paint: TypeAlias = Callable[[Status, str], str]


def verdict_text(verdict: Verdict, paint: Paint = lambda _, word: word) -> str:
    """Return the summary that ends a run; the verdict is its last line."""
    lines = _lines("SIMULATED", verdict.no_evidence) if verdict.simulated else []
    lines += [line for name, text in _facts(verdict) for line in _lines(name, text)]
    findings = [*verdict.findings, *verdict.problems]
    lines += _listing("finding", [each.text for each in findings if each.kind == "guideline"])
    lines += _listing("note", verdict.notes)
    lines += _listing("known", verdict.known)
    lines += _listing("PROBLEM", [problem.text for problem in verdict.problems])
    lines += _listing("to do", [*_remedies(verdict)])
    return "\n".join([*lines, "", _last_line(verdict, paint)])


def _facts(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if verdict.command:
        yield "command", verdict.command
    if verdict.campaign:
        yield "campaign", verdict.campaign
    when = f"{verdict.time}, {verdict.elapsed:.0f} s, " if verdict.time else ""
    yield "run", f"{when}system {verdict.system or '?'} on host {verdict.host or '?'}"
    if verdict.session:
        yield "session", verdict.session
    if verdict.outcome:
        yield "outcome", f"{verdict.outcome}; an acceptance sends no alerts, its protocol has all"
    for use in verdict.suites:
        version = f" ({', '.join(use.versions)})" if use.versions else ""
        yield (
            "suite",
            f"{use.suite}{version}: {plural(use.cases, 'case')}, "
            + (f"provided by {', '.join(use.environments)}" if use.environments else "none ran"),
        )
    for missing in verdict.unprovided:
        yield "not run", f"{missing.what}: {missing.text}"
    for options in dict.fromkeys(verdict.not_selected.values()):
        names = [check for check, by in verdict.not_selected.items() if by == options]
        yield "not run", f"{', '.join(names)}: not selected by {options}"
    yield "cases", verdict.cases_text
    for partition, told in verdict.fabric.items():
        yield "fabric", f"{partition}: {told}"
    for each in verdict.findings:
        if each.kind in NOT_LOOKED_AT:
            yield each.kind.partition("-")[0], each.text
    for line in node_lines(verdict.nodes.values()):
        yield "nodes", line
    sources = ", ".join(f"{count} by {source}" for source, count in verdict.judged.items())
    yield (
        "metrics",
        f"{sum(verdict.judged.values())} judged{f' ({sources})' if sources else ''}, "
        f"{verdict.recorded} recorded, not judged",
    )
    if verdict.history:
        compared = f"{plural(verdict.history['judged'], 'metric')} compared with their past"
        yield "history", "; ".join(filter(None, (compared, verdict.history["cannot_judge"])))
        if verdict.history.get("together"):
            yield "history", verdict.history["together"]
    if verdict.guidelines.get("compared"):
        yield "guidelines", guidelines_text(verdict.guidelines, verdict.sort)


def _remedies(verdict: Verdict) -> Iterator[str]:
    """Yield what to do about what failed, and how suites are got, each thing once.

    What kept a run from being measured says itself what to do.
    """
    of_checks = [(missing.remedy, missing.place[1]) for missing in verdict.unprovided]
    failing = (each for each in verdict.everything if each.fails)
    of_kinds = [(each.remedy, each.kind) for each in failing if each.kind not in OF_RUNS]
    whose: dict[str, dict[str, None]] = {}
    for remedy, name in (*of_kinds, *of_checks):
        whose.setdefault(remedy, {})[name] = None
    yield from (f"{', '.join(names)}: {remedy}" for remedy, names in whose.items() if remedy)


def _last_line(verdict: Verdict, paint: Paint) -> str:
    begin = f"VERDICT: {paint(verdict.status, WORDS[verdict.status])}"
    begin += ", simulated" if verdict.simulated else ""
    if verdict.status == Status.CANNOT_JUDGE:
        return begin
    if verdict.status != Status.PASSED:
        return f"{begin}, {plural(len(verdict.problems), 'problem')}"
    words = [begin]
    if not verdict.judged:
        words.append("no reference exists that could judge what was measured")
    if expected := verdict.expected_failures + len(verdict.expected):
        words.append(f"{plural(expected, 'case')} failed as expected")
    if verdict.skipped:
        words.append(f"{plural(verdict.skipped, 'case')} skipped")
    if left_out := len(verdict.files_not_run):
        words.append(f"{plural(left_out, 'check file')} not run")
    if away := sum(len(each.not_up) for each in verdict.nodes.values()):
        words.append(f"{plural(away, 'node')} not up")
    if partly := len(verdict.not_everywhere):
        words.append(f"{plural(partly, 'check file')} not on every partition")
    return "; ".join(words)


def _lines(title: str, text: str) -> list[str]:
    return wrapped(title, text, _INDENT, LINES, " ... (--format json shows all)")


def _listing(title: str, messages: list[str]) -> Iterable[str]:
    for message in messages[:SHOWN]:
        yield from _lines(title, message)
    if len(messages) > SHOWN:
        yield from _lines(title, f"... and {len(messages) - SHOWN} more: --format json shows all")


def junit(verdict: Verdict) -> str:
    """Return a verdict as XML.

    Codes of terminals are spelt out: XML cannot hold most of them. All that is left is among
    https://www.w3.org/TR/xml/#charsets.
    """
    suite = xml.Element(
        "testsuite",
        name=printable(
            f"interconnect acceptance of {verdict.system or 'no system'}"
            + (", SIMULATED" if verdict.simulated else "")
        ),
        hostname=printable(verdict.host or "unknown"),
        time=f"{verdict.elapsed:.3f}",
        timestamp=printable(verdict.time) or datetime.now().isoformat(timespec="seconds"),
    )
    properties = xml.SubElement(suite, "properties")
    for name in ("campaign", "session", "command", "database", "outcome"):
        xml.SubElement(properties, "property", name=name, value=printable(getattr(verdict, name)))
    if verdict.simulated:
        xml.SubElement(properties, "property", name=SIMULATED, value=printable(verdict.no_evidence))
    _add_questions(suite, verdict)
    _add_cases(suite, verdict.cases, verdict.expected)
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    left_out = [f"{check}: not selected by {by}" for check, by in verdict.not_selected.items()]
    notes = [verdict.cases_text, *left_out, *verdict.known, *verdict.notes]
    xml.SubElement(suite, "system-out").text = printable("\n".join(notes))
    xml.SubElement(suite, "system-err")
    xml.indent(suite)
    # As ASCII it is the same in whatever encoding it is printed.
    text: bytes = xml.tostring(suite, encoding="us-ascii", xml_declaration=True)
    return text.decode()


def _add_questions(suite: xml.Element, verdict: Verdict) -> None:
    """Add what the verdict as a whole answers."""
    answers: dict[str, list[Finding]] = {question: [] for question in QUESTIONS}
    for problem in verdict.problems:
        answers[problem.row.question].append(problem)
    word = "error" if verdict.status == Status.CANNOT_JUDGE else "failure"
    for question, problems in answers.items():
        case = xml.SubElement(suite, "testcase", classname="acceptance", name=question, time="0")
        if problems:
            kinds = " ".join(dict.fromkeys(problem.kind for problem in problems))
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            message = printable(problems[0].text) + more
            answer = xml.SubElement(case, word, type=printable(kinds), message=message)
            answer.text = printable("\n".join(problem.text for problem in problems))
        elif reason := _not_asked(question, verdict):
            xml.SubElement(case, "skipped", message=printable(reason))


def _add_cases(
    suite: xml.Element, results: Sequence[CaseResult], expected: Mapping[str, str]
) -> None:
    """Add each case once: of one that was repeated the first failure, for it has failed."""
    by_place: dict[str, CaseResult] = {}
    for result in results:
        known = by_place.setdefault(result.place, result)
        if known.passed and not result.passed:
            by_place[result.place] = result
    for result in by_place.values():
        name, where = printable(result.name), printable(result.where)
        case = xml.SubElement(suite, "testcase", classname=where, name=name)
        case.set("time", f"{result.seconds or 0:.3f}")
        if result.passed:
            continue
        if why := expected.get(result.place):
            xml.SubElement(case, "skipped", message=printable(f"{why}: {result.reason}"))
        elif result.result in COUNTED:
            message = ": ".join(filter(None, (COUNTED[result.result][1], result.reason)))
            xml.SubElement(case, "skipped", message=printable(message))
        else:
            reason = printable(result.reason or f"its result is {result.result or 'not known'}")
            kind = printable(result.result or "none")
            failure = xml.SubElement(case, "failure", type=kind, message=reason)
            failure.text = reason


def _not_asked(question: str, verdict: Verdict) -> str:
    """Say why a question without a problem has no answer either; empty if it is yes."""
    if not verdict.session and question != RUN:
        return "no session was read"
    entries = verdict.nodes.values()
    if question == NODES and any(each.missing for each in entries):
        return "; ".join(node_lines(entries)) or "no node was benchmarked"
    if question == ALIKE and not any(each.compared for each in entries):
        return "no nodes were compared with each other"
    if question == STEADY and not verdict.history.get("judged"):
        return str(verdict.history.get("cannot_judge") or "no history was read")
    if question == GUIDELINES and not verdict.guidelines.get("compared"):
        return "nothing that could be compared was measured"
    told = verdict.guidelines.get("undecided") or verdict.guidelines.get("violated")
    if question == GUIDELINES and told:
        return guidelines_text(verdict.guidelines, verdict.sort)
    return ""


#: Labels of everything that is of one metric; `message_size` (bytes) is empty where there is none.
LABELS = ("system", "partition", "environ", "check", "metric", "message_size", "unit")

_OF_VERDICT = ("system", "campaign")

#: Family -> its labels and what it means; all are gauges.
FAMILIES: dict[str, tuple[tuple[str, ...], str]] = {
    "acceptance_metric_value": (LABELS, "Result of what ended last, in the unit of its label."),
    "acceptance_metric_reference": (LABELS, "What the result is judged by, where it is judged."),
    "acceptance_metric_lower_limit": (LABELS, "The smallest result that passes, where there is."),
    "acceptance_metric_upper_limit": (LABELS, "The largest result that passes, where there is."),
    "acceptance_case_passed": (LABELS[:4], "1 if the case passed in the last session, 0 if not."),
    "acceptance_cases": (("system", "result"), "Cases of the last session by their result."),
    "acceptance_link_findings": (
        LABELS[:2],
        "Different findings on the links of the nodes during the last session.",
    ),
    "acceptance_fabric_finding": (
        (*LABELS[:2], "kind", "place"),
        "1 for each fault of the whole fabric in the last session: what it is, and which link.",
    ),
    "acceptance_verdict_status": (
        _OF_VERDICT,
        "Verdict on what ended last, and on the last night (campaign nightly; accept; empty: a run "
        "by hand): 0 pass, 1 failure, 2 cannot judge.",
    ),
    "acceptance_verdict_timestamp_seconds": (
        _OF_VERDICT,
        "When that ended; of a campaign that has not ended, when it last did something.",
    ),
    "acceptance_session_end_timestamp_seconds": (("system",), "When the last session ended."),
    "acceptance_session_duration_seconds": (("system",), "How long the last session took."),
    "acceptance_alerts": (("system", "state"), "Open alerts, by whether they are acknowledged."),
    "acceptance_alert_targets_failing": ((), "Targets that did not take their last message."),
}

#: Verdicts with the sessions that they are on: that on what ended last, then others.
Judged: TypeAlias = Sequence[tuple[Verdict, Sequence[Session]]]
_Samples: TypeAlias = Iterator[tuple[str, tuple[str, ...], float]]


def samples(judged: Judged, kept: notify.Notification) -> _Samples:
    """Yield family, values of its labels, and value; all values are finite.

    Of what several verdicts tell of one system the first one counts. Of a metric that was measured
    repeatedly the last value counts. Values of a case that failed for another reason than its
    performance are left out: they are not what they say.
    """
    every: set[str] = set()
    last: dict[tuple[str, tuple[str, ...]], float] = {}
    for verdict, sessions in reversed(judged):
        last |= {(name, labels): value for name, labels, value in _of_sessions(verdict, sessions)}
        systems = {case.system for session in sessions for case in session.cases}
        every |= systems
        ended = _ended(verdict, sessions)
        for system in sorted(systems) or [verdict.system]:
            of_verdict = system, verdict.sort
            last["acceptance_verdict_status", of_verdict] = verdict.status
            if ended is not None:
                last["acceptance_verdict_timestamp_seconds", of_verdict] = ended
    states = Counter((each.finding.system, each.acknowledged is not None) for each in kept.alerts)
    for system in sorted(every | {system for system, _ in states}):
        last["acceptance_alerts", (system, "open")] = states[system, False]
        last["acceptance_alerts", (system, "acknowledged")] = states[system, True]
    last["acceptance_alert_targets_failing", ()] = len(kept.failures)
    for (family, labels), value in last.items():
        if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
            yield family, labels, value


def _ended(verdict: Verdict, sessions: Sequence[Session]) -> float | None:
    """Return when that ended which a verdict is on (s since the epoch), if it is known.

    A run by hand is judged whenever somebody asks: its last session says when it ended.
    """
    if not verdict.campaign and sessions:
        return max(session.end for session in sessions)
    return datetime.fromisoformat(verdict.given).timestamp() if verdict.given else None


def _of_sessions(verdict: Verdict, sessions: Sequence[Session]) -> _Samples:
    """Yield what the sessions of one verdict measured: of a case that several have, the last.

    Of a case near a limit, of which all runs were judged together, the verdict has the result.
    """
    decided = verdict.decided
    latest: dict[tuple[str, str, int], Case] = {}
    for session in sorted(sessions, key=lambda session: session.end):
        for case in session.cases:
            if not case.fixture:
                result = decided.get(text_of(case), case.result)
                latest[case.name, case.where, case.run_index] = replace(case, result=result)
    cases = sorted(latest.values(), key=lambda case: case.run_index)
    for system in sorted({case.system for session in sessions for case in session.cases}):
        end = max(session.end for session in sessions)
        yield "acceptance_session_end_timestamp_seconds", (system,), end
        elapsed = sum(session.elapsed for session in sessions)
        yield "acceptance_session_duration_seconds", (system,), elapsed
        first = [case for case in cases if case.system == system and case.run_index == 0]
        results_of = Counter(case.result for case in first)
        for result in sorted({"pass", "fail", "skip", *results_of}):
            yield "acceptance_cases", (system, result), results_of[result]
    findings: dict[tuple[str, str], set[str]] = {}
    for case in cases:
        findings.setdefault((case.system, case.partition), set()).update(
            finding.text
            for finding in case.findings
            if not finding.fails and finding.kind not in {*OF_CASES, *OF_FABRICS, *OF_LATE}
        )
        for finding in case.findings:
            if finding.fails and finding.kind in OF_FABRICS:
                place = (case.system, case.partition, finding.kind, finding.device)
                yield "acceptance_fabric_finding", place, 1.0
        labels = (case.system, case.partition, case.environment, case.name)
        if case.result != "skip":
            yield "acceptance_case_passed", labels, float(case.passed)
        if case.passed or case.fail_phase == "performance":
            yield from _of_case(case, labels)
    for where, found in findings.items():
        yield "acceptance_link_findings", where, len(found)


def _of_case(case: Case, labels: tuple[str, ...]) -> _Samples:
    for metric in case.metrics:
        stem, size = split_metric(metric.name)
        of_metric = (*labels, stem, "" if size is None else str(size), metric.unit)
        for what, value in _numbers(metric):
            yield f"acceptance_metric_{what}", of_metric, value


def _numbers(metric: Metric) -> Iterator[tuple[str, float]]:
    yield "value", metric.value
    names = ("reference", "lower_limit", "upper_limit")
    for what, number in zip(names, (metric.reference, *metric.bounds), strict=True):
        if number is not None:
            yield what, number


def labels_of(family: str, values: Sequence[str]) -> dict[str, str]:
    """Return the labels of a sample of a family; of a simulated system one more says so.

    To Prometheus a label that is missing is the same as an empty one: `{simulated=""}` selects what
    was measured.
    """
    labels = {name: printable(text) for name, text in zip(FAMILIES[family][0], values, strict=True)}
    return labels | ({SIMULATED: "yes"} if is_simulated(labels.get("system", "")) else {})


def prometheus(judged: Judged, kept: notify.Notification) -> str:
    """Return the text; the textfile collector reads only names that end in `.prom`."""
    from prometheus_client import generate_latest
    from prometheus_client.core import GaugeMetricFamily

    families = {name: GaugeMetricFamily(name, text) for name, (_, text) in FAMILIES.items()}
    for name, values, value in samples(judged, kept):
        families[name].add_sample(name, labels_of(name, values), value)
    found = [family for family in families.values() if family.samples]
    collected: Any = SimpleNamespace(collect=lambda: found)  # all that it asks of a registry
    return generate_latest(collected).decode()


#: Characters of the name of a measure at most, as Bencher takes it.
_LONGEST_MEASURE = 64


def bencher(verdict: Verdict, sessions: Sequence[Session]) -> tuple[dict[str, Any], list[str]]:
    """Return what was measured as Bencher Metric Format, and what its names cannot hold.

    A benchmark is a case, `NAME @system:partition+environment`, a measure a metric with its unit,
    for example `latency_8 (us)`: the format has no place for a unit. `lower_value` and
    `upper_value` are the limits that judge the value, where there are any. Source of the format:
    https://bencher.dev/docs/reference/bencher-metric-format/
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    left_out: dict[str, None] = {}
    parts = {
        "acceptance_metric_value": "value",
        "acceptance_metric_lower_limit": "lower_value",
        "acceptance_metric_upper_limit": "upper_value",
    }
    for family, labels, value in samples([(verdict, sessions)], notify.Notification()):
        if family not in parts:
            continue
        system, partition, environment, check, metric, size, unit = map(printable, labels)
        measure = f"{sized(metric, int(size)) if size else metric} ({unit})"
        if len(measure) > _LONGEST_MEASURE:
            left_out[measure] = None
            continue
        benchmark = f"{check} @{system}:{partition}+{environment}"
        found.setdefault(benchmark, {}).setdefault(measure, {})[parts[family]] = value
    return found, [*left_out]
