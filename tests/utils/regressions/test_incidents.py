"""`regressions/incidents.py`, `detection/`: what belongs together, and when."""

import numpy as np
import pytest

from acceptance.core.kinds import STEADY
from acceptance.detection.changepoint import LevelChange
from acceptance.detection.common_mode import deviations, levels, outstanding, unusual
from acceptance.detection.constants import NIGHT_CASES, NIGHT_WINDOW
from acceptance.detection.state import begin, in_a_row, spells, within
from acceptance.regressions.changes import Change
from acceptance.regressions.history import Nights, PastSession, night
from acceptance.regressions.incidents import group
from acceptance.regressions.progress import update
from tests.made import FIRST, NIGHT, nights
from tests.stored import load

COUNT = 40


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    path = tmp_path_factory.mktemp("quiet") / "results.db"
    nights(path, COUNT)
    return load(path)


def finding(history, number, start=20, decided=25, **fields):
    series = history.series[number]
    fields = {"kind": "regression", "before": 1.0, "after": 1.2, "confidence": 0.99} | fields
    return Change(
        series=series,
        session=history.sessions[start],
        decided=history.sessions[decided],
        time=history.sessions[start].start,
        **fields,
    )


def grouped(history, *findings):
    recent = update(history, None, []).recent
    return group(findings, [], history.series, Nights(history.sessions), recent)


def test_no_findings_are_no_alerts(history):
    assert grouped(history) == ()


def test_the_same_night_is_one_incident_and_its_worst_is_shown(history):
    (alert,) = grouped(
        history,
        finding(history, 0, after=1.1),
        finding(history, 1, after=1.5, start=21),
        finding(history, 2, after=1.6, confidence=0.2),
    )
    assert alert.finding.what == history.series[1].metric
    assert {change.series for change in alert.changes} == {*history.series[:3]}
    assert alert.worst.after == 1.5
    assert "50 % " in alert.finding.found


@pytest.mark.parametrize(("apart", "incidents"), [(0, 1), (1, 1), (2, 2), (10, 2)])
def test_changes_nights_apart_are_two(history, apart, incidents):
    found = grouped(history, finding(history, 0), finding(history, 1, start=20 + apart, decided=35))
    assert len(found) == incidents


def test_a_beginning_that_is_not_known_exactly_may_lie_further_away(history):
    found = grouped(
        history, finding(history, 0), finding(history, 1, start=17, decided=35, within=4)
    )
    assert len(found) == 1


def test_kinds_are_told_apart(history):
    found = grouped(
        history,
        finding(history, 0),
        finding(history, 1, kind="drift"),
        finding(history, 2, kind="vanished", before=None, after=None),
    )
    assert sorted(alert.finding.kind for alert in found) == ["drift", "regression", "vanished"]
    assert len({alert.id for alert in found}) == 3


def test_drifts_that_overlap_are_one_incident_however_far_apart(history):
    found = grouped(
        history,
        finding(history, 0, kind="drift", start=10, decided=10),
        finding(history, 1, kind="drift", start=30, decided=30),
    )
    assert len(found) == 1


def test_a_drift_after_another_one_was_over_is_new(history):
    over = history.sessions[20]
    (alert,) = grouped(
        history,
        finding(history, 0, kind="drift", start=10, decided=10, over=over),
        finding(history, 1, kind="drift", start=30, decided=30),
    )
    assert len(alert.changes) == 1


@pytest.mark.parametrize(
    ("direction", "fields", "found", "expected", "text"),
    [
        ("lower", {"before": 1.21, "after": 1.62}, "1.62 us, 33.9 % worse", "1.21 us",
         "1.21 -> 1.62 us, 33.9 % worse since 2026-01-"),
        ("higher", {"before": 2.0, "after": 4.0}, "4 us, 100 % better", "2 us",
         "2 -> 4 us, 100 % better since"),
        (None, {"before": 2.0, "after": 1.0}, "1 us, 50 % less", "2 us",
         "2 -> 1 us, 50 % less since"),
        ("lower", {"kind": "drift", "before": 1.0, "after": 1.1}, "1.1 us, 10 % worse", "1 us",
         "1 -> 1.1 us, drifting, 10 % worse since"),
        ("lower", {"kind": "vanished", "before": None, "after": None}, "no longer measured", "",
         "no longer measured since"),
        ("lower", {"kind": "unit", "before": None, "after": None}, "its unit changed, now us", "",
         "its unit changed, now us, since"),
        ("lower", {"kind": "machine", "before": None, "after": None}, "change of the machine", "",
         "change of the machine since"),
    ],
)  # fmt: skip
def test_what_is_found_says_levels_how_much_worse_and_since_when(
    history, monkeypatch, direction, fields, found, expected, text
):
    series = history.series[0]
    monkeypatch.setattr(series, "unit", "us")
    monkeypatch.setattr(series, "direction", direction)
    (alone,) = grouped(history, finding(history, 0, text="a reboot", **fields))
    said = alone.finding
    assert (said.found, said.expected, said.device, said.what) == (
        found, expected, series.case.key.check, series.metric,
    )  # fmt: skip
    assert said.text.startswith(text)
    assert "related" not in said.text
    assert said.text.endswith(f"({alone.cause})")
    assert alone.cause.startswith("a reboot")
    assert said.place == ("made", "compute", alone.id)
    both = grouped(history, finding(history, 0, **fields), finding(history, 1, **fields))
    assert "(with 1 related metric; " in both[0].finding.text
    assert (said.fails, said.of_history, said.row.question) == (True, True, STEADY)


def test_what_is_over_is_no_alert_but_keeps_the_id(history):
    first = finding(history, 0, decided=23)
    over = finding(history, 0, decided=23, over=history.sessions[30])
    second = finding(history, 1, start=21, decided=28)
    (alone,) = grouped(history, first)
    (both,) = grouped(history, first, second)
    (rest,) = grouped(history, over, second)
    assert alone.id == both.id == rest.id
    assert len(rest.changes) == 1
    assert grouped(history, over) == ()


def test_the_order_of_the_findings_does_not_matter(history):
    found = [finding(history, number, start=20 + number % 3) for number in range(6)]
    one, other = (
        [(each.id, each.finding, each.cause) for each in grouped(history, *in_order)]
        for in_order in (found, found[::-1])
    )
    assert one == other


def test_most_of_a_partition_is_the_machine(history):
    many = [finding(history, number) for number in range(len(history.series) * 3 // 4)]
    # The samples are those of a quiet machine: say that what is there now is the new level.
    many = [
        finding(history, number, before=one.series.values[-1] / 2, after=one.series.values[-1])
        for number, one in enumerate(many)
    ]
    (alert,) = grouped(history, *many)
    assert alert.finding.kind == "machine"
    assert alert.cause.startswith(f"{len(many)} of {len(history.series)} metrics of the partition")
    (fewer,) = grouped(history, *many[: len(history.series) // 2])
    assert (fewer.finding.kind, fewer.id) == ("regression", alert.id)


def test_a_machine_whose_newest_samples_are_back_is_over(history):
    back = [
        finding(history, number, before=one.values[-1], after=one.values[-1] * 2)
        for number, one in enumerate(history.series)
    ]
    assert grouped(history, *back) == ()


def test_nights_are_from_noon_to_noon():
    evening, morning, next_evening = FIRST, FIRST + 6 * 3600, FIRST + NIGHT
    assert night(evening) == night(morning)
    assert night(next_evening) == night(evening) + 1


def test_nights_are_numbered_for_each_partition():
    sessions = []
    for number, (time, partition) in enumerate([(0, "a"), (2, "b"), (2.1, "a"), (9, "a")]):
        session = PastSession(number, f"s{number}", FIRST + time * NIGHT, 0.0, "")
        session.partitions.add(("made", partition))
        sessions.append(session)
    found = Nights(sessions)
    assert [found.of(("made", "a"), sessions[n]) for n in (0, 2, 3)] == [0, 1, 2]
    assert (found.last(("made", "a")), found.last(("made", "b"))) == (2, 0)
    # A session that did not measure a partition tells that it vanished.
    assert found.of(("made", "b"), sessions[3]) == 0
    assert found.first(("made", "a"), 1) is sessions[2]


def level_shift(size, count=60, start=30, spread=0.01, seed=0):
    values = np.exp(np.random.default_rng(seed).normal(0, spread, count))
    values[start:] *= 1 + size
    return values


def change(start=30, detected=35, before=1.0, after=1.1):
    return LevelChange(start, detected, before, after, score=15.0, worse=True, spread=0.02)


@pytest.mark.parametrize("said", [26, 28, 30, 33])
def test_the_beginning_is_found_beside_where_the_detector_puts_it(said):
    assert begin(level_shift(0.1), change(start=said)) == 30


def test_the_beginning_needs_no_sample_after_the_decision():
    values = level_shift(0.1)
    assert begin(values, change(start=28)) == begin(values[:36], change(start=28))


def test_a_small_change_is_known_less_exactly():
    assert within(change(after=1.1), 0.01) == 1
    assert within(change(after=1.02), 0.01) == 3
    assert within(change(after=1.001), 0.01) == within(change(after=1.0), 0.01) == 10


def test_a_change_that_lasts_is_one_spell():
    (spell,) = spells(level_shift(0.1), change(), 0.01, None)
    assert spell == (30, 35, None)


def test_a_change_that_goes_back_is_over_after_some_samples():
    values = level_shift(0.1)
    values[50:] /= 1.1
    (spell,) = spells(values, change(), 0.01, None)
    start, _, end = spell
    assert (start, end) == (30, 50 + in_a_row(change(), 0.01) - 1)


def test_one_good_sample_ends_nothing():
    values = level_shift(0.1)
    values[45] /= 1.1
    assert spells(values, change(), 0.01, None) == [(30, 35, None)]


def test_what_becomes_worse_again_is_another_spell():
    values = level_shift(0.1)
    values[45:50] /= 1.1
    first, second = spells(values, change(), 0.01, None)
    assert first[2] == 46
    assert second == (50, 51, None)


def test_a_change_within_the_noise_needs_more_samples_to_be_over():
    assert in_a_row(change(after=1.5), 0.01) == 2
    assert in_a_row(change(after=1.02), 0.01) > in_a_row(change(after=1.04), 0.01) > 2


def test_what_the_detector_saw_end_is_over():
    assert spells(level_shift(0.1), change(), 0.01, undone=55)[-1][2] == 55


def machine(count=30, cases=10, slow=(), size=0.05, together=0.0, seed=1):
    """Return the slow nights of a made machine: one metric a case."""
    random = np.random.default_rng(seed)
    samples = np.exp(
        random.normal(0, 0.01, (count, cases)) + random.normal(0, together, (count, 1))
    )
    samples[list(slow)] *= 1 + size
    return slow_nights(samples)


def lying_off(samples):
    """Return how far samples of new series lie from those before them; higher is worse."""
    count = samples.shape[1]
    return deviations(np.log(samples), np.zeros((NIGHT_WINDOW, count)), np.zeros(count, np.intp))


def slow_nights(samples):
    """Return the nights that stand out, (nights, cases)."""
    nights, cases = (part.ravel() for part in np.indices(samples.shape))
    off = np.column_stack([part.ravel() for part in lying_off(samples)])
    return [*outstanding(levels(nights, cases, off))]


def test_nights_that_stand_out():
    assert machine() == []
    assert machine(slow=(20,)) == [20]
    assert machine(slow=(20, 21, 25)) == [20, 21, 25]


def test_a_faster_night_does_not_stand_out():
    assert machine(slow=(20,), size=-0.05) == []


def test_a_slow_night_teaches_nothing():
    assert machine(count=40, slow=(20, 21, 22), size=0.3) == [20, 21, 22]
    assert machine(count=40, slow=(20, 30), size=0.3) == [20, 30]


def test_a_machine_that_always_moves_together_needs_more():
    assert machine(together=0.03, slow=(20,), size=0.05) == []
    assert machine(together=0.03, slow=(20,), size=0.6) == [20]


@pytest.mark.parametrize("noise", ["student", "lognormal", "gaussian"])
def test_heavy_tails_of_what_all_have_in_common_are_seldom_slow_nights(noise):
    """In 10 years; 50 and more of them were found when only the worst of 30 nights counted."""
    random = np.random.default_rng(3)
    found = 0
    for _ in range(10):
        common = {
            "student": lambda: random.standard_t(3, (365, 1)) / np.sqrt(3),
            "lognormal": lambda: random.lognormal(0, 1, (365, 1)) / 2.16,
            "gaussian": lambda: random.standard_normal((365, 1)),
        }[noise]()
        samples = np.maximum(1 + 0.03 * common + random.normal(0, 0.01, (365, 8)), 0.05)
        found += len(slow_nights(samples))
    assert found <= {"student": 8, "lognormal": 16, "gaussian": 2}[noise]


def test_a_machine_that_is_slow_again_and_again_is_wont_to_be():
    assert machine(count=200, slow=range(20, 200, 15), size=0.2)[:2] == [20, 35]
    assert len(machine(count=200, slow=range(20, 200, 15), size=0.2)) <= 4


def test_how_unusual_a_value_is_goes_by_the_tail_of_the_past():
    random = np.random.default_rng(4)
    light, heavy = random.normal(0, 1, 240), random.standard_t(3, 240)
    assert unusual(8.0, light) < 1 / 2000 < unusual(8.0, heavy)
    assert unusual(float(np.median(light)), light) > 0.05
    assert unusual(8.0, light[:6]) > unusual(8.0, light)


def test_half_of_the_cases_are_not_the_machine():
    random = np.random.default_rng(2)
    samples = np.exp(random.normal(0, 0.01, (30, 12)))
    samples[20, :6] *= 1.2
    assert slow_nights(samples) == []


def test_few_cases_are_no_machine():
    assert machine(cases=NIGHT_CASES - 1, slow=(20,)) == []
    assert machine(cases=NIGHT_CASES, slow=(20,)) == [20]


def test_a_night_is_decided_from_the_nights_before_it():
    assert machine(count=21, slow=(20,)) == machine(count=40, slow=(20, 30))[:1]


def test_deviations_are_those_from_the_samples_before():
    samples = np.array([[1.0, 2.0]] * 10)
    samples[9] = (1.1, 1.8)
    spreads, relative = lying_off(samples)
    assert relative[9] == pytest.approx(np.log([1.1, 0.9]))
    assert np.isnan(spreads[:6]).all()
    # The first four were measured before; of the second series none was.
    before = np.log(np.vstack([np.full((NIGHT_WINDOW - 4, 2), 9.0), samples[:4]]))
    spreads, later = deviations(np.log(samples[4:]), before, np.array([4, 0]))
    assert np.array_equal(later[:, 0], relative[4:, 0], equal_nan=True)
    assert np.isnan(spreads[:, 1]).all()
