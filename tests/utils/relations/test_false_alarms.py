"""False alarms that nights without a change have: how many, their bounds, and what is told."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from acceptance.core import kinds
from acceptance.regressions.judge import Judgement, judge
from acceptance.relations import false_alarms, noise
from acceptance.relations.false_alarms import at_most
from tests.bench.detection import series
from tests.made_series import healthy


def rates(values):
    return false_alarms.of_judgement(judge(healthy(values)))


def chance(count, runs, share):
    """Return the exact probability of `count` false alarms or fewer."""
    share = Fraction(share)
    terms = (math.comb(runs, k) * share**k * (1 - share) ** (runs - k) for k in range(count + 1))
    return float(sum(terms))


@pytest.mark.parametrize(("count", "runs"), [(0, 59), (1, 59), (7, 59), (3, 400), (58, 59)])
@pytest.mark.parametrize("unsure", [0.05, 0.001])
def test_the_bound_is_the_share_of_which_so_few_have_the_chance(count, runs, unsure):
    share = at_most(count, runs, unsure)
    assert chance(count, runs, share) == pytest.approx(unsure, rel=1e-9)


def test_the_bound_of_none_is_the_rule_of_three_and_that_of_all_is_one():
    assert at_most(0, 1000, 0.05) == pytest.approx(1 - 0.05**0.001, rel=1e-9)
    assert at_most(0, 1000, 0.05) == pytest.approx(3 / 1000, rel=5e-3)
    assert at_most(59, 59, 0.05) == 1


def test_weeks_stay_whole_and_take_all_other_places():
    own = np.arange(700, 760)
    orders = [false_alarms._order(own, np.random.default_rng(seed)) for seed in range(20)]
    for places in orders:
        # Nights in a row of one place are a week, but for those at both ends.
        edges = np.flatnonzero(np.diff(places)) + 1
        assert {*np.diff(edges)} == {7}
        assert len({*places.tolist()}) == len(edges) + 1
        # As many nights on either side as whole weeks allow.
        assert 0 <= places.min() < 0.5 <= places.max() < 1
        assert abs((places < 0.5).sum() - 30) <= 7
    assert len({tuple(places) for places in orders}) == 20


def test_quiet_nights_have_no_false_alarms():
    alarms, words = rates(series("Gaussian", 60, 20, 1)[0])
    assert (alarms.metrics, alarms.nights, alarms.runs) == (20, 60, 20 * 92)
    assert not alarms.broken
    assert not words.broken
    # One in 36,500 nights.
    assert alarms.promised == pytest.approx(60 / 36_500)
    assert alarms.text == (
        "false alarms: promised at most 1 a year of 100 metrics, seen 0 (at most 0.99 at 95 %): "
        "0 in 1840 shuffles of 60 nights without a change, of 20 metrics"
    )
    assert re.fullmatch(
        r"false words: promised at most 5 % of comparisons, seen \S+ \(at most \S+ at 95 %\): "
        r"\d in 59 shuffles of 60 nights without a change, of 20 metrics",
        words.text,
    )


def wandering(count=10):
    """Return quiet series, of which the fourth has weeks of its own level."""
    values = series("Gaussian", 70, count, 2)[0]
    levels = np.random.default_rng(3).choice([0.85, 1.0, 1.15], 10)
    values[:, 3] *= np.repeat(levels, 7)
    return values


def test_noise_that_breaks_the_promise_is_a_finding_that_names_the_metric_and_what_to_do():
    history = healthy(wandering())
    judgement = judge(history)
    # As if its changes were none: no judge would find them small enough.
    judgement.progress.found[judgement.progress.slots[id(history.series[3])]].clear()
    found = [*false_alarms.findings(judgement)]
    assert {each.what for each in found} >= {"false alarms"}
    for each in found:
        assert each.kind == "false-alarms"
        assert not each.fails
        assert each.where == "made:part0+gnu"
        assert each.text.endswith("most of made:part0+gnu Osu %n=0 latency_3")
        assert each.expected.startswith("at most ")
        assert "acceptance history" in kinds.of(each.kind).remedy


def test_false_words_are_counted_by_comparison(monkeypatch):
    """The median of two states far apart is in the one or the other, which ranks alone notice."""
    values = series("bimodal 50:50", 60, 30, 1)[0]
    assert not rates(values)[1].false
    monkeypatch.setattr(noise, "ranked", lambda *_: 0.0)
    assert not rates(values)[1].false, "the same nights are counted once"
    monkeypatch.setattr(false_alarms, "_COUNTED", {})
    alarms, words = rates(values)
    assert not alarms.broken
    assert (alarms.metrics, words.metrics) == (30, false_alarms.COMPARED)
    assert words.runs == false_alarms.COMPARISONS
    assert words.broken
    assert words.false <= words.runs


def test_too_few_nights_cannot_tell():
    (rate,) = rates(series("Gaussian", 20, 5, 1)[0])
    assert not rate.broken
    assert rate.text == (
        "false alarms: cannot tell yet: 20 nights without a change of a metric, of 28 that it takes"
    )
    assert false_alarms.of_judgement(Judgement()) == []


def test_nights_before_a_change_do_not_count_nor_slow_ones():
    values = series("Gaussian", 90, 6, 1)[0]
    values[:50] *= 1.3
    judgement = judge(healthy(values))
    assert {change.start for found in judgement.progress.found for change in found} == {50}
    assert [one.nights for one in false_alarms.of_judgement(judgement)] == [40, 40]

    values = series("Gaussian", 60, 100, 1)[0]
    values[45, 1::2] *= 1.3  # of these, less is better
    values[45, ::2] /= 1.3
    judgement = judge(healthy(values))
    assert {night.night for night in judgement.slow} == {45}
    assert [one.nights for one in false_alarms.of_judgement(judgement)] == [59, 59]


def test_several_sessions_a_night_are_one_night():
    history = healthy(series("Gaussian", 60, 5, 1)[0])
    for one in history.sessions:
        one.start = one.start - 86400 * (one.number % 3)  # three after another on one day
    (rate,) = false_alarms.of_judgement(judge(history))
    assert rate.runs == 0


def test_rates_are_counted_once_in_four_weeks_where_something_is_kept(tmp_path, monkeypatch):
    values = series("Gaussian", 60, 6, 1)[0]
    counted = []
    rate = false_alarms.Rate("made", "", 0.5, 1.0, 9, 10, 60, 6)
    monkeypatch.setattr(
        false_alarms, "_counted", lambda count, _: counted.append(count.__name__) or (rate, 3)
    )

    def told(nights, names=6):
        judgement = judge(healthy(values[:nights, :names]), kept=tmp_path / "measured")
        return [one.worst.name[-9:] for one in false_alarms.of_judgement(judgement)]

    for nights in range(30, 59):
        assert told(nights) == ["latency_3"] * 2
    assert counted == ["_words", "_alarms"] * 2
    for number, damaged in enumerate(("{}", "[1]", '{"of"'), 3):
        (tmp_path / "measured.rates").write_text(damaged)
        told(58)
        assert len(counted) == 2 * number
    told(58, 5)  # of other metrics
    assert len(counted) == 12
