"""Detection decides alike whatever the unit, the direction, and the portions of a history are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tests.scanned import scan

SERIES = 3


@st.composite
def histories(draw):
    """Return the samples of some series: noise, with levels that change, and gaps."""
    length, seed = draw(st.integers(8, 70)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    spread = draw(st.sampled_from([0.002, 0.01, 0.05]))
    values = 100 * np.exp(spread * rng.standard_normal((length, SERIES)))
    for column in range(SERIES):
        for _ in range(draw(st.integers(0, 2))):
            start = draw(st.integers(0, length - 1))
            values[start:, column] *= draw(st.sampled_from([0.5, 0.8, 0.9, 1.1, 1.3, 2.0]))
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
    higher = draw(st.lists(st.booleans(), min_size=SERIES, max_size=SERIES))
    return values, np.array(higher)


def decisions(scans, factor=1.0):
    """Return what was decided of each series; levels in the unit that values have by a factor."""
    return [
        [(change.start, change.detected, round(change.after / change.before, 9),
          round(change.after / factor, 6)) for change in each.changes]
        for each in scans
    ]  # fmt: skip


@given(histories(), st.floats(1e-6, 1e6))
@examples(8, share=0.5)
def test_another_unit_changes_no_decision(history, factor):
    values, higher = history
    scans, scaled = scan(values, higher)[0], scan(factor * values, higher)[0]
    assert decisions(scaled, factor) == decisions(scans)


@given(histories())
@examples(8, share=0.5)
def test_times_in_place_of_rates_change_no_decision(history):
    values, higher = history
    scans, mirrored = scan(values, higher)[0], scan(1 / values, ~higher)[0]
    told = [[change[:2] for change in each] for each in decisions(scans)]
    assert [[change[:2] for change in each] for each in decisions(mirrored)] == told
    for each, other in zip(scans, mirrored, strict=True):
        for change, same in zip(each.changes, other.changes, strict=True):
            assert np.isclose(same.after, 1 / change.after)


@given(histories(), st.data())
@examples(8, share=0.5)
def test_portions_and_whole_are_the_same_to_the_last_bit(history, data):
    values, higher = history
    scans, state = scan(values, higher)
    first, on = 0, None
    while first < len(values):
        end = data.draw(st.integers(first + 1, len(values)))
        found, on = scan(values[first:end], higher, state=on)
        first = end
    assert on.records.tobytes() == state.records.tobytes()
    assert repr(found) == repr(scans)


@given(histories(), st.permutations(range(SERIES)))
@examples(6, share=0.5)
def test_the_order_of_the_series_does_not_matter(history, order):
    values, higher = history
    scans, others = scan(values, higher)[0], scan(values[:, order], higher[list(order)])[0]
    assert [repr(each) for each in others] == [repr(scans[number]) for number in order]
