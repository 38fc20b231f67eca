"""Guidelines: what an MPI must satisfy on any machine, whether or not a reference exists for it.

A specialised operation is no slower than others that do its work, for a library could call those:
`Allgather <= Gather + Bcast`. A larger message is not faster than a smaller one, for that could be
padded, and 2n bytes cost at most two messages of n. Source: Traeff, Gropp, Thakur,
"Self-consistent MPI performance guidelines", IEEE TPDS 21(5), 2010. What is compared are sweeps:
times over message sizes of one benchmark at one number of ranks, in one place, of one session.

Rounds: what a session shows is a suspicion, since now and then a repetition of a benchmark waits.
Other sessions decide (`relations/rounds.py`), in each of which both sides were measured next to
each other: those that measured this one again, and earlier ones with the same software.

Sizes: n are the bytes of the whole vector on p ranks, that Bcast sends, Reduce and Allreduce add
up, Gather and Allgather collect, Scatter and Reduce_scatter spread, and each rank of Alltoall
sends. Whether a suite's message size is n or n/p says `part` in the rows of the suite, from the
sources of IMB 2021 and OMB 7.4; that of IMB was also seen by intercepting its MPI calls on 2 and 4
ranks. Where one side has no such size, as for p that is no power of two, nothing is compared.

Times: both suites put a barrier before each repetition and keep rank 0 as the root (IMB: `-sync`
on, `-root_shift` off), so that no repetition overlaps the next one. IMB's time is that of the
slowest rank, and one operation after the other takes no longer than the sum of both. OMB's is the
average of the ranks. The leaves of a rooted operation leave it early, but what follows it is held
up by its slowest rank, for at most p times the average. So much does a rooted first operation of
OMB count on the right side: what is found is true, and some violations stay unseen.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from acceptance.core.extras import GUIDELINES, PartitionExtras
from acceptance.core.groups import grouped
from acceptance.core.text import bytes_text, plural
from acceptance.core.words import split_metric
from acceptance.ledger import Entry, Ledger, Session, last_first, reading, repeated, runs_of
from acceptance.ledger.reading import Run
from acceptance.relations.rounds import ALPHA, FLOOR, chance, is_noise, is_over, probability
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
#: MPI (`extras["mpi"]`) -> what names the algorithm of a collective, and of a non-blocking one.
#: Sources: Intel MPI Library Developer Reference, "I_MPI_ADJUST Family"; Open MPI 4.1, `ompi_info
#: --param coll all --level 9` (with coll_tuned_use_dynamic_rules 1); MPICH 4.2, README.envvar.
_KNOBS = {
    "intel-mpi": ("I_MPI_ADJUST_{upper}", "I_MPI_ADJUST_{upper}"),
    "mpich": ("MPIR_CVAR_{upper}_INTRA_ALGORITHM", "MPIR_CVAR_{upper}_INTRA_ALGORITHM"),
    "openmpi": ("coll_tuned_{lower}_algorithm", "coll_libnbc_{lower}_algorithm"),
}
#: The collectives that all of these choose an algorithm of.
_CHOSEN = {*re.findall(r"\w+", " ".join(_RULES).lower()), "allgatherv", "alltoallv"}
#: Earlier sessions that are rounds, at most, on whatever nodes of the partition.
EARLIER = 100
#: Earlier sessions, none of them a repetition, whose suspicions are decided again. [chosen] some
#: effects come and go with each start of the processes; with 100 no more was told than with 3.
AGAIN = 3
#: Stems of the metrics that are times of an operation.
TIMES = ("latency", "time")
#: Keys that say what a single benchmark did, not where and on how many ranks.
OWN_KEYS = ("pairs", "buffers")
#: In `extras["guidelines"]` of a partition: whether a finding is shown, or fails the session.
SHOW, FAIL = GUIDELINES


@dataclass(unsafe_hash=True)
class Sweep:
    """The times of one benchmark: message size (bytes) -> values of that size, with their units.

    It is equal to the same sweep of another session, with the same software. `shared` are the keys
    that say on which ranks it ran; times may be compared of those that differ in no more than
    benchmark, stem, and keys of their `own`. A value is None where nothing can have measured it.
    """

    suite: str
    where: str
    shared: tuple[tuple[str, str], ...]
    benchmark: str
    stem: str
    own: tuple[tuple[str, str], ...]
    software: tuple[tuple[str, str], ...]
    name: str = field(compare=False)
    points: dict[int, list[tuple[float | None, str]]] = field(
        default_factory=lambda: defaultdict(list), compare=False
    )

    @property
    def keys(self) -> dict[str, str]:
        """Return all keys of its cases."""
        return dict(self.shared + self.own)

    @property
    def program(self) -> str:
        """Return what the suite calls the benchmark."""
        return self.benchmark.partition(".")[2]

    @cached_property
    def times(self) -> dict[int, float]:
        """Message size (bytes) -> time, of all sizes that can be used, in their order.

        Where a session has a case several times it is the median that counts. A value of another
        unit, or none, spoils its size, not the sweep.
        """
        found = {}
        for size, points in sorted(self.points.items()):
            values = [value for value, unit in points if value is not None and unit == points[0][1]]
            if len(values) == len(points):
                found[size] = median(values)
        return found

    def unit(self, size: int) -> str:
        """Return the unit of a size."""
        return self.points[size][0][1]


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
            software = tuple(sorted(run.software.items()))
            for metric, unit, value in run.metrics:
                stem, size = split_metric(metric)
                # The first row of a table, that of no data, also pays for what comes up only once.
                if stem in TIMES and size:
                    place = (run.suite, run.where, keys, run.benchmark, stem, own, software)
                    sweep = Sweep(*place, run.name)
                    sweeps.setdefault(sweep, sweep).points[size].append((value, unit))
        known.add(case)
    return sweeps, missing


#: A sweep, a message size of it in bytes, and how many times that counts.
_Term = tuple[Sweep, int, int]


def _ratio(terms: Sequence[_Term], sweeps: Mapping[Sweep, Sweep]) -> float | None:
    """Return the first term over the sum of the others in a session; None if that cannot be."""
    values = []
    for sweep, size, times in terms:
        measured = sweeps.get(sweep)
        if not measured or size not in measured.times or measured.unit(size) != sweep.unit(size):
            return None
        values.append(times * measured.times[size])
    return values[0] / sum(values[1:])


@dataclass
class _Suspicion:
    """A guideline that a session violates at adjacent `sizes`: bytes -> the terms of both sides.

    `left` is the operation, `than` what it is compared with, `slug` what they are in ids; `sweeps`
    are those of its terms, the left one first. `rounds` have the ratio at each size, of each
    session that measured it, and `p` is their probability.
    """

    left: str
    than: str
    slug: str
    sweeps: Sequence[Sweep]
    sizes: dict[int, Sequence[_Term]]
    rounds: list[dict[int, float]] = field(default_factory=list)
    p: float = 1.0
    #: The earlier sessions that suspected it: chosen for what they show, they decide nothing.
    chosen: set[str] = field(default_factory=set)

    @property
    def key(self) -> object:
        """Return what makes it the same suspicion in two sessions."""
        return self.slug, self.sweeps[0], tuple(self.sizes)

    @property
    def id(self) -> str:
        """Return what names the guideline in this place, at whatever sizes."""
        first = self.sweeps[0]
        keys = ";".join(f"{name}={value}" for name, value in sorted(first.keys.items()))
        return f"{first.where}/{first.suite}.{self.slug.replace(' ', '')}/{keys}"

    def add(self, sweeps: Mapping[Sweep, Sweep]) -> None:
        """Add what a session measured, if it is a round."""
        ratios = {size: _ratio(terms, sweeps) for size, terms in self.sizes.items()}
        if known := {size: ratio for size, ratio in ratios.items() if ratio is not None}:
            self.rounds.append(known)

    @property
    def ratios(self) -> list[float]:
        """Return the ratio of each round."""
        return [median(ratios.values()) for ratios in self.rounds]

    @property
    def outcome(self) -> str:
        """Say by its rounds whether it is violated, noise or undecided."""
        ratios = self.ratios
        if is_over(ratios):
            return "noise"
        if self.p <= ALPHA:
            return "violated"
        return "noise" if is_noise(ratios) else "undecided"

    @property
    def told(self) -> dict[int, float]:
        """Return the sizes that hold by themselves, if any does, with the median of each ratio."""
        of_size = {
            size: [ratios[size] for ratios in self.rounds if size in ratios] for size in self.sizes
        }
        alone = {size: ratios for size, ratios in of_size.items() if chance(ratios) <= ALPHA}
        return {size: median(ratios) for size, ratios in (alone or of_size).items() if ratios}


@dataclass(frozen=True)
class Violation:
    """A guideline that is violated: `sizes` has the median ratio of left to right at each size.

    The sizes are those of n, or the suite's message size where one benchmark is compared with
    itself. `id` is the same whenever this guideline is violated in this place, at whatever sizes.
    `guideline` begins with `left`. `p` is the `probability` of such rounds if it held, `session`
    the UUID of the suspected one, `knob` what the MPI chooses the algorithm by, if it is known.
    """

    id: str
    guideline: str
    left: str
    suite: str
    where: str
    keys: dict[str, str]
    cases: tuple[str, ...]
    sizes: dict[int, float]
    p: float
    rounds: int
    session: str
    knob: str

    @property
    def partition(self) -> str:
        """Return `system:partition`."""
        return self.where.partition("+")[0]

    @property
    def span(self) -> str:
        """Return the ranges of sizes."""
        ends = ((sizes[0], sizes[-1]) for sizes in _adjacent(self.sizes))
        return ", ".join(" to ".join(dict.fromkeys(map(bytes_text, two))) for two in ends)

    @property
    def factor(self) -> float:
        """Return how many times as slow it is."""
        return median(self.sizes.values())

    @property
    def remedy(self) -> str:
        """Say what to do, where that is more than what is said of all violations."""
        return f"choose another algorithm, {self.knob}" if self.knob else ""

    @property
    def found(self) -> str:
        """Say what is violated, and what that costs."""
        worst = max(self.sizes, key=self.sizes.__getitem__)
        more = f"{self.sizes[worst]:.1f} at {bytes_text(worst)}; " if len(self.sizes) > 1 else ""
        return (
            f"{self.left} of {self.span}{self.guideline.removeprefix(self.left)}, "
            f"{self.factor:.1f} times ({more}p {self.p:.1g}, {plural(self.rounds, 'round')})"
        )

    def __str__(self) -> str:
        """Return it as one line."""
        said = (self.found, f"{self.suite}, {self.placed}, {self.where}", self.remedy)
        return ": ".join(filter(None, said))

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


@dataclass
class Report:
    """What came of the guidelines in one session; `rounds` are the sessions that decide, in order.

    `earlier` sessions may have suspected more, which is decided with what this one suspects.
    `compared` counts the comparisons, `suspected` the ranges of sizes at which a guideline seems
    violated: `noise` so many were, and of those `undecided` nobody can tell yet. `skipped` has
    reason -> how many comparisons it prevented, one where a whole benchmark is missing. `cases`, no
    part of the data, are those of which more rounds would tell what this session suspects.
    """

    runs: InitVar[Sequence[Run]] = ()
    rounds: InitVar[Iterable[Sequence[Run]]] = ()
    mpis: InitVar[Mapping[str, str] | None] = None
    earlier: InitVar[Iterable[Sequence[Run]]] = ()
    findings: list[Violation] = field(default_factory=list)
    compared: int = 0
    suspected: int = 0
    noise: int = 0
    undecided: int = 0
    skipped: dict[str, int] = field(default_factory=dict)

    def __post_init__(
        self,
        runs: Sequence[Run],
        rounds: Iterable[Sequence[Run]],
        mpis: Mapping[str, str] | None,
        earlier: Iterable[Sequence[Run]],
    ) -> None:
        """Judge the sweeps of the runs, those on the same ranks together."""
        self.session = runs[0].session if runs else ""
        self.sweeps, self.missing = collect(runs)
        self.suspicions: list[_Suspicion] = []
        same_ranks = grouped(self.sweeps, lambda sweep: (sweep.suite, sweep.where, sweep.shared))
        for around in same_ranks.values():
            self._judge(around)
        self._now = {each.key for each in self.suspicions}
        others: dict[object, _Suspicion] = {}
        for report in map(Report, earlier):
            for each in report.suspicions:
                if each.key not in self._now and self.sweeps.keys() >= {*each.sweeps}:
                    others.setdefault(each.key, each).chosen.add(report.session)
        self.suspicions += others.values()
        self.suspected = len(self.suspicions)
        self.decide(rounds, mpis or {})

    def asks(self, system: str, partition: str, suite: str, benchmark: str) -> bool:
        """Tell whether rounds of a benchmark in a partition decide anything."""
        return (f"{system}:{partition}", suite, benchmark) in self._asked

    @cached_property
    def _asked(self) -> set[tuple[str, str, str]]:
        """Place, suite and benchmark of all that is suspected."""
        swept = {sweep for suspicion in self.suspicions for sweep in suspicion.sweeps}
        return {(each.where.partition("+")[0], each.suite, each.benchmark) for each in swept}

    def decide(self, rounds: Iterable[Sequence[Run]], mpis: Mapping[str, str]) -> None:
        """Decide what is suspected by rounds, in their order."""
        asked = {(each.where, each.benchmark) for one in self.suspicions for each in one.sweeps}
        for of_round in rounds if asked else ():
            measured, _ = collect(run for run in of_round if (run.where, run.benchmark) in asked)
            for suspicion in self.suspicions:
                if suspicion.chosen.isdisjoint(run.session for run in of_round):
                    suspicion.add(measured)
        for each in self.suspicions:
            each.p = probability(each.ratios, self.suspected)
        outcomes = grouped(self.suspicions, lambda suspicion: suspicion.outcome)
        self.noise = len(outcomes.get("noise", ()))
        still = outcomes.get("undecided", ())
        self.undecided = len(still)
        now = [each for each in still if each.key in self._now]
        self.cases = [*dict.fromkeys(sweep.name for each in now for sweep in each.sweeps)]
        violated = grouped(outcomes.get("violated", ()), lambda suspicion: suspicion.id)
        self.findings = [_violation(each, self.session, mpis) for each in violated.values()]

    @property
    def counts(self) -> dict[str, int]:
        """Return what was counted of the comparisons."""
        counted = ("compared", "suspected", "noise", "undecided")
        return {"violated": len(self.findings), **{name: getattr(self, name) for name in counted}}

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _judge(self, sweeps: Sequence[Sweep]) -> None:
        """Compare what each guideline says of the benchmarks on some ranks in one place."""
        suite, where, np = sweeps[0].suite, sweeps[0].where, sweeps[0].keys.get("np", "")
        if not np.isdecimal() or int(np) < 1:
            self._skip("a case does not say on how many ranks it ran")
            return
        for sweep in sweeps:
            name = sweep.program
            self._suspect(name, "a larger message", f"{name}:monotony", [sweep], _padded(sweep))
            times = int(np) + 1 if _waits(sweep) else 2
            than = f"{times} of half the size"
            self._suspect(name, than, f"{name}:split", [sweep], _halved(sweep, times))
        # Benchmarks with keys of their own are no collectives.
        by_name = {sweep.benchmark: sweep for sweep in sweeps if not sweep.own}
        for rule in _RULES:
            names = [SUITES[suite].performing(word) for word in re.findall(r"\w+", rule)]
            missing = [name for name in names if name not in by_name]
            if not missing:
                own = [by_name[name] for name in names]
                left, _, than = rule.partition(" <= ")
                times = int(np) if len(own) > 2 and _waits(own[1]) else 1
                than = f"{times} x {than}" if times > 1 else than
                self._suspect(left, than, rule, own, self._composed(rule, own, int(np), times))
            elif len(missing) < len(names):
                known = self.missing.get((suite, where), {})
                self._skip(known.get(missing[0], f"{missing[0]} was not measured"))

    def _composed(
        self, rule: str, sweeps: Sequence[Sweep], np: int, times: int
    ) -> Iterator[tuple[int, list[_Term]]]:
        """Yield the first sweep and the other ones, at each n of the first one."""
        parts = [
            np if find(each.benchmark).is_part(dict(each.software).get("suite", "")) else 1
            for each in sweeps
        ]
        # Elements of a reduction are not cut; the smallest are floats.
        least = SIZE_OF_FLOAT if "Reduce_scatter" in rule else 1
        for size in sweeps[0].points:
            n = size * parts[0]
            if n % np or n // np < least:
                self._skip("the part of a rank, n/p, is no whole element")
                continue
            sizes = [n // part for part in parts]
            yield n, [*zip(sweeps, sizes, [1, times, 1], strict=False)]

    def _suspect(
        self,
        left: str,
        than: str,
        slug: str,
        sweeps: Sequence[Sweep],
        comparisons: Iterable[tuple[int, Sequence[_Term]]],
    ) -> None:
        """Make suspicions of the comparisons of one guideline in one place."""
        violated = {n: terms for n, terms in comparisons if self._compare(terms) > FLOOR}
        for sizes in _adjacent(violated):
            of_range = {size: violated[size] for size in sizes}
            self.suspicions.append(_Suspicion(left, than, slug, sweeps, of_range))

    def _compare(self, terms: Sequence[_Term]) -> float:
        """Return the ratio of terms, and count it; 0 where there is none, and why is counted."""
        for sweep, size, _ in terms:
            if size not in sweep.points:
                self._skip("a sweep does not have the size")
                return 0.0
            if size not in sweep.times:
                self._skip(f"{sweep.benchmark} has a value that is no measurement")
                return 0.0
        units = {sweep.unit(size) for sweep, size, _ in terms}
        if len(units) > 1:
            self._skip(f"different units: {', '.join(sorted(units))}")
            return 0.0
        self.compared += 1
        return _ratio(terms, self.sweeps) or 0.0


def _violation(ranges: Sequence[_Suspicion], session: str, mpis: Mapping[str, str]) -> Violation:
    """Return what is told of the ranges at which one guideline is violated in one place."""
    first = ranges[0]
    sweep = first.sweeps[0]
    sizes = {size: ratio for each in ranges for size, ratio in each.told.items()}
    return Violation(
        id=first.id,
        guideline=f"{first.left} is slower than {first.than}",
        left=first.left,
        suite=sweep.suite,
        where=sweep.where,
        keys=sweep.keys,
        cases=tuple(each.name for each in first.sweeps),
        sizes=dict(sorted(sizes.items())),
        p=max(each.p for each in ranges),
        rounds=min(len(each.rounds) for each in ranges),
        session=session,
        knob=knob(mpis.get(sweep.where.partition("+")[2], ""), first.left),
    )


def knob(mpi: str, operation: str) -> str:
    """Return by what an MPI (`extras["mpi"]`) chooses the algorithm of an operation, if it does."""
    name = operation.rpartition(".")[2].lower()
    blocking = name.removeprefix("i")
    if mpi not in _KNOBS or blocking not in _CHOSEN:
        return ""
    return _KNOBS[mpi][name != blocking].format(lower=name, upper=name.upper())


def _padded(sweep: Sweep) -> Iterator[tuple[int, list[_Term]]]:
    """Yield each size of a sweep, and the fastest of the larger ones."""
    best: int | None = None
    times = sweep.times
    for size in sorted(sweep.points, reverse=True):
        if best is not None:
            yield size, [(sweep, size, 1), (sweep, best, 1)]
        if size in times and (best is None or times[size] <= times[best]):
            best = size


def _halved(sweep: Sweep, times: int) -> Iterator[tuple[int, list[_Term]]]:
    """Yield each size of a sweep, and some times the half of it."""
    for size in sweep.points:
        if size % 2 == 0 and size // 2 in sweep.points:
            yield size, [(sweep, size, 1), (sweep, size // 2, times)]


def _waits(sweep: Sweep) -> bool:
    """Tell whether what follows an operation waits for longer than its time, an average, says."""
    return SUITES[sweep.suite].averages and find(sweep.benchmark).rooted


def _adjacent(sizes: Iterable[int]) -> list[list[int]]:
    """Return sizes in their order, each together with its double."""
    ranges: list[list[int]] = []
    for size in sorted(sizes):
        if ranges and size == 2 * ranges[-1][-1]:
            ranges[-1].append(size)
        else:
            ranges.append([size])
    return ranges


def rounds_of(ledger: Ledger, session: Session) -> list[Entry]:
    """Return the sessions that decide what one shows, in the order in which they ended.

    They measured any of its sweeps, before it or again for it.
    """
    run, number = runs_of(ledger.entries), ledger.numbers[session.uuid]
    some = reading.sharing(ledger, number, filter(is_swept, SUITES)) - {number}
    others = [each for each in last_first(ledger.entries) if each.number in some]
    own = [each for each in others if run[each.uuid] == run[session.uuid]]
    before = [each for each in others if each not in own and each.end <= session.end]
    return [*own, *before[:EARLIER]][::-1]


def report_of(
    ledger: Ledger, session: Session, environments: Iterable[Mapping[str, Any]] = ()
) -> Report:
    """Return what came of the guidelines in a session; raises ResultsFault.

    The `environments` of the configuration say which MPI each one has.
    """
    if not any(is_swept(case.suite) for case in session.cases):
        return Report([])
    stated = {each["name"]: each.get("extras", {}) for each in environments}
    mpis = {
        name: extras.get("mpi") or extras.get("spack", {}).get("mpi", "")
        for name, extras in stated.items()
    }
    own = [entry for entry in ledger.entries if entry.uuid == session.uuid]
    rounds = rounds_of(ledger, session)
    firsts = [each for each in rounds if not repeated(each.label) and each.end <= session.end]
    asked = [*own, *firsts[max(len(firsts) - AGAIN, 0) :]]
    runs, *earlier = reading.runs(ledger, asked, lambda _, __, suite, ___: is_swept(suite))
    report = Report(runs, earlier=earlier)
    report.decide(reading.runs(ledger, rounds, report.asks), mpis)
    return report


def judge(
    ledger: Ledger,
    session: Session,
    systems: Iterable[Mapping[str, Any]],
    environments: Iterable[Mapping[str, Any]] = (),
) -> tuple[Report, tuple[Violation, ...]]:
    """Return what came of the guidelines, and those findings whose partition has them fail.

    `systems` and `environments` are those of the configuration. Raises ExtrasFault when a partition
    states what cannot be, anything else than SHOW or FAIL say, and ResultsFault when the ledger
    cannot be read.
    """
    asked = {}
    measured = {case.system for case in session.cases}
    for system in (system for system in systems if system["name"] in measured):
        for partition in system["partitions"]:
            name = f"{system['name']}:{partition['name']}"
            asked[name] = PartitionExtras.read(partition.get("extras", {}), name).guidelines
    report = report_of(ledger, session, environments)
    return report, tuple(f for f in report.findings if asked.get(f.partition) == FAIL)
