"""What series show, given as arrays of samples: detection without a history."""

import numpy as np

from acceptance.detection.changepoint import go_on, told
from acceptance.detection.constants import DEFAULT_THRESHOLD, SMALLEST
from acceptance.detection.node_sets import Before
from acceptance.detection.node_sets import comparable as comparable_series
from acceptance.detection.state import State


def scan(samples, higher_is_better, threshold=DEFAULT_THRESHOLD, smallest=SMALLEST, state=None):
    """Return what each of m series shows, given as the columns of `samples`, oldest row first.

    `samples` is (n, m), `higher_is_better` (m,). NaN, infinity, zero and negative values are
    missing samples: a series may start late, end early or have gaps, and its decisions are the same
    as without them. Changes of a score of at least `threshold` and a size of at least `smallest`
    are reported; for m series that together are as quiet as one is at `DEFAULT_THRESHOLD`, ask for
    `DEFAULT_THRESHOLD + ln(m)`. It may be (m,) or (n, m): what was asked for at each sample.

    With the state that an earlier scan of the same series returned, `samples` are those since, and
    the results are those of a scan of all, to the last bit.
    """
    samples, higher = np.asarray(samples, np.float64), np.asarray(higher_is_better, np.bool_)
    state = State.empty(len(higher)) if state is None else copy(state)
    usable = np.isfinite(samples) & (samples > 0)
    lengths = usable.sum(axis=0)
    # A stable sort moves the usable samples of each series to its front, in their order.
    rows = np.argsort(~usable, axis=0, kind="stable")[: lengths.max(initial=0)]
    present = np.arange(len(rows))[:, None] < lengths
    values = np.where(present, np.take_along_axis(samples, rows, axis=0), 1.0)
    limits = np.take_along_axis(np.broadcast_to(threshold, samples.shape), rows, axis=0)
    go_on(state, np.log(values) * np.where(higher, -1.0, 1.0), lengths, limits, smallest)
    return [
        told(record, tuple(one.in_unit(higher_is_better=up) for one in found), higher_is_better=up)
        for record, found, up in zip(state.records, state.found, higher.tolist(), strict=True)
    ], state


def copy(state):
    """Return a state that may go on by itself."""
    return State(state.records.copy(), [[*found] for found in state.found])


def comparable(logs, sets, before=None):
    """Make samples of series comparable that had the same sets: `logs` (n, m), `sets` (n,).

    `before` are how many were before, and of some of them what `Before` has.
    """
    count = logs.shape[1]
    lengths = np.full(count, len(logs))
    sets = np.repeat(np.asarray(sets)[:, None], count, axis=1)
    if before is not None:
        number, past, names, same = before
        names = np.repeat(np.asarray(names)[:, None], count, axis=1)
        before = Before(np.full(count, number), past, names, same)
    return comparable_series(logs, sets, lengths, before)
