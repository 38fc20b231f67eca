"""Guidelines: what an MPI must satisfy on any machine, whether or not a reference exists for it.

A specialised operation is no slower than others that do its work, for a library could call those:
`Allgather <= Gather + Bcast`. A larger message is not faster than a smaller one, for that could be
padded, and 2n bytes cost at most two messages of n. Source: Traeff, Gropp, Thakur,
"Self-consistent MPI performance guidelines", IEEE TPDS 21(5), 2010. What is compared with what, in
which sizes, is in `acceptance.relations.guidelines`.

Noise: the tolerance comes from the measured spread (`acceptance.relations.sweeps`) of all
times on both sides. A violation at a single size must exceed a larger one, and stand out more than
single values of the other benchmarks on the same ranks do: on a busy machine, now and then a
repetition waits. Where three earlier sessions or more compared that size, one of them must have
found it violated.

Violated guidelines as data and as text (`acceptance.relations.guidelines` finds them).

Which times of a session a guideline compares (`acceptance.relations.guidelines` says why).

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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from acceptance.core.extras import GUIDELINES, PartitionExtras
from acceptance.core.text import bytes_text
from acceptance.core.words import sized
from acceptance.ledger import Ledger, Session
from acceptance.relations.sweeps import LEAST_VALUES, Collected, Group, Sweep, collect
from acceptance.rfm import configuration as site
from acceptance.suites import SIZE_OF_FLOAT, SUITES, find


@dataclass(frozen=True)
class _Term:
    """A time on one side, which counts `times` times; `message_size` is that of the suite."""

    benchmark: str
    metric: str
    message_size: int
    value: float
    times: int = 1

    def __str__(self) -> str:
        """Return the number, with what it is multiplied by."""
        return f"{self.times} x {self.value:g}" if self.times > 1 else f"{self.value:g}"


@dataclass(frozen=True)
class Violation:
    """A guideline that is violated at a range of adjacent sizes, with the worst one of them.

    `sizes` are bytes: n, or the suite's message size where one benchmark is compared with itself.
    `factor` is left over right, `tolerance` what it had to exceed at the worst size. `id` is the
    same whenever this guideline is violated in this place, at whatever sizes; that of a second
    range of sizes ends in `#2`. `session` is the UUID of the session that the values come from.
    Of `sessions` earlier ones that compared the worst size, `seen` found it violated, too.
    """

    id: str
    guideline: str
    suite: str
    where: str
    np: int
    keys: dict[str, str]
    cases: tuple[str, ...]
    sizes: tuple[int, ...]
    smallest: int
    largest: int
    worst: int
    left: _Term
    right: tuple[_Term, ...]
    left_value: float
    right_value: float
    unit: str
    factor: float
    tolerance: float
    session: str
    seen: int = 0
    sessions: int = 0

    @property
    def partition(self) -> str:
        """Return `system:partition`."""
        return self.where.partition("+")[0]

    @property
    def right_text(self) -> str:
        """Return the right side as a sum."""
        return " + ".join(map(str, self.right))

    def __str__(self) -> str:
        """Return it as one line."""
        span = bytes_text(self.smallest)
        if self.largest != self.smallest:
            span += f" to {bytes_text(self.largest)}, worst at {bytes_text(self.worst)}"
        right = f"{self.right_text} {self.unit}"
        if self.right[0].benchmark == self.left.benchmark:
            right += f" at {bytes_text(self.right[0].message_size)}"
        before = f", so in {self.seen} of {self.sessions} earlier sessions" if self.sessions else ""
        return (
            f"{self.guideline}: {self.suite}, {self.placed}, {self.where}: {span}: "
            f"{self.left} {self.unit} > {right} "
            f"({self.factor:.2f} x, tolerance {self.tolerance:.2f}){before}"
        )

    @property
    def placed(self) -> str:
        """Return how many ranks there are, and where they stand."""
        words = [f"{self.np} ranks"]
        if self.keys.get("nodes", "1") != "1":
            words[0] += f" on {self.keys['nodes']} nodes"
        words += [self.keys[key] for key in ("placement", "mapping") if key in self.keys]
        words += [f"{key} {self.keys[key]}" for key in ("pairs", "buffers") if key in self.keys]
        if self.keys.get("intranode", "shared") != "shared":
            words.append(self.keys["intranode"])
        return ", ".join(words)


@dataclass(frozen=True)
class Report:
    """What came of the guidelines in one session.

    `compared` counts the comparisons, `single` those among them that exceed the tolerance of a
    range, but not that of a single size. `skipped` has reason -> how many comparisons it prevented,
    one where a whole benchmark is missing.
    """

    findings: tuple[Violation, ...] = ()
    compared: int = 0
    single: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Guideline:
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


_RULES = (
    _Guideline("Allreduce", ("Reduce", "Bcast")),
    _Guideline("Allreduce", ("Reduce_scatter", "Allgather")),
    _Guideline("Allgather", ("Gather", "Bcast")),
    _Guideline("Allgather", ("Alltoall",)),
    _Guideline("Bcast", ("Scatter", "Allgather")),
    _Guideline("Reduce", ("Allreduce",)),
    _Guideline("Gather", ("Allgather",)),
    _Guideline("Scatter", ("Bcast",)),
    _Guideline("Reduce_scatter", ("Reduce", "Scatter")),
)


@dataclass(frozen=True)
class Comparison:
    """Both sides of a guideline at one size; `spread` is the relative deviation of their ratio.

    `size` are bytes: n, or the suite's message size where one benchmark is compared with itself.
    """

    size: int
    left: _Term
    right: tuple[_Term, ...]
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
class _Instance:
    """A guideline in one place, with all its comparisons in the order of size.

    `id` is the same in every session; `sweeps` are those of the terms, the left one first.
    """

    id: str
    text: str
    sweeps: tuple[Sweep, ...]
    comparisons: tuple[Comparison, ...]


class _Comparer:
    """Makes the comparisons of a session; `compared` counts them, `skipped` why not more."""

    def __init__(self, found: Collected) -> None:
        self.found = found
        self.compared = 0
        self.skipped: Counter[str] = Counter()

    def instances(self, group: Group) -> Iterator[_Instance]:
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
        for guideline in _RULES:
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
        self, guideline: _Guideline, sweeps: Sequence[Sweep], np: int
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
            _Term(
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
) -> _Instance:
    key = sweeps[0].key
    parameters = ";".join(f"{name}={value}" for name, value in sorted(key.keys.items()))
    found = sorted(comparisons, key=lambda comparison: comparison.size)
    return _Instance(
        f"{key.group.where}/{key.group.suite}.{slug.replace(' ', '')}/{parameters}",
        text,
        tuple(sweeps),
        tuple(found),
    )


def _averages(sweep: Sweep) -> bool:
    """Tell whether the times of a sweep are the average of the ranks."""
    return SUITES[sweep.key.group.suite].averages


def _combined(spreads: Sequence[float | None], right: Sequence[_Term]) -> float | None:
    """Return the relative standard deviation of left over the sum of right; None if one is unknown.

    Errors of different times are independent; each counts as much as its time in the sum.
    """
    known = [spread for spread in spreads if spread is not None]
    if len(known) < len(spreads):
        return None
    whole = sum(term.times * term.value for term in right)
    weights = [1.0, *(term.times * term.value / whole for term in right)]
    return math.hypot(*(weight * spread for weight, spread in zip(weights, known, strict=True)))


#: Standard deviations of the ratio of both sides that a violation exceeds: 3 let pass one in 740 of
#: normally distributed ratios, and two adjacent ones at once hardly ever.
DEVIATIONS = 3.0
#: The same at a single size: a session makes hundreds of comparisons, whose errors have long tails.
DEVIATIONS_SINGLE = 6.0
#: No ratio below is a violation, however smooth the sweeps: a whole run of a benchmark may lie some
#: per cent beside the next one, for the place of its buffers, which no roughness shows.
FLOOR = 1.10
#: The same at a single size, and where nothing tells the spread.
FLOOR_SINGLE = 1.50
#: Earlier sessions that count; with more a machine that has become quiet would stay noisy.
EARLIER = 20

#: In `extras["guidelines"]` of a partition: whether a finding is shown, or fails the session.
SHOW, FAIL = GUIDELINES


def evaluate(session: Session, earlier_sessions: Iterable[Session] = ()) -> Report:
    """Compare the collectives and messages of a session with the guidelines.

    `earlier_sessions`, of any number, tell how far values differ between sessions, and which
    violations were there before.
    """
    sessions = list(earlier_sessions)
    past = [_Evaluation(collect(other), other.uuid) for other in sessions]
    evaluation = _Evaluation(collect(session, sessions), session.uuid, past)
    return Report(
        tuple(evaluation.findings),
        evaluation.comparer.compared,
        evaluation.single,
        dict(evaluation.comparer.skipped),
    )


def tolerance(comparison: Comparison) -> float:
    """Return what a ratio must exceed that is one of several adjacent ones."""
    if comparison.spread is None:
        return FLOOR_SINGLE
    return max(FLOOR, math.exp(DEVIATIONS * comparison.spread))


def _tolerance_single(comparison: Comparison, jump: float) -> float:
    """Return what a ratio at a single size must exceed, where others stand out by `jump` (ln)."""
    spread = comparison.spread or 0.0
    return max(FLOOR_SINGLE, math.exp(max(DEVIATIONS_SINGLE * spread, jump)))


class _Evaluation:
    """The evaluation of one session: its findings and counts; `past` are those of earlier ones.

    `violated` has id of a guideline in a place -> size -> whether it was violated there.
    """

    def __init__(self, found: Collected, session: str, past: Sequence["_Evaluation"] = ()) -> None:
        self.found = found
        self.session = session
        self.past = past
        self.comparer = _Comparer(found)
        self.findings: list[Violation] = []
        self.violated: dict[str, dict[int, bool]] = {}
        self.single = 0
        for group in found.groups():
            for instance in self.comparer.instances(group):
                self.conclude(instance)

    def conclude(self, instance: _Instance) -> None:
        """Make findings of the comparisons of one guideline in one place."""
        self.violated[instance.id] = {c.size: c.factor > tolerance(c) for c in instance.comparisons}
        number = 0
        for run in _runs(instance.comparisons):
            worst = max(run, key=lambda comparison: comparison.factor)
            seen, sessions = self.before(instance.id, worst.size)
            bound = tolerance(worst)
            if len(run) == 1:
                bound = _tolerance_single(worst, self.jump(instance, worst.left.message_size))
                if worst.factor <= bound or (sessions >= LEAST_VALUES and not seen):
                    self.single += 1
                    continue
            number += 1
            key = instance.sweeps[0].key
            self.findings.append(
                Violation(
                    id=instance.id + (f"#{number}" if number > 1 else ""),
                    guideline=instance.text,
                    suite=key.group.suite,
                    where=key.group.where,
                    np=int(key.keys["np"]),
                    keys=key.keys,
                    cases=tuple(sweep.name for sweep in instance.sweeps),
                    sizes=tuple(comparison.size for comparison in run),
                    smallest=run[0].size,
                    largest=run[-1].size,
                    worst=worst.size,
                    left=worst.left,
                    right=worst.right,
                    left_value=worst.left.value,
                    right_value=worst.right_value,
                    unit=worst.unit,
                    factor=worst.factor,
                    tolerance=bound,
                    session=self.session,
                    seen=seen,
                    sessions=sessions,
                )
            )

    def before(self, what: str, size: int) -> tuple[int, int]:
        """Count the earlier sessions that found a size violated, and those that compared it."""
        found = [e.violated[what][size] for e in self.past if size in e.violated.get(what, ())]
        return sum(found), len(found)

    def jump(self, instance: _Instance, size: int) -> float:
        """Return ln of how far single values stand out on these ranks, besides the one in question.

        The second largest of the sweeps' largest: one benchmark with a fault hides no other one.
        """
        own = instance.sweeps[0]
        largest = sorted(
            sweep.largest_jump(besides=size if sweep is own else None)
            for sweep in self.found.of(own.key.group)
        )
        return largest[-2] if len(largest) > 1 else 0.0


def _runs(compared: Sequence[Comparison]) -> list[list[Comparison]]:
    """Return the violations among comparisons in the order of size, adjacent ones together."""
    runs: list[list[Comparison]] = []
    last = 0
    for comparison in compared:
        if comparison.factor <= tolerance(comparison):
            continue
        if runs and comparison.size == 2 * last:
            runs[-1].append(comparison)
        else:
            runs.append([comparison])
        last = comparison.size
    return runs


def earlier(ledger: Ledger, session: Session) -> list[Session]:
    """Return the sessions that ended before this one, the last ones first, `EARLIER` at most.

    One that cannot be read is left out. Raises ResultsFault when the ledger cannot be read.
    """
    before = (
        other
        for other in ledger.sessions([])
        if other.uuid != session.uuid and other.end <= session.end
    )
    return list(islice(before, EARLIER))


def judge(
    session: Session, configuration: site.Site, earlier_sessions: Iterable[Session] = ()
) -> tuple[Report, tuple[Violation, ...]]:
    """Return what came of the guidelines, and those findings whose partition has them fail.

    Raises ExtrasFault when a partition states what cannot be, anything else than SHOW or FAIL say.
    """
    asked = {}
    measured = {case.system for case in session.cases}
    for system in (system for system in configuration.systems if system["name"] in measured):
        for partition in system["partitions"]:
            name = f"{system['name']}:{partition['name']}"
            asked[name] = PartitionExtras.read(partition.get("extras", {}), name).guidelines
    report = evaluate(session, earlier_sessions)
    return report, tuple(f for f in report.findings if asked.get(f.partition) == FAIL)
