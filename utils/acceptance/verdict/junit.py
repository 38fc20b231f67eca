"""Verdicts as JUnit XML, for the pages of continuous integration.

Form: one `testsuite`, a `testcase` for each question that the verdict answers, with one `failure`
that lists all of its problems, a line each (readers show one only); `skipped` where there is no
answer. Then a `testcase` for each case, with its place as the class, and why it failed. The
elements are those that Jenkins, GitLab and GitHub's actions read (the schema of Apache Ant's JUnit
task).
"""

from collections.abc import Sequence
from datetime import datetime
from xml.etree import ElementTree as xml

from acceptance.core.findings import Finding
from acceptance.core.kinds import ALIKE, GUIDELINES, NODES, QUESTIONS, RUN, STEADY
from acceptance.core.text import printable
from acceptance.core.words import SIMULATED
from acceptance.verdict.model import COUNTED, CaseResult, Status, Verdict
from acceptance.verdict.nodes import node_lines


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
        timestamp=verdict.time or datetime.now().isoformat(timespec="seconds"),
    )
    properties = xml.SubElement(suite, "properties")
    for name in ("campaign", "session", "command", "database", "outcome"):
        xml.SubElement(properties, "property", name=name, value=printable(getattr(verdict, name)))
    if verdict.simulated:
        xml.SubElement(properties, "property", name=SIMULATED, value=printable(verdict.no_evidence))
    _add_questions(suite, verdict)
    _add_cases(suite, verdict.cases)
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
            answer = xml.SubElement(case, word, type=kinds, message=message)
            answer.text = printable("\n".join(problem.text for problem in problems))
        elif reason := _not_asked(question, verdict):
            xml.SubElement(case, "skipped", message=printable(reason))


def _add_cases(suite: xml.Element, results: Sequence[CaseResult]) -> None:
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
        if result.result in COUNTED:
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
    return ""
