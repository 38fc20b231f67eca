"""Which times of a session a guideline compares (`acceptance.guidelines.evaluate` says why).

Sizes: n are the bytes of the whole vector on p ranks, that Bcast sends, Reduce and Allreduce add
up, Gather and Allgather collect, Scatter and Reduce_scatter spread, and each rank of Alltoall
sends. Whether a suite's message size is n or n/p says `part` in the rows of the suite, from the
sources of IMB 2021 and OMB 7.4; that of IMB was also seen by intercepting its MPI calls on 2 and 4
ranks. Where one side has no such
size, as for p that is no power of two, nothing is compared.

Times: both suites put a barrier before each repetition and keep rank 0 as the root (IMB: `-sync`
on, `-root_shift` off), so that no repetition overlaps the next one. IMB's time is that of the
slowest rank, and one operation after the other takes no longer than the sum of both. OMB's is the
average of the ranks. The leaves of a rooted operation leave it early, but what follows it is held
up by its slowest rank, for at most p times the average. So much does a rooted first operation of
OMB count on the right side: what is found is true, and some violations stay unseen.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acceptance.core.metrics import sized
from acceptance.guidelines.findings import Term
from acceptance.guidelines.sweeps import Collected, Group, Sweep
from acceptance.suites import SIZE_OF_FLOAT, SUITES, find


@dataclass(frozen=True)
class Guideline:
    """An operation that is no slower than others, one after the other."""

    left: str
    right: tuple[str, ...]

    def __str__(self) -> str:
        """Return it as the paper writes it."""
        return f"{self.left} <= {' + '.join(self.right)}"

    @property
    def operations(self) -> tuple[str, ...]:
        """Return all its operations."""
        return (self.left, *self.right)


GUIDELINES = (
    Guideline("Allreduce", ("Reduce", "Bcast")),
    Guideline("Allreduce", ("Reduce_scatter", "Allgather")),
    Guideline("Allgather", ("Gather", "Bcast")),
    Guideline("Allgather", ("Alltoall",)),
    Guideline("Bcast", ("Scatter", "Allgather")),
    Guideline("Reduce", ("Allreduce",)),
    Guideline("Gather", ("Allgather",)),
    Guideline("Scatter", ("Bcast",)),
    Guideline("Reduce_scatter", ("Reduce", "Scatter")),
)


@dataclass(frozen=True)
class Comparison:
    """Both sides of a guideline at one size; `spread` is the relative deviation of their ratio.

    `size` are bytes: n, or the suite's message size where one benchmark is compared with itself.
    """

    size: int
    left: Term
    right: tuple[Term, ...]
    unit: str
    spread: float | None

    @property
    def right_value(self) -> float:
        """Return the right side, in `unit`."""
        return sum(term.times * term.value for term in self.right)

    @property
    def factor(self) -> float:
        """Return left over right."""
        return self.left.value / self.right_value


@dataclass(frozen=True)
class Instance:
    """A guideline in one place, with all its comparisons in the order of size.

    `id` is the same in every session; `sweeps` are those of the terms, the left one first.
    """

    id: str
    text: str
    sweeps: tuple[Sweep, ...]
    comparisons: tuple[Comparison, ...]


class Comparer:
    """Makes the comparisons of a session; `compared` counts them, `skipped` why not more."""

    def __init__(self, found: Collected) -> None:
        self.found = found
        self.compared = 0
        self.skipped: Counter[str] = Counter()

    def instances(self, group: Group) -> Iterator[Instance]:
        """Yield each guideline that concerns the benchmarks of a group."""
        np = dict(group.keys).get("np", "")
        if not np.isdecimal() or int(np) < 1:
            self.skipped["a case does not say on how many ranks it ran"] += 1
            return
        sweeps = self.found.of(group)
        for sweep in sweeps:
            program = sweep.key.benchmark.partition(".")[2]
            text = f"{program}: a larger message is not faster"
            yield _instance(text, f"{program}:monotony", [sweep], self.padded(sweep))
            text = f"{program}: 2n cost at most two of n"
            yield _instance(text, f"{program}:split", [sweep], self.halved(sweep, int(np)))
        # Benchmarks with keys of their own are no collectives.
        by_name = {sweep.key.benchmark: sweep for sweep in sweeps if not sweep.key.own}
        for guideline in GUIDELINES:
            suite = SUITES[group.suite]
            names = [suite.performing(operation) for operation in guideline.operations]
            missing = [name for name in names if name not in by_name]
            if not missing:
                own = [by_name[name] for name in names]
                text = str(guideline)
                yield _instance(text, text, own, self.composed(guideline, own, int(np)))
            elif len(missing) < len(names):
                self.skipped[self.found.why_not(group, missing[0])] += 1

    def composed(
        self, guideline: Guideline, sweeps: Sequence[Sweep], np: int
    ) -> Iterator[Comparison]:
        """Compare the first sweep with the sum of the other ones, at each n of the first one."""
        rows = [find(sweep.key.benchmark) for sweep in sweeps]
        parts = [
            np if row.is_part(sweep.version) else 1 for row, sweep in zip(rows, sweeps, strict=True)
        ]
        # Elements of a reduction are not cut; the smallest are floats.
        least = SIZE_OF_FLOAT if "Reduce_scatter" in guideline.operations else 1
        wait = _averages(sweeps[0]) and len(guideline.right) > 1 and rows[1].rooted
        times = [1, np if wait else 1, 1][: len(sweeps)]
        for size in sweeps[0].values:
            n = size * parts[0]
            if n % np or n // np < least:
                self.skipped["the part of a rank, n/p, is no whole element"] += 1
                continue
            sizes = [n // part for part in parts]
            yield from self.compare(n, list(zip(sweeps, sizes, times, strict=True)))

    def padded(self, sweep: Sweep) -> Iterator[Comparison]:
        """Compare each size of a sweep with the fastest of the larger ones."""
        best: int | None = None
        times = sweep.times
        for size in sorted(sweep.values, reverse=True):
            if best is not None:
                yield from self.compare(size, [(sweep, size, 1), (sweep, best, 1)])
            if size in times and (best is None or times[size] <= times[best]):
                best = size

    def halved(self, sweep: Sweep, np: int) -> Iterator[Comparison]:
        """Compare each size of a sweep with twice the half of it."""
        wait = _averages(sweep) and find(sweep.key.benchmark).rooted
        times = np + 1 if wait else 2
        for size in sweep.values:
            if size % 2 == 0 and size // 2 in sweep.values:
                yield from self.compare(size, [(sweep, size, 1), (sweep, size // 2, times)])

    def compare(self, n: int, sides: Sequence[tuple[Sweep, int, int]]) -> Iterator[Comparison]:
        """Compare the first of some (sweep, message size, times) with the sum of the others.

        Yields nothing, and counts why, where one has no value or their units differ.
        """
        for sweep, size, _ in sides:
            if size in sweep.unusable:
                self.skipped[f"{sweep.key.benchmark} has a value that is no measurement"] += 1
                return
            if size not in sweep.values:
                self.skipped["a sweep does not have the size"] += 1
                return
        units = {sweep.units[size] for sweep, size, _ in sides}
        if len(units) > 1:
            self.skipped[f"different units: {', '.join(sorted(units))}"] += 1
            return
        terms = [
            Term(
                sweep.key.benchmark,
                sized(sweep.key.stem, size),
                size,
                sweep.times[size],
                times,
            )
            for sweep, size, times in sides
        ]
        self.compared += 1
        left, right = terms[0], tuple(terms[1:])
        spreads = [sweep.spread(size) for sweep, size, _ in sides]
        yield Comparison(n, left, right, units.pop(), _combined(spreads, right))


def _instance(
    text: str, slug: str, sweeps: Sequence[Sweep], comparisons: Iterator[Comparison]
) -> Instance:
    key = sweeps[0].key
    parameters = ";".join(f"{name}={value}" for name, value in sorted(key.keys.items()))
    found = sorted(comparisons, key=lambda comparison: comparison.size)
    return Instance(
        f"{key.group.where}/{key.group.suite}.{slug.replace(' ', '')}/{parameters}",
        text,
        tuple(sweeps),
        tuple(found),
    )


def _averages(sweep: Sweep) -> bool:
    """Tell whether the times of a sweep are the average of the ranks."""
    return SUITES[sweep.key.group.suite].averages


def _combined(spreads: Sequence[float | None], right: Sequence[Term]) -> float | None:
    """Return the relative standard deviation of left over the sum of right; None if one is unknown.

    Errors of different times are independent; each counts as much as its time in the sum.
    """
    known = [spread for spread in spreads if spread is not None]
    if len(known) < len(spreads):
        return None
    whole = sum(term.times * term.value for term in right)
    weights = [1.0, *(term.times * term.value / whole for term in right)]
    return math.hypot(*(weight * spread for weight, spread in zip(weights, known, strict=True)))
