"""`detection/causes.py`: which cause made curves have, and when nobody can tell."""

import numpy as np
import pytest

from acceptance.core.pairs import Curve
from acceptance.detection import causes
from acceptance.detection.causes import CANNOT_TELL, CAUSES

SIZES = tuple(8 << k for k in range(16))
GOOD = {"start": 1.2, "gap": 4e-5, "eager": 16384, "overhead": (0.2, 0.2), "late": 1.3}
STEPS = ((2.0, "2 of 4 lanes", None), (4.0, "1 of 4 lanes", None))
SWITCH = 0.13


def curve(draw, noise=0.02, **other):
    """Return a curve: eager messages, and from a limit on a handshake of as long as a message."""
    made = GOOD | other
    size = np.array(SIZES)
    times = made["start"] * (1 + (size >= made["eager"])) + made["gap"] * size
    times = times * np.exp(noise * draw.standard_normal(len(SIZES)))
    overheads = tuple(each and each * np.exp(noise * draw.standard_normal())
                      for each in made["overhead"])  # fmt: skip
    return Curve(SIZES, tuple(times), tuple(times * made["late"]), overheads)


def side(seed, count=10, **other):
    draw = np.random.default_rng(seed)
    return [curve(draw, **other) for _ in range(count)]


def told(steps=STEPS, switch=SWITCH, good=None, **slow):
    return causes.judge(side(1, **(good or {})), side(2, **slow), steps, switch)


FAULTS = {
    "link-trained-lower": ({"gap": 8e-5}, "G 2.0", "L+2o and o the same: 2 of 4 lanes"),
    "rate-lost": ({"gap": 5.6e-5}, "G 1.4", "no lanes or rate of the link explain that"),
    "longer-route": ({"start": 1.46}, "instead of 1.2", "over 2 switches more, of 0.13 us each"),
    "delay": ({"start": 1.9}, "L+2o 1.5", "a delay on the way"),
    "processor": (
        {"start": 1.5, "overhead": (0.2, 0.5)}, "o at the receiver 2.5",
        "the clock of the processor at the receiver",
    ),
    "another-way": ({"start": 12, "gap": 3e-4}, "L+2o 9.9", "another transport"),
    "protocol-switch": ({"eager": 512}, "messages of 512 B to 8 KiB 1.", "(its eager limit)"),
    "noise": ({"late": 9.0}, "the 99th percentile", "noise or load"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_each_cause_is_told_with_its_numbers(kind):
    slow, numbers, said = FAULTS[kind]
    cause = told(**slow)
    assert cause.kind == kind, cause.text
    assert numbers in cause.text
    assert said in cause.text


def test_each_cause_of_the_table_is_tried():
    assert {*FAULTS} == {*CAUSES}


def test_by_what_is_not_known_of_a_fabric_nothing_is_named():
    cause = told((), None, start=1.46)
    assert cause.kind == "delay"
    assert "a longer route or a delay on the way" in cause.text
    half = told((), gap=8e-5).text
    assert "half of the rate would do that; facts of the link are not known here" in half
    assert (
        "or trained at another rate: facts of the link are not known" in told((), gap=5.6e-5).text
    )


def test_a_step_near_that_of_a_route_is_neither_a_route_nor_a_delay_for_certain():
    kinds = [told(start=1.2 + late).kind for late in (0.26, 0.31, 0.5)]
    assert kinds == ["longer-route", CANNOT_TELL, "delay"]
    assert "as likely longer-route or delay" in told(start=1.2 + 0.31).text


def test_a_step_that_is_not_known_well_is_no_route_for_certain():
    wide = {"noise": 0.06, "count": 3}
    cause = told(good=wide, start=1.2 + 2 * SWITCH, **wide)
    assert cause.kind == CANNOT_TELL
    assert "as likely longer-route or delay" in cause.text


def test_one_curve_in_ten_that_is_another_moves_a_parameter_little():
    good, slow = side(1), side(2, gap=8e-5)
    ratio = causes.differ(good, slow).ratios["gap"]
    stray = [*slow[1:], curve(np.random.default_rng(4), gap=8e-4)]
    moved = causes.differ(good, stray).ratios["gap"]
    assert moved.log == pytest.approx(ratio.log, abs=2 * ratio.error)
    assert moved.error < 3 * ratio.error


def test_of_a_ping_pong_alone_it_says_that_o_is_not_known():
    without = {"overhead": (None, None)}
    cause = told(good=without, start=1.9, **without)
    assert cause.kind == "delay"
    assert "o alone nobody measured, it may be the processors" in cause.text


def test_where_a_slot_was_slower_before_the_rate_of_the_link_tells():
    steps = ((2.0, "rate DDR instead of QDR", 20000.0),)
    assert told(steps, gap=5e-5).kind == "link-trained-lower"
    assert told(steps, gap=6e-5).kind == "rate-lost"


@pytest.mark.parametrize(
    ("good", "slow", "why"),
    [
        ({}, {}, "measured alone it is as good"),
        ({"noise": 0.7}, {"noise": 0.7}, "noise hides what differs"),
        ({}, {"start": 0.6, "late": 1.3, "eager": 10**9}, "that fits no cause"),
    ],
)
def test_what_nobody_can_tell_is_told(good, slow, why):
    cause = told(good=good, **slow)
    assert cause.kind == CANNOT_TELL, cause.text
    assert why in cause.text


def test_a_rate_below_what_noise_would_take_of_large_messages_may_be_either():
    cause = told(gap=5.6e-5, late=9.0)
    assert cause.kind == CANNOT_TELL
    assert "as likely rate-lost or noise" in cause.text


def test_no_clock_makes_the_rest_slower_than_the_work_of_the_processor():
    limited = told(gap=8e-5, overhead=(0.25, 0.2))
    assert (limited.kind, "o at the sender 1.2" in limited.text) == (CANNOT_TELL, True)
    assert told(eager=512, overhead=(0.2, 0.24)).kind == "protocol-switch"


def test_more_overhead_than_any_clock_makes_is_another_way_whatever_g_is():
    """G of one of three curves is another one: how much it is nobody knows."""
    draw = np.random.default_rng(5)
    slow = [curve(draw, start=12, overhead=(8, 8), gap=gap) for gap in (4e-5, 9e-5, 2e-4)]
    good = side(1, count=3)
    assert causes.differ(good, slow).states["gap"] == ""
    assert causes.judge(good, slow, STEPS, SWITCH).kind == "another-way"
    assert told(start=12, overhead=(8, 8)).kind == "another-way"
    as_before = [Curve(each.sizes, each.times, each.late, (0.2, 0.2)) for each in slow]
    assert causes.judge(good, as_before, STEPS, SWITCH).kind == CANNOT_TELL


def test_another_protocol_may_be_better_for_large_messages():
    cause = told(eager=512, gap=2.95e-5)
    assert cause.kind == "protocol-switch"
    assert "G 0.7" in cause.text


def test_among_nearly_equal_curves_stray_ones_move_a_parameter_little():
    exact = {"noise": 1e-9, "gap": 3.6e-4}
    strays = [curve(np.random.default_rng(seed), gap=1.4e-4) for seed in range(4)]
    ratio = causes.differ(side(1, **exact), [*side(2, count=7, **exact), *strays]).ratios["gap"]
    assert ratio.log == pytest.approx(0, abs=0.02)


def test_a_ratio_that_may_be_any_is_told_as_such():
    assert causes.Ratio(0.7, 600.0).text == "2.01 times (0.00 to inf)"


def test_of_healthy_curves_seldom_a_cause_is_told():
    told_of = [causes.judge(side(seed), side(seed + 100), STEPS).kind for seed in range(8)]
    assert sum(kind != CANNOT_TELL for kind in told_of) <= 1, told_of


def test_without_curves_or_sizes_in_common_it_says_so():
    assert "0 good curves and 10 slow ones" in causes.judge([], side(1)).text
    short = [replace_sizes(each, 5) for each in side(1)]
    assert "6 are required" in causes.judge(side(1), short).text


def replace_sizes(of, count):
    return Curve(of.sizes[:count], of.times[:count], of.late[:count], of.overheads)


def test_what_passed_in_a_turn_is_of_both_sides():
    good, slow = side(1, noise=0.005), side(2, noise=0.005, gap=8e-5)
    clocks = np.exp(0.4 * np.random.default_rng(3).standard_normal(len(good)))
    slower = [[[scaled(each, clock)] for each, clock in zip(of, clocks, strict=True)]
              for of in (good, slow)]  # fmt: skip
    assert causes.judge(*causes.in_turn(*slower), STEPS).kind == "link-trained-lower"
    # Without their turns only noise is seen.
    alone = [[each for turn in of for each in turn] for of in slower]
    assert causes.differ(*causes.in_turn(*slower)).ratios["gap"].error < (
        causes.differ(*alone).ratios["gap"].error / 4
    )


def scaled(of, clock):
    times, late = ([clock * each for each in values] for values in (of.times, of.late))
    return Curve(of.sizes, tuple(times), tuple(late), tuple(clock * o for o in of.overheads))


def test_one_slow_curve_is_known_no_better_than_good_ones_are():
    many, one = side(2), side(2)[:1]
    wide, narrow = (causes.differ(side(1), slow).ratios for slow in (one, many))
    assert all(wide[name].error > narrow[name].error for name in narrow if name != "tail")
    # Of one curve on each side nobody knows how far a 99th percentile varies.
    alone = causes.differ(side(1)[:1], [curve(np.random.default_rng(3), late=9.0)])
    assert alone.states["tail"] == ""
