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
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from acceptance.core.extras import GUIDELINES, PartitionExtras
from acceptance.core.groups import grouped
from acceptance.core.text import bytes_text
from acceptance.core.words import sized
from acceptance.ledger import Entry, Ledger, Session, last_first, reading
from acceptance.ledger.reading import Run
from acceptance.relations.sweeps import LEAST_VALUES, Sweep, collect, is_swept, jumps
from acceptance.rfm import configuration as site
from acceptance.suites import SIZE_OF_FLOAT, SUITES, find

#: An operation that is no slower than others, one after the other, as the paper writes it.
_RULES = (
    "Allreduce <= Reduce + Bcast",
    "Allreduce <= Reduce_scatter + Allgather",
    "Allgather <= Gather + Bcast",
    "Allgather <= Alltoall",
    "Bcast <= Scatter + Allgather",
    "Reduce <= Allreduce",
    "Gather <= Allgather",
    "Scatter <= Bcast",
    "Reduce_scatter <= Reduce + Scatter",
)
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


@dataclass(frozen=True)
class _Term:
    """A time on one side, which counts `times` times; `message_size` is that of the suite."""

    benchmark: str
    metric: str
    message_size: int
    value: float
    times: int = 1

    @property
    def whole(self) -> float:
        """Return what it adds to its side."""
        return self.times * self.value

    def __str__(self) -> str:
        """Return the number, with what it is multiplied by."""
        return f"{self.times} x {self.value:g}" if self.times > 1 else f"{self.value:g}"


@dataclass(frozen=True)
class _Comparison:
    """Both sides of a guideline at one size; `spread` is the relative deviation of their ratio.

    `size` are bytes: n, or the suite's message size where one benchmark is compared with itself.
    `factor` is left over right, `tolerance` what it must exceed, as one of several adjacent ones.
    """

    size: int
    left: _Term
    right: tuple[_Term, ...]
    unit: str
    spread: float | None
    factor: float
    tolerance: float


@dataclass(frozen=True)
class Violation(_Comparison):
    """A guideline that is violated at a range of adjacent `sizes`: the comparison of the worst one.

    `guideline` says what is violated, `tolerance` what the factor had to exceed. `id` is the same
    whenever this guideline is violated in this place, at whatever sizes; that of a second range of
    sizes ends in `#2`. `session` is the UUID of the session that the values come from. Of
    `sessions` earlier ones that compared the worst size, `seen` found it violated, too.
    """

    id: str
    guideline: str
    suite: str
    where: str
    keys: dict[str, str]
    cases: tuple[str, ...]
    sizes: tuple[int, ...]
    session: str
    seen: int = 0
    sessions: int = 0

    @property
    def partition(self) -> str:
        """Return `system:partition`."""
        return self.where.partition("+")[0]

    @property
    def span(self) -> str:
        """Return the range of sizes."""
        return " to ".join(dict.fromkeys(map(bytes_text, (self.sizes[0], self.sizes[-1]))))

    @property
    def right_text(self) -> str:
        """Return the right side as a sum."""
        return " + ".join(map(str, self.right))

    def __str__(self) -> str:
        """Return it as one line."""
        worst = f", worst at {bytes_text(self.size)}" if len(self.sizes) > 1 else ""
        right = f"{self.right_text} {self.unit}"
        if self.right[0].benchmark == self.left.benchmark:
            right += f" at {bytes_text(self.right[0].message_size)}"
        before = f", so in {self.seen} of {self.sessions} earlier sessions" if self.sessions else ""
        return (
            f"{self.guideline}: {self.suite}, {self.placed}, {self.where}: {self.span}{worst}: "
            f"{self.left} {self.unit} > {right} "
            f"({self.factor:.2f} x, tolerance {self.tolerance:.2f}){before}"
        )

    @property
    def placed(self) -> str:
        """Return how many ranks there are, and where they stand."""
        words = [f"{self.keys['np']} ranks"]
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


def _bound(floor: float, exponent: float) -> float:
    return max(floor, math.exp(exponent))


class _Judgement:
    """What the guidelines say of one session; `earlier` are those of the sessions before.

    `violated` has id of a guideline in a place -> size -> whether it was violated there.
    """

    def __init__(self, runs: Sequence[Run], earlier: Sequence["_Judgement"] = ()) -> None:
        self.session = runs[0].session if runs else ""
        self.sweeps, self.missing = collect(runs)
        self.earlier = earlier
        self.compared = self.single = 0
        self.skipped: Counter[str] = Counter()
        self.findings: list[Violation] = []
        self.violated: dict[str, dict[int, bool]] = {}
        for key, sweep in self.sweeps.items():
            sweep.earlier = [past.sweeps[key] for past in earlier if key in past.sweeps]
        for around in grouped(self.sweeps.values(), lambda sweep: sweep.key[:3]).values():
            self._judge(around)

    def _judge(self, sweeps: Sequence[Sweep]) -> None:
        """Compare what each guideline says of the benchmarks on some ranks in one place."""
        suite, where, shared, *_ = sweeps[0].key
        np = dict(shared).get("np", "")
        if not np.isdecimal() or int(np) < 1:
            self.skipped["a case does not say on how many ranks it ran"] += 1
            return
        for sweep in sweeps:
            program = sweep.key.benchmark.partition(".")[2]
            text = f"{program}: a message costs more than a larger one"
            self._conclude(text, f"{program}:monotony", [sweep], self._padded(sweep), sweeps)
            text = f"{program}: 2n bytes cost more than two messages of n bytes"
            self._conclude(text, f"{program}:split", [sweep], self._halved(sweep, int(np)), sweeps)
        # Benchmarks with keys of their own are no collectives.
        by_name = {sweep.key.benchmark: sweep for sweep in sweeps if not sweep.key.own}
        for rule in _RULES:
            names = [SUITES[suite].performing(word) for word in re.findall(r"\w+", rule)]
            missing = [name for name in names if name not in by_name]
            if not missing:
                own = [by_name[name] for name in names]
                text = rule.replace("<=", "costs more than")
                self._conclude(text, rule, own, self._composed(rule, own, int(np)), sweeps)
            elif len(missing) < len(names):
                known = self.missing.get((suite, where), {})
                self.skipped[known.get(missing[0], f"{missing[0]} was not measured")] += 1

    def _composed(self, rule: str, sweeps: Sequence[Sweep], np: int) -> Iterator[_Comparison]:
        """Compare the first sweep with the sum of the other ones, at each n of the first one."""
        rows = [find(sweep.key.benchmark) for sweep in sweeps]
        parts = [
            np if row.is_part(sweep.version) else 1 for row, sweep in zip(rows, sweeps, strict=True)
        ]
        # Elements of a reduction are not cut; the smallest are floats.
        least = SIZE_OF_FLOAT if "Reduce_scatter" in rule else 1
        wait = _averages(sweeps[0]) and len(sweeps) > 2 and rows[1].rooted
        times = [1, np if wait else 1, 1][: len(sweeps)]
        for size in sweeps[0].points:
            n = size * parts[0]
            if n % np or n // np < least:
                self.skipped["the part of a rank, n/p, is no whole element"] += 1
                continue
            sizes = [n // part for part in parts]
            yield from self._compare(n, list(zip(sweeps, sizes, times, strict=True)))

    def _padded(self, sweep: Sweep) -> Iterator[_Comparison]:
        """Compare each size of a sweep with the fastest of the larger ones."""
        best: int | None = None
        times = sweep.times
        for size in sorted(sweep.points, reverse=True):
            if best is not None:
                yield from self._compare(size, [(sweep, size, 1), (sweep, best, 1)])
            if size in times and (best is None or times[size] <= times[best]):
                best = size

    def _halved(self, sweep: Sweep, np: int) -> Iterator[_Comparison]:
        """Compare each size of a sweep with twice the half of it."""
        wait = _averages(sweep) and find(sweep.key.benchmark).rooted
        times = np + 1 if wait else 2
        for size in sweep.points:
            if size % 2 == 0 and size // 2 in sweep.points:
                yield from self._compare(size, [(sweep, size, 1), (sweep, size // 2, times)])

    def _compare(self, n: int, sides: Sequence[tuple[Sweep, int, int]]) -> Iterator[_Comparison]:
        """Compare the first of some (sweep, message size, times) with the sum of the others.

        Yields nothing, and counts why, where one has no value or their units differ.
        """
        for sweep, size, _ in sides:
            if size not in sweep.points:
                self.skipped["a sweep does not have the size"] += 1
                return
            if size not in sweep.times:
                self.skipped[f"{sweep.key.benchmark} has a value that is no measurement"] += 1
                return
        units = {sweep.unit(size) for sweep, size, _ in sides}
        if len(units) > 1:
            self.skipped[f"different units: {', '.join(sorted(units))}"] += 1
            return
        left, *right = (
            _Term(sweep.key.benchmark, sized(sweep.key.stem, size), size, sweep.times[size], times)
            for sweep, size, times in sides
        )
        self.compared += 1
        spread = _combined([sweep.spreads[size] for sweep, size, _ in sides], right)
        tolerance = FLOOR_SINGLE if spread is None else _bound(FLOOR, DEVIATIONS * spread)
        factor = left.value / sum(term.whole for term in right)
        yield _Comparison(n, left, tuple(right), units.pop(), spread, factor, tolerance)

    def _conclude(
        self,
        text: str,
        slug: str,
        sweeps: Sequence[Sweep],
        comparisons: Iterable[_Comparison],
        around: Sequence[Sweep],
    ) -> None:
        """Make findings of the comparisons of one guideline in one place.

        `sweeps` are those of its terms, the left one first, `around` all on the same ranks.
        """
        key = sweeps[0].key
        parameters = ";".join(f"{name}={value}" for name, value in sorted(key.keys.items()))
        what = f"{key.where}/{key.suite}.{slug.replace(' ', '')}/{parameters}"
        compared = sorted(comparisons, key=lambda comparison: comparison.size)
        self.violated[what] = {each.size: each.factor > each.tolerance for each in compared}
        number = 0
        for run in _ranges(compared):
            worst = max(run, key=lambda comparison: comparison.factor)
            before = [
                past.violated[what][worst.size]
                for past in self.earlier
                if worst.size in past.violated.get(what, ())
            ]
            bound = worst.tolerance
            if len(run) == 1:
                jump = _jump(around, sweeps[0], worst.left.message_size)
                spread = worst.spread or 0.0
                bound = _bound(FLOOR_SINGLE, max(DEVIATIONS_SINGLE * spread, jump))
                if worst.factor <= bound or (len(before) >= LEAST_VALUES and not any(before)):
                    self.single += 1
                    continue
            number += 1
            self.findings.append(
                Violation(
                    **{**vars(worst), "tolerance": bound},
                    id=what + (f"#{number}" if number > 1 else ""),
                    guideline=text,
                    suite=key.suite,
                    where=key.where,
                    keys=key.keys,
                    cases=tuple(sweep.name for sweep in sweeps),
                    sizes=tuple(comparison.size for comparison in run),
                    session=self.session,
                    seen=sum(before),
                    sessions=len(before),
                )
            )


def _averages(sweep: Sweep) -> bool:
    """Tell whether the times of a sweep are the average of the ranks."""
    return SUITES[sweep.key.suite].averages


def _combined(spreads: Sequence[float | None], right: Sequence[_Term]) -> float | None:
    """Return the relative standard deviation of left over the sum of right; None if one is unknown.

    Errors of different times are independent; each counts as much as its time in the sum.
    """
    known = [spread for spread in spreads if spread is not None]
    if len(known) < len(spreads):
        return None
    whole = sum(term.whole for term in right)
    weights = [1.0, *(term.whole / whole for term in right)]
    return math.hypot(*(weight * spread for weight, spread in zip(weights, known, strict=True)))


def _jump(sweeps: Iterable[Sweep], own: Sweep, besides: int) -> float:
    """Return ln of how far single values stand out on these ranks, besides the one in question.

    The second largest of the sweeps' largest: one benchmark with a fault hides no other one.
    """
    largest = []
    for sweep in sweeps:
        out = jumps(sweep.times)
        if sweep is own:
            out.pop(besides, None)
        largest.append(max(out.values(), default=0.0))
    return sorted(largest)[-2] if len(largest) > 1 else 0.0


def _ranges(compared: Iterable[_Comparison]) -> list[list[_Comparison]]:
    """Return the violations among comparisons in the order of size, adjacent ones together."""
    ranges: list[list[_Comparison]] = []
    for comparison in compared:
        if comparison.factor <= comparison.tolerance:
            continue
        if ranges and comparison.size == 2 * ranges[-1][-1].size:
            ranges[-1].append(comparison)
        else:
            ranges.append([comparison])
    return ranges


def evaluate(runs: Sequence[Run], earlier_sessions: Iterable[Sequence[Run]] = ()) -> Report:
    """Compare the collectives and messages of a session with the guidelines.

    The runs of `earlier_sessions`, of any number, tell how far values differ between sessions, and
    which violations were there before.
    """
    found = _Judgement(runs, [_Judgement(before) for before in earlier_sessions])
    return Report(tuple(found.findings), found.compared, found.single, dict(found.skipped))


def earlier(ledger: Ledger, session: Session) -> list[Entry]:
    """Return the sessions that ended before this one, the last ones first, `EARLIER` at most."""
    return [
        other
        for other in last_first(ledger.entries)
        if other.uuid != session.uuid and other.end <= session.end
    ][:EARLIER]


def judge(
    ledger: Ledger, session: Session, configuration: site.Site
) -> tuple[Report, tuple[Violation, ...]]:
    """Return what came of the guidelines, and those findings whose partition has them fail.

    Raises ExtrasFault when a partition states what cannot be, anything else than SHOW or FAIL say,
    and ResultsFault when the ledger cannot be read.
    """
    asked = {}
    measured = {case.system for case in session.cases}
    for system in (system for system in configuration.systems if system["name"] in measured):
        for partition in system["partitions"]:
            name = f"{system['name']}:{partition['name']}"
            asked[name] = PartitionExtras.read(partition.get("extras", {}), name).guidelines
    own = [entry for entry in ledger.entries if entry.uuid == session.uuid]
    entries = [*own, *earlier(ledger, session)]
    runs = reading.runs(ledger, entries, lambda _system, _partition, suite, _: is_swept(suite))
    report = evaluate(next(runs), runs)
    return report, tuple(f for f in report.findings if asked.get(f.partition) == FAIL)
