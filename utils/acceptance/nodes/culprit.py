"""What is behind the slow pairs of a matrix, as data and as a sentence."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acceptance.core.kinds import CRITICAL, MAJOR, MINOR
from acceptance.core.pairs import ALL_UNITS, INSIDE
from acceptance.core.text import number_text, plural, shortened
from acceptance.core.words import direction
from acceptance.detection.causes import Cause

#: A node that is slow with (nearly) everybody, in what it sends, or in what it receives; one that
#: is slow inside; half of the nodes and more; a path that is slow, or in one direction; what many
#: pairs between two sets of nodes share; pairs without a value; what was slow in one of two
#: measurements; what could not be judged.
NODE, SENDS, RECEIVES = "node-slow", "node-sends-slow", "node-receives-slow"
WITHIN, GROUP = "node-slow-inside", "nodes-differ"
WAY, ONE_WAY, UPLINK, CABLE, FAILED, UNSTEADY, NOT_JUDGED = (
    *("way-slow", "way-slow-one-way", "uplink-slow", "cable-slow", "pair-failed"),
    *("node-unsteady", "not-judged"),
)
#: Those of which a verdict is red; the others are reservations. Nodes that are alike and slower are
#: red as one: whether they are older or all of them have lost a memory channel no matrix tells, and
#: a partition of two kinds is not one that a number can be promised of.
FAILING = (NODE, SENDS, RECEIVES, WITHIN, WAY, ONE_WAY, UPLINK, CABLE, GROUP, FAILED)
#: The fraction that is lost from which a node or an uplink is critical.
#: [chosen] half of a link's width or rate is lost with certainty, a third may be anything else.
CRITICAL_LOSS = 0.3
#: The share of its pairs that is slow of a culprit of which a sentence says `every partner`.
#: [chosen] noise hides a few.
MOST = 0.9
#: Names that a sentence lists at most.
NAMES = 4

_QUANTITIES = {
    "latency": "the latency",
    "bandwidth": "the bandwidth",
    "both": "the bandwidth with both directions busy",
}
_QUANTITIES |= {INSIDE[name]: f"{text} inside of a node" for name, text in _QUANTITIES.items()}


class NodeValues(Struct, frozen=True):
    """A value of each node in a quantity, as pairs of good ones would have it; None: not known.

    `median` is that of the good nodes, with which they are compared. `noise` is the spread of their
    pairs, as a fraction; None: it was not looked at.
    """

    quantity: str
    unit: str
    median: float
    values: tuple[float | None, ...]
    noise: float | None = None

    @classmethod
    def of(
        cls, quantity: str, median: float, values: NDArray[np.float64], noise: float | None = None
    ) -> "NodeValues":
        """Return the values of nodes of which NaN is not known."""
        known = tuple(value if value == value else None for value in values.tolist())
        return cls(quantity, ALL_UNITS[quantity], median, known, noise)

    def text_of(self, node: int) -> str:
        """Write the value of a node, and how far it is from the median."""
        value = self.values[node]
        if value is None:
            return "not measured"
        apart = round(value / self.median - 1, 6) + 0.0  # of what is equal but for digits: no -0
        return f"{number_text(value)} ({apart:+.0%})"


class Culprit(Struct, frozen=True):
    """What explains slow pairs: `nodes` are to blame, or the path from them to `others`.

    `value` is the median of its slow pairs, in `unit`, `median` what good pairs of the same rounds
    and distances have, `ratio` the one over the other. `pairs` are slow, `of` all that were
    measured there. `again` is the ratio when such pairs were measured again with nothing else
    busy; None: they were not. `why` says what failed, or why nothing could be judged. Of a cable
    `nodes` and `others` are its ends, `leaf02[40]`, and `why` is what its routes show; of a node
    what its own cable trained at, if that is known. `cause`: why it is slow, by curves of its pairs
    and of good ones; None: nobody asked.
    """

    kind: str
    nodes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    quantity: str = ""
    unit: str = ""
    value: float | None = None
    median: float | None = None
    ratio: float | None = None
    pairs: int = 0
    of: int = 0
    again: float | None = None
    why: str = ""
    cause: Cause | None = None

    @property
    def fails(self) -> bool:
        """Tell whether a verdict is red because of it."""
        return self.kind in FAILING

    @property
    def severity(self) -> str:
        """Return how bad it is."""
        if not self.fails:
            return MINOR
        is_path = self.kind in (WAY, ONE_WAY, CABLE)
        is_critical = self.kind == FAILED or (not is_path and self.loss >= CRITICAL_LOSS)
        return CRITICAL if is_critical else MAJOR

    @property
    def loss(self) -> float:
        """Return the fraction by which it is worse than good pairs; 0 where that is unknown."""
        if self.ratio is None:
            return 0.0
        return self.ratio - 1 if direction(self.unit) == "lower" else 1 - self.ratio

    @property
    def node(self) -> str:
        """Return the one node that is to blame; empty where it is none, or several."""
        return self.nodes[0] if len(self.nodes) == 1 and not self.others else ""

    @property
    def subject(self) -> str:
        """Name what is to blame: `node12`, `node12 -> node31`."""
        nodes = shortened(self.nodes, NAMES)
        if self.kind == UPLINK and not self.others:
            return f"{_set(self.nodes)} and all others"
        if not self.others:
            return nodes
        if self.kind == CABLE:
            return f"{nodes} - {self.others[0]}"
        if self.kind in (WAY, ONE_WAY, FAILED):
            arrow = "<->" if self.kind == WAY else "->"
            return f"{nodes} {arrow} {shortened(self.others, NAMES)}"
        return f"{_set(self.nodes)} and {_set(self.others)}"

    @property
    def text(self) -> str:
        """Return the sentence that a verdict shows: who, what it points at, how much."""
        if self.kind == NOT_JUDGED:
            return ": ".join(filter(None, (self.quantity, self.subject, self.why)))
        cause = f"; {self.cause.text}" if self.cause else ""
        if self.kind == CABLE:
            return f"{self.subject}: {self.why}{cause}"
        if self.kind == FAILED:
            return f"{self.subject}: {_count(self.pairs, self.of)} failed: {self.why}"
        text = f"{self.subject} {self.reason}: {self.numbers}"
        return (f"{text}; {self.why}" if self.why else text) + cause

    @property
    def reason(self) -> str:
        """Say what is wrong and what to look at, in words that follow the subject."""
        most = self.pairs < MOST * self.of
        partners = "most partners" if most else "every partner"
        look = "its own link or the node" + (", or what these pairs share" if most else "")
        return {
            NODE: f"is slow in both directions with {partners}: {look}",
            SENDS: f"sends slowly to {partners} and receives well: {look}",
            RECEIVES: f"receives slowly from {partners} and sends well: {look}",
            WITHIN: "is slow inside, between its own cores: its memory, its clock or what else "
            "runs on it, and no link",
            WAY: "are slow with each other alone, in both directions: the path between them",
            ONE_WAY: "is slow in this direction alone, both are good with others: the path between "
            "them",
            UPLINK: "are slow with each other and good otherwise: an uplink or a switch between "
            "them",
            GROUP: f"are {plural(len(self.nodes), 'node')} alike, {self.loss:.0%} slower than the "
            "others: another generation, or one fault of all of them",
            UNSTEADY: "was slow while all nodes were busy and good when measured again alone: "
            "contention, or a passing disturbance",
        }[self.kind]

    @property
    def numbers(self) -> str:
        """Say how much is lost, and in how many pairs."""
        assert self.value is not None
        assert self.median is not None
        count = "" if self.of == 1 else f"{_count(self.pairs, self.of)} at "
        times = "times" if direction(self.unit) == "lower" else "of"
        again = "not measured again alone"
        if self.again is not None:
            again = f"measured again alone: {self.again:.2f}"
        good = "good nodes" if self.quantity in INSIDE.values() else "good pairs"
        return (
            f"{count}{self.ratio:.2f} {times} {_QUANTITIES[self.quantity]} of {good} "
            f"({number_text(self.value)} instead of {number_text(self.median)} {self.unit}), "
            f"{again}"
        )


def value_of(log: float, unit: str) -> float:
    """Return the value of a logarithm, larger where a value is worse; of a loss the ratio."""
    return math.exp(log if direction(unit) == "lower" else -log)


def _set(nodes: Sequence[str]) -> str:
    return f"{{{shortened(nodes, NAMES)}}}"


def _count(pairs: int, of: int) -> str:
    return f"{pairs} of its {plural(of, 'pair')}" if of else plural(pairs, "pair")
