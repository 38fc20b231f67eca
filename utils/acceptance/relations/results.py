"""What sessions have of the sides of claims, by partition and metric.

What claims ask of all sessions is in the rows of the ledger, as far as it passed. Sessions are
decoded in which something else became of a case that a
claim may ask for: it failed, was measured twice or beside another run, or has impossible values.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import islice

from acceptance.core.words import is_measured, read_metric
from acceptance.ledger import Case, Entry, Ledger, Metric, Session, last_first, reading
from acceptance.references import Claim, with_derived

#: They follow from the number of processes and the machine: two machines seldom agree in them, and
#: a claim that requires them states them.
FOLLOWING = ("nodes", "order")


#: Sessions whose rows are read at once.
_AT_ONCE = 16


@dataclass(frozen=True)
class _Measured:
    """What was measured, where, and with which keys."""

    partition: str
    environment: str
    benchmark: str
    stem: str
    keys: Mapping[str, str]
    unit: str
    #: The metric, with its message size.
    metric: str
    #: Of a quotient: the two results above and below the line.
    parts: "tuple[Value, ...]" = field(default=(), kw_only=True)


_SHARED = tuple(field.name for field in fields(_Measured))


@dataclass(frozen=True)
class Value(_Measured):
    """A metric of a passing case: one value, its session and when that was (s since the epoch)."""

    value: float
    session: str
    time: float

    @property
    def order(self) -> int:
        """Return the order of HPCC's matrix; 0 where there is none."""
        order = self.keys.get("order", "")
        return int(order) if order.isdecimal() else 0

    @cached_property
    def point(self) -> tuple[object, ...]:
        """Return what was measured here, whenever that was."""
        keys = frozenset(item for item in self.keys.items() if item[0] not in FOLLOWING)
        return self.partition, self.benchmark, self.stem, self.unit, keys


@dataclass(frozen=True)
class Measurements(_Measured):
    """What was measured of one metric under the same keys; the newest result is the first one."""

    #: Time (s since the epoch), session, value.
    results: list[tuple[float, str, float]] = field(default_factory=list)
    #: Values that nothing can have measured: zero, negative, not finite.
    impossible: list[float] = field(default_factory=list)
    #: What `at` has returned.
    _values: dict[tuple[float, str, float], Value] = field(default_factory=dict, compare=False)

    def at(self, number: int) -> Value:
        """Return one of the results."""
        result = time, session, value = self.results[number]
        if result not in self._values:
            shared = {name: getattr(self, name) for name in _SHARED}
            self._values[result] = Value(**shared, value=value, session=session, time=time)
        return self._values[result]

    @cached_property
    def stated(self) -> dict[str, str]:
        """Return what a claim may state of it: its keys, what follows from them, environment."""
        return {**with_derived(self.keys), "environment": self.environment}


_Key = tuple[str, str, str, str, frozenset[tuple[str, str]]]


@dataclass
class _PartitionResults:
    """All that claims may ask of a partition: what passed, and which cases failed (time, ...).

    `of_benchmark` has the same series by their benchmark.
    """

    series: dict[_Key, Measurements] = field(default_factory=dict)
    of_benchmark: dict[str, list[Measurements]] = field(default_factory=dict)
    failed: list[tuple[float, str, dict[str, str]]] = field(default_factory=list)

    def add(self, session: Session, case: Case) -> None:
        """Take the metrics of a case; of one that failed only that it did."""
        if not case.passed:
            keys = {**case.keys, "environment": case.environment}
            self.failed.append((session.end, case.benchmark, keys))
            return
        for metric in case.metrics:
            stem, own = read_metric(metric.name)
            keys = {**case.keys, **own}
            key = case.environment, case.benchmark, stem, metric.unit, frozenset(keys.items())
            if key not in self.series:
                place = f"{case.system}:{case.partition}"
                series = self.series[key] = Measurements(
                    place, *key[:3], keys, metric.unit, metric.name
                )
                self.of_benchmark.setdefault(case.benchmark, []).append(series)
            if is_measured(metric.value):
                self.series[key].results.append((session.end, session.uuid, metric.value))
            else:
                self.series[key].impossible.append(metric.value)


Places = dict[tuple[str, str], _PartitionResults]


def is_of(benchmark: str, name: str) -> bool:
    """Tell whether a benchmark has this name, or is one of the suite of this name."""
    return benchmark == name or benchmark.startswith(f"{name}.")


class Wanted:
    """Which cases the sides of claims ask for."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self.names: dict[tuple[str, str], set[str]] = {}
        for claim in claims:
            for side in claim.sides:
                names = self.names.setdefault((side.system, side.partition), set())
                names.add(claim.stated(side)[0])

    def asks(self, system: str, partition: str) -> bool:
        """Tell whether a claim asks for anything of a partition."""
        return (system, partition) in self.names or (system, "") in self.names

    def has(self, system: str, partition: str, benchmark: str) -> bool:
        """Tell whether a claim asks for a benchmark of a partition."""
        places = (system, partition), (system, "")
        names = (name for place in places for name in self.names.get(place, ()))
        return any(is_of(benchmark, name) for name in names)


def gather(claims: Iterable[Claim], sessions: Iterable[Session]) -> Places:
    """Return what the sessions have of the sides of claims, by system and partition.

    Each session is looked at once, and nothing else of it is kept.
    """
    wanted = Wanted(claims)
    places: Places = {}
    for session in sessions:
        # Of several runs in a session the last one counts.
        for case in reversed(session.cases):
            if not case.fixture and wanted.has(case.system, case.partition, case.benchmark):
                place = (case.system, case.partition)
                places.setdefault(place, _PartitionResults()).add(session, case)
    for place_results in places.values():
        for series in place_results.series.values():
            series.results.sort(key=lambda result: -result[0])
    return places


def sessions(ledger: Ledger, wanted: Wanted) -> Iterator[Session]:
    """Yield what `ledger.sessions` does, in the same order, with the cases that are wanted.

    Raises ResultsFault as that does.
    """
    cases = reading.cases(ledger, reading.ALL, None)
    chosen = {row.id: row for row in cases if wanted.has(row.system, row.partition, row.benchmark)}
    names = [{row[1:5] for row in some} for some in (cases, chosen.values())]
    unwanted = names[0] - names[1]
    lacking = {entry.number for entry in ledger.entries} & reading.with_impossible(ledger)
    for places in reading.without_sample(ledger, reading.ALL, None).values():
        lacking |= {
            place.session
            for place in places
            if wanted.asks(place.system, place.partition) and place[1:] not in unwanted
        }
    entries = iter(last_first(ledger.entries))
    while some := [*islice(entries, _AT_ONCE)]:
        passed = reading.passed(ledger, chosen, [entry.number for entry in some])
        for entry in some:
            if entry.number in lacking:
                yield ledger.session(entry.uuid)
            else:
                cases_of = passed.get(entry.number, [])
                yield _session(entry, [_case(chosen[each.case], each.metrics) for each in cases_of])


def _session(entry: Entry, cases: Sequence[Case]) -> Session:
    return Session(
        uuid=entry.uuid,
        start=entry.start,
        end=entry.end,
        host=entry.host,
        command=entry.command,
        label=entry.label,
        aborted=int(entry.aborted),
        cases=tuple(cases),
    )


def _case(row: reading.CaseRow, metrics: Sequence[tuple[str, str | None, float]]) -> Case:
    return Case(
        name=row.name, system=row.system, partition=row.partition, environment=row.environment,
        filename="", suite=row.suite, run_index=0, result="pass", fail_phase="", fail_reason="",
        nodes=(), fixture=False, benchmark=row.benchmark, keys=dict(json.loads(row.keys)),
        declared={}, provenance={}, findings=(),
        metrics=tuple(_metric(*metric) for metric in metrics),
    )  # fmt: skip


def _metric(name: str, unit: str | None, value: float) -> Metric:
    return Metric(name, value, unit or "", None, None, None, "", passed=True)
