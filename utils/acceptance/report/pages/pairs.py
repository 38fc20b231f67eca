"""All pairs of the nodes of a partition: heat maps, with the culprits named first."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np

from acceptance.core.errors import ParseError
from acceptance.core.pairs import UNITS, PairMatrix
from acceptance.core.text import natural, plural, read_bounded, shortened
from acceptance.core.words import direction
from acceptance.ledger import Case
from acceptance.nodes import ALL_PAIRS, AllPairs, Culprit
from acceptance.nodes import culprit as model
from acceptance.report import addresses
from acceptance.report.figures import WARN, Figure, by_row, escaped
from acceptance.report.pages.fabric import leaves
from acceptance.report.plot_model import (
    Axis,
    Mark,
    Page,
    Plot,
    Sample,
    Trace,
    finite,
    number_text,
)
from acceptance.report.runs import Ran
from acceptance.report.source import Source
from acceptance.suites.all_pairs import MATRIX, Measured, middle

#: Nodes of which each pair has a cell; of more, groups have.
MOST = 96
#: Groups of nodes at most, where no fabric says which nodes are together.
GROUPS = 64
#: Columns of a matrix whose cells have a gap between them.
GAPS = 64
#: The first row is at the top.
LAYOUT: Figure = {"yaxis": {"autorange": "reversed"}}
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


class Pairs:
    """A matrix as it is drawn, ordered by the leaf of each node, as far as `leaves` knows it.

    `groups` are the ranks of each row and column, in their order. A group is a node, or where there
    are many those of a leaf, or next to each other in the order of ranks. `of_leaves`: nodes of a
    leaf stand together; of single nodes `borders` are the places between two leaves.
    """

    def __init__(
        self,
        matrix: PairMatrix,
        leaves: Mapping[str, str],
        culprits: Sequence[Culprit] = (),
        *,
        simulated: bool = False,
    ) -> None:
        self.matrix, self.culprits, self.simulated = matrix, culprits, simulated
        nodes, order = matrix.nodes, [*range(len(matrix.nodes))]
        leaf = [leaves.get(name, "") for name in nodes]
        # Where most are unknown, the rest says nothing of how nodes stand together.
        self.of_leaves = leaf.count("") * 2 < len(nodes)
        if self.of_leaves:
            order.sort(key=lambda rank: (not leaf[rank], natural(leaf[rank]), natural(nodes[rank])))
        together = [[*ranks] for _, ranks in groupby(order, key=lambda rank: leaf[rank])]
        self.borders: list[int] = []
        if len(nodes) <= MOST:
            self.groups, self.names = [[rank] for rank in order], [nodes[rank] for rank in order]
            if self.of_leaves:
                self.borders = [*np.cumsum([*map(len, together)]).tolist()][:-1]
        elif self.of_leaves:
            self.groups, self.names = together, [leaf[ranks[0]] or NO_LEAF for ranks in together]
        else:
            size = -(-len(nodes) // GROUPS)
            self.groups = [order[begin : begin + size] for begin in range(0, len(nodes), size)]
            self.names = [f"{nodes[ranks[0]]} to {nodes[ranks[-1]]}" for ranks in self.groups]

    def plots(self, prefix: str = "") -> Iterator[Plot]:
        """Yield the plot of each quantity that was measured, the bandwidth first."""
        for quantity in TITLES:
            if quantity in self.summaries:
                yield self._plot(quantity, prefix)

    def median(self, quantity: str) -> float:
        """Return the median of all pairs."""
        return float(np.nanmedian(self.matrix.values[quantity]))

    def worst(self, quantity: str, most: int) -> list[tuple[int, int]]:
        """Return the worst pairs of a quantity that was measured, the worst first."""
        sign = -1 if direction(UNITS[quantity]) == "lower" else 1
        ranked = sign * self.matrix.values[quantity].ravel()
        # Of a million pairs most need no order; what was not measured comes last.
        few = np.argpartition(ranked, min(most, len(ranked) - 1))[:most]
        first = sorted((ranked[place], int(place)) for place in few if np.isfinite(ranked[place]))
        return [divmod(place, len(self.matrix.nodes)) for _, place in first]

    @cached_property
    def summaries(self) -> dict[str, str]:
        """Return what can be seen of each quantity that was measured, in words."""
        there = (name for name, values in self.matrix.values.items() if np.isfinite(values).any())
        return {quantity: self._summary(quantity) for quantity in there}

    def _summary(self, quantity: str) -> str:
        unit, values = UNITS[quantity], self.matrix.values[quantity]
        has = int(np.isfinite(values).sum())
        words = [f"{has:,} of {values.size - len(values):,} pairs have a value; "
                 f"the median is {number_text(self.median(quantity))} {unit}"]  # fmt: skip
        pair = self.worst(quantity, 1)[0]
        left, right = (self.matrix.nodes[rank] for rank in pair)
        words.append(f"the worst {number_text(float(values[pair]))} {unit}, from {left} to {right}")
        if self.matrix.failed:
            words.append(f"{plural(len(self.matrix.failed), 'pair')} failed")
        named = [each.subject for each in self.culprits if each.fails]
        words.append(f"culprits: {', '.join(named[:4])}{' ...' if len(named) > 4 else ''}"
                     if named else "no culprit is named")  # fmt: skip
        return "; ".join(words) + "."

    def _plot(self, quantity: str, prefix: str) -> Plot:
        """Return the worst of all pairs between each two groups: dark is bad."""
        lower, median = direction(UNITS[quantity]) == "lower", self.median(quantity)
        order = np.concatenate(self.groups)
        starts = np.cumsum([0, *map(len, self.groups)])[:-1]
        # Both prefer a number to a gap.
        worst = np.fmax if lower else np.fmin
        rows = worst.reduceat(self.matrix.values[quantity][np.ix_(order, order)], starts, axis=0)
        cells = [
            finite(float(f"{value:.5g}"))
            for value in worst.reduceat(rows, starts, axis=1).ravel().tolist()
        ]
        places = [(row, column) for row in range(len(rows)) for column in range(len(rows))]
        samples = [
            Sample(
                self.names[column], value, self._note(quantity, row, column), row=self.names[row]
            )
            for (row, column), value in zip(places, cells, strict=True)
        ]
        # A few per cent are no difference.
        far = BAD * median if lower else median / BAD
        known = [far, median, *(value for value in cells if value is not None)]
        axis = Axis("latency" if lower else "bandwidth", UNITS[quantity])
        drawn = heat_map(samples, axis.label, min(known), max(known), falling=lower)
        marks = [Mark("leaf", "", **{axis: at}) for at in self.borders for axis in "xy"]
        whole = len(rows) == len(order)
        return Plot(
            prefix + quantity,
            TITLES[quantity] + ("" if whole else ": the worst between each two groups"),
            self.summaries[quantity],
            Axis("receiver", scale="category"),
            Axis("sender", scale="category"),
            [Trace(quantity, samples, form="points", simulated=self.simulated, drawn=drawn)],
            marks + self._marks(quantity),
            f"{self._caption(whole)} Dark is bad.",
            on_demand=quantity == "both",
            z=axis,
            layout=LAYOUT,
        )  # fmt: skip

    def _caption(self, whole: bool) -> str:
        if whole:
            by = "by leaf" if self.of_leaves else "in the order of ranks"
            return (
                f"Each cell is a pair: the row sends to the column; nodes stand {by}. Cells "
                "without colour were not measured, crosses are pairs that failed."
            )
        kind = "leaf" if self.of_leaves else f"{len(self.groups[0])} nodes"
        return (
            f"Each cell is the worst of all pairs from one {kind} to another, with their median. A "
            "node that is slow with everybody makes a dark row and column; an uplink makes the "
            "median worse, too. The single values are in the output file."
        )

    def _note(self, quantity: str, row: int, column: int) -> str:
        """Say what is known of a cell beside its number: of a pair, or of those of two groups."""
        senders, receivers = self.groups[row], self.groups[column]
        failed, again = self.matrix.failed, self.matrix.again.get(quantity, {})
        if len(self.groups) == len(self.matrix.nodes):
            pair = senders[0], receivers[0]
            if pair in failed:
                return f"failed: {failed[pair]}"
            return f"measured again alone: {number_text(again[pair])}" if pair in again else ""
        block = self.matrix.values[quantity][np.ix_(senders, receivers)]
        if there := int(np.isfinite(block).sum()):
            median = number_text(float(np.nanmedian(block)))
            return f"median {median}, {plural(there, 'pair')}"
        count = sum(a in senders and b in receivers for a, b in failed)
        return f"{plural(count, 'pair')} failed" if count else ""

    def _marks(self, quantity: str) -> list[Mark]:
        """Return where the culprits stand: rows, columns, or single cells of paths."""
        nodes = self.matrix.nodes
        places = {nodes[rank]: at for at, ranks in enumerate(self.groups) for rank in ranks}
        marks: dict[tuple[float | None, float | None], Mark] = {}
        for each in self.culprits:
            if each.fails and each.quantity in ("", quantity):
                for x, y in _cells_of(each, places):
                    marks.setdefault((x, y), Mark("culprit", each.text, x=x, y=y))
        return [*marks.values()][:MARKS]


def heat_map(
    samples: Sequence[Sample], title: str, low: float, high: float, *, falling: bool = False
) -> tuple[Figure, Figure]:
    """Return a heat map from `low` to `high`, where `falling` from bright to dark.

    Crosses are on cells that have no number and a reason for it.
    """
    columns = [*dict.fromkeys(escaped(str(one.x)) for one in samples)]
    rows = [*dict.fromkeys(escaped(one.row) for one in samples)]
    failed = [one for one in samples if one.note and one.y is None]
    gap, size = int(len(columns) <= GAPS), max(4, min(12, 300 / max(1, len(columns))))
    return (
        {"type": "heatmap", "x": columns, "y": rows, "zmin": low, "zmax": high,
         "z": by_row([one.y for one in samples], len(columns)), "reversescale": falling,
         "xgap": gap, "ygap": gap, "colorbar": {"title": {"text": escaped(title)}}},
        {"type": "scatter", "mode": "markers", "x": [escaped(str(one.x)) for one in failed],
         "y": [escaped(one.row) for one in failed],
         "marker": {"symbol": "x-thin", "size": size, "color": WARN,
                    "line": {"color": WARN, "width": 2}}},
    )  # fmt: skip


def _cells_of(
    culprit: Culprit, places: Mapping[str, int]
) -> Iterator[tuple[float | None, float | None]]:
    """Yield the columns and rows that a culprit explains."""
    nodes, others = ([places[name] for name in names if name in places]
                     for names in (culprit.nodes, culprit.others))  # fmt: skip
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


#: The check's class.
CHECK = "AllPairs"
#: Bytes of that file that are read: 2,048 nodes write some 100 MB.
MOST_BYTES = 256 * 2**20
#: Pairs that are listed: the worst of each quantity, and those that failed.
WORST, FAILED = 8, 50
INDEX = f"pairs/{addresses.INDEX}"


def pages(source: Source) -> list[Page]:
    """Return an index of partitions, and a page of the newest case of each."""
    cases = source.newest(CHECK, ALL_PAIRS)
    made = {":".join(place): _page(source, case) for place, case in sorted(cases.items())}
    rows = [(place, made.get(place.name)) for place in source.measured]
    named = INDEX, "All pairs of nodes", "pairs_index.html.j2", "Pairs"
    return [Page(*named, {"rows": rows}, empty=not made), *made.values()]


def _page(source: Source, by: Ran) -> Page:
    """Return the page of a case: `measured` is None where nothing is stored of it."""
    case = by.case
    faults: list[str] = []
    measured = None
    try:
        measured = msgspec.convert(case.all_pairs, AllPairs) if case.all_pairs else None
    except ValueError as err:
        faults.append(f"what is stored of all pairs is malformed: {err}")
    if measured is None and not faults:
        faults.append(f"the case measured no pair: {case.fail_reason or case.result}")
    culprits = [each for each in measured.culprits if each.fails] if measured else []
    file = Path(case.folder, MATRIX) if case.folder else None
    pairs = _pairs(source, case, file, measured.culprits if measured else (), faults)
    context = {
        "by": by,
        "file": file,
        "measured": measured,
        "culprits": culprits,
        "faults": faults,
        "pairs": pairs,
        "summary": _summary(measured, culprits),
        "worst": WORST,
        "most_failed": FAILED,
        "units": UNITS,
    }
    path = addresses.of_partition("pairs", case.system, case.partition)
    title = f"All pairs of {case.system}:{case.partition}"
    plots = tuple(pairs.plots("pairs-")) if pairs else ()
    return Page(
        path, title, "pairs.html.j2", "Pairs", context, plots, simulated=bool(case.simulated)
    )


def _summary(measured: AllPairs | None, culprits: list[Culprit]) -> str:
    if culprits:
        named = shortened([each.subject for each in culprits], 4)
        return f"{plural(len(culprits), 'culprit')}: {named}."
    if measured is None or measured.not_judged:
        return "No culprit is named; not all could be judged, see below."
    return "No culprit: each pair is as good as the others of its round and distance."


def _pairs(
    source: Source, case: Case, file: Path | None, found: Sequence[Culprit], faults: list[str]
) -> Pairs | None:
    """Read the value of each pair; None, and a fault, where these are not there any more."""
    if file is None:
        faults.append("where its output was left is not stored: there is no value of each pair")
        return None
    parts = []
    try:
        for path in (file, *file.parent.glob(f"{file.stem}-*{file.suffix}")):
            text, cut = read_bounded(path, MOST_BYTES)
            parts.append(read := Measured(text, path.name))
            if cut or read.fault:
                faults.append(f"the file is not whole: {cut or read.fault}")
        matrix, _ = middle([part.matrix for part in parts])
    except OSError as err:
        faults.append(f"{path}: {err.strerror or err}: there is no value of each pair any more")
        return None
    except (ParseError, ValueError) as err:
        faults.append(str(err))
        return None
    by_leaf = leaves(source, case.system)
    return Pairs(matrix, by_leaf, found, simulated=bool(case.simulated))
