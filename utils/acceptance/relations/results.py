"""What the rows of the ledger have of the sides of claims, as series of results."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from acceptance.core.groups import Item, Key, grouped
from acceptance.core.words import read_metric
from acceptance.ledger.reading import Run
from acceptance.references import Claim, with_derived

#: They follow from the number of processes and the machine: two machines seldom agree in them, and
#: a claim that requires them states them.
FOLLOWING = ("nodes", "order")


def best(
    items: Iterable[Item], key: Callable[[Item], Key], rank: Callable[[Item], Any]
) -> dict[Key, Item]:
    """Return of what has a key in common the one of the highest rank; of equals the first one."""
    return {what: max(group, key=rank) for what, group in grouped(items, key).items()}


class Result(NamedTuple):
    """One value of a series, its session and when that was (s since the epoch)."""

    series: "Series"
    time: float
    session: str
    value: float


@dataclass(eq=False)
class Series:
    """What was measured of one metric under the same keys; the newest result is the first one.

    `partition` is `system:partition`, `metric` has the message size, too. `impossible` counts the
    values that nothing can have measured. `parts` are, of a quotient, the two results above and
    below the line.
    """

    partition: str
    environment: str
    benchmark: str
    stem: str
    keys: dict[str, str]
    unit: str
    metric: str
    results: list[Result] = field(default_factory=list)
    impossible: int = 0
    parts: tuple[Result, ...] = ()

    def add(self, time: float, session: str, value: float) -> Result:
        """Add a result."""
        result = Result(self, time, session, value)
        self.results.append(result)
        return result

    @cached_property
    def stated(self) -> dict[str, str]:
        """Return what a claim may state of it: its keys, what follows from them, environment."""
        return {**with_derived(self.keys), "environment": self.environment}

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """Return what a curve has in common."""
        return self.partition, self.benchmark, self.stem, self.unit

    @cached_property
    def point(self) -> tuple[object, ...]:
        """Return what was measured here, with whatever environment."""
        return *self.kind, self.without(FOLLOWING)

    def without(self, free: Collection[str]) -> frozenset[tuple[str, str]]:
        """Return all keys but some."""
        return frozenset(item for item in self.keys.items() if item[0] not in free)


@dataclass
class BenchmarkResults:
    """The series of a benchmark in a partition; `failed`: when a case failed, and its keys."""

    series: dict[object, Series] = field(default_factory=dict)
    failed: list[tuple[float, dict[str, str]]] = field(default_factory=list)

    def add(self, run: Run) -> None:
        """Take the metrics of a run; of one that failed only that it did."""
        if not run.passed:
            self.failed.append((run.time, {**run.keys, "environment": run.environment}))
            return
        for metric, unit, value in run.metrics:
            stem, own = read_metric(metric)
            keys = {**run.keys, **own}
            what = run.environment, stem, unit, frozenset(keys.items())
            if what not in self.series:
                place = f"{run.system}:{run.partition}"
                self.series[what] = Series(
                    place, run.environment, run.benchmark, stem, keys, unit, metric
                )
            if value is None:
                self.series[what].impossible += 1
            else:
                self.series[what].add(run.time, run.session, value)


#: System, partition and benchmark -> what was measured.
Places = dict[tuple[str, str, str], BenchmarkResults]


def is_of(benchmark: str, name: str) -> bool:
    """Tell whether a benchmark has this name, or is one of the suite of this name."""
    return benchmark == name or benchmark.startswith(f"{name}.")


def asked_by(claims: Iterable[Claim]) -> Callable[[str, str, str, str], bool]:
    """Return what tells by system, partition, suite and benchmark whether claims ask for a case."""
    names = {
        (side.system, side.partition, claim.stated(side)[0])
        for claim in claims
        for side in claim.sides
    }

    @cache
    def asks(system: str, partition: str, _: str, benchmark: str) -> bool:
        places = (system, partition), (system, "")
        return any((of, where) in places and is_of(benchmark, name) for of, where, name in names)

    return asks


def gather(sessions: Iterable[Iterable[Run]]) -> Places:
    """Return what the runs of sessions have, by place and benchmark; each is looked at once.

    Of results of one time those of the session that is told first are newer.
    """
    places: Places = {}
    for runs in sessions:
        # Of several runs in a session the last one counts.
        for run in reversed([*runs]):
            place = run.system, run.partition, run.benchmark
            places.setdefault(place, BenchmarkResults()).add(run)
    for results in places.values():
        for series in results.series.values():
            series.results.sort(key=lambda result: -result.time)
    return places
