"""What a case of all pairs says that it has looked at, by which an alert goes or stays."""

import math

import pytest

from acceptance.nodes import AllPairs
from acceptance.nodes.culprit import NodeValues
from acceptance.nodes.fit import BACK, SMALLEST_INSIDE, USUAL, Aim

NODES = tuple("abcdefgh")


def pairs(**more):
    counts = {"pairs": 8, "rounds": 2, "planned": 2, "again": 0}
    both = ("bandwidth", "latency")
    return AllPairs(NODES, both, more.pop("shifts", (1, 7)), **counts, culprits=(), **more)


@pytest.mark.parametrize(
    ("shifts", "seen"),
    [
        # Both ways of a pair stand in two shifts.
        ((1, 7), "ab bc gh ha ah"),
        ((1,), ""),
        ((2, 6), "ac ca bd hb"),
        ((4,), "ae ea hd"),
        ((3, 5), "ad da cf"),
    ],
)
def test_a_pair_was_looked_at_where_all_that_stand_as_far_apart_were(shifts, seen):
    it = pairs(shifts=shifts)
    for left in NODES:
        for right in NODES:
            if left != right:
                apart = (NODES.index(right) - NODES.index(left)) % 8
                assert it.looked_at(left, right) == ({apart, 8 - apart} <= {*shifts})
    assert all(it.looked_at(*pair) for pair in seen.split())
    assert not it.looked_at("a", "other")
    assert not it.looked_at("other", "b")


def test_a_cable_was_looked_at_where_a_pair_crossed_it():
    name = "leaf1[3] - spine2[4]"
    assert pairs(links=12).crossed(name)
    assert not pairs(links=12, uncrossed=(name,)).crossed(name)
    assert not pairs(links=12, unrouted="no route leads between 2 pairs").crossed(name)
    assert not pairs().crossed(name)


@pytest.mark.parametrize(
    ("quantity", "worse", "aim", "least"),
    [
        ("bandwidth", -1, USUAL, USUAL.smallest("bandwidth")),
        ("bandwidth", -1, Aim(0.02), -math.log1p(-0.02) / 2),
        ("latency", 1, USUAL, USUAL.smallest("latency")),
        ("bandwidth inside", -1, USUAL, SMALLEST_INSIDE["MB/s"]),
        ("latency inside", 1, USUAL, SMALLEST_INSIDE["us"]),
    ],
)
def test_a_node_is_back_that_has_lost_no_more_than_a_part_of_what_is_named(
    quantity, worse, aim, least
):
    def back(loss, nodes="b", median=100.0):
        values = [median] * 8
        values[1] = None if loss is None else median * math.exp(worse * loss)
        unit = "us" if worse == 1 else "MB/s"
        own = NodeValues(quantity, unit, median, tuple(values))
        return pairs(values=(own,), aim=aim).is_back(quantity, nodes)

    assert back(0.0)
    assert back(-1.0)
    assert back(BACK * least * 0.99)
    assert not back(BACK * least * 1.01)
    # Of several the worst counts; one that was not measured is not back.
    assert not back(BACK * least * 1.01, "abc")
    assert not back(None)
    assert back(None, "a")
