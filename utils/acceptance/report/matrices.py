"""A matrix of all pairs of nodes as plots: each pair, or groups of nodes where there are many.

Nodes of a matrix in groups, and where in these the culprits stand.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from acceptance.core.pairs import UNITS, PairMatrix
from acceptance.core.text import natural, plural
from acceptance.core.words import direction
from acceptance.nodes.culprits import Culprit, model
from acceptance.report.plot_model import Axis, Form, Mark, Plot, Sample, Scale, Trace

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Nodes of which each pair has a cell; of more, groups have.
MOST = 96
#: Groups of nodes at most, where no fabric says which nodes are together.
GROUPS = 64


@dataclass(frozen=True)
class Group:
    """Nodes that stand together: of a leaf, or else next to each other in the order of ranks."""

    name: str
    ranks: Ints


def _cells_of(
    culprit: Culprit, places: Mapping[str, int]
) -> Iterator[tuple[float | None, float | None]]:
    """Yield the columns and rows that a culprit explains."""
    nodes = [places[name] for name in culprit.nodes if name in places]
    others = [places[name] for name in culprit.others if name in places]
    if culprit.kind in (model.WAY, model.ONE_WAY, model.FAILED) and nodes and others:
        for row, column in ((row, column) for row in nodes for column in others):
            yield column, row
            if culprit.kind != model.ONE_WAY:
                yield row, column
        return
    for place in dict.fromkeys(nodes):
        if culprit.kind != model.RECEIVES:
            yield None, place
        if culprit.kind != model.SENDS:
            yield place, None


def _blocks_of(nodes: Sequence[str]) -> list[Group]:
    """Group nodes by their ranks: each alone where each has a cell."""
    size = 1 if len(nodes) <= MOST else -(-len(nodes) // GROUPS)
    groups = []
    for begin in range(0, len(nodes), size):
        ranks = np.arange(begin, min(begin + size, len(nodes)))
        first, last = nodes[ranks[0]], nodes[ranks[-1]]
        groups.append(Group(first if first == last else f"{first} to {last}", ranks))
    return groups


def rounded(value: float) -> float | None:
    """Return a value with five digits; None for NaN."""
    return float(f"{value:.5g}") if np.isfinite(value) else None


def text_of(value: float) -> str:
    """Return a value as people write it."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


#: Marks of culprits in a plot.
MARKS = 60
#: What people call a quantity, and what a cell of it is.
TITLES = {
    "bandwidth": "Bandwidth of each pair",
    "latency": "Latency of each pair",
    "both": "Bandwidth of each pair, both directions busy",
}
#: The group of the nodes whose leaf is not known.
NO_LEAF = "leaf not known"
#: How many times off the median is as dark as it gets, unless a cell is worse.
BAD = 2.0


@dataclass(frozen=True, eq=False)
class Pairs:
    """A matrix in the order in which it is drawn: by leaf, if `of_leaves` is known."""

    matrix: PairMatrix
    groups: tuple[Group, ...]
    of_leaves: bool
    culprits: tuple[Culprit, ...] = ()
    simulated: bool = False

    @classmethod
    def of(
        cls,
        matrix: PairMatrix,
        leaves: Mapping[str, str],
        found: Sequence[Culprit] = (),
        *,
        simulated: bool = False,
    ) -> "Pairs":
        """Order a matrix by the leaf of each node, as far as `leaves` knows it."""
        names = [leaves.get(name, "") for name in matrix.nodes]
        # Where most are unknown, the rest says nothing of how nodes stand together.
        known = names.count("") * 2 < len(names)
        if known:
            order = sorted(
                range(len(names)),
                key=lambda r: (not names[r], natural(names[r]), natural(matrix.nodes[r])),
            )
            grouped = groupby(order, key=lambda rank: names[rank] or NO_LEAF)
            groups = [Group(name, np.array([*each], np.intp)) for name, each in grouped]
        else:
            groups = _blocks_of(matrix.nodes)
        return cls(matrix, tuple(groups), known, tuple(found), simulated)

    @property
    def order(self) -> Ints:
        """Return the ranks in the order in which they are drawn."""
        return np.concatenate([group.ranks for group in self.groups])

    def plots(self, prefix: str = "") -> Iterator[Plot]:
        """Yield the plot of each quantity that was measured, the bandwidth first."""
        draw = self._whole if len(self.matrix.nodes) <= MOST else self._grouped
        for quantity in ("bandwidth", "latency", "both"):
            if quantity in self.summaries:
                plot = draw(quantity)
                yield replace(plot, id=prefix + plot.id)

    def median(self, quantity: str) -> float:
        """Return the median of all pairs."""
        return float(np.nanmedian(self.matrix.values[quantity]))

    def worst(self, quantity: str, most: int) -> list[tuple[int, int]]:
        """Return the worst pairs of a quantity that was measured, the worst first."""
        values = self.matrix.values[quantity].ravel()
        there = np.flatnonzero(np.isfinite(values))
        sign = -1 if direction(UNITS[quantity]) == "lower" else 1
        ranked = sign * values[there]
        if len(there) > most:
            few = np.argpartition(ranked, most)[:most]
            there, ranked = there[few], ranked[few]
        first = there[np.argsort(ranked, kind="stable")]
        count = len(self.matrix.nodes)
        return [(int(place) // count, int(place) % count) for place in first]

    @cached_property
    def summaries(self) -> dict[str, str]:
        """Return what can be seen of each quantity that was measured, in words."""
        there = (name for name, values in self.matrix.values.items() if np.isfinite(values).any())
        return {quantity: self._summary(quantity) for quantity in there}

    def _summary(self, quantity: str) -> str:
        unit, values = UNITS[quantity], self.matrix.values[quantity]
        has = int(np.isfinite(values).sum())
        words = [f"{has:,} of {values.size - len(values):,} pairs have a value; "
                 f"the median is {text_of(self.median(quantity))} {unit}"]  # fmt: skip
        left, right = self.worst(quantity, 1)[0]
        nodes = self.matrix.nodes
        words.append(f"the worst {text_of(values[left, right])} {unit}, from {nodes[left]} to "
                     f"{nodes[right]}")  # fmt: skip
        if self.matrix.failed:
            words.append(f"{plural(len(self.matrix.failed), 'pair')} failed")
        named = [each.subject for each in self.culprits if each.fails]
        words.append(f"culprits: {', '.join(named[:4])}{' ...' if len(named) > 4 else ''}"
                     if named else "no culprit is named")  # fmt: skip
        return "; ".join(words) + "."

    def _plot(
        self, quantity: str, names: Sequence[str], cells: Floats, notes: Sequence[str],
        marks: Sequence[Mark], caption: str, title: str,
    ) -> Plot:  # fmt: skip
        """Return the plot of a matrix: dark is bad, and a few per cent are no difference."""
        lower, median = direction(UNITS[quantity]) == "lower", self.median(quantity)
        shown = [*map(rounded, cells.ravel().tolist())]
        known = [value for value in shown if value is not None]
        far = BAD * median if lower else median / BAD
        span = min(far, median, *known), max(far, median, *known)
        places = ((row, column) for row in names for column in names)
        samples = [
            Sample(column, value, note, row=row)
            for (row, column), value, note in zip(places, shown, notes, strict=True)
        ]
        trace = Trace(quantity, samples, form=Form.CELLS, simulated=self.simulated)
        return Plot(
            id=quantity,
            title=title,
            summary=self.summaries[quantity],
            x=Axis("receiver", scale=Scale.CATEGORY),
            y=Axis("sender", scale=Scale.CATEGORY),
            z=Axis("latency" if quantity == "latency" else "bandwidth", UNITS[quantity],
                   span=span, falling=lower),
            traces=(trace,),
            marks=tuple(marks),
            caption=f"{caption} Dark is bad.",
            on_demand=quantity == "both",
        )  # fmt: skip

    def _whole(self, quantity: str) -> Plot:
        order = self.order.tolist()
        names = [self.matrix.nodes[rank] for rank in order]
        again = self.matrix.again.get(quantity, {})
        notes = [self._note(row, column, again) for row in order for column in order]
        borders = np.cumsum([len(group.ranks) for group in self.groups])[:-1].tolist()
        marks = [Mark("leaf", "", **{axis: border}) for border in borders if self.of_leaves
                 for axis in "xy"]  # fmt: skip
        marks += self._marks({name: place for place, name in enumerate(names)}, quantity)
        by = "by leaf" if self.of_leaves else "in the order of ranks"
        caption = (
            f"Each cell is a pair: the row sends to the column; nodes stand {by}. Cells without "
            "colour were not measured, crosses are pairs that failed."
        )
        cells = self.matrix.values[quantity][np.ix_(order, order)]
        return self._plot(quantity, names, cells, notes, marks, caption, TITLES[quantity])

    def _note(self, row: int, column: int, again: Mapping[tuple[int, int], float]) -> str:
        if (row, column) in self.matrix.failed:
            return f"failed: {self.matrix.failed[row, column]}"
        if (row, column) in again:
            return f"measured again alone: {text_of(again[row, column])}"
        return ""

    def _grouped(self, quantity: str) -> Plot:
        """Return the plot of the worst of all pairs between each two groups."""
        values = self.matrix.values[quantity]
        worst = np.nanmax if direction(UNITS[quantity]) == "lower" else np.nanmin
        count = len(self.groups)
        cells, notes = np.full((count, count), np.nan), []
        for row, senders in enumerate(self.groups):
            for column, receivers in enumerate(self.groups):
                block = values[np.ix_(senders.ranks, receivers.ranks)]
                if there := int(np.isfinite(block).sum()):
                    cells[row, column] = worst(block)
                    median = text_of(float(np.nanmedian(block)))
                    notes.append(f"median {median}, {plural(there, 'pair')}")
                else:
                    notes.append(self._missing(row, column))
        of_node = {self.matrix.nodes[rank]: place for place, group in enumerate(self.groups)
                   for rank in group.ranks.tolist()}  # fmt: skip
        kind = "leaf" if self.of_leaves else f"{len(self.groups[0].ranks)} nodes"
        caption = (
            f"Each cell is the worst of all pairs from one {kind} to another, with their median. A "
            "node that is slow with everybody makes a dark row and column; an uplink makes the "
            "median worse, too. The single values are in the output file."
        )
        title = f"{TITLES[quantity]}: the worst between each two groups"
        marks = self._marks(of_node, quantity)
        return self._plot(quantity, [group.name for group in self.groups], cells, notes, marks,
                          caption, title)  # fmt: skip

    def _missing(self, row: int, column: int) -> str:
        """Say that all pairs of a cell failed; empty where they were not measured."""
        ranks = {*self.groups[row].ranks.tolist()}, {*self.groups[column].ranks.tolist()}
        failed = sum(a in ranks[0] and b in ranks[1] for a, b in self.matrix.failed)
        return f"{plural(failed, 'pair')} failed" if failed else ""

    def _marks(self, places: Mapping[str, int], quantity: str) -> list[Mark]:
        """Return where the culprits stand: rows, columns, or single cells of paths."""
        marks: dict[tuple[float | None, float | None], Mark] = {}
        for each in self.culprits:
            if not each.fails or each.quantity not in ("", quantity):
                continue
            for x, y in _cells_of(each, places):
                marks.setdefault((x, y), Mark("culprit", each.text, x=x, y=y))
        return [*marks.values()][:MARKS]
