"""`relations/claims.py`: what cannot be compared, what is left out, and how that is said."""

import pytest

from acceptance.references import ReferenceFault
from acceptance.relations.claims import FAILS, HOLDS, NOT_MEASURED
from tests.utils.relations.made import NEW, OLD, result

LEFT = "left: {} of mine:new imb.Alltoall time"
RIGHT = "right: {} of mine:old imb.Alltoall time"


@pytest.mark.parametrize(
    ("cases", "reason", "detail"),
    [
        ((), "no result", f"{LEFT}; {RIGHT}".replace("{}", "no result")),
        ((result(NEW, 7.0),), "no result", RIGHT.format("no result")),
        ((result(OLD, 7.0),), "no result", LEFT.format("no result")),
        (
            (result(NEW, 7.0), result(OLD, 10.0, result="fail")),
            "only failed cases",
            RIGHT.format("only failed cases"),
        ),
        (
            (result(NEW, 7.0, result="fail"), result(OLD, 10.0, result="abort")),
            "only failed cases",
            f"{LEFT}; {RIGHT}".replace("{}", "only failed cases"),
        ),
        (
            (result(NEW, 7.0), result(OLD, 10.0, fixture=True)),
            "no result",
            RIGHT.format("no result"),
        ),
        (
            (result(NEW, 7.0), result(OLD, 0.0)),
            "zero",
            RIGHT.format("only values that are not above zero"),
        ),
        (
            (result(NEW, -7.0), result(OLD, 10.0)),
            "zero",
            LEFT.format("only values that are not above zero"),
        ),
        (
            (result(NEW, float("nan")), result(OLD, float("inf"))),
            "zero",
            f"{LEFT}; {RIGHT}".replace("{}", "only values that are not above zero"),
        ),
        (
            (result(NEW, 7.0), result(OLD, 10.0, unit="s")),
            "different units",
            "left is in 'us', right in 's'",
        ),
        (
            (result(NEW, 7.0, unit="furlong"), result(OLD, 10.0, unit="furlong")),
            "no direction",
            "no result in 'furlong' is better than another",
        ),
        (
            (result(NEW, 7.0), result(OLD, 10.0, day=-31)),
            "outside the window",
            "no two results lie within 30 days of each other",
        ),
    ],
    ids=[
        "nothing", "right missing", "left missing", "right failed", "both failed", "a fixture",
        "zero", "negative", "not finite", "units", "no direction", "too old",
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_not_measured_and_says_why(judge, cases, reason, detail):
    outcome = judge({}, *cases)
    assert (outcome.state, outcome.reason, outcome.detail) == (NOT_MEASURED, reason, detail)
    assert (outcome.left, outcome.right, outcome.ours) == (None, None, None)
    assert not outcome.fails_expected


def test_a_difference_in_another_unit_than_the_results_is_not_measured(judge):
    change = {"unit": "us", "value": "-0.2", "relation": "~"}
    outcome = judge(change, result(NEW, 7.0, unit="s"), result(OLD, 10.0, unit="s"))
    assert outcome.reason == "different units"
    assert outcome.detail == "the claim is in us, the results in s"


def test_a_case_that_failed_before_it_knew_its_keys_is_a_failed_one(judge):
    day, early = result(OLD, 10.0, result="fail")
    early.keys = "<undefined>"
    outcome = judge({"parameters": "np=8"}, result(NEW, 7.0), (day, early))
    assert outcome.reason == "only failed cases"


def test_a_failed_case_is_left_out_and_said(judge):
    outcome = judge({}, result(NEW, 1.0, result="fail"), result(NEW, 9.0, day=-1),
                    result(OLD, 10.0))  # fmt: skip
    assert (outcome.state, outcome.left.value) == (FAILS, 9.0)
    assert "1 failed case of these or later sessions" in outcome.note
    # One that failed before is of no interest.
    outcome = judge(
        {}, result(NEW, 1.0, day=-2, result="fail"), result(NEW, 7.0), result(OLD, 10.0)
    )
    assert (outcome.state, outcome.note) == (HOLDS, "")


def test_a_zero_among_the_message_sizes_is_left_out_and_said(judge):
    left = {"time_4": 0.0, "time_8": 7.0}
    outcome = judge({}, result(NEW, left), result(OLD, dict.fromkeys(left, 10.0)))
    assert (outcome.state, outcome.compared) == (HOLDS, 1)
    assert outcome.note == "1 value not above zero left out"


def test_a_claim_whose_relation_has_no_tolerance_is_a_fault(judge, folder):
    path = folder / "tolerances.yaml"
    text = path.read_text()
    start = text.index('  "=":\n')
    path.write_text(text[:start] + text[text.index('  "~":\n') :])
    with pytest.raises(ReferenceFault, match="claims: nothing for the relation '=' of %"):
        judge({"relation": "=", "value": "5"}, result(NEW, 7.0), result(OLD, 10.0))


@pytest.mark.parametrize(("loaded", "state"), [(3.9, HOLDS), (6.0, FAILS)])
def test_a_claim_bounds_what_load_does(judge, loaded, state):
    """The one of `checks/README.md`: P99 under incast is at most twice that without load."""
    values = {
        "latency_p99.pattern.isolated_8": 2.0,
        "latency_p99.pattern.incast_8": loaded,
        "latency_p99.pattern.get_8": 9.0,
    }
    claim = {
        **{"benchmark": "patterns.loaded", "metric": "latency_p99", "relation": "<="},
        **{"left": f"{NEW};pattern=incast", "right": f"{NEW};pattern=isolated"},
        **{"value": "2", "unit": "x", "printed": "2"},
    }
    outcome = judge(claim, result(NEW, values, benchmark="patterns.loaded"))
    assert outcome.state == state
    assert outcome.fails_expected is (state == FAILS)
