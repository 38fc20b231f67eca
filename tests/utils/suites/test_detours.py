"""`suites/detours.py` on a recorded output of `patterns detours`, and on what cannot be one."""

import re

import pytest
from msgspec.structs import replace

from acceptance.core.errors import ParseError
from acceptance.suites import check_of, detours, find
from tests.places import ROOT

TEXT = (ROOT / "tests/data/detours/detours_np2.openmpi.txt").read_text()


def changed(pattern, replacement):
    text, count = re.subn(pattern, replacement, TEXT, count=1)
    assert count == 1
    return text


def test_a_whole_output():
    measured = detours.Measured(TEXT, ranks=2)
    (pair,) = measured.pairs
    assert [len(measured.of(pair, why)) for why in ("fastest", "sample", "slow")] == [32, 64, 20]
    assert [each.node for each in measured.ranks] == ["node1", "node2"]
    fastest, slow = measured.of(pair, "fastest"), measured.of(pair, "slow")
    assert min(each.round_trip_us for each in fastest) <= pair.usual_us
    assert all(each.round_trip_us > pair.usual_us + pair.beyond_us for each in slow)


def test_what_stands_before_and_after_is_not_of_the_program():
    measured = detours.Measured(f'placement rank=0\n{{"nobody":1}}\n{TEXT}bye')
    assert measured.pairs == detours.Measured(TEXT).pairs


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (TEXT[: len(TEXT) // 2], "in the middle of a line"),
        (TEXT.replace('{"type":"end"}\n', ""), "ends without its end"),
        ("bye\n", "no output of patterns"),
        (TEXT + TEXT, "a second output begins"),
        (changed('"version":"1.0"', '"version":"0.9"'), "version 0.9"),
        (changed('"ranks":2', '"ranks":3'), "ran with 3 ranks instead of 2"),
        (changed('"pattern":"detours"', '"pattern":"aapc"'), "ran the pattern aapc"),
        (changed(r'{"type":"options".*\n', ""), "a row before the options"),
        (changed('"second":1', '"second":2'), "no pair of this round"),
        (changed(r'({"type":"pair".*\n)', r"\1\1"), "instead of 32"),
        (changed(r'{"type":"exchange","why":"slow".*\n', ""), r"19 exchanges \(slow\)"),
        (changed(r'({"type":"exchange".*\n)({.*\n)', r"\2\1"), "does not follow"),
        (changed(r'"first_ns":\[(\d+),(\d+)', r'"first_ns":[\2,\1'), "cannot follow each other"),
        (changed(r'"beyond_us":[\d.]+', '"beyond_us":1'), "not half as long again"),
        (changed(r'"slow":\d+', '"slow":133'), "or more are slow"),
        (changed(r'"median_us":[\d.]+', '"median_us":1'), "percentiles do not grow"),
        (changed(r'"p99_us":[\d.]+', '"p99_us":33880.6'), "percentiles do not grow"),
        (changed(r'"p999_us":[\d.]+', '"p999_us":1'), "percentiles do not grow"),
        (changed(r'{"type":"detours","rank":0.*\n', ""), "rank 1 where 0 should be"),
        (changed(r'{"type":"detours","rank":1.*\n', ""), "1 ranks are missing"),
        (changed(r'"lost_us":[\d.]+', '"lost_us":9e9'), "no number"),
        (changed(r'"lost_us":\d+', '"lost_us":99999'), "do not fit each other"),
        (changed(r'"lost_us":\d+', '"lost_us":99'), "longer than all of them together"),
        (changed(r'"longest_ns":\[\d+,', '"longest_ns":['), "have no times"),
        (changed(r'"why":"slow"', '"why":"sample"'), "does not follow"),
        (changed(r'"usual_us":', '"usual":'), "no record"),
    ],
)
def test_what_is_not_whole_is_refused(text, fault):
    with pytest.raises(ParseError, match=fault):
        detours.Measured(text, ranks=2)


@pytest.mark.parametrize("number", [10**9, 10**30])
@pytest.mark.parametrize(
    ("pattern", "text", "fault"),
    [
        ('"pattern":"detours","ranks":2', '"pattern":"detours","ranks":{}', "pairs are missing"),
        ('("type":"options".*)"ranks":1', r'\1"ranks":{}', "no pair of this round"),
        ('"second":1', '"second":{}', "no pair of this round"),
    ],
)
def test_nothing_is_made_of_so_many_as_a_text_says(pattern, text, fault, number):
    with pytest.raises(ParseError, match=fault):
        detours.Measured(changed(pattern, text.format(number)))


@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize(
    ("nodes", "pairs"),
    [
        (2, {(0, 0, 1)}),
        (3, {(0, 0, 1), (1, 0, 2)}),
        (4, {(0, 0, 1), (0, 2, 3)}),
        (7, {(0, 0, 1), (0, 2, 3), (0, 4, 5), (1, 0, 6)}),
    ],
)
def test_each_rank_of_a_node_meets_that_of_another_one(nodes, pairs, each):
    """Nodes 0 and 1, 2 and 3; in a second round the last one of an odd number, and node 0."""
    ranks = range(nodes * each + 1)
    measured = detours.Measured(TEXT)
    measured.head[detours.Run] = replace(measured.run, ranks=nodes * each)
    options = measured.head[detours.Options]
    measured.head[detours.Options] = replace(options, ranks=each)
    found = {
        (number, first, second)
        for number in range(3) for first in ranks for second in ranks
        if measured._is_planned(number, first, second)
    }  # fmt: skip
    assert found == {(n, a * each + k, b * each + k) for n, a, b in pairs for k in range(each)}


def test_an_end_before_the_options_is_refused():
    with pytest.raises(ParseError, match="the end before the options"):
        detours.Measured(changed(r'{"type":"options".*\n(.*\n)*{"type":"end"}', '{"type":"end"}'))


def test_a_slow_exchange_is_slow():
    slow = re.search(r'"slow","number":\d+,"first_ns":\[(\d+),\d+,\d+,(\d+)\]', TEXT)
    text = TEXT.replace(f",{slow[2]}]", f",{int(slow[2]) - 10**8}]")
    with pytest.raises(ParseError, match=r"cannot follow|which is not slow"):
        detours.Measured(text)


def test_the_table_of_the_suite_has_its_metrics():
    row = find("patterns.detours")
    assert {*row.stems} == {name.removesuffix("_8") for name in detours.metrics()}
    assert check_of("patterns.detours", "late_by_network") == "checks/detours.py"
    assert row.least_nodes == 2
