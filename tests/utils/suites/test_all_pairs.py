"""What `patterns all-pairs` writes, whole and cut."""

import json
import re

import numpy as np
import pytest

from acceptance.core.errors import ParseError
from acceptance.core.pairs import UNITS, Curve, Inside, PairMatrix
from acceptance.suites import all_pairs
from tests.patterns_program import whole

JOB = {"type": "job", "version": "1.0", "ranks": 3, "bytes": 4194304, "timeout_s": 5,
       "limit_s": 600, "repetitions": [10, 1, 1], "schedule": "shifts", "rounds": 2,
       "estimate_s": 0.4, "nodes": ["a", "b#1", "c"]}  # fmt: skip
END = '{"type":"end","not_measured":0,"not_again":7}\n'


def values(latency, bandwidth, both):
    return {"latency_us": latency, "bandwidth_MBps": bandwidth, "both_MBps": both}


def again(because, sender, receiver, **more):
    pair = {"sender": sender, "receiver": receiver}
    return {"type": "again", "because": because, **pair, **more}


def curve(because, sender, receiver, **more):
    times = {"bytes": [8, 16], "time_us": [1.5, 1.75], "late_us": [2.5, 2.75]}
    pair = {"because": because, "sender": sender, "receiver": receiver}
    return {"type": "curve", **pair, **times, "overhead_us": [0.25, 0.3125], **more}


def text_of(*lines, job=JOB):
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (job, *lines))


FIRST = {"type": "round", "number": 1, **values([1, 2, 3], [100, 200, 300], [10, 20, 30])}
TEXT = (
    text_of(
        {"type": "failed", "sender": 2, "receiver": 1, "why": "latency: c did not answer in 5 s"},
        {"type": "round", "number": 2,
         **values([1.5, 1.25, None], [12021, 12019, None], [11873, 11902, None])},
        FIRST,
        again("suspect", 0, 1, **values(1.1, 12022, 11000)),
        again("control", 1, 2, **values(1.2, 12020, 11001)),
        again("suspect", 2, 0, why="both: no"),
    )
    + END
)  # fmt: skip
CHOSEN = (
    text_of(
        {"type": "round", "number": 1, "to": [2, -1, 0],
         **values([1, None, 3], [100, None, 300], [10, None, 30])},
        {"type": "round", "number": 2, "to": [-1, 2, -1],
         **values([None, 5, None], [None, 6, None], [None, 7, None])},
        job=JOB | {"schedule": "chosen"},
    )
    + END
)  # fmt: skip


def test_every_value_is_read_where_its_pair_is():
    matrix = whole(TEXT, ranks=3).matrix
    assert matrix.nodes == ("a", "b#1", "c")
    nan = np.nan
    expected = {
        "latency": [[nan, 1, 1.5], [1.25, nan, 2], [3, nan, nan]],
        "bandwidth": [[nan, 100, 12021], [12019, nan, 200], [300, nan, nan]],
        "both": [[nan, 10, 11873], [11902, nan, 20], [30, nan, nan]],
    }
    for quantity, of_all in expected.items():
        np.testing.assert_array_equal(matrix.values[quantity], of_all)
    np.testing.assert_array_equal(matrix.rounds, [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    assert matrix.again["bandwidth"] == {(0, 1): 12022, (1, 2): 12020}
    assert matrix.again["latency"] == {(0, 1): 1.1, (1, 2): 1.2}
    assert matrix.controls == {(1, 2)}
    assert matrix.failed == {(2, 1): "latency: c did not answer in 5 s", (2, 0): "alone: both: no"}
    assert matrix.not_again == 7
    assert matrix.curves == {}


def test_chosen_pairs_are_those_of_their_line():
    matrix = whole(CHOSEN).matrix
    np.testing.assert_array_equal(matrix.rounds, [[0, 0, 1], [0, 0, 2], [1, 0, 0]])
    assert matrix.values["both"][1, 2] == 7
    assert matrix.values["both"][2, 0] == 30


def test_a_killed_job_has_its_whole_rounds():
    cut = TEXT[: TEXT.index(',"both_MBps":[10')]
    with pytest.raises(ParseError, match="ends in the middle of a line"):
        whole(cut)
    measured = all_pairs.Measured(cut)
    assert "middle of a line" in str(measured.fault)
    assert (measured.job.rounds, measured.left) == (2, 1)
    assert measured.job.estimate_s == 0.4
    np.testing.assert_array_equal(measured.matrix.rounds, [[0, 0, 2], [2, 0, 0], [0, 2, 0]])
    assert measured.matrix.failed


def test_whole_lines_without_an_end_are_no_complete_file():
    with pytest.raises(ParseError, match="ended before it had measured all"):
        whole(TEXT.removesuffix(END))
    assert whole(TEXT).left == 0
    unmeasured = TEXT.replace(text_of(FIRST).splitlines()[1] + "\n", "")
    with pytest.raises(ParseError, match="1 rounds and 0 left are not 2"):
        whole(unmeasured)
    told = whole(unmeasured.replace('"not_measured":0', '"not_measured":1'))
    assert told.left == 1


FAULTS = [
    ("the output is empty", TEXT, ""),
    ("no latency of rank 2, and no line says why", TEXT.splitlines()[1] + "\n", ""),
    ("malformed", "[100,200,300]", "[100,nan,300]"),
    ("Expected `float` > 0.0", "[1,2,3]", "[1,0,3]"),
    ("Expected `float` > 0.0", "[1,2,3]", "[1,-2,3]"),
    ("a number with an exponent", "[100,200,300]", "[100,2e2,300]"),
    ("2 values of 3 ranks: both", "[10,20,30]", "[10,20]"),
    ("missing required field `bandwidth_MBps`", '"bandwidth_MBps":[100,200,300],', ""),
    ("unknown field `bandwidth_GBps`", '"bandwidth_MBps":[100', '"bandwidth_GBps":[100'),
    ("no shift of 3 ranks by 3", '"number":1', '"number":3'),
    ("a second round 2", '"number":1,"latency_us":[1,2,3]', '"number":2,"latency_us":[1,2,3]'),
    ("inside of a node again", '"sender":0,"receiver":1', '"sender":0,"receiver":0'),
    ("1 and 3 are no two of 3 ranks", '"sender":1,"receiver":2', '"sender":1,"receiver":3'),
    ("was measured again before", '"sender":0,"receiver":1', '"sender":1,"receiver":2'),
    ("neither all values nor only why", '"latency_us":1.1,', ""),
    ("neither all values nor only why", '"receiver":0,"why"', '"receiver":0,"both_MBps":1,"why"'),
    ("'1.10' is no number as patterns prints it", '"latency_us":1.1,', '"latency_us":1.10,'),
    ("that is not of this round", '"sender":2,"receiver":1', '"sender":2,"receiver":0'),
    ("no 3 distinct names", '"c"]', '"a"]'),
    ("no 3 distinct names", ',"c"]', "]"),
    ("Expected `str` of length >= 1", '"b#1"', '""'),
    ("1 ranks instead of two or more", '"ranks":3', '"ranks":1'),
    ("Number out of range", "[100,200,300]", f"[100,{'9' * 400},300]"),
    ("Expected `int` >= 0", '"not_again":7', '"not_again":-1'),
    ("Invalid value 'bye'", '"type":"again","because":"control"', '"type":"bye"'),
    ("a line after the end", END, END + text_of(FIRST).splitlines()[1] + "\n"),
    ("Invalid value 'run'", '{"type":"job"', '{"type":"run"'),
    ("an output of version 2.0", '"version":"1.0"', '"version":"2.0"'),
    ("missing required field `not_again`", ',"not_again":7', ""),
    ("Invalid enum value 'tournament'", '"shifts"', '"tournament"'),
    ("chosen pairs among shifts", '"number":1,', '"number":1,"to":[1,2,0],'),
    ("a round before it has no end", text_of(FIRST).splitlines()[1] + "\n",
     '{"type":"failed","sender":0,"receiver":1,"why":"no"}\n'),
]  # fmt: skip


@pytest.mark.parametrize(("words", "old", "new"), FAULTS)
def test_what_is_not_consistent_is_refused(words, old, new):
    assert TEXT.count(old) == 1
    with pytest.raises(ParseError, match=re.escape(words)):
        whole(TEXT.replace(old, new))


def with_curves(*lines):
    body = TEXT.removesuffix(END)
    return body + "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines) + END


CURVES = with_curves(
    curve("suspect", 0, 1),
    {"type": "curve", "because": "suspect", "sender": 2, "receiver": 0, "why": "curve: no"},
    {**curve("suspect", 0, 1), "time_us": [1.25, 1.375], "overhead_us": [None, None]},
    {**curve("control", 1, 2), "late_us": [4, 5]},
)


def test_a_pair_has_the_curves_of_each_turn():
    assert whole(CURVES).matrix.curves == {
        (0, 1): (
            Curve((8, 16), (1.5, 1.75), (2.5, 2.75), (0.25, 0.3125)),
            Curve((8, 16), (1.25, 1.375), (2.5, 2.75), (None, None)),
        ),
        (1, 2): (Curve((8, 16), (1.5, 1.75), (4, 5), (0.25, 0.3125)),),
    }


def test_a_pair_without_a_curve_failed_although_it_has_values():
    why = "curve: c did not answer within 5 s"
    failed = {"type": "curve", "because": "control", "sender": 1, "receiver": 2, "why": why}
    matrix = whole(with_curves(curve("suspect", 0, 1), failed)).matrix
    assert matrix.failed[1, 2] == f"alone: {why}"
    assert (1, 2) not in matrix.curves


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        ("neither a time of each size", "[1.25,1.375]", "[1.25]"),
        ("neither a time of each size", ',"why":"curve: no"', ""),
        ("sizes that are not in their order", '2,"bytes":[8,16]', '2,"bytes":[16,8]'),
        ("sizes that are not in their order", '2,"bytes":[8,16]', '2,"bytes":[8,8388608]'),
        ("other sizes than the curves before", '2,"bytes":[8,16]', '2,"bytes":[8,64]'),
        ("a 99th percentile below the median", "[4,5]", "[4,1]"),
        ("Expected `float` > 0", "[1.25,1.375]", "[1.25,0]"),
        ("not measured again as this", '"control","sender":1,"receiver":2,"bytes"',
         '"suspect","sender":1,"receiver":2,"bytes"'),
        ("not measured again as this", '"control","sender":1,"receiver":2,"bytes"',
         '"control","sender":2,"receiver":1,"bytes"'),
        ("or of a node with itself", '"control","sender":1,"receiver":2,"bytes"',
         '"control","sender":1,"receiver":1,"bytes"'),
    ],
)  # fmt: skip
def test_a_curve_that_is_not_consistent_is_refused(words, old, new):
    assert CURVES.count(old) == 1
    with pytest.raises(ParseError, match=re.escape(words)):
        whole(CURVES.replace(old, new))


def test_another_number_of_ranks_is_refused():
    with pytest.raises(ParseError, match="3 ranks instead of 4"):
        whole(TEXT, ranks=4)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("[2,-1,0]", "[2,-1,2]", "a rank sends to itself"),
        ("[2,-1,0]", "[2,2,-1]", "receives twice"),
        ("[2,-1,0]", "[2,-1]", "there is no such rank"),
        ("[2,-1,0]", "[2,-2,0]", "are no two of|no such rank"),
        ("[null,5,null]", "[1,5,null]", "latency of rank 0, which sends nothing"),
        ('"to":[-1,2,-1]', '"to":[2,-1,-1]', "no latency of rank 0|which sends nothing"),
        ('"number":2,"to":[-1,2,-1],', '"number":2,', "a shift among chosen pairs"),
    ],
)
def test_a_chosen_round_is_consistent(old, new, fault):
    assert CHOSEN.count(old) == 1
    with pytest.raises(ParseError, match=fault):
        whole(CHOSEN.replace(old, new))


def test_no_pair_is_in_two_rounds():
    again = CHOSEN.replace("[-1,2,-1]", "[2,-1,-1]")
    for value in (5, 6, 7):
        again = again.replace(f"[null,{value},null]", f"[{value},null,null]")
    with pytest.raises(ParseError, match="a pair is in two rounds"):
        whole(again)


INSIDE = (
    text_of(
        {"type": "failed", "sender": 1, "receiver": 1, "why": "both: no"},
        {"type": "round", "number": 0, **values([0.5, None, 0.25], [50, None, 60], [5, None, 6])},
        FIRST,
        {
            "type": "again",
            "because": "suspect",
            "sender": 0,
            "receiver": 0,
            **values(0.75, 51, 5.5),
        },
        job=JOB | {"rounds": 1},
    )
    + END
)


def test_what_nodes_measured_inside_is_apart_from_their_pairs():
    matrix = whole(INSIDE, ranks=3).matrix
    inside = matrix.inside
    np.testing.assert_equal(inside.values["latency inside"], [0.5, np.nan, 0.25])
    np.testing.assert_equal(inside.values["both inside"], [5, np.nan, 6])
    assert inside.failed == {1: "both: no"}
    assert inside.again["bandwidth inside"] == {0: 51}
    assert all(np.isnan(values.diagonal()).all() for values in matrix.values.values())
    assert (matrix.failed, matrix.again) == ({}, {})
    found = all_pairs.metrics(matrix)
    assert found["latency_inside_8"] == (0.375, "us")
    assert found["latency_inside_max_8"] == (0.5, "us")
    assert found["bandwidth_inside_min_4194304"] == (50, "MB/s")
    assert not [name for name in all_pairs.metrics(matrix, inside=False) if "inside" in name]


def test_a_file_that_lost_what_was_measured_inside_gives_no_metrics():
    measured = whole(TEXT)
    with pytest.raises(ValueError, match="nothing was measured inside of the nodes: latency ins"):
        all_pairs.metrics(measured.matrix)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            '"sender":1,"receiver":1',
            '"sender":0,"receiver":0',
            "no latency of rank 1",
        ),
        ("[0.5,null,0.25]", "[0.5,0.25]", "2 values of 3 ranks: latency"),
        (
            '"because":"suspect","sender":0',
            '"because":"control","sender":0',
            "inside of a node again",
        ),
        (
            '{"type":"round","number":1',
            '{"type":"round","number":0',
            "stands twice, or after a round",
        ),
    ],
)
def test_what_is_not_consistent_inside_is_refused(old, new, fault):
    assert INSIDE.count(old) == 1
    with pytest.raises(ParseError, match=fault):
        whole(INSIDE.replace(old, new), ranks=3)


def test_of_several_passes_each_value_is_the_median_and_what_one_suspected_is_no_control():
    nan = float("nan")
    parts = []
    for value, again, control in ((1.0, 4.0, True), (5.0, 6.0, False), (3.0, 8.0, True)):
        values = {name: np.array([[nan, value], [nan, nan]]) for name in UNITS}
        inside = Inside({"latency inside": np.array([value, nan])}, {"latency inside": {0: value}})
        parts.append(
            PairMatrix(
                ("a", "b"),
                values,
                np.array([[0, 1], [0, 0]], dtype=np.int32),
                {"latency": {(0, 1): again}},
                frozenset({(0, 1)} if control else ()),
                {(1, 0): "no answer"} if value == 5 else {},
                1,
                inside,
            )
        )
    found, times = all_pairs.middle(parts)
    assert times == 3
    assert found.values["both"][0, 1] == 3
    assert np.isnan(found.values["both"][1, 0])
    assert found.again == {"latency": {(0, 1): 6.0}}
    assert found.controls == frozenset()
    assert found.failed == {(1, 0): "no answer"}
    assert found.not_again == 3
    assert found.inside.values["latency inside"][0] == 3
    assert found.inside.again == {"latency inside": {0: 3.0}}
    assert found.rounds.tolist() == [[0, 1], [0, 0]]
    # A pass that ended before it had measured anything leaves the others as they are.
    begun = PairMatrix(
        ("a", "b"), {name: np.full((2, 2), nan) for name in UNITS}, np.zeros((2, 2), np.int32)
    )
    after = all_pairs.middle([begun, *parts])[0]
    assert after.inside.values["latency inside"][0] == after.values["both"][0, 1] == 3
    other = PairMatrix(("b", "a"), parts[0].values, parts[0].rounds)
    with pytest.raises(ValueError, match="the nodes are others"):
        all_pairs.middle([parts[0], other])
    with pytest.raises(ValueError, match="no pass left what it measured"):
        all_pairs.middle([])


def test_a_pair_was_in_as_many_passes_as_measured_it():
    """A pass without time for all rounds leaves some pairs to the others."""
    parts = [
        PairMatrix(
            ("a", "b"),
            {"latency": np.where(rounds, 1.0, np.nan)},
            np.array(rounds, dtype=np.int32),
            failed=dict.fromkeys(failed, "no answer"),
        )
        for rounds, failed in (
            ([[0, 1], [1, 0]], []), ([[0, 1], [0, 0]], []), ([[0, 1], [1, 0]], [(0, 1)]),
        )
    ]  # fmt: skip
    assert [all_pairs.middle(parts[:count])[1] for count in (1, 2, 3)] == [1, 1, 2]


def test_of_many_nodes_a_short_run_takes_some_rounds_each_with_its_way_back():
    assert all_pairs.shifts(17, 16) == []
    assert all_pairs.shifts(1024, 0) == []
    for nodes in (18, 19, 200, 1024):
        shifts = all_pairs.shifts(nodes, 16)
        assert len(shifts) == 16
        assert {nodes - shift for shift in shifts} == {*shifts}
    assert all_pairs.shifts(200, 4) == [1, 99, 101, 199]
    assert all_pairs.shifts(200, 6) == [1, 50, 99, 101, 150, 199], "spread evenly"
    assert all_pairs.shifts(200, 1) == [1, 199], "not all of them"
