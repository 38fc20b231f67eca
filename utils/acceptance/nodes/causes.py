"""Why culprits are slow: the curves of their pairs beside those of good pairs.

Pairs stand at several distances, and a latency is longer over more switches. So from each curve the
time is taken by which all pairs of its distance are later than the nearest ones; what is left is
the same of good pairs. That difference also tells what a switch takes, where routes are known or
two distances show.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from acceptance.core.pairs import UNITS, Curve, PairMatrix
from acceptance.detection import causes
from acceptance.detection.causes import CANNOT_TELL, Cause
from acceptance.fabric import Facts, trainings
from acceptance.nodes.cables import Ways, pairs_over
from acceptance.nodes.culprit import (
    CABLE,
    GROUP,
    NODE,
    ONE_WAY,
    RECEIVES,
    SENDS,
    UPLINK,
    WAY,
    Culprit,
)
from acceptance.nodes.explanations import Explanation
from acceptance.nodes.fit import Bools, Floats, distances, log_loss

#: The culprits whose pairs have curves: inside of a node, and of what failed, there are none.
_OF_PAIRS = (NODE, SENDS, RECEIVES, WAY, ONE_WAY, UPLINK, CABLE, GROUP)
#: Switches that a pair of the farther of two distances has more, of a tree of two levels.
_MORE_SWITCHES = 2


def with_causes(
    matrix: PairMatrix, culprits: Sequence[Culprit], facts: Facts | None, ways: Ways | None = None
) -> list[Culprit]:
    """Return the culprits, those of pairs with their cause, which may be that nobody can tell.

    `facts` of the fabric say how a link may train, and what a switch takes; None: there are none.
    """
    asked = [each for each in culprits if each.fails and each.kind in _OF_PAIRS]
    if not asked:
        return [*culprits]
    later, switch = _later(matrix, ways)
    steps = tuple(trainings.steps(facts)) if facts else ()
    switch = (facts.switch if facts else None) or switch
    slow = {id(each): _pairs(matrix, each, ways) for each in asked}
    bad = np.any([*slow.values()], axis=0)
    curves = {
        pair: [_nearer(each, later[pair]) for each in of] for pair, of in matrix.curves.items()
    }
    good = [of for pair, of in curves.items() if pair in matrix.controls and not bad[pair]]

    def cause_of(culprit: Culprit) -> Cause:
        own = [of for pair, of in curves.items()
               if slow[id(culprit)][pair] and pair not in matrix.controls]  # fmt: skip
        if not own:
            return Cause(CANNOT_TELL, "cannot tell why: no curve of its pairs was measured")
        return causes.judge(*causes.in_turn(*_turns(good, own)), steps, switch)

    return [replace(each, cause=cause_of(each)) if id(each) in slow else each for each in culprits]


def _turns(*sides: Sequence[Sequence[Curve]]) -> list[list[list[Curve]]]:
    """Return of each side the curves of each turn, in which all pairs measured one."""
    count = max(len(curves) for side in sides for curves in side)
    return [
        [[curves[turn] for curves in side if turn < len(curves)] for turn in range(count)]
        for side in sides
    ]


def _pairs(matrix: PairMatrix, culprit: Culprit, ways: Ways | None) -> Bools:
    """Return which pairs a culprit makes slow."""
    if culprit.kind == CABLE:
        assert ways is not None
        return pairs_over(culprit, ways)
    nodes, others = (
        tuple(map(matrix.nodes.index, each)) for each in (culprit.nodes, culprit.others)
    )
    return Explanation(culprit.kind, nodes, others).pairs(len(matrix.nodes))


def _later(matrix: PairMatrix, ways: Ways | None) -> tuple[Floats, float | None]:
    """Return by how many us pairs of a distance are later than the nearest, and us of a switch."""
    latency = matrix.values.get("latency", np.full(matrix.rounds.shape, np.nan))
    measured = np.isfinite(latency)
    far = ways.hops if ways else None
    if far is not None:
        # Without a route that is known a pair is at no distance.
        measured &= far > 0
    if far is None and measured.any():
        found = distances(log_loss(latency, UNITS["latency"]))
        far = None if found is None else _MORE_SWITCHES * found
    later = np.zeros(latency.shape)
    if far is None or not measured.any():
        return later, None
    levels = {
        int(hops): float(np.median(latency[measured & (far == hops)]))
        for hops in np.unique(far[measured])
    }
    nearest = min(levels.values())
    for hops, level in levels.items():
        later[far == hops] = level - nearest
    first, last = min(levels), max(levels)
    if levels[last] <= levels[first]:
        return later, None
    return later, (levels[last] - levels[first]) / (last - first)


def _nearer(curve: Curve, later: float) -> Curve:
    """Return a curve as the nearest pairs have it; of no time more than the half is taken."""
    return replace(
        curve,
        times=tuple(time - min(later, time / 2) for time in curve.times),
        late=tuple(
            late - min(later, time / 2) for time, late in zip(curve.times, curve.late, strict=True)
        ),
    )
