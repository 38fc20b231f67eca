"""What `patterns all-pairs` writes, whole and cut."""

import re

import numpy as np
import pytest

from acceptance.core.errors import ParseError
from acceptance.suites.patterns import all_pairs_output

TEXT = """\
# version: 1.0
# pattern: all-pairs
# ranks: 3
# bytes: 4194304
# schedule: shifts
# rounds: 2
# estimate: 0.4
# node 0: a
# node 1: b#1
# node 2: c
# values
failed 2 2 1 latency: c did not answer within 5 s
latency 2 1.5 1.25 -
bandwidth 2 12021 12019 -
both 2 11873 11902 -
latency 1 1 2 3
bandwidth 1 100 200 300
both 1 10 20 30
again bandwidth 0 1 12022 suspect
again bandwidth 1 2 12020 control
# not_measured: 0
# not_again: 7
# end
"""
CHOSEN = (
    TEXT[: TEXT.index("failed")].replace("shifts", "chosen")
    + """\
pairs 1 0>2 2>0
latency 1 1 - 3
bandwidth 1 100 - 300
both 1 10 - 30
pairs 2 1>2
latency 2 - 5 -
bandwidth 2 - 6 -
both 2 - 7 -
# not_measured: 0
# not_again: 0
# end
"""
)


def test_every_value_is_read_where_its_pair_is():
    matrix = all_pairs_output.parse(TEXT, ranks=3)
    assert matrix.nodes == ("a", "b#1", "c")
    nan = np.nan
    values = {
        "latency": [[nan, 1, 1.5], [1.25, nan, 2], [3, nan, nan]],
        "bandwidth": [[nan, 100, 12021], [12019, nan, 200], [300, nan, nan]],
        "both": [[nan, 10, 11873], [11902, nan, 20], [30, nan, nan]],
    }
    for quantity, expected in values.items():
        np.testing.assert_array_equal(matrix.values[quantity], expected)
    np.testing.assert_array_equal(matrix.rounds, [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    assert matrix.again == {"bandwidth": {(0, 1): 12022, (1, 2): 12020}}
    assert matrix.controls == {(1, 2)}
    assert matrix.failed == {(2, 1): "latency: c did not answer within 5 s"}
    assert matrix.not_again == 7


def test_chosen_pairs_are_those_of_their_line():
    matrix = all_pairs_output.parse(CHOSEN)
    np.testing.assert_array_equal(matrix.rounds, [[0, 0, 1], [0, 0, 2], [1, 0, 0]])
    assert matrix.values["both"][1, 2] == 7
    assert matrix.values["both"][2, 0] == 30


def test_a_killed_job_has_its_whole_rounds():
    cut = TEXT[: TEXT.index("both 1")] + "both 1 10 2"
    with pytest.raises(ParseError, match="ends in the middle of a line"):
        all_pairs_output.parse(cut)
    measured = all_pairs_output.read_so_far(cut)
    assert "middle of a line" in str(measured.fault)
    assert (measured.planned, measured.left) == (2, 1)
    assert measured.header["estimate"] == "0.4"
    np.testing.assert_array_equal(measured.matrix.rounds, [[0, 0, 2], [2, 0, 0], [0, 2, 0]])
    assert measured.matrix.failed


def test_whole_lines_without_an_end_are_no_complete_file():
    with pytest.raises(ParseError, match="ended before it had measured all"):
        all_pairs_output.parse(TEXT.removesuffix("# end\n"))
    assert all_pairs_output.read(TEXT).left == 0
    unmeasured = re.sub(r"(?m)^(latency|bandwidth|both) 1 .*\n", "", TEXT)
    with pytest.raises(ParseError, match="1 rounds and 0 left are not 2"):
        all_pairs_output.parse(unmeasured)
    told = all_pairs_output.read(unmeasured.replace("not_measured: 0", "not_measured: 1"))
    assert told.left == 1


FAULTS = {
    "rank 2, and no line says why": ("failed 2 2 1 latency: c did not answer within 5 s\n", ""),
    "no number": ("bandwidth 1 100 200 300", "bandwidth 1 100 nan 300"),
    "cannot have been measured": ("latency 1 1 2 3", "latency 1 1 0 3"),
    "2 values of 3 ranks": ("both 1 10 20 30", "both 1 10 20"),
    "both in place of bandwidth": ("bandwidth 2 12021 12019 -\n", ""),
    "no shift of 3 ranks by 3": ("latency 1 1 2 3", "latency 3 1 2 3"),
    "which did not begin": ("bandwidth 1 100", "bandwidth 2 100"),
    "a second one": (
        "1 1 2 3\nbandwidth 1 100 200 300\nboth 1",
        "2 1 2 3\nbandwidth 2 1 2 3\nboth 2",
    ),
    "no two of 3 ranks": ("again bandwidth 0 1", "again bandwidth 0 0"),
    "measured again before": ("again bandwidth 0 1", "again bandwidth 1 2"),
    "that failed for a reason": ("failed 2 2 1 lat", "failed 2 2 0 lat"),
    "not distinct": ("node 2: c", "node 2: a"),
    "no `node 2`": ("# node 2: c\n", ""),
    "an unknown line": ("both 1 10 20 30\n", "both 1 10 20 30\nbye\n"),
    "a line after the end": ("# end\n", "# end\nlatency 1 1 2 3\n"),
    "not all-pairs": ("pattern: all-pairs", "pattern: aapc"),
    "the header does not end": (TEXT[TEXT.index("# values") :], ""),
    "ends too early": ("# not_again: 7\n", ""),
    "unknown schedule": ("schedule: shifts", "schedule: tournament"),
    "chosen pairs among shifts": ("# values\n", "# values\npairs 1 0>1\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_consistent_is_refused(fault):
    old, new = FAULTS[fault]
    assert TEXT.count(old) == 1
    with pytest.raises(ParseError, match=re.escape(fault)):
        all_pairs_output.parse(TEXT.replace(old, new))


def test_another_number_of_ranks_is_refused():
    with pytest.raises(ParseError, match="3 ranks instead of 4"):
        all_pairs_output.parse(TEXT, ranks=4)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("2>0", "2>2", "no two of 3 ranks"),
        ("0>2 2>0", "0>2 1>2", "sends or receives twice"),
        ("latency 2 - 5 -", "latency 2 1 5 -", "a rank that sends nothing"),
        ("1>2", "2>0", "a pair is in two rounds"),
    ],
)
def test_a_chosen_round_is_consistent(old, new, fault):
    text = CHOSEN.replace(old, new)
    if fault == "a pair is in two rounds":
        text = text.replace("- 5 -", "- - 5").replace("- 6 -", "- - 6").replace("- 7 -", "- - 7")
    with pytest.raises(ParseError, match=fault):
        all_pairs_output.parse(text)
