"""`detection/delta.py`: the smallest set of changes, and how many sets it takes to find it."""

import math
import random

import pytest

from acceptance.detection.delta import BAD, CANNOT_TELL, GOOD, Found, following, most


def search(count, oracle):
    """Return the end of a search among so many changes, and what was asked on the way."""
    told = {}
    while not isinstance(asked := following(count, told), Found):
        assert asked not in told, "nothing is asked twice"
        told[asked] = oracle(asked)
    return asked, told


def has(*causes):
    """Return an oracle: what holds all changes of a cause is bad."""
    return lambda changes: BAD if any({*cause} <= changes for cause in causes) else GOOD


def flat(found):
    return [sorted(number for unit in cause for number in unit) for cause in found.causes]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 21, 64])
def test_each_single_change_is_found_in_its_logarithm_and_three(count):
    for number in range(count):
        found, told = search(count, has([number]))
        assert found == Found(((frozenset([number]),),), GOOD)
        assert len(told) <= math.ceil(math.log2(count)) + 3


@pytest.mark.parametrize("count", [2, 3, 8, 64])
def test_an_interaction_of_two_is_found_as_one_cause_of_two_units(count):
    pick = random.Random(count)
    for _ in range(100):
        pair = sorted(pick.sample(range(count), 2))
        found, told = search(count, has(pair))
        assert flat(found) == [pair]
        assert len(found.causes[0]) == 2
        assert len(told) <= most(count)


@pytest.mark.parametrize("count", [2, 5, 8, 64])
def test_of_two_changes_that_each_bring_the_loss_both_are_found(count):
    pick = random.Random(count)
    for _ in range(100):
        one, two = pick.sample(range(count), 2)
        found, told = search(count, has([one], [two]))
        assert sorted(flat(found)) == sorted([[one], [two]])
        assert found.rest == GOOD
        assert len(told) <= most(count)


def test_what_takes_three_is_found_whole():
    found, _ = search(32, has([3, 17, 30]))
    assert sorted(flat(found)[0]) == [3, 17, 30]
    assert len(found.causes[0]) == 3


def test_without_a_loss_in_all_of_them_nothing_is_a_cause():
    for word in (GOOD, CANNOT_TELL):
        found, told = search(8, lambda _, word=word: word)
        assert (found, len(told)) == (Found((), word), 1)
    assert search(0, pytest.fail)[0] == Found((), GOOD)


def test_a_set_that_does_not_build_is_passed_over():
    """Change 2 needs change 6: what has one without the other tells nothing."""

    def oracle(changes):
        return CANNOT_TELL if 2 in changes and 6 not in changes else has([4])(changes)

    found, told = search(8, oracle)
    assert flat(found) == [[4]]
    assert CANNOT_TELL in told.values()


def test_what_cannot_be_separated_stays_one_unit():
    """Changes 2 and 3 build only together."""

    def oracle(changes):
        return CANNOT_TELL if len(changes & {2, 3}) == 1 else has([3])(changes)

    found, _ = search(6, oracle)
    assert found.causes == ((frozenset([2, 3]),),)


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_whatever_cannot_be_told_the_cause_is_in_what_is_found(share):
    pick = random.Random(7)
    for _ in range(100):
        count = pick.randrange(2, 20)
        number, silent = pick.randrange(count), {}

        def oracle(changes, number=number, silent=silent, count=count):
            if len(changes) < count and silent.setdefault(changes, pick.random() < share):
                return CANNOT_TELL
            return has([number])(changes)

        found, told = search(count, oracle)
        assert number in flat(found)[0]
        assert len(told) < 12 * most(count)
