"""Changes of level that the members of a family share, each night from the past alone.

Ten series that became 5 % worse together say so long before any of them does alone. Of each
family its members' logarithms are put together to a pooled series: the mean of the deviations from
each member's median, each bounded, in units of the member's spread, and so weighted by one over
it: no weight is negative, and a correlation that was learnt wrongly alters none. How correlated the
members are shows in how the pooled series scattered in the past. Beside all members, the first and
the last half of them are pooled (small and large messages): it may be only they that moved.

A pooled series is judged by the density of its own past: of kernels, for it may have two states,
and of Student's t of several degrees of freedom, Gaussians among them, each weighted by how likely
it makes the past (Bayesian averaging). So a tail is reckoned with where there is one, and only as
long as nothing is known of it. Of a change by each of `POOL_SIZES` the logarithms of likelihood
ratios are summed up (Page, Biometrika 41, 1954, 100-115) and averaged over the sizes. What is not
known well costs evidence: the level, the more the smaller the change; the tail, as far as heavy
ones are likely; a skewness; a correlation between nights. One row says `POOL_MOST` at most, so one
night is no change, unless the members are as good as independent: then their bounded deviations
make a pool near a Gaussian, whatever each is. Correlation between nights: the residuals of an AR(1)
model are judged, of which the first one after a change has all of it and the next a part. With
other software a change is expected, and `FAMILY_EXPECTED` less evidence is asked for it.

Scores are as in `changepoint.py`; `python -m tests.bench.families` measures them.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from acceptance.detection.constants import SMALLEST, STEADIEST
from acceptance.detection.family_constants import (
    FAMILY_AFTER,
    FAMILY_BOUND,
    FAMILY_EACH,
    FAMILY_EXPECTED,
    FAMILY_FEWEST,
    FAMILY_HELD,
    FAMILY_LONGEST,
    FAMILY_MEMBERS,
    FAMILY_MOVED,
    FAMILY_OFFSET,
    FAMILY_PARTED,
    POOL_COSTS,
    POOL_LEVEL,
    POOL_SIZES,
    POOL_SMALL,
)
from acceptance.detection.pools import (
    SIZES,
    Flags,
    Floats,
    Records,
    cell,
    empty,
    in_order,
    learn,
    pooled,
    residual,
)


@dataclass(frozen=True)
class FamilyChange:
    """A change that members of a family share, decided at row `detected`; `start` is its first.

    Rows are called by their labels. `before` and `after` are the
    levels of each member (logarithms, up is worse), `spread` the standard deviation of one value,
    `moved` which of them it is that moved. It is `renewed` when it began with other software.
    """

    start: int
    detected: int
    before: tuple[float, ...]
    after: tuple[float, ...]
    spread: tuple[float, ...]
    moved: tuple[bool, ...]
    score: float
    worse: bool
    renewed: bool = False


def advance(
    state: Records,
    rows: Floats,
    labels: Sequence[int],
    threshold: float | Floats,
    renewed: Flags | None = None,
) -> list[list[FamilyChange]]:
    """Take rows (n, families, members) into a state, in place; return each family's changes.

    Values are logarithms, up is worse, NaN where there is none; a row with fewer than half of the
    members is none of the family's. `labels` (n) are what rows are called, `threshold` may be
    (n, families), `renewed` (n, families) tells which rows are the first with other software.
    """
    first = np.zeros(rows.shape[:2], np.bool_) if renewed is None else renewed
    thresholds = np.broadcast_to(threshold, rows.shape[:2])
    present = 2 * np.isfinite(rows).sum(axis=2) >= rows.shape[2]
    found: list[list[FamilyChange]] = [[] for _ in range(len(state))]
    ends = np.flatnonzero((present[1:] != present[:-1]).any(axis=1)) + 1
    for some in np.split(np.arange(len(rows)), ends):
        those = np.flatnonzero(present[some[0]]) if len(some) else some
        if len(those):
            # One more, so that sums over arrays are in the same order however few there are.
            part = np.append(state[those], empty(1, rows.shape[2]))
            for row in some.tolist():
                new = np.append(rows[row, those], rows[row, those[:1]], axis=0)
                limits = np.append(thresholds[row, those], math.inf)
                begun = np.append(first[row, those], False)
                for family, change in _step(part, new, labels[row], limits, begun):
                    found[those[family]].append(change)
            state[those] = part[:-1]
    return found


def _step(
    state: Records, row: Floats, label: int, threshold: Floats, renewed: Flags
) -> Iterator[tuple[int, FamilyChange]]:
    """Take a row (families, members) into a state, and yield the changes that it decides."""
    here = np.arange(len(state)), state["seen"] % FAMILY_HELD
    state["values"][here], state["labels"][here] = row, label
    state["count"] += 1
    state["seen"] += 1
    on = (state["since"] > 0) & (state["since"] < FAMILY_AFTER)
    state["since"] = np.where(renewed, 1, np.where(on, state["since"] + 1, 0))
    young = state["count"] <= FAMILY_FEWEST
    if not young.all():
        score = _judge(state, row)
        score[:, young] = 0.0
        for family in np.flatnonzero((score >= threshold).any(axis=0)):
            change = _change(state[family : family + 1], score[:, family])
            if change is not None:
                yield int(family), change
    for name in ("evidence", "age", "last"):
        state[name][young] = 0
    due = (state["count"] >= FAMILY_FEWEST) & (state["count"] % FAMILY_EACH == 0)
    if due.any():
        due[-1] = True
        taught = state[due]
        learn(taught)
        state[due] = taught


def _judge(state: Records, row: Floats) -> Floats:
    """Return the scores (2, families) of a change for the worse and for the better."""
    pools = pooled(row, state["centre"], state["half"])
    off = (residual(state, pools, state["last"]) - state["zero"]) / state["spread"]
    known, off = np.isfinite(off), np.where(np.isfinite(off), off, 0.0)
    state["last"] = pools
    density, off, known = state["density"], off[..., None], known[..., None]
    here = np.take_along_axis(density, cell(off), axis=2)
    # Of what was before the first one after a change nothing is subtracted that changed.
    parts = (POOL_SIZES, POOL_SIZES * (1 - state["phi"][..., None]))
    for way, sign in enumerate((1.0, -1.0)):
        first, later = (
            np.minimum(
                np.where(known, np.take_along_axis(density, cell(off - sign * part), 2) - here, 0),
                state["most"][..., None],
            )
            for part in parts
        )
        on = state["evidence"][:, way] + later
        begins = (first >= on) | (state["age"][:, way] >= FAMILY_LONGEST)
        state["evidence"][:, way] = np.where(begins, first, on)
        state["age"][:, way] = np.where(begins, 1, state["age"][:, way] + 1)
    since = state["since"][:, None, None, None]
    costs = POOL_LEVEL / (POOL_SIZES**2 * state["taught"][..., None]) + POOL_SMALL
    evidence = state["evidence"] - costs[:, None]
    evidence += np.where(state["age"] <= since, FAMILY_EXPECTED, 0.0)
    most = evidence.max(axis=3)
    mixed = np.log(np.exp(evidence - most[..., None]).mean(axis=3)) + most - POOL_COSTS
    return np.asarray((FAMILY_OFFSET + (mixed - state["doubt"][:, None]).max(axis=2)).T)


def _change(state: Records, score: Floats) -> FamilyChange | None:
    """Return the change of one family at its newest row, and begin a new level there."""
    way, values, before = int(score.argmax()), in_order(state)[:, 0], state["centre"][0].copy()
    evidence, ages = state["evidence"][0, way], state["age"][0, way]
    best = int((evidence - POOL_COSTS[:, None]).argmax())
    pool, age, half = best // SIZES, int(ages.flat[best]), -(-len(before) // 2)
    with warnings.catch_warnings():
        # Members without a sample since then.
        warnings.simplefilter("ignore", RuntimeWarning)
        after = np.nanmedian(values[-age:], axis=0)
        off = (after - before) * (1, -1)[way]
        common = float(np.nanmedian((off, off[:half], off[half:])[pool]))
    spread = state["half"][0] / FAMILY_BOUND
    sure = FAMILY_MOVED * spread / math.sqrt(age)
    moved = off >= np.maximum(np.minimum(FAMILY_PARTED * common, sure), math.log1p(SMALLEST))
    state["count"], state["evidence"], state["age"] = age, 0.0, 0
    if moved.sum() < FAMILY_MEMBERS:
        return None
    after[moved] = before[moved] + _shrunk(off[moved], spread[moved], age) * (1, -1)[way]
    end = int(state["seen"][0])
    start, last = (int(state["labels"][0, row % FAMILY_HELD]) for row in (end - age, end - 1))
    levels = [tuple(part.tolist()) for part in (before, after, spread)]
    found = tuple(bool(one) for one in moved)
    return FamilyChange(
        start, last, levels[0], levels[1], levels[2], found, float(score[way]), way == 0,
        age <= int(state["since"][0]),
    )  # fmt: skip


def _shrunk(off: Floats, spread: Floats, age: int) -> Floats:
    """Return how far members moved that differ by no more than noise lets them: James and Stein.

    Of a few rows each member's own change says little, and what they have in common much.
    """
    noise = float(np.mean(spread**2)) / age
    part = max(1 - noise / max(float(np.var(off)), STEADIEST**2), 0.0)
    return np.asarray(np.median(off) + part * (off - np.median(off)))
