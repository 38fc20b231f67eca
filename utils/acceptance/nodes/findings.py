"""What a comparison of nodes has found, as data and as a sentence."""

from msgspec import Struct

from acceptance.core.findings import CRITICAL, MAJOR, MINOR
from acceptance.core.text import bytes_text, plural
from acceptance.core.words import direction

#: A node that is slow with whatever partner; the way between two nodes that are not; a pair of
#: which nobody can tell which of the two it is; half of the nodes and more; a few that are better
#: than all others; the ways of the pairs of a round, of all or of these nodes; what was slow
#: in one of two measurements.
NODE, WAY, PAIR, GROUP, BETTER, ROUND, UNSTEADY = (
    *("node-slow", "way-slow", "pair-slow", "nodes-differ"),
    *("nodes-better", "round-slow", "node-unsteady"),
)
#: Those of which a verdict is red; the others are reservations.
FAILING = (NODE, WAY, PAIR, GROUP)
#: How many times the tolerance is critical.
CRITICAL_FROM = 2.0


class NodeFinding(Struct, frozen=True):
    """One quantity of nodes, or of the way between two, that is worse than that of their kind.

    `value` is the best one of the nodes, in `unit`, `median` what it was compared with, `loss` the
    fraction by which it is worse; `again` what the same nodes had when they were measured again.
    """

    kind: str
    nodes: tuple[str, ...]
    place: str
    environment: str
    where: str
    size: int
    unit: str
    value: float
    median: float
    loss: float
    tolerance: float
    partners: tuple[str, ...] = ()
    round: str = ""
    again: float | None = None

    @property
    def severity(self) -> str:
        """Return how bad it is: a node that has lost twice the tolerance is critical."""
        if self.kind not in FAILING:
            return MINOR
        is_critical = self.kind != WAY and self.loss >= CRITICAL_FROM * self.tolerance
        return CRITICAL if is_critical else MAJOR

    @property
    def quantity(self) -> str:
        """Say what was measured."""
        return quantity_text(self.where, self.size, self.unit)

    @property
    def expected(self) -> str:
        """Say what it should have been: `>= 8500 MB/s`."""
        lower = direction(self.unit) == "lower"
        bound = self.median * (1 + self.tolerance if lower else 1 - self.tolerance)
        return f"{'<=' if lower else '>='} {number_text(bound)} {self.unit}"

    @property
    def numbers(self) -> str:
        """Say value, median and how far they are apart."""
        values = [f"{number_text(self.value)} {self.unit}"]
        if self.again is not None:
            values.append(f"measured again {number_text(self.again)} {self.unit}")
        apart = f"{abs(self.loss):.0%} {'worse' if self.loss > 0 else 'better'}"
        return (
            f"{', '.join(values)}; median {number_text(self.median)} {self.unit}: {apart}, "
            f"tolerance {self.tolerance:.0%}"
        )

    @property
    def about(self) -> tuple[str, ...]:
        """Return what names it on every run the same."""
        return tuple(filter(None, (self.place, self.round, *self.nodes)))

    @property
    def compared(self) -> str:
        """Name the quantity, as a later comparison has to have it in order to end an alert."""
        return compared_in(self.environment, self.where, self.size)

    @property
    def reason(self) -> str:
        """Say what is to blame, in words."""
        names = " and ".join(self.nodes)
        if self.kind == ROUND and self.nodes:
            return (
                f"some pairs of the round {self.round} are slow, while their nodes are not: {names}"
            )
        if self.kind == ROUND:
            return f"all pairs of the round {self.round} are slow, while their nodes are not"
        if self.kind == BETTER:
            what = "better than all others: these are slow, or of another kind"
            return f"{', '.join(self.nodes)}: {what}"
        if self.kind == WAY:
            return f"the way between {names} is slow, while both are good with others"
        if self.kind == PAIR:
            others = "each other" if len(self.nodes) > 1 else " and ".join(self.partners)
            verb = "are" if len(self.nodes) > 1 else "is"
            return f"{names} {verb} slow, but measured with {others} only"
        if self.kind == GROUP:
            verb = "is" if len(self.nodes) == 1 else "are"
            count = plural(len(self.nodes), "node")
            return f"{count} {verb} slower than the others: {', '.join(self.nodes)}"
        if self.kind == UNSTEADY:
            verb = "were" if len(self.nodes) > 1 else "was"
            return f"{names} {verb} slow in one of two measurements"
        if len(self.partners) == 1:
            return f"{names} is slow, or its way to {self.partners[0]}, its only partner"
        return f"{names} is slow"

    def __str__(self) -> str:
        """Return the sentence that a verdict shows."""
        return f"{self.place}: {self.reason}: {self.quantity} {self.numbers}"


def compared_in(environment: str, where: str, size: int) -> str:
    """Name a quantity that nodes are compared in."""
    return f"{environment} {where} {size}"


def quantity_text(where: str, size: int, unit: str) -> str:
    """Say what pairs measured: `bandwidth of 4 MiB between nodes`."""
    what = "latency" if unit == "us" else "bandwidth"
    place = "between nodes" if where == "between" else "inside of a node"
    return f"{what} of {bytes_text(size)} {place}"


def number_text(value: float) -> str:
    """Write a value with the digits that count."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
