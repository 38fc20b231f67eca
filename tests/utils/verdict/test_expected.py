"""Failures that a site expects until a day: told everywhere, and failures again after it."""

import xml.etree.ElementTree as xml
from datetime import datetime, timedelta, timezone

import pytest

from acceptance.alerts import acknowledgements
from acceptance.core.errors import Fault
from acceptance.core.findings import Finding
from acceptance.core.paths import ROOT, Workspace
from acceptance.report.runs import Outcome, Run, outcome
from acceptance.verdict import CaseResult, Status, Verdict, stored
from acceptance.verdict.outputs import junit, verdict_text
from tests import made
from tests.stored import session

NOW = datetime(2026, 11, 22, 6, tzinfo=timezone.utc)
UNTIL = "2026-12-01"
WHERE = "made:batch+openmpi"
PATTERN = "ImbMpi1 Bcast* @made:*"
SAID = f"expected to fail until {UNTIL} by jo: the MPI has a bug"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "jo")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return Workspace(ROOT, tmp_path, tmp_path, ())


def expect(workspace, what=PATTERN, until=UNTIL):
    return acknowledgements.add(
        what, "the MPI has a bug", until, (), NOW, workspace.alerts, expected=True
    )


def case(name, result="fail", **more):
    return CaseResult(
        WHERE, f"ImbMpi1 {name}", result, "imb", f"imb.{name[:5]}", "too slow",
        nodes=("node1",), measured=True, **more,
    )  # fmt: skip


def judged(workspace, *cases, campaign="nightly-1", now=NOW, send=True):
    """Return the verdict on these cases, with alerts sent."""
    verdict = Verdict(system="made", campaign=campaign, time="2026-11-22T01:00:00")
    for each in cases:
        verdict.cases.append(each)
        if each.passed:
            verdict.passed += 1
        else:
            verdict.failed += 1
            verdict.fail("case-failed", f"{each.place}: fail: {each.reason}", each.place)
    stored.settle(verdict, workspace, now, send=send)
    return verdict


def test_an_expected_failure_fails_nothing_and_is_told_everywhere(workspace):
    expect(workspace)
    failed, passed = case("Bcast 8"), case("Alltoall", "pass")
    verdict = judged(workspace, failed, passed)
    assert (verdict.status, verdict.problems) == (Status.PASSED, [])
    assert verdict.expected == {failed.place: SAID}
    (alert,) = verdict.acknowledged
    text = " ".join(verdict_text(verdict).split())
    assert "1 passed, 0 failed, 1 failed as expected" in text
    assert f"known {SAID}: {WHERE} imb.Bcast" in text
    assert "VERDICT: pass;" in text
    assert "; 1 case failed as expected" in text
    suite = xml.fromstring(junit(verdict))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (skipped,) = suite.findall(f"testcase[@name='{failed.name}']/skipped")
    assert skipped.get("message") == f"{SAID}: too slow"
    assert verdict.decided == {failed.place: "xfail"}, "as reports and Prometheus count it"
    assert alert.acknowledged.text == SAID


def test_after_its_day_it_is_a_failure_again_and_the_verdict_says_what_was_expected(workspace):
    expect(workspace)
    failed = case("Bcast 8")
    first = judged(workspace, failed)
    last = judged(workspace, failed, now=NOW + timedelta(days=9))
    assert last.status == Status.PASSED, "the day itself belongs to it"
    over = NOW + timedelta(days=10)
    verdict = judged(workspace, failed, now=over)
    assert (verdict.status, verdict.expected) == (Status.FAILED, {})
    assert [each.kind for each in verdict.problems] == ["case-failed"]
    assert [each.id for each in verdict.alerts] == [each.id for each in first.acknowledged]
    assert f"no longer {SAID}: {failed.place}" in verdict.notes
    assert "0 passed, 1 failed, 0 skipped" in verdict.cases_text
    stored.reconsider(first, workspace, over)
    assert (first.status, first.expected) == (Status.FAILED, {}), "a stored verdict, too"


def test_a_stored_verdict_says_that_alerts_cannot_be_read(workspace):
    verdict = judged(workspace, case("Bcast 8", "pass"))
    assert verdict.status == Status.PASSED
    state = workspace.alerts / "state.json"
    state.mkdir(parents=True)
    stored.reconsider(verdict, workspace, NOW)
    assert verdict.status == Status.FAILED
    (problem,) = verdict.problems
    assert (problem.kind, str(state) in problem.text) == ("alerts", True)


def test_a_case_that_passes_all_the_same_is_a_finding(workspace):
    expect(workspace)
    verdict = judged(workspace, case("Bcast 8", "pass"), case("Bcast 64"))
    (finding,) = verdict.findings
    assert (finding.kind, finding.fails) == ("unexpected-pass", False)
    assert finding.text == f"passed, though {SAID}: ImbMpi1 Bcast 8 @{WHERE}"
    assert finding.text in verdict.notes
    assert "ack --remove" in finding.row.remedy
    assert list(verdict.expected) == [f"ImbMpi1 Bcast 64 @{WHERE}"]


def test_only_what_it_is_said_of_is_expected(workspace):
    expect(workspace, "ImbMpi1 Bcast 8 @made:*")
    expected, other = case("Bcast 8"), case("Bcast 64")
    verdict = judged(workspace, expected, other)
    assert verdict.status == Status.FAILED
    assert [each.place for each in verdict.problems] == [(other.place,)]
    assert [each.place for each in verdict.excused] == [(expected.place,)]
    assert [each.finding.device for each in verdict.alerts] == ["imb.Bcast"], "of both, and open"
    assert f"{SAID}: {expected.place}" in verdict.known


def test_a_broken_link_is_no_expected_failure(workspace):
    expect(workspace)
    seen = Finding("link-rate", "node1: port down", fails=True, nodes=("node1",))
    verdict = judged(workspace, case("Bcast 8", findings=(seen,)))
    assert (verdict.status, verdict.expected) == (Status.FAILED, {})
    assert [each.category for each in verdict.alerts] == ["node"]


@pytest.mark.parametrize(
    ("campaign", "what", "told"),
    [("nightly-1", "ImbMpi1 Bcats @made:*", True), ("nightly-1", "ImbMpi1 Bcats @other:*", False),
     ("", "ImbMpi1 Bcats @made:*", False)],
)  # fmt: skip
def test_a_night_says_which_pattern_no_case_matches(workspace, campaign, what, told):
    expect(workspace, what)
    verdict = judged(workspace, case("Bcast 8", "pass"), campaign=campaign)
    text = f"no case of this run is {what!r}, {SAID}"
    assert (text in verdict.notes) == told


def test_an_acceptance_counts_what_somebody_expects_and_tells_it(workspace):
    expect(workspace)
    failed = case("Bcast 8")
    verdict = judged(workspace, failed, campaign="accept-1")
    assert (verdict.status, verdict.expected) == (Status.FAILED, {})
    assert f"{SAID}; an acceptance counts it: {failed.place}" in verdict.notes


@pytest.mark.parametrize(
    ("what", "until", "words"),
    [("imb.Bcast", UNTIL, "names no case: write NAME @system:partition"),
     ("* @made:*", UNTIL, "no pattern may excuse whatever fails"),
     (PATTERN, "2026-11-22", "is not in the future"), (PATTERN, "2027-11-30", "more than a year")],
)  # fmt: skip
def test_what_names_no_case_or_never_ends_is_refused(workspace, what, until, words):
    with pytest.raises(Fault, match=words):
        expect(workspace, what, until)


def test_the_command_the_gate_and_the_report(site, tmp_path):
    database = made.Database(tmp_path / "results.db")
    slow = made.Case(name="OsuMpi %benchmark=bw", result="fail")
    good = made.Case(name="OsuMpi %benchmark=bibw", metrics={"bandwidth_8": (1.0, "MB/s")})
    database.add([slow, good])
    until = str((datetime.now() + timedelta(days=60)).date())
    words = ("--reason", "firmware is late", "--until", until, "--expected")
    done = site.acceptance("alerts", "ack", "OsuMpi*=bw @made:*", *words, USER="jo")
    assert (done.status, done.errors) == (0, ""), done
    assert f"expected to fail until {until} by jo: firmware is late" in done.output
    assert "expected to fail" in site.acceptance("alerts", "ack").output
    status, verdict = site.gate("--db", tmp_path / "results.db")
    assert (status, verdict["problems"]) == (0, [])
    assert list(verdict["expected"]) == ["OsuMpi %benchmark=bw @made:compute+spack-openmpi"]
    ran = Run((session(tmp_path / "results.db"),), Verdict.of_data({
        name: value for name, value in verdict.items() if name in Verdict.__struct_fields__
    }))  # fmt: skip
    assert {each.case.name: each.outcome for each in ran.cases} == {
        slow.name: Outcome.NOT_JUDGED, good.name: Outcome.NOT_JUDGED,
    }  # fmt: skip
    assert outcome(session(tmp_path / "results.db").cases[:1]) is Outcome.RED, "but for the mark"


def test_a_verdict_that_is_kept_is_read_as_it_was_given(workspace):
    given = judged(workspace, case("Bcast 8"))
    assert stored.read(workspace, "nightly-1") is None
    stored.keep(workspace, "nightly-1", given)
    again = stored.read(workspace, "nightly-1")
    assert (again.status, again.problems, again.cases) == (
        given.status, given.problems, given.cases,
    )  # fmt: skip


def test_an_acceptance_ends_no_alert_of_a_night(workspace):
    assert judged(workspace, case("Bcast 8")).alerts
    accepted = judged(workspace, case("Bcast 8", "pass"), campaign="accept-1")
    assert not [note for note in accepted.notes if note.startswith("ended")]
    night = judged(workspace, case("Bcast 8", "pass"), campaign="nightly-2")
    assert [note for note in night.notes if note.startswith("ended")]
