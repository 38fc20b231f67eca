"""What a comparison of nodes by all pairs can see: its operating characteristic.

That is the chance that it accepts a cluster of which k nodes lose a fraction of their rates, by
their own cable or port or by themselves. The formula follows `slow_nodes`: a node is found when the
share of what it sends, or of what it receives, is over a bound. A share is a median over its pairs,
of which the error is nearly normal. By `differ` good nodes differ whatever the noise is; no
repetition makes that smaller, and all shares of a node have it in common.

    error    = MEDIAN_ERROR x noise / sqrt(pairs of a node in a direction)
    bound    = the larger of what the aim takes for good and z x error, as that is seen: with what
               nodes differ by from EMPIRICAL_FROM nodes on, of which the spread is known to
               1 / sqrt(2 x nodes); below that with the prior of the noise
    found    : a share is over the bound; below EMPIRICAL_FROM nodes one of each rate
    shifted  : of N nodes a slow one is in 2 of N pairs of a round, and moves its median; each
               further one half as much, as the first ones are known by then

Of R measurements a pair has the median, of which the noise is MEDIAN_ERROR / sqrt(R) of that of
one; of noise with heavier tails than normal it is less. A cable between switches is named by the
likelihood of its pairs (`cables`): normal with mean m x loss^2 / (2 noise^2) and deviation
loss x sqrt(m) / noise for m pairs.

Source: the operating characteristic of a test [Wald 1947]; the integrals are sums at the places of
Gauss and Hermite, so that everybody gets the same. `tests/bench/power.py` compares them with what
the judge does.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from acceptance.core.text import plural
from acceptance.nodes.cables import FABRICS, least_of
from acceptance.nodes.fit import (
    EMPIRICAL_FROM,
    FEWEST_NODES,
    MEDIAN_ERROR,
    NOISIEST,
    PRIOR_NOISE,
    PRIOR_WORTH,
    ROUNDS_FROM,
    Aim,
    beyond_chance,
)
from acceptance.suites.all_pairs import LIMITS

#: The quantity whose bound counts; that of the other rate is the same.
_RATE = "bandwidth"
#: Nodes, less this, of whose pairs a slow one has two in each round; the most that its median moves
#: (quantile of good ones). [tuned] 4 to 16 nodes: while a slow node is not known it adds to the
#: noise, too.
_LESS, _FARTHEST = 0.5, 0.95
_NORMAL = NormalDist()
#: Places and weights of an integral over a normal value.
_POINTS, _WEIGHTS = (each.tolist() for each in np.polynomial.hermite_e.hermegauss(15))
_OFTEN = [(point, weight / sum(_WEIGHTS)) for point, weight in zip(_POINTS, _WEIGHTS, strict=True)]
#: Losses that are told, in units of the smallest that was asked for, and the largest one.
LOSSES, LARGEST = (0.5, 1.0, 1.5, 2.0), 0.99
#: Slow nodes at once that are told.
SLOW = (1, 2)
#: Seconds that the mode acceptance has by itself for all pairs in all rounds.
ROUNDS_LIMIT = LIMITS["acceptance"]


class Chance(Struct, frozen=True):
    """The chance that a cluster is accepted of which so many `what` lose the fraction `loss`."""

    what: str
    slow: int
    loss: float
    accepted: float


def chance_table(chances: Sequence[Chance]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a table: what is slow, and the chance of each loss in percent."""
    losses = dict.fromkeys(each.loss for each in chances)
    rows: dict[str, list[str]] = {}
    for each in chances:
        rows.setdefault(f"{each.slow} {each.what}", []).append(f"{each.accepted:.1%}")
    header = ["slow", *(f"loses {loss:.1%}" for loss in losses)]
    return header, [[name, *row] for name, row in rows.items()]


class Power(Struct, frozen=True):
    """A comparison of nodes, and what it can see.

    `pairs` of each of its `nodes` in a direction, the `noise` of a pair (logarithm), what good
    nodes `differ` by. `crossing`: the pairs over the cable that fewest cross, of so many `cables`;
    0: the routes are not known.
    """

    nodes: int
    pairs: int
    noise: float
    differ: float
    aim: Aim
    cables: int = 0
    crossing: int = 0

    @staticmethod
    def of_passes(passes: int) -> float:
        """Return the noise of the median of so many passes over that of one."""
        return min(1.0, MEDIAN_ERROR / math.sqrt(passes))

    def taken(self, passes: int) -> "Power":
        """Return what so many passes of it can see."""
        return replace(self, noise=self.noise * self.of_passes(passes))

    def passes(self, most: int) -> int:
        """Return the fewest passes, an odd number, that see what is asked; `most` if none does.

        One where not even passes without noise would.
        """
        most = most if self.noise and replace(self, noise=0.0).is_enough else 1
        return next((each for each in range(1, most, 2) if self.taken(each).is_enough), most)

    @property
    def seen(self) -> float:
        """Return the smallest loss that is asked for, or that is told without a question."""
        return self.aim.detect or -math.expm1(-self.aim.smallest(_RATE))

    def accepted(self, loss: float, slow: int = 1) -> float:
        """Return the chance that none of so many nodes is found that lose this fraction."""
        root, count = math.sqrt(self.pairs), self.nodes
        good = (count - slow) * (count - slow - 1) if loss else count * (count - 1)
        is_most = 2 * good < count * (count - 1)  # of whose pairs medians know nothing
        if count < FEWEST_NODES or not self.pairs or self.noise > NOISIEST or is_most:
            return 1.0
        error = MEDIAN_ERROR * self.noise / root
        free = count * self.pairs - 2 * count - (self.pairs if count >= ROUNDS_FROM else 1)
        free = max(free, 1)
        squares = self.noise**2 * free + PRIOR_WORTH * PRIOR_NOISE**2
        z = beyond_chance(count, free + PRIOR_WORTH, self.aim.false_nodes)
        least = z * MEDIAN_ERROR * math.sqrt(squares / (free + PRIOR_WORTH)) / root
        least = max(least, self.aim.smallest(_RATE))
        lost = -math.log1p(-loss) - (self._shift(slow) if loss else 0.0)
        whole = math.hypot(error, self.differ) if count >= EMPIRICAL_FROM else 0.0
        missed = 0.0
        for off, often in _OFTEN:  # what the node differs by
            for wide, weight in _OFTEN:  # the spread that is seen
                bound = max(least, z * whole * (1 + wide / math.sqrt(2 * count)))
                over = lost + off * self.differ - bound
                miss = _NORMAL.cdf(-over / error) if error else float(over <= 0)
                # Of two shares in each of two rates.
                miss = miss**4 if whole else 1 - (1 - miss**2) ** 2
                missed += often * weight * miss
        return min(missed, 1.0) ** slow

    def _shift(self, slow: int) -> float:
        """Return by how much the level of a round looks worse with so many slow nodes in it."""
        good = 1 - min((1 + slow) / (self.nodes - _LESS), 0.5)
        return self.noise * _NORMAL.inv_cdf(min(0.5 / good, _FARTHEST))

    @property
    def is_enough(self) -> bool:
        """Tell whether it sees what is asked as surely as asked, and names no more good nodes."""
        enough = self.accepted(self.seen) <= 1 - self.aim.power
        return enough and 1 - self.accepted_good <= self.aim.false

    @property
    def accepted_good(self) -> float:
        """Return the chance that no good node is named; the other searches are beside it."""
        return self.accepted(0.0, self.nodes)

    def accepted_cable(self, loss: float) -> float:
        """Return the chance that a cable is not named that loses this fraction, both ways."""
        lost, m = -math.log1p(-loss), 2 * self.crossing
        if loss <= least_of(self.aim) or not m:
            return 1.0
        if not self.noise:
            return 0.0
        certain = math.log(2 * self.cables * FABRICS + 1.0)
        off = (m * lost**2 / (2 * self.noise**2) - certain) / (lost * math.sqrt(m) / self.noise)
        return _NORMAL.cdf(-off)

    @property
    def characteristic(self) -> list[Chance]:
        """Return the chance of each loss, of nodes and of cables as far as these are known."""
        losses = dict.fromkeys(min(self.seen * times, LARGEST) for times in LOSSES)
        chances = [
            Chance("of the nodes", slow, loss, self.accepted(loss, slow))
            for slow in SLOW
            for loss in losses
        ]
        if self.crossing:
            chances += [
                Chance("of the cables", 1, loss, self.accepted_cable(loss)) for loss in losses
            ]
        return chances

    @property
    def smallest(self) -> float | None:
        """Return the smallest loss of one node that is found with the power of the aim."""
        losses = (thousandth / 1000 for thousandth in range(1, 900))
        return next((e for e in losses if self.accepted(e) <= 1 - self.aim.power), None)

    @property
    def could(self) -> str:
        """Say which loss is found with that power, and by what it is limited."""
        if self.nodes < FEWEST_NODES:
            nodes = plural(self.nodes, "node")
            return f"of {nodes} no chance is known: the formula takes four or more"
        of = f"each node has {plural(self.pairs, 'pair')}, which spread by {self.noise:.1%}"
        differ = f", and good nodes differ by {self.differ:.1%}" if self.differ > 1e-4 else ""
        least = self.smallest
        seen = "no loss" if least is None else f"a loss of {least:.1%}"
        return f"{seen} is found with {self.aim.power:.0%}; {of}{differ}"
