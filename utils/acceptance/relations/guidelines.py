"""Guidelines: what an MPI must satisfy on any machine, whether or not a reference exists for it.

A specialised operation is no slower than others that do its work, for a library could call those:
`Allgather <= Gather + Bcast`. A larger message is not faster than a smaller one, for that could be
padded, and 2n bytes cost at most two messages of n. Source: Traeff, Gropp, Thakur,
"Self-consistent MPI performance guidelines", IEEE TPDS 21(5), 2010. What is compared are sweeps:
times over message sizes of one benchmark at one number of ranks, in one place, of one session.

Noise: the tolerance comes from the measured spread of all times on both sides. A violation at a
single size must exceed a larger one, and stand out more than single values of the other benchmarks
on the same ranks do: on a busy machine, now and then a repetition waits. Where three earlier
sessions or more compared that size, one of them must have found it violated.

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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from acceptance.core.extras import GUIDELINES, PartitionExtras
from acceptance.core.groups import grouped
from acceptance.core.robust import MAD_TO_STD
from acceptance.core.text import bytes_text
from acceptance.core.words import sized, split_metric
from acceptance.ledger import Entry, Ledger, Session, last_first, reading
from acceptance.ledger.reading import Run
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
#: Stems of the metrics that are times of an operation.
TIMES = ("latency", "time")
#: Keys that say what a single benchmark did, not where and on how many ranks.
OWN_KEYS = ("pairs", "buffers")
#: Sizes without which the roughness of a sweep is unknown: three second differences.
LEAST_SIZES = 5
#: Values without which the spread of a size is unknown.
LEAST_VALUES = 3
#: Earlier sessions that count; with more a machine that has become quiet would stay noisy.
EARLIER = 20

#: In `extras["guidelines"]` of a partition: whether a finding is shown, or fails the session.
SHOW, FAIL = GUIDELINES


@dataclass(unsafe_hash=True)
class Sweep:
    """The times of one benchmark: message size (bytes) -> values of that size, with their units.

    It is equal to the same sweep of another session. `shared` are the keys that say on which ranks
    it ran; times may be compared of those that differ in no more than benchmark, stem, and keys of
    their `own`. A value is None where nothing can have measured it. `earlier` are the same sweep in
    sessions before.
    """

    suite: str
    where: str
    shared: tuple[tuple[str, str], ...]
    benchmark: str
    stem: str
    own: tuple[tuple[str, str], ...]
    name: str = field(compare=False)
    version: str = field(compare=False)
    points: dict[int, list[tuple[float | None, str]]] = field(
        default_factory=lambda: defaultdict(list), compare=False
    )
    earlier: list["Sweep"] = field(default_factory=list, compare=False)

    @property
    def keys(self) -> dict[str, str]:
        """Return all keys of its cases."""
        return dict(self.shared + self.own)

    @cached_property
    def times(self) -> dict[int, float]:
        """Message size (bytes) -> time, of all sizes that can be used, in their order.

        Where a session has a case several times it is the median that counts. A value of another
        unit, or none, spoils its size, not the sweep.
        """
        return {
            size: median(values)
            for size, points in sorted(self.points.items())
            if len(values := self._values(size, points[0][1])) == len(points)
        }

    def _values(self, size: int, unit: str) -> list[float]:
        """Return what was measured of a size in a unit."""
        points = self.points.get(size, ())
        return [value for value, own in points if value is not None and own == unit]

    def unit(self, size: int) -> str:
        """Return the unit of a size."""
        return self.points[size][0][1]

    @cached_property
    def spreads(self) -> dict[int, float | None]:
        """Message size (bytes) -> relative standard deviation of one value; None: nothing tells it.

        The largest of: the roughness of the sweep, the spread between earlier sessions, and that
        between repetitions in this one.
        """
        rough, found = roughness(self.times), {}
        for size in self.times:
            unit = self.unit(size)
            before = [median(own) for sweep in self.earlier if (own := sweep._values(size, unit))]
            known = (rough, deviation(self._values(size, unit)), deviation(before))
            found[size] = max((each for each in known if each is not None), default=None)
        return found


def is_swept(suite: str) -> bool:
    """Tell whether the benchmarks of a suite go over message sizes."""
    return suite in SUITES and SUITES[suite].sweeps


def collect(
    runs: Iterable[Run],
) -> tuple[dict[Sweep, Sweep], dict[tuple[str, str], dict[str, str]]]:
    """Return the sweeps of a session; and (suite, place) -> benchmark -> why it has none there.

    Only first runs that passed count: a repetition of a failed case does not undo the failure.
    """
    sweeps: dict[Sweep, Sweep] = {}
    missing: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    known: set[tuple[str, str]] = set()
    for run in runs:
        case = run.where, run.name
        if not run.passed:
            verb = "failed" if run.result == "fail" else "was not run"
            missing[run.suite, run.where][run.benchmark] = f"{run.benchmark} {verb}"
        elif case not in known and is_swept(run.suite):
            own = tuple((key, run.keys[key]) for key in OWN_KEYS if key in run.keys)
            keys = tuple(sorted(item for item in run.keys.items() if item[0] not in OWN_KEYS))
            for metric, unit, value in run.metrics:
                stem, size = split_metric(metric)
                # The first row of a table, that of no data, also pays for what comes up only once.
                if stem in TIMES and size:
                    sweep = Sweep(
                        run.suite, run.where, keys, run.benchmark, stem, own, run.name, run.version
                    )
                    sweeps.setdefault(sweep, sweep).points[size].append((value, unit))
        known.add(case)
    return sweeps, missing


def roughness(times: Mapping[int, float]) -> float | None:
    """Return the relative standard deviation of a single time, from the sweep itself.

    A smooth curve of ln t over log2 of the size has small second differences; those of independent
    errors of standard deviation s have the standard deviation s * sqrt(6). It is taken from the
    median of their absolute values, so that a few sizes at which the algorithm changes do not
    count. None below three of them.
    """
    found = [math.log(below * above / time**2) for _, below, time, above in _between(times)]
    if len(found) < LEAST_SIZES - 2:
        return None
    return MAD_TO_STD * median(map(abs, found)) / math.sqrt(6)


def jumps(times: Mapping[int, float]) -> dict[int, float]:
    """Return size -> ln of the factor by which its time is above both of its neighbours' times.

    Only sizes that stand above the larger one of them; a curve that grows has none.
    """
    return {
        size: math.log(time / max(below, above))
        for size, below, time, above in _between(times)
        if time > max(below, above)
    }


def _between(times: Mapping[int, float]) -> Iterator[tuple[int, float, float, float]]:
    """Yield each size that has the half and the double of it beside it, and their three times."""
    for size, time in times.items():
        if size % 2 == 0 and size // 2 in times and 2 * size in times:
            yield size, times[size // 2], time, times[2 * size]


def deviation(values: Sequence[float]) -> float | None:
    """Return the relative standard deviation of values, from the median absolute deviation.

    None below three of them.
    """
    if len(values) < LEAST_VALUES:
        return None
    logs = [math.log(value) for value in values]
    middle = median(logs)
    return MAD_TO_STD * median(abs(value - middle) for value in logs)


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
        told = ("pairs", "buffers", "gpu", "synchronization", "window")
        words += [f"{key} {self.keys[key]}" for key in told if key in self.keys]
        if self.keys.get("intranode", "shared") != "shared":
            words.append(self.keys["intranode"])
        return ", ".join(words)


def _bound(floor: float, exponent: float) -> float:
    return max(floor, math.exp(exponent))


@dataclass
class Report:
    """What came of the guidelines in one session; `earlier` are those of the sessions before.

    `compared` counts the comparisons, `single` those among them that exceed the tolerance of a
    range, but not that of a single size. `skipped` has reason -> how many comparisons it prevented,
    one where a whole benchmark is missing. `violated`, no part of the data, has id of a guideline
    in a place -> size -> whether it was violated there.
    """

    runs: InitVar[Sequence[Run]] = ()
    earlier: InitVar[Sequence["Report"]] = ()
    findings: list[Violation] = field(default_factory=list)
    compared: int = 0
    single: int = 0
    skipped: dict[str, int] = field(default_factory=dict)

    def __post_init__(self, runs: Sequence[Run], earlier: Sequence["Report"]) -> None:
        """Judge the sweeps of the runs, those on the same ranks together."""
        self.session = runs[0].session if runs else ""
        self.sweeps, self.missing = collect(runs)
        self.before = earlier
        self.violated: dict[str, dict[int, bool]] = {}
        for sweep in self.sweeps.values():
            sweep.earlier = [past.sweeps[sweep] for past in earlier if sweep in past.sweeps]
        same_ranks = grouped(self.sweeps, lambda sweep: (sweep.suite, sweep.where, sweep.shared))
        for around in same_ranks.values():
            self._judge(around)

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _judge(self, sweeps: Sequence[Sweep]) -> None:
        """Compare what each guideline says of the benchmarks on some ranks in one place."""
        suite, where, np = sweeps[0].suite, sweeps[0].where, sweeps[0].keys.get("np", "")
        if not np.isdecimal() or int(np) < 1:
            self._skip("a case does not say on how many ranks it ran")
            return
        for sweep in sweeps:
            program = sweep.benchmark.partition(".")[2]
            text = f"{program}: a message costs more than a larger one"
            self._conclude(text, f"{program}:monotony", [sweep], self._padded(sweep), sweeps)
            text = f"{program}: 2n bytes cost more than two messages of n bytes"
            self._conclude(text, f"{program}:split", [sweep], self._halved(sweep, int(np)), sweeps)
        # Benchmarks with keys of their own are no collectives.
        by_name = {sweep.benchmark: sweep for sweep in sweeps if not sweep.own}
        for rule in _RULES:
            names = [SUITES[suite].performing(word) for word in re.findall(r"\w+", rule)]
            missing = [name for name in names if name not in by_name]
            if not missing:
                own = [by_name[name] for name in names]
                text = rule.replace("<=", "costs more than")
                self._conclude(text, rule, own, self._composed(rule, own, int(np)), sweeps)
            elif len(missing) < len(names):
                known = self.missing.get((suite, where), {})
                self._skip(known.get(missing[0], f"{missing[0]} was not measured"))

    def _composed(self, rule: str, sweeps: Sequence[Sweep], np: int) -> Iterator[_Comparison]:
        """Compare the first sweep with the sum of the other ones, at each n of the first one."""
        rows = [find(sweep.benchmark) for sweep in sweeps]
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
                self._skip("the part of a rank, n/p, is no whole element")
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
        wait = _averages(sweep) and find(sweep.benchmark).rooted
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
                self._skip("a sweep does not have the size")
                return
            if size not in sweep.times:
                self._skip(f"{sweep.benchmark} has a value that is no measurement")
                return
        units = {sweep.unit(size) for sweep, size, _ in sides}
        if len(units) > 1:
            self._skip(f"different units: {', '.join(sorted(units))}")
            return
        left, *right = (
            _Term(sweep.benchmark, sized(sweep.stem, size), size, sweep.times[size], times)
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
        first = sweeps[0]
        parameters = ";".join(f"{name}={value}" for name, value in sorted(first.keys.items()))
        what = f"{first.where}/{first.suite}.{slug.replace(' ', '')}/{parameters}"
        compared = sorted(comparisons, key=lambda comparison: comparison.size)
        self.violated[what] = {each.size: each.factor > each.tolerance for each in compared}
        number = 0
        for run in _ranges(compared):
            worst = max(run, key=lambda comparison: comparison.factor)
            before = [
                past.violated[what][worst.size]
                for past in self.before
                if worst.size in past.violated.get(what, ())
            ]
            bound = worst.tolerance
            if len(run) == 1:
                jump = _jump(around, first, worst.left.message_size)
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
                    suite=first.suite,
                    where=first.where,
                    keys=first.keys,
                    cases=tuple(sweep.name for sweep in sweeps),
                    sizes=tuple(comparison.size for comparison in run),
                    session=self.session,
                    seen=sum(before),
                    sessions=len(before),
                )
            )


def _averages(sweep: Sweep) -> bool:
    """Tell whether the times of a sweep are the average of the ranks."""
    return SUITES[sweep.suite].averages


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
    return Report(runs, [Report(before) for before in earlier_sessions])


def earlier(ledger: Ledger, session: Session) -> list[Entry]:
    """Return the sessions that ended before this one, the last ones first, `EARLIER` at most."""
    return [
        other
        for other in last_first(ledger.entries)
        if other.uuid != session.uuid and other.end <= session.end
    ][:EARLIER]


def judge(
    ledger: Ledger, session: Session, systems: Iterable[Mapping[str, Any]]
) -> tuple[Report, tuple[Violation, ...]]:
    """Return what came of the guidelines, and those findings whose partition has them fail.

    `systems` are those of the configuration. Raises ExtrasFault when a partition states what cannot
    be, anything else than SHOW or FAIL say, and ResultsFault when the ledger cannot be read.
    """
    asked = {}
    measured = {case.system for case in session.cases}
    for system in (system for system in systems if system["name"] in measured):
        for partition in system["partitions"]:
            name = f"{system['name']}:{partition['name']}"
            asked[name] = PartitionExtras.read(partition.get("extras", {}), name).guidelines
    own = [entry for entry in ledger.entries if entry.uuid == session.uuid]
    entries = [*own, *earlier(ledger, session)]
    runs = reading.runs(ledger, entries, lambda _system, _partition, suite, _: is_swept(suite))
    report = evaluate(next(runs), runs)
    return report, tuple(f for f in report.findings if asked.get(f.partition) == FAIL)
