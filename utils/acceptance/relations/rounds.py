"""What rounds say of a suspicion that one side takes longer than the other: the chance of it.

A round measured both sides next to each other, and has one ratio of left to right: the median over
the adjacent sizes that are suspected together.

Test: Wilcoxon's signed ranks (Biometrics Bulletin 1, 1945, 80-83) of ln(ratio / FLOOR), exact, one
side. If left took `FLOOR` times as long as right, whatever the distribution of both times, it would
be a matter of chance which one is ahead in a round. With m suspicions the first look is after
`rounds_for` m rounds, at the level ALPHA / 2m, and each next one a quarter later, at half the
level: what is told is false in one of 1 / ALPHA sessions at most (Bonferroni; the rounds know
nothing of what was selected), however often somebody goes on. A suspicion was noise when `FEW`
rounds or more do not exceed `FLOOR` in more than half, and is over when the last `FEW` do not at
all; both give up, and make no false finding.

Why signed ranks: on two busy cores one to three of 15 rounds contradicted a true violation, with
small ratios: p was 1 / 25 of that of a sign test. Unpaired ranks lose what both sides suffer alike.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

#: No ratio below is a violation: a benchmark with its buffers elsewhere may differ as much.
FLOOR = 1.10
#: Chance that a session has one or more false findings, at most.
ALPHA = 0.05
#: Rounds of the first look beyond those that could decide if not one of them were disturbed.
SPARE = 1
#: Rounds by which a suspicion may turn out to be noise, or to be over.
FEW = 5


def chance(ratios: Sequence[float]) -> float:
    """Return the chance of signed ranks as high as these or higher, if each sign were a coin's."""
    logs = [math.log(ratio / FLOOR) for ratio in ratios]
    ordered = sorted(map(abs, logs))
    # Twice the rank, as those that are equal share theirs.
    ranks = [bisect_left(ordered, abs(log)) + bisect_right(ordered, abs(log)) + 1 for log in logs]
    chances = np.zeros(sum(ranks) + 1)
    chances[0], size = 1.0, 1
    for rank in ranks:
        with_it = chances[:size].copy()
        size += rank
        chances[rank:size] += with_it
        chances[:size] /= 2
    seen = sum(rank for rank, log in zip(ranks, logs, strict=True) if log > 0)
    return float(chances[seen:].sum())


def probability(ratios: Sequence[float], suspected: int) -> float:
    """Return the chance of what rounds show, times all that could have been told instead."""
    look, times, found = rounds_for(suspected), 2 * suspected, 1.0
    while look <= len(ratios):
        found = min(found, times * chance(ratios[:look]))
        look, times = look + look // 4, 2 * times
    return found


def rounds_for(suspected: int) -> int:
    """Return after how many rounds there is a first look at so many suspicions."""
    return math.ceil(math.log2(2 * max(suspected, 1) / ALPHA)) + SPARE


def is_noise(ratios: Sequence[float]) -> bool:
    """Tell whether rounds speak against a suspicion, unless they have decided for it."""
    return len(ratios) >= FEW and 2 * sum(ratio > FLOOR for ratio in ratios) <= len(ratios)


def is_over(ratios: Sequence[float]) -> bool:
    """Tell whether none of the last rounds shows any more what earlier ones did."""
    return len(ratios) >= FEW and max(ratios[-FEW:]) <= FLOOR
