"""A damaged output is refused, or has the values that stand in it: never a traceback."""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acceptance.core.words import is_measured
from tests.foreign import READERS
from tests.mutations import OTHER, SUITES, TRACEBACK, outcome, records
from tests.properties import examples

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
#: Suites whose metrics each are a number of the output, in another unit perhaps.
PRINTED = ("imb", "osu", "netperf", "npb", "hpcc")


@cache
def recorded(suite):
    """Return the recorded outputs; of several hundred the shorter ones."""
    return sorted(records(suite), key=lambda record: len(record.text))[:120]


def lines_of(text):
    return text.splitlines(keepends=True)


def drop(draw, text):
    lines = lines_of(text)
    first = draw(st.integers(0, len(lines) - 1))
    del lines[first : first + draw(st.integers(1, 3))]
    return "".join(lines)


def double(draw, text):
    lines = lines_of(text)
    number = draw(st.integers(0, len(lines) - 1))
    return "".join([*lines[: number + 1], *lines[number:]])


def cut(draw, text):
    return text[: draw(st.integers(0, len(text) - 1))]


def reorder(draw, text):
    lines = lines_of(text)
    number = draw(st.integers(0, len(lines) - 1))
    line = lines.pop(number)
    lines.insert(draw(st.integers(0, len(lines))), line)
    return "".join(lines)


def interleave(draw, text):
    """Write a line of another rank, which prints the same, into the middle of a line."""
    lines = lines_of(text)
    at, other = (draw(st.integers(0, len(text))), draw(st.integers(0, len(lines) - 1)))
    return text[:at] + lines[other] + text[at:]


DAMAGES = {each.__name__: each for each in (drop, double, cut, reorder, interleave)}


@pytest.mark.parametrize("suite", SUITES)
@given(data=st.data())
@examples(10)
def test_a_damaged_output_is_refused_or_says_the_same(suite, data):
    record = data.draw(st.sampled_from(recorded(suite)))
    damage = data.draw(st.sampled_from([*DAMAGES]))
    text = DAMAGES[damage](data.draw, record.text)
    result, note, values = outcome(record, text)
    assert result != TRACEBACK, note
    if result == OTHER:
        # A part of a number that was cut or written over: what stands there could be printed.
        assert damage in ("interleave",), (damage, values)


def numbers(line):
    return [float(match[0]) for match in _NUMBER.finditer(line)]


@pytest.mark.parametrize("suite", SUITES)
@given(data=st.data())
@examples(10)
def test_another_digit_changes_at_most_the_value_in_which_it_stands(suite, data):
    record = data.draw(st.sampled_from(recorded(suite)))
    places = [match.start() for match in re.finditer(r"\d", record.text)]
    place = data.draw(st.sampled_from(places))
    text = record.text[:place] + data.draw(st.sampled_from("0123456789")) + record.text[place + 1 :]
    result, note, values = outcome(record, text)
    assert result != TRACEBACK, note
    if result != OTHER or suite not in PRINTED:
        return
    line = record.text.count("\n", 0, place)
    # Both numbers of a value stand in the line; its unit may be another one there.
    before, after = (numbers(each.split("\n")[line]) for each in (record.text, text))
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    for old, new in values.values():
        if not is_measured(new):  # a coarse clock may print 0.00: nobody takes it for a result
            assert new in [b for _, b in changed], (old, new, before, after)
            continue
        assert any(
            abs(new / old / (b / a) - 1) < 1e-3 or abs(new / old / (a / b) - 1) < 1e-3
            for a, b in changed
            if a and b
        ), (old, new, before, after)


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@examples(5)
def test_a_reader_raises_nothing_but_what_it_declares(name, data):
    reader = READERS[name]
    text = data.draw(st.sampled_from(sorted(reader.examples(), key=len)[:40]))
    for _ in range(data.draw(st.integers(1, 3))):
        if text:
            at = data.draw(st.integers(0, len(text)))
            put = data.draw(st.text(max_size=4) | st.sampled_from(["\n", "\0", "9" * 30, "[", '"']))
            text = text[:at] + put + text[at + data.draw(st.sampled_from([0, 0, 1, 5, 200])) :]
    said = "nothing"
    try:
        reader.read(text.encode("utf-8", "surrogatepass"))
    except reader.raises as fault:
        said = str(fault)
    assert said
