"""`verdict/cases.py`: what became of each case, counted once, and told alike everywhere."""

import json
from xml.etree import ElementTree as xml

import pytest

from acceptance.verdict import conclude, junit, verdict_text
from tests.made import Case, Database
from tests.places import workspace

METRICS = {"bandwidth_8": (100.0, "MB/s")}


@pytest.fixture
def judged(tmp_path):
    """Return the verdict on a session of these cases."""

    def verdict(*cases):
        made = Database(tmp_path / "results.db")
        made.add(cases)
        return conclude(workspace(tmp_path), database=made.path)

    return verdict


def made(name, result="pass", **more):
    return Case(name=name, result=result, metrics=dict(METRICS), **more)


def numbers(verdict):
    names = ("passed", "failed", "expected_failures", "skipped", "not_run")
    return tuple(getattr(verdict, name) for name in names)


def test_the_cases_of_an_interrupted_run_are_in_exactly_one_number(judged):
    verdict = judged(
        made("Build OpenMPI", fixture=True),
        made("Build MPICH", "abort", fixture=True, environment="spack-mpich"),
        made("A", "abort"),
        made("B", "abort", environment="spack-mpich"),
        made("C", "fail_deps"),
        made("D", "<unknown>"),
        made("E", "skip"),
        made("F", "xfail"),
        made("G", "fail"),
        made("H"),
    )
    assert numbers(verdict) == (2, 1, 1, 1, 5)
    assert (verdict.selected, verdict.ran, verdict.builds) == (10, 4, 2)
    said = (
        "10 cases: 2 passed, 1 failed, 1 failed as expected, 1 skipped, 5 not run; "
        "2 builds among them"
    )
    assert verdict.cases_text == said
    assert said in verdict_text(verdict).replace("\n            ", " ")
    data = json.loads(json.dumps(verdict.as_data()))
    assert [data[name] for name in ("selected", "ran", "not_run")] == [10, 4, 5]
    suite = xml.fromstring(junit(verdict))
    assert suite.findtext("system-out").startswith(said)
    tags = {
        case.get("name"): [child.tag for child in case]
        for case in suite.findall("testcase")
        if case.get("classname") != "acceptance"
    }
    assert tags == {
        **{name: [] for name in ("Build OpenMPI", "H")},
        **{name: ["skipped"] for name in ("Build MPICH", *"ABCDEF")},
        "G": ["failure"],
    }


@pytest.mark.parametrize("results", [("fail", "pass"), ("fail", "abort"), ("pass", "fail")])
def test_a_case_that_was_repeated_is_one_case_and_failed(judged, results):
    verdict = judged(*(made("A", each, run_index=n) for n, each in enumerate(results)))
    assert numbers(verdict) == (0, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("results", "is_said"),
    [(("fail", "pass"), True), (("fail", "fail"), False), (("pass", "fail"), False)],
)
def test_what_passed_when_it_was_repeated_is_said(judged, results, is_said):
    verdict = judged(*(made("A", each, run_index=n) for n, each in enumerate(results)))
    (text, *_) = [each.text for each in verdict.problems if each.kind == "case-failed"]
    assert ("passed when it was repeated" in text) == is_said


def test_a_result_that_nobody_knows_is_a_failure(judged):
    verdict = judged(made("A", "exploded"))
    assert numbers(verdict) == (0, 1, 0, 0, 0)
    assert "case-failed" in {problem.kind for problem in verdict.problems}


def test_a_suite_is_provided_by_the_environments_in_which_a_case_ran(judged):
    built = {"fail_phase": "compile", "fail_reason": "no compiler"}
    verdict = judged(
        made("A"),
        made("A", "abort", environment="spack-mpich"),
        made("B", "fail_deps", environment="spack-mpich"),
        made("B", "fail", environment="own", more=built),
        made("C", "abort", suite="imb"),
    )
    osu, imb = verdict.suites
    assert (osu.environments, osu.cases) == (("made:compute+spack-openmpi",), 4)
    assert (imb.environments, imb.cases) == ((), 1)
    assert "imb (OSU 7.5): 1 case, none ran" in verdict_text(verdict)


def test_a_run_of_which_a_patch_does_not_tell_is_not_green(judged):
    lost = {"kind": "unpatched", "text": "nobody knows whether it was alone", "what": "a:b"}
    verdict = judged(made("A", findings=(lost,)), made("B", findings=(lost,)))
    assert [(each.kind, each.text) for each in verdict.problems] == [("unpatched", lost["text"])]
    assert verdict.problems[0].place == ("a:b",)
    assert not any("nobody knows" in note for note in verdict.notes)
