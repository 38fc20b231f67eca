"""All pairs of the nodes of a job: what was measured, as a case stores it, and what came of it."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from msgspec import Struct

from acceptance.core.findings import Finding
from acceptance.core.pairs import ALL_UNITS, INSIDE, UNITS, PairMatrix
from acceptance.core.text import natural, number_text, plural, shortened
from acceptance.core.words import direction
from acceptance.nodes.cables import QUANTITY, Ways
from acceptance.nodes.culprit import CABLE, FAILED, NOT_JUDGED, ONE_WAY, WAY, Culprit, NodeValues
from acceptance.nodes.fit import (
    BACK,
    FEWEST_NODES,
    MEDIAN_ERROR,
    SMALLEST_INSIDE,
    USUAL,
    Aim,
    spread,
)
from acceptance.nodes.power import Power

#: The benchmark of the cases that measure all pairs.
ALL_PAIRS = "patterns.all-pairs"
#: The quantities whose losses are asked for.
RATES = ("bandwidth", "both")
#: Links that a line names, and characters of names of nodes in an id.
_SHOWN, _LONGEST = 3, 60


class AllPairs(Struct, frozen=True):
    """What a job measured of its nodes, and the culprits behind what was slow.

    `nodes` by rank. `shifts`: of these all pairs (i, i + shift) have a value. `pairs` of `of` pairs
    were measured, in `rounds` of `planned` rounds, and `again` of them once more alone. `links`
    counts the cables on the routes between the nodes, of which no pair crossed the `uncrossed`;
    `unrouted` says why no cable can be named, or not each. `values` has each node's own. Each
    pair was measured in so many `passes` at least, and has their median. `aim`: what was to be
    seen. `crossing` counts the pairs over the cable that fewest cross, in a direction.
    """

    nodes: tuple[str, ...]
    quantities: tuple[str, ...]
    shifts: tuple[int, ...]
    pairs: int
    rounds: int
    planned: int
    again: int
    culprits: tuple[Culprit, ...]
    links: int = 0
    uncrossed: tuple[str, ...] = ()
    unrouted: str = ""
    values: tuple[NodeValues, ...] = ()
    passes: int = 1
    aim: Aim = USUAL
    crossing: int = 0

    @classmethod
    def of_matrix(
        cls,
        matrix: PairMatrix,
        planned: int,
        culprits: Sequence[Culprit],
        values: Sequence[NodeValues],
        ways: Ways | None = None,
        unrouted: str = "",
        passes: int = 1,
        aim: Aim = USUAL,
    ) -> "AllPairs":
        """Return what is stored of a matrix that was judged, `planned` being its rounds."""
        both_sorts = {**matrix.values, **matrix.inside.values}
        count, measured = len(matrix.nodes), matrix.measured
        ranks = np.arange(count)
        shifts = [k for k in range(1, count) if measured[ranks, (ranks + k) % count].all()]
        of_rates = np.isfinite(matrix.values.get(QUANTITY, np.nan))
        return cls(
            matrix.nodes,
            tuple(name for name, each in both_sorts.items() if np.isfinite(each).any()),
            tuple(shifts),
            int(measured.sum()),
            len(np.unique(matrix.rounds[measured])),
            planned,
            len({pair for again in matrix.again.values() for pair in again}),
            tuple(culprits),
            ways.number if ways else 0,
            ways.uncrossed(of_rates) if ways else (),
            "; ".join(filter(None, (unrouted, ways.unlooked if ways else ""))),
            tuple(values),
            passes,
            aim,
            ways.crossing(of_rates) if ways else 0,
        )

    @property
    def unseen(self) -> tuple[Culprit, ...]:
        """Return that what was to be seen could not be: no judgement, and what could be seen."""
        asked, power = self.aim.text, self.power
        if not asked or (power and power.is_enough):
            return ()
        return (Culprit(NOT_JUDGED, why=f"{asked}: {self.could}"),)

    @property
    def could(self) -> str:
        """Say which loss of a node it could see."""
        if len(self.nodes) < FEWEST_NODES:
            return Power(len(self.nodes), 0, 0.0, 0.0, self.aim).could
        return self.power.could if self.power else "the spread of its pairs is not known"

    @property
    def power(self) -> Power | None:
        """Return what it could see of nodes; None where the spread of its pairs is not known."""
        rates = [each for each in self.values if each.quantity in RATES and each.noise is not None]
        count = len(self.nodes)
        if not rates or not self.pairs:
            return None
        each, noise = self.pairs // count, max(of.noise or 0.0 for of in rates)
        shares = [np.log([v or np.nan for v in of.values]) - np.log(of.median) for of in rates]
        known = np.concatenate(shares)
        # A value is the mean of what a node sends and receives.
        of_noise = MEDIAN_ERROR * noise / np.sqrt(2 * max(each, 1))
        whole = spread(known[np.isfinite(known)])
        differ = float(np.sqrt(max(whole**2 - of_noise**2, 0.0)))
        crossing = 0 if self.unrouted or self.uncrossed else self.crossing
        return Power(count, each, noise, differ, self.aim, self.links, crossing)

    @property
    def of(self) -> int:
        """Count the pairs of these nodes, each way."""
        return len(self.nodes) * (len(self.nodes) - 1)

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """Return of each node a text for each of `values`: its own, and how far from the median."""
        rows = [
            (name, [each.text_of(rank) for each in self.values])
            for rank, name in enumerate(self.nodes)
        ]
        return sorted(rows, key=lambda row: natural(row[0]))

    def judged(self, quantity: str) -> set[str]:
        """Return the nodes that were compared with each other in a quantity."""
        if quantity in INSIDE.values():
            values = next((each.values for each in self.values if each.quantity == quantity), ())
            known = zip(self.nodes, values, strict=False)
            return {name for name, value in known if value is not None}
        # Of two nodes nothing is judged, whatever the quantity.
        left_out = [
            each.nodes if each.quantity else self.nodes
            for each in self.culprits
            if each.kind == NOT_JUDGED
            and (each.quantity == quantity or (each.nodes and not each.quantity))
        ]
        if quantity not in self.quantities or not all(left_out):
            return set()
        return {*self.nodes}.difference(*left_out)

    def is_back(self, quantity: str, nodes: Sequence[str]) -> bool:
        """Tell whether nodes have lost no more in a quantity than a part of what is named, `BACK`.

        A loss near the smallest one that is named is seen on some nights, and is there on all. Of a
        node without a value nothing is known: it is not.
        """
        ranks = [self.nodes.index(name) for name in nodes]
        own = [
            (each.values[rank], each.median)
            for each in self.values
            if each.quantity == quantity
            for rank in ranks
        ]
        bad = 1 if direction(ALL_UNITS.get(quantity, "us")) == "lower" else -1
        lost = [bad * float(np.log(value / median)) if value else np.inf for value, median in own]
        return max(lost, default=0.0) <= BACK * self.smallest(quantity)

    def smallest(self, quantity: str) -> float:
        """Return the smallest loss of a node in a quantity that is named (logarithm)."""
        if quantity in INSIDE.values():
            return SMALLEST_INSIDE[ALL_UNITS[quantity]]
        return self.aim.smallest(quantity) if quantity else 0.0

    def looked_at(self, left: str, right: str) -> bool:
        """Tell whether all pairs were measured that stand as far apart as these two nodes."""
        if not {left, right} <= {*self.nodes}:
            return False
        apart = self.nodes.index(right) - self.nodes.index(left)
        return {apart % len(self.nodes), -apart % len(self.nodes)} <= {*self.shifts}

    def crossed(self, name: str) -> bool:
        """Tell whether routes were known, and a pair crossed a cable (or it is there no more)."""
        return bool(self.links) and not self.unrouted and name not in self.uncrossed

    @property
    def cables(self) -> str:
        """Say over how many cables the measured pairs went, and why others are not told."""
        crossed = f"{self.links - len(self.uncrossed)} of" if self.uncrossed else "all"
        over = f"over {crossed} {self.links} cables of their routes"
        missed = f"not over {shortened(self.uncrossed, _SHOWN)}"
        unnamed = f"{'not each' if self.links else 'no'} cable can be named: {self.unrouted}"
        words = {over: self.links, missed: self.uncrossed, unnamed: self.unrouted}
        return ", ".join(word for word, is_so in words.items() if is_so)

    @property
    def text(self) -> str:
        """Say how much was measured and judged, without the culprits."""
        which = "all" if self.pairs == self.of else f"{self.pairs} of {self.of}"
        words = f"{which} pairs of {plural(len(self.nodes), 'node')} measured"
        # That takes two cores of each.
        outside = {*INSIDE.values()}.isdisjoint(self.quantities)
        words += f", {'not' if outside else 'and'} inside of each,"
        words += f" in {plural(self.rounds, 'round')}"
        if self.rounds < self.planned:
            words += f" of {self.planned}: no time was left for the others"
        if self.passes > 1:
            words += f", each at least {self.passes} times"
        if self.again:
            words += f", {self.again} of them again alone"
        words = ", ".join(filter(None, (words, self.cables)))
        if not any(map(self.judged, UNITS)):
            return f"{words}, not judged: {'; '.join(self.not_judged)}"
        return f"{words}, each judged by the median of its round and distance"

    @property
    def not_judged(self) -> list[str]:
        """Return what could not be judged, and why."""
        found = (*self.culprits, *self.unseen)
        return [each.text for each in found if each.kind == NOT_JUDGED]


def finding_of(culprit: Culprit, place: str, environment: str) -> Finding:
    """Return a culprit among the nodes of a partition; its id has who it is, and no number.

    `what` names the quantity, as a later comparison has to have it in order to end an alert.
    """
    ends, others = culprit.nodes, culprit.others
    path = culprit.kind in (WAY, ONE_WAY, FAILED) and len(ends) + len(others) == 2
    between = "paths" if path else "cables" if culprit.kind == CABLE else ""
    return Finding(
        culprit.kind, f"{place}: {culprit.text}", culprit.fails,
        # Of a cable these are the ports at its ends.
        nodes=() if culprit.kind == CABLE else (*ends, *others),
        device=culprit.subject or "all pairs",
        what=compared_pairs(environment, culprit.quantity, between),
        found=culprit.text, expected=_expected(culprit), severity=culprit.severity,
        place=(place, *map(_in_id, (ends, others)), environment, culprit.quantity),
        source=f"all pairs of nodes, {place}+{environment}",
    )  # fmt: skip


def _in_id(names: Sequence[str]) -> str:
    """Return names as they are, or of many the first one and what tells them from others."""
    text = ",".join(names)
    return text if len(text) <= _LONGEST else (
        f"{names[0]}+{len(names) - 1}-{crc32(text.encode()):08x}"
    )  # fmt: skip


def _expected(culprit: Culprit) -> str:
    """Say what good pairs have."""
    median, unit = culprit.median, culprit.unit
    if median is None:
        return "a value of each pair"
    about = "at most about" if direction(unit) == "lower" else "at least about"
    inside = culprit.quantity in INSIDE.values()
    alike = "good nodes inside" if inside else "good pairs of the same distance"
    return f"{about} {number_text(median)} {unit}, as {alike}"


def compared_pairs(environment: str, quantity: str, what: str = "") -> str:
    """Name a quantity of all pairs, or of `paths` between two nodes, or of `cables`."""
    return f"{environment} all-pairs {quantity}" + (f" of {what}" if what else "")
