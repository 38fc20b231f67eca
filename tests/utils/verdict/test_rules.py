"""Rules of the verdict: counters of errors, by earlier sessions, and claims."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from acceptance.core.findings import Finding
from acceptance.ledger import Case, Metric, Session
from acceptance.regressions.history import CaseKey
from acceptance.regressions.judge import Judgement
from acceptance.verdict import Evidence, Nodes, Verdict, of_claims
from acceptance.verdict.rules import (
    compare_with_baselines,
    moved_traffic,
    standing_counters,
    state_claims,
    suspected,
)
from tests.made import Database
from tests.places import workspace
from tests.stored import opened
from tests.utils.references.made import make
from tests.utils.relations.made import NEW, OLD, copy_of_references, result, write

DAY = 86400.0
#: 2026-11-22, noon UTC.
NOW = 1795348800.0


def case(value, node="node1", read=True, counter="link_downed"):
    """Return a link check of a node that saw a counter at a value; None: it did not look there."""
    seen = Finding("link-counters", "", False, (node,), "mlx5_0/1", counter, str(value), "0")
    return Case(
        "LinkCheck", "s", "p", "e", "fabric.py", "fabric", 0, "pass", "", "", (node,), False,
        "fabric.link", {}, {}, {"counters": node} if read else {}, (seen,) if value else (), (),
    )  # fmt: skip


def session(days, *cases):
    """Return a session so many days ago."""
    end = NOW - days * DAY
    return Session(f"ago{days}", end - 60, end, "host", "reframe", "", 0, cases)


@dataclass
class Past:
    """A ledger with some sessions, the newest first."""

    before: tuple = ()
    check: str = "LinkCheck"

    def sessions_of_check(self, check, before):
        assert (check, before) == (self.check, NOW - 60)
        return iter(self.before)


@pytest.fixture
def changes():
    """Say what became of the counters of a session, given those before it, the newest first."""

    def change(*cases, before=()):
        found = standing_counters(Past(before), session(0, *cases))
        return [counter.found.partition(" (")[2].removesuffix(")") for counter in found]

    return change


def test_the_first_reading_has_nothing_to_compare_with(changes):
    assert changes(case(7)) == ["first reading"]
    assert changes(case(7), before=[session(2, case(3, "node2"))]) == ["first reading"]


def test_what_grew_has_a_rate(changes):
    assert changes(case(7), before=[session(2, case(4)), session(3, case(1))]) == ["+3 in 2.0 days"]


def test_a_check_that_saw_nothing_read_zero_and_one_of_an_older_release_read_none(changes):
    assert changes(case(7), before=[session(2, case(0))]) == ["+7 in 2.0 days"]
    assert changes(case(7), before=[session(2, case(0, read=False))]) == ["first reading"]


def test_what_grows_no_more_says_since_when(changes):
    before = [session(1, case(7)), session(2, case(7)), session(3, case(5)), session(4, case(7))]
    assert changes(case(7), before=before) == ["no more since 2026-11-20"]
    assert changes(case(7), before=before[:1]) == ["no more since 2026-11-21"]


def test_a_counter_that_went_back_was_reset(changes):
    assert changes(case(2), before=[session(1.5, case(7))]) == [
        "counter was reset: 7 before, in 1.5 days"
    ]


def test_a_node_that_was_away_is_compared_with_its_own_last_reading(changes):
    before = [session(1, case(1, "node2")), session(5, case(6))]
    assert changes(case(7), before=before) == ["+1 in 5.0 days"]


def test_each_counter_is_one_line(changes):
    cases = case(7), case(65535, counter="symbol_error"), case(1, "node2")
    assert changes(*cases, before=[session(1, case(6))]) == [
        "+1 in 1.0 days", "+65535 in 1.0 days", "first reading",
    ]  # fmt: skip


def test_a_counter_that_stands_is_a_reservation_of_its_port():
    (found,) = standing_counters(Past(), session(0, case(7)))
    assert found.text == "node1 mlx5_0/1: link_downed stands at 7 (first reading)"
    assert (found.nodes, found.found) == (("node1",), "7 (first reading)")
    assert (found.id, found.fails) == ("LINK-COUNTERS:node1:mlx5_0/1:link_downed", False)
    assert found.row.severity == "minor"


def over_rails(shares, name="OsuMpi %benchmark=bw", total=1000):
    """Return a case whose node moved so many bytes, these shares (%) of them on each rail."""
    moved = {f"eth{number}": total * share // 100 for number, share in enumerate(shares)}
    return replace(case(0), name=name, rails={"node1": moved} if shares else {})


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ((), []),
        ([over_rails((50, 50))], ["node1 eth0 carried 70 % of 1000 bytes, 50 % before: "]),
        ([over_rails((65, 35))], []),
        # Another sum, another case, and one that stored nothing.
        ([over_rails((50, 50), total=2000)], []),
        ([over_rails((50, 50), "OsuMpi %benchmark=bibw")], []),
        ([over_rails(())], []),
    ],
)
def test_traffic_that_moved_between_rails_is_told_by_the_last_run_of_its_case(before, found):
    sessions = [session(1, *before), session(2, over_rails((0, 100)))] if found else []
    past = Past(sessions or [session(1, *before)], "OsuMpi")
    seen = moved_traffic(past, session(0, over_rails((70, 30))))
    assert [each.text[: each.text.index(": ") + 2] for each in seen] == found
    assert not any(each.fails for each in seen)
    for each in seen:
        assert each.id == "RAIL-MOVED:node1:eth0:OsuMpi%benchmark=bw"


def test_the_claims_are_those_of_an_acceptance(tmp_path):
    folder = copy_of_references(tmp_path)
    write(folder, {}, {"value": "50", "expected": ""}, {"benchmark": "imb.Bcast"})
    database = Database(tmp_path / "results.db")
    database.add([case for _, case in (result(NEW, 7.5), result(OLD, 10.0))], start=NOW)
    here = workspace(tmp_path / "var", reference=folder)
    evidence = Evidence(here, opened(database.path), [], "", None, Nodes(), "mine")

    def stated(campaign):
        verdict = Verdict(campaign=campaign)
        state_claims(verdict, evidence)
        return verdict.claims

    assert stated("nightly-1") == stated("") == []
    # What a site expects is told, too, where nothing was measured that could tell.
    claims = stated("accept-1")
    assert [each["state"] for each in claims] == ["holds", "fails", "not measured"]
    (left_open,) = of_claims(claims, "mine")
    assert left_open.kind == "claim-open"
    evidence.system = "nowhere"
    (unknown,) = of_claims(stated("accept-1"), "nowhere")
    assert unknown.kind == "claims"
    assert "no system 'nowhere'" in unknown.text
    # It is no claim that a paper has and a cluster need not meet.
    assert [each["expected"] for each in stated("accept-1")] == [True]
    evidence.system = "mine"
    (folder / "tolerances.yaml").write_text("?")
    (unread,) = of_claims(stated("accept-1"), "mine")
    assert unread.kind == "claims"
    assert "tolerances.yaml" in unread.text


def test_a_round_counts_once_in_each_environment(tmp_path):
    """A round runs a name in all environments: nothing is taken back by a single one."""
    before = SimpleNamespace(
        case=SimpleNamespace(key=CaseKey("mine", "p", "one", "A")),
        samples=[SimpleNamespace(session=SimpleNamespace(uuid="first", end=NOW))],
    )
    evidence = Evidence(workspace(tmp_path), None, [], "first", None, Nodes(), "mine")
    evidence.histories["first"] = Judgement(suspected=(before,), newest=NOW)
    for number, open_ in enumerate(({"first": ["A"]}, {}), 1):
        cases = [
            Case(
                "A", "mine", "p", environment, "a.py", "", 0, "pass", "", "", (), False, "", {},
                {}, {}, (), (),
            )
            for environment in ("one", "other")
        ]  # fmt: skip
        evidence.again.append(Session(f"again{number}", NOW, NOW, cases=tuple(cases)))
        evidence.histories[evidence.newest] = Judgement(newest=NOW)
        assert suspected(evidence) == open_


def plain(value, **changes):
    """Return a case of a site's own check, which passes whatever it measures."""
    rate = Metric("rate", value, "MB/s", None, None, None, "", True)
    fields = {"name": "Own", "suite": "", "benchmark": "", "metrics": (rate,), **changes}
    return replace(case(0), **fields)


@pytest.mark.parametrize(
    ("own", "kinds"),
    [
        (plain(4.6), []),
        (plain(4.4), ["off-baseline"]),
        # What failed is told as that, and what a fixture measures is no result.
        (plain(4.4, result="fail"), []),
        (plain(4.4, fixture=True), []),
        (plain(4.4, suite="osu"), []),
    ],
)
def test_a_plain_check_that_passed_is_judged_by_a_baseline_of_its_site(tmp_path, own, kinds):
    folder = make(tmp_path)
    (folder / "sites/s.yaml").write_text("Own: {'s:p': {rate: [5, -0.1, null, MB/s]}}\n")
    evidence = SimpleNamespace(cases=[own], workspace=SimpleNamespace(reference=folder))
    verdict = Verdict(recorded=1)
    compare_with_baselines(verdict, evidence)
    assert [problem.kind for problem in verdict.problems] == kinds
    judged = {"baseline s": 1} if own.plain and own.passed and not own.fixture else {}
    assert (verdict.judged, verdict.recorded) == (judged, 1 - len(judged))
