"""`verdict/model.py`: verdicts as data, and how what several runs did adds up."""

import json

import msgspec
import pytest

from acceptance.core.findings import Finding
from acceptance.machine import without_case
from acceptance.verdict import Run, Status, SuiteUse, Verdict, guidelines_text, judge_cases
from acceptance.verdict.conclude import judge_whole
from tests import stored
from tests.made import Case, Database


def test_a_verdict_is_plain_data():
    verdict = Verdict(system="made")
    verdict.fail("case-failed", "A: failed", "A")
    data = json.loads(json.dumps(verdict.as_data()))
    assert (data["verdict"], data["status"]) == ("fail", 1)
    (problem,) = data["problems"]
    # A program finds each field in each one.
    assert problem.keys() == set(Finding.__struct_fields__)
    assert {name: value for name, value in problem.items() if value} == {
        "kind": "case-failed", "text": "A: failed", "fails": True, "place": ["A"], "source": "gate",
    }  # fmt: skip


def test_a_verdict_is_read_back_and_nothing_else_is():
    verdict = Verdict(suites=[SuiteUse("imb", ("s:p+x",), ("IMB 2021.11",), 2)])
    data = json.loads(msgspec.json.encode(verdict))
    assert Verdict.of_data(data) == verdict
    without = {name: value for name, value in data.items() if name not in ("notes", "status")}
    use = {**data["suites"][0], "colour": "red"}
    for other, said in (
        (without, "it has no status, notes"),
        ({**data, "colour": "red"}, "unknown field `colour`"),
        ({**data, "status": 3}, r"Invalid enum value 3 - at `\$.status`"),
        ({**data, "suites": [use]}, r"unknown field `colour` - at `\$.suites"),
    ):
        with pytest.raises(ValueError, match=said):
            Verdict.of_data(other)


def test_what_cannot_be_judged_stays_so():
    verdict = Verdict()
    verdict.cannot_judge("unreadable-database", "no such file", "x.db")
    verdict.fail("case-failed", "A")
    assert verdict.status is Status.CANNOT_JUDGE
    assert verdict.as_data()["verdict"] == "cannot-judge"


def test_what_several_sessions_did_adds_up(tmp_path):
    def case(name, environment, suite="imb", **more):
        metrics = {"bandwidth_8": (100.0, "MB/s")}
        return Case(name, metrics, environment=environment, suite=suite, **more)

    database = Database(tmp_path / "results.db")
    database.add([case("A", "x"), case("B", "x", result="abort")], uuid="a")
    database.add([case("A", "y"), case("C", "y", suite="osu")], uuid="b")
    whole = Verdict()
    for session in reversed([*stored.sessions(database.path)]):
        judge_cases(whole, session)
    assert (whole.session, whole.system) == ("a b", "made")
    assert (whole.selected, whole.passed, whole.not_run, whole.recorded) == (4, 3, 1, 3)
    assert [(use.suite, use.environments, use.cases) for use in whole.suites] == [
        ("imb", ("made:compute+x", "made:compute+y"), 3),
        ("osu", ("made:compute+y",), 1),
    ]


def test_what_several_runs_say_is_said_once_and_the_worst_counts():
    whole = Verdict(notes=["a note", "a note"])
    for _ in range(2):
        whole.fail("lost", "a warning")
    judge_whole(whole, Run())
    assert (whole.status, whole.notes) == (Status.FAILED, ["a note"])
    assert whole.problems == [Finding("lost", "a warning", fails=True, source="gate")]


@pytest.mark.parametrize(("suites", "stays"), [(["fabric"], True), (["fabric", "imb"], False)])
def test_options_that_left_out_a_suite_are_told_where_nothing_but_links_is_left(suites, stays):
    whole = Verdict(suites=[SuiteUse(suite, (), (), 1) for suite in suites])
    whole.fail("no-cases", "-n PingPong selects nothing", "npb")
    whole.fail("no-cases", "nothing is selected")
    judge_whole(whole, Run())
    told = [problem.text for problem in whole.problems]
    assert told == ["-n PingPong selects nothing"] * stays + ["nothing is selected"]


def test_a_check_file_is_left_out_only_if_no_run_has_it():
    whole = Verdict(check_files=["fabric.py", "imb.py"])
    whole.findings = [without_case("npb.py", "made", "no compiler")]
    names = ("imb.py", "npb.py", "osu.py")
    whole.not_selected = dict.fromkeys(names, "--mode=maintenance")
    whole.not_selected["osu.py"] = "-n PingPong"
    judge_whole(whole, Run())
    # Not what left all but the links out of their own run.
    assert whole.not_selected == {"osu.py": "-n PingPong"}
    assert whole.files_not_run == ["npb.py", "osu.py"]


def test_what_no_step_ran_is_no_green_campaign():
    whole = Verdict()
    judge_whole(whole, Run(id="nightly", not_run={"imb": "interrupted"}, without_suite=True))
    assert whole.status == Status.FAILED
    assert [problem.kind for problem in whole.problems] == ["no-suite", "step-not-run"]


@pytest.mark.parametrize(
    ("sort", "again"),
    [("", "acceptance gate"), ("nightly", "acceptance nightly"), ("accept", "")],
)
def test_what_is_undecided_is_told_with_the_command_that_decides_it(sort, again):
    """The gate measures nothing of a campaign again, and an acceptance nothing at all."""
    counts = {"compared": 9, "suspected": 2, "undecided": 2}
    decides = again and f"; {again} --again 8 decides"
    told = f"2 possible violations in 9 comparisons, undecided{decides}"
    assert guidelines_text(counts, sort) == told
    counts |= {"noise": 1, "undecided": 1}
    goes_on = again and f"; {again} --again 8 goes on"
    told = f"0 violated in 9 comparisons; 1 of 2 suspicions were noise, 1 undecided{goes_on}"
    assert guidelines_text(counts, sort) == told
    counts |= {"noise": 2, "undecided": 0}
    assert guidelines_text(counts, sort).endswith("2 of 2 suspicions were noise")
