"""`verdict/outputs.py`: verdicts for machines and for people."""

import xml.etree.ElementTree as xml
from datetime import datetime

import pytest
from msgspec import structs

from acceptance.core.findings import Finding
from acceptance.core.kinds import GUIDELINES, QUESTIONS
from acceptance.machine import without_case
from acceptance.verdict.model import CaseResult, Status, Verdict
from acceptance.verdict.nodes import Paired, PartitionNodes
from acceptance.verdict.outputs import junit, verdict_text
from tests import made_nodes

GREEN = {
    "session": "1f3a",
    "system": "made",
    "host": "login1",
    "time": "2026-11-20T22:00:00",
    "elapsed": 12.5,
    "history": {"judged": 3, "cannot_judge": "", "stale": 0},
    "guidelines": {"compared": 3, "violated": 0},
    "nodes": {
        "made:qdr": PartitionNodes(
            "made:qdr", count=8, benchmarked=made_nodes.NAMES,
            all_pairs=(Paired(**structs.asdict(made_nodes.measured()), environment="gcc"),),
        )
    },
}  # fmt: skip


def read(verdict):
    """Return the suite as the readers of the field see it, after what their schemas ask for."""
    text = junit(verdict)
    suite = xml.fromstring(text)
    assert suite.tag == "testsuite"
    assert set(suite.attrib) == {
        *("name", "hostname", "timestamp", "time", "tests", "failures", "errors", "skipped")
    }
    datetime.fromisoformat(suite.get("timestamp"))
    assert float(suite.get("time")) >= 0
    cases = suite.findall("testcase")
    tags = [child.tag for child in suite]
    assert tags == ["properties", *["testcase"] * len(cases), "system-out", "system-err"]
    for name, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
        assert int(suite.get(name)) == len(suite.findall(f"testcase/{tag}"))
    assert int(suite.get("tests")) == len(cases)
    for case in cases:
        assert {"name", "classname", "time"} <= set(case.attrib)
        assert len(case) <= 1
        assert all(child.get("message") for child in case)
    return suite, {case.get("name"): [child.tag for child in case] for case in cases}


def test_a_green_verdict_has_no_answer_but_yes():
    _, answers = read(Verdict(**GREEN))
    assert answers == {question: [] for question in QUESTIONS}


@pytest.mark.parametrize("count", ["violated", "undecided"])
def test_an_mpi_with_violations_that_fail_nothing_does_not_follow_the_guidelines(count):
    told = {"compared": 3, "suspected": 1, count: 1}
    _, answers = read(Verdict(**{**GREEN, "guidelines": told}))
    assert {question for question, tags in answers.items() if tags} == {GUIDELINES}
    assert answers[GUIDELINES] == ["skipped"]


def test_a_question_has_one_failure_that_tells_all_of_its_problems():
    verdict = Verdict(**GREEN)
    for number in range(3):
        verdict.fail("case-failed", f"case {number}")
    verdict.fail("left-out", "and more")
    verdict.fail("missing-metrics", "no bandwidth")
    suite, answers = read(verdict)
    assert [name for name, tags in answers.items() if tags] == [
        "every case passed",
        "every metric was measured",
    ]
    first, second = suite.findall("testcase/failure")
    assert (first.get("type"), first.get("message")) == (
        "case-failed left-out",
        "case 0 (and 3 more)",
    )
    assert first.text == "case 0\ncase 1\ncase 2\nand more"
    assert (second.get("message"), second.text) == ("no bandwidth", "no bandwidth")


def test_what_nobody_knows_of_nodes_is_not_answered_with_yes():
    entry = GREEN["nodes"]["made:qdr"]
    one = structs.replace(entry, benchmarked=("node1",), all_pairs=())
    _, answers = read(Verdict(**{**GREEN, "nodes": {"made:qdr": one}}))
    assert [name for name, tags in answers.items() if tags == ["skipped"]] == [
        "every node was looked at and benchmarked", "no node is worse than the others",
    ]  # fmt: skip
    verdict = Verdict(**GREEN)
    verdict.fail("node-slow", "made:qdr: node2 is slow", "made:qdr", "node2")
    _, answers = read(verdict)
    assert answers["no node is worse than the others"] == ["failure"]


@pytest.mark.parametrize(
    ("status", "tag"), [(Status.CANNOT_JUDGE, "error"), (Status.FAILED, "failure")]
)
def test_where_no_session_was_read_no_question_is_answered_with_yes(status, tag):
    verdict = Verdict()
    verdict.fail("no-run", "results.db: no such file")
    verdict.status = status
    _, answers = read(verdict)
    first, *others = QUESTIONS
    assert answers == {first: [tag], **{other: ["skipped"] for other in others}}


def test_what_xml_and_ascii_cannot_hold():
    verdict = Verdict(**{**GREEN, "host": "login\x1b1", "system": "Köln"})
    verdict.fail("case-failed", "\x1b[31mred\x00 & <µs> \ud800\ufffe")
    text = junit(verdict)
    assert text.isascii()
    suite, _ = read(verdict)
    assert suite.get("name").endswith("Köln")
    assert suite.find("testcase/failure").text == r"\x1b[31mred\x00 & <µs> \ud800\ufffe"


def test_the_text_fits_a_terminal_and_says_how_to_see_what_is_cut():
    verdict = Verdict(**GREEN)
    verdict.add(without_case("npb.py", "made", "get it with: " + "an MPI and more, " * 10))
    verdict.fail("case-failed", "too slow, " * 100)
    for number in range(30):
        verdict.fail("case-failed", f"case {number}")
    path = "/a" * 60
    verdict.notes.append(f"a path stays whole: {path}")
    lines = verdict_text(verdict).splitlines()
    assert [line for line in lines if len(line) > 100] == [f"{'':12}{path}"]
    assert sum(" ... (--format json shows all)" in line for line in lines) == 1
    assert "PROBLEM     case 18" in lines
    assert "PROBLEM     case 19" not in lines
    assert "PROBLEM     ... and 11 more: --format json shows all" in lines


def test_how_a_suite_is_got_is_said_once_at_the_end():
    verdict = Verdict(**GREEN)
    verdict.findings += [
        without_case("osu.py", "made", "nothing provides OSU here", "get it with: spack"),
        without_case("balance.py", "made", "nothing provides OSU here", "get it with: spack"),
        without_case("npb.py", "made", "nothing provides NPB here", "get it with: gfortran"),
        without_case("old.py", "made", "told before there was a remedy"),
    ]
    lines = verdict_text(verdict).splitlines()
    assert "not run     npb.py: nothing provides NPB here" in lines
    assert lines[-4:-2] == [
        "to do       osu.py, balance.py: get it with: spack",
        "to do       npb.py: get it with: gfortran",
    ]


def test_what_to_do_about_what_failed_is_said_once():
    verdict = Verdict(**GREEN)
    for node in ("node1", "node2"):
        seen = Finding("link-rate", f"{node}: SDR", True, (node,), "mlx5_0/1", place=(node,))
        case = CaseResult("made:qdr+first", f"LinkCheck {node}", "fail", findings=(seen,))
        verdict.cases.append(case)
        verdict.fail("case-failed", "fail", case.place)
    verdict.fail("lost", "ReFrame lost a case: its remedy is in its message")
    (line,) = (line for line in verdict_text(verdict).splitlines() if line.startswith("to do"))
    assert line.startswith("to do       link-rate: reseat the cable at both ends, then replace it")


def test_the_text_has_a_line_for_each_problem_whatever_a_program_printed():
    verdict = Verdict(**GREEN)
    verdict.fail("case-failed", "first\nVERDICT: pass\x1b[2J µs")
    lines = verdict_text(verdict).splitlines()
    assert "PROBLEM     first VERDICT: pass [2J µs" in lines
    assert lines[-1] == "VERDICT: FAIL, 1 problem"
