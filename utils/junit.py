"""Verdicts as JUnit XML, for the pages of continuous integration.

Form: one `testsuite`, a `testcase` for each question that the verdict answers, with a `failure` for
each problem; `skipped` where it cannot be answered yet. The elements are those that Jenkins, GitLab
and GitHub's actions read (the schema of Apache Ant's JUnit task).
"""

from xml.etree import ElementTree as xml

from utils.gate import CANNOT_JUDGE, Problem, Verdict
from utils.incidents import KINDS

#: Question -> the kinds of problems that answer it with no; the first one takes all other kinds.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "everything that was selected was run and stored": (),
    "every case passed": ("case-failed", "left-out", "unfinished"),
    "every metric was measured": ("nothing-measured", "no-metrics", "impossible-value"),
    "nothing became worse": tuple(KINDS),
    "the MPI is sound": ("guideline", "guidelines"),
}


def junit(verdict: Verdict) -> str:
    """Return a verdict as XML."""
    answers: dict[str, list[Problem]] = {question: [] for question in QUESTIONS}
    first = next(iter(answers))
    for problem in verdict.problems:
        asked = (question for question, kinds in QUESTIONS.items() if problem.kind in kinds)
        answers[next(asked, first)].append(problem)
    word = "error" if verdict.status == CANNOT_JUDGE else "failure"
    suite = xml.Element(
        "testsuite",
        name=f"interconnect acceptance of {verdict.system or 'no system'}",
        tests=str(len(answers)),
        hostname=verdict.host,
        time=f"{verdict.elapsed:.3f}",
    )
    if verdict.time:
        suite.set("timestamp", verdict.time)
    skipped = 0
    for question, problems in answers.items():
        case = xml.SubElement(suite, "testcase", classname="acceptance", name=question, time="0")
        for problem in problems:
            answer = xml.SubElement(case, word, type=problem.kind, message=_text(problem.message))
            answer.text = _text(problem.message)
        if not problems and (reason := _not_asked(question, verdict)):
            skipped += 1
            xml.SubElement(case, "skipped", message=_text(reason))
    failed = sum(bool(problems) for problems in answers.values())
    suite.set("failures", str(failed if word == "failure" else 0))
    suite.set("errors", str(failed if word == "error" else 0))
    suite.set("skipped", str(skipped))
    notes = [f"{verdict.ran} of {verdict.selected} cases run", *verdict.notes]
    xml.SubElement(suite, "system-out").text = _text("\n".join(notes))
    xml.indent(suite)
    return xml.tostring(suite, encoding="unicode", xml_declaration=True)


def _not_asked(question: str, verdict: Verdict) -> str:
    """Say why a question without a problem has no answer either; empty if it is yes."""
    if question == "nothing became worse" and not verdict.history.get("judged"):
        return str(verdict.history.get("cannot_judge") or "no history was read")
    if question == "the MPI is sound" and not verdict.guidelines.get("compared"):
        return "nothing that could be compared was measured"
    return ""


def _text(text: str) -> str:
    """Return text without the characters that XML cannot hold, as terminal escapes are."""
    return "".join(char if char in "\t\n" or char >= " " else "?" for char in text)
