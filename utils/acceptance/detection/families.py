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
from numpy.typing import NDArray

from acceptance.detection.constants import (
    DECILES,
    FAMILY_AFTER,
    FAMILY_BOUND,
    FAMILY_CORRELATED,
    FAMILY_DOUBTED,
    FAMILY_EACH,
    FAMILY_EXPECTED,
    FAMILY_FEWEST,
    FAMILY_HELD,
    FAMILY_INDEPENDENT,
    FAMILY_LONGEST,
    FAMILY_MEMBERS,
    FAMILY_MOVED,
    FAMILY_NOT_LEARNT,
    FAMILY_OFFSET,
    FAMILY_PARTED,
    FAMILY_SKEWED,
    FAMILY_YOUNG,
    POOL_COSTS,
    POOL_FLOOR,
    POOL_GAUSSIAN,
    POOL_GRID,
    POOL_HEAVY,
    POOL_INDEPENDENT,
    POOL_KERNEL,
    POOL_KNOWN,
    POOL_LEVEL,
    POOL_LIGHT,
    POOL_MANY,
    POOL_MOST,
    POOL_NARROWEST,
    POOL_SHAPES,
    POOL_SIZES,
    POOL_SMALL,
    POOL_STEP,
    POOL_TWO_SCALES,
    POOL_WIDER,
    SMALLEST,
    STEADIEST,
)
from acceptance.detection.evidence import learn as learn_noise

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]
Records = NDArray[np.void]

POOLS, SIZES, _CELLS = len(POOL_COSTS), len(POOL_SIZES), len(POOL_GRID)
_WIDTHS = POOL_KERNEL * (1 + POOL_WIDER * np.maximum(np.abs(POOL_GRID) - 1.5, 0))


def _normal(shape: Floats) -> Floats:
    return np.asarray(shape / shape.sum(axis=-1, keepdims=True), np.float64)


#: The kernel of a sample in each cell of the grid, and the two floors: of a tail, of a Gaussian.
_KERNELS = _normal(np.exp(-0.5 * ((POOL_GRID - POOL_GRID[:, None]) / _WIDTHS[:, None]) ** 2))
_TAIL = _normal((1 + POOL_GRID**2 / 4) ** -1.25)
_GAUSSIAN = _normal(np.exp(-0.5 * (POOL_GRID / POOL_GAUSSIAN) ** 2))


def record(members: int) -> np.dtype[np.void]:
    """Return the type of the state of a family of so many members: bounded, whatever was before."""
    return np.dtype(
        [
            # The newest rows, in turn, and what they are called; how many rows there were, of the
            # present level, and in all.
            ("values", "f4", (FAMILY_HELD, members)),
            ("labels", "i4", FAMILY_HELD),
            ("count", "i8"),
            ("seen", "i8"),
            # How many rows ago other software began, 1 for the newest row, 0 for long ago.
            ("since", "i8"),
            ("centre", "f8", members),
            ("half", "f8", members),
            # Of each pool: centre, bound and correlation of its samples, the newest of them, middle
            # and spread of its residuals and the logarithms of their density, and what it costs
            # that so few samples taught them, that they are skewed or correlated.
            ("middle", "f8", POOLS),
            ("bound", "f8", POOLS),
            ("phi", "f8", POOLS),
            ("last", "f8", POOLS),
            ("zero", "f8", POOLS),
            ("spread", "f8", POOLS),
            ("density", "f4", (POOLS, _CELLS)),
            ("doubt", "f8", POOLS),
            # How many samples taught it, and what one of them says at most.
            ("taught", "f8", POOLS),
            ("most", "f8", POOLS),
            # Of a change for the worse and for the better, by each size: the evidence of it, and
            # since how many rows.
            ("evidence", "f8", (2, POOLS, SIZES)),
            ("age", "i2", (2, POOLS, SIZES)),
        ]
    )


def empty(families: int, members: int) -> Records:
    """Return the state of families without a row."""
    state = np.zeros(families, record(members))
    state["values"] = np.nan
    state["half"] = state["spread"] = state["bound"] = state["taught"] = 1.0
    return state


def missing(state: Records) -> list[int]:
    """Return the rows that each family lacks until the next one is judged."""
    found: list[int] = np.maximum(FAMILY_FEWEST + 1 - state["count"], 0).tolist()
    return found


def _in_order(state: Records) -> Floats:
    """Return the rows that are held, (rows, families, members), the newest at the end."""
    rows = (state["seen"][:, None] + np.arange(FAMILY_HELD)) % FAMILY_HELD
    values = np.take_along_axis(state["values"], rows[..., None], axis=1)
    return np.ascontiguousarray(values.transpose(1, 0, 2), np.float64)


def pooled(values: Floats, centre: Floats, half: Floats) -> Floats:
    """Return the pools (..., families, pools) of values (..., families, members), as logarithms."""
    off = np.clip(values - centre, -half, half) / half
    there = np.isfinite(off)
    off, weight = np.where(there, off, 0.0), np.where(there, 1 / half, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(_pool_sums(off) / _pool_sums(weight), np.float64)


def _pool_sums(values: Floats) -> Floats:
    """Return the sums over all members (the last axis), their first half and their last half."""
    members = values.shape[-1]
    total = np.zeros((*values.shape[:-1], POOLS))
    for member in range(members):
        for pool in (0, 1 if 2 * member < members else 2):
            total[..., pool] += values[..., member]
    return total


def cell(deviations: Floats) -> Ints:
    """Return the cell of the grid that deviations (in spreads) lie in."""
    cells = np.rint(deviations / POOL_STEP) + _CELLS // 2
    return np.asarray(np.clip(cells, 0, _CELLS - 1), np.intp)


def residual(state: Records, pools: Floats, before: Floats) -> Floats:
    """Return what of pooled samples is not that of the ones before them."""
    middle, bound = state["middle"], state["bound"]
    carried = state["phi"] * np.clip(before - middle, -bound, bound)
    return np.asarray(pools - middle - np.where(np.isfinite(carried), carried, 0.0))


def learn(state: Records) -> None:
    """Learn levels, spreads and the density of the pools from the rows that are not in doubt."""
    values, age = _in_order(state), np.arange(FAMILY_HELD, 0, -1)[:, None]
    supposed = np.where(state["evidence"] > FAMILY_DOUBTED, state["age"], 0).max(axis=(1, 2, 3))
    kept = (age <= state["count"]) & (age > np.maximum(supposed, FAMILY_NOT_LEARNT))
    members, families = values.shape[2], len(state)
    flat = values.reshape(FAMILY_HELD, -1)
    own = np.repeat(kept, members, axis=1) & np.isfinite(flat)
    bounds = FAMILY_BOUND, FAMILY_BOUND
    noise, _ = learn_noise(np.where(own, flat, 0.0), own, own[1:] & own[:-1], bounds)
    state["centre"] = noise.centre.reshape(families, members)
    state["half"] = noise.half.reshape(families, members)
    pools = pooled(values, state["centre"], state["half"])
    state["last"] = pools[-1]
    kept = kept[..., None] & np.isfinite(pools)
    flat, own = (part.reshape(FAMILY_HELD, -1) for part in (np.where(kept, pools, 0.0), kept))
    noise, count = learn_noise(flat, own, own[1:] & own[:-1], bounds)
    shape = (families, POOLS)
    state["middle"], state["bound"], state["phi"], skew = (
        part.reshape(shape) for part in (noise.centre, noise.half, noise.phi, noise.skew)
    )
    state["taught"] = np.maximum(count.reshape(shape), 1)
    state["doubt"] = FAMILY_YOUNG / state["taught"] + FAMILY_CORRELATED * state["phi"]
    state["doubt"] += FAMILY_SKEWED * np.maximum(skew, 0)
    rest = residual(state, pools, np.concatenate([pools[:1], pools[:-1]]))
    _learn_density(state, rest, kept, _independent(state, values, kept))


def _learn_density(state: Records, rest: Floats, kept: Flags, independent: Flags) -> None:
    """Learn how residuals (rows, families, pools) are distributed, above a floor."""
    ranked, count = np.sort(np.where(kept, rest, np.inf), axis=0), np.maximum(kept.sum(axis=0), 1)
    low, middle, high = (
        np.take_along_axis(ranked, np.rint(share * (count - 1)).astype(np.intp)[None], axis=0)[0]
        for share in (0.1, 0.5, 0.9)
    )
    with np.errstate(invalid="ignore"):
        spread = np.fmax((high - low) / DECILES * (1 + 1 / count), STEADIEST)
    state["spread"], state["zero"] = spread, np.where(np.isfinite(middle), middle, 0.0)
    cells = cell(np.where(kept, (rest - state["zero"]) / spread, 0.0))
    pool = np.broadcast_to(np.arange(count.size).reshape(count.shape), cells.shape)
    samples = np.bincount(pool[kept] * _CELLS + cells[kept], minlength=count.size * _CELLS)
    samples = samples.reshape(*count.shape, _CELLS)
    kernels = np.zeros(samples.shape)
    for there in np.flatnonzero(samples.any(axis=(0, 1))):
        kernels += samples[..., there, None] * _KERNELS[there]
    with np.errstate(invalid="ignore"):
        low, high = ((side - middle) / spread for side in (low, high))
    density, light = _likely(samples, kernels, np.nan_to_num(-low), np.nan_to_num(high))
    state["doubt"] += POOL_HEAVY * (1 - light) + POOL_INDEPENDENT * independent
    state["most"] = np.where(independent, np.inf, POOL_MOST)
    independent = independent[..., None]
    density = np.where(independent, kernels, density)
    density += np.where(independent, _GAUSSIAN, POOL_FLOOR * _TAIL)
    state["density"] = np.log(density / count[..., None])


def _likely(samples: Ints, kernels: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the samples' density times their number, and how likely its tail is a light one.

    It is that of all shapes, and of the kernels, each by how likely it makes the samples; each
    sample is left out of the kernels that it is compared with. `low` and `high` are the distances
    from the median to the deciles.
    """
    count = np.maximum(samples.sum(axis=2), 1)
    others = kernels - np.diagonal(_KERNELS) + POOL_FLOOR * _TAIL
    others = np.log(np.maximum(others, 1e-300) / (count - 1 + POOL_FLOOR)[..., None])
    shapes, likely = [kernels / count[..., None]], [(samples * others).sum(axis=2)]
    for two_scales in (False, True):
        for freedom, quantile in POOL_SHAPES:
            parts = (low, high) if two_scales else ((low + high) / 2,) * 2
            below, above = (
                np.maximum(part / quantile, POOL_NARROWEST)[..., None] for part in parts
            )
            known = 1 / (1 / freedom + 1 / (POOL_KNOWN * count[..., None]))
            off = POOL_GRID / np.where(POOL_GRID < 0, below, above)
            shape = _normal(np.exp(-(known + 1) / 2 * np.log1p(off**2 / known)))
            shapes.append(shape)
            prior = math.log(2 * len(POOL_SHAPES)) + two_scales * POOL_TWO_SCALES
            likely.append((samples * np.log(np.maximum(shape, 1e-300))).sum(axis=2) - prior)
    most = likely[0]
    for each in likely:
        most = np.maximum(most, each)
    weights = [np.exp(each - most) for each in likely]
    total, density, light = np.zeros(most.shape), np.zeros(kernels.shape), np.zeros(most.shape)
    for number, (weight, shape) in enumerate(zip(weights, shapes, strict=True)):
        total += weight
        density += weight[..., None] * shape
        if number and (number - 1) % len(POOL_SHAPES) < POOL_LIGHT:
            light += weight
    return density / total[..., None] * count[..., None], light / total


def _independent(state: Records, values: Floats, kept: Flags) -> Flags:
    """Tell of which pools the members are as good as independent: (families, pools)."""
    off = np.clip(values - state["centre"], -state["half"], state["half"]) / state["half"]
    own = kept[..., :1] & np.isfinite(off)
    count = np.maximum(own.sum(axis=0), 1)
    off = np.where(own, off - np.where(own, off, 0.0).sum(axis=0) / count, 0.0)
    scatter = _pool_sums((off**2).sum(axis=0))
    ratio = (_pool_sums(off) ** 2).sum(axis=0) / np.maximum(scatter, 1e-9)
    members = off.shape[2]
    limit = np.minimum(FAMILY_INDEPENDENT, 4 * np.sqrt(2 / count.max(axis=1)))[:, None]
    many = np.array([members, -(-members // 2), members // 2]) >= POOL_MANY
    return np.asarray(many & (ratio <= 1 + limit))


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
    way, values, before = int(score.argmax()), _in_order(state)[:, 0], state["centre"][0].copy()
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
