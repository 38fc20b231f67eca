"""`verdict/model.py`: verdicts as data, and one verdict on several runs."""

import json

import msgspec
import pytest

from acceptance.verdict import Problem, Status, SuiteUse, Unprovided, Verdict, merged
from acceptance.verdict.model import Unselected


def test_a_verdict_is_plain_data():
    verdict = Verdict(system="made")
    verdict.fail("case-failed", "A: failed", "A")
    data = json.loads(json.dumps(verdict.as_data()))
    assert (data["verdict"], data["status"]) == ("fail", 1)
    assert data["problems"] == [
        {"kind": "case-failed", "message": "A: failed", "about": ["A"], "alerts": []}
    ]


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


def test_several_runs_have_the_worst_verdict_and_the_sum_of_what_they_did():
    first, second, third = (
        Verdict(session=name, passed=1, not_run=1, judged={"baseline": 3}, recorded=1)
        for name in ("a", "b", "c")
    )
    first.suites = [SuiteUse("imb", ("s:p+x",), ("IMB 2021.11",), 2)]
    second.suites = [SuiteUse("imb", ("s:p+y",), ("IMB 2021.11",), 1), SuiteUse("osu", (), (), 1)]
    second.system, third.system = "made", "other"
    second.fail("lost", "a warning")
    third.fail("lost", "a warning")
    third.unprovided.append(Unprovided("npb.py", "r"))
    whole = merged([first, second, third])
    assert (whole.status, whole.session, whole.system) == (Status.FAILED, "a b c", "made")
    assert (whole.selected, whole.passed, whole.judged, whole.recorded) == (
        6,
        3,
        {"baseline": 9},
        3,
    )
    assert whole.suites == [
        SuiteUse("imb", ("s:p+x", "s:p+y"), ("IMB 2021.11",), 3),
        SuiteUse("osu", (), (), 1),
    ]
    # What all of them say is said once.
    assert whole.problems == [Problem("lost", "a warning")]
    assert whole.unprovided == [Unprovided("npb.py", "r")]


def test_a_check_file_is_left_out_only_if_no_run_has_it():
    links = Verdict(check_files=["fabric.py"])
    names = ("imb.py", "npb.py", "osu.py")
    links.not_selected = [Unselected(name, "--mode=maintenance") for name in names]
    suite = Verdict(check_files=["imb.py"])
    suite.not_selected = [Unselected("osu.py", "-n PingPong")]
    whole = merged([links, suite, Verdict(unprovided=[Unprovided("npb.py", "no compiler")])])
    assert whole.check_files == ["fabric.py", "imb.py"]
    # Not what left all but the links out of their own run.
    assert whole.not_selected == [Unselected("osu.py", "-n PingPong")]
    assert whole.files_not_run == ["npb.py", "osu.py"]
