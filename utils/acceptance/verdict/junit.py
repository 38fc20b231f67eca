"""Verdicts as JUnit XML, for the pages of continuous integration.

Form: one `testsuite`, a `testcase` for each question that the verdict answers, with one `failure`
that lists all of its problems, a line each (readers show one only); `skipped` where there is no
answer. The elements are those that Jenkins, GitLab and GitHub's actions read (the schema of Apache
Ant's JUnit task).
"""

import re
from datetime import datetime
from xml.etree import ElementTree as xml

from acceptance.alerts import KINDS
from acceptance.verdict.model import Problem, Status, Verdict

#: https://www.w3.org/TR/xml/#charsets
_NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: Question -> the kinds of problems that answer it with no; the first one takes all other kinds.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "everything that was selected was run and stored": (),
    "every case passed": ("case-failed", "off-baseline", "left-out", "unfinished"),
    "every metric was measured": (
        *("nothing-measured", "no-metrics", "missing-metrics", "impossible-value"),
    ),
    "nothing became worse": tuple(KINDS),
    "the MPI follows the guidelines": ("guideline", "guidelines"),
}


def junit(verdict: Verdict) -> str:
    """Return a verdict as XML."""
    answers: dict[str, list[Problem]] = {question: [] for question in QUESTIONS}
    first = next(iter(answers))
    for problem in verdict.problems:
        asked = (question for question, kinds in QUESTIONS.items() if problem.kind in kinds)
        answers[next(asked, first)].append(problem)
    word = "error" if verdict.status == Status.CANNOT_JUDGE else "failure"
    suite = xml.Element(
        "testsuite",
        name=_text(f"interconnect acceptance of {verdict.system or 'no system'}"),
        tests=str(len(answers)),
        hostname=_text(verdict.host or "unknown"),
        time=f"{verdict.elapsed:.3f}",
        timestamp=verdict.time or datetime.now().isoformat(timespec="seconds"),
    )
    properties = xml.SubElement(suite, "properties")
    for name in ("session", "command", "database"):
        xml.SubElement(properties, "property", name=name, value=_text(getattr(verdict, name)))
    skipped = 0
    for question, problems in answers.items():
        case = xml.SubElement(suite, "testcase", classname="acceptance", name=question, time="0")
        if problems:
            kinds = " ".join(dict.fromkeys(problem.kind for problem in problems))
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            message = _text(problems[0].message) + more
            answer = xml.SubElement(case, word, type=kinds, message=message)
            answer.text = _text("\n".join(problem.message for problem in problems))
        elif reason := _not_asked(question, verdict):
            skipped += 1
            xml.SubElement(case, "skipped", message=_text(reason))
    failed = sum(bool(problems) for problems in answers.values())
    suite.set("failures", str(failed if word == "failure" else 0))
    suite.set("errors", str(failed if word == "error" else 0))
    suite.set("skipped", str(skipped))
    left_out = [f"{each.check}: not selected by {each.options}" for each in verdict.not_selected]
    notes = [f"{verdict.ran} of {verdict.selected} cases run", *left_out, *verdict.notes]
    xml.SubElement(suite, "system-out").text = _text("\n".join(notes))
    xml.SubElement(suite, "system-err")
    xml.indent(suite)
    # As ASCII it is the same in whatever encoding it is printed.
    text: bytes = xml.tostring(suite, encoding="us-ascii", xml_declaration=True)
    return text.decode()


def _not_asked(question: str, verdict: Verdict) -> str:
    """Say why a question without a problem has no answer either; empty if it is yes."""
    if not verdict.session and question != next(iter(QUESTIONS)):
        return "no session was read"
    if question == "nothing became worse" and not verdict.history.get("judged"):
        return str(verdict.history.get("cannot_judge") or "no history was read")
    if question == "the MPI follows the guidelines" and not verdict.guidelines.get("compared"):
        return "nothing that could be compared was measured"
    return ""


def _text(text: str) -> str:
    """Return text without the characters that XML cannot hold, as terminal escapes are."""
    return _NO_XML.sub("?", text)
