"""`suites/patterns.py` on recorded outputs of `patterns`, whole and mutilated."""

import json
import re

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import patterns
from tests.places import ROOT

DATA = ROOT / "tests/data/patterns"
PAIRS = "simple-pairwise_np5.openmpi.txt"
AAPC = "aapc_np2.mpich.txt"
BEFF = "b-eff_np2.impi.txt"
DISTANCE = "distance_np3.openmpi.txt"


def read(name):
    return (DATA / name).read_text()


#: File -> pattern, ranks, and rows of each kind.
WHOLE = {
    PAIRS: ("simple-pairwise", 5, {patterns.Phase: 8}),
    AAPC: ("aapc", 2, {patterns.Phase: 7}),
    BEFF: ("b-eff", 2, {patterns.Rate: 441, patterns.Summary: 1}),
    DISTANCE: ("distance", 3, {patterns.Distance: 28}),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_output(name):
    pattern, ranks, rows = WHOLE[name]
    output = patterns.parse(read(name), name, pattern=pattern, ranks=ranks)
    kinds = [type(row) for row in output.rows]
    assert {kind: kinds.count(kind) for kind in kinds} == rows
    assert (output.run.pattern, output.run.ranks) == (pattern, ranks)


def test_values_are_those_of_their_line():
    (line,) = re.findall(r'^{"type":"phase","size_B":65536,"phase":2,.*', read(PAIRS), re.MULTILINE)
    printed = json.loads(line)
    assert printed.pop("type") == "phase"
    rows = patterns.parse(read(PAIRS)).rows
    (row,) = (row for row in rows if (row.size_B, row.phase) == (65536, 2))
    assert {name: getattr(row, name) for name in printed} == printed


def test_each_column_ends_in_the_unit_of_its_metric():
    units = {"MB/s": "_MBps", "us": "_us"}
    for row in patterns.BENCHMARKS.values():
        for column in row.columns:
            assert column.name.endswith(units[column.unit])


def test_what_stands_before_and_after_is_not_of_the_program():
    text = 'placement rank=0\n8 1\n{"nobody":1}\n' + read(PAIRS) + "bye\n{bye"
    assert patterns.parse(text).rows == patterns.parse(read(PAIRS)).rows


def edited(old, new, name=PAIRS):
    text = read(name)
    assert re.search(old, text, re.MULTILINE)
    return re.sub(old, new, text, count=1, flags=re.MULTILINE)


END = '{"type":"end"}\n'
FAULTS = {
    "empty": ("", "the output is empty"),
    "another program": ("hello\n", "no output of patterns"),
    "no end": (edited(END, ""), "ends without its end"),
    "cut in a row": (read(PAIRS)[:-30], "ends in the middle of a line"),
    "cut at a line": (read(PAIRS)[: read(PAIRS).rindex('{"type":"phase"')], "without its end"),
    "two outputs": (read(PAIRS) * 2, "a second output begins"),
    "another version": (edited('"version":"1.0"', '"version":"2.0"'), "version 2.0; 1.0 is read"),
    "another pattern": (read(AAPC), "ran the pattern aapc instead of simple-pairwise"),
    "other ranks": (edited('"ranks":5', '"ranks":6'), "ran with 6 ranks instead of 5"),
    "no ranks": (edited('"ranks":5,', ""), "missing required field `ranks`"),
    "options twice": (edited('({"type":"options".*\n)', r"\1\1"), "options stands twice"),
    "no options": (edited('{"type":"options".*\n', ""), "a row before the options"),
    "unknown option": (edited('"seed":1', '"sede":1'), "unknown field `sede`"),
    "late options": (edited(END, '{"type":"plan","memory_B":1,"expected_s":1}\n' + END), "twice"),
    "no record": (edited(END, "seed 1\n" + END), "no record of patterns: JSON is malformed"),
    "no rows": (edited(r'(?s)\n{"type":"phase".*(?=\n{"type":"end")', ""), "no rows"),
    "unknown row": (edited('"type":"phase"', '"type":"phases"'), "Invalid value 'phases'"),
    "wrong unit": (edited('"mean_MBps"', '"mean_GBps"'), "unknown field `mean_GBps`"),
    "misspelt column": (edited('"max_MBps"', '"mx_MBps"'), "unknown field `mx_MBps`"),
    "column twice": (edited('"max_MBps"', '"mean_MBps"'), "missing required field `max_MBps`"),
    "key column lost": (edited('"phase":1,', ""), "missing required field `phase`"),
    "row twice": (edited('({"type":"phase","size_B":8,"phase":2.*\n)', r"\1\1"),
                  "a second row of size_B 8, phase 2"),
    "row lost": (edited('{"type":"phase","size_B":8,"phase":2.*\n', ""),
                 "no row of size_B 8, phase 2"),
    "short loop": (edited(r'"loop_us":[\d.]+', '"loop_us":999.9'), "999.9 us, which is too short"),
    "too fast": (edited('"size_B":8,', '"size_B":1,'), "is not in 0 to"),
    "mean too low": (edited(r'"mean_MBps":[\d.]+', '"mean_MBps":0.01'), "does not hold"),
    "mean too high": (edited(r'"mean_MBps":[\d.]+', '"mean_MBps":9999'), "does not hold"),
    "streams": (edited('"streams":2', '"streams":1'), "streams and ranks that wait are not those"),
    "slowest": (edited(r'"slowest_to":\d', '"slowest_to":5'), "the slowest stream is of no two"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refused(name):
    text, words = FAULTS[name]
    with pytest.raises(ParseError) as refused:
        patterns.parse(text, "out.txt", pattern="simple-pairwise", ranks=5)
    assert words in str(refused.value)
    assert str(refused.value).startswith("out.txt:" if text else "out.txt")


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (".5", "malformed"), ("0", ">= 1"), ("1.5", "Expected `int`"),
        ('"1"', "Expected `int`"), ("null", "Expected `int`"),
    ],
)  # fmt: skip
def test_what_is_no_number_of_its_field_is_refused(token, words):
    with pytest.raises(ParseError, match=words):
        patterns.parse(edited('"repetitions":[0-9]+', f'"repetitions":{token}'))


@pytest.mark.parametrize("token", ["1000E2", "1e5", "100000.0", "1e+05", "2345.67890123"])
def test_a_number_that_c_prints_in_another_form_is_refused(token):
    with pytest.raises(ParseError, match=f"{re.escape(repr(token))} is no number as patterns"):
        patterns.parse(edited(r'"loop_us":[\d.]+', f'"loop_us":{token}'))


def changed(key, factor, name):
    """Return a recording with the last value of a key a little off."""
    text = read(name)
    *_, found = re.finditer(rf'"{key}":([\d.]+)', text)
    value = f"{float(found[1]) * factor:.9g}"
    return text[: found.start(1)] + value + text[found.end(1) :]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        *((BEFF, f"{what}_MBps") for what in (
            "b_eff", "per_process", "at_lmax", "at_lmax_per_process", "at_lmax_rings",
            "at_lmax_rings_per_process",
        )),
        # Of two ranks there is one stream, so that its rate is all three.
        *((AAPC, f"{what}_MBps") for what in ("min", "mean", "max")),
        (DISTANCE, "bandwidth_MBps"),
        (DISTANCE, "latency_us"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("factor", [0.9999, 1.0001])
def test_a_value_that_follows_from_others_is_compared_with_them(name, key, factor):
    with pytest.raises(ParseError, match=r"as others say|does not hold|is none of 1"):
        patterns.parse(changed(key, factor, name))


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        (DISTANCE, '{"type":"distance","size_B":1024,"distance":2,.*\n', "",
         "no row of size_B 1024, distance 2"),
        (BEFF, r'"rate_MBps":[\d.]+', '"rate_MBps":99999', "rate_MBps 99999 is not in"),
        (BEFF, '{"type":"rate","pattern":5,"size_B":64,"method":"alltoallv",.*\n', "",
         "no row of pattern 5, size_B 64, method alltoallv|b_eff_MBps"),
        (BEFF, '(?s)({"type":"rate".*)({"type":"summary".*?\n)', r"\2\1",
         "no rates of all rings and of random patterns before the summary"),
        (BEFF, '({"type":"summary".*\n)', r"\1\1", "a second row of processes 2"),
    ],
)  # fmt: skip
def test_a_fault_in_another_pattern_is_refused(name, old, new, words):
    with pytest.raises(ParseError, match=words):
        patterns.parse(edited(old, new, name), name)


@pytest.mark.parametrize(
    ("mode", "simulated", "time", "repeat"),
    [
        ("smoke", False, "1", str(patterns.FEW_REPEATS)),
        ("acceptance", False, None, None),
        ("smoke", True, str(patterns.SIMULATED), "1"),
        ("acceptance", True, str(patterns.SIMULATED), "1"),
    ],
)
def test_loops_are_short_in_smoke_and_shorter_in_simulated_time(mode, simulated, time, repeat):
    row = patterns.BENCHMARKS["b_eff"]
    words = " ".join(patterns.options(row, 4, mode, simulated)).split()
    given = dict(zip(words[1::2], words[2::2], strict=True))
    assert (given.get("--time"), given.get("--repeat")) == (time, repeat)
    assert ("--random" in given) == (time is not None)


def test_the_effective_bandwidth_alone_has_no_message_size():
    sized = {row.name for row in patterns.BENCHMARKS.values() if row.sized}
    assert {*patterns.BENCHMARKS} - sized == {"b_eff"}
