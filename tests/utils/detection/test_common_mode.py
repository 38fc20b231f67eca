"""Nights on which nearly all was slower, beside a plain way to compute the same."""

import numpy as np
import pytest

from acceptance.core.robust import MAD_TO_STD
from acceptance.detection.common_mode import deviations, levels, outstanding, unusual
from acceptance.detection.constants import (
    NIGHT_CASES,
    NIGHT_LEAST,
    NIGHT_PAST,
    NIGHT_PAST_FEWEST,
    NIGHT_RARE,
    NIGHT_SHARE,
    NIGHT_STEADIEST,
    NIGHT_TAIL,
    NIGHT_WINDOW,
    NIGHT_WINDOW_FEWEST,
)


@pytest.mark.parametrize("seed", range(4))
def test_a_sample_is_compared_with_the_median_and_the_spread_of_those_before_it(seed):
    chance = np.random.default_rng(seed)
    series, n = 5, 9
    counts = chance.integers(0, NIGHT_WINDOW + 1, series)
    before, values = chance.normal(size=(NIGHT_WINDOW, series)), chance.normal(size=(n, series))
    by_spreads, by = deviations(values, before, counts)
    for column in range(series):
        past = [*before[NIGHT_WINDOW - counts[column] :, column]]
        for row in range(n):
            window = past[-NIGHT_WINDOW:]
            past.append(values[row, column])
            if len(window) < NIGHT_WINDOW_FEWEST:
                assert np.isnan(by[row, column])
                assert np.isnan(by_spreads[row, column])
                continue
            off = values[row, column] - np.median(window)
            spread = MAD_TO_STD * np.median(np.abs(window - np.median(window)))
            assert by[row, column] == pytest.approx(off)
            assert by_spreads[row, column] == pytest.approx(off / max(spread, NIGHT_STEADIEST))


@pytest.mark.parametrize("seed", range(4))
def test_the_level_of_a_night_is_that_which_most_of_its_cases_reach(seed):
    chance = np.random.default_rng(seed)
    nights, cases, off, expected = [], [], [], []
    # One case of some has far more metrics than all others.
    for night in (3, 7, 8, 20):
        count = NIGHT_CASES - 1 if night == 7 else int(chance.integers(NIGHT_CASES, 12))
        moved = []
        for case in chance.permutation(40)[:count]:
            own = chance.normal(size=(60 if case == 0 or not moved else chance.integers(1, 6), 2))
            nights += [night] * len(own)
            cases += [case] * len(own)
            off += [*own]
            # Of an even number the lower one of both in the middle.
            moved.append(np.sort(own, axis=0)[(len(own) - 1) // 2])
        if count >= NIGHT_CASES:
            at = int((1 - NIGHT_SHARE) * (count - 1))
            expected.append([night, *np.sort(moved, axis=0)[at]])
    off.append(np.full(2, np.nan))
    order = chance.permutation(len(off))
    given = [np.array(each)[order] for each in ([*nights, 7], [*cases, 39], off)]
    assert levels(*given) == pytest.approx(np.array(expected))
    nothing = np.array([], np.int64)
    assert levels(nothing, nothing, np.empty((0, 2))).shape == (0, 3)


def test_the_tail_of_the_past_tells_how_unusual_a_night_is():
    past = np.array([0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.010])
    # Of nine the largest three are 0.0083 on average, 0.0023 above the next one; below that a night
    # is as usual as three of nine.
    assert unusual(0.006, past) == unusual(0.0, past) == pytest.approx(1 / 3)
    shape = NIGHT_TAIL + 1 / 3
    far = 0.044 / ((0.025 / 3 - 0.006) * (1 - NIGHT_TAIL))
    assert unusual(0.050, past) == pytest.approx(1 / 3 * (1 + shape * far) ** (-1 / shape))
    # A past without any scatter has the least excess.
    far = 0.044 / (NIGHT_STEADIEST * (1 - NIGHT_TAIL))
    same = unusual(0.050, np.full(9, 0.006))
    assert same == pytest.approx(1 / 3 * (1 + shape * far) ** (-1 / shape))


def made(*changes, spreads=4.0):
    return np.array([[night, spreads, change] for night, change in enumerate(changes)])


def test_a_night_stands_out_beside_those_before_it_alone():
    usual = [0.001, 0.002, 0.0015, 0.0005] * 20
    found = outstanding(made(*usual, 0.9, *usual[:4]))
    assert [*found] == [80]
    # None is said to be certain.
    assert 0.99 < found[80] <= 0.9999
    assert outstanding(made(*usual, 1e9))[80] == 0.9999
    assert not outstanding(made(*usual, 0.9, spreads=2.0))
    assert not outstanding(made(*usual, NIGHT_LEAST))


def test_too_few_nights_tell_nothing_and_the_first_ones_little():
    assert not outstanding(made(*[0.001] * (NIGHT_PAST_FEWEST - 1), 0.9))
    assert [*outstanding(made(*[0.001] * NIGHT_PAST_FEWEST, 1e6))] == [NIGHT_PAST_FEWEST]
    # The chance that is rare enough is larger after few nights than after many.
    few, many = ([0.001, 0.002] * (count // 2) for count in (12, 230))
    least = [1 / NIGHT_RARE + 1 / len(past) ** 2 for past in (few, many)]
    assert unusual(0.02, np.array(few)) > least[0] > unusual(0.03, np.array(few)) > least[1]
    assert not outstanding(made(*few, 0.02))
    assert [*outstanding(made(*few, 0.03))] == [12]
    assert unusual(0.02, np.array(many)) > least[1] > unusual(0.03, np.array(many))
    assert not outstanding(made(*many, 0.02))
    assert [*outstanding(made(*many, 0.03))] == [230]


def test_a_spell_of_slow_nights_teaches_nothing_until_another_one_came():
    usual = [0.001, 0.002, 0.0015, 0.0005] * 10
    spell = [0.9, 0.9, 0.9]
    first = outstanding(made(*usual, *spell, *usual))
    assert [*first] == [40, 41, 42]
    # The second one is told, too; then such nights are what happens there.
    more = outstanding(made(*usual, *spell, *usual, *spell, *usual, 0.9))
    assert [*more][:6] == [40, 41, 42, 83, 84, 85]
    assert more.get(126, 0) < more[83]


def test_spells_of_a_past_that_is_over_are_forgotten():
    usual, spell = [0.001, 0.002, 0.0015, 0.0005], [0.9, 0.9, 0.9]
    start = [*usual * 10, *spell, *usual * 10, *spell]
    for nights, told in ((40, False), (NIGHT_PAST + 4, True)):
        changes = [*start, *usual * (nights // 4), 0.05]
        found = outstanding(made(*changes))
        assert (len(changes) - 1 in found) == told
