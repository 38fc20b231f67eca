"""`core/pairs.py`: what a pair measured, stored and read again."""

import json
import math

import msgspec
import pytest

from acceptance.core.pairs import PairResult, pair_results

BETWEEN = PairResult("neighbours", ("node1", "node2"), 4194304, 35763.21, 117.28)
INSIDE = PairResult("inside", ("node1",), 8, 0.1, 80.0)


def stored(results):
    """Return results as a session has them."""
    return json.loads(msgspec.json.encode(results))


def test_results_of_pairs_come_back_as_they_were_stored():
    assert pair_results(stored([BETWEEN, INSIDE])) == (BETWEEN, INSIDE)
    assert (BETWEEN.inside, INSIDE.inside) == (False, True)


def test_a_case_without_pairs_has_none():
    assert pair_results(None) == pair_results("<undefined>") == pair_results([]) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": []}, {"nodes": [""]}, {"nodes": ["node1", ""]}, {"nodes": ["node1", "node1"]},
        {"nodes": ["a", "b", "c"]}, {"nodes": "node1"}, {"round": ""}, {"size": 8.5}, {"time": 0.0},
        {"time": math.nan}, {"time": math.inf}, {"bandwidth": -1}, {"bandwidth": "1"}, {"more": 1},
    ],
)  # fmt: skip
def test_a_malformed_result_is_told(wrong):
    with pytest.raises(ValueError, match=r"the results? of (a pair|pairs)"):
        pair_results([*stored([BETWEEN]), {**stored(BETWEEN), **wrong}])


@pytest.mark.parametrize("wrong", ["node1", 3, {"round": "a"}, ["node1"], [{}]])
def test_what_is_no_list_of_results_is_told(wrong):
    with pytest.raises(ValueError, match=r"the results? of (a pair|pairs)"):
        pair_results(wrong)
