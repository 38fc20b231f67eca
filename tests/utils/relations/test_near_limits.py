"""Cases near the limits of their references: all of their runs are judged together."""

from dataclasses import replace

import pytest

from acceptance.ledger import Case, Metric, Session
from acceptance.regressions import judge as regressions
from acceptance.regressions.judge import Judgement
from acceptance.relations import near_limits
from acceptance.relations.near_limits import CANNOT_TELL, FAILS, PASSES
from acceptance.verdict import Evidence, Nodes, Verdict
from acceptance.verdict.cases import judge_cases
from acceptance.verdict.remeasured import add
from acceptance.verdict.rules import in_question, judge_near_limits
from tests import made
from tests.places import REFERENCE, workspace
from tests.stored import opened

NAME = "OsuMpi %benchmark=bw %np=2 %placement=inter-node"
PLACE = f"{NAME} @made:compute+spack-openmpi"


def run(value, **more):
    """Return a run that may lie 10 % below 100 MB/s; it passes or fails as ReFrame has it."""
    metric = Metric("bandwidth_8", value, "MB/s", 100.0, -0.1, None, "baseline, 2026", value >= 90)
    fields = {
        "name": NAME, "system": "made", "partition": "compute", "environment": "spack-openmpi",
        "filename": "/checks/osu.py", "suite": "osu", "run_index": 0,
        "result": "pass" if value >= 90 else "fail",
        "fail_phase": "" if value >= 90 else "performance", "fail_reason": "",
        "nodes": ("n1", "n2"), "fixture": False, "benchmark": "osu.bw",
        "keys": {"np": "2", "nodes": "2", "placement": "inter-node"}, "declared": {},
        "provenance": {}, "findings": (), "metrics": (metric,),
    }  # fmt: skip
    return Case(**{**fields, **more})


def sessions(*cases):
    return [Session(f"s{n}", n, n + 1, cases=(case,)) for n, case in enumerate(cases)]


@pytest.fixture(scope="module")
def past(tmp_path_factory):
    """The judgement of a history of forty nights in which this metric scattered by 2 %."""
    database = made.Database(tmp_path_factory.mktemp("past") / "results.db")
    value = made.noisy("past", 95.0, 0.02)
    for night in range(40):
        database.add([made.Case(name=NAME, metrics={"bandwidth_8": (value(night), "MB/s")})])
    return regressions.for_gate(opened(database.path), REFERENCE)


def told(history, *cases):
    first, *again = sessions(*cases)
    return [*near_limits.judge([first], again, lambda: history)]


def test_a_run_within_its_noise_is_in_question_and_one_far_inside_is_not(past):
    assert told(past, run(110.0)) == []
    for value in (91.0, 89.0):
        (near,) = told(past, run(value))
        assert (near.word, near.runs, near.session, near.open) == (CANNOT_TELL, 1, "s0", True)
        assert near.first == (value < 90)


def test_all_runs_together_pass_or_fail_and_say_by_what(past):
    (near,) = told(past, run(89.0), *map(run, (94.0, 95.0, 94.5, 95.5)))
    assert (near.word, near.open, near.first) == (PASSES, False, True)
    assert near.text == (
        "failed in 1 of 5 runs; typically bandwidth_8 is 5 % inside its limit of 90 MB/s "
        "(baseline, 2026): passes, at error 1%"
    )
    (near,) = told(past, *map(run, (89.5, 84.0, 85.0, 85.0, 84.5)))
    assert near.word == FAILS
    assert "failed in 5 of 5 runs; typically bandwidth_8 is 5.6 % beyond" in near.text
    assert near.text.endswith(": worse, at error 1%")
    (near,) = told(past, *map(run, (91.0, 89.0) * 5))
    assert (near.word, near.open, near.first) == (CANNOT_TELL, False, False)
    assert "and a run scatters by 2" in near.text
    assert near.text.endswith("cannot tell at this cost")


def test_a_first_run_without_a_limit_leaves_that_of_the_others(past):
    unjudged = run(95.0)
    bare = replace(unjudged.metrics[0], reference=None, lower=None, judged_by="")
    unjudged = replace(unjudged, metrics=(bare,))
    (near,) = told(past, unjudged, *map(run, (91.0, 89.0) * 5))
    assert near.word == CANNOT_TELL
    assert "its limit of 90 MB/s (baseline, 2026)" in near.text


def test_without_a_past_the_repetitions_tell():
    nothing = Judgement()
    assert told(nothing, run(105.0)) == []
    (near,) = told(nothing, run(91.0))
    assert near.open
    (near,) = told(nothing, run(50.0), *[run(96.0 + n / 10) for n in range(7)])
    assert near.word == PASSES
    (near,) = told(nothing, *[run(80.0 + n / 10) for n in range(6)])
    assert near.word == FAILS


@pytest.mark.parametrize(
    "other",
    [
        {"fail_phase": "sanity"},
        {"result": "fail", "fail_phase": "performance"},
        {"fixture": True},
        {"result": "skip"},
        {"run_index": 1},
        {"declared": {"bandwidth_8": "MB/s", "bandwidth_16": "MB/s"}},
    ],
)
def test_what_is_no_noise_is_in_no_question(past, other):
    value = 95.0 if other.get("fail_phase") == "performance" else 89.0
    assert told(past, run(value, **other), run(95.0)) == []


def test_what_is_better_than_its_reference_allows_stays_failed(past):
    high = run(95.0)
    above = replace(high.metrics[0], value=130.0, upper=0.2)
    high = replace(high, result="fail", fail_phase="performance", metrics=(above,))
    assert told(past, high, run(95.0)) == []


def test_what_has_a_value_that_is_none_stays_failed(past):
    missed = run(89.0)
    for reference in (None, 100.0):
        none = replace(missed.metrics[0], name="bandwidth_16", value=0.0, reference=reference)
        more = run(89.0, metrics=(*missed.metrics, none))
        assert told(past, more, *map(run, (94.0, 95.0, 94.5, 95.5))) == []


def test_the_past_of_what_is_far_inside_is_not_read(past, monkeypatch):
    """In a good night of ten thousand metrics that would take longer than all the rest."""
    monkeypatch.setattr(near_limits, "_noise", None)
    assert told(past, run(130.0)) == []
    assert told(past, run(109.0)) == []
    with pytest.raises(TypeError):
        told(past, run(95.0))


def test_what_never_failed_and_passes_was_in_no_question(past):
    assert told(past, *map(run, (95.0, 94.0, 95.0, 96.0))) == []


def judged(tmp_path, history, *cases, campaign=""):
    """Return the verdict on a run and its repetitions, and what is in question then."""
    first, *again = sessions(*cases)
    evidence = Evidence(workspace(tmp_path), None, [first], "s0", None, Nodes(), "made")
    verdict = Verdict(campaign=campaign)
    judge_cases(verdict, first)
    for session in again:
        other = Verdict()
        judge_cases(other, session)
        add(verdict, other)
    evidence.again = again
    evidence.histories[evidence.newest] = history
    judge_near_limits(verdict, evidence)
    return verdict, in_question(evidence)


def test_what_failed_once_is_counted_as_passed_and_told(tmp_path, past):
    verdict, open_ = judged(tmp_path, past, run(89.0), *map(run, (94.0, 95.0, 94.5, 95.5)))
    assert (verdict.passed, verdict.failed, verdict.selected) == (1, 0, 1)
    assert (verdict.problems, open_) == ([], {})
    (found,) = verdict.findings
    assert (found.kind, found.fails, found.place) == ("near-limit", False, (PLACE,))
    assert found.text in verdict.notes
    assert "failed in 1 of 5 runs" in found.text
    assert {(case.result, case.reason) for case in verdict.cases} == {("pass", "")}
    assert not any(each.fails for case in verdict.cases for each in case.findings)


def test_what_passed_once_and_is_worse_is_counted_as_failed(tmp_path, past):
    verdict, open_ = judged(tmp_path, past, *map(run, (90.5, 84.0, 85.0, 84.0, 84.5)))
    assert (verdict.passed, verdict.failed, verdict.selected) == (0, 1, 1)
    (problem,) = verdict.problems
    assert (problem.kind, problem.place, open_) == ("case-failed", (PLACE,), {})
    assert "failed in 4 of 5 runs" in problem.text
    assert verdict.cases[0].result == "fail"


def test_what_cannot_be_told_stays_what_it_was_and_is_told(tmp_path, past):
    verdict, open_ = judged(tmp_path, past, *map(run, (91.0, 89.0)))
    assert (verdict.passed, verdict.failed, verdict.problems) == (1, 0, [])
    assert open_ == {"s0": [NAME]}
    assert "cannot tell" in verdict.findings[0].text
    verdict, _ = judged(tmp_path, past, *map(run, (89.0, 91.0)))
    assert (verdict.passed, verdict.failed, len(verdict.problems)) == (0, 1, 1)
    assert "cannot tell" in verdict.problems[0].text


def test_what_failed_for_something_else_when_it_was_measured_again_has_failed(tmp_path, past):
    broken = run(95.0, result="fail", fail_phase="sanity", fail_reason="no table")
    for first in (91.0, 89.0):
        verdict, open_ = judged(tmp_path, past, run(first), run(95.0), broken, broken)
        assert (verdict.passed, verdict.failed, verdict.selected, open_) == (0, 1, 1, {})
        last = verdict.problems[-1]
        assert (last.kind, last.place) == ("case-failed", (PLACE,))
        assert last.text == f"when measured again: {PLACE}: fail in sanity: no table"
        assert verdict.findings == []


def test_what_was_measured_once_is_told_in_a_line(tmp_path, past):
    verdict, open_ = judged(tmp_path, past, run(89.0))
    assert (verdict.failed, len(verdict.problems), verdict.findings) == (1, 1, [])
    assert verdict.notes == [
        "1 case near a limit, where one run cannot tell pass from fail "
        f"(--again N measures again): {PLACE}"
    ]
    assert open_ == {"s0": [NAME]}


def test_an_acceptance_counts_each_run_by_itself(tmp_path, past):
    runs = run(89.0), *map(run, (94.0, 95.0, 94.5, 95.5))
    verdict, _ = judged(tmp_path, past, *runs, campaign="accept-2026-11-22")
    assert (verdict.failed, len(verdict.problems), verdict.findings) == (1, 1, [])
    assert verdict.notes == [
        f"1 case near a limit, where one run cannot tell pass from fail: {PLACE}"
    ]
