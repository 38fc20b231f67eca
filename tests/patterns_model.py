"""The schedules of `checks/src/patterns`, a second time and in another way.

Partners of a rank are (to, from); a rank that waits in a phase has none.
"""

import math
from fractions import Fraction

MASK = 2**64 - 1


def aapc(ranks, phase):
    to = {rank: (rank + phase) % ranks for rank in range(ranks)}
    come_from = {receiver: sender for sender, receiver in to.items()}
    return {rank: (to[rank], come_from[rank]) for rank in range(ranks)}


def paired(pairs):
    return {rank: (other, other) for pair in pairs for rank, other in (pair, pair[::-1])}


def simple(ranks, phase):
    """Walk along the ring of each rank that none has reached; pair the 1st with the 2nd, ..."""
    rings, reached = [], set()
    for start in range(ranks):
        ring = []
        rank = start
        while rank not in reached:
            reached.add(rank)
            ring.append(rank)
            rank = (rank + phase) % ranks
        rings.append(ring)
    return paired(pair for ring in rings for pair in zip(ring[::2], ring[1::2], strict=False))


def cumulative(ranks, phase):
    half = ranks // 2
    return paired([*zip(range(half), range(half, 2 * half), strict=True)][:phase])


class SplitMix:
    """splitmix64, after its publication (Steele, Lea, Flood: OOPSLA 2014)."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        value = self.state
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            value = (value ^ value >> shift) * factor & MASK
        return value ^ value >> 31


def shuffled(ranks, seed, stream):
    numbers = SplitMix((SplitMix(seed).next() + stream) & MASK)
    order = [*range(ranks)]
    for last in reversed(range(1, ranks)):
        other = numbers.next() % (last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def random_pairs(ranks, phase, seed=1):
    order = shuffled(ranks, seed, phase)
    return paired(zip(order[::2], order[1::2], strict=False))


DENSE = {
    "aapc": aapc,
    "simple-pairwise": simple,
    "cumulative-pairwise": cumulative,
    "random-pairwise": random_pairs,
}
PHASES = {
    "aapc": lambda ranks: ranks - 1,
    "simple-pairwise": lambda ranks: ranks - 1,
    "cumulative-pairwise": lambda ranks: ranks // 2,
    "random-pairwise": lambda ranks: ranks - 1,
}


def ring_sizes(ranks, pattern):
    """Return how many ranks each ring of a pattern of b_eff has, in their order."""
    size = min((2, 4, 8, max(16, ranks // 4), max(32, ranks // 2), ranks)[pattern], ranks)
    count = max(1, min(math.floor(Fraction(ranks, size) + Fraction(2, 5)), ranks // 2))
    sizes = [ranks // count + (ring < ranks % count) for ring in range(count)]
    return sorted(sizes, key=lambda size: size % 2)


def neighbours(ranks, pattern, seed=1):
    """Return the (right, left) neighbours of each rank in a ring or random pattern of b_eff."""
    order, sizes = [*range(ranks)], [ranks]
    if pattern < 6:
        sizes = ring_sizes(ranks, pattern)
    else:
        order = shuffled(ranks, seed, pattern - 6)
    found = {}
    for size in sizes:
        ring, order = order[:size], order[size:]
        right = dict(zip(ring, ring[1:] + ring[:1], strict=True))
        left = {to: rank for rank, to in right.items()}
        found |= {rank: (right[rank], left[rank]) for rank in ring}
    return found


def logarithmic(rates):
    """Return b_eff's average: of the 6 rings, of the random patterns, and of these two."""
    halves = [[math.log(rate) for rate in part] for part in (rates[:6], rates[6:])]
    return math.exp(sum(sum(half) / len(half) for half in halves) / 2)
